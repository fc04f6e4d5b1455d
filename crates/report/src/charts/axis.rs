//! Axes: which values they span, where a value lies, and which ticks people can read.
//!
//! Data may be anything. What is not finite, or so far from one that no axis shows it, is left out
//! ([`drawable`]); equal values get room around them; so an axis always has a length.

use super::unit::Unit;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    Linear,
    /// Powers of ten.
    Decades,
    /// Powers of two.
    Doublings,
}

/// Beyond this no axis goes, in either direction.
const LARGEST: f64 = 1e24;
const SMALLEST: f64 = 1e-24;

/// Whether an axis of this kind has a place for a value.
pub fn drawable(value: f64, scale: Scale) -> bool {
    match scale {
        Scale::Linear => value.abs() <= LARGEST,
        Scale::Decades | Scale::Doublings => (SMALLEST..=LARGEST).contains(&value),
    }
}

/// One axis of a chart.
#[derive(Clone, Debug)]
pub struct Axis {
    pub title: String,
    pub scale: Scale,
    pub unit: Unit,
    low: f64,
    high: f64,
    /// What stands at 0, 1, 2, … instead of these numbers; nothing where a name is empty.
    names: Vec<String>,
}

/// A mark on an axis: where, as a share of its length, and what stands there. Without a label only a fine
/// line is drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Tick {
    pub share: f64,
    pub label: Option<String>,
}

impl Axis {
    /// An axis that shows all values that can be shown.
    pub fn fitting(title: &str, scale: Scale, unit: Unit, values: impl IntoIterator<Item = f64>) -> Axis {
        let drawn = values.into_iter().filter(|&value| drawable(value, scale));
        let span = drawn.fold(None, |span: Option<(f64, f64)>, value| {
            let (low, high) = span.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        let (low, high) = match (scale, span) {
            (Scale::Linear, None) => (0.0, 1.0),
            (Scale::Linear, Some((low, high))) => with_length(low, high),
            (Scale::Decades, None) => (1e-6, 1e-3),
            (Scale::Decades, Some((low, high))) => with_decade(low, high),
            (Scale::Doublings, None) => (2.0, 1024.0),
            (Scale::Doublings, Some((low, high))) if low < high => (low, high),
            (Scale::Doublings, Some((low, high))) => (low / 2.0, high * 2.0),
        };
        Axis { title: title.into(), scale, unit, low, high, names: Vec::new() }
    }

    /// The same with names at 0, 1, 2, …
    pub fn with_names(self, names: &[String]) -> Axis {
        Axis { names: names.to_vec(), ..self }
    }

    /// The same with room at its ends, as a share of its length.
    pub fn with_room(mut self, below: f64, above: f64) -> Axis {
        let length = self.position(self.high) - self.position(self.low);
        let ends = (self.position(self.low) - below * length, self.position(self.high) + above * length);
        (self.low, self.high) = (self.value(ends.0), self.value(ends.1));
        self
    }

    /// Where a value lies between the ends: 0 to 1. Values outside lie at the nearer end.
    pub fn share(&self, value: f64) -> f64 {
        let (low, high) = (self.position(self.low), self.position(self.high));
        let share = (self.position(value) - low) / (high - low);
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// Values measured as the axis measures them: evenly spaced where it is even.
    fn position(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Decades => value.max(SMALLEST / 100.0).log10(),
            Scale::Doublings => value.max(SMALLEST / 100.0).log2(),
        }
    }

    fn value(&self, position: f64) -> f64 {
        match self.scale {
            Scale::Linear => position,
            Scale::Decades => 10f64.powf(position),
            Scale::Doublings => position.exp2(),
        }
    }

    /// Ticks with at most `most` labels or so.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        let most = most.max(2);
        match self.scale {
            _ if !self.names.is_empty() => self.named_ticks(most),
            Scale::Linear => self.even_ticks(most),
            Scale::Decades => self.decade_ticks(most),
            Scale::Doublings => self.doubling_ticks(most),
        }
    }

    fn tick(&self, value: f64, label: Option<String>) -> Option<Tick> {
        let slack = 1e-9 * (self.position(self.high) - self.position(self.low));
        let position = self.position(value);
        let inside =
            position >= self.position(self.low) - slack && position <= self.position(self.high) + slack;
        inside.then(|| Tick { share: self.share(value), label })
    }

    /// Every name, or every second, third, …
    fn named_ticks(&self, most: usize) -> Vec<Tick> {
        let named = self.names.iter().enumerate().filter(|(_, name)| !name.is_empty());
        let seen: Vec<Tick> =
            named.filter_map(|(place, name)| self.tick(place as f64, Some(name.clone()))).collect();
        let every = seen.len().div_ceil(most).max(1);
        seen.into_iter().step_by(every).collect()
    }

    /// Steps of 1, 2 or 5 times a power of ten.
    fn even_ticks(&self, most: usize) -> Vec<Tick> {
        let rough = (self.high - self.low) / most as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step - 1e-9).ceil();
        let reference = self.low.abs().max(self.high.abs());
        let values = (0..=most + 1).map(|index| (first + index as f64) * step);
        values.filter_map(|value| self.tick(value, Some(self.unit.label(value, reference, step)))).collect()
    }

