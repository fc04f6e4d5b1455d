//! LLNL's fwq: the cycles of each quantum of fixed work, one per line.
//!
//! The parallel program states the rate and the CPU above the counts; the serial one prints bare counts, and
//! the user must tell the rate:
//! ```text
//! Speed: process 0, cycles 454280578, seconds 0.216327, GHz 2.099970
//! Process 0 running on CPUs 0
//! ```

use super::super::recording::{Core, Method, NoiseRecording};
use super::samples::{Samples, cycles_to_time, must_be, sensible, time_to_cycles, wrong};
use super::text::unless_negative;
use super::{Format, FormatError, FormatOptions, Repairs, WriteError};
use std::fmt::Write;
use straggler_model::Time;
use straggler_model::columns::LinePlace;
use straggler_model::columns::{FieldError, Line, count, lines};
use straggler_model::provenance::Timer;

const NO_RATE: FormatError = FormatError::NoRate { example: "straggler noise convert FILE --ghz 2.1 -o OUT" };

pub(super) fn read(text: &str, options: &FormatOptions) -> Result<(NoiseRecording, Repairs), FormatError> {
    let mut samples = Samples::default();
    let (mut stated, mut cpu, mut counts) = (None, None, Vec::new());
    for (_, line) in lines(text) {
        let Line::Fields(fields) = line else { continue };
        match fields.first() {
            Some((_, "Speed:")) => stated = rate(&fields).or(stated),
            Some((_, "Process")) => cpu = last_number(&fields).or(cpu),
            Some(&(place, cycles)) if fields.len() == 1 => {
                let cycles = count(place, cycles, "cycles");
                counts.extend(unless_negative(cycles, &mut samples.repairs)?.map(|cycles| (place, cycles)));
            }
            _ => return Err(wrong(&fields, 1, "one count of cycles")),
        }
    }
    if counts.is_empty() {
        return Err(FormatError::NoSamples);
    }
    let ghz = sensible(options.ghz.or(stated).ok_or(NO_RATE)?)?;
    for (place, cycles) in counts {
        samples.push_work(cycles_to_time(cycles, ghz).ok_or_else(|| too_large(place, cycles))?)?;
    }
    let one_cycle = Time((1_000.0 / ghz).ceil() as u64);
    let core = cpu.unwrap_or(options.core);
    let (recording, repairs) = samples.finish(core, Method::FixedWork, one_cycle, options)?;
    let timer = Timer { ticks_per_second: ghz * 1e9, ..Timer::default() };
    Ok((NoiseRecording { timer, ..recording }, repairs))
}

fn too_large(place: LinePlace, cycles: u64) -> FormatError {
    FormatError::Field(FieldError::TooLarge { place, text: cycles.to_string(), unit: "cycles" })
}

/// The number after `GHz`.
fn rate(fields: &[(LinePlace, &str)]) -> Option<f64> {
    let words = fields.iter().map(|field| field.1);
    words.skip_while(|word| *word != "GHz").nth(1)?.parse().ok()
}

/// The CPU, if there is only one: a list of several does not tell where the process ran.
fn last_number(fields: &[(LinePlace, &str)]) -> Option<u32> {
    fields.last()?.1.parse().ok()
}

/// The cycles and seconds of the first line are those of the whole measurement.
pub(super) fn write(recording: &NoiseRecording, core: &Core) -> Result<String, WriteError> {
    must_be(matches!(recording.method, Method::FixedWork), recording, Format::LlnlFwq)?;
    let ghz = sensible(recording.timer.ticks_per_second / 1e9).unwrap_or(1.0);
    let counts: Vec<u64> =
        core.quanta.iter().map(|quantum| time_to_cycles(Time(quantum.value), ghz)).collect();
    let cycles: u64 = counts.iter().fold(0, |sum, count| sum.saturating_add(*count));
    let seconds = cycles as f64 / (ghz * 1e9);
    let mut text = format!(
        "Speed: process 0, cycles {cycles}, seconds {seconds:.6}, GHz {}\nProcess 0 running on CPUs {}\n",
        six_decimals(ghz),
        core.core
    );
    for count in counts {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{count}");
    }
    Ok(text)
}

/// Six decimals as the program itself prints, more where the rate has more.
fn six_decimals(ghz: f64) -> String {
    let six = format!("{ghz:.6}");
    if six.parse() == Ok(ghz) { six } else { format!("{ghz}") }
}
