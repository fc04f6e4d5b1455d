//! Axes: their range, the position of a value, and readable ticks. The page does the same
//! (`web/report/src/charts/scale.ts`, `format/ticks.ts`); `plot/agreement.rs` checks that the two agree.
//!
//! Data may be anything. Values that are not finite or beyond the limits of any axis are left out
//! ([`drawable`]), and equal values get a margin, so an axis always has a length.

use super::number::{brief, factor, tick};
use crate::page::{self, Scale, Unit};

/// The limit of every axis, in either direction.
const LARGEST: f64 = 1e24;
const SMALLEST: f64 = 1e-24;

/// Whether an axis of this kind has a place for a value.
pub fn drawable(value: f64, scale: Scale) -> bool {
    match scale {
        Scale::Linear => value.abs() <= LARGEST,
        Scale::Log10 | Scale::Log2 => (SMALLEST..=LARGEST).contains(&value),
    }
}

/// A value in the axis's coordinate, in which positions are evenly spaced.
pub fn coordinate(value: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Log10 | Scale::Log2 => value.max(SMALLEST / 100.0).log10(),
    }
}

/// Ends of an axis, in its own coordinate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

/// The range of the data, in the coordinate of an axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Extent {
    scale: Scale,
    pub low: f64,
    pub high: f64,
}

impl Extent {
    /// Covers the drawable values, and the range that the axis always covers.
    pub fn new(axis: &page::Axis, values: impl IntoIterator<Item = f64>) -> Extent {
        let mut extent = Extent { scale: axis.scale, low: f64::INFINITY, high: f64::NEG_INFINITY };
        let covered = axis.covers.into_iter().flatten();
        for value in values.into_iter().chain(covered).filter(|&value| drawable(value, axis.scale)) {
            let at = coordinate(value, axis.scale);
            (extent.low, extent.high) = (extent.low.min(at), extent.high.max(at));
        }
        extent
    }

    /// Adds a share of the length as a margin at both ends.
    pub fn padded(self, pad: f64) -> Range {
        self.range(pad, false)
    }

    /// Like [`Extent::padded`], but starting at zero on a linear axis, without a margin there.
    pub fn with_zero(self, pad: f64) -> Range {
        self.range(pad, self.scale == Scale::Linear)
    }

    fn range(self, pad: f64, from_zero: bool) -> Range {
        if self.low > self.high {
            return Range { low: 0.0, high: 1.0 };
        }
        let zero = from_zero.then_some(0.0);
        let low = zero.map_or(self.low, |zero| self.low.min(zero));
        let high = zero.map_or(self.high, |zero| self.high.max(zero));
        let largest = low.abs().max(high.abs());
        // The ends must differ enough for floating point to distinguish ticks.
        if high - low <= 1e-9 * largest {
            let half = if self.scale == Scale::Linear && largest > 0.0 { largest / 2.0 } else { 0.5 };
            return Range { low: low - half, high: high + half };
        }
        let margin = pad * (high - low);
        let beyond = |end: f64, margin: f64| if zero == Some(end) { end } else { end + margin };
        Range { low: beyond(low, -margin), high: beyond(high, margin) }
    }

    /// The default range: at least 0 to 1 for shares of a whole.
    pub fn home(self, axis: &page::Axis, pad: f64) -> Range {
        match axis.whole && axis.scale == Scale::Linear {
            true => Range { low: self.low.min(0.0), high: self.high.max(1.0) },
            false => self.padded(pad),
        }
    }
}

/// One axis of a chart.
#[derive(Clone, Debug)]
pub struct Axis {
    pub title: String,
    pub scale: Scale,
    pub unit: Unit,
    pub range: Range,
    /// Labels for positions 0, 1, 2, …; a position with an empty name has no label.
    names: Vec<String>,
    /// Values that always get ticks.
    ends: Vec<f64>,
}

/// A tick: its value, its position as a share of the axis, and its label. Without a label only a fine line is
/// drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Tick {
    pub value: f64,
    pub share: f64,
    pub label: Option<String>,
}

impl Axis {
    pub fn new(axis: &page::Axis, range: Range) -> Axis {
        let (title, names) = (axis.label.clone(), axis.names.clone());
        Axis { title, scale: axis.scale, unit: axis.unit, range, names, ends: Vec::new() }
    }

    /// Adds ticks at the first and the last value of the data.
    pub fn with_ends(self, ends: &[f64]) -> Axis {
        Axis { ends: ends.to_vec(), ..self }
    }

    /// Where a value lies between the ends: 0 to 1. Values outside lie at the nearer end.
    pub fn share(&self, value: f64) -> f64 {
        self.share_of(coordinate(value, self.scale))
    }

