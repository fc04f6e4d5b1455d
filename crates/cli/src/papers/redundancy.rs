//! `straggler papers redundancy`: simulates three cases for every draw of the noise, and summarises them.

use crate::kernel::prelude::*;
use crate::kernel::typed::{Rounds, count, noise, text};
use crate::network::{NetworkAnswer, load_network, network_file};
use crate::noise::file::{LoadedNoise, has_drawn_source};
use crate::{
    args::Common, kernel::devices::threads, kernel::memory::refuse_too_much_of_share, mpi::cluster,
    report::ReportOption, simulate::plan::NoisePlan,
};
use straggler_analysis::recovery::{self, Case, Experiment, Trial};
use straggler_model::Network;
use straggler_model::stats::{CONFIDENCE, MeanInterval, mean_interval};
use straggler_noise::NoiseSpec;
use straggler_report::page::{Bar, Bars, Distribution, Sample};
use straggler_sim::programs::{Butterfly, Redundancy};
use straggler_sim::{Replicas, Simulation, Workload, cluster::Cluster};

const EXAMPLES: &str = "\
EXAMPLES
  The second setting of figure 8 of Chen and Suda, on fewer processes:
  straggler papers redundancy --processes 1024 --cycles 10 \\
      --compute 6.666667ms --noise periodic:period=10ms,duration=100us \\
      --network L=1us,o=1ns,g=0ns,G=1ns,O=0ns,S=65535

  Only in rounds 4 to 8, and only if nothing came from the neighbour for two
  rounds:
  straggler papers redundancy --processes 1024 --cycles 10 --rounds 4-8 \\
      --patience 2 --noise periodic:period=10ms,duration=100us --network chic

HOW IT WORKS
  In each round of a butterfly, a process exchanges data with the one at
  distance 1, 2, 4, … From the second round on, the two partners of the first
  round hold the same data. In the redundant butterfly each hands its data to
  the other, so that a process whose partner is delayed by noise can continue.
  The command compares the conventional butterfly, the redundant one, and a
  quiet one with the same noise in computation and none in communication. The
  recovery ratio is (conventional - redundant) / (conventional - quiet).";

/// Measure how much of an allreduce's noise cost redundant exchanges recover
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(
    override_usage = "straggler papers redundancy [OPTIONS] --processes <P> --network <NETWORK>\n           --noise <FILE|SPEC>"
)]
pub struct RedundancyArgs {
    /// Number of processes, a power of two
    #[arg(long, value_name = "P", value_parser = count::<u32>(1..))]
    pub processes: u32,
    /// Cycles of computation and communication
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<u32>(1..))]
    pub cycles: u32,
    /// Computation time of every process in each cycle
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub compute: Time,
    /// Message size in the first round
    #[arg(long, value_name = "BYTES", default_value = "1")]
    pub size: Bytes,
    /// Factor by which messages grow from round to round
    #[arg(long, value_name = "FACTOR", default_value_t = 1, value_parser = count::<u32>(1..))]
    pub growth: u32,
    /// Rounds after which a process hands its data over, counted from 1 [default: all but the first]
    #[arg(long, value_name = "2-5,8")]
    pub rounds: Option<Rounds>,
    /// Hand data over only after this many rounds without a message from the neighbour
    #[arg(long, value_name = "N", value_parser = count::<u8>(1..))]
    pub patience: Option<u8>,
    /// The network: LogGOPS parameters, a preset or a .toml file
    #[arg(long, value_name = "NETWORK", value_parser = text())]
    pub network: String,
    /// Noise on the processes; repeat the option or join sources with + to superpose them
    #[arg(long, value_name = "FILE|SPEC", required = true, value_parser = noise())]
    pub noise: Vec<NoiseSpec>,
    /// Runs of each case, each with new random offsets into the noise
    #[arg(long, value_name = "R", default_value_t = 20, value_parser = count::<u32>(1..))]
    pub replicas: u32,
    /// Skip the two runs without noise, which measure what redundancy costs on a quiet machine
    #[arg(long)]
    pub skip_undisturbed: bool,
    /// Write the JSON object to a file
    #[arg(short, long, value_name = "OUT.json")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Debug)]
pub struct Plan {
    pub experiment: Experiment,
    pub processes: u32,
    pub cycles: u32,
    pub network: String,
    pub noise: NoisePlan,
    pub seed: u64,
    pub replicas: u32,
    pub undisturbed: bool,
    pub threads: Option<usize>,
    pub output: Option<PathBuf>,
    pub report: Option<PathBuf>,
}

