//! Netgauge's selfish benchmark: two columns, and comments that describe the measurement.
//!
//! t_min is already subtracted from the durations, and time starts with the first detour.

use super::super::recording::{Core, NoiseRecording};
use super::columns;
use super::list::of_one_core;
use super::text::{decimal, nanoseconds, value};
use super::{FormatError, FormatOptions, Repairs};
use std::fmt::Write;
use straggler_model::Time;
use straggler_model::provenance::Machine;
use straggler_model::units::TimeUnit;

const T_MIN: &str = "Minimal cycle length [ns]";
const ITERATIONS: &str = "Number of iterations (recorded+unrecorded)";
const THRESHOLD: &str = "Threshold: [% minimal cycle length]";

/// Facts from the comments.
#[derive(Default)]
struct Header {
    machine: Machine,
    t_min: Time,
    iterations: u64,
    threshold_percent: u64,
}

impl Header {
    fn comment(&mut self, comment: &str) {
        let text = |key| value(comment, key).filter(|text| !text.is_empty()).map(String::from);
        let machine = &mut self.machine;
        machine.host = text("Nodename").or(machine.host.take());
        machine.kernel = text("Release").or(machine.kernel.take());
        machine.architecture = text("Machine").or(machine.architecture.take());
        if let Some(length) = value(comment, T_MIN).and_then(in_nanoseconds) {
            self.t_min = length;
        }
        self.iterations = number(comment, ITERATIONS).unwrap_or(self.iterations);
        self.threshold_percent = number(comment, THRESHOLD).unwrap_or(self.threshold_percent);
    }

    fn threshold(&self) -> Time {
        let ps = (u128::from(self.t_min.ps()) * u128::from(self.threshold_percent) + 50) / 100;
        u64::try_from(ps).map_or(Time::NEVER, Time)
    }
}

fn in_nanoseconds(text: &str) -> Option<Time> {
    "ns".parse::<TimeUnit>().ok()?.times(text).ok()
}

fn number(comment: &str, key: &str) -> Option<u64> {
    value(comment, key)?.parse().ok()
}

pub(super) fn read(text: &str, options: &FormatOptions) -> Result<(NoiseRecording, Repairs), FormatError> {
    let mut header = Header::default();
    let list = columns::rows(text, &mut |comment| header.comment(comment))?;
    let core = Core {
        core: options.core,
        t_min: header.t_min,
        threshold: header.threshold(),
        iterations: header.iterations,
        ..Core::default()
    };
    let (core, repairs) = list.finish(core, options)?;
    Ok((NoiseRecording { machine: header.machine, ..of_one_core(core) }, repairs))
}

pub(super) fn write(recording: &NoiseRecording, core: &Core) -> String {
    let mut text = String::from("# Benchmark Method: selfish\n");
    // Writing to a string cannot fail.
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = text.write_fmt(arguments);
    };
    line(format_args!("# Number of Cycles/Detours: {}\n# Sysname : Linux\n", core.detours.len()));
    let machine = &recording.machine;
    let known =
        [("Nodename", &machine.host), ("Release ", &machine.kernel), ("Machine ", &machine.architecture)];
    for (key, value) in known {
        // A line break in the value would turn the rest of the comment into data.
        let one_line = value.as_ref().map(|value| value.replace(['\n', '\r'], " "));
        one_line.into_iter().for_each(|value| line(format_args!("# {key}: {value}\n")));
    }
    let t_min = u128::from(core.t_min.ps());
    let percent = (u128::from(core.threshold.ps()) * 100 + t_min / 2).checked_div(t_min);
    line(format_args!("# Selfish Benchmark\n# {T_MIN}: {} \n", nanoseconds(core.t_min, 3) + "000"));
    line(format_args!("# {ITERATIONS}: {} \n# {THRESHOLD}: {} \n", core.iterations, percent.unwrap_or(0)));
    line(format_args!("# \n# Time [ns]\tselfish duration [ns]\n"));
    for detour in &core.detours {
        line(format_args!("{}\t{}\n", nanoseconds(detour.start, 2), nanoseconds(detour.duration, 2)));
    }
    let overhead = 100.0 * core.noise().ps() as f64 / core.length.ps().max(1) as f64;
    line(format_args!("# CPU overhead due to noise: {overhead:.2}%\n"));
    line(format_args!("# Measurement period: {} s\n", decimal(core.length, 12, 2)));
    text
}
