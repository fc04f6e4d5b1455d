//! `straggler latency resample`: draws all-to-alls from a sample of exchange times, and computes their distributions.

pub mod answer;
pub mod page;
pub mod plan;
pub mod words;

use crate::kernel::console::{Console, to_json};
use crate::kernel::exit::Outcome;
use crate::kernel::interrupt::Orderly;
use crate::kernel::meter::Meter;
use crate::kernel::outputs::refuse_missing_folder;
use crate::kernel::{interrupt, pages};
use crate::latency::file::Sample;
use crate::noise::spec::{has_drawn_source, what_was_noticed};
use crate::papers::resample::answer::{CaseAnswer, Comparison, ResampleAnswer};
use crate::papers::resample::plan::{Case, Plan, SAMPLES};
use std::path::Path;
use std::time::Instant;
use straggler_model::Time;
use straggler_noise::{Injection, Phases};
use straggler_model::stats::histogram;
use straggler_model::units::Bytes;
use straggler_report::histograms::Histogram;
use straggler_report::{histograms, replace_file};
use straggler_sim::resampling::{Distributions, Model, Watch, one_to_one};

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
    pages::write_asked(plan.report.as_ref(), console, || page::page(&answer, &histograms, synthetic))?;
    if console.json { console.print_json(&answer) } else { console.print(&words::summary(&answer)) }
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
