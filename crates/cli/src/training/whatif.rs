//! `straggler whatif JOB`: a job with other workers, links and noise.

pub mod words;

use crate::kernel::prelude::*;
use crate::training::faults::{TypedFault, fix, link, lose, slow, stall};
use crate::whatif::args::{JOB, WhatIf};
use crate::{kernel::typed::count, training::file};
use rayon::prelude::*;
use std::collections::BTreeMap;
use straggler_noise::{Injection, Phases, Waveform};
use straggler_training::Job;
use straggler_training::exact::{Replays, is_doubtful, mean};
use straggler_training::whatif::{Effect, Fault, Outcome as Drawn, Scenario, ScenarioError, Whom, copied};

/// What may happen to workers, in a synthetic job or in a changed one.
#[derive(Debug, Args)]
pub struct Faults {
    /// Multiply the computing time of a worker by this factor
    #[arg(long, value_name = "WHO:TIMES[@STEP]", value_parser = slow)]
    pub slow: Vec<TypedFault>,
    /// Multiply the time of all transfers of a worker, or only of those between two workers
    #[arg(long, value_name = "WHO[-WORKER]:TIMES[@STEP]", value_parser = link)]
    pub link: Vec<TypedFault>,
    /// Delay the host of a worker by this time, once per step
    #[arg(long, value_name = "WHO:TIME[@STEP]", value_parser = stall)]
    pub stall: Vec<TypedFault>,
}

impl Faults {
    pub fn iter(&self) -> impl Iterator<Item = &TypedFault> {
        [&self.slow, &self.link, &self.stall].into_iter().flatten()
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = JOB)]
pub struct JobChanges {
    #[command(flatten)]
    pub faults: Faults,
    /// Lose a worker: the job continues without its data-parallel rank
    #[arg(long, value_name = "WHO[@STEP]", value_parser = lose)]
    pub lose: Vec<TypedFault>,
    /// Fix a worker: give it the times of a typical worker of its stage. Applied before the other changes
    #[arg(long, alias = "mend", value_name = "WHO[@STEP]", value_parser = fix)]
    pub fix: Vec<TypedFault>,
    /// Put this many copies of the job side by side, along the data-parallel dimension
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = count::<u32>(1..=65536))]
    pub copies: u32,
    /// Number of random draws [default: 100 if anything is random]
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>(1..=1_000_000))]
    pub draws: Option<u32>,
    /// Write the changed job as a .csv or .parquet table, without workers that are lost from the first step on
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl JobChanges {
    /// All changes, in the order in which they are applied.
    pub fn all_faults(&self) -> impl Iterator<Item = &TypedFault> {
        self.fix.iter().chain(self.faults.iter()).chain(&self.lose)
    }
}

/// Default number of draws if a fault is random.
const DRAWS: u32 = 100;
/// Number of worst draws listed.
const WORST: usize = 5;

#[derive(Serialize)]
pub struct TrainingWhatIfAnswer {
    source: String,
    synthetic: bool,
    verdict: String,
    /// The changes, as sentences.
    changes: Vec<String>,
    workers: usize,
    steps: usize,
    copies: u32,
    draws: usize,
    seed: u64,
    /// The first changed step, if it is not the first of the job; the fields below count from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_step: Option<i64>,
    /// Mean seconds of a step before and after the changes, averaged over the draws.
    step_seconds: f64,
    changed_seconds: f64,
    slowdown: f64,
    /// Quantiles of the slowdown over the draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    slowdowns: Option<Quantiles>,
    /// Trained samples relative to the recorded job, and the slowdown for the same number of samples.
    samples: f64,
    slowdown_per_sample: f64,
    /// Seconds of every step before and after the changes, averaged over the draws.
    by_step: BTreeMap<i64, [f64; 2]>,
    /// The worst draws first.
    worst: Vec<Worst>,
    warnings: Vec<String>,
    /// Whether a fault or noise hits any worker.
    #[serde(skip)]
    hits: bool,
    /// Whether any operation starts at another time or takes another time than recorded.
    #[serde(skip)]
    differs: bool,
    /// Slowdowns of all draws, ascending.
    #[serde(skip)]
    sorted: Vec<f64>,
}

#[derive(Clone, Copy, Serialize)]
struct Quantiles {
    p5: f64,
    p50: f64,
    p95: f64,
    max: f64,
}

#[derive(Serialize)]
struct Worst {
    draw: u32,
    slowdown: f64,
    /// Ranks that random faults hit in this draw.
    ranks: Vec<u32>,
}

