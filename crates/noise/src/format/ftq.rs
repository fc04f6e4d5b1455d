//! The `.dat` files of ftq: when each quantum of fixed time began, in ns, and the work it did.
//!
//! The header states the number of quanta per second (`Frequency`) and the core. Without it, the quantum
//! length is taken to be the median time between starts.

use super::super::recording::{Core, Method, NoiseRecording};
use super::samples::{Samples, must_be, sensible, two};
use super::text::unless_negative;
use super::{Format, FormatError, FormatOptions, Repairs, WriteError};
use std::fmt::Write;
use straggler_model::Time;
use straggler_model::columns::{Line, count, lines, nanoseconds};
use straggler_model::provenance::Timer;
use straggler_model::stats::quantile_in_place;

/// Facts from the header.
#[derive(Default)]
struct Header {
    interval: Option<Time>,
    ticks_per_ns: Option<f64>,
    core: Option<u32>,
}

impl Header {
    fn comment(&mut self, comment: &str) {
        let words: Vec<&str> = comment.split_whitespace().collect();
        match words.as_slice() {
            ["Frequency", hertz] => self.interval = interval(hertz).or(self.interval),
            ["Ticks", "per", "ns:", ticks] => self.ticks_per_ns = ticks.parse().ok(),
            ["thread", _, "core", core] => self.core = core.parse().ok(),
            _ => {}
        }
    }
}

fn interval(hertz: &str) -> Option<Time> {
    let ps = (1e12 / hertz.parse::<f64>().ok()?).round();
    (ps >= 1.0 && ps < u64::MAX as f64).then_some(Time(ps as u64))
}

pub(super) fn read(text: &str, options: &FormatOptions) -> Result<(NoiseRecording, Repairs), FormatError> {
    let (mut samples, mut header) = (Samples::default(), Header::default());
    for (_, line) in lines(text) {
        match line {
            Line::Comment(comment) => header.comment(comment),
            Line::Fields(fields) => {
                let [(start_place, start), (place, work)] =
                    two(&fields, "two columns, start in ns and work done")?;
                let row = nanoseconds(start_place, start);
                let row = row.and_then(|start| Ok((start, count(place, work, "units of work")?)));
                if let Some((start, work)) = unless_negative(row, &mut samples.repairs)? {
                    samples.push(start, work);
                }
            }
        }
    }
    if samples.quanta.is_empty() {
        return Err(FormatError::NoSamples);
    }
    let interval = options.interval.or(header.interval).or_else(|| usual_gap(&samples));
    let quantum_ps = interval.filter(|time| *time > Time::ZERO).ok_or(FormatError::NoInterval)?.ps();
    let core = header.core.unwrap_or(options.core);
    let method = Method::FixedTime { quantum_ps };
    let (recording, repairs) = samples.finish(core, method, Time::ZERO, options)?;
    let rate = header.ticks_per_ns.and_then(|ticks| sensible(ticks).ok()).unwrap_or(0.0);
    let timer = Timer { ticks_per_second: rate * 1e9, ..Timer::default() };
    Ok((NoiseRecording { timer, ..recording }, repairs))
}

/// The median time between starts. The median is robust: a quantum that begins late causes one long gap and
/// one short one.
fn usual_gap(samples: &Samples) -> Option<Time> {
    let mut starts: Vec<u64> = samples.quanta.iter().map(|quantum| quantum.start.ps()).collect();
    starts.sort_unstable();
    let mut gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    quantile_in_place(&mut gaps, 0.5).map(Time)
}

pub(super) fn write(recording: &NoiseRecording, core: &Core) -> Result<String, WriteError> {
    let Method::FixedTime { quantum_ps } = recording.method else {
        must_be(false, recording, Format::Ftq)?;
        return Ok(String::new());
    };
    must_be(quantum_ps > 0, recording, Format::Ftq)?;
    let mut text = format!("# Frequency {:.6}\n", 1e12 / quantum_ps.max(1) as f64);
    let _ = writeln!(text, "# Ticks per ns: {}", recording.timer.ticks_per_second / 1e9);
    let _ = writeln!(text, "# thread 0, core {}", core.core);
    for quantum in &core.quanta {
        let _ = writeln!(text, "{} {}", (quantum.start + Time(500)).ps() / 1_000, quantum.value);
    }
    Ok(text)
}
