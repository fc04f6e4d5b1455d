//! `straggler tools bench`: how fast this machine simulates. Every case runs in a child process, so that its peak memory is
//! its own. The parent collects the results, checks that equal cases gave equal numbers, and prints them.

pub mod case;
pub mod words;

use crate::kernel::devices::{DeviceOption, threads};
use crate::kernel::prelude::*;
use crate::{args::Common, kernel::typed::count, tools::bench::case::Measured};
use std::process::{Command, Stdio};

const EXAMPLES: &str = "\
EXAMPLES
  straggler tools bench --quick
  straggler tools bench --quick --repeat 1 -o bench.json

Each case runs in a separate process, so that its peak memory is its own. The
best repetition counts. Other load on the machine affects the results.";

/// Measure the speed and the memory use of the simulator on this machine
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    /// Simulated processes in the main cases, and at most in all others
    #[arg(long, value_name = "P", value_parser = count::<u32>(2..))]
    pub processes: Option<u32>,
    /// Runs of each case; the best counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count::<u32>(1..))]
    pub repeat: u32,
    /// Fewer processes; takes a few seconds
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Up to 67,108,864 processes; takes minutes and several gigabytes of memory
    #[arg(long)]
    pub full: bool,
    /// Write the results as JSON
    #[arg(short, long, value_name = "OUT.json")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub device: DeviceOption,
}

/// The case as JSON, from the parent process.
#[derive(Debug, Args)]
pub struct BenchCase {
    pub case: String,
}

#[derive(Debug)]
pub struct Plan {
    pub cases: Vec<Case>,
    pub output: Option<PathBuf>,
}

/// One case, measured in a separate process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub group: Group,
    pub workload: BenchWorkload,
    pub processes: u32,
    /// None: all available cores.
    pub threads: Option<usize>,
    /// Minimum number of runs; the best counts.
    pub repeat: u32,
    pub seed: u64,
}

/// The group of a case in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    Main,
    Graph,
    Threads,
    Scale,
    Computation,
    /// Many replicas, on a GPU.
    Gpu,
    /// Applications, files and the resampling model.
    More,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchWorkload {
    /// Dissemination of one byte, as an implicit schedule.
    Implicit { cycles: u32, compute_ps: u64, noise: bool },
    /// This many replicas of the dissemination, on a GPU.
    OnGpu { replicas: u32, noise: bool },
    /// Recursive doubling of one byte, as an implicit schedule.
    RecursiveDoubling,
    /// The dissemination as a schedule in memory.
    Graph,
    /// The same as GOAL text, read but not run.
    Text,
    /// The same as GOAL binary, generated and discarded.
    Binary,
    /// The workload `pop` with its default parameters.
    Pop,
    /// All-to-alls resampled from synthetic exchange times.
    Resampling,
}

const ONCE: BenchWorkload = BenchWorkload::Implicit { cycles: 1, compute_ps: 0, noise: false };
const NOISY: BenchWorkload = BenchWorkload::Implicit { cycles: 1, compute_ps: 0, noise: true };

/// The sizes of the cases.
struct Sizes {
    main: u32,
    graph: u32,
    threads: Vec<u32>,
    scale: Vec<u32>,
    computation: u32,
    pop: u32,
}

impl Sizes {
    fn new(typed: &Bench) -> Sizes {
        let powers = |last: u32| (10..=last).step_by(2).map(|power| 1 << power).collect::<Vec<u32>>();
        let computation = 1 << 12;
        let sizes = if typed.quick {
            let threads = vec![1 << 17];
            Sizes { main: 1 << 16, graph: 1 << 12, threads, scale: powers(16), computation, pop: 64 }
        } else if typed.full {
            let threads = vec![1 << 18, 1 << 20, 1 << 22];
            let scale = powers(24).into_iter().chain([1 << 26]).collect();
            Sizes { main: 1 << 20, graph: 1 << 16, threads, scale, computation, pop: 1 << 15 }
        } else {
            let threads = vec![1 << 18, 1 << 20];
            Sizes { main: 1 << 20, graph: 1 << 16, threads, scale: powers(20), computation, pop: 1 << 15 }
        };
        match typed.processes {
            Some(most) => sizes.at_most(most),
            None => sizes,
        }
    }

    /// The main cases get this size, and no other case gets more.
    fn at_most(self, most: u32) -> Sizes {
        let bounded = |list: Vec<u32>| {
            let mut list: Vec<u32> = list.into_iter().map(|size| size.min(most)).collect();
            list.dedup();
            list
        };
        Sizes {
            main: most,
            graph: self.graph.min(most),
            threads: bounded(self.threads),
            scale: bounded(self.scale),
            computation: self.computation.min(most),
            pop: self.pop.min(most),
        }
    }
}

