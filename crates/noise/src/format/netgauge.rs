//! Netgauge's fixed-work and fixed-time benchmarks: the number of a cycle, and whole microseconds it took or
//! iterations it did. The comment `Compute-Cycle Duration` states the length of fixed time.

use super::super::recording::{Core, Method, NoiseRecording};
use super::samples::{Samples, must_be, two};
use super::text::{unless_negative, value};
use super::{Format, FormatError, FormatOptions, Repairs, WriteError};
use std::fmt::Write;
use straggler_model::Time;
use straggler_model::columns::LinePlace;
use straggler_model::columns::{Line, MICROSECONDS, count, lines, time};
use straggler_model::units;

const INTERVAL: &str = "Compute-Cycle Duration";

/// The resolution of durations, which are truncated.
const MICROSECOND: Time = Time(1_000_000);

pub(super) fn read_fixed_work(
    text: &str,
    options: &FormatOptions,
) -> Result<(NoiseRecording, Repairs), FormatError> {
    let mut samples = Samples::default();
    for (_, line) in lines(text) {
        let Line::Fields(fields) = line else { continue };
        let [number, (place, duration)] = two(&fields, "two columns, cycle number and duration in us")?;
        cycle_number(number)?;
        let duration = time(place, duration, MICROSECONDS);
        if let Some(duration) = unless_negative(duration, &mut samples.repairs)? {
            samples.push_work(duration)?;
        }
    }
    samples.finish(options.core, Method::FixedWork, MICROSECOND, options)
}

pub(super) fn read_fixed_time(
    text: &str,
    options: &FormatOptions,
) -> Result<(NoiseRecording, Repairs), FormatError> {
    let (mut samples, mut stated, mut rows) = (Samples::default(), None, Vec::new());
    for (_, line) in lines(text) {
        match line {
            Line::Comment(comment) => stated = interval(comment).or(stated),
            Line::Fields(fields) => {
                let [number, (place, work)] = two(&fields, "two columns, cycle number and iterations")?;
                let work = count(place, work, "iterations");
                if let Some(work) = unless_negative(work, &mut samples.repairs)? {
                    rows.push((cycle_number(number)?, work));
                }
            }
        }
    }
    let interval = options.interval.or(stated).filter(|interval| *interval > Time::ZERO);
    let quantum_ps = interval.ok_or(FormatError::NoInterval)?.ps();
    for (cycle, work) in rows {
        samples.push(Time(cycle.checked_mul(quantum_ps).ok_or(FormatError::TooLong)?), work);
    }
    samples.finish(options.core, Method::FixedTime { quantum_ps }, Time::ZERO, options)
}

fn cycle_number((place, field): (LinePlace, &str)) -> Result<u64, FormatError> {
    Ok(count(place, field, "cycles")?)
}

/// `Compute-Cycle Duration: 1000 usec`
fn interval(comment: &str) -> Option<Time> {
    let text = value(comment, INTERVAL)?;
    units::time(&text.replace("usec", "us")).ok()
}

pub(super) fn write_fixed_work(recording: &NoiseRecording, core: &Core) -> Result<String, WriteError> {
    must_be(matches!(recording.method, Method::FixedWork), recording, Format::NetgaugeFwq)?;
    let mut text = String::from("# Fixed Work Quantum Benchmark\n# cycle number    duration [us]\n");
    for (cycle, quantum) in core.quanta.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{cycle}             {}", quantum.value / MICROSECOND.ps());
    }
    Ok(text)
}

/// Writes the file. A cycle's number is that of the quantum it starts in.
pub(super) fn write_fixed_time(recording: &NoiseRecording, core: &Core) -> Result<String, WriteError> {
    let Method::FixedTime { quantum_ps } = recording.method else {
        must_be(false, recording, Format::NetgaugeFtq)?;
        return Ok(String::new());
    };
    must_be(quantum_ps > 0, recording, Format::NetgaugeFtq)?;
    let interval = super::text::decimal(Time(quantum_ps), 6, 0);
    let mut text = format!("# {INTERVAL}: {interval} usec\n# Fixed Time Quantum Benchmark\n");
    text.push_str("# cycle number    workload iterations\n");
    for quantum in &core.quanta {
        let cycle = quantum.start.ps().checked_div(quantum_ps).unwrap_or(0);
        let _ = writeln!(text, " {cycle}                {}", quantum.value);
    }
    Ok(text)
}
