//! The regions of the program in which ranks wait.
//!
//! A call belongs to the innermost region of its thread: the one entered last and not yet left. Enclosing regions
//! include the wait in their inclusive time.

use super::{Pattern, Total, Wait, WaitStates};
use std::collections::BTreeMap;
use straggler_model::{Rank, parallel};
use straggler_trace::messages::CallPlace;
use straggler_trace::profile::RegionName;
use straggler_trace::{Call, Function, RankTrace, Trace};

/// Outside of all regions.
const OUTSIDE: u32 = u32::MAX;

/// The regions that are open at each call of a trace.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    pub names: Vec<RegionName>,
    ranks: Vec<Nesting>,
}

/// The regions of one rank; empty if it marks none.
#[derive(Clone, Debug, Default)]
struct Nesting {
    /// Nested regions: the index of the parent in this list or [`OUTSIDE`], and the name.
    nodes: Vec<(u32, u32)>,
    /// For each call, its index in `nodes`, or [`OUTSIDE`]. A mark belongs to the region that it enters or leaves.
    calls: Vec<u32>,
}

impl Regions {
    pub fn new(trace: &Trace) -> Regions {
        let ranks: Vec<(Nesting, Vec<RegionName>)> = parallel::map_list(&trace.ranks, Follow::rank);
        let mut numbers: BTreeMap<&RegionName, u32> =
            ranks.iter().flat_map(|(_, names)| names).map(|name| (name, 0)).collect();
        (0..).zip(numbers.values_mut()).for_each(|(number, value)| *value = number);
        let names = numbers.keys().map(|&name| name.clone()).collect();
        let rename = |(nesting, own): &(Nesting, Vec<RegionName>)| {
            let name = |local: u32| own.get(local as usize).and_then(|name| numbers.get(name)).copied();
            let nodes = nesting.nodes.iter().map(|&(parent, local)| (parent, name(local).unwrap_or(OUTSIDE)));
            Nesting { nodes: nodes.collect(), calls: nesting.calls.clone() }
        };
        Regions { names, ranks: parallel::map_list(&ranks, rename) }
    }

    /// The innermost region of a call, as an index into `names`.
    pub fn innermost(&self, place: CallPlace) -> Option<u32> {
        self.enclosing(place).next()
    }

    /// All regions that are open at a call, from the innermost.
    pub fn enclosing(&self, place: CallPlace) -> impl Iterator<Item = u32> {
        let nesting = self.ranks.get(place.rank as usize);
        let node = move |at: u32| nesting.and_then(|nesting| nesting.nodes.get(at as usize)).copied();
        let first = nesting.and_then(|nesting| nesting.calls.get(place.call as usize)).copied();
        std::iter::successors(first.and_then(node), move |&(parent, _)| node(parent)).map(|(_, name)| name)
    }
}

/// Follows the marks of one rank.
#[derive(Default)]
struct Follow {
    nesting: Nesting,
    names: BTreeMap<RegionName, u32>,
    children: BTreeMap<(u32, u32), u32>,
    threads: BTreeMap<u16, Thread>,
}

/// The open regions of a thread.
struct Thread {
    open: Vec<u32>,
    node: u32,
    /// The region of the last MPI_Pcontrol.
    level: Option<u32>,
}

impl Follow {
    fn rank(rank: &RankTrace) -> (Nesting, Vec<RegionName>) {
        let is_mark = |call: &Call| {
            matches!(call.function, Function::RegionEnter | Function::RegionLeave | Function::Pcontrol)
        };
        if !rank.calls.iter().any(is_mark) {
            return Default::default();
        }
        let mut follow = Follow::default();
        for call in &rank.calls {
            let before = follow.thread(call.thread).node;
            let node = if is_mark(call) { follow.mark(rank, call) } else { before };
            // A leave mark still belongs to its region.
            follow.nesting.calls.push(if call.function == Function::RegionLeave { before } else { node });
        }
        let mut names: Vec<(u32, RegionName)> =
            follow.names.into_iter().map(|(name, number)| (number, name)).collect();
        names.sort_unstable_by_key(|&(number, _)| number);
        (follow.nesting, names.into_iter().map(|(_, name)| name).collect())
    }

    fn thread(&mut self, thread: u16) -> &mut Thread {
        self.threads.entry(thread).or_insert(Thread { open: Vec::new(), node: OUTSIDE, level: None })
    }

    fn name(&mut self, name: RegionName) -> u32 {
        let next = self.names.len() as u32;
        *self.names.entry(name).or_insert(next)
    }

    /// Enters or leaves a region, and returns the node that is then open.
    fn mark(&mut self, rank: &RankTrace, call: &Call) -> u32 {
        let text = rank.details(call).and_then(|details| details.text.clone());
        match call.function {
            Function::RegionEnter => {
                let region = self.name(RegionName::Named(text.unwrap_or_default()));
                self.thread(call.thread).open.push(region);
            }
            Function::RegionLeave => {
                let region = self.name(RegionName::Named(text.unwrap_or_default()));
                self.thread(call.thread).close(region);
            }
            _ => self.level(call.thread, text.unwrap_or_else(|| "?".into())),
        }
        self.renew(call.thread)
    }

