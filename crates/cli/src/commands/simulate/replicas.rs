//! Runs all replicas: small ones side by side on one thread each, large ones one after another on all
//! threads. The numbers are the same either way.

use super::inputs::Inputs;
use crate::exit::{Failure, Outcome};
use crate::meter::Meter;
use crate::plan::simulate::Plan;
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;
use straggler_model::Time;
use straggler_model::noise::Injection;
use straggler_model::stats::median_in_place;
use straggler_sim::outcome::RunError;
use straggler_sim::{Control, Engine, Nothing, Run, Stuck};

/// Up to this many processes a run is too small to keep several threads busy.
const SMALL: u32 = 1 << 16;

/// What is kept of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Replica {
    pub replica: u32,
    pub makespan: Time,
    pub earliest: Time,
    pub median: Time,
    pub messages: u64,
    pub windows: u64,
    pub engine: Engine,
    pub no_lookahead: bool,
    pub stuck: Option<Stuck>,
    /// Of a single replica, if asked for.
    pub finish: Option<Vec<Time>>,
}

/// All replicas in order, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Replicas {
    pub runs: Vec<Replica>,
    /// Threads that took part.
    pub threads: usize,
    shown: usize,
}

/// How threads are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    OverReplicas,
    InsideEachRun,
}

impl Spread {
    fn choose(replicas: usize, processes: u32, threads: usize) -> Spread {
        if replicas > 1 && threads > 1 && processes <= SMALL {
            Spread::OverReplicas
        } else {
            Spread::InsideEachRun
        }
    }
}

impl Replicas {
    fn new(runs: Vec<Replica>, threads: usize) -> Replicas {
        let mut makespans: Vec<(Time, usize)> =
            runs.iter().enumerate().map(|(index, run)| (run.makespan, index)).collect();
        let shown = median_in_place(&mut makespans).map_or(0, |(_, index)| index);
        Replicas { runs, threads, shown }
    }

    /// The only replica, or the one with the median makespan.
    pub fn shown(&self) -> &Replica {
        &self.runs[self.shown]
    }

    /// How the first replica that could not finish got stuck; if all did, the first that left messages.
    pub fn stuck(&self) -> Option<&Stuck> {
        let all = self.runs.iter().filter_map(|run| run.stuck.as_ref());
        // Of equals, the smallest is the first.
        all.min_by_key(|stuck| stuck.unfinished == 0)
    }

    pub fn messages(&self) -> u64 {
        self.runs.iter().map(|run| run.messages).sum()
    }
}

/// What all runs have in common.
#[derive(Clone, Copy, Debug)]
pub struct Runner<'a> {
    pub plan: &'a Plan,
    pub inputs: &'a Inputs,
    pub meter: &'a Meter,
    pub stop: &'a AtomicBool,
}

impl Runner<'_> {
    /// Runs every replica of the plan.
    pub fn all(&self, keep_finish: bool) -> Outcome<Replicas> {
        let count = self.plan.replicas.len();
        self.spread(Spread::choose(count, self.inputs.workload.processes(), self.inputs.threads), keep_finish)
    }

    fn spread(&self, spread: Spread, keep_finish: bool) -> Outcome<Replicas> {
        let count = self.plan.replicas.len();
        let keep = keep_finish && count == 1;
        let (runs, threads) = match spread {
            Spread::OverReplicas => {
                let replicas = self.plan.replicas.clone().into_par_iter();
                let runs = replicas.map(|replica| self.one(replica, 1, keep).map(|(run, _)| run));
                (runs.collect::<Result<Vec<_>, _>>()?, self.inputs.threads.min(count))
            }
            Spread::InsideEachRun => {
                let runs =
                    self.plan.replicas.clone().map(|replica| self.one(replica, self.inputs.threads, keep));
                let (runs, threads): (Vec<_>, Vec<_>) =
                    runs.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
                (runs, threads.into_iter().max().unwrap_or(1))
            }
        };
        Ok(Replicas::new(runs, threads))
    }

    /// When all finish without noise.
    pub fn quiet(&self) -> Outcome<Time> {
        let run = self.run(None, self.inputs.threads)?;
        Ok(run.outcome.makespan())
    }

    /// The finish times of a replica that has run before.
    pub fn finish_times(&self, replica: u32) -> Outcome<Vec<Time>> {
        let noise = self.inputs.noise.as_ref().map(|noise| noise.of_replica(replica));
        let run = self.run(noise.as_ref(), self.inputs.threads)?;
        Ok(run.outcome.finish)
    }

    fn one(&self, replica: u32, threads: usize, keep: bool) -> Result<(Replica, usize), Failure> {
        let noise = self.inputs.noise.as_ref().map(|noise| noise.of_replica(replica));
        let run = self.run(noise.as_ref(), threads)?;
        let used = run.threads;
        Ok((Replica::of(replica, run, keep), used))
    }

    fn run(&self, noise: Option<&Injection>, threads: usize) -> Result<Run<Nothing>, RunError> {
        let simulation = self.inputs.simulation(self.plan, noise);
        let mut progress = self.meter.run();
        let mut control = Control::new(threads, self.stop, &mut progress);
        self.inputs.workload.run(&simulation, &mut control)
    }
}