impl Plan {
    /// `gpu` says whether there is a GPU to measure.
    pub fn new(typed: &Bench, common: &Common, gpu: bool) -> Plan {
        let sizes = Sizes::new(typed);
        let case = |group, workload, processes, threads| Case {
            group,
            workload,
            processes,
            threads,
            repeat: typed.repeat,
            seed: common.seed,
        };
        let threads = common.threads.map(Into::into);
        let mut cases = vec![
            case(Group::Main, ONCE, sizes.main, threads),
            case(Group::Main, NOISY, sizes.main, threads),
            case(Group::Main, BenchWorkload::RecursiveDoubling, sizes.main, threads),
            case(Group::Graph, BenchWorkload::Graph, sizes.graph, threads),
            case(Group::Graph, BenchWorkload::Text, sizes.graph, threads),
        ];
        for processes in sizes.threads {
            cases.extend([1, 2].map(|threads| case(Group::Threads, ONCE, processes, Some(threads))));
        }
        cases.extend(sizes.scale.into_iter().map(|processes| case(Group::Scale, ONCE, processes, Some(1))));
        for compute_ps in [0, 1_000_000_000, 100_000_000_000] {
            let workload = BenchWorkload::Implicit { cycles: 50, compute_ps, noise: false };
            cases.push(case(Group::Computation, workload, sizes.computation, Some(1)));
        }
        if gpu {
            let replicas = if typed.quick { 10 } else { 100 };
            let on_gpu = |noise| BenchWorkload::OnGpu { replicas, noise };
            cases.extend([false, true].map(|noise| case(Group::Gpu, on_gpu(noise), sizes.main, None)));
        }
        cases.push(case(Group::More, BenchWorkload::Binary, sizes.graph, threads));
        cases.push(case(Group::More, BenchWorkload::Resampling, sizes.main.min(32), threads));
        // Hundreds of millions of messages: one run is enough.
        cases.push(Case { repeat: 1, ..case(Group::More, BenchWorkload::Pop, sizes.pop, threads) });
        Plan { cases, output: typed.output.clone() }
    }
}

/// All measurements, and the machine.
#[derive(Debug, Serialize)]
pub struct Report {
    version: &'static str,
    machine: Machine,
    network: &'static str,
    noise: &'static str,
    cases: Vec<Measured>,
}

#[derive(Debug, Serialize)]
struct Machine {
    processor: Option<String>,
    available_threads: usize,
    system: &'static str,
    architecture: &'static str,
}

impl Machine {
    fn here() -> Machine {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = cpuinfo.lines().find(|line| line.starts_with("model name"));
        Machine {
            processor: name.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_string()),
            available_threads: threads(None),
            system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
        }
    }
}

pub fn run(plan: &Plan, console: &Console) -> Outcome<()> {
    let mut cases = Vec::with_capacity(plan.cases.len());
    for (index, case) in plan.cases.iter().enumerate() {
        console.detail(&format!("case {} of {}: {}", index + 1, plan.cases.len(), words::describe(case)));
        cases.push(measure_in_child(case)?);
    }
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::here(),
        network: case::NETWORK,
        noise: case::NOISE,
        cases,
    };
    check(&report)?;
    if let Some(path) = &plan.output {
        let text = to_json(&report)?;
        replace_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    if console.json { console.print_json(&report) } else { console.print(&words::summary(&report)) }
}

/// The hidden command that measures one case and prints the result.
pub fn run_case(text: &str, console: &Console) -> Outcome<()> {
    let case: Case = serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("this is not a benchmark case: {error}")))?;
    console.print_json(&case::measure(case)?)
}

fn measure_in_child(case: &Case) -> Outcome<Measured> {
    let failed = |error: String| {
        Failure::new(Exit::CheckFailed, anyhow::Error::msg(format!("a benchmark case failed: {error}")))
    };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let text = serde_json::to_string(case).map_err(|error| failed(error.to_string()))?;
    let child = Command::new(program).args(["tools", "bench-case", &text]).stderr(Stdio::inherit()).output();
    let output = child.map_err(|error| failed(error.to_string()))?;
    match output.status.code() {
        Some(0) => serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string())),
        Some(130) => Err(Failure::interrupted()),
        _ => Err(failed(format!("{} exited with {}", words::describe(case), output.status))),
    }
}

/// Checks that the simulated times do not depend on the number of threads.
fn check(report: &Report) -> Outcome<()> {
    let of_group = |group: Group| report.cases.iter().filter(move |measured| measured.case.group == group);
    for first in of_group(Group::Threads) {
        let differs = |other: &&Measured| {
            other.case.processes == first.case.processes && other.makespan_ps != first.makespan_ps
        };
        if let Some(other) = of_group(Group::Threads).find(differs) {
            return Err(Failure::new(
                Exit::CheckFailed,
                anyhow::anyhow!(
                    "{} processes finish after {} ps on {} threads but after {} ps on {}: the engine is wrong",
                    first.case.processes,
                    first.makespan_ps,
                    first.threads,
                    other.makespan_ps,
                    other.threads
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::tools::{Tools, ToolsCommand};
    use clap::Parser;

    #[test]
    fn no_case_has_more_processes_than_requested() {
        for options in [["--repeat", "1"], ["--full", "--quiet"], ["--quick", "--quiet"]] {
            let words = ["straggler", "tools", "bench", "--processes", "1e3"].into_iter().chain(options);
            let cli = Cli::parse_from(words);
            let Command::Tools(Tools { command: ToolsCommand::Bench(typed) }) = cli.command else { panic!() };
            let cases = Plan::new(&typed, &cli.common, true).cases;
            assert!(cases.iter().all(|case| case.processes <= 1000), "{cases:?}");
            // Equal cases of a group are measured once.
            let again = |case: &Case| cases.iter().filter(|other| *other == case).count();
            assert!(cases.iter().all(|case| again(case) == 1), "{cases:?}");
        }
    }

    #[test]
    fn a_case_survives_its_way_to_the_child() {
        let case = Case {
            group: Group::Computation,
            workload: BenchWorkload::Implicit { cycles: 50, compute_ps: 7, noise: true },
            processes: 4096,
            threads: None,
            repeat: 5,
            seed: 1,
        };
        let text = serde_json::to_string(&case).unwrap();
        assert_eq!(serde_json::from_str::<Case>(&text).unwrap(), case);
    }
}
