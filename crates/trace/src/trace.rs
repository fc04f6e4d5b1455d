//! A traced run: what every rank called, whom with, and when.
//!
//! This is the one form in memory, whatever the format of the file. Times are on one clock, that of the run:
//! its zero is the earliest moment of the trace.

use crate::call::{Call, CommId, Details, Moment};
use crate::place::CallPlace;
use crate::sites::{CallSites, NO_SITE, SiteId};
use crate::{Class, Function};
use std::collections::{BTreeMap, HashMap};
use straggler_model::{Rank, Time};

/// The communicator of all processes, always the first.
pub const WORLD: CommId = CommId(0);

/// A whole run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    pub meta: Meta,
    pub ranks: Vec<RankTrace>,
    /// Communicators, the same numbers on all ranks; [`WORLD`] is the first.
    pub communicators: Vec<Communicator>,
    /// Where the program calls from; empty where that was not recorded.
    pub call_sites: CallSites,
    /// What the reader had to leave out, repair or guess, for people.
    pub notes: Vec<String>,
}

/// What is known about the run as a whole.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Meta {
    /// The format it came in: "straggler 1", "OTF2 2.0", ….
    pub format: String,
    pub program: String,
    /// The MPI library, as it names itself.
    pub library: String,
    /// Anything else worth showing, in order of the key.
    pub more: BTreeMap<String, String>,
}

/// What one rank did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RankTrace {
    pub host: String,
    /// Cores this rank could run on, empty when unknown.
    pub cores: Vec<u32>,
    /// In order of `enter`, of all threads together.
    pub calls: Vec<Call>,
    /// Where each call was made, in [`Trace::call_sites`] or [`NO_SITE`]; empty where that was not recorded.
    pub sites: Vec<SiteId>,
    /// What [`Call::details`] points at. Only [marks](Marks) share one.
    pub details: Vec<Details>,
    pub clock: Clock,
    /// Calls that were seen and not understood, by name.
    pub unknown: BTreeMap<String, u64>,
    /// What it got of the processor; none where nothing recorded it.
    pub usage: Option<Usage>,
}

/// What a process got of the processor, from its MPI_Init to its MPI_Finalize.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    pub wall: Time,
    /// Of all its threads.
    pub cpu: Time,
    /// How often it had to leave a core to others.
    pub preemptions: u64,
    /// How long its main thread was ready to run and had no core; none where the system does not count it.
    pub waiting: Option<Time>,
}

impl Usage {
    pub fn from_nanoseconds(wall: u64, cpu: u64, preemptions: u64, waiting: Option<u64>) -> Usage {
        let time = |nanoseconds: u64| Time(nanoseconds.saturating_mul(1000));
        Usage { wall: time(wall), cpu: time(cpu), preemptions, waiting: waiting.map(time) }
    }

    /// The share of the time in which other work had the core. Where the system does not say how long the process waited,
    /// it is what it did not compute, provided that it was thrown off its core so often that this is why.
    pub fn lost(&self) -> f64 {
        let share = |time: Time| time.seconds() / self.wall.seconds().max(f64::MIN_POSITIVE);
        match self.waiting {
            Some(waiting) => share(waiting).min(1.0),
            None if self.preemptions as f64 >= MANY_PREEMPTIONS * self.wall.seconds() => {
                (1.0 - share(self.cpu)).max(0.0)
            }
            None => 0.0,
        }
    }
}

/// In a second: a process that has its core alone is interrupted once or twice.
const MANY_PREEMPTIONS: f64 = 10.0;

/// How this rank's clock was brought onto that of the run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Clock {
    /// How far the aligned times of this rank may be off, against rank 0; `None` when nothing is known.
    pub error: Option<Time>,
    /// What was added to the rank's own clock at the beginning, in picoseconds.
    pub offset_ps: i64,
    /// By how much its clock ran fast, in parts per million.
    pub drift_ppm: f64,
}

/// A communicator, by the world ranks of its members.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Communicator {
    /// World rank of each rank of it.
    pub members: Vec<Rank>,
    /// World ranks of the second group, for one between two groups; else empty. Peers of a call are then ranks of the
    /// group that the caller is not in. A process of another world is [`u32::MAX`].
    pub remote: Vec<Rank>,
    /// For each rank of it, its neighbours in a topology, in the order of neighbourhood collectives; empty where it
    /// has none or they are not known.
    pub neighbors: Vec<Neighbors>,
    /// What it was made from; none for the world and for what the run began with.
    pub parent: Option<CommId>,
    /// As the program named it, or how it was made; may be empty.
    pub name: String,
}

