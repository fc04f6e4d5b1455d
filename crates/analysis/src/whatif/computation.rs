//! Changes computation: scales it, balances it across ranks, or removes the noise that shows in it.
//!
//! Computation is the time between calls. Changed computation changes only these times: calls keep their lengths,
//! which a replay ignores.

use super::error::WhatIfError;
use super::hypothesis::Shares;
use super::place::{Where, begin, gaps, part};
use super::polls::{Polls, polls};
use super::regions::{self, Presence};
use super::steps::Steps;
use std::collections::HashMap;
use straggler_model::Time;
use straggler_trace::{Function, RankTrace, Trace};

/// The times between calls of a whole trace, by rank and call: the time before each call, on its thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gaps(Vec<Vec<Time>>);

impl Gaps {
    pub fn new(trace: &Trace) -> Gaps {
        let times = |traced| gaps(traced).into_iter().map(|gap| gap.time).collect();
        Gaps(trace.ranks.iter().map(times).collect())
    }

    /// The total computation of a rank.
    pub fn total(&self, rank: usize) -> Time {
        self.0.get(rank).map_or(Time::ZERO, |gaps| gaps.iter().fold(Time::ZERO, |sum, &gap| sum + gap))
    }

    /// The time before each call of a rank.
    pub(super) fn of_rank(&self, rank: usize) -> &[Time] {
        self.0.get(rank).map_or(&[], Vec::as_slice)
    }

    /// Multiplies computation at a place. If only a part of it lies in the range of times, only that part is
    /// multiplied.
    pub fn scale(&mut self, trace: &Trace, place: &Where, factor: f64) -> Result<(), WhatIfError> {
        let mut matched = false;
        for ((rank, traced), own) in (0..).zip(&trace.ranks).zip(&mut self.0) {
            let chosen = place.chosen(rank, traced).into_iter();
            let was = gaps(traced);
            for ((gap, was), _) in own.iter_mut().zip(was).zip(chosen).filter(|(_, chosen)| chosen.is_some())
            {
                let inside = place.part_of(&was);
                matched |= inside > Time::ZERO;
                // Earlier changes may have scaled the whole computation, so take the same share of what is left.
                let inside = part(*gap, inside, was.time);
                *gap = gap.since(inside) + scaled(inside, factor);
            }
        }
        found(place, matched, trace)
    }

    /// Distributes computation at a place over the ranks. Entries of a region are balanced one by one if all ranks have
    /// equally many, otherwise together. Returns which.
    pub fn balance(
        &mut self,
        trace: &Trace,
        place: &Where,
        shares: &Shares,
    ) -> Result<Balanced, WhatIfError> {
        let processes = trace.ranks.len();
        if let Shares::Weights(weights) = shares
            && (weights.len() != processes || weights.iter().sum::<f64>() <= 0.0)
        {
            return Err(WhatIfError::Weights { given: weights.len(), ranks: processes });
        }
        let mut chosen: Vec<Presence> =
            (0..).zip(&trace.ranks).map(|(rank, traced)| place.chosen(rank, traced)).collect();
        let counts: Vec<u32> = chosen.iter().map(entries).filter(|&count| count > 0).collect();
        found(place, !counts.is_empty(), trace)?;
        let balanced = if *shares == Shares::EqualInEachStep {
            let steps = Steps::new(trace).ok_or(WhatIfError::NoSteps)?;
            chosen = chosen.iter().enumerate().map(|(rank, chosen)| steps.entries(rank, chosen)).collect();
            Balanced::Each
        } else if counts.windows(2).all(|pair| pair[0] == pair[1]) {
            Balanced::Each
        } else {
            chosen.iter_mut().flatten().for_each(|entry| *entry = entry.map(|_| 0));
            Balanced::Together
        };
        let weights = match shares {
            Shares::Weights(weights) => weights.clone(),
            _ => vec![1.0; processes],
        };
        self.even_out(&chosen, &weights);
        Ok(balanced)
    }

    fn even_out(&mut self, chosen: &[Presence], weights: &[f64]) {
        let entries = chosen.iter().map(entries).max().unwrap_or(0) as usize;
        // The computation of each rank in each entry; none if it has no such entry.
        let mut sums: Vec<Vec<Option<Time>>> = vec![vec![None; entries]; chosen.len()];
        for ((sums, chosen), gaps) in sums.iter_mut().zip(chosen).zip(&self.0) {
            for (entry, &gap) in chosen.iter().zip(gaps) {
                if let Some(entry) = entry {
                    *sums[*entry as usize].get_or_insert(Time::ZERO) += gap;
                }
            }
        }
        let mut wanted = sums.clone();
        for entry in 0..entries {
            let total: f64 = sums.iter().filter_map(|sums| sums[entry]).map(|time| time.ps() as f64).sum();
            let members = sums.iter().zip(weights).filter(|(sums, _)| sums[entry].is_some());
            let weight: f64 = members.map(|(_, weight)| weight).sum();
            for (wanted, own) in wanted.iter_mut().zip(weights) {
                if let Some(wanted) = wanted[entry].as_mut().filter(|_| weight > 0.0) {
                    *wanted = Time((total * own / weight).round() as u64);
                }
            }
        }
        self.set_sums(chosen, &sums, &wanted);
    }

