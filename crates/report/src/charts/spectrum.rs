//! Which frequencies are in the noise: frequency against amplitude, the peaks with their names.

use super::axis::{Axis, Scale, drawable};
use super::canvas::{Anchor, Ink, Place, Stroke};
use super::frame::{Entry, Frame, Mark};
use super::lines::reduced;
use super::text::{shortened, width};
use super::unit::Unit;
use super::{Heading, palette};
use crate::numbers::{counted, grouped};

/// A frequency that stands out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Peak {
    /// In Hz.
    pub frequency: f64,
    pub amplitude: f64,
    /// What is said beside the frequency; may be empty.
    pub name: String,
}

/// Frequency (Hz) against amplitude, by rising frequency.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Spectrum {
    pub points: Vec<(f64, f64)>,
    /// What chance alone gives; may be empty.
    pub floor: Vec<(f64, f64)>,
    pub peaks: Vec<Peak>,
    /// What the amplitude is.
    pub amplitude: String,
    pub unit: Unit,
}

/// Axes that span more than this are logarithmic.
const WIDE: f64 = 100.0;
const LABEL: f64 = 12.0;

impl Spectrum {
    pub fn draw(&self, heading: &Heading) -> String {
        let (x, y) = self.axes();
        let points = shown(&self.points, &x, &y);
        let remark = self.remark(points.len());
        let legend = if self.floor.is_empty() { Vec::new() } else { legend() };
        let mut frame = Frame::with_axes(&heading.with_remark(&remark), &legend, &x, &y);
        if points.is_empty() {
            frame.draw_remark("no frequencies");
            return frame.finish();
        }
        draw_line(&mut frame, &points, (&x, &y), Stroke::new(palette::colour(0), 1.2));
        draw_line(&mut frame, &shown(&self.floor, &x, &y), (&x, &y), Stroke::new(palette::OTHERS, 1.4));
        self.draw_peaks(&mut frame, &x, &y);
        frame.finish()
    }

    fn axes(&self) -> (Axis, Axis) {
        let frequencies =
            || self.points.iter().map(|point| point.0).chain(self.peaks.iter().map(|p| p.frequency));
        let heights = self.points.iter().chain(&self.floor).map(|point| point.1);
        let amplitudes = || heights.clone().chain(self.peaks.iter().map(|peak| peak.amplitude));
        let x_scale = if is_wide(frequencies()) { Scale::Decades } else { Scale::Linear };
        let y_scale = if is_wide(amplitudes()) { Scale::Decades } else { Scale::Linear };
        let x = Axis::fitting("frequency", x_scale, Unit::Hertz, frequencies());
        let title = if self.amplitude.is_empty() { "amplitude" } else { &self.amplitude };
        let from_zero = (y_scale == Scale::Linear).then_some(0.0);
        let y = Axis::fitting(title, y_scale, self.unit, amplitudes().chain(from_zero));
        // Names of peaks stand above them.
        (x, y.with_room(0.0, 0.12))
    }

    fn remark(&self, shown: usize) -> String {
        let left_out = self.points.len() - shown;
        let peaks = counted(self.peaks.len() as u64, "peak", "peaks");
        match left_out {
            0 => peaks,
            left_out => format!("{peaks}; {} frequencies cannot be drawn", grouped(left_out as u64)),
        }
    }