pub fn run(typed: &WhatIf, seed: u64, console: &Console) -> Outcome<()> {
    if typed.job.all_faults().next().is_none()
        && typed.trace.changes.noise.is_empty()
        && typed.job.copies == 1
    {
        return Err(Failure::usage(
            "nothing is changed: give --slow, --link, --stall, --lose, --fix, --noise or --copies",
        ));
    }
    let job = job(typed)?;
    let scenario = scenario(typed, &job, seed)?;
    let by_chance = scenario.noise.as_ref().is_some_and(is_drawn)
        || scenario.faults.iter().any(|fault| is_by_chance(fault.whom));
    let draws = if by_chance { typed.job.draws.unwrap_or(DRAWS) } else { 1 };
    scenario.check(&job).map_err(unfit)?;
    let replays = Replays::new(&job).map_err(Failure::bad_input_of)?;
    // With many copies a single draw takes long, so progress counts steps, including those of the recorded job.
    let meter = Meter::new(console, job.steps.len() as u64 * (1 + u64::from(draws)));
    let before = replays.all_told(|_, at| at.real(), &|| meter.advance(1));
    if before.iter().all(|&step| step == 0) {
        return Err(Failure::bad_input(format!(
            "{}: the recording has no times, so nothing can be changed: record durations",
            job.source
        )));
    }
    let (drawn, stopped) = draw(&scenario, &replays, draws, &meter)?;
    drop(meter);
    let mut answer = answer(typed, &job, &scenario, &before, &drawn);
    if stopped > 0 {
        answer.warnings.push(format!(
            "in {} of {draws} draws no data-parallel rank is left: the job stops, and these draws are not \
             counted",
            stopped
        ));
    }
    if is_doubtful(&replays, &before) {
        answer.verdict = format!(
            "The recording allows no conclusions, as `straggler training show` says: these numbers cannot be trusted. {}",
            answer.verdict
        );
    }
    answer.warnings.extend(scenario.faults.iter().filter_map(|fault| nobody_to_compare(fault, &job)));
    if typed.job.draws.is_some_and(|asked| asked > 1) && !by_chance {
        answer.warnings.push("nothing is random, so one draw is enough: --draws is ignored".into());
    }
    if let Some(path) = &typed.job.output {
        file::write(&scenario.rows(&replays).map_err(unfit)?, path)?;
    }
    pages::write_asked(typed.trace.report.report.as_ref(), console, || words::page(&answer))?;
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&words::summary(&answer, typed.job.output.as_deref()))
}

/// Warns of a fixed worker that has no other worker in its stage to be compared with.
fn nobody_to_compare(fault: &Fault, job: &Job) -> Option<String> {
    let Whom::Rank(rank) = fault.whom else { return None };
    let own = job.workers.iter().find(|worker| worker.rank == rank && worker.recorded)?;
    let of_stage = job.workers.iter().filter(|worker| worker.recorded && worker.stage == own.stage).count();
    (fault.what == Effect::Repaired && of_stage == 1)
        .then(|| format!("--fix {rank}: no other worker does the same, so its computation is only compared with earlier steps"))
}

/// Whether the worker hit by a fault is drawn at random.
fn is_by_chance(whom: Whom) -> bool {
    match whom {
        Whom::Rank(_) => false,
        Whom::Any => true,
        Whom::Each(probability) => probability > 0.0 && probability < 1.0,
    }
}

/// Whether the times of the noise are random. Single delays have a given time.
fn is_drawn(noise: &Injection) -> bool {
    noise.sources.iter().any(|source| matches!(source.waveform, Waveform::Trace(_)))
}

fn unfit(error: ScenarioError) -> Failure {
    Failure::usage(error.to_string())
}

fn scenario(typed: &WhatIf, job: &Job, seed: u64) -> Outcome<Scenario> {
    let rank = |dp_rank: u32, stage: u32| {
        let mut workers = job.workers.iter().filter(|worker| worker.recorded);
        workers.find(|worker| (worker.dp_rank, worker.stage) == (dp_rank, stage)).map(|worker| worker.rank)
    };
    let faults = typed.job.all_faults().map(|fault| fault.in_job(rank)).collect::<Result<Vec<_>, String>>();
    let faults = faults.map_err(Failure::usage)?;
    let mut sources = Vec::new();
    for spec in &typed.trace.changes.noise {
        sources.extend(spec.load(seed)?.sources);
    }
    let noise = match sources.is_empty() {
        true => None,
        false => Some(Injection::new(sources, Phases::Drawn { seed, replica: 0 }, false)?),
    };
    Ok(Scenario { faults, noise, seed })
}

fn job(typed: &WhatIf) -> Outcome<Job> {
    let job = file::job(&typed.files)?;
    if typed.job.output.is_some() && !job.is_table() {
        return Err(Failure::usage("-o: the recording does not have the operations of a table: remove -o"));
    }
    match typed.job.copies {
        1 => Ok(job),
        copies => copied(&job, copies).map_err(|error| Failure::usage(format!("--copies: {error}"))),
    }
}