impl Replica {
    fn of(replica: u32, run: Run<Nothing>, keep: bool) -> Replica {
        let mut finish = run.outcome.finish;
        let kept = keep.then(|| finish.clone());
        let earliest = finish.iter().copied().min().unwrap_or(Time::ZERO);
        let makespan = finish.iter().copied().max().unwrap_or(Time::ZERO);
        Replica {
            replica,
            makespan,
            earliest,
            median: median_in_place(&mut finish).unwrap_or(Time::ZERO),
            messages: run.outcome.messages,
            windows: run.outcome.windows,
            engine: run.engine,
            no_lookahead: run.no_lookahead,
            stuck: run.outcome.stuck,
            finish: kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::console::Console;
    use clap::Parser;

    fn replicas(line: &str, spread: Spread) -> Replicas {
        let words = ["straggler", "simulate"].into_iter().chain(line.split(' '));
        let cli = Cli::try_parse_from(words).unwrap();
        let Command::Simulate(typed) = cli.command else { panic!("not simulate") };
        let plan = Plan::new(*typed, &cli.common).unwrap_or_else(|failure| panic!("{}", failure.error));
        let inputs =
            Inputs::load(&plan, &Console::silent()).unwrap_or_else(|failure| panic!("{}", failure.error));
        let meter = Meter::new(&Console::new(&cli.common), 0);
        let stop = AtomicBool::new(false);
        let runner = Runner { plan: &plan, inputs: &inputs, meter: &meter, stop: &stop };
        runner.spread(spread, false).unwrap_or_else(|failure| panic!("{}", failure.error))
    }

    #[test]
    fn side_by_side_or_one_after_another() {
        let line = "--collective allreduce --processes 20000 --cycles 2 --compute 50us --network chic --threads 2 \
                    --replicas 6 --noise poisson:rate=1kHz,duration=exponential(mean=20us)";
        let beside = replicas(line, Spread::OverReplicas);
        let inside = replicas(line, Spread::InsideEachRun);
        assert_eq!(beside.runs, inside.runs);
        assert_eq!(beside.shown, inside.shown);
        assert!(beside.runs.iter().any(|run| run.makespan != beside.runs[0].makespan));
    }

    #[test]
    fn the_first_that_could_not_finish_is_told() {
        let line = "--collective barrier --processes 2 --network chic --replicas 4";
        let mut all = replicas(line, Spread::InsideEachRun);
        assert_eq!(all.stuck(), None);
        let stuck = |unfinished, leftover_count| Stuck { unfinished, leftover_count, ..Stuck::default() };
        all.runs[0].stuck = Some(stuck(0, 1));
        all.runs[1].stuck = Some(stuck(0, 2));
        assert_eq!(all.stuck(), Some(&stuck(0, 1)));
        all.runs[2].stuck = Some(stuck(5, 0));
        all.runs[3].stuck = Some(stuck(6, 0));
        assert_eq!(all.stuck(), Some(&stuck(5, 0)));
    }

    #[test]
    fn the_spread_follows_the_size() {
        assert_eq!(Spread::choose(10, 1000, 2), Spread::OverReplicas);
        assert_eq!(Spread::choose(10, 1_000_000, 2), Spread::InsideEachRun);
        assert_eq!(Spread::choose(1, 1000, 2), Spread::InsideEachRun);
    }
}
