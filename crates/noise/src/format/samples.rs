//! Samples of fixed work or fixed time while they are read: they become quanta, and quanta become detours.

use super::super::quanta::{derive, usual_threshold};
use super::super::recording::{Core, Detour, Method, NoiseRecording, Quantum, UNNAMED};
use super::list::of_one_core;
use super::{Format, FormatError, FormatOptions, Repairs, WriteError, repairs};
use straggler_model::Time;
use straggler_model::columns::LinePlace;

/// The samples of a file, in its order.
#[derive(Default)]
pub(super) struct Samples {
    pub quanta: Vec<Quantum>,
    /// Start of the next quantum of fixed work: each starts where the one before it ended.
    next: Time,
    pub repairs: Repairs,
}

impl Samples {
    /// A quantum of fixed work, which starts where the one before it ended.
    pub fn push_work(&mut self, duration: Time) -> Result<(), FormatError> {
        self.quanta.push(Quantum { start: self.next, value: duration.ps() });
        self.next = self.next.checked_add(duration).ok_or(FormatError::TooLong)?;
        Ok(())
    }

    pub fn push(&mut self, start: Time, value: u64) {
        self.quanta.push(Quantum { start, value });
    }

    /// Builds the recording of one core. Differences up to `resolution`, which the clock cannot resolve, are
    /// not losses.
    pub fn finish(
        mut self,
        core: u32,
        method: Method,
        resolution: Time,
        options: &FormatOptions,
    ) -> Result<(NoiseRecording, Repairs), FormatError> {
        if self.quanta.is_empty() {
            return Err(FormatError::NoSamples);
        }
        self.repairs.sorted += repairs::sort(&mut self.quanta, |quantum| quantum.start);
        let usual = || usual_threshold(&method, &self.quanta, resolution);
        let derived = derive(&method, &self.quanta, options.threshold.unwrap_or_else(usual));
        if derived.length == Time::NEVER {
            return Err(FormatError::TooLong);
        }
        let rows = derived.detours.iter().map(|detour| (detour.start, detour.duration)).collect();
        let rows = repairs::overlaps(rows, options.overlaps, &mut self.repairs);
        let core = Core {
            core,
            length: derived.length,
            t_min: derived.t_min,
            threshold: derived.threshold,
            iterations: self.quanta.len() as u64,
            detours: rows
                .into_iter()
                .map(|(start, duration)| Detour { start, duration, source: UNNAMED })
                .collect(),
            quanta: self.quanta,
            ..Core::default()
        };
        Ok((NoiseRecording { method, ..of_one_core(core) }, self.repairs))
    }
}

/// The two fields of a row.
pub(super) fn two<'a>(
    fields: &[(LinePlace, &'a str)],
    expected: &'static str,
) -> Result<[(LinePlace, &'a str); 2], FormatError> {
    match *fields {
        [first, second] => Ok([first, second]),
        _ => Err(wrong(fields, 2, expected)),
    }
}

/// The error of a row with too few or too many fields; it points to the first that is too many.
pub(super) fn wrong(fields: &[(LinePlace, &str)], wanted: usize, expected: &'static str) -> FormatError {
    let place =
        fields.get(wanted).or(fields.first()).map_or(LinePlace { line: 0, column: 0 }, |field| field.0);
    FormatError::Columns { place, expected, found: fields.len() }
}

/// Checks that a rate in cycles per nanosecond is plausible.
pub(super) fn sensible(ghz: f64) -> Result<f64, FormatError> {
    // Cycles shorter than 2 ps cannot be distinguished.
    if (1e-6..=500.0).contains(&ghz) { Ok(ghz) } else { Err(FormatError::BadRate { ghz }) }
}

pub(super) fn cycles_to_time(cycles: u64, ghz: f64) -> Option<Time> {
    let ps = (cycles as f64 * 1_000.0 / ghz).round();
    (ps < u64::MAX as f64).then_some(Time(ps as u64))
}

pub(super) fn time_to_cycles(time: Time, ghz: f64) -> u64 {
    (time.ps() as f64 * ghz / 1_000.0).round() as u64
}

/// Refuses a recording without the samples that a format holds.
pub(super) fn must_be(
    method_fits: bool,
    recording: &NoiseRecording,
    format: Format,
) -> Result<(), WriteError> {
    let samples = recording.cores.iter().any(|core| !core.quanta.is_empty());
    if method_fits && samples {
        return Ok(());
    }
    let found = match recording.method {
        Method::FixedWork if samples => "times of fixed work",
        Method::FixedTime { .. } if samples => "work done in fixed time",
        _ => "detours only",
    };
    let wanted = match format {
        Format::NetgaugeFwq | Format::LlnlFwq => "times of fixed work",
        _ => "work done in fixed time",
    };
    let instead = "straggler, selfish, columns or sysjitter";
    Err(WriteError::Unsuitable { format, wanted, found, instead })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_survive_picoseconds() {
        for ghz in [0.5, 2.09997, 3.7, 500.0] {
            for cycles in [0, 1, 2, 3, 454_280_578, 1 << 40] {
                let time = cycles_to_time(cycles, ghz).unwrap();
                assert_eq!(time_to_cycles(time, ghz), cycles, "{cycles} at {ghz} GHz");
            }
        }
        assert_eq!(cycles_to_time(u64::MAX, 0.001), None);
        for ghz in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(sensible(ghz).is_err(), "{ghz}");
        }
    }
}