impl Plan {
    pub fn new(typed: RedundancyArgs, common: &Common) -> Outcome<Plan> {
        let Bytes(bytes) = typed.size;
        let conventional = Butterfly::new(typed.processes, typed.cycles, typed.compute)?;
        let conventional = conventional.with_messages(bytes, typed.growth);
        let rounds = typed.processes.trailing_zeros();
        let levels = match &typed.rounds {
            None => !1,
            Some(ranges) => levels(ranges, rounds)?,
        };
        let redundancy = match typed.patience {
            None => Redundancy::Levels(levels),
            Some(patience) => Redundancy::WhenLate { levels, patience },
        };
        let spec = NoiseSpec { sources: typed.noise.into_iter().flat_map(|spec| spec.sources).collect() };
        if spec.is_none() {
            return Err(Failure::usage("there is nothing to recover without noise: give --noise a source"));
        }
        Ok(Plan {
            experiment: Experiment { conventional, redundancy },
            processes: typed.processes,
            cycles: typed.cycles,
            network: typed.network,
            noise: NoisePlan { spec, offsets: None, cosched: false, wallclock: false },
            seed: common.seed,
            replicas: typed.replicas,
            undisturbed: !typed.skip_undisturbed,
            threads: common.threads.map(Into::into),
            output: typed.output,
            report: typed.report.report,
        })
    }
}

/// Bits of the levels that are handed over after the given rounds. After its first round a process has only
/// the data that it just exchanged with its neighbour, so there is nothing to hand over.
fn levels(ranges: &Rounds, rounds: u32) -> Outcome<u32> {
    if rounds < 2 {
        return Err(Failure::usage(
            "--rounds: redundant exchanges need at least two rounds, that is 4 processes",
        ));
    }
    let mut levels = 0;
    for &(first, last) in &ranges.0 {
        if first < 2 || last > rounds {
            return Err(Failure::usage(format!(
                "--rounds {first}-{last} is out of range: redundant exchanges are possible after rounds 2 to {rounds} of {rounds}"
            )));
        }
        levels |= (first..=last).fold(0, |bits, round| bits | 1 << (round - 1));
    }
    Ok(levels)
}

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
        cluster,
        stop: interrupt::flag(),
        advance: &|more| meter.advance(more),
        ..Replicas::new(Simulation::new(&network), threads(plan.threads))
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
        pages::write_asked(plan.report.as_ref(), console, || page(&answer, synthetic))?;
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
struct RedundancyAnswer {
    processes: u32,
    cycles: u32,
    network: NetworkAnswer,
    noise: String,
    seed: u64,
    replicas: u32,
    /// Mean recovery ratio over trials in which noise in communication cost anything.
    recovery: Option<MeanInterval>,
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
            recovery: recovery::mean_ratio(trials),
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

fn page(answer: &RedundancyAnswer, synthetic: bool) -> Page {
    let command = command_line();
    let mut section = Section::new("Gain from redundant exchanges");
    section.add(distribution(answer, &command).synthetic(synthetic));
    section.add(means(answer, &command).synthetic(synthetic));
    section.add(cases(answer).titled("Means of the trials", &command));
    section.add(trials(answer).titled("Trials", &command));
    let summary = pages::paragraphs(&summary(answer)).into_iter().take(2).collect();
    let mut page = pages::page("Redundant exchanges", summary, vec![section]);
    page.facts.add("Network", &answer.network.name);
    page.facts.add("Noise", &answer.noise);
    page.facts.add("Seed", answer.seed.to_string());
    page
}

type TrialTime = (&'static str, fn(&TrialAnswer) -> u64);

const CASES: [TrialTime; 3] = [
    ("conventional", |trial| trial.conventional_ps),
    ("redundant", |trial| trial.redundant_ps),
    ("quiet", |trial| trial.quiet_ps),
];

fn distribution(answer: &RedundancyAnswer, command: &str) -> Chart {
    let sample = |(name, of): TrialTime| {
        let mut times: Vec<u64> = answer.trials.iter().map(of).collect();
        times.sort_unstable();
        Sample {
            name: name.into(),
            values: times.into_iter().map(|ps| Time(ps).seconds()).collect(),
            sum: false,
        }
    };
    let plot = Distribution {
        x: Axis::linear("run time", Unit::Seconds),
        series: CASES.into_iter().map(sample).collect(),
        marks: Vec::new(),
    };
    Chart::new("Run times of the trials", command, plot)
        .with_note("Quiet: the same noise in computation, none in communication.")
}

fn means(answer: &RedundancyAnswer, command: &str) -> Chart {
    let cases =
        [("conventional", &answer.conventional), ("redundant", &answer.redundant), ("quiet", &answer.quiet)];
    let bar = |(name, case): (&str, &CaseAnswer)| Bar {
        name: name.into(),
        value: case.makespan_ps_mean * 1e-12,
        note: format!("{:.0} messages", case.messages_mean),
        ..Bar::default()
    };
    let plot =
        Bars { x: Axis::linear("mean run time", Unit::Seconds), bars: cases.into_iter().map(bar).collect() };
    Chart::new("Mean run times", command, plot)
}

fn trials(answer: &RedundancyAnswer) -> Table {
    Columns::over(&answer.trials)
        .number("trial", |row| Cell::id(row.replica))
        .each(CASES, |columns, (name, of)| columns.number(name, |row| Cell::ps(of(row))))
        .number("recovered", |row| row.ratio.map(Cell::share))
        .build()
}
