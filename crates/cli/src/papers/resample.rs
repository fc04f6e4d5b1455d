//! `straggler latency resample`: draws all-to-alls from a sample of exchange times, and computes their distributions.

pub mod answer;

use crate::kernel::prelude::*;
use crate::noise::file::{has_drawn_source, what_was_noticed};
use crate::papers::resample::answer::{CaseAnswer, Comparison, ResampleAnswer};
use crate::{args::Common, kernel::typed::noise, latency::file::Sample, report::ReportOption};
use straggler_model::stats::histogram;
use straggler_model::units::{self, TimeUnit};
use straggler_noise::{Injection, NoiseSpec, Phases};
use straggler_report::histograms::{self, Histogram};
use straggler_sim::resampling::{
    Distributions, MOST_IDLE_TIMES, MOST_PROCESSORS, Model, Watch, exchanges, one_to_one,
};

const EXAMPLES: &str = "\
EXAMPLES
  straggler latency resample fixtures/resampling/exchanges.txt --size 1KiB

  straggler latency resample fixtures/resampling/exchanges.txt --size 1KiB \\
      --processes 4,32 --samples 10000 --histogram histogram.csv --json

  straggler latency resample fixtures/resampling/uninterrupted.txt \\
      --size 1KiB --noise periodic:period=10ms,duration=60us \\
      --noise periodic:period=6025us,duration=45us \\
      --noise 'poisson:rate=8Hz,duration=lognormal(median=400us,sigma=0.5)' \\
      --measured fixtures/resampling/exchanges.txt --processes 2,8,32

TIMES       one per line: 173us or 173.2 us; plain numbers with --unit us or
            after a line `# unit: us`; comments start with #
ALL-TO-ALL  in each step every processor exchanges messages with one other, in
            the order of a round-robin tournament. An exchange starts when both
            are ready, takes a random time and ends for both
IDLE        time in which a processor is ready and waits for its partner
NOISE       as in `simulate`; TIMES are then times without interrupts. Each
            processor has its own random offset into the noise, drawn anew for
            each sample. An exchange is extended by the larger noise of its two
            partners
THROUGHPUT  of a processor: (P - 1) times the size, over the mean total time;
            1 MB is 10^6 bytes";

/// Resample measured exchange times to all-to-alls on more processors
///
/// Draws the times of pairwise exchanges from a sample, combines them to all-to-alls, and reports how
/// long these take and how long processors wait for each other. After Tabe, Hardwick and Stout,
/// "Statistical Analysis of Communication Time on the IBM SP2".
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Resample {
    /// Times of a pairwise exchange, one per line, or a .lat file
    pub times: PathBuf,

    /// Numbers of processors
    #[arg(long, value_name = "P,P,…", value_delimiter = ',', value_parser = processors)]
    #[arg(default_values_t = [2, 4, 8, 16, 32])]
    pub processes: Vec<u32>,
    /// Bytes that two processors send each other in an exchange, for the throughput; also the message size to take from a
    /// .lat file [default: the smallest]
    #[arg(long, value_name = "BYTES")]
    pub size: Option<Bytes>,
    /// Samples for each number of processors [default: 100,000, or fewer if that takes more than 500 million
    /// exchanges]
    #[arg(long, value_name = "N", value_parser = samples)]
    pub samples: Option<u32>,
    /// Unit of plain numbers in TIMES and --measured: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,

    /// Interrupts on every processor; repeat the option or join sources with + to superpose them
    #[arg(long, value_name = "FILE|SPEC", value_parser = noise(), help_heading = "Noise")]
    pub noise: Vec<NoiseSpec>,
    /// Let interrupts during the extension of an exchange extend it further
    #[arg(long, help_heading = "Noise")]
    pub wallclock: bool,
    /// Measured times of an exchange with interrupts, for comparison with the resampled ones
    #[arg(long, value_name = "FILE", help_heading = "Noise")]
    pub measured: Option<PathBuf>,

    /// Write the distributions of total and idle time as CSV
    #[arg(long, value_name = "OUT.csv", help_heading = "Output")]
    pub histogram: Option<PathBuf>,
    /// Write the JSON object to a file
    #[arg(short, long, value_name = "OUT.json", help_heading = "Output")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOption,
}

