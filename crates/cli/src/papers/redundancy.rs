//! `straggler papers redundancy`: simulates three cases for every draw of the noise, and summarises them.

pub mod args;
pub mod page;
pub mod plan;

use crate::kernel::console::{Console, to_json};
use crate::kernel::devices::threads;
use crate::kernel::exit::Outcome;
use crate::kernel::interrupt::Orderly;
use crate::kernel::memory::refuse_too_much_of_share;
use crate::kernel::meter::Meter;
use crate::kernel::outputs::refuse_missing_folder;
use crate::kernel::{interrupt, pages};
use crate::mpi::cluster;
use crate::network::file::{NetworkAnswer, load_network, network_file};
use crate::noise::spec::{LoadedNoise, has_drawn_source};
use crate::papers::redundancy::plan::Plan;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use straggler_analysis::recovery;
use straggler_analysis::recovery::{Case, Trial};
use straggler_model::stats::{CONFIDENCE, MeanInterval, mean_interval};
use straggler_model::{Network, Time};
use straggler_report::numbers::{counted, percent};
use straggler_report::{Cell, Columns, Table, replace_file};
use straggler_sim::cluster::Cluster;
use straggler_sim::{Replicas, Simulation, Workload};

/// Runs the plan, with all members of a cluster if there is one.
pub fn run(plan: &Plan, console: &Console, cluster: Option<&dyn Cluster>) -> Outcome<()> {
    let loaded = Inputs::load(plan, cluster);
    let Inputs { network, noise, warnings } = match cluster {
        None => loaded?,
        Some(cluster) => cluster::agreed(cluster, loaded, &files(plan))?,
    };
    warnings.iter().for_each(|warning| console.warn(warning));
    let _orderly = Orderly::begin();
    let expected = plan.experiment.messages().saturating_mul(u64::from(plan.replicas) + 1);
    let meter = Meter::new(console, expected);
    let runner = Replicas {
        simulation: Simulation::new(&network),
        threads: threads(plan.threads),
        accelerator: None,
        cluster,
        checkpoints: None,
        stop: interrupt::flag(),
        advance: &|more| meter.advance(more),
    };
    let began = Instant::now();
    let undisturbed = if plan.undisturbed { Some(plan.experiment.undisturbed(&runner)?) } else { None };
    let trials = plan.experiment.trials(&runner, noise.injection(), 0..plan.replicas)?;
    interrupt::check()?;
    let answer =
        RedundancyAnswer::new(plan, &network, &noise, undisturbed, &trials, began.elapsed().as_secs_f64());
    if cluster::speaks(cluster) {
        if let Some(path) = &plan.output {
            let text = to_json(&answer)?;
            replace_file(path, |out| out.write_all(text.as_bytes()))?;
        }
        let synthetic = has_drawn_source(&plan.noise.spec);
        pages::write_asked(plan.report.as_ref(), console, || page::page(&answer, synthetic))?;
    }
    if console.json { console.print_json(&answer) } else { console.print(&summary(&answer)) }
}

/// The input files that exist.
fn files(plan: &Plan) -> Vec<PathBuf> {
    let mut files = plan.noise.files();
    files.push(network_file(&plan.network));
    files.retain(|path| path.exists());
    files
}

struct Inputs {
    network: Network,
    noise: LoadedNoise,
    warnings: Vec<String>,
}

impl Inputs {
    fn load(plan: &Plan, cluster: Option<&dyn Cluster>) -> Outcome<Inputs> {
        plan.report.iter().try_for_each(|path| refuse_missing_folder(path))?;
        let network = load_network(&plan.network, None)?;
        let workload = Workload::Butterfly(plan.experiment.conventional);
        let needed = Simulation::new(&network).memory_bytes(&workload);
        refuse_too_much_of_share(plan.processes.into(), needed, cluster)?;
        let mut warnings = Vec::new();
        let noise = LoadedNoise::load(&plan.noise, plan.seed, plan.processes, &mut warnings)?;
        Ok(Inputs { network, noise, warnings })
    }
}

#[derive(Serialize)]
pub struct RedundancyAnswer {
    processes: u32,
    cycles: u32,
    network: NetworkAnswer,
    noise: String,
    seed: u64,
    replicas: u32,
    /// Mean recovery ratio over trials in which noise in communication cost anything.
    recovery: Option<IntervalAnswer>,
    confidence: f64,
    conventional: CaseAnswer,
    redundant: CaseAnswer,
    quiet: CaseAnswer,
    #[serde(skip_serializing_if = "Option::is_none")]
    undisturbed: Option<Undisturbed>,
    trials: Vec<TrialAnswer>,
    wall_seconds: f64,
}

#[derive(Serialize)]
struct IntervalAnswer {
    mean: f64,
    low: f64,
    high: f64,
}

impl IntervalAnswer {
    fn new(interval: MeanInterval) -> IntervalAnswer {
        IntervalAnswer { mean: interval.mean, low: interval.low, high: interval.high }
    }
}

#[derive(Serialize)]
struct CaseAnswer {
    makespan_ps_mean: f64,
    messages_mean: f64,
}

#[derive(Clone, Copy, Serialize)]
struct Undisturbed {
    conventional_ps: u64,
    redundant_ps: u64,
    /// How much longer the redundant algorithm takes.
    cost: f64,
}

