//! `straggler noise measure`: its options, checked; checks the timer, measures the cores, prints and writes the result.

pub mod answer;
pub mod work;

use crate::kernel::gates::{Checked, ChecksOption, limits_help, refuse_unknown};
use crate::kernel::prelude::*;
use crate::kernel::typed::{CoreList, cores_list, count};
use crate::noise::measure::answer::{MeasureNoiseAnswer, RunAnswer};
use crate::noise::words::{KINDS, NoiseNumbers};
use crate::{noise::measure::work::Session, noise::noise_metrics_help, report::ReportOption};
use straggler_analysis::noise::Analysis;
use straggler_measure::kernels::{Threshold, detour};
use straggler_measure::noise::{Kernel, MeasureError, Measured};
use straggler_measure::sources::Wish;
use straggler_noise::format::{self, Format};

const EXAMPLES: &str = concat!(
    "\
EXAMPLES
  straggler noise measure --time 0.5s -o node.noise
  straggler noise measure --time 0.2s --runs 3 --choose quietest

  One core alone, then all of them, as in Table I of the paper:
  straggler noise measure --time 0.2s --one-and-all

  Test the measurement itself, best on an idle machine (exit code 5 if it
  fails):
  straggler noise measure --self-test --time 0.2s --json || true

  straggler noise measure --time 0.2s --events 1000 --json
  straggler noise measure --time 0.2s --method ftq --quantum 1ms

  Metrics for the textfile collector of Prometheus:
  straggler noise measure --time 0.2s --prometheus noise.prom

",
    noise_metrics_help!(),
    limits_help!(),
    "

METHODS
  detour  reads the clock in a tight loop and records start and length of every
          iteration that is longer than the threshold
  fwq     fixed work quantum: times the same piece of work over and over
  ftq     fixed time quantum: counts the work done in every quantum of time

HOW TO READ IT
  An undisturbed iteration takes t_min; noise faster than 1 / (2 t_min) is
  invisible. Overhead is the share of time lost in detours. Slow phases are
  periods in which everything takes longer, as on machines that share their
  cores; they are reported apart from detours."
);

/// Measure noise: interruptions of a program that only computes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Measure {
    /// How long to measure [default: 10s; with --events at most 10min]
    #[arg(long, value_name = "TIME")]
    pub time: Option<Time>,
    /// Stop when every core has found this many detours
    #[arg(long, value_name = "N", value_parser = count::<u64>(1..))]
    pub events: Option<u64>,
    /// Cores to measure, for example 0-3,8 [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = cores_list)]
    pub cores: Option<CoreList>,
    /// Measurement method
    #[arg(long, value_enum, default_value_t)]
    pub method: MethodName,
    /// Threshold of a detour: a number of undisturbed iterations, or a time [default: 9 for detour, 1.02 for
    /// fwq and ftq, where a time is the loss of a quantum]
    #[arg(long, value_name = "FACTOR|TIME", value_parser = threshold)]
    pub threshold: Option<Threshold>,
    /// Length of a fixed-work quantum
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub work: Time,
    /// Length of a fixed-time quantum
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub quantum: Time,
    /// Number of runs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>(1..=1000))]
    pub runs: u32,
    /// Which of several runs to report and write
    #[arg(long, value_enum, default_value_t)]
    pub choose: Choose,
    /// Measure the first core alone, then all of them
    #[arg(long, conflicts_with_all = ["runs", "self_test"])]
    pub one_and_all: bool,
    /// How to identify what took the CPU
    #[arg(long, value_enum, default_value_t)]
    pub sources: SourcesName,
    /// Detours to record per core; of further ones, only number and total time are kept
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..=1 << 28))]
    pub buffer: Option<u32>,
    /// Inject known detours and report how many are found, and how precisely
    #[arg(long, conflicts_with_all = ["events", "runs", "output", "report", "fail_if", "prometheus"])]
    pub self_test: bool,
    /// Write the recording to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub checks: ChecksOption,
    #[command(flatten)]
    pub report: ReportOption,
}

/// The kernels by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MethodName {
    #[default]
    Detour,
    Fwq,
    Ftq,
}

/// Which of several runs is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Choose {
    /// The run with the least time lost
    #[default]
    Quietest,
    First,
    Last,
}

/// How the operating system kernel is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SourcesName {
    /// The best one that is permitted
    #[default]
    Auto,
    /// Kernel tracepoints; needs root
    Tracepoints,
    /// The osnoise tracer of the kernel; needs root
    Osnoise,
    /// Counters in /proc
    Counters,
    None,
}