/// Replays every draw; the result does not depend on the number of threads. Also returns the number of draws
/// that leave no data-parallel rank.
fn draw<'a>(
    scenario: &Scenario,
    replays: &'a Replays<'a>,
    draws: u32,
    meter: &Meter,
) -> Outcome<(Vec<(u32, Drawn)>, usize)> {
    let healthy = scenario.healthy(replays);
    let one = |number: u32| {
        interrupt::check()?;
        let drawn = match scenario.outcome_told(replays, healthy.as_ref(), number, &|| meter.advance(1)) {
            Err(ScenarioError::NobodyLeft { .. }) if draws > 1 => None,
            drawn => Some((number, drawn.map_err(unfit)?)),
        };
        Ok(drawn)
    };
    let drawn: Outcome<Vec<Option<(u32, Drawn)>>> = (0..draws).into_par_iter().map(one).collect();
    let drawn: Vec<(u32, Drawn)> = drawn?.into_iter().flatten().collect();
    let stopped = draws as usize - drawn.len();
    match drawn.is_empty() {
        true => Err(Failure::usage("no data-parallel rank is left in any draw: lose fewer workers")),
        false => Ok((drawn, stopped)),
    }
}

fn answer(
    typed: &WhatIf,
    job: &Job,
    scenario: &Scenario,
    before: &[i64],
    drawn: &[(u32, Drawn)],
) -> TrainingWhatIfAnswer {
    let seconds = |ps: f64| ps / 1e12;
    let from_step =
        scenario.from_step().filter(|&step| job.steps.first().is_some_and(|first| first.number < step));
    let counted: Vec<usize> = (0..job.steps.len())
        .filter(|&place| from_step.is_none_or(|from_step| job.steps[place].number >= from_step))
        .collect();
    let mean_of = |steps: &[i64]| mean(&counted.iter().map(|&place| steps[place]).collect::<Vec<i64>>());
    let step = mean_of(before);
    let count = drawn.len().max(1) as f64;
    let over_draws = |of: &dyn Fn(&Drawn) -> f64| drawn.iter().map(|(_, one)| of(one)).sum::<f64>() / count;
    let changed = over_draws(&|one| mean_of(&one.steps));
    let slowdown_of = |one: &Drawn| if step > 0.0 { mean_of(&one.steps) / step } else { 1.0 };
    let samples_of = |one: &Drawn| {
        counted.iter().map(|&place| one.samples[place]).sum::<f64>() / counted.len().max(1) as f64
    };
    let mut order: Vec<(&(u32, Drawn), f64)> = drawn.iter().map(|one| (one, slowdown_of(&one.1))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.0.cmp(&b.0.0)));
    let sorted: Vec<f64> = order.iter().rev().map(|(_, slowdown)| *slowdown).collect();
    let by_step = job.steps.iter().enumerate().map(|(place, of)| {
        let after = over_draws(&|one| one.steps[place] as f64);
        (of.number, [seconds(before[place] as f64), seconds(after)])
    });
    let drawn_faults = scenario.faults.iter().any(|fault| is_by_chance(fault.whom));
    let told = if drawn.len() > 1 && drawn_faults { WORST } else { 0 };
    let worst = order.iter().take(told).map(|((draw, one), slowdown)| {
        let by_chance = one.hit.iter().filter(|(fault, _)| is_by_chance(scenario.faults[*fault].whom));
        let mut ranks: Vec<u32> = by_chance.map(|&(_, rank)| rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        Worst { draw: *draw, slowdown: *slowdown, ranks }
    });
    let mut answer = TrainingWhatIfAnswer {
        source: job.source.clone(),
        synthetic: job.synthetic,
        verdict: String::new(),
        changes: words::changes(scenario),
        workers: job.workers.iter().filter(|worker| worker.recorded).count(),
        steps: job.steps.len(),
        copies: typed.job.copies,
        draws: drawn.len(),
        seed: scenario.seed,
        from_step,
        step_seconds: seconds(step),
        changed_seconds: seconds(changed),
        slowdown: if step > 0.0 { changed / step } else { 1.0 },
        slowdowns: (drawn.len() > 1).then(|| quantiles(&sorted)),
        samples: over_draws(&samples_of),
        slowdown_per_sample: over_draws(&|one| slowdown_of(one) / samples_of(one)),
        by_step: by_step.collect(),
        worst: worst.collect(),
        warnings: job.notes.clone(),
        hits: scenario.noise.is_some() || drawn.iter().any(|(_, one)| !one.hit.is_empty()),
        differs: drawn.iter().any(|(_, one)| one.differs),
        sorted,
    };
    answer.verdict = words::verdict(&answer);
    answer
}

fn quantiles(sorted: &[f64]) -> Quantiles {
    let at = |q: f64| straggler_model::stats::quantile_of_sorted(sorted, q).unwrap_or(1.0);
    Quantiles { p5: at(0.05), p50: at(0.5), p95: at(0.95), max: at(1.0) }
}
