//! What ranks do when they are not waiting: compute in a region or between two calls, or work in a call.
//!
//! The time of a rank is cut at its calls: the time before each call, and the time inside it minus its waits for
//! others. Sums are stored at regular intervals, so that a sum by activity over any range of calls costs no more than
//! the number of activities.

use super::times::inside;
use super::{Missing, Regions, Wait, WaitStates};
use std::collections::BTreeMap;
use std::fmt;
use straggler_model::{Rank, Time, parallel};
use straggler_trace::messages::CallPlace;
use straggler_trace::profile::RegionName;
use straggler_trace::{Class, Function, RankTrace, Trace};

/// What a rank does for a time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Activity {
    /// It computes in a region that the program marks.
    Region(RegionName),
    /// It computes outside of regions, between two calls; none at the start and the end of the run.
    Between(Option<Function>, Option<Function>),
    /// It is in a call, and is not waiting for others.
    Call(Function, Option<RegionName>),
    /// It is in a call whose partner is missing in the trace, and may be waiting for it.
    Alone(Function),
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Activity::Region(region) => write!(f, "computation in {region}"),
            Activity::Between(None, None) => write!(f, "computation"),
            Activity::Between(None, Some(next)) => write!(f, "before the first call, {}", name(*next)),
            Activity::Between(Some(last), None) => write!(f, "after the last call, {}", name(*last)),
            Activity::Between(Some(last), Some(next)) => {
                write!(f, "computation from {} to {}", name(*last), name(*next))
            }
            Activity::Call(function, None) => f.write_str(name(*function)),
            Activity::Call(function, Some(region)) => write!(f, "{} in {region}", name(*function)),
            Activity::Alone(function) => write!(f, "{}, whose partner is missing", name(*function)),
        }
    }
}

/// The display name of a function.
fn name(function: Function) -> &'static str {
    if function == Function::Unknown { "an unknown call" } else { function.name() }
}

/// An activity as numbers: a region, two functions, or a function and a region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key(u64);

const NO_REGION: u32 = u32::MAX;
const NO_FUNCTION: u16 = u16::MAX;
const REGION: u64 = 1 << 62;
const CALL: u64 = 2 << 62;
const ALONE: u64 = 3 << 62;

impl Key {
    fn computing(region: u32, last: u16, next: u16) -> Key {
        let between = Key(u64::from(last) << 16 | u64::from(next));
        if region == NO_REGION { between } else { Key(REGION | u64::from(region)) }
    }

    fn call(function: Function, region: u32) -> Key {
        Key(CALL | u64::from(function as u16) << 32 | u64::from(region))
    }

    fn alone(function: Function) -> Key {
        Key(ALONE | u64::from(function as u16))
    }

    fn activity(self, names: &[RegionName]) -> Activity {
        let function = |number: u64| Function::ALL.get((number & 0xffff) as usize).copied();
        let region = || names.get((self.0 & 0xffff_ffff) as usize).cloned();
        match (self.0 >> 62, region()) {
            (3, _) => Activity::Alone(function(self.0).unwrap_or(Function::Unknown)),
            (2, region) => Activity::Call(function(self.0 >> 32).unwrap_or(Function::Unknown), region),
            (1, Some(region)) => Activity::Region(region),
            _ => Activity::Between(function(self.0 >> 16), function(self.0)),
        }
    }
}

/// The activities of all ranks.
#[derive(Clone, Debug, Default)]
pub struct Activities {
    pub names: Vec<Activity>,
    pub(super) ranks: Vec<Doings>,
}

/// The activities of one rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Doings {
    /// Its activities, as indices into [`Activities::names`].
    pub(super) activities: Vec<u32>,
    pub(super) steps: Vec<Step>,
    /// Sums by activity over the steps before every [`Doings::stride`]-th step.
    sums: Vec<u64>,
}

/// A call and the time before it. Activities are indices into those of the rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Step {
    pub(super) before: Time,
    pub(super) inside: Time,
    pub(super) before_is: u32,
    pub(super) inside_is: u32,
}

// There is one per call.
const _: () = assert!(size_of::<Step>() == 24);

impl Activities {
    /// Without waits that others caused.
    pub fn new(trace: &Trace, states: &WaitStates, regions: &Regions) -> Activities {
        Activities::with(trace, states, regions, &Missing::default())
    }

    /// The same of a trace in which calls are missing.
    pub fn with(trace: &Trace, states: &WaitStates, regions: &Regions, missing: &Missing) -> Activities {
        let mut from = 0;
        let of_rank = |rank: Rank| {
            let count = states.waits[from..].partition_point(|wait| wait.place.rank <= rank);
            let waits = &states.waits[from..from + count];
            from += count;
            waits
        };
        let waits: Vec<&[Wait]> = (0..trace.processes()).map(of_rank).collect();
        let begins = trace.ranks.iter().filter_map(|rank| rank.calls.first()).map(|call| call.enter);
        let begin = begins.min().unwrap_or_default();
        let of_rank =
            |rank: usize| Doings::new(&trace.ranks[rank], rank as Rank, begin, waits[rank], regions, missing);
        let found: Vec<(Doings, Vec<Key>)> = parallel::map(trace.ranks.len(), of_rank);
        let mut keys: Vec<Key> = found.iter().flat_map(|(_, keys)| keys).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        let global = |key: &Key| keys.binary_search(key).unwrap_or_default() as u32;
        let rename = |(mut doings, own): (Doings, Vec<Key>)| {
            doings.activities = own.iter().map(global).collect();
            doings
        };
        let names = keys.iter().map(|key| key.activity(&regions.names)).collect();
        Activities { names, ranks: found.into_iter().map(rename).collect() }
    }

