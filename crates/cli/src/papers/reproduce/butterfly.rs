//! The redundant butterfly of Chen and Suda: run time of cycles, and how much redundancy recovers.

use crate::kernel::prelude::*;
use crate::papers::reproduce::comparison::{Comparison, Quantity};
use crate::papers::reproduce::{Findings, Setting, Size, Work};
use crate::{kernel::devices::threads, papers::reproduce::studies::Description};
use straggler_analysis::recovery::{Experiment, Trial, mean_ratio};
use straggler_model::{Network, stats::quantile_in_place};
use straggler_noise::{Injection, NoiseSpec, Phases, Source};
use straggler_report::page::{Line, Lines, Role};
use straggler_sim::programs::{Butterfly, Redundancy};
use straggler_sim::{Replicas, Simulation};

/// The paper's parameters, section 3.1.
const NETWORK: &str = "L=1us,o=1ns,g=0ns,G=1ns,O=0ns,S=65535";
const CYCLES: u32 = 10;
const RATIO: f64 = 0.4;
const INPUT: &str = "As in the paper: periodic noise of 100 µs, its network and its computation. It draws \
    the phases of the noise once; here they are drawn again for every replica.";

/// Computation of a cycle and period of the noise, in picoseconds, and their names in the figures.
const SETTINGS: [(u64, u64, &str); 3] = [
    (0, 10_000_000_000, "(a) no computation, noise every 10 ms"),
    (6_666_670_000, 10_000_000_000, "(b) 6.67 ms of computation, noise every 10 ms"),
    (66_666_700_000, 100_000_000_000, "(c) 66.7 ms of computation, noise every 100 ms"),
];

fn experiment(processes: u32, cycles: u32, compute: u64) -> Outcome<Experiment> {
    let conventional = Butterfly::new(processes, cycles, Time(compute))?;
    // After every round but the first.
    Ok(Experiment { conventional, redundancy: Redundancy::Levels(!1) })
}

/// Everything a trial needs.
struct Bench<'a> {
    network: Network,
    setting: &'a Setting<'a>,
    meter: Meter,
}

impl<'a> Bench<'a> {
    fn new(setting: &'a Setting<'a>, work: Work) -> Outcome<Bench<'a>> {
        let network = Network::parse(NETWORK)?;
        Ok(Bench { network, setting, meter: Meter::new(setting.console, work.messages) })
    }

    fn trials(&self, processes: u32, cycles: u32, at: usize, replicas: u32) -> Outcome<Vec<Trial>> {
        let (compute, period, _) = SETTINGS[at];
        let experiment = experiment(processes, cycles, compute)?;
        let (sources, seed) = (noise(period, self.setting.seed)?, self.setting.seed);
        let phases = Phases::Drawn { seed, replica: 0 };
        let noise = Injection { sources, phases, wallclock: false, computation_only: false };
        let runner = Replicas {
            stop: interrupt::flag(),
            advance: &|more| self.meter.advance(more),
            ..Replicas::new(Simulation::new(&self.network), threads(self.setting.threads))
        };
        Ok(experiment.trials(&runner, &noise, 0..replicas)?)
    }
}

fn noise(period: u64, seed: u64) -> Outcome<Vec<Source>> {
    let text = format!("periodic:period={period}ps,duration=100us");
    let spec: NoiseSpec = text.parse().map_err(|fault| Failure::usage(format!("{text}: {fault}")))?;
    Ok(spec.load(seed)?.sources)
}

/// The medians of the three cases, in seconds.
fn medians(trials: &[Trial]) -> [f64; 3] {
    let cases: [fn(&Trial) -> Time; 3] =
        [|trial| trial.conventional.makespan, |trial| trial.redundant.makespan, |trial| trial.quiet.makespan];
    cases.map(|case| {
        let mut times: Vec<Time> = trials.iter().map(case).collect();
        quantile_in_place(&mut times, 0.5).map_or(0.0, |time| time.ps() as f64 / 1e12)
    })
}

const CASES: [(&str, Role); 3] = [
    ("conventional", Role::Simulated),
    ("redundant", Role::Simulated),
    ("no noise in communication", Role::Reference),
];

/// Three curves.
fn curves(x: &[f64], y: &[[f64; 3]]) -> Vec<Line> {
    let of = |case: usize| Line {
        name: CASES[case].0.into(),
        role: CASES[case].1,
        x: x.to_vec(),
        y: y.iter().map(|medians| medians[case]).collect(),
        low: None,
        high: None,
    };
    (0..CASES.len()).map(of).collect()
}

fn recovered(
    at: usize,
    processes: u32,
    trials: &[Trial],
    published: Option<f64>,
) -> Option<(Comparison, String)> {
    let ratio = mean_ratio(trials)?;
    let name = SETTINGS[at].2;
    let what = format!("{name}: share of the loss that is recovered");
    let comparison = Comparison::new(what, Quantity::Share, published, ratio.mean);
    let interval = match ratio.high.is_finite() {
        true => format!("[{}, {}] with 95 % confidence", significant(ratio.low), significant(ratio.high)),
        false => "of a single run, so without an interval,".into(),
    };
    let processes = grouped(processes);
    let remark =
        format!("{name}, {processes} processes: {} {interval} is recovered.", significant(ratio.mean));
    Some((comparison, remark))
}

