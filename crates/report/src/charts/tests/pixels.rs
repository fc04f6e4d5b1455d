//! Known shapes have known pixels.

use super::picture;
use crate::charts::Picture;
use crate::charts::canvas::{Anchor, Canvas, Ink, Stroke};
use crate::charts::palette::{self, Colour};

const WHITE: [u8; 3] = [255; 3];

struct Pixels {
    width: usize,
    rows: Vec<Vec<[u8; 3]>>,
}

impl Pixels {
    /// Decodes the file with another program's reader.
    fn new(picture: &Picture) -> Pixels {
        let file = picture.png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let width = info.width as usize;
        let pixels: Vec<[u8; 3]> = bytes.chunks_exact(3).map(|three| three.try_into().unwrap()).collect();
        Pixels { width, rows: pixels.chunks(width).map(<[_]>::to_vec).collect() }
    }

    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        self.rows[y][x]
    }

    fn count(&self, colour: [u8; 3]) -> usize {
        self.rows.iter().flatten().filter(|&&pixel| pixel == colour).count()
    }

    /// The part that is not white: left, top, right and bottom, each including the outermost pixel.
    fn inked(&self) -> [usize; 4] {
        let places = (0..self.rows.len()).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        let dark: Vec<_> = places.filter(|&(x, y)| self.at(x, y) != WHITE).collect();
        let (xs, ys) = (dark.iter().map(|at| at.0), dark.iter().map(|at| at.1));
        [xs.clone().min(), ys.clone().min(), xs.max(), ys.max()].map(|end| end.unwrap())
    }
}

fn rgb(colour: Colour) -> [u8; 3] {
    [colour.0, colour.1, colour.2]
}

fn drawn(size: (f64, f64), draw: impl FnOnce(&mut Canvas)) -> Pixels {
    Pixels::new(&picture(size, draw))
}

#[test]
fn a_rectangle_fills_its_pixels_twice_as_large() {
    let pixels = drawn((10.0, 8.0), |canvas| canvas.rectangle((2.0, 3.0), (4.0, 1.5), palette::SEND));
    assert_eq!((pixels.width, pixels.rows.len()), (20, 16));
    assert_eq!(pixels.inked(), [4, 6, 11, 8]);
    assert_eq!(pixels.count(rgb(palette::SEND)), 8 * 3);
    assert_eq!(pixels.count(WHITE), 20 * 16 - 8 * 3);
}

#[test]
fn edges_are_smooth_and_opacity_mixes() {
    // A quarter of a pixel, and a quarter of the colour.
    let black = Colour(0, 0, 0);
    let pixels = drawn((4.0, 4.0), |canvas| {
        canvas.rectangle((0.0, 0.0), (1.12, 1.0), black);
        canvas.polygon(&[(2.0, 2.0), (4.0, 2.0), (4.0, 4.0), (2.0, 4.0)], black, 0.25);
    });
    assert_eq!((pixels.at(1, 0), pixels.at(3, 0)), ([0; 3], WHITE));
    assert!((185..=200).contains(&pixels.at(2, 0)[0]), "{:?}", pixels.at(2, 0));
    assert_eq!(pixels.at(5, 5), [191; 3]);
}

#[test]
fn dashes_dots_and_outlines() {
    let stroke = Stroke { dashed: true, ..Stroke::new(palette::TEXT, 2.0) };
    let pixels = drawn((20.0, 4.0), |canvas| canvas.line((0.0, 2.0), (20.0, 2.0), stroke));
    let is_dark: String =
        (0..40).map(|x| if pixels.at(x, 4) == rgb(palette::TEXT) { '#' } else { '.' }).collect();
    assert_eq!(is_dark, "##########........##########........####");

    let pixels = drawn((20.0, 20.0), |canvas| canvas.dots(&[(10.0, 10.0)], 8.0, palette::SEND));
    assert_eq!(pixels.inked(), [12, 12, 27, 27]);
    // Pixels at the rim are mixed with white; the colour has no red. The area is π · 8², less
    // 3 % at most: edges are sampled at quarters of a pixel.
    let covered = pixels.rows.iter().flatten().map(|pixel| 1.0 - f64::from(pixel[0]) / 255.0).sum::<f64>();
    assert!((195.0..=202.0).contains(&covered), "{covered}");
    assert_eq!(pixels.at(12, 12), WHITE);

    let pixels = drawn((20.0, 20.0), |canvas| canvas.outline((2.5, 2.5), (15.0, 15.0), palette::WARNING));
    assert_eq!(pixels.inked(), [4, 4, 35, 35]);
    assert_eq!((pixels.at(4, 4), pixels.at(20, 20)), (WHITE, WHITE));
    assert_eq!((pixels.at(4, 20), pixels.at(20, 35)), (rgb(palette::WARNING), rgb(palette::WARNING)));
}

/// An H of 20 pixels is 14.1 high, 14.8 wide, and its stems stand 2 from its ends.
#[test]
fn letters_stand_where_they_should() {
    let text = |anchor| {
        drawn((60.0, 40.0), |canvas| {
            canvas.text((30.0, 30.0), Ink::new(20.0, palette::TEXT, anchor), "H");
        })
    };
    let near = |one: usize, other: f64| (one as f64 - 2.0 * other).abs() <= 1.0;
    for (anchor, left) in [(Anchor::Start, 30.0), (Anchor::Middle, 22.6), (Anchor::End, 15.2)] {
        let [from, top, to, bottom] = text(anchor).inked();
        assert!(near(from, left + 1.96) && near(to + 1, left + 12.9), "{anchor:?} {from} {to}");
        assert!(near(top, 30.0 - 14.28) && near(bottom + 1, 30.0), "{top} {bottom}");
    }
    let upward = drawn((60.0, 40.0), |canvas| {
        canvas.upward_text((30.0, 30.0), Ink::new(20.0, palette::TEXT, Anchor::Start), "H");
    });
    let [left, top, right, bottom] = upward.inked();
    assert!(near(left, 30.0 - 14.28) && near(right + 1, 30.0), "{left} {right}");
    assert!(near(bottom + 1, 30.0 - 1.96) && near(top, 30.0 - 12.9), "{top} {bottom}");
}

#[test]
fn a_border_keeps_lines_away_from_letters() {
    let ink = Ink::new(20.0, palette::TEXT, Anchor::Start);
    let count = |over: bool| {
        let pixels = drawn((60.0, 40.0), |canvas| {
            canvas.rectangle((0.0, 0.0), (60.0, 40.0), palette::SEND);
            if over { canvas.text_over((10.0, 30.0), ink, "H") } else { canvas.text((10.0, 30.0), ink, "H") }
        });
        (pixels.count(WHITE), pixels.count(rgb(palette::TEXT)))
    };
    let ((none, plain), (some, over)) = (count(false), count(true));
    assert_eq!((none, plain), (0, over));
    assert!(some > 100, "{some}");
}

#[test]
fn bold_letters_are_heavier_and_missing_ones_are_boxes() {
    let dark = |bold: bool, text: &str| {
        let ink = Ink { bold, ..Ink::new(20.0, palette::TEXT, Anchor::Start) };
        let pixels = drawn((60.0, 40.0), |canvas| canvas.text((10.0, 30.0), ink, text));
        pixels.count(rgb(palette::TEXT))
    };
    assert!(dark(true, "H") > dark(false, "H") + 50);
    assert!(dark(false, "核") > 50);
}
