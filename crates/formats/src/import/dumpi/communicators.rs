//! Groups and communicators, replayed from the calls that made them.
//!
//! Each rank numbers its communicators itself and reuses the numbers. But the k-th time a rank makes a
//! communicator from another one is the k-th time for all its members. So every rank is replayed up to
//! such a call and waits there for the others; then the members of the new communicators are known.

use super::rank::{Event, Stream};
use super::stream::Record;
use crate::import::arguments;
use std::collections::{BTreeMap, HashMap};
use straggler_model::Rank;
use straggler_trace::call::{Call, CommId, Details, NO_COMM, special};
use straggler_trace::{Communicator, Function, WORLD};

/// DUMPI's numbers for predefined communicators and groups.
const NULL: i32 = 1;
const DUMPI_WORLD: u32 = 2;
const DUMPI_SELF: u32 = 3;
const EMPTY_GROUP: i32 = 2;

/// The progress of one rank's replay.
#[derive(Debug, Default)]
struct Progress {
    calls: usize,
    events: usize,
    /// Maps DUMPI's numbers of communicators to those of the trace.
    numbers: HashMap<u32, CommId>,
    groups: HashMap<i32, Vec<Rank>>,
    /// How many communicators were made from each one.
    made: HashMap<CommId, u32>,
    waiting: bool,
}

#[derive(Debug, Default)]
pub(super) struct Replay {
    pub communicators: Vec<Communicator>,
    dimensions: HashMap<CommId, Vec<u64>>,
    progress: Vec<Progress>,
    /// The ranks that have arrived at making a communicator, by its parent and its index among those made from it.
    pending: HashMap<(CommId, u32), BTreeMap<Rank, Event>>,
    /// Calls on communicators whose members are unknown.
    pub lost_calls: u64,
    pub lost_communicators: u64,
}

/// Replaces the numbers of communicators in all calls.
pub(super) fn replay(streams: &mut [Stream]) -> Replay {
    let ranks = streams.len() as u32;
    let mut replay = Replay { communicators: vec![Communicator::world(ranks)], ..Replay::default() };
    let numbers = HashMap::from([(DUMPI_WORLD, WORLD)]);
    replay
        .progress
        .resize_with(streams.len(), || Progress { numbers: numbers.clone(), ..Progress::default() });
    loop {
        let mut moved = false;
        for rank in 0..ranks {
            moved |= replay.advance(rank, streams);
        }
        if !moved && !replay.give_up() {
            return replay;
        }
    }
}

impl Replay {
    /// Replays one rank until it has to wait for others; returns whether it made progress.
    fn advance(&mut self, rank: Rank, streams: &mut [Stream]) -> bool {
        let mut moved = false;
        loop {
            let Some(progress) = self.progress.get(rank as usize) else { return moved };
            let Some(stream) = streams.get_mut(rank as usize) else { return moved };
            if progress.waiting {
                return moved;
            }
            let event = stream.events.get(progress.events).cloned();
            let until = event.as_ref().map_or(stream.rank.calls.len(), |event| event.after);
            moved |= progress.calls < until || event.is_some();
            self.translate(rank, stream, until);
            let Some(event) = event else { return moved };
            if let Some(progress) = self.progress.get_mut(rank as usize) {
                progress.events += 1;
            }
            match event.record.number(b'C') {
                Some(_) => self.come(rank, event, streams),
                None => self.group(rank, &event.record),
            }
        }
    }

