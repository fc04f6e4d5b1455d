//! The raw output of sysjitter: when the loop noticed an interruption, the time since the previous one (in
//! µs), and the duration of the interruption, in cycles and in ns. With `--sort` the second column is missing
//! and the longest come last.
//!
//! The timestamp is read after the interruption, so it marks the end. The duration is at least the threshold
//! and includes the loop iteration itself. If the header states the rate, cycles are more precise than the
//! truncated nanoseconds.

use super::super::recording::{Core, NoiseRecording};
use super::list::{List, Stated, of_one_core};
use super::samples::wrong;
use super::text::{unless_negative, value};
use super::{FormatError, FormatOptions, Repairs};
use std::fmt::Write;
use straggler_model::Time;
use straggler_model::columns::LinePlace;
use straggler_model::columns::{FieldError, Line, NANOSECONDS, count, lines, time};
use straggler_model::provenance::Timer;
use straggler_model::units;

/// `Timestamp delta <== interruption =>`
pub(super) fn is_heading(words: &[&str]) -> bool {
    matches!(words, ["Timestamp", .., "<==", "interruption", "=>"])
}

/// Facts from the comments.
#[derive(Default)]
struct Header {
    mhz: Option<u64>,
    threshold: Time,
    runtime_cycles: Option<u64>,
}

impl Header {
    fn comment(&mut self, comment: &str) {
        if let Some(mhz) = value(comment, "cpu_mhz").and_then(|text| text.parse().ok()) {
            // 500 GHz: cycles shorter than 2 ps cannot be distinguished.
            self.mhz = Some(mhz).filter(|mhz| (1..=500_000).contains(mhz));
        }
        if let Some(threshold) = value(comment, "threshold").and_then(|text| units::time(text).ok()) {
            self.threshold = threshold;
        }
        if let Some(cycles) = value(comment, "total_runtime").and_then(|text| text.strip_suffix("cycles")) {
            self.runtime_cycles = cycles.trim().parse().ok();
        }
    }

    /// Cycles as time, where the rate is known.
    fn time(&self, cycles: u64) -> Option<Time> {
        let mhz = u128::from(self.mhz?);
        u64::try_from((u128::from(cycles) * 1_000_000 + mhz / 2) / mhz).ok().map(Time)
    }
}

pub(super) fn read(text: &str, options: &FormatOptions) -> Result<(NoiseRecording, Repairs), FormatError> {
    let (mut list, mut header) = (List::default(), Header::default());
    for (_, line) in lines(text) {
        match line {
            Line::Comment(comment) => header.comment(comment),
            Line::Fields(fields) => row(&fields, &header, &mut list)?,
        }
    }
    list.stated = header.runtime_cycles.and_then(|cycles| header.time(cycles)).map(|length| {
        // Timestamps are cut to nanoseconds, and the last interruption may end the run.
        Stated { length, rounding: Time::from_ns(1) }
    });
    let core = Core { core: options.core, threshold: header.threshold, ..Core::default() };
    let (core, repairs) = list.finish(core, options)?;
    let rate = header.mhz.map_or(0.0, |mhz| mhz as f64 * 1e6);
    let timer = Timer { ticks_per_second: rate, ..Timer::default() };
    Ok((NoiseRecording { timer, ..of_one_core(core) }, repairs))
}

fn row(fields: &[(LinePlace, &str)], header: &Header, list: &mut List) -> Result<(), FormatError> {
    let (stamp, cycles, nanoseconds) = match *fields {
        [stamp, _, cycles, nanoseconds] | [stamp, cycles, nanoseconds] => (stamp, cycles, nanoseconds),
        _ => return Err(wrong(fields, 4, "four columns: timestamp, delta, cycles, ns")),
    };
    let place = stamp.0;
    let read = || -> Result<(Time, Time), FieldError> {
        let end = time(stamp.0, stamp.1, NANOSECONDS)?;
        let cycles = count(cycles.0, cycles.1, "cycles")?;
        let rough = time(nanoseconds.0, nanoseconds.1, NANOSECONDS)?;
        Ok((end, header.time(cycles).unwrap_or(rough)))
    };
    match unless_negative(read(), &mut list.repairs)? {
        // The interruption began before the clock was started.
        Some((end, duration)) if duration > end => list.push(place, Time::ZERO, end),
        Some((end, duration)) => {
            let start = behind(list.end_of_last(), end.since(duration));
            list.push(place, start, duration)
        }
        None => Ok(()),
    }
}

/// Delays a start to the end of the interruption before it if they overlap by less than a nanosecond.
/// Truncated timestamps make back-to-back interruptions seem to overlap by that much.
fn behind(last_end: Time, start: Time) -> Time {
    if last_end.since(start) < Time::from_ns(1) { start.max(last_end) } else { start }
}

pub(super) fn write(recording: &NoiseRecording, core: &Core) -> String {
    // Without a rate, one cycle a nanosecond.
    let known = (recording.timer.ticks_per_second / 1e6).round();
    let mhz = if (1.0..=500_000.0).contains(&known) { known as u64 } else { 1_000 };
    let cycles = |time: Time| divide(u128::from(time.ps()) * u128::from(mhz) + 500_000, 1_000_000);
    let seconds = |cycles: u64| cycles as f64 / (mhz as f64 * 1e6);
    let (lost, length) = (cycles(core.noise()), cycles(core.length));
    let share = 100.0 * lost as f64 / length.max(1) as f64;
    let threshold = core.threshold.ps().div_ceil(1_000);
    let mut text = format!(
        "# cpu_mhz: {mhz}\n# threshold: {threshold}ns\n# n_interruptions: {}\n# interruption: {share:.6}%\n\
         # total_interruption: {lost} cycles\n# total_runtime: {length} cycles\n\
         # total_interruption: {:.9} seconds\n# total_runtime: {:.9} seconds\n#\n\
         #      Timestamp      delta   <== interruption =>\n\
         #         (nsec)     (usec)   (cycles)     (nsec)\n",
        core.detours.len(),
        seconds(lost),
        seconds(length),
    );
    let mut previous = None;
    for detour in &core.detours {
        let stamp = detour.end().ps() / 1_000;
        let delta = (stamp - previous.unwrap_or(stamp)) / 1_000;
        let taken = cycles(detour.duration);
        let nanoseconds = divide(u128::from(taken) * 1_000, u128::from(mhz));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{stamp:16} {delta:10} {taken:10} {nanoseconds:10}");
        previous = Some(stamp);
    }
    text
}

fn divide(numerator: u128, denominator: u128) -> u64 {
    u64::try_from(numerator / denominator).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruptions_in_a_row_do_not_overlap() {
        // 3 GHz: 1,000 cycles end at 333.33 ns, 1,001 more at 667 ns, 1,001 more at 1,000.67 ns.
        let text = "# cpu_mhz: 3000\n1333 0 1000 333\n1666 0 1001 333\n2000 0 1001 333\n2100 0 601 200\n";
        let (recording, repairs) = read(text, &FormatOptions::default()).unwrap();
        let starts: Vec<u64> = recording.cores[0].detours.iter().map(|detour| detour.start.ps()).collect();
        // 1,666 ns less 333.667 ns is 1,332.333 ns, before the end at 1,333 ns. The last one does overlap.
        assert_eq!(starts, [999_667, 1_333_000, 1_666_667]);
        assert_eq!(repairs, Repairs { overlaps_merged: 1, ..Repairs::default() });
    }
}
