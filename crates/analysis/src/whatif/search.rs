//! Selects the hypotheses worth trying on any run, and those that need no simulation.
//!
//! Faster computation off the critical path gains nothing. So the time on the path bounds the gain from faster or
//! better balanced computation, as long as decisions stay the same, and hypotheses with a negligible bound are
//! skipped.

use super::Difference;
use super::calls::{Deletion, is_deletable};
use super::computation::Gaps;
use super::nonblocking::{Overlap, twin};
use super::place::Where;
use super::regions::{self, Presence};
use crate::waits::CriticalPath;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use straggler_model::{Rank, Time};
use straggler_trace::{Function, RankTrace, Trace};

/// A hypothesis to try.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    pub differences: Vec<Difference>,
    /// Whether to use an ideal network, on which messages take no time.
    pub ideal_network: bool,
}

/// A hypothesis not worth trying.
#[derive(Clone, PartialEq, Debug)]
pub struct Skipped {
    pub difference: Difference,
    /// The largest possible gain, as a share of the run.
    pub bound: f64,
}

/// The hypotheses to try, and those skipped.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Search {
    pub candidates: Vec<Candidate>,
    pub skipped: Vec<Skipped>,
}

/// Gains below this share of the run are not worth a simulation.
const WORTH: f64 = 1e-3;
/// A rank is slow if it computes this many times as long as the median.
const SLOW: f64 = 1.05;
/// The most slow ranks tried individually.
const MOST_RANKS: usize = 16;

impl Search {
    /// `run` is the simulated trace, `end` its end, and `path` its critical path.
    pub fn of(trace: &Trace, run: &Trace, end: Time, path: &CriticalPath) -> Search {
        let mut search = Search::default();
        let bounds = Bounds::of(run, end, path);
        for region in regions::names(trace).into_keys() {
            let place = Where { region: Some(region), ..Where::default() };
            let on_path = bounds.at(&place);
            search.try_if(Difference::Scale { place: place.clone(), factor: 0.5 }, on_path / 2.0);
            search.try_if(Difference::Balance { place, weights: None }, on_path);
        }
        let all = Where::default();
        let computation = bounds.at(&all);
        search.try_if(Difference::Balance { place: all.clone(), weights: None }, computation);
        search.slow_ranks(trace, &bounds);
        let mut quiet = Gaps::of(trace);
        if quiet.quieten(trace, &all).is_ok() {
            search.try_if(Difference::Quieten { place: all.clone() }, computation);
        }
        search.calls(trace);
        search.candidates.push(Candidate { differences: Vec::new(), ideal_network: true });
        search
    }

    fn try_if(&mut self, difference: Difference, bound: f64) {
        if bound < WORTH {
            self.skipped.push(Skipped { difference, bound });
        } else {
            self.candidates.push(Candidate { differences: vec![difference], ideal_network: false });
        }
    }

    /// Slow ranks and hosts, made as fast as the median.
    fn slow_ranks(&mut self, trace: &Trace, bounds: &Bounds<'_>) {
        let gaps = Gaps::of(trace);
        let own: Vec<f64> = (0..trace.ranks.len()).map(|rank| gaps.total(rank).seconds()).collect();
        let mut sorted = own.clone();
        sorted.sort_by(f64::total_cmp);
        let Some(&median) = sorted.get(sorted.len() / 2).filter(|&&median| median > 0.0) else { return };
        let mut slow: Vec<Rank> =
            (0..).zip(&own).filter(|&(_, &time)| time > SLOW * median).map(|(rank, _)| rank).collect();
        slow.sort_by(|&a, &b| own[b as usize].total_cmp(&own[a as usize]));
        let mut groups: Vec<BTreeSet<Rank>> =
            slow.iter().take(MOST_RANKS).map(|&rank| [rank].into()).collect();
        groups.extend(slow_hosts(trace, &own, median));
        for ranks in groups {
            let mean = ranks.iter().map(|&rank| own[rank as usize]).sum::<f64>() / ranks.len() as f64;
            let factor = ((median / mean) * 1000.0).round() / 1000.0;
            let place = Where { ranks: Some(ranks), ..Where::default() };
            let bound = bounds.at(&place) * (1.0 - factor);
            self.try_if(Difference::Scale { place, factor }, bound);
        }
    }

    /// Collectives removed or started early. The path does not bound their gain, because it changes with them.
    fn calls(&mut self, trace: &Trace) {
        let functions = trace.ranks.iter().flat_map(|rank| &rank.calls).map(|call| call.function);
        let functions: BTreeSet<Function> = functions.collect();
        for function in functions {
            let place = Where::default();
            if function == Function::Barrier && is_deletable(function) {
                self.try_if(Difference::Delete(Deletion { function, place }), 1.0);
            } else if twin(function).is_some() {
                self.try_if(Difference::Overlap(Overlap { function, earlier: None }), 1.0);
            }
        }
    }
}

/// Hosts whose ranks are slow on average, if there are several hosts and the host has several ranks.
fn slow_hosts(trace: &Trace, own: &[f64], median: f64) -> Vec<BTreeSet<Rank>> {
    let mut hosts: BTreeMap<&str, BTreeSet<Rank>> = BTreeMap::new();
    for (rank, traced) in (0..).zip(&trace.ranks) {
        hosts.entry(&traced.host).or_default().insert(rank);
    }
    let several = hosts.len() > 1;
    let is_slow = |ranks: &BTreeSet<Rank>| {
        let mean = ranks.iter().map(|&rank| own[rank as usize]).sum::<f64>() / ranks.len() as f64;
        several && ranks.len() > 1 && mean > SLOW * median
    };
    hosts.into_values().filter(is_slow).collect()
}

/// Computation on the critical path, as shares of the run.
struct Bounds<'a> {
    run: &'a Trace,
    /// The stretches of the path on each rank, in order of time.
    stretches: Vec<Vec<(Time, Time)>>,
    length: Time,
}

impl<'a> Bounds<'a> {
    fn of(run: &'a Trace, length: Time, path: &CriticalPath) -> Bounds<'a> {
        let mut stretches = vec![Vec::new(); run.ranks.len()];
        for stretch in &path.stretches {
            if let Some(own) = stretches.get_mut(stretch.rank as usize) {
                own.push((stretch.start, stretch.end));
            }
        }
        stretches.iter_mut().for_each(|own| own.sort_unstable());
        Bounds { run, stretches, length }
    }

    /// The computation on the path at a place.
    fn at(&self, place: &Where) -> f64 {
        let ranks = (0..).zip(&self.run.ranks).zip(&self.stretches);
        let times = ranks.map(|((rank, traced), own)| computed_on(traced, own, &place.chosen(rank, traced)));
        times.map(Time::seconds).sum::<f64>() / self.length.seconds().max(Time(1).seconds())
    }
}

/// The selected computation of a rank while the path is on it.
fn computed_on(traced: &RankTrace, stretches: &[(Time, Time)], chosen: &Presence) -> Time {
    let mut last: HashMap<u16, Time> = HashMap::new();
    let mut sum = Time::ZERO;
    for (call, chosen) in traced.calls.iter().zip(chosen) {
        let since = last.insert(call.thread, call.exit).unwrap_or(call.enter);
        if chosen.is_none() || since >= call.enter {
            continue;
        }
        let first = stretches.partition_point(|&(_, end)| end <= since);
        for &(start, end) in stretches[first..].iter().take_while(|&&(start, _)| start < call.enter) {
            sum += end.min(call.enter).since(start.max(since));
        }
    }
    sum
}