/// What the names of communicators begin with whose members are along the dimension in which copies of a run extend it: the
/// data-parallel ranks of a training job. Their collectives grow with the copies, and parts of what they gather or scatter get
/// smaller.
pub const ALONG_COPIES: &str = "data parallel";

/// The neighbours of one rank in a topology, as ranks of the communicator or
/// [`crate::call::special::NOBODY`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Neighbors {
    pub sources: Vec<i32>,
    pub destinations: Vec<i32>,
}

impl Communicator {
    pub fn world(size: u32) -> Communicator {
        Communicator { members: (0..size).collect(), name: "world".into(), ..Communicator::default() }
    }

    /// The rank in this communicator of a process of the world.
    pub fn rank_of(&self, world: Rank) -> Option<u32> {
        self.members.iter().position(|&member| member == world).map(|rank| rank as u32)
    }

    /// The world rank of `peer` in a call of process `me` of the world.
    pub fn world_rank(&self, me: Rank, peer: i32) -> Option<Rank> {
        let peer = usize::try_from(peer).ok()?;
        self.peers(me).get(peer).copied().filter(|&rank| rank != Rank::MAX)
    }

    /// Those among whom process `me` of the world finds its peers: all members, or between two groups the other one.
    pub fn peers(&self, me: Rank) -> &[Rank] {
        let first = self.remote.is_empty() || !self.members.contains(&me);
        if first { &self.members } else { &self.remote }
    }

    /// Whether it connects two groups.
    pub fn is_between_groups(&self) -> bool {
        !self.remote.is_empty()
    }
}

impl RankTrace {
    /// The details of a call, if it has any.
    pub fn details(&self, call: &Call) -> Option<&Details> {
        self.details.get(call.details as usize)
    }

    /// Where a call was made, by its number.
    pub fn site(&self, call: usize) -> Option<SiteId> {
        // Whoever adds or removes calls leaves the list behind.
        let known = self.sites.len() == self.calls.len();
        self.sites.get(call).copied().filter(|&site| known && site != NO_SITE)
    }

    /// Appends a call.
    pub fn push(&mut self, call: Call) {
        self.calls.push(call);
    }

    /// Appends a call with details.
    pub fn push_with(&mut self, call: Call, details: Details) {
        self.calls.push(Call { details: self.details.len() as u32, ..call });
        self.details.push(details);
    }
}

/// The details of marks. Most of what a program records may be marks of a few regions, so those of one name on a rank share
/// their details; nobody changes them.
#[derive(Clone, Debug, Default)]
pub struct Marks(HashMap<String, u32>);

impl Marks {
    /// Puts the details of a call into those of its rank, or finds equal ones there. Gives [`Call::details`].
    pub fn place(&mut self, function: Function, details: Details, of_rank: &mut Vec<Details>) -> u32 {
        let next = of_rank.len() as u32;
        if function.class() == Class::Mark
            && let Some(text) = &details.text
        {
            match self.0.get(text) {
                Some(&place) if of_rank.get(place as usize) == Some(&details) => return place,
                Some(_) => {}
                None => drop(self.0.insert(text.clone(), next)),
            }
        }
        of_rank.push(details);
        next
    }
}

impl Trace {
    /// The same run with other ranks.
    pub fn with_ranks(&self, ranks: Vec<RankTrace>) -> Trace {
        Trace {
            meta: self.meta.clone(),
            ranks,
            communicators: self.communicators.clone(),
            call_sites: self.call_sites.clone(),
            notes: self.notes.clone(),
        }
    }

    pub fn call(&self, place: CallPlace) -> Option<&Call> {
        self.ranks.get(place.rank as usize)?.calls.get(place.call as usize)
    }

    /// When, inside of a call, its message was sent or its collective was over, where the trace tells it apart.
    pub fn moment(&self, place: CallPlace) -> Option<Time> {
        let rank = self.ranks.get(place.rank as usize)?;
        rank.details(rank.calls.get(place.call as usize)?)?.moment.map(Moment::time)
    }

    pub fn processes(&self) -> u32 {
        self.ranks.len() as u32
    }

    pub fn calls(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.calls.len() as u64).sum()
    }

    /// From the earliest to the latest moment of all ranks.
    pub fn length(&self) -> Time {
        let ends = self.ranks.iter().flat_map(|rank| rank.calls.iter().map(|call| call.exit));
        let starts = self.ranks.iter().filter_map(|rank| rank.calls.first().map(|call| call.enter));
        ends.max().unwrap_or_default().since(starts.min().unwrap_or_default())
    }
}