    /// The time in each activity, summed over all ranks.
    pub(super) fn totals(&self) -> Vec<f64> {
        let mut totals = vec![0.0; self.names.len()];
        for rank in &self.ranks {
            rank.add(None, rank.steps.len(), &mut |activity, time| {
                totals[rank.activities[activity as usize] as usize] += time as f64;
            });
        }
        totals
    }
}

impl Doings {
    fn new(
        traced: &RankTrace,
        rank: Rank,
        begin: Time,
        waits: &[Wait],
        regions: &Regions,
        missing: &Missing,
    ) -> (Doings, Vec<Key>) {
        let mut keys = Keys::default();
        let mut waits = waits.iter().filter(|wait| wait.cause.is_some()).peekable();
        let (mut until, mut last) = (begin, NO_FUNCTION);
        let mut steps = Vec::with_capacity(traced.calls.len());
        for (number, call) in (0..).zip(&traced.calls) {
            let place = CallPlace { rank, call: number };
            let region = regions.innermost(place).unwrap_or(NO_REGION);
            let waited = waits.next_if(|wait| wait.place.call == number).map_or(Time::ZERO, |wait| wait.time);
            let length = call.exit.since(call.enter.max(until));
            // Between the polls of one record, the rank computes.
            let polls = inside(traced, call, until).min(length);
            let is_mark = call.function.class() == Class::Mark;
            let next = if is_mark { NO_FUNCTION } else { call.function as u16 };
            let before_is = keys.number(Key::computing(region, last, next));
            let call_is = match missing.holds(place) {
                true => Key::alone(call.function),
                false => Key::call(call.function, region),
            };
            steps.push(Step {
                before: call.enter.since(until) + length.since(polls),
                inside: polls.since(waited),
                before_is,
                inside_is: if is_mark { before_is } else { keys.number(call_is) },
            });
            until = until.max(call.exit);
            last = if is_mark { last } else { next };
        }
        let doings = Doings { activities: (0..keys.list.len() as u32).collect(), steps, sums: Vec::new() };
        (doings.with_sums(), keys.list)
    }

    fn stride(&self) -> usize {
        self.activities.len().max(16)
    }

    fn with_sums(mut self) -> Doings {
        let (stride, kinds) = (self.stride(), self.activities.len());
        let mut sums = Vec::with_capacity((self.steps.len() / stride + 1) * kinds);
        let mut now = vec![0u64; kinds];
        for steps in self.steps.chunks(stride) {
            sums.extend_from_slice(&now);
            for step in steps {
                now[step.before_is as usize] += step.before.ps();
                now[step.inside_is as usize] += step.inside.ps();
            }
        }
        sums.extend_from_slice(&now);
        self.sums = sums;
        self
    }

    /// Passes the time of each activity from the start of a call, or of the run, to the start of another, in parts.
    pub(super) fn add(&self, from: Option<u32>, to: usize, give: &mut impl FnMut(u32, u64)) {
        let first = from.map_or(0, |from| from as usize + 1);
        if let Some(step) = from.and_then(|from| self.steps.get(from as usize)) {
            give(step.inside_is, step.inside.ps());
        }
        if let Some(step) = self.steps.get(to) {
            give(step.before_is, step.before.ps());
        }
        let stride = self.stride();
        let (low, high) = (first.div_ceil(stride), to.min(self.steps.len()) / stride);
        if low + 1 >= high {
            return self.scan(first, to, give);
        }
        self.scan(first, low * stride, give);
        let kinds = self.activities.len();
        let sums = |block: usize| &self.sums[block * kinds..(block + 1) * kinds];
        for (activity, (from, to)) in (0..).zip(sums(low).iter().zip(sums(high))) {
            if to > from {
                give(activity, to - from);
            }
        }
        self.scan(high * stride, to, give);
    }

    fn scan(&self, from: usize, to: usize, give: &mut impl FnMut(u32, u64)) {
        for step in self.steps.get(from..to.min(self.steps.len())).unwrap_or_default() {
            give(step.before_is, step.before.ps());
            give(step.inside_is, step.inside.ps());
        }
    }
}

/// Numbers for the activities of a rank. Neighbouring calls often repeat, so the first few are tried before the tree.
#[derive(Default)]
struct Keys {
    list: Vec<Key>,
    numbers: BTreeMap<Key, u32>,
}

/// Few enough that a linear search is faster than a tree.
const FEW: usize = 24;

impl Keys {
    fn number(&mut self, key: Key) -> u32 {
        let few = self.list.len().min(FEW);
        if let Some(number) = self.list[..few].iter().position(|&other| other == key) {
            return number as u32;
        }
        let next = self.list.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.list.push(key);
        }
        number
    }
}