    /// Scales the times of each entry so that they add up to the wanted sums.
    fn set_sums(&mut self, chosen: &[Presence], sums: &[Vec<Option<Time>>], wanted: &[Vec<Option<Time>>]) {
        for (((gaps, chosen), sums), wanted) in self.0.iter_mut().zip(chosen).zip(sums).zip(wanted) {
            let mut passed: Vec<(Time, Time)> = vec![(Time::ZERO, Time::ZERO); sums.len()];
            let last = last_of_entries(chosen, sums.len());
            for (number, (gap, entry)) in gaps.iter_mut().zip(chosen).enumerate() {
                let Some(entry) = entry.map(|entry| entry as usize) else { continue };
                let (Some(sum), Some(wanted)) = (sums[entry], wanted[entry]) else { continue };
                let (old, new) = &mut passed[entry];
                *old += *gap;
                let up_to_here = if last[entry] == Some(number) { wanted } else { part(wanted, *old, sum) };
                *gap = up_to_here.since(*new);
                *new = up_to_here;
            }
        }
    }

    /// Removes the noise that shows in the trace. The fastest tenth of a rank's entries of a region shows its cost;
    /// slower entries are reduced to that. Without a region, the same is done for computation between calls of the
    /// same kind.
    pub fn quieten(&mut self, trace: &Trace, place: &Where) -> Result<(), WhatIfError> {
        let mut matched = false;
        for ((rank, traced), gaps) in (0..).zip(&trace.ranks).zip(&mut self.0) {
            let chosen = place.chosen(rank, traced);
            let groups = if place.region.is_some() { by_entry(&chosen) } else { by_kind(traced, &chosen) };
            for group in groups {
                if place.region.is_some() || is_one_thing(gaps, &group) {
                    matched |= group.len() >= REPEATED;
                    bring_down(gaps, &group);
                }
            }
        }
        match found(place, matched, trace) {
            Err(WhatIfError::NothingThere { place, .. }) => {
                Err(WhatIfError::NotRepeated { place, least: REPEATED })
            }
            other => other,
        }
    }

    /// The trace with these times between its calls.
    pub fn apply(&self, mut trace: Trace) -> Trace {
        for (rank, gaps) in trace.ranks.iter_mut().zip(&self.0) {
            retime(rank, gaps);
        }
        trace
    }
}

/// How a region was balanced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Balanced {
    /// Every entry separately.
    Each,
    /// All entries together, because ranks enter it a different number of times.
    Together,
}

/// The fewest repetitions from which noise can be told.
const REPEATED: usize = 10;
/// For repeated equal work, the fastest tenth takes at least this share of the median.
const ALIKE: f64 = 0.8;

/// An error if nothing was found at a place.
fn found(place: &Where, matched: bool, trace: &Trace) -> Result<(), WhatIfError> {
    if matched {
        return Ok(());
    }
    let known = regions::names(trace);
    match &place.region {
        Some(name) if !known.contains_key(name) => {
            Err(WhatIfError::NoRegion { name: name.clone(), known: known.into_keys().collect() })
        }
        _ => Err(WhatIfError::NothingThere { place: place.clone(), end: trace.length() }),
    }
}

fn entries(chosen: &Presence) -> u32 {
    chosen.iter().flatten().max().map_or(0, |last| last + 1)
}

fn last_of_entries(chosen: &Presence, entries: usize) -> Vec<Option<usize>> {
    let mut last = vec![None; entries];
    for (number, entry) in chosen.iter().enumerate() {
        if let Some(entry) = entry {
            last[*entry as usize] = Some(number);
        }
    }
    last
}

fn scaled(time: Time, factor: f64) -> Time {
    Time((time.ps() as f64 * factor).round().clamp(0.0, u64::MAX as f64) as u64)
}

/// Indices of calls, grouped by entry.
fn by_entry(chosen: &Presence) -> Vec<Vec<Vec<usize>>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new(); entries(chosen) as usize];
    for (number, entry) in chosen.iter().enumerate() {
        if let Some(entry) = entry {
            all[*entry as usize].push(number);
        }
    }
    vec![all]
}

