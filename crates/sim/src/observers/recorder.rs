//! Records for every event what it waited for last.

use crate::observer::{Observer, Ran, RanKind};
use crate::release::Release;
use std::collections::HashMap;
use std::ops::Range;
use straggler_model::{Rank, Time};

/// An event of the run: the number of its part, and its place in the part's list plus one; 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct EventId(u64);

impl EventId {
    const PLACE_BITS: u32 = 44;

    fn new(part: u32, place: usize) -> EventId {
        EventId(u64::from(part) << Self::PLACE_BITS | (place as u64 + 1))
    }

    pub fn part_and_place(self) -> Option<(usize, usize)> {
        let place = (self.0 & ((1 << Self::PLACE_BITS) - 1)).checked_sub(1)?;
        Some(((self.0 >> Self::PLACE_BITS) as usize, place as usize))
    }
}

/// What an event waited for last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// Nothing: it ran at time 0.
    Start,
    /// The CPU, which the cause kept busy.
    Cpu,
    /// The NIC, which the cause kept busy.
    Nic,
    /// The completion of the cause, an operation it depends on.
    Completion,
    /// The start of the cause, an operation it depends on.
    Started,
    /// The flight of a message from its send, the cause.
    Flight,
    /// The flight of an acknowledgement from the match, the cause.
    Acknowledgement,
}

/// The kinds of recorded events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    Send,
    Recv,
    Calc,
    Message,
    Acknowledgement,
}

/// One event, in 48 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub t: Time,
    pub noise: Time,
    /// Bytes of a message, picoseconds of a computation.
    pub amount: u64,
    pub cause: EventId,
    pub rank: Rank,
    pub peer: Rank,
    /// For sends and messages: the message's number on its source, if latencies are drawn.
    pub number: u32,
    pub kind: EventKind,
    pub bound: Bound,
    /// Whether something else held it up just as long; see [`Recorder::ties_of`].
    pub tie: bool,
}

const _: () = assert!(size_of::<Event>() == 48);

/// Another cause that held an event up just as long.
#[derive(Clone, Copy, Debug)]
pub struct Tie {
    /// The place of the event.
    pub place: usize,
    pub bound: Bound,
    pub cause: EventId,
}

/// When a resource is free, and the event that occupies it until then.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub until: Time,
    pub by: EventId,
}

/// What released an operation.
#[derive(Clone, Copy, Debug)]
struct Cause {
    ready: Time,
    by: EventId,
    /// When that event ran. An operation that is ready at this time waited for the event's start.
    by_t: Time,
    /// What occupied the operation's CPU then.
    cpu: Held,
}

/// The resources of a rank, by lane; most ranks have one of each.
#[derive(Clone, Debug, Default)]
struct Lanes {
    cpus: Vec<Held>,
    send_nics: Vec<Held>,
    recv_nics: Vec<Held>,
}

fn held(lanes: &mut Vec<Held>, lane: u8) -> &mut Held {
    if lanes.len() <= usize::from(lane) {
        lanes.resize(usize::from(lane) + 1, Held::default());
    }
    &mut lanes[usize::from(lane)]
}

/// Observes one part of a run. Takes 48 bytes per event.
#[derive(Debug)]
pub struct Recorder {
    part: u32,
    first: Rank,
    pub events: Vec<Event>,
    lanes: Vec<Lanes>,
    /// The last event of each rank and when it ran; the operations it releases are reported right after it.
    last: Vec<(EventId, Time)>,
    /// Future completions of each rank. With several CPUs an operation may be released by one event and
    /// have to wait for the completion of another.
    ahead: Vec<Vec<Held>>,
    released: HashMap<(Rank, u32), Cause>,
    /// In the order of their events.
    ties: Vec<Tie>,
    /// The event with which each rank finishes.
    pub finish: Vec<Held>,
    /// The sum of all injected noise.
    pub injected: u128,
}

impl Recorder {
    pub fn new(part: u32, ranks: Range<Rank>) -> Recorder {
        Recorder {
            part,
            first: ranks.start,
            events: Vec::new(),
            lanes: vec![Lanes::default(); ranks.len()],
            last: vec![Default::default(); ranks.len()],
            ahead: vec![Vec::new(); ranks.len()],
            released: HashMap::new(),
            ties: Vec::new(),
            finish: vec![Held::default(); ranks.len()],
            injected: 0,
        }
    }

    /// The other causes that held up the event at `place`.
    pub fn ties_of(&self, place: usize) -> &[Tie] {
        let start = self.ties.partition_point(|tie| tie.place < place);
        let end = self.ties.partition_point(|tie| tie.place <= place);
        &self.ties[start..end]
    }

    pub fn first_rank(&self) -> Rank {
        self.first
    }

    fn lanes(&mut self, rank: Rank) -> &mut Lanes {
        &mut self.lanes[(rank - self.first) as usize]
    }