    /// Translates the communicators in the calls of a rank, up to the call `until`.
    fn translate(&mut self, rank: Rank, stream: &mut Stream, until: usize) {
        let Some(progress) = self.progress.get_mut(rank as usize) else { return };
        let from = std::mem::replace(&mut progress.calls, until);
        for at in from..until {
            let Some(call) = stream.rank.calls.get_mut(at) else { return };
            if call.comm == NO_COMM {
                continue;
            }
            if call.comm.0 == DUMPI_SELF && !progress.numbers.contains_key(&DUMPI_SELF) {
                progress.numbers.insert(DUMPI_SELF, CommId(self.communicators.len() as u32));
                let name = "self".into();
                self.communicators.push(Communicator {
                    members: vec![rank],
                    name,
                    ..Communicator::default()
                });
            }
            let number = progress.numbers.get(&call.comm.0).copied();
            let Some(communicator) = number.and_then(|number| self.communicators.get(number.index())) else {
                self.lost_calls += 1;
                *stream.rank.unknown.entry(call.function.name().into()).or_default() += 1;
                lose(call, &mut stream.rank.details);
                continue;
            };
            call.comm = number.unwrap_or(NO_COMM);
            let own = communicator.rank_of(rank).unwrap_or(0);
            arguments::settle(call, stream.rank.details.get_mut(call.details as usize), own);
        }
    }

    /// Handles the arrival of a rank at a call that makes a communicator.
    fn come(&mut self, rank: Rank, event: Event, streams: &mut [Stream]) {
        let Some(progress) = self.progress.get_mut(rank as usize) else { return };
        let parent =
            event.record.number(b'c').and_then(|parent| progress.numbers.get(&(parent as u32)).copied());
        let Some(parent) = parent.filter(|_| understood(&event.record)) else {
            let made = event.record.number(b'C').unwrap_or(NULL);
            progress.numbers.remove(&(made as u32));
            self.lost_communicators += u64::from(made > NULL);
            return;
        };
        let counter = progress.made.entry(parent).or_insert(0);
        let key = (parent, *counter);
        *counter += 1;
        progress.waiting = true;
        let come = self.pending.entry(key).or_default();
        come.insert(rank, event);
        let members = self.communicators.get(parent.index()).map_or(0, |parent| parent.members.len());
        if come.len() == members {
            let events = self.pending.remove(&key).unwrap_or_default();
            self.make(parent, events, streams);
        }
    }

    /// All members have arrived: creates the communicators and lets the ranks continue.
    fn make(&mut self, parent: CommId, events: BTreeMap<Rank, Event>, streams: &mut [Stream]) {
        let lists = self.lists(parent, &events);
        let mut mine: HashMap<Rank, CommId> = HashMap::new();
        for (members, dimensions) in lists {
            let number = CommId(self.communicators.len() as u32);
            mine.extend(members.iter().map(|rank| (*rank, number)));
            self.communicators.push(Communicator {
                members,
                parent: Some(parent),
                ..Communicator::default()
            });
            if !dimensions.is_empty() {
                self.dimensions.insert(number, dimensions);
            }
        }
        for (rank, event) in events {
            let Some(progress) = self.progress.get_mut(rank as usize) else { continue };
            progress.waiting = false;
            let made = event.record.number(b'C').unwrap_or(NULL);
            let number = mine.get(&rank).copied().filter(|_| made > NULL);
            match number {
                Some(number) => progress.numbers.insert(made as u32, number),
                None => progress.numbers.remove(&(made as u32)),
            };
            self.lost_communicators += u64::from(number.is_none() && made > NULL);
            let stream = streams.get_mut(rank as usize);
            let call = stream.and_then(|stream| Some((event.after.checked_sub(1)?, stream)));
            let details = call.and_then(|(at, stream)| {
                let place = stream.rank.calls.get(at)?.details;
                stream.rank.details.get_mut(place as usize)
            });
            details.into_iter().for_each(|details| details.rare.new_comm = number);
        }
    }