    /// The highest peaks get their names first; one that would cover another stays without.
    fn draw_peaks(&self, frame: &mut Frame, x: &Axis, y: &Axis) {
        let shown = |peak: &&Peak| drawable(peak.frequency, x.scale) && drawable(peak.amplitude, y.scale);
        let mut peaks: Vec<&Peak> = self.peaks.iter().filter(shown).collect();
        peaks.sort_by(|a, b| b.amplitude.total_cmp(&a.amplitude));
        let place = |peak: &Peak| frame.place(x.share(peak.frequency), y.share(peak.amplitude));
        let places: Vec<Place> = peaks.iter().map(|peak| place(peak)).collect();
        let mut taken: Vec<Room> = places.iter().map(|&place| Room::of_dot(place)).collect();
        for (peak, &place) in peaks.iter().zip(&places) {
            frame.canvas.dots(&[place], 7.0, palette::colour(1));
            let label = peak_label(peak);
            let room = Room::above(place, width(&label, LABEL), (frame.left, frame.right));
            if taken.iter().all(|other| !other.overlaps(&room)) {
                let ink = Ink::new(LABEL, palette::TEXT, Anchor::Start);
                frame.canvas.text_over((room.left, place.1 - 9.0), ink, &label);
                taken.push(room);
            }
        }
    }
}

fn legend() -> Vec<Entry> {
    let entry =
        |name: &str, colour| Entry { name: name.into(), detail: String::new(), colour, mark: Mark::Line };
    vec![entry("noise", palette::colour(0)), entry("by chance", palette::OTHERS)]
}

/// What has a place on the axes, by rising frequency.
fn shown(points: &[(f64, f64)], x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
    let has_place = |point: &&(f64, f64)| drawable(point.0, x.scale) && drawable(point.1, y.scale);
    let mut points: Vec<(f64, f64)> = points.iter().filter(has_place).copied().collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn draw_line(frame: &mut Frame, points: &[(f64, f64)], (x, y): (&Axis, &Axis), stroke: Stroke) {
    let place = |&(frequency, height): &(f64, f64)| frame.place(x.share(frequency), y.share(height));
    let places: Vec<Place> = points.iter().map(place).collect();
    match &places[..] {
        [] => (),
        // A line of one point would not be seen.
        [only] => frame.canvas.dots(&[*only], 4.0, stroke.colour),
        _ => frame.canvas.open_path(&reduced(&places), true, stroke),
    }
}

fn peak_label(peak: &Peak) -> String {
    let frequency = Unit::Hertz.show(peak.frequency);
    if peak.name.is_empty() {
        frequency
    } else {
        format!("{frequency} {}", shortened(&peak.name, LABEL, 140.0))
    }
}

fn is_wide(values: impl Iterator<Item = f64> + Clone) -> bool {
    let positive = values.filter(|&value| drawable(value, Scale::Decades));
    let least = positive.clone().fold(f64::INFINITY, f64::min);
    positive.fold(0.0, f64::max) > WIDE * least
}

/// Where a name stands.
struct Room {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Room {
    fn of_dot((x, y): Place) -> Room {
        Room { left: x - 4.0, right: x + 4.0, top: y - 4.0, bottom: y + 4.0 }
    }

    /// In the middle above a place, moved so that it stays between the ends.
    fn above((x, y): Place, width: f64, (least, most): (f64, f64)) -> Room {
        let left = (x - width / 2.0).min(most - width).max(least);
        Room { left, right: left + width, top: y - 21.0, bottom: y - 6.0 }
    }

    fn overlaps(&self, other: &Room) -> bool {
        self.left < other.right + 3.0
            && other.left < self.right + 3.0
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_named_unless_they_collide() {
        let points = (1..=1000).map(|index| (f64::from(index), 0.01)).collect();
        let peak = |frequency, amplitude, name: &str| Peak { frequency, amplitude, name: name.into() };
        let peaks = vec![peak(250.0, 1.0, "timer tick"), peak(250.1, 0.99, "hidden"), peak(10.0, 0.5, "")];
        let svg = Spectrum { points, peaks, ..Spectrum::default() }.draw(&Heading::default());
        assert!(svg.contains(">250 Hz timer tick<") && svg.contains(">10 Hz<"));
        assert!(!svg.contains("hidden"));
        assert_eq!(svg.matches("h0").count(), 3);
        assert!(svg.contains(">1 kHz<") && svg.contains("3 peaks"));
    }
}