    /// Like [`Axis::share`], for a value in the coordinate of the axis.
    pub fn share_of(&self, at: f64) -> f64 {
        let share = (at - self.range.low) / (self.range.high - self.range.low);
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    pub fn low(&self) -> f64 {
        self.value(self.range.low)
    }

    pub fn high(&self) -> f64 {
        self.value(self.range.high)
    }

    fn value(&self, at: f64) -> f64 {
        if self.scale == Scale::Linear { at } else { 10f64.powf(at) }
    }

    /// Returns ticks with at most about `room` labels.
    pub fn ticks(&self, room: f64) -> Vec<Tick> {
        let (low, high, room) = (self.low(), self.high(), room.max(1.0));
        let found = match self.scale {
            _ if !self.names.is_empty() => self.named(low, high, room),
            Scale::Linear => self.with_both_ends(self.even(low, high, room), low, high),
            // Even steps read best within part of a decade.
            Scale::Log10 if high / low < 10.0 => self.even(low, high, room),
            Scale::Log2 if high / low < 4.0 => self.even(low, high, room),
            Scale::Log10 => self.decades(low, high, room),
            Scale::Log2 => self.powers_of_two(low, high, room),
        };
        let tick = |(value, label)| Tick { value, share: self.share(value), label };
        found.into_iter().map(tick).collect()
    }

    /// Every name, or every second, third, …
    fn named(&self, low: f64, high: f64, room: f64) -> Vec<(f64, Option<String>)> {
        let places = self.names.iter().enumerate().map(|(place, name)| (place as f64, name));
        let seen: Vec<_> =
            places.filter(|(at, name)| !name.is_empty() && (low..=high).contains(at)).collect();
        let every = (seen.len() as f64 / room).ceil().max(1.0) as usize;
        seen.into_iter().step_by(every).map(|(at, name)| (at, Some(name.clone()))).collect()
    }

    /// Steps of 1, 2 or 5 times a power of ten; whole numbers for counts.
    fn even(&self, low: f64, high: f64, room: f64) -> Vec<(f64, Option<String>)> {
        const MOST: usize = 200;
        let largest = low.abs().max(high.abs());
        let step = match self.unit {
            // Byte prefixes are powers of 1,024: choose even steps in the prefix that is printed.
            Unit::Bytes => {
                let factor = factor(largest, self.unit);
                factor * nice_step((high - low) / factor, room)
            }
            Unit::Count => nice_step(high - low, room).max(1.0),
            _ => nice_step(high - low, room),
        };
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        let values = (0..MOST).map(|index| first + index as f64).take_while(|&index| index <= last);
        // 20× and 40×, not 21× and 41×.
        let shift = if self.unit == Unit::Slowdown && step >= 5.0 { 1.0 } else { 0.0 };
        let at = |index: f64| if index > 0.0 { index * step - shift } else { index * step };
        values.map(at).map(|at| (at, Some(tick(at, self.unit, step, largest)))).collect()
    }

    /// Adds the ticks of the ends to even ticks, and drops ticks too close to them.
    fn with_both_ends(
        &self,
        found: Vec<(f64, Option<String>)>,
        low: f64,
        high: f64,
    ) -> Vec<(f64, Option<String>)> {
        let mut ends: Vec<f64> = self.ends.iter().copied().filter(|end| (low..=high).contains(end)).collect();
        ends.sort_by(f64::total_cmp);
        ends.dedup();
        let step = if found.len() > 1 { found[1].0 - found[0].0 } else { 0.0 };
        let largest = ends.iter().map(|end| end.abs()).fold(0.0, f64::max);
        let is_far = |at: f64| ends.iter().all(|end| (at - end).abs() > 0.6 * step);
        let mut all: Vec<_> = found.into_iter().filter(|tick| is_far(tick.0)).collect();
        let step = if step > 0.0 { step } else { 1.0 };
        all.extend(ends.iter().map(|&end| (end, Some(tick(end, self.unit, step, largest)))));
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    fn powers_of_two(&self, low: f64, high: f64, room: f64) -> Vec<(f64, Option<String>)> {
        let (first, last) = ((low.log2() - 1e-9).ceil() as i32, (high.log2() + 1e-9).floor() as i32);
        let every = (f64::from(last - first + 1) / room).ceil().max(1.0) as i32;
        let label = |power: i32, value| (power.rem_euclid(every) == 0).then(|| brief(value, self.unit));
        let tick = |power: i32| (f64::from(power).exp2(), label(power, f64::from(power).exp2()));
        (first..=last).map(tick).collect()
    }

    /// Powers of ten; within few of them 2 and 5 are labelled, too.
    fn decades(&self, low: f64, high: f64, room: f64) -> Vec<(f64, Option<String>)> {
        let span = (high / low).log10();
        let (first, last) = ((low.log10() + 1e-9).floor() as i32, (high.log10() + 1e-9).floor() as i32);
        let every = (span / room).ceil().max(1.0) as i32;
        let labelled: &[u8] = if span < 2.2 && room >= 5.0 { &[1, 2, 5] } else { &[1] };
        // With many decades, fine lines would merge into a grey area.
        let digits = if span > 8.0 { 1..=1 } else { 1..=9u8 };
        let mut ticks = Vec::new();
        for (power, digit) in (first..=last).flat_map(|power| digits.clone().map(move |digit| (power, digit)))
        {
            let value: f64 = format!("{digit}e{power}").parse().unwrap_or(f64::NAN);
            // 5× and 10×, not 6× and 11×: added time of 4 and 9.
            let is_factor = self.unit == Unit::Slowdown && value > 1.0;
            let value = if is_factor { value - 1.0 } else { value };
            if is_factor && value == 1.0 {
                continue;
            }
            if value >= low * 0.999999 && value <= high * 1.000001 {
                let is_labelled = labelled.contains(&digit) && power.rem_euclid(every) == 0;
                ticks.push((value, is_labelled.then(|| brief(value, self.unit))));
            }
        }
        ticks
    }
}

/// 1, 2 or 5 times a power of ten, so that about `room` steps make the span.
fn nice_step(span: f64, room: f64) -> f64 {
    let rough = span / room;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps.into_iter().find(|step| *step >= rough * 0.999999).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fitting(unit: Unit, scale: Scale, values: &[f64]) -> Axis {
        let axis = page::Axis::new("", unit, scale);
        Axis::new(&axis, Extent::new(&axis, values.iter().copied()).padded(0.0))
    }

    fn labels(axis: &Axis, room: f64) -> Vec<String> {
        axis.ticks(room).into_iter().filter_map(|tick| tick.label).collect()
    }

    #[test]
    fn decades_of_time() {
        let axis = fitting(Unit::Seconds, Scale::Log10, &[1e-6, 1e-2]);
        assert_eq!(labels(&axis, 6.0), ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]);
        assert_eq!(axis.ticks(6.0).len(), 4 * 9 + 1);
        assert!((axis.share(1e-4) - 0.5).abs() < 1e-12);
        let narrow = fitting(Unit::Seconds, Scale::Log10, &[5e-6]);
        assert_eq!(labels(&narrow, 6.0), ["2 µs", "5 µs", "10 µs"]);
    }

    #[test]
    fn even_steps_share_a_unit() {
        let axis = fitting(Unit::Seconds, Scale::Linear, &[0.0, 2e-3, f64::NAN, f64::INFINITY]);
        assert_eq!(labels(&axis, 5.0), ["0.0 ms", "0.5 ms", "1.0 ms", "1.5 ms", "2.0 ms"]);
        assert_eq!(labels(&fitting(Unit::Count, Scale::Linear, &[0.0, 2.0]), 10.0), ["0", "1", "2"]);
    }

    #[test]
    fn steps_of_bytes_are_whole() {
        let axis = fitting(Unit::Bytes, Scale::Linear, &[0.0, 5e6]);
        assert_eq!(labels(&axis, 5.0), ["0 MiB", "1 MiB", "2 MiB", "3 MiB", "4 MiB"]);
    }

    /// 1,024 processes are 1,024, not "1k".
    #[test]
    fn processes_are_written_out() {
        let axis = fitting(Unit::Count, Scale::Log2, &[2.0, 1048576.0]);
        assert_eq!(labels(&axis, 5.0), ["16", "256", "4,096", "65,536", "1,048,576"]);
    }

    #[test]
    fn the_first_and_the_last_step_have_ticks() {
        let axis = fitting(Unit::Count, Scale::Linear, &[-0.5, 21.5]).with_ends(&[0.0, 21.0]);
        assert_eq!(labels(&axis, 5.0), ["0", "5", "10", "15", "21"]);
    }

    #[test]
    fn amounts_begin_at_zero() {
        let axis = page::Axis::linear("", Unit::Count);
        let extent = Extent::new(&axis, [10.0, 20.0]);
        assert_eq!(extent.with_zero(0.1), Range { low: 0.0, high: 22.0 });
        assert_eq!(extent.padded(0.1), Range { low: 9.0, high: 21.0 });
        let whole = page::Axis::whole("");
        assert_eq!(Extent::new(&whole, [0.3]).home(&whole, 0.1), Range { low: 0.0, high: 1.0 });
    }

    proptest! {
        /// For any data there are ticks, in order and within the axis, and not many more than requested.
        #[test]
        fn every_axis_has_readable_ticks(
            values in prop::collection::vec(prop::num::f64::ANY, 0..5), kind in 0..3usize, room in 4..12usize
        ) {
            let scale = [Scale::Linear, Scale::Log10, Scale::Log2][kind];
            let axis = page::Axis::new("", Unit::Seconds, scale);
            let axis = Axis::new(&axis, Extent::new(&axis, values.iter().copied()).padded(0.05));
            let ticks = axis.ticks(room as f64);
            prop_assert!(ticks.windows(2).all(|pair| pair[0].share < pair[1].share), "{:?}", ticks);
            prop_assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.share)));
            let labelled = ticks.iter().filter(|tick| tick.label.is_some()).count();
            prop_assert!((1..=room + 3).contains(&labelled), "{} {:?}", labelled, axis);
            prop_assert!(values.iter().all(|&value| (0.0..=1.0).contains(&axis.share(value))));
        }
    }
}