    /// The members of all communicators that were made at once, and their dimensions if they are grids.
    fn lists(&mut self, parent: CommId, events: &BTreeMap<Rank, Event>) -> Vec<(Vec<Rank>, Vec<u64>)> {
        let members =
            self.communicators.get(parent.index()).map(|parent| parent.members.clone()).unwrap_or_default();
        let Some(first) = members.first().and_then(|rank| events.get(rank)).map(|event| &event.record) else {
            return vec![];
        };
        let flat = |lists: Vec<Vec<Rank>>| lists.into_iter().map(|list| (list, vec![])).collect();
        match first.name() {
            "Comm_dup" => vec![(members, self.dimensions.get(&parent).cloned().unwrap_or_default())],
            "Comm_create" => flat(self.created(events)),
            "Comm_split" => flat(split(&members, events)),
            "Graph_create" => flat(vec![beginning(&members, first.number(b'z').unwrap_or(0) as u64)]),
            "Cart_create" => {
                let dimensions: Vec<u64> = positive(first.list(b'u').unwrap_or_default());
                let size = dimensions.iter().fold(1, |size: u64, length| size.saturating_mul(*length));
                vec![(beginning(&members, size), dimensions)]
            }
            "Cart_sub" => self.slices(parent, &members, first.list(b'u').unwrap_or_default()),
            _ => vec![],
        }
    }

    /// Each rank passed a group; ranks with the same group form a communicator.
    fn created(&self, events: &BTreeMap<Rank, Event>) -> Vec<Vec<Rank>> {
        let mut lists: Vec<Vec<Rank>> = Vec::new();
        for (rank, event) in events {
            let groups = self.progress.get(*rank as usize).map(|progress| &progress.groups);
            let group = event.record.number(b'g').and_then(|group| groups?.get(&group));
            if let Some(group) = group.filter(|group| group.contains(rank) && !lists.contains(group)) {
                lists.push(group.clone());
            }
        }
        lists
    }

    /// The parts of a grid that keep some of its dimensions.
    fn slices(&self, parent: CommId, members: &[Rank], keep: &[i32]) -> Vec<(Vec<Rank>, Vec<u64>)> {
        let Some(dimensions) = self.dimensions.get(&parent) else { return vec![] };
        let kept = |at: usize| keep.get(at).is_some_and(|keep| *keep != 0);
        let mut parts: BTreeMap<Vec<u64>, Vec<Rank>> = BTreeMap::new();
        for (place, rank) in members.iter().enumerate() {
            // Ranks of a grid count its last dimension fastest.
            let mut rest = place as u64;
            let mut dropped = Vec::new();
            for (at, length) in dimensions.iter().enumerate().rev() {
                if !kept(at) {
                    dropped.push(rest % (*length).max(1));
                }
                rest /= (*length).max(1);
            }
            parts.entry(dropped).or_default().push(*rank);
        }
        let left: Vec<u64> =
            dimensions.iter().enumerate().filter(|(at, _)| kept(*at)).map(|(_, length)| *length).collect();
        parts.into_values().map(|members| (members, left.clone())).collect()
    }

    /// Handles a call that makes a group.
    fn group(&mut self, rank: Rank, record: &Record) {
        let communicators = &self.communicators;
        let Some(progress) = self.progress.get_mut(rank as usize) else { return };
        let Some(made) = record.number(b'G') else { return };
        let group = |letter| match record.number(letter)? {
            EMPTY_GROUP => Some(vec![]),
            number => progress.groups.get(&number).cloned(),
        };
        let list = match record.name() {
            "Comm_group" => record.number(b'c').and_then(|comm| {
                let number = progress.numbers.get(&(comm as u32))?;
                Some(communicators.get(number.index())?.members.clone())
            }),
            name => group(b'g').and_then(|first| grouped(name, first, group(b'h'), record)),
        };
        match list {
            Some(list) => progress.groups.insert(made, list),
            None => progress.groups.remove(&made),
        };
    }

    /// Releases ranks that wait for others that never arrive; returns whether there were any.
    fn give_up(&mut self) -> bool {
        let stuck: Vec<BTreeMap<Rank, Event>> = self.pending.drain().map(|(_, events)| events).collect();
        let any = !stuck.is_empty();
        for (rank, event) in stuck.into_iter().flatten() {
            let Some(progress) = self.progress.get_mut(rank as usize) else { continue };
            progress.waiting = false;
            let made = event.record.number(b'C').unwrap_or(NULL);
            progress.numbers.remove(&(made as u32));
            self.lost_communicators += 1;
        }
        any
    }
}

