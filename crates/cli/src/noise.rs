//! `straggler noise`: measured or described noise. The command as typed, and the list of built-in signatures.

pub mod compare;
pub mod convert;
pub mod file;
pub mod fit;
pub mod measure;
pub mod measured;
pub mod page;
pub mod show;
pub mod words;

use crate::kernel::gates::{ChecksOption, LimitsOption, limits_help};
use crate::kernel::prelude::*;
use crate::kernel::typed::{noise, text};
use crate::{noise::measure::Measure, report::ReportOption};
use straggler_noise::NoiseSpec;
use straggler_noise::signature::{Arrivals, BuiltIn, SignatureSource};

/// The metrics of a noise recording, the same wherever one is judged.
macro_rules! noise_metrics_help {
    () => {
        "\
METRICS  for --fail-if and --prometheus
  overhead             share of time lost in detours: 'overhead>0.1%'
  source_overhead      the same for each source: 'source_overhead[timer]>0.05%'
  detours_per_second   per core: 'detours_per_second>1000'
  longest              the longest detour: 'longest>50us'
"
    };
}
pub(crate) use noise_metrics_help;

const EXAMPLES: &str = concat!(
    "\
EXAMPLES
  straggler noise show periodic:period=1ms,duration=100us
  straggler noise show fixtures/noise/selfish.0
  straggler noise show periodic:rate=10Hz,duration=25us \\
      delay:rank=4,at=10us,duration=50us
  straggler noise show chic
  straggler noise show 'poisson:rate=1kHz,duration=uniform(1us,5us)' --json

  A gate for a health check:
  straggler noise show fixtures/noise/selfish.0 --fail-if 'longest>10ms'

",
    noise_metrics_help!(),
    limits_help!()
);

const FIT_EXAMPLES: &str = "\
EXAMPLES
  straggler noise fit fixtures/noise/selfish.0
  straggler noise fit fixtures/conformance/eager-noise-00.noise -o eager.toml
  straggler noise fit fixtures/noise/sysjitter.0 --json";

const COMPARE_EXAMPLES: &str = concat!(
    "\
EXAMPLES
  straggler noise compare fixtures/noise/selfish.0 fixtures/noise/sysjitter.0
  straggler noise compare fixtures/conformance/eager-noise-00.noise \\
      fixtures/conformance/eager-noise-01.noise --json
  straggler noise compare chic altix

  A gate for a script:
  straggler noise compare chic chic --fail-if different

METRICS  for --fail-if
  different  whether they differ: 'different', which has no limit
",
    limits_help!()
);

const LIST_EXAMPLES: &str = "\
EXAMPLES
  straggler noise list
  straggler noise list chic
  straggler noise list chic > mine.toml
  straggler noise list --json";

/// Measure, show, fit, compare and convert noise
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Noise {
    #[command(subcommand)]
    pub command: NoiseCommand,
}

#[derive(Debug, Subcommand)]
pub enum NoiseCommand {
    /// Measure noise: interruptions of a program that only computes
    Measure(Box<Measure>),
    /// Show the overhead, detours, frequencies and sources of noise
    ///
    /// For measured noise: the overhead with its confidence interval, the lengths and distances of detours, their
    /// frequencies, their sources, and the correlation between cores. For a noise spec: its sources, their
    /// detours and the share of time they take.
    #[command(after_help = EXAMPLES)]
    Show(Show),
    /// Fit a signature to measured noise: a few sources that generate similar noise
    #[command(after_help = FIT_EXAMPLES)]
    Fit(Fit),
    /// Test whether two recordings or noise specs differ
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Convert noise files to another format
    #[command(after_help = convert::EXAMPLES)]
    Convert(convert::Convert),
    /// List the built-in signatures, or print one as a file with the reasons for its numbers
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
}

#[derive(Debug, Args)]
pub struct Show {
    /// Noise files, taken as the cores of one node, or noise specs as in --noise, which are superposed
    #[arg(value_name = "FILE|SPEC", required = true, value_parser = noise())]
    pub noise: Vec<NoiseSpec>,
    #[command(flatten)]
    pub checks: ChecksOption,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Debug, Args)]
pub struct Fit {
    /// Noise files; several are the cores of one node
    #[arg(value_name = "FILE", required = true, value_parser = text())]
    pub files: Vec<String>,
    /// Write the signature to a file instead of stdout
    #[arg(short, long, value_name = "SIG.toml")]
    pub output: Option<PathBuf>,
    /// Only this core
    #[arg(long, value_name = "CORE")]
    pub core: Option<u32>,
    /// Name of the signature [default: the name of the file]
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// A noise file, or a noise spec as in --noise
    #[arg(value_name = "A", value_parser = noise())]
    pub first: NoiseSpec,
    /// The noise file or noise spec to compare it with
    #[arg(value_name = "B", value_parser = noise())]
    pub second: NoiseSpec,
    /// Length of the sample drawn from a noise spec [default: the length of the other recording]
    #[arg(long, value_name = "TIME")]
    pub length: Option<Time>,
    #[command(flatten)]
    pub limits: LimitsOption,
    /// The former name of `--fail-if different`
    #[arg(long, hide = true)]
    pub fail_if_different: bool,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Debug, Args)]