fn processors(text: &str) -> Result<u32, String> {
    let too_many = || {
        format!("at most {MOST_PROCESSORS} processors: one sample on more takes over two billion exchanges")
    };
    match units::count(text) {
        Some(0 | 1) => Err("an exchange needs at least 2 processors".into()),
        Some(count) => {
            let count = u32::try_from(count).ok().filter(|&count| count <= MOST_PROCESSORS);
            count.ok_or_else(too_many)
        }
        None => Err("give numbers of processors separated by commas, for example 2,4,8".into()),
    }
}

fn samples(text: &str) -> Result<u32, String> {
    let count = units::count(text).and_then(|count| u32::try_from(count).ok()).filter(|&count| count > 0);
    count.ok_or_else(|| "give a number of samples, at least 1".into())
}

/// The number of samples in the paper.
const SAMPLES: u32 = 100_000;
/// Up to this number of processors, the budget does not reduce the number of samples.
const PAPER_PROCESSORS: u32 = 32;
/// Exchanges for one number of processors: seconds on two cores, less than a minute with interrupts.
pub const BUDGET: u64 = 500_000_000;
/// With fewer samples the outer quantiles are unreliable.
const FEW: u32 = 100;

#[derive(Debug)]
pub struct Plan {
    pub times: PathBuf,
    pub unit: Option<TimeUnit>,
    /// In the order typed, at least one.
    pub cases: Vec<Case>,
    pub size: Option<Bytes>,
    pub noise: NoiseSpec,
    pub wallclock: bool,
    pub measured: Option<PathBuf>,
    pub seed: u64,
    pub histogram: Option<PathBuf>,
    pub output: Option<PathBuf>,
    pub report: Option<PathBuf>,
    pub warnings: Vec<String>,
}

/// A number of processors and how often it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub processors: u32,
    pub samples: u32,
    pub why: Why,
}

/// Where a number of samples comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Asked,
    Paper,
    Budget,
}

impl Case {
    fn new(processors: u32, asked: Option<u32>) -> Case {
        if let Some(samples) = asked {
            return Case { processors, samples, why: Why::Asked };
        }
        let affordable = BUDGET / exchanges(processors).max(1);
        if processors <= PAPER_PROCESSORS || affordable >= u64::from(SAMPLES) {
            return Case { processors, samples: SAMPLES, why: Why::Paper };
        }
        Case { processors, samples: affordable.max(1) as u32, why: Why::Budget }
    }

    pub fn exchanges(&self) -> u64 {
        exchanges(self.processors) * u64::from(self.samples)
    }
}

impl Plan {
    pub fn new(typed: Resample, common: &Common) -> Outcome<Plan> {
        let cases: Vec<Case> = typed.processes.iter().map(|&count| Case::new(count, typed.samples)).collect();
        cases.iter().try_for_each(fits)?;
        let noise = NoiseSpec { sources: typed.noise.into_iter().flat_map(|spec| spec.sources).collect() };
        let warnings = warnings(&cases, typed.wallclock && noise.is_none());
        Ok(Plan {
            times: typed.times,
            unit: typed.unit,
            cases,
            size: typed.size,
            noise,
            wallclock: typed.wallclock,
            measured: typed.measured,
            seed: common.seed,
            histogram: typed.histogram,
            output: typed.output,
            report: typed.report.report,
            warnings,
        })
    }
}

/// Fails if the idle times of a case would take more than a gigabyte of memory.
fn fits(case: &Case) -> Outcome<()> {
    let most = MOST_IDLE_TIMES / u64::from(case.processors);
    if u64::from(case.samples) <= most {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the idle times of {} samples of {} processors exceed one gigabyte of memory: give --samples {most} or fewer",
        grouped(case.samples),
        grouped(case.processors)
    )))
}