/// Groups computation between calls of the same functions with the same amount of data.
fn by_kind(traced: &RankTrace, chosen: &Presence) -> Vec<Vec<Vec<usize>>> {
    // Marks of different regions are different kinds of calls.
    type Named<'a> = (Function, Option<&'a str>);
    type Kind<'a> = (Option<Named<'a>>, Named<'a>, u64, u64);
    let mut last: HashMap<u16, Named<'_>> = HashMap::new();
    let mut kinds: HashMap<Kind<'_>, usize> = HashMap::new();
    let mut groups: Vec<Vec<Vec<usize>>> = Vec::new();
    for (number, (call, chosen)) in traced.calls.iter().zip(chosen).enumerate() {
        let named = (call.function, traced.details(call).and_then(|details| details.text.as_deref()));
        let kind = (last.insert(call.thread, named), named, call.sent, call.received);
        if chosen.is_some() {
            let place = *kinds.entry(kind).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[place].push(vec![number]);
        }
    }
    groups
}

/// Whether the computation between calls of the same kind is always the same work: if its fastest tenth takes much
/// less than the median, some of it is different.
fn is_one_thing(gaps: &[Time], group: &[Vec<usize>]) -> bool {
    let mut times: Vec<Time> = group.iter().flatten().map(|&number| gaps[number]).collect();
    times.sort_unstable();
    let (fastest, median) =
        (times.get(times.len().div_ceil(10).saturating_sub(1)), times.get(times.len() / 2));
    match (fastest, median) {
        (Some(fastest), Some(median)) => fastest.ps() as f64 >= ALIKE * median.ps() as f64,
        _ => false,
    }
}

/// Reduces the sums of a group to the largest of its fastest tenth.
fn bring_down(gaps: &mut [Time], group: &[Vec<usize>]) {
    if group.len() < REPEATED {
        return;
    }
    let sum = |gaps: &[Time], one: &[usize]| one.iter().fold(Time::ZERO, |sum, &number| sum + gaps[number]);
    let mut sums: Vec<Time> = group.iter().map(|one| sum(gaps, one)).collect();
    sums.sort_unstable();
    let cost = sums[group.len().div_ceil(10) - 1];
    for one in group {
        let own = sum(gaps, one);
        if own > cost {
            let (mut old, mut new) = (Time::ZERO, Time::ZERO);
            for &number in one {
                old += gaps[number];
                let up_to_here = part(cost, old, own);
                gaps[number] = up_to_here.since(new);
                new = up_to_here;
            }
        }
    }
}

fn retime(rank: &mut RankTrace, gaps: &[Time]) {
    // The position of each thread, in the trace and in the changed run.
    let mut threads: HashMap<u16, (Time, Time)> = HashMap::new();
    let first = begin(rank);
    // The start of each thread's last call, in the trace and in the changed run.
    let mut last_of: HashMap<u16, (Time, Time)> = HashMap::new();
    let polls = polls(rank);
    // The current polls of each thread, with their start and length in the changed run.
    let mut polling: HashMap<u16, (Polls, Time, Time)> = HashMap::new();
    for (number, (call, &gap)) in rank.calls.iter_mut().zip(gaps).enumerate() {
        let (old, new) = threads.entry(call.thread).or_insert((first, first));
        if call.exit <= first {
            continue;
        }
        if let Some(polls) = polls.get(&number) {
            let (before, computed) = (call.enter.since(*old), polls.computed());
            let between = part(gap, computed, before + computed);
            let length = polls.length().since(computed) + between;
            polling.insert(call.thread, (*polls, *new + gap.since(between), length));
        }
        if let Some((polls, start, length)) = polling
            .get(&call.thread)
            .filter(|(polls, ..)| call.enter >= polls.start && call.exit <= polls.end)
        {
            let was = call.enter;
            *old = (*old).max(call.exit);
            for time in [&mut call.enter, &mut call.exit] {
                *time = *start + part(*length, time.since(polls.start), polls.length());
            }
            *new = (*new).max(call.exit);
            last_of.insert(call.thread, (was, call.enter));
            let details = rank.details.get_mut(call.details as usize);
            if let Some(rare) = details.and_then(|details| details.rare.get_mut()) {
                rare.repeated = rare.repeated.map(|repeated| {
                    polls.repeated(repeated, length.since(polls.length().since(polls.computed())))
                });
            }
            continue;
        }
        let length = call.exit.since(call.enter);
        // Calls that overlap because they were counted together keep their relative position.
        let last = last_of.insert(call.thread, (call.enter, Time::ZERO));
        let beside = last.filter(|_| call.enter < *old);
        let enter = beside.map_or(*new + gap, |(old, new)| new + call.enter.since(old));
        last_of.insert(call.thread, (call.enter, enter));
        *old = (*old).max(call.exit);
        if let Some(details) = rank.details.get_mut(call.details as usize) {
            details.move_moment(call.enter, enter);
        }
        (call.enter, call.exit) = (enter, enter + length);
        *new = (*new).max(call.exit);
    }
}
