//! Runs all replicas and keeps what the answer needs.

use crate::kernel::prelude::*;
use crate::mpi::cluster::{self, Share};
use crate::{simulate::inputs::Inputs, simulate::plan::Plan};
use straggler_model::stats::median_in_place;
use straggler_sim::{
    Accelerator, Engine, Fabric, Run, Simulation, Stuck, Workload, cluster::Cluster, ports::LinkLoads,
};

/// The stored result of one run.
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
    /// Finish times, if requested, of a single replica or the shown one of a GPU run; on a cluster,
    /// those of this member.
    pub finish: Option<Share>,
    /// What the ports of shared links have done, if that was measured; on a cluster those of all members.
    pub loads: LinkLoads,
}

/// All replicas in order, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Replicas {
    pub runs: Vec<Replica>,
    /// Threads that were used.
    pub threads: usize,
    shown: usize,
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

    /// How the first unfinished replica got stuck; if all finished, the first that left messages unreceived.
    pub fn stuck(&self) -> Option<&Stuck> {
        let all = self.runs.iter().filter_map(|run| run.stuck.as_ref());
        // `min_by_key` returns the first of equal elements.
        all.min_by_key(|stuck| stuck.unfinished == 0)
    }

    pub fn messages(&self) -> u64 {
        self.runs.iter().map(|run| run.messages).sum()
    }
}

/// Runs with more messages are not repeated without waiting for links.
const MOST_AGAIN: u64 = 10_000_000;

/// Settings shared by all runs.
#[derive(Debug)]
pub struct ReplicaRunner<'a> {
    pub plan: &'a Plan,
    pub workload: &'a Workload,
    pub replicas: straggler_sim::Replicas<'a>,
}

impl<'a> ReplicaRunner<'a> {
    pub fn new(
        plan: &'a Plan,
        inputs: &'a Inputs,
        cluster: Option<&'a dyn Cluster>,
        accelerator: Option<&'a dyn Accelerator>,
        advance: &'a (dyn Fn(u64) + Sync),
    ) -> ReplicaRunner<'a> {
        let (simulation, threads) = (inputs.simulation(plan), inputs.threads);
        let stop = interrupt::flag();
        let checkpoints = None;
        let replicas =
            straggler_sim::Replicas { simulation, threads, accelerator, cluster, checkpoints, stop, advance };
        ReplicaRunner { plan, workload: &inputs.workload.workload, replicas }
    }

    /// Runs every replica of the plan.
    pub fn all(&self, keep_finish: bool) -> Outcome<Replicas> {
        let replicas = self.plan.replicas.clone();
        let count = replicas.len();
        let measured = self.replicas.simulation.fabric.is_some_and(|fabric| fabric.measured);
        let of_run = |replica, run: Run| {
            let threads = run.threads;
            let keep = keep_finish && count == 1;
            Ok((Replica::new(replica, run, keep, self.replicas.cluster, measured)?, threads))
        };
        // A GPU does not return the finish times of all replicas: only those of one are read.
        let brief = self.replicas.accelerator.is_some() && count > 1;
        let runs = match brief {
            true => self.replicas.each_makespan(self.workload, replicas, of_run)?,
            false => self.replicas.each(self.workload, replicas, of_run)?,
        };
        let (runs, threads): (Vec<_>, Vec<_>) =
            runs.into_iter().collect::<Outcome<Vec<_>>>()?.into_iter().unzip();
        let on_cpu = runs.iter().filter(|run: &&Replica| run.engine != Engine::Gpu).count();
        let beside = self.replicas.side_by_side(self.workload.processes(), on_cpu);
        let mut all = Replicas::new(runs, threads.into_iter().max().unwrap_or(1).max(beside));
        if all.shown().engine == Engine::Gpu && brief {
            let (shown, one) = (all.shown, all.shown().replica);
            if let Some(whole) = self.replicas.whole(self.workload, one)? {
                all.runs[shown] = Replica::new(one, whole, keep_finish, self.replicas.cluster, measured)?;
            }
        }
        Ok(all)
    }

    /// The makespan without noise.
    pub fn quiet(&self) -> Outcome<Time> {
        Ok(self.replicas.quiet(self.workload)?.outcome.makespan())
    }

    /// The makespan of the shown replica, had nothing waited for shared links. None if that takes long.
    pub fn without_waiting(&self, all: &Replicas) -> Outcome<Option<Time>> {
        let runner = &self.replicas;
        let Some(fabric) = runner.simulation.fabric.filter(|_| runner.cluster.is_none()) else {
            return Ok(None);
        };
        let shown = all.shown();
        if shown.messages > MOST_AGAIN || shown.stuck.is_some() {
            return Ok(None);
        }
        let mut fabric: Fabric = fabric.clone();
        (fabric.waits, fabric.measured) = (false, false);
        let simulation = Simulation { fabric: Some(&fabric), ..runner.simulation.clone() };
        let again =
            straggler_sim::Replicas { simulation, checkpoints: None, advance: &|_| (), ..runner.clone() };
        Ok(Some(again.one(self.workload, shown.replica)?.outcome.makespan()))
    }

    /// The finish times of a replica, which is run again.
    pub fn finish_times(&self, replica: u32) -> Outcome<Share> {
        let outcome = self.replicas.one(self.workload, replica)?.outcome;
        Ok(Share { ranks: outcome.ranks, finish: outcome.finish })
    }
}