    /// Candidates for what held the event up, in order of preference: remote causes, then resources,
    /// then dependencies.
    fn candidates(&mut self, event: &Ran<EventId>) -> [(Bound, Time, EventId); 4] {
        let released = match event.what {
            RanKind::Send { .. } | RanKind::Recv { .. } | RanKind::Calc => {
                self.released.remove(&(event.rank, event.id))
            }
            _ => None,
        };
        let none = (Bound::Start, Time::ZERO, EventId::default());
        let (cpu, nic) = (event.cpu, event.nic);
        let lanes = self.lanes(event.rank);
        let held_by = |held: Held, bound| (bound, held.until, held.by);
        let remote = match event.what {
            RanKind::Message { .. } => (Bound::Flight, event.arrival, event.cause),
            RanKind::Acknowledgement => (Bound::Acknowledgement, event.arrival, event.cause),
            _ => none,
        };
        let cpu = match (event.what, released) {
            // A receive waits for the CPU only at its release, an acknowledgement never.
            (RanKind::Recv { .. }, Some(cause)) => held_by(cause.cpu, Bound::Cpu),
            (RanKind::Recv { .. } | RanKind::Acknowledgement, _) => none,
            _ => held_by(*held(&mut lanes.cpus, cpu), Bound::Cpu),
        };
        let nic = match event.what {
            RanKind::Send { .. } => held_by(*held(&mut lanes.send_nics, nic), Bound::Nic),
            RanKind::Message { .. } => held_by(*held(&mut lanes.recv_nics, nic), Bound::Nic),
            _ => none,
        };
        let dependency = released.map_or(none, |cause| {
            let bound = if cause.ready == cause.by_t { Bound::Started } else { Bound::Completion };
            (bound, cause.ready, cause.by)
        });
        [remote, cpu, nic, dependency]
    }

    /// Updates who holds the resources that the event used.
    fn hold(&mut self, event: &Ran<EventId>, id: EventId) {
        let lanes = self.lanes(event.rank);
        let take = |held: &mut Held, until: Time| {
            if until > held.until {
                *held = Held { until, by: id };
            }
        };
        match event.what {
            RanKind::Send { .. } | RanKind::Acknowledgement => {
                take(held(&mut lanes.cpus, event.cpu), event.cpu_free);
                take(held(&mut lanes.send_nics, event.nic), event.nic_free);
            }
            RanKind::Message { .. } => {
                take(held(&mut lanes.cpus, event.cpu), event.cpu_free);
                take(held(&mut lanes.recv_nics, event.nic), event.nic_free);
            }
            RanKind::Calc => take(held(&mut lanes.cpus, event.cpu), event.cpu_free),
            RanKind::Recv { .. } => {}
        }
        let until = match event.what {
            RanKind::Recv { .. } => {
                // Overlapped bytes may arrive after the receive was posted. Then the message is the cause.
                let bytes = self.ahead[(event.rank - self.first) as usize]
                    .iter()
                    .rfind(|completion| completion.until == event.done);
                if let Some(completion) = bytes.copied() {
                    let finish = &mut self.finish[(event.rank - self.first) as usize];
                    if completion.until > finish.until {
                        *finish = completion;
                    }
                }
                return;
            }
            RanKind::Message { completes: Some(_) } => event.done.max(event.cpu_free),
            _ => event.cpu_free,
        };
        take(&mut self.finish[(event.rank - self.first) as usize], until);
    }
}

impl Observer for Recorder {
    type Stamp = EventId;

    fn ran(&mut self, event: &Ran<EventId>) -> EventId {
        let candidates = self.candidates(event);
        let mut holding = candidates.iter().filter(|(bound, until, by)| {
            *bound != Bound::Start && *until == event.t && *by != EventId::default()
        });
        let (bound, _, cause) =
            holding.next().copied().unwrap_or((Bound::Start, Time::ZERO, EventId::default()));
        let place = self.events.len();
        let before = self.ties.len();
        self.ties.extend(holding.filter(|(.., by)| *by != cause).map(|&(bound, _, cause)| Tie {
            place,
            bound,
            cause,
        }));
        let tie = self.ties.len() > before;
        let kind = match event.what {
            RanKind::Send { .. } => EventKind::Send,
            RanKind::Recv { .. } => EventKind::Recv,
            RanKind::Calc => EventKind::Calc,
            RanKind::Message { .. } => EventKind::Message,
            RanKind::Acknowledgement => EventKind::Acknowledgement,
        };
        let Ran { t, noise, amount, rank, peer, number, .. } = *event;
        self.injected += u128::from(noise.ps());
        let id = EventId::new(self.part, place);
        self.events.push(Event { t, noise, amount, cause, rank, peer, number, kind, bound, tie });
        self.hold(event, id);
        let place = (rank - self.first) as usize;
        self.last[place] = (id, t);
        self.ahead[place].retain(|completion| completion.until > t);
        if event.done > t && kind != EventKind::Recv {
            self.ahead[place].push(Held { until: event.done, by: id });
        }
        id
    }

    fn released(&mut self, rank: Rank, release: &Release) {
        let place = (rank - self.first) as usize;
        let (last, last_t) = self.last[place];
        let completion = self.ahead[place].iter().rfind(|completion| completion.until == release.ready);
        let (by, by_t) = match completion {
            Some(completion) if release.ready > last_t => (completion.by, Time::NEVER),
            _ => (last, last_t),
        };
        let cpu = *held(&mut self.lanes(rank).cpus, release.cpu);
        self.released.insert((rank, release.id), Cause { ready: release.ready, by, by_t, cpu });
    }
}