fn warnings(cases: &[Case], wallclock_alone: bool) -> Vec<String> {
    let few = |case: &&Case| case.samples < FEW && case.why == Why::Budget;
    let mut texts: Vec<String> = cases
        .iter()
        .filter(few)
        .map(|case| {
            format!(
                "{} processors: only {} samples fit the budget of {} exchanges, too few for the outer quantiles; \
                 use --samples for more",
                grouped(case.processors),
                case.samples,
                grouped(BUDGET)
            )
        })
        .collect();
    if wallclock_alone {
        texts.push("--wallclock has no effect without --noise".into());
    }
    texts
}

/// Exchanges of two processors to draw for the comparison with measured ones.
const COMPARED: u32 = SAMPLES;

/// Approximate number of bins of a histogram.
const BINS: u64 = 100;

/// The inputs of a plan, loaded.
pub struct Inputs {
    times: Vec<Time>,
    /// Size of a message: from the command line or from the file.
    size: Option<Bytes>,
    noise: Option<Injection>,
    measured: Option<Measured>,
    /// Whether any of the times were drawn from a description.
    synthetic: bool,
    warnings: Vec<String>,
}

/// The sample that one exchange of two processors is compared with.
pub struct Measured {
    name: String,
    /// Sorted.
    times_ps: Vec<u64>,
    /// Whether exchanges are drawn from this very sample.
    drawn_from: bool,
}

impl Measured {
    fn new(path: &Path, times: &[Time], drawn_from: bool) -> Measured {
        let mut times_ps: Vec<u64> = times.iter().map(|time| time.ps()).collect();
        times_ps.sort_unstable();
        Measured { name: path.display().to_string(), times_ps, drawn_from }
    }
}

/// The results.
pub struct Findings {
    cases: Vec<CaseAnswer>,
    histograms: Vec<Histogram>,
    comparison: Option<Comparison>,
    exchanges: u64,
    wall_seconds: f64,
}

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    plan.report.iter().try_for_each(|path| refuse_missing_folder(path))?;
    let inputs = Inputs::load(plan)?;
    inputs.warnings.iter().for_each(|warning| console.warn(warning));
    let findings = resample(plan, &inputs, console)?;
    write_histograms(plan, &findings.histograms)?;
    let histograms = findings.histograms.clone();
    let answer = ResampleAnswer::new(plan, &inputs, findings);
    if let Some(path) = &plan.output {
        let text = to_json(&answer)?;
        let _orderly = Orderly::begin();
        replace_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    // Whether noise or times were drawn.
    let synthetic = has_drawn_source(&plan.noise) || inputs.synthetic;
    pages::write_asked(plan.report.as_ref(), console, || answer::page(&answer, &histograms, synthetic))?;
    if console.json { console.print_json(&answer) } else { console.print(&answer::summary(&answer)) }
}

impl Inputs {
    fn load(plan: &Plan) -> Outcome<Inputs> {
        let typed = plan.size.map(|Bytes(bytes)| bytes);
        let sample = Sample::read(&plan.times, plan.unit, typed)?;
        let mut warnings = plan.warnings.clone();
        warnings.extend(sample.warnings);
        let mut synthetic = sample.synthetic;
        let (times, size) = (sample.times, typed.or(sample.bytes).map(Bytes));
        let noise = load_noise(plan, &mut warnings)?;
        let measured = match (&plan.measured, &noise) {
            (Some(path), _) => {
                let sample = Sample::read(path, plan.unit, size.map(|Bytes(bytes)| bytes))?;
                warnings.extend(sample.warnings);
                synthetic |= sample.synthetic;
                Some(Measured::new(path, &sample.times, false))
            }
            // Without added noise, the times are compared with themselves.
            (None, None) => Some(Measured::new(&plan.times, &times, true)),
            (None, Some(_)) => None,
        };
        Ok(Inputs { times, size, noise, measured, synthetic, warnings })
    }
}

