//! A traced run: what every rank called, whom with, and when.
//!
//! This is the only form in memory, whatever the format of the file. Times are on the clock of the
//! run, whose zero is the earliest moment of the trace.

use crate::call::{Call, CommId, Details, Moment};
use crate::place::CallPlace;
use crate::sites::{CallSites, NO_SITE, SiteId};
use crate::{Class, Function};
use std::collections::{BTreeMap, HashMap};
use straggler_model::{Rank, Time};

/// The communicator of all processes, which is always the first.
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
    /// What the reader had to leave out, repair or guess, in words for the user.
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
    /// Where each call was made: an index into [`Trace::call_sites`], or [`NO_SITE`]. Empty if that
    /// was not recorded.
    pub sites: Vec<SiteId>,
    /// The details that [`Call::details`] points at. Only [marks](Marks) share theirs.
    pub details: Vec<Details>,
    pub clock: Clock,
    /// Calls that were seen but not understood, counted by name.
    pub unknown: BTreeMap<String, u64>,
    /// Its share of the processor; `None` if it was not recorded.
    pub usage: Option<Usage>,
}

/// How much of the processor a process got, from its MPI_Init to its MPI_Finalize.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    pub wall: Time,
    /// Processor time of all its threads.
    pub cpu: Time,
    /// How often it was preempted.
    pub preemptions: u64,
    /// How long its main thread was ready to run but had no core; `None` if the system does not count it.
    pub waiting: Option<Time>,
}

impl Usage {
    pub fn from_nanoseconds(wall: u64, cpu: u64, preemptions: u64, waiting: Option<u64>) -> Usage {
        let time = |nanoseconds: u64| Time(nanoseconds.saturating_mul(1000));
        Usage { wall: time(wall), cpu: time(cpu), preemptions, waiting: waiting.map(time) }
    }

    /// The share of the time in which other work had the core. If the system does not say how long
    /// the process waited, this is the time in which it did not compute, provided that it was
    /// preempted often enough to explain that.
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

/// Preemptions per second. A process that has a core to itself is interrupted once or twice.
const MANY_PREEMPTIONS: f64 = 10.0;

/// How this rank's clock was aligned with that of the run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Clock {
    /// How far the aligned times of this rank may be off from those of rank 0; `None` if unknown.
    pub error: Option<Time>,
    /// The offset added to the rank's own clock at the beginning, in picoseconds.
    pub offset_ps: i64,
    /// By how much its clock ran fast, in parts per million.
    pub drift_ppm: f64,
}

/// A communicator, by the world ranks of its members.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Communicator {
    /// The world ranks of its members, in the order of their ranks in it.
    pub members: Vec<Rank>,
    /// World ranks of the second group of an intercommunicator; else empty. Peers of a call are then
    /// ranks of the group that the caller is not in. A process of another world is [`u32::MAX`].
    pub remote: Vec<Rank>,
    /// For each rank of it, its neighbours in a topology, in the order of neighbourhood
    /// collectives; empty if it has no topology or if the neighbours are unknown.
    pub neighbors: Vec<Neighbors>,
    /// The communicator it was made from; `None` for the world and for others that exist from the beginning.
    pub parent: Option<CommId>,
    /// The name the program gave it, or how it was made; may be empty.
    pub name: String,
}

/// Prefix of the names of communicators whose members lie along the dimension in which copies of a
/// run extend it: the data-parallel ranks of a training job. Their collectives grow with the
/// copies, and the parts they gather or scatter get smaller.
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

    /// The world rank of `peer`, as named in a call by world rank `me`.
    pub fn world_rank(&self, me: Rank, peer: i32) -> Option<Rank> {
        let peer = usize::try_from(peer).ok()?;
        self.peers(me).get(peer).copied().filter(|&rank| rank != Rank::MAX)
    }

    /// The world ranks that peers in calls by world rank `me` refer to: all members, or the other
    /// group of an intercommunicator.
    pub fn peers(&self, me: Rank) -> &[Rank] {
        let first = self.remote.is_empty() || !self.members.contains(&me);
        if first { &self.members } else { &self.remote }
    }

    /// Whether it is an intercommunicator.
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
        // Code that adds or removes calls leaves this list as it is.
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

/// Shares the details of marks. Marks of a few regions may make up most of a recording, so marks
/// with the same name on a rank share their details, which are never changed.
#[derive(Clone, Debug, Default)]
pub struct Marks(HashMap<String, u32>);

impl Marks {
    /// Adds the details of a call to those of its rank, or finds equal ones there. Returns the
    /// value for [`Call::details`].
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

    /// When, inside a call, its message was sent or its collective completed, if the trace says so.
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
