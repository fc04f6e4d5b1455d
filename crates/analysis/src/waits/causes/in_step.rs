//! When two ranks were last in step.
//!
//! Two ranks are in step when one has waited for the other: the wait ended when the late one arrived, so both
//! continued from the same time. A collective in which all ranks wait for the last brings all its members in step.

use crate::waits::late::Late;
use rayon::prelude::*;
use straggler_model::{Rank, Time, parallel};
use straggler_trace::call::{CommId, NO_COMM};
use straggler_trace::messages::CallPlace;
use straggler_trace::{Class, Collective, Start, Trace};

/// The calls in which two ranks were in step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) waiting_call: u32,
    pub(super) late_call: u32,
    /// The late rank had waited in its call; otherwise it was late there too.
    pub(super) late_waited: bool,
}

/// A rank in a collective that brought its members in step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Meeting {
    rank: Rank,
    comm: CommId,
    call: u32,
    /// The last to enter: the same for all members, and unique to this collective.
    last: CallPlace,
    at: Time,
}

/// A wait between two ranks, in either direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Pair {
    ranks: [Rank; 2],
    end: Time,
    wait: u32,
}

/// All times at which ranks were in step.
pub(super) struct InStep {
    pairs: Vec<Pair>,
    /// The position of each wait among the pairs, or [`NOWHERE`].
    places: Vec<u32>,
    meetings: Vec<Meeting>,
    /// The communicators of each rank's meetings with their first meeting; `ranks` has the first entry of each rank.
    comms: Vec<(CommId, u32)>,
    ranks: Vec<u32>,
}

/// Marks a wait in a collective, which is not among the pairs.
const NOWHERE: u32 = u32::MAX;

/// How many earlier waits are tried if clocks disagree or threads overlap.
const TRIED: usize = 8;

impl InStep {
    pub(super) fn new(trace: &Trace, waits: &[Late]) -> InStep {
        let (mut pairs, mut meetings) = (Vec::new(), Vec::new());
        let moments = parallel::map_list(waits, |wait| meeting(trace, wait));
        for ((number, wait), moment) in (0..).zip(waits).zip(moments) {
            let (last, CallPlace { rank, call }) = (wait.cause, wait.place);
            match moment {
                Some((comm, at)) => meetings.push(Meeting { rank, comm, call, last, at }),
                None => pairs.push(Pair { ranks: pair(rank, last.rank), end: wait.end, wait: number }),
            }
        }
        with_last(&mut meetings);
        pairs.par_sort_unstable();
        meetings.par_sort_unstable();
        let mut places = vec![NOWHERE; waits.len()];
        (0..).zip(&pairs).for_each(|(at, pair)| places[pair.wait as usize] = at);
        let mut found = InStep { pairs, places, meetings, comms: Vec::new(), ranks: Vec::new() };
        found.index(trace.processes());
        found
    }

    fn index(&mut self, ranks: Rank) {
        let mut at = 0;
        for rank in 0..=ranks {
            self.ranks.push(self.comms.len() as u32);
            while let Some(next) = self.meetings.get(at).filter(|next| next.rank == rank) {
                self.comms.push((next.comm, at as u32));
                let rest = &self.meetings[at..];
                at += rest.partition_point(|other| (other.rank, other.comm) == (rank, next.comm));
            }
        }
        // The end of the last entry.
        self.comms.push((NO_COMM, self.meetings.len() as u32));
    }

    /// The last time before a wait at which its two ranks were in step; none if they never were.
    pub(super) fn before(&self, waits: &[Late], number: usize) -> Option<Step> {
        let one = self.paired(waits, number);
        let other = self.met(&waits[number]);
        one.into_iter().chain(other).max_by_key(|&(at, _)| at).map(|(_, step)| step)
    }