impl Replica {
    fn new(
        replica: u32,
        run: Run,
        keep: bool,
        cluster: Option<&dyn Cluster>,
        measured: bool,
    ) -> Outcome<Replica> {
        let makespan = run.outcome.makespan();
        let straggler_sim::Outcome { mut finish, ranks, messages, windows, stuck, loads, .. } = run.outcome;
        let loads = match cluster {
            Some(cluster) if measured => cluster::gathered(cluster, &loads)?.concat(),
            _ => loads,
        };
        let kept = keep.then(|| Share { ranks, finish: finish.clone() });
        let (earliest, median) = match cluster {
            Some(cluster) => cluster::earliest_and_median(&finish, cluster)?,
            None => {
                let earliest = finish.iter().copied().min().unwrap_or(Time::ZERO);
                (earliest, median_in_place(&mut finish).unwrap_or(Time::ZERO))
            }
        };
        Ok(Replica {
            replica,
            makespan,
            earliest,
            median,
            messages,
            windows,
            engine: run.engine,
            no_lookahead: run.no_lookahead,
            stuck,
            finish: kept,
            loads,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::kernel::Console;
    use clap::Parser;

    fn replicas(line: &str) -> Replicas {
        let words = ["straggler", "simulate"].into_iter().chain(line.split(' '));
        let cli = Cli::try_parse_from(words).unwrap();
        let Command::Simulate(typed) = cli.command else { panic!("not simulate") };
        let plan = Plan::new(*typed, &cli.common).unwrap_or_else(|failure| panic!("{}", failure.error));
        let inputs = Inputs::load(&plan, &Console::silent(), None)
            .unwrap_or_else(|failure| panic!("{}", failure.error));
        let runner = ReplicaRunner::new(&plan, &inputs, None, None, &|_| ());
        runner.all(false).unwrap_or_else(|failure| panic!("{}", failure.error))
    }

    #[test]
    fn side_by_side_or_one_after_another() {
        let line = "--collective allreduce --processes 20000 --cycles 2 --compute 50us --network chic \
                    --replicas 6 --noise poisson:rate=1kHz,duration=exponential(mean=20us) --threads";
        let beside = replicas(&format!("{line} 2"));
        let alone = replicas(&format!("{line} 1"));
        assert_eq!((beside.threads, alone.threads), (2, 1));
        assert_eq!(beside.runs, alone.runs);
        assert_eq!(beside.shown, alone.shown);
        assert!(beside.runs.iter().any(|run| run.makespan != beside.runs[0].makespan));
    }

    #[test]
    fn the_first_that_could_not_finish_is_told() {
        let line = "--collective barrier --processes 2 --network chic --replicas 4";
        let mut all = replicas(line);
        assert_eq!(all.stuck(), None);
        let stuck = |unfinished, leftover_count| Stuck { unfinished, leftover_count, ..Stuck::default() };
        all.runs[0].stuck = Some(stuck(0, 1));
        all.runs[1].stuck = Some(stuck(0, 2));
        assert_eq!(all.stuck(), Some(&stuck(0, 1)));
        all.runs[2].stuck = Some(stuck(5, 0));
        all.runs[3].stuck = Some(stuck(6, 0));
        assert_eq!(all.stuck(), Some(&stuck(5, 0)));
    }
}
