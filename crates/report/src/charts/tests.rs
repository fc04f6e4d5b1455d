//! The formats of a picture, compared with what was drawn and with each other.

mod documents;
mod pixels;

pub use crate::tests::xml::well_formed;

use super::Picture;
use super::canvas::{Anchor, Canvas, Ink, Stroke};
use super::palette;

/// A picture of what `draw` draws.
fn picture((width, height): (f64, f64), draw: impl FnOnce(&mut Canvas)) -> Picture {
    let mut canvas = Canvas::new(width, height);
    draw(&mut canvas);
    Picture { drawing: canvas.finish("Title & <co>".into(), "γλώσσα".into()), dots: None }
}

/// Every kind of shape and text.
fn everything() -> Picture {
    let ink = |anchor| Ink::new(12.0, palette::TEXT, anchor);
    picture((300.0, 200.0), |canvas| {
        canvas.rectangle((10.0, 10.0), (50.0, 20.0), palette::SEND);
        canvas.outline((70.0, 10.0), (60.0, 20.0), palette::WARNING);
        canvas.polygon(&[(10.0, 40.0), (60.0, 40.0), (35.0, 80.0)], palette::NOISE, 0.25);
        let dashed = Stroke { dashed: true, ..Stroke::new(palette::FAINT, 1.2) };
        canvas.open_path(&[(70.0, 40.0), (100.0, 80.0), (130.0, 40.0)], true, dashed);
        canvas.dots(&[(10.0, 90.0), (20.0, 95.0)], 3.0, palette::RECEIVE);
        canvas.text((10.0, 120.0), ink(Anchor::Start), "time / µs AVAT");
        canvas.text((150.0, 120.0), ink(Anchor::Middle), "10 %  slower");
        canvas.text((290.0, 120.0), ink(Anchor::End), "<kworker & co>");
        canvas.text((10.0, 140.0), Ink { bold: true, ..ink(Anchor::Start) }, "Noise of node017");
        canvas.upward_text((280.0, 100.0), ink(Anchor::Middle), "slowdown");
        canvas.text_over((10.0, 160.0), ink(Anchor::Start), "peak at 250 Hz");
        canvas.text((10.0, 180.0), ink(Anchor::Start), "核心 \u{7}Grüße");
    })
}

#[test]
fn the_same_drawing_gives_the_same_bytes() {
    let (one, other) = (everything(), everything());
    assert_eq!(one.svg(), other.svg());
    assert_eq!(one.png().unwrap(), other.png().unwrap());
    assert_eq!(one.pdf(), other.pdf());
}

#[test]
fn impossible_numbers_draw_nothing_wrong() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 1e-300] {
        let picture = picture((20.0, 20.0), |canvas| {
            let (stroke, ink) = (Stroke::new(palette::TEXT, 1.0), Ink::new(9.0, palette::TEXT, Anchor::End));
            canvas.line((value, 1.0), (2.0, value), Stroke { dashed: true, ..stroke });
            canvas.open_path(&[], true, stroke);
            canvas.polygon(&[(value, value)], palette::TEXT, value);
            canvas.rectangle((value, 1.0), (value, value), palette::TEXT);
            canvas.outline((value, 1.0), (value, -1.0), palette::TEXT);
            canvas.dots(&[(value, 3.0)], 2.0, palette::TEXT);
            canvas.dots(&[], 2.0, palette::TEXT);
            canvas.upward_text((value, value), ink, "");
            canvas.text_over((1.0, value), Ink { size: value, ..ink }, "x");
        });
        assert_eq!(well_formed(&picture.svg()), Ok(()));
        assert!(picture.png().is_ok() && picture.pdf().ends_with(b"%%EOF\n"));
    }
    assert!(picture((0.0, 5.0), |_| ()).png().is_err());
}