fn load_noise(plan: &Plan, warnings: &mut Vec<String>) -> Outcome<Option<Injection>> {
    if plan.noise.is_none() {
        return Ok(None);
    }
    let loaded = plan.noise.load(plan.seed)?;
    for (path, noticed) in &loaded.files {
        warnings.extend(what_was_noticed(path, noticed));
    }
    let phases = Phases::Drawn { seed: plan.seed, replica: 0 };
    Ok(Some(Injection::new(loaded.sources, phases, plan.wallclock)?))
}

fn resample(plan: &Plan, inputs: &Inputs, console: &Console) -> Outcome<Findings> {
    let _orderly = Orderly::begin();
    let began = Instant::now();
    let compared = inputs.measured.as_ref().map_or(0, |_| u64::from(COMPARED));
    let exchanges = plan.cases.iter().map(Case::exchanges).fold(compared, u64::saturating_add);
    let meter = Meter::new(console, exchanges);
    let progress = |more| meter.advance(more);
    let watch = Watch { stop: interrupt::flag(), progress: &progress };
    let model = Model { times: &inputs.times, noise: inputs.noise.as_ref(), seed: plan.seed };
    let comparison = compare(&model, inputs, watch)?;
    let (mut cases, mut histograms) = (Vec::new(), Vec::new());
    for case in &plan.cases {
        let found = model.all_to_all(case.processors, case.samples, watch)?.into_distributions();
        interrupt::check()?;
        cases.push(CaseAnswer::new(case, inputs.size, &found));
        if plan.histogram.is_some() || plan.report.is_some() {
            histograms.extend(bins(case.processors, &found));
        }
    }
    let wall_seconds = began.elapsed().as_secs_f64();
    Ok(Findings { cases, histograms, comparison, exchanges, wall_seconds })
}

fn compare(model: &Model<'_>, inputs: &Inputs, watch: Watch<'_>) -> Outcome<Option<Comparison>> {
    let Some(measured) = &inputs.measured else { return Ok(None) };
    let mut resampled = one_to_one(model, COMPARED, watch)?;
    resampled.sort_unstable();
    Ok(Comparison::new(measured, &resampled))
}

fn bins(processes: u32, found: &Distributions) -> [Histogram; 3] {
    let of = |quantity, values: &[u64]| Histogram { processes, quantity, bins: histogram(values, BINS) };
    [of("total", &found.total_ps), of("idle", &found.idle_ps), of("idle_0", &found.first_idle_ps)]
}

fn write_histograms(plan: &Plan, histograms: &[Histogram]) -> Outcome<()> {
    let _orderly = Orderly::begin();
    match &plan.histogram {
        Some(path) => Ok(histograms::write(path, histograms)?),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_the_paper_and_then_the_budget() {
        for processors in [2, 4, 8, 16, 31, 32, 33, 64, 100] {
            let expected = Case { processors, samples: 100_000, why: Why::Paper };
            assert_eq!(Case::new(processors, None), expected);
        }
        assert_eq!(Case::new(128, None), Case { processors: 128, samples: 61_515, why: Why::Budget });
        assert_eq!(Case::new(4096, None), Case { processors: 4096, samples: 59, why: Why::Budget });
        assert_eq!(Case::new(65_536, None).samples, 1);
        assert_eq!(Case::new(64, Some(7)), Case { processors: 64, samples: 7, why: Why::Asked });
        assert_eq!(Case::new(4, Some(7)).exchanges(), 42);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(fits(&Case::new(4096, Some(32_768))).is_ok());
        assert!(fits(&Case::new(4096, Some(32_769))).is_err());
        assert_eq!(warnings(&[Case::new(4096, None), Case::new(2, None)], true).len(), 2);
    }
}