/// Figure 8.
pub mod by_processes {
    use super::*;

    pub fn describe() -> Description {
        Description {
            figure: "Chen and Suda, Figure 8".into(),
            title: "Run time of 10 cycles of computation and a butterfly allreduce".into(),
            about: "With more processes noise costs more, and redundant exchanges recover a large part of \
                it. The paper shows curves."
                .into(),
            input: INPUT.into(),
        }
    }

    fn scales(size: Size) -> (Vec<u32>, u32) {
        match size {
            Size::Quick => ((6..=12).step_by(2).map(|power| 1 << power).collect(), 6),
            Size::Full => ((4..=20).step_by(2).map(|power| 1 << power).collect(), 10),
        }
    }

    pub fn work(size: Size) -> Work {
        let (scales, replicas) = scales(size);
        let messages = |&processes: &u32| experiment(processes, CYCLES, 0).map_or(0, |one| one.messages());
        let one: u64 = scales.iter().map(messages).sum();
        let runs = SETTINGS.len() as u64 * u64::from(replicas);
        Work { runs: runs * scales.len() as u64 * 3, messages: runs * one }
    }

    pub fn run(setting: &Setting<'_>) -> Outcome<Findings> {
        let (scales, replicas) = scales(setting.size);
        let bench = Bench::new(setting, work(setting.size))?;
        let mut findings = Findings::default();
        for (at, (_, _, name)) in SETTINGS.iter().enumerate() {
            let mut y = Vec::new();
            for (index, &processes) in scales.iter().enumerate() {
                let trials = bench.trials(processes, CYCLES, at, replicas)?;
                y.push(medians(&trials));
                if index + 1 == scales.len()
                    && let Some((comparison, remark)) = recovered(at, processes, &trials, None)
                {
                    findings.comparisons.push(comparison);
                    findings.remarks.push(remark);
                }
            }
            let x: Vec<f64> = scales.iter().map(|&processes| processes.into()).collect();
            let plot = Lines {
                x: Axis::processes(),
                y: Axis::linear("time of 10 cycles", Unit::Seconds),
                series: curves(&x, &y),
                marks: Vec::new(),
            };
            findings.section.add(Chart::new(
                format!("{name}: median time of 10 cycles"),
                &setting.command,
                plot,
            ));
        }
        Ok(findings)
    }
}

/// Figure 9.
pub mod by_cycles {
    use super::*;

    pub fn describe() -> Description {
        Description {
            figure: "Chen and Suda, Figure 9".into(),
            title: "Cost of noise by the number of cycles".into(),
            about: "The overhead grows almost linearly with the cycles, and nearly 0.4 of it is recovered. \
                The paper has 8 million processes."
                .into(),
            input: INPUT.into(),
        }
    }

    fn scale(size: Size) -> (u32, u32, Vec<u32>) {
        match size {
            Size::Quick => (1 << 11, 6, vec![1, 2, 4, 6, 8, 10]),
            Size::Full => (1 << 23, 1, (1..=10).collect()),
        }
    }

    pub fn work(size: Size) -> Work {
        let (processes, replicas, cycles) = scale(size);
        let messages = |&cycles: &u32| experiment(processes, cycles, 0).map_or(0, |one| one.messages());
        let one: u64 = cycles.iter().map(messages).sum();
        let runs = SETTINGS.len() as u64 * u64::from(replicas);
        Work { runs: runs * cycles.len() as u64 * 3, messages: runs * one }
    }

    pub fn run(setting: &Setting<'_>) -> Outcome<Findings> {
        let (processes, replicas, cycles) = scale(setting.size);
        let bench = Bench::new(setting, work(setting.size))?;
        let mut findings = Findings::default();
        for (at, (_, _, name)) in SETTINGS.iter().enumerate() {
            let mut y = Vec::new();
            let mut last = Vec::new();
            for &cycles in &cycles {
                last = bench.trials(processes, cycles, at, replicas)?;
                let [conventional, redundant, quiet] = medians(&last);
                y.push([conventional - quiet, redundant - quiet]);
            }
            let x: Vec<f64> = cycles.iter().map(|&cycles| cycles.into()).collect();
            let of = |case: usize| Line {
                name: CASES[case].0.into(),
                role: CASES[case].1,
                x: x.clone(),
                y: y.iter().map(|overheads| overheads[case]).collect(),
                low: None,
                high: None,
            };
            let plot = Lines {
                x: Axis::linear("cycles", Unit::Count),
                y: Axis::linear("time lost to noise in communication", Unit::Seconds),
                series: vec![of(0), of(1)],
                marks: Vec::new(),
            };
            let title = format!("{name}: median overhead on {processes} processes");
            findings.section.add(Chart::new(title, &setting.command, plot));
            if let Some((mut comparison, remark)) = recovered(at, processes, &last, Some(RATIO)) {
                comparison.only_up_to = (processes < 1 << 23).then_some(processes);
                findings.comparisons.push(comparison);
                findings.remarks.push(remark);
            }
        }
        Ok(findings)
    }
}
