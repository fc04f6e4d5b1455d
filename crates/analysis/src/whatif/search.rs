//! Selects the hypotheses worth trying on any run, and those that need no simulation.
//!
//! Faster computation off the critical path gains nothing. So the time on the path bounds the gain from faster or
//! better balanced computation, as long as decisions stay the same, and hypotheses with a negligible bound are
//! skipped.
//!
//! Fixing one of two slow ranks may gain nothing, because the other is still slow. So slow ranks are also fixed together:
//! first the one that limits the run most, then, on the path of the run without it, the next.

use super::calls::{Deletion, is_deletable};
use super::computation::Gaps;
use super::hypothesis::{Difference, Shares};
use super::nonblocking::{Overlap, When, is_send, twin};
use super::place::Where;
use super::regions::{self, Presence};
use super::steps::Variation;
use crate::waits::CriticalPath;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use straggler_model::stats::robust::RANK;
use straggler_model::{Rank, Time};
use straggler_trace::{Function, RankTrace, Trace};

/// A hypothesis to try.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Candidate {
    pub differences: Vec<Difference>,
    /// Whether it shows what a faster part would gain: nothing says that it can be faster. Other hypotheses remove
    /// something: a difference between comparable ranks, noise, a wait.
    pub is_hypothetical: bool,
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
    pub slow: SlowRanks,
}

/// Gains below this share of the run are not worth a simulation.
const WORTH: f64 = 1e-3;
/// If ranks are slow in turn for this share of the run, balancing each step is worth a simulation.
const UNEVEN: f64 = 0.01;
/// A rank that computes less than this share of the mean has another task, and is not comparable.
const COMPARABLE: f64 = 0.5;
/// The most slow ranks fixed together.
pub const MOST_TOGETHER: usize = 8;
/// The most slow ranks tried individually.
const MOST_RANKS: usize = 16;

impl Search {
    /// `run` is the simulated trace, `end` its end, and `path` its critical path.
    pub fn new(trace: &Trace, run: &Trace, end: Time, path: &CriticalPath) -> Search {
        let mut search = Search::default();
        let bounds = Bounds::new(run, end, path);
        for region in regions::names(trace).into_keys() {
            let place = Where { region: Some(region), ..Where::default() };
            let on_path = bounds.at(&place);
            search.try_faster(Difference::Scale { place: place.clone(), factor: 0.5 }, on_path / 2.0);
            search.try_if(Difference::Balance { place, shares: Shares::Equal }, on_path);
        }
        let all = Where::default();
        let computation = bounds.at(&all);
        search.try_if(Difference::Balance { place: all.clone(), shares: Shares::Equal }, computation);
        let in_turn = Variation::new(trace).map_or(0.0, |found| found.by_step - found.overall);
        let varies = in_turn >= UNEVEN * end.seconds();
        if varies {
            let shares = Shares::EqualInEachStep;
            search.try_if(Difference::Balance { place: all.clone(), shares }, computation);
        }
        search.slow_ranks(trace, &bounds);
        let mut quiet = Gaps::new(trace);
        if quiet.quieten(trace, &all).is_ok() {
            // Work that varies looks like noise, too.
            let quiet = Difference::Quieten { place: all.clone() };
            if varies { search.try_faster(quiet, computation) } else { search.try_if(quiet, computation) }
        }
        search.calls(trace);
        search.candidates.push(Candidate { ideal_network: true, ..Candidate::default() });
        search
    }

    fn try_if(&mut self, difference: Difference, bound: f64) {
        if bound < WORTH {
            self.skipped.push(Skipped { difference, bound });
        } else {
            self.candidates.push(Candidate { differences: vec![difference], ..Candidate::default() });
        }
    }

    fn try_faster(&mut self, difference: Difference, bound: f64) {
        let before = self.candidates.len();
        self.try_if(difference, bound);
        self.candidates[before..].iter_mut().for_each(|candidate| candidate.is_hypothetical = true);
    }

    /// Slow ranks and hosts, made as fast as the fastest comparable rank. The rank with the largest bound is left out:
    /// fixing it is the first step of fixing several together.
    fn slow_ranks(&mut self, trace: &Trace, bounds: &Bounds<'_>) {
        self.slow = SlowRanks::new(trace);
        let on_path = bounds.by_rank();
        let bound = |slow: &Slow| on_path.get(slow.rank as usize).map_or(0.0, |on| on * (1.0 - slow.factor));
        let mut slow = self.slow.ranks.clone();
        slow.sort_by(|a, b| bound(b).total_cmp(&bound(a)));
        let first = slow.first().map_or(0, |first| usize::from(bound(first) >= WORTH));
        for slow in slow.iter().skip(first).take(MOST_RANKS) {
            self.try_if(slow.fixed(), bound(slow));
        }
        for ranks in slow_hosts(trace, &self.slow) {
            let mean =
                ranks.iter().map(|&rank| self.slow.own[rank as usize]).sum::<f64>() / ranks.len() as f64;
            let factor = rounded(self.slow.reference / mean);
            let bound =
                ranks.iter().filter_map(|&rank| on_path.get(rank as usize)).sum::<f64>() * (1.0 - factor);
            self.try_if(
                Difference::Scale { place: Where { ranks: Some(ranks), ..Where::default() }, factor },
                bound,
            );
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
                self.try_if(Difference::Overlap(Overlap { function, when: When::Earlier(None) }), 1.0);
                if !is_send(function) {
                    self.try_if(Difference::Overlap(Overlap { function, when: When::CompletedLater }), 1.0);
                }
            }
        }
    }
}