pub struct List {
    /// Print this signature as a file
    pub name: Option<String>,
}

pub fn run(command: &Valid<NoiseCommand>, seed: u64, console: &Console) -> Outcome<()> {
    match &**command {
        // Has a plan of its own.
        NoiseCommand::Measure(_) => Ok(()),
        NoiseCommand::Show(typed) => show::run(typed, seed, console),
        NoiseCommand::Fit(typed) => fit::run(typed, seed, console),
        NoiseCommand::Compare(typed) => compare::run(typed, seed, console),
        NoiseCommand::Convert(typed) => convert::run(typed, console),
        NoiseCommand::List(typed) => list(typed.name.as_deref(), console),
    }
}

/// The label of all of them, in every form of the answer.
const LABEL: &str = "synthesised, not measured";

fn list(name: Option<&str>, console: &Console) -> Outcome<()> {
    let Some(name) = name else { return all(console) };
    let built_in = BuiltIn::find(name).map_err(|fault| Failure::new(Exit::Usage, fault))?;
    if console.json {
        console.print_json(&SignatureAnswer::new(built_in)?)
    } else {
        console.print_verbatim(built_in.toml)
    }
}

fn all(console: &Console) -> Outcome<()> {
    let signatures = BuiltIn::all().iter().map(SignatureAnswer::new).collect::<Outcome<Vec<_>>>()?;
    if console.json {
        #[derive(Serialize)]
        struct List {
            signatures: Vec<SignatureAnswer>,
        }
        return console.print_json(&List { signatures });
    }
    console.print(&list_summary(&signatures))
}

#[derive(Serialize)]
struct SignatureAnswer {
    name: String,
    summary: &'static str,
    label: &'static str,
    made_from: String,
    /// Computed from the formulas of the sources.
    share: f64,
    /// As printed in the publication.
    published_percent: Option<&'static str>,
    sources: Vec<SourceAnswer>,
}

#[derive(Serialize)]
struct SourceAnswer {
    name: String,
    /// Only for a periodic source.
    period_ps: Option<u64>,
    jitter_ps: Option<u64>,
    /// Only for a random source.
    mean_gap_ps: Option<u64>,
    duration: String,
    mean_duration_ps: f64,
    share: f64,
    #[serde(skip)]
    words: String,
}

impl SignatureAnswer {
    fn new(built_in: &BuiltIn) -> Outcome<SignatureAnswer> {
        let signature = built_in.signature()?;
        Ok(SignatureAnswer {
            share: signature.share(),
            name: signature.name,
            summary: built_in.summary,
            label: LABEL,
            made_from: signature.made_from,
            published_percent: built_in.published_percent,
            sources: signature.sources.iter().map(SourceAnswer::new).collect(),
        })
    }
}

impl SourceAnswer {
    fn new(source: &SignatureSource) -> SourceAnswer {
        let mean = Time(source.durations.mean_ps().round() as u64);
        let (period, jitter, mean_gap, words) = match source.arrivals {
            Arrivals::Periodic { period, jitter } => {
                (Some(period.ps()), Some(jitter.ps()), None, format!("{mean} every {period}"))
            }
            Arrivals::Random { mean_gap } => {
                (None, None, Some(mean_gap.ps()), format!("{mean} at random, one in {mean_gap}"))
            }
        };
        SourceAnswer {
            name: source.name.clone(),
            period_ps: period,
            jitter_ps: jitter,
            mean_gap_ps: mean_gap,
            duration: source.durations.to_string(),
            mean_duration_ps: source.durations.mean_ps(),
            share: source.share(),
            words,
        }
    }
}

fn list_summary(signatures: &[SignatureAnswer]) -> String {
    let mut table = Table::new("", &["name", "#share", "source", "detours (mean)", "system"]);
    for signature in signatures {
        let none = [("none".to_string(), String::new())];
        let sources = signature.sources.iter().map(|source| (source.name.clone(), source.words.clone()));
        let lines: Vec<_> = if signature.sources.is_empty() { none.into() } else { sources.collect() };
        for (index, (source, words)) in lines.into_iter().enumerate() {
            let first = [signature.name.clone(), percent(signature.share), signature.summary.to_string()];
            let [name, share, summary] = if index == 0 { first } else { Default::default() };
            table.row([name, share, source, words, summary]);
        }
    }
    let count = signatures.len();
    format!(
        "{count} signatures are built in, all {LABEL}, from published descriptions of the \
         noise.\n\n{table}\nUse one: --noise NAME. Sources of its numbers: straggler noise list NAME\n"
    )
}