    fn decade_ticks(&self, most: usize) -> Vec<Tick> {
        let (low, high) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let decades = self.high.log10() - self.low.log10();
        let every = (decades / most as f64).ceil().max(1.0) as i32;
        // Within few decades, 2 and 5 are labelled too.
        let labelled: &[u8] = if 3.0 * decades <= most as f64 { &[1, 2, 5] } else { &[1] };
        let mut ticks = Vec::new();
        for power in low..=high {
            let unit = 10f64.powi(power);
            for digit in 1..=9u8 {
                let value = f64::from(digit) * unit;
                let is_labelled = labelled.contains(&digit) && power.rem_euclid(every) == 0;
                let label = is_labelled.then(|| self.unit.label(value, value, unit));
                // Fine lines between many decades would be a grey area.
                if is_labelled || (every == 1 && decades <= 9.0) {
                    ticks.extend(self.tick(value, label));
                }
            }
        }
        ticks
    }

    fn doubling_ticks(&self, most: usize) -> Vec<Tick> {
        let (low, high) = (self.low.log2().floor() as i32, self.high.log2().ceil() as i32);
        // Steps that meet 2^10 and 2^20, which have short names.
        let labels = |every: &i32| (high - 1).div_euclid(*every) - low.div_euclid(*every);
        let steps = [1, 2, 5, 10, 20, 40, 80];
        let every = steps.into_iter().find(|every| labels(every) <= most as i32).unwrap_or(160);
        let mut ticks = Vec::new();
        for power in low..=high {
            let value = f64::from(power).exp2();
            let label = (power.rem_euclid(every) == 0).then(|| self.unit.show(value));
            if label.is_some() || high - low <= 40 {
                ticks.extend(self.tick(value, label));
            }
        }
        ticks
    }
}

/// Ends that differ by enough for floating point to tell ticks apart.
fn with_length(low: f64, high: f64) -> (f64, f64) {
    let least = 1e-6 * low.abs().max(high.abs());
    if high - low > least {
        return (low, high);
    }
    let half = 0.1 * low.abs().max(high.abs());
    // Nothing but zeros: amounts begin there.
    if half > 0.0 { (low - half, high + half) } else { (0.0, 1.0) }
}

/// At least one decade long.
fn with_decade(low: f64, high: f64) -> (f64, f64) {
    let missing = 1.0 - (high.log10() - low.log10());
    if missing <= 0.0 {
        return (low, high);
    }
    let factor = 10f64.powf(missing / 2.0);
    (low / factor, high * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis, most: usize) -> Vec<String> {
        axis.ticks(most).into_iter().filter_map(|tick| tick.label).collect()
    }

    #[test]
    fn decades_of_time() {
        let axis = Axis::fitting("", Scale::Decades, Unit::Seconds, [1e-6, 1e-2]);
        assert_eq!(labels(&axis, 6), ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]);
        assert_eq!(axis.ticks(6).len(), 4 * 9 + 1);
        assert!((axis.share(1e-4) - 0.5).abs() < 1e-12);
        let narrow = Axis::fitting("", Scale::Decades, Unit::Seconds, [5e-6]);
        assert_eq!(labels(&narrow, 6), ["2 µs", "5 µs", "10 µs"]);
    }

    #[test]
    fn even_steps_share_a_unit() {
        let axis = Axis::fitting("", Scale::Linear, Unit::Seconds, [0.0, 2e-3, f64::NAN, f64::INFINITY]);
        assert_eq!(labels(&axis, 5), ["0 ms", "0.5 ms", "1.0 ms", "1.5 ms", "2.0 ms"]);
    }

    #[test]
    fn doublings_of_processes() {
        let axis = Axis::fitting("", Scale::Doublings, Unit::Processes, [2.0, 1048576.0]);
        assert_eq!(labels(&axis, 10), ["4", "16", "64", "256", "1k", "4k", "16k", "64k", "256k", "1M"]);
    }

    proptest! {
        /// Whatever the data, there are ticks, they lie on the axis in order, and no more than asked for.
        #[test]
        fn every_axis_has_readable_ticks(
            values in prop::collection::vec(prop::num::f64::ANY, 0..5), kind in 0..3usize, most in 2..12usize
        ) {
            let scale = [Scale::Linear, Scale::Decades, Scale::Doublings][kind];
            let axis = Axis::fitting("", scale, Unit::Seconds, values.iter().copied()).with_room(0.02, 0.05);
            let ticks = axis.ticks(most);
            prop_assert!(ticks.windows(2).all(|pair| pair[0].share < pair[1].share));
            prop_assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.share)));
            let labelled = ticks.iter().filter(|tick| tick.label.is_some()).count();
            prop_assert!((1..=most + 2).contains(&labelled), "{} {:?}", labelled, axis);
            prop_assert!(values.iter().all(|&value| (0.0..=1.0).contains(&axis.share(value))));
        }
    }
}