    fn paired(&self, waits: &[Late], number: usize) -> Option<(Time, Step)> {
        let wait = &waits[number];
        let ranks = pair(wait.place.rank, wait.cause.rank);
        let until = match self.places[number] {
            NOWHERE => self.pairs.partition_point(|pair| (pair.ranks, pair.end) < (ranks, wait.end)),
            place => place as usize,
        };
        let before = self.pairs[..until].iter().rev().take_while(|pair| pair.ranks == ranks);
        before.take(TRIED).find_map(|pair| {
            let other = &waits[pair.wait as usize];
            let late_waited = other.place.rank == wait.cause.rank;
            let (late, waiting) =
                if late_waited { (other.place, other.cause) } else { (other.cause, other.place) };
            let step = Step { waiting_call: waiting.call, late_call: late.call, late_waited };
            step.is_before(wait).then_some((other.end, step))
        })
    }

    fn met(&self, wait: &Late) -> Option<(Time, Step)> {
        let (waiting, late) = (self.comms_of(wait.place.rank), self.comms_of(wait.cause.rank));
        let mut late = late.peekable();
        let mut best: Option<(Time, Step)> = None;
        for (comm, meetings) in waiting {
            while late.next_if(|&(other, _)| other < comm).is_some() {}
            let Some((_, others)) = late.next_if(|&(other, _)| other == comm) else { continue };
            let found = last_common(meetings, others, wait);
            best = best.into_iter().chain(found).max_by_key(|&(at, _)| at);
        }
        best
    }

    /// The communicators of a rank, with its meetings.
    fn comms_of(&self, rank: Rank) -> impl Iterator<Item = (CommId, &[Meeting])> {
        let place =
            |rank: Rank| self.ranks.get(rank as usize).map_or(self.comms.len() - 1, |&at| at as usize);
        let of_rank = place(rank)..place(rank + 1);
        of_rank.map(|at| {
            let ((comm, from), (_, to)) = (self.comms[at], self.comms[at + 1]);
            (comm, &self.meetings[from as usize..to as usize])
        })
    }
}

impl Step {
    fn is_before(&self, wait: &Late) -> bool {
        self.waiting_call < wait.place.call && self.late_call < wait.cause.call
    }
}

fn pair(one: Rank, other: Rank) -> [Rank; 2] {
    [one.min(other), one.max(other)]
}

/// The communicator of a collective in which all ranks wait for the last, and when that one entered.
fn meeting(trace: &Trace, wait: &Late) -> Option<(CommId, Time)> {
    let call = trace.call(wait.place)?;
    let Class::Collective(kind, Start::Blocking) = call.function.class() else { return None };
    let everybody = matches!(
        kind,
        Collective::Barrier
            | Collective::Allgather
            | Collective::Allgatherv
            | Collective::Allreduce
            | Collective::Alltoall
            | Collective::ReduceScatter
            | Collective::ReduceScatterBlock
    );
    everybody.then_some((call.comm, trace.call(wait.cause)?.enter))
}

/// Adds the last rank to enter as a member of each meeting.
fn with_last(meetings: &mut Vec<Meeting>) {
    let own = |meeting: &Meeting| {
        let CallPlace { rank, call } = meeting.last;
        Meeting { rank, call, ..*meeting }
    };
    let mut last: Vec<Meeting> = meetings.iter().map(own).collect();
    last.par_sort_unstable();
    last.dedup();
    meetings.append(&mut last);
}

fn last_common(waiting: &[Meeting], late: &[Meeting], wait: &Late) -> Option<(Time, Step)> {
    let until = waiting.partition_point(|meeting| meeting.call < wait.place.call);
    waiting[..until].iter().rev().take(TRIED).find_map(|meeting| {
        let at = late.partition_point(|other| other.at < meeting.at);
        let same = late[at..].iter().take_while(|other| other.at == meeting.at);
        let other = same.into_iter().find(|other| other.last == meeting.last)?;
        let late_waited = other.last.rank != other.rank;
        let step = Step { waiting_call: meeting.call, late_call: other.call, late_waited };
        step.is_before(wait).then_some((meeting.at, step))
    })
}