    fn level(&mut self, thread: u16, text: String) {
        let begins = !text.parse::<i64>().is_ok_and(|level| level <= 0);
        let region = begins.then(|| self.name(RegionName::Level(text)));
        let thread = self.thread(thread);
        if let Some(last) = std::mem::replace(&mut thread.level, region) {
            thread.close(last);
        }
        thread.open.extend(region);
    }

    /// The node for the open regions of a thread. Regions need not nest properly, so all of them count.
    fn renew(&mut self, thread: u16) -> u32 {
        let open = std::mem::take(&mut self.thread(thread).open);
        let node = open.iter().fold(OUTSIDE, |parent, &region| {
            *self.children.entry((parent, region)).or_insert_with(|| {
                self.nesting.nodes.push((parent, region));
                self.nesting.nodes.len() as u32 - 1
            })
        });
        let thread = self.thread(thread);
        (thread.open, thread.node) = (open, node);
        node
    }
}

impl Thread {
    /// Ignores a region that was not entered.
    fn close(&mut self, region: u32) {
        if let Some(at) = self.open.iter().rposition(|&open| open == region) {
            self.open.remove(at);
        }
    }
}

/// How long ranks wait in one region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionWaits {
    /// None for outside of all regions.
    pub region: Option<RegionName>,
    /// Excluding nested regions; the exclusive waits of all regions add up to those of the run.
    pub exclusive: Total,
    pub inclusive: Total,
    /// Exclusive waits by rank, function and pattern.
    pub parts: Vec<WaitsIn>,
}

/// The waits of one rank in one region, function and pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitsIn {
    pub rank: Rank,
    pub function: Function,
    pub pattern: Pattern,
    pub total: Total,
}

impl RegionWaits {
    /// All regions in which ranks wait, the longest exclusive time first.
    pub fn new(trace: &Trace, states: &WaitStates, regions: &Regions) -> Vec<RegionWaits> {
        let ranks: Vec<&[Wait]> =
            states.waits.chunk_by(|one, next| one.place.rank == next.place.rank).collect();
        let found: Vec<Sums> = parallel::map_list(&ranks, |waits| Sums::new(trace, waits, regions));
        let mut parts: BTreeMap<(u32, Rank, Function, Pattern), Total> = BTreeMap::new();
        let mut inclusive: BTreeMap<u32, Total> = BTreeMap::new();
        for (waits, sums) in ranks.iter().zip(found) {
            let rank = waits[0].place.rank;
            parts.extend(
                sums.exclusive
                    .into_iter()
                    .map(|((region, function, pattern), total)| ((region, rank, function, pattern), total)),
            );
            sums.inclusive.iter().for_each(|(region, sum)| inclusive.entry(*region).or_default().join(sum));
        }
        let row = |(region, inclusive): (u32, Total)| {
            let from = (region, 0, Function::ALL[0], Pattern::ALL[0]);
            let own = parts.range(from..).take_while(move |(key, _)| key.0 == region);
            let part = |(&(_, rank, function, pattern), &total): (&_, &Total)| WaitsIn {
                rank,
                function,
                pattern,
                total,
            };
            let parts: Vec<WaitsIn> = own.map(part).collect();
            let mut exclusive = Total::default();
            parts.iter().for_each(|part| exclusive.join(&part.total));
            RegionWaits { region: regions.names.get(region as usize).cloned(), exclusive, inclusive, parts }
        };
        let mut rows: Vec<RegionWaits> = inclusive.into_iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.exclusive.time, row.inclusive.time)));
        rows
    }
}

/// The waits of one rank.
#[derive(Default)]
struct Sums {
    exclusive: BTreeMap<(u32, Function, Pattern), Total>,
    inclusive: BTreeMap<u32, Total>,
}

impl Sums {
    fn new(trace: &Trace, waits: &[Wait], regions: &Regions) -> Sums {
        let mut sums = Sums::default();
        let mut open: Vec<u32> = Vec::new();
        for wait in waits {
            let Some(call) = trace.call(wait.place) else { continue };
            open.clear();
            open.extend(regions.enclosing(wait.place));
            let innermost = open.first().copied().unwrap_or(OUTSIDE);
            sums.exclusive.entry((innermost, call.function, wait.pattern)).or_default().add(wait.time);
            if open.is_empty() {
                open.push(OUTSIDE);
            }
            // A recursive region counts the wait once.
            open.sort_unstable();
            open.dedup();
            open.iter().for_each(|&region| sums.inclusive.entry(region).or_default().add(wait.time));
        }
        sums
    }
}