#[derive(Serialize)]
struct TrialAnswer {
    replica: u32,
    conventional_ps: u64,
    redundant_ps: u64,
    quiet_ps: u64,
    ratio: Option<f64>,
}

impl RedundancyAnswer {
    fn new(
        plan: &Plan,
        network: &Network,
        noise: &LoadedNoise,
        undisturbed: Option<[Case; 2]>,
        trials: &[Trial],
        wall_seconds: f64,
    ) -> RedundancyAnswer {
        let of = |pick: fn(&Trial) -> Case| CaseAnswer::new(trials.iter().map(pick));
        RedundancyAnswer {
            processes: plan.processes,
            cycles: plan.cycles,
            network: NetworkAnswer::new(network),
            noise: noise.describe(),
            seed: plan.seed,
            replicas: plan.replicas,
            recovery: recovery::mean_ratio(trials).map(IntervalAnswer::new),
            confidence: CONFIDENCE,
            conventional: of(|trial| trial.conventional),
            redundant: of(|trial| trial.redundant),
            quiet: of(|trial| trial.quiet),
            undisturbed: undisturbed.map(Undisturbed::new),
            trials: (0..).zip(trials).map(TrialAnswer::new).collect(),
            wall_seconds,
        }
    }
}

impl Undisturbed {
    fn new(cases: [Case; 2]) -> Undisturbed {
        let [conventional_ps, redundant_ps] = cases.map(|case| case.makespan.ps());
        let ratio = redundant_ps as f64 / conventional_ps as f64;
        let cost = if conventional_ps == 0 { 0.0 } else { ratio - 1.0 };
        Undisturbed { conventional_ps, redundant_ps, cost }
    }

    fn summary(&self) -> String {
        let Undisturbed { conventional_ps, redundant_ps, cost } = *self;
        if cost < 0.001 {
            return "Without noise, redundant exchanges cost less than 0.1 %.\n".to_string();
        }
        let (more, less) = (Time(redundant_ps), Time(conventional_ps));
        format!(
            "Without noise, redundant exchanges take {} longer: {more} instead of {less}.\n",
            percent(cost)
        )
    }
}

impl CaseAnswer {
    fn new(cases: impl Iterator<Item = Case>) -> CaseAnswer {
        let (makespans, messages): (Vec<f64>, Vec<f64>) =
            cases.map(|case| (case.makespan.ps() as f64, case.messages as f64)).unzip();
        let mean = |values: &[f64]| mean_interval(values, CONFIDENCE).map_or(0.0, |all| all.mean);
        CaseAnswer { makespan_ps_mean: mean(&makespans), messages_mean: mean(&messages) }
    }
}

impl TrialAnswer {
    fn new((replica, trial): (u32, &Trial)) -> TrialAnswer {
        TrialAnswer {
            replica,
            conventional_ps: trial.conventional.makespan.ps(),
            redundant_ps: trial.redundant.makespan.ps(),
            quiet_ps: trial.quiet.makespan.ps(),
            ratio: trial.ratio(),
        }
    }
}

fn summary(answer: &RedundancyAnswer) -> String {
    let on = counted(answer.processes.into(), "process", "processes");
    let headline = match &answer.recovery {
        None => format!("Noise in communication costs nothing on {on}, so there is nothing to recover."),
        Some(ratio) if ratio.low <= 0.0 && ratio.high >= 0.0 => format!(
            "It is unclear whether redundant exchanges pay off on {on}: they recover {} of the cost of noise in \
             communication{}.",
            percent(ratio.mean),
            sureness(answer, ratio.low, ratio.high)
        ),
        Some(ratio) if ratio.mean < 0.0 => format!(
            "Redundant exchanges do not pay off on {on}: they lose {} of the cost of noise in \
             communication{}.",
            percent(-ratio.mean),
            sureness(answer, -ratio.high, -ratio.low)
        ),
        Some(ratio) => format!(
            "Redundant exchanges recover {} of the cost of noise in communication on {on}{}.",
            percent(ratio.mean),
            sureness(answer, ratio.low, ratio.high)
        ),
    };
    let cost = answer.undisturbed.map_or_else(String::new, |undisturbed| undisturbed.summary());
    format!("{headline}\n{cost}\n{}", cases(answer))
}

fn sureness(answer: &RedundancyAnswer, low: f64, high: f64) -> String {
    if !high.is_finite() {
        return " (only one replica lost time, so there is no interval)".to_string();
    }
    format!(
        " (between {} and {} with {} confidence, {})",
        percent(low),
        percent(high),
        percent(answer.confidence),
        counted(answer.replicas.into(), "replica", "replicas")
    )
}

/// The three cases, averaged over the trials.
fn cases(answer: &RedundancyAnswer) -> Table {
    let beyond = |case: &CaseAnswer| case.makespan_ps_mean - answer.quiet.makespan_ps_mean;
    let cases =
        [("conventional", &answer.conventional), ("redundant", &answer.redundant), ("quiet", &answer.quiet)];
    Columns::over(cases)
        .text("case", |(name, _)| name)
        .number("mean run time", |(_, case)| Cell::ps(case.makespan_ps_mean.round() as u64))
        .number("above quiet", |(_, case)| Cell::ps(beyond(case).max(0.0).round() as u64))
        .number("messages", |(_, case)| Cell::count(case.messages_mean.round() as u64))
        .build()
}
