//! `straggler measure`, validated.

use crate::args::checks::ChecksOption;
use crate::args::measure::{Choose, MethodName, Noise as Typed, SourcesName};
use crate::exit::{Failure, Outcome};
use crate::metrics::noise::KINDS;
use crate::metrics::refuse_unknown;
use crate::places::refuse_missing_folder;
use std::path::PathBuf;
use straggler_measure::kernels::{Threshold, detour};
use straggler_measure::noise::Kernel;
use straggler_measure::sources::Wish;
use straggler_model::Time;

#[derive(Clone, Debug)]
pub struct Plan {
    pub kernel: Kernel,
    pub length: Time,
    pub events: Option<u64>,
    pub cores: Option<Vec<u32>>,
    pub capacity: Option<usize>,
    pub sources: Wish,
    pub job: Job,
    pub output: Option<PathBuf>,
    pub report: Option<PathBuf>,
    pub checks: ChecksOption,
}

/// What to do with the measurement kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    Runs { count: u32, choose: Choose },
    OneAndAll,
    SelfTest,
}

/// The default of --time.
const LENGTH: Time = Time::from_ns(10_000_000_000);
/// The limit with --events: on a machine without noise the measurement would never end.
const LENGTH_WITH_EVENTS: Time = Time::from_ns(600_000_000_000);
const SELF_TEST_LENGTH: Time = Time::from_ns(3_000_000_000);
const SHORTEST: Time = Time::from_ns(1_000_000);
const LONGEST: Time = Time::from_ns(86_400_000_000_000);

/// Threshold for quanta: a loss of two percent counts as disturbed.
const QUANTUM_FACTOR: f64 = 1.02;

impl Plan {
    /// One run with the detour kernel, for other commands.
    pub fn of_detours(time: Time, cores: Option<Vec<u32>>, sources: SourcesName) -> Outcome<Plan> {
        Ok(Plan {
            kernel: Kernel::Detour { threshold: Threshold::Factor(detour::FACTOR) },
            length: measurable(time)?,
            events: None,
            cores,
            capacity: None,
            sources: wish(sources),
            job: Job::Runs { count: 1, choose: Choose::First },
            output: None,
            report: None,
            checks: ChecksOption::default(),
        })
    }

    pub fn new(typed: Typed) -> Outcome<Plan> {
        refuse_unknown(&typed.checks, KINDS)?;
        typed.output.iter().chain(&typed.report.report).try_for_each(|path| refuse_missing_folder(path))?;
        let job = match typed {
            Typed { self_test: true, .. } => Job::SelfTest,
            Typed { one_and_all: true, .. } => Job::OneAndAll,
            _ => Job::Runs { count: typed.runs, choose: typed.choose },
        };
        if job == Job::SelfTest && typed.method != MethodName::Detour {
            return Err(Failure::usage("--self-test tests the detour kernel: remove --method"));
        }
        Ok(Plan {
            kernel: kernel(&typed),
            length: length(&typed)?,
            events: typed.events,
            cores: typed.cores.map(|list| list.0),
            capacity: typed.buffer.map(|count| count as usize),
            sources: wish(typed.sources),
            job,
            output: typed.output,
            report: typed.report.report,
            checks: typed.checks,
        })
    }
}

fn kernel(typed: &Typed) -> Kernel {
    let threshold = |default| typed.threshold.unwrap_or(Threshold::Factor(default));
    match typed.method {
        MethodName::Detour => Kernel::Detour { threshold: threshold(detour::FACTOR) },
        MethodName::Fwq => Kernel::FixedWork { work: typed.work, threshold: threshold(QUANTUM_FACTOR) },
        MethodName::Ftq => Kernel::FixedTime { quantum: typed.quantum, threshold: threshold(QUANTUM_FACTOR) },
    }
}

fn length(typed: &Typed) -> Outcome<Time> {
    let length = typed.time.unwrap_or(match typed.events {
        _ if typed.self_test => SELF_TEST_LENGTH,
        Some(_) => LENGTH_WITH_EVENTS,
        None => LENGTH,
    });
    let length = measurable(length)?;
    if typed.method == MethodName::Ftq && typed.quantum > length {
        return Err(Failure::usage(format!("--quantum {} is longer than the measurement", typed.quantum)));
    }
    Ok(length)
}

fn measurable(length: Time) -> Outcome<Time> {
    if !(SHORTEST..=LONGEST).contains(&length) {
        return Err(Failure::usage(format!("--time {length} is out of range: give {SHORTEST} to one day")));
    }
    Ok(length)
}

fn wish(name: SourcesName) -> Wish {
    match name {
        SourcesName::Auto => Wish::Auto,
        SourcesName::Tracepoints => Wish::Tracepoints,
        SourcesName::Osnoise => Wish::Osnoise,
        SourcesName::Counters => Wish::Counters,
        SourcesName::None => Wish::Nothing,
    }
}