/// A plain number is a factor, `9` or `9x`; a number with a unit is a time.
fn threshold(text: &str) -> Result<Threshold, String> {
    let number = text.strip_suffix('x').unwrap_or(text);
    match number.parse::<f64>() {
        Ok(factor) if factor.is_finite() => Ok(Threshold::Factor(factor)),
        Ok(_) => Err(format!("`{text}` is not a number of iterations; write one like 9")),
        Err(_) => text
            .parse()
            .map(Threshold::Time)
            .map_err(|fault| format!("{fault}; or write a number of undisturbed iterations, like 9")),
    }
}

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

    pub fn new(typed: Measure) -> Outcome<Plan> {
        refuse_unknown(&typed.checks, KINDS)?;
        typed.output.iter().chain(&typed.report.report).try_for_each(|path| refuse_missing_folder(path))?;
        let job = match typed {
            Measure { self_test: true, .. } => Job::SelfTest,
            Measure { one_and_all: true, .. } => Job::OneAndAll,
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

fn kernel(typed: &Measure) -> Kernel {
    let threshold = |default| typed.threshold.unwrap_or(Threshold::Factor(default));
    match typed.method {
        MethodName::Detour => Kernel::Detour { threshold: threshold(detour::FACTOR) },
        MethodName::Fwq => Kernel::FixedWork { work: typed.work, threshold: threshold(QUANTUM_FACTOR) },
        MethodName::Ftq => Kernel::FixedTime { quantum: typed.quantum, threshold: threshold(QUANTUM_FACTOR) },
    }
}

fn length(typed: &Measure) -> Outcome<Time> {
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

/// Seed of the analysis, which resamples intervals.
const SEED: u64 = 1;

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    let _orderly = Orderly::begin();
    let session = Session::prepare(plan, console)?;
    match plan.job {
        Job::SelfTest => work::self_test(&session),
        Job::OneAndAll => one_and_all(&session),
        Job::Runs { count, choose } => runs(&session, count, choose),
    }
}

fn runs(session: &Session<'_>, count: u32, choose: Choose) -> Outcome<()> {
    let meter = session.meter(count.into());
    let mut runs = Vec::new();
    let mut chosen: Option<(usize, Measured)> = None;
    for index in 0..count as usize {
        let measured = session.measure(&session.cores, &meter)?;
        runs.push(RunAnswer::new(&measured.recording));
        let better = match (&chosen, choose) {
            (None, _) | (_, Choose::Last) => true,
            (_, Choose::First) => false,
            (Some((best, _)), Choose::Quietest) => runs[index].overhead < runs[*best].overhead,
        };
        if better {
            chosen = Some((index, measured));
        }
    }
    drop(meter);
    let Some((index, measured)) = chosen else { return Err(MeasureError::NoCores.into()) };
    let mut answer = MeasureNoiseAnswer::new(&measured);
    if count > 1 {
        (answer.runs, answer.chosen_run) = (runs, Some(index + 1));
    }
    finish(session, answer, &measured)
}

fn one_and_all(session: &Session<'_>) -> Outcome<()> {
    if session.cores.len() < 2 {
        return Err(Failure::usage("--one-and-all compares one core with all: it needs at least two cores"));
    }
    let meter = session.meter(2);
    let one = session.measure(session.cores.get(..1).unwrap_or_default(), &meter)?;
    let all = session.measure(&session.cores, &meter)?;
    drop(meter);
    let mut answer = MeasureNoiseAnswer::new(&all);
    answer.one_core_alone = Some(Box::new(MeasureNoiseAnswer::new(&one)));
    finish(session, answer, &all)
}

fn finish(session: &Session<'_>, mut answer: MeasureNoiseAnswer, measured: &Measured) -> Outcome<()> {
    if let Some(path) = &session.plan.output {
        write(path, measured)?;
    }
    pages::write_asked(session.plan.report.as_ref(), session.console, || {
        let recording = &measured.recording;
        let name = recording.machine.host.as_deref().unwrap_or("this machine");
        crate::noise::page::Subject { recording, name, seed: SEED, headline: Vec::new(), note: String::new() }
            .page()
    })?;
    let checks = &session.plan.checks;
    let metrics = match checks.is_given() {
        true => NoiseNumbers::new(&Analysis::new(&measured.recording, SEED)).metrics(),
        false => Vec::new(),
    };
    let checked = Checked::new(checks, metrics)?;
    answer.limits.clone_from(&checked.limits);
    if session.console.json {
        session.console.print_json(&answer)?;
    } else {
        session.console.print(&answer::summary(&answer))?;
        if let Some(path) = &session.plan.output {
            let detours: usize = measured.recording.cores.iter().map(|core| core.detours.len()).sum();
            let detours = counted(detours as u64, "detour", "detours");
            session.console.note(&format!("{detours} written to {}", path.display()));
        }
    }
    checked.finish(session.console)
}

fn write(path: &Path, measured: &Measured) -> Outcome<()> {
    let written = format::write(&measured.recording, Format::Straggler)?;
    for file in written.files {
        interrupt::or_interrupted(replace_file(path, |out| out.write_all(&file.bytes)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_factors_or_times() {
        assert_eq!(threshold("9"), Ok(Threshold::Factor(9.0)));
        assert_eq!(threshold("1.5x"), Ok(Threshold::Factor(1.5)));
        assert_eq!(threshold("2us"), Ok(Threshold::Time(Time::from_ns(2000))));
        for wrong in ["", "x", "inf", "nanx", "9y", "2 us s"] {
            assert!(threshold(wrong).is_err(), "{wrong}");
        }
    }
}