fn rounded(factor: f64) -> f64 {
    (factor * 1000.0).round() / 1000.0
}

/// A slow rank, and the factor that makes it as fast as the reference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slow {
    pub rank: Rank,
    pub factor: f64,
}

impl Slow {
    fn fixed(&self) -> Difference {
        let place = Where { ranks: Some([self.rank].into()), ..Where::default() };
        Difference::Scale { place, factor: self.factor }
    }
}

/// The slow ranks of a trace.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SlowRanks {
    pub ranks: Vec<Slow>,
    /// The computation of every rank, and of the fastest comparable one, in seconds.
    own: Vec<f64>,
    reference: f64,
}

impl SlowRanks {
    fn new(trace: &Trace) -> SlowRanks {
        let gaps = Gaps::new(trace);
        let own: Vec<f64> = (0..trace.ranks.len()).map(|rank| gaps.total(rank).seconds()).collect();
        let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
        let comparable = own.iter().copied().filter(|&time| time > 0.0 && time >= COMPARABLE * mean);
        let reference = comparable.fold(f64::INFINITY, f64::min);
        let slow = (0..).zip(&own).filter(|&(_, &time)| time > RANK.factor() * reference);
        let ranks = slow.map(|(rank, &time)| Slow { rank, factor: rounded(reference / time) }).collect();
        SlowRanks { ranks, own, reference }
    }

    /// The slow rank that limits a run most in which those before it are fixed; none if it gains nothing, or if enough
    /// are fixed. `run` is the simulated trace, `end` its end, and `path` its critical path.
    pub fn next(&self, fixed: &[Slow], run: &Trace, end: Time, path: &CriticalPath) -> Option<Slow> {
        let left = self.ranks.iter().filter(|slow| fixed.iter().all(|other| other.rank != slow.rank));
        let mut left = left.filter(|_| fixed.len() < MOST_TOGETHER).peekable();
        left.peek()?;
        let on_path = Bounds::new(run, end, path).by_rank();
        let bound = |slow: &Slow| on_path.get(slow.rank as usize).map_or(0.0, |on| on * (1.0 - slow.factor));
        let next = left.max_by(|a, b| bound(a).total_cmp(&bound(b)).then(b.rank.cmp(&a.rank)))?;
        (bound(next) >= WORTH).then_some(*next)
    }

    /// The hypothesis that all of these are fixed.
    pub fn together(fixed: &[Slow]) -> Candidate {
        Candidate { differences: fixed.iter().map(Slow::fixed).collect(), ..Candidate::default() }
    }
}

/// Hosts whose ranks are slow on average, if there are several hosts and the host has several ranks.
fn slow_hosts(trace: &Trace, slow: &SlowRanks) -> Vec<BTreeSet<Rank>> {
    let mut hosts: BTreeMap<&str, BTreeSet<Rank>> = BTreeMap::new();
    for (rank, traced) in (0..).zip(&trace.ranks) {
        hosts.entry(&traced.host).or_default().insert(rank);
    }
    let several = hosts.len() > 1;
    let is_slow = |ranks: &BTreeSet<Rank>| {
        let mean = ranks.iter().map(|&rank| slow.own[rank as usize]).sum::<f64>() / ranks.len() as f64;
        several && ranks.len() > 1 && mean > RANK.factor() * slow.reference
    };
    let mut slow: Vec<BTreeSet<Rank>> = hosts.into_values().filter(is_slow).collect();
    slow.truncate(MOST_RANKS);
    slow
}

/// Computation on the critical path, as shares of the run.
struct Bounds<'a> {
    run: &'a Trace,
    /// The stretches of the path on each rank, in order of time.
    stretches: Vec<Vec<(Time, Time)>>,
    length: Time,
}

impl<'a> Bounds<'a> {
    fn new(run: &'a Trace, length: Time, path: &CriticalPath) -> Bounds<'a> {
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
        self.by_rank_at(place).sum()
    }

    /// All computation on the path, by rank.
    fn by_rank(&self) -> Vec<f64> {
        self.by_rank_at(&Where::default()).collect()
    }

    fn by_rank_at(&self, place: &Where) -> impl Iterator<Item = f64> {
        let ranks = (0..).zip(&self.run.ranks).zip(&self.stretches);
        let whole = self.length.seconds().max(Time(1).seconds());
        ranks.map(move |((rank, traced), own)| {
            computed_on(traced, own, &place.chosen(rank, traced)).seconds() / whole
        })
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