/// Keeps a call only for its time, without communication.
fn lose(call: &mut Call, details: &mut Vec<Details>) {
    let name = call.function.name();
    match details.get_mut(call.details as usize) {
        Some(details) => details.rare.text = Some(name.into()),
        None => {
            call.details = details.len() as u32;
            details.push(Details::named(name));
        }
    }
    call.function = Function::Unknown;
    (call.comm, call.peer, call.tag) = (NO_COMM, special::NONE, special::NONE);
}

/// Whether the members of the communicator that a call makes can be determined.
fn understood(record: &Record) -> bool {
    matches!(
        record.name(),
        "Comm_dup" | "Comm_create" | "Comm_split" | "Graph_create" | "Cart_create" | "Cart_sub"
    )
}

fn split(members: &[Rank], events: &BTreeMap<Rank, Event>) -> Vec<Vec<Rank>> {
    let mut colours: BTreeMap<i32, Vec<(i32, usize, Rank)>> = BTreeMap::new();
    for (place, rank) in members.iter().enumerate() {
        let Some(record) = events.get(rank).map(|event| &event.record) else { continue };
        if record.number(b'C').is_some_and(|made| made > NULL) {
            let key = record.number(b'J').unwrap_or(0);
            colours.entry(record.number(b'j').unwrap_or(0)).or_default().push((key, place, *rank));
        }
    }
    let ordered = |mut list: Vec<(i32, usize, Rank)>| {
        list.sort_unstable();
        list.into_iter().map(|(_, _, rank)| rank).collect()
    };
    colours.into_values().map(ordered).collect()
}

fn beginning(members: &[Rank], size: u64) -> Vec<Rank> {
    members.iter().copied().take(usize::try_from(size).unwrap_or(usize::MAX)).collect()
}

fn positive(list: &[i32]) -> Vec<u64> {
    list.iter().map(|value| u64::try_from(*value).unwrap_or(0)).collect()
}

fn grouped(name: &str, first: Vec<Rank>, second: Option<Vec<Rank>>, record: &Record) -> Option<Vec<Rank>> {
    let listed = || record.list(b'l').unwrap_or_default().to_vec();
    let ranges = || ranges(record.list(b'L').unwrap_or_default(), first.len());
    let pick = |places: Vec<i32>| -> Option<Vec<Rank>> {
        places.into_iter().map(|place| first.get(usize::try_from(place).ok()?).copied()).collect()
    };
    let without = |places: Vec<i32>| -> Option<Vec<Rank>> {
        let dropped = pick(places)?;
        Some(first.iter().copied().filter(|rank| !dropped.contains(rank)).collect())
    };
    match name {
        "Group_incl" => pick(listed()),
        "Group_excl" => without(listed()),
        "Group_range_incl" => pick(ranges()?),
        "Group_range_excl" => without(ranges()?),
        "Group_union" => {
            let more = second?.into_iter().filter(|rank| !first.contains(rank));
            Some(first.iter().copied().chain(more.collect::<Vec<_>>()).collect())
        }
        "Group_intersection" => {
            second.map(|second| first.iter().copied().filter(|rank| second.contains(rank)).collect())
        }
        "Group_difference" => {
            second.map(|second| first.iter().copied().filter(|rank| !second.contains(rank)).collect())
        }
        _ => None,
    }
}

/// Expands ranges (first, last, step) to a list of at most `most` numbers.
fn ranges(list: &[i32], most: usize) -> Option<Vec<i32>> {
    let mut all = Vec::new();
    for range in list.chunks_exact(3) {
        let &[first, last, step] = range else { return None };
        let (step, mut at) = (i64::from(step), i64::from(first));
        while step != 0 && (i64::from(last) - at).signum() != -step.signum() {
            all.push(i32::try_from(at).ok()?);
            at += step;
            if all.len() > most {
                return None;
            }
        }
    }
    Some(all)
}
