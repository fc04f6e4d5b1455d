//! The calls of one rank: merges its threads, numbers its requests, and puts what the end of an
//! operation tells into the call that began it.
//!
//! OTF2 names the sender only where a receive ends, and the communicator only where a nonblocking
//! collective ends. A wait lists the requests it has records of. Wildcards are not recorded: the
//! peer of a receive is always the actual sender.
//!
//! MPI_Start has the records of a nonblocking call, but no record says which prepared request it
//! starts; so it becomes that nonblocking call, one for each request.
//!
//! MPI_Isendrecv has two requests in an archive, one for each half, and one here. A receive that
//! ends in MPI_Finalize was freed or forgotten before: it has a sender, but nothing waited for it.
//!
//! TAU records neither requests nor who waits for them: a send lies in MPI_Isend, a receive in the
//! wait that ended it. Receives are then taken to end in the order in which they began, and a wait
//! without a receive to be for sends.

use super::calls::{LocationCalls, RawCall};
use super::definitions::Definitions;
use super::events::{Collected, Event, Message};
use super::ids::root;
use super::processes::Communicators;
use super::sites::Sites;
use super::volume::{self, Factors};
use std::collections::{HashMap, HashSet, VecDeque};
use straggler_model::{Rank, Time};
use straggler_trace::call::{CommId, NO_COMM, special};
use straggler_trace::sites::NO_SITE;
use straggler_trace::{
    Call, Class, Completed, Details, Function, HowMany, Marks, Matched, Moment, RankTrace, RequestId, Start,
};

/// The partner in a message to or from MPI_PROC_NULL.
const NOBODY: Matched = Matched { peer: special::NOBODY, tag: special::NONE };

/// The clock of the run: its earliest tick, and the number of ticks per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    pub(super) zero: u64,
    pub(super) per_second: u64,
}

impl Ticks {
    /// Whole picoseconds since the beginning, rounded down; `None` if there are too many.
    pub(super) fn time(self, ticks: u64) -> Option<Time> {
        let ticks = u128::from(ticks.saturating_sub(self.zero));
        let ps = ticks * 1_000_000_000_000 / u128::from(self.per_second.max(1));
        u64::try_from(ps).ok().map(Time)
    }
}

/// Which kinds of records the writer of an archive uses at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Habits {
    pub(super) messages: bool,
    pub(super) requests: bool,
}

impl Habits {
    pub(super) fn new<'a>(facts: impl Iterator<Item = &'a Event>) -> Habits {
        let mut habits = Habits::default();
        for fact in facts {
            match fact {
                Event::Send(_) | Event::Recv(_) => habits.messages = true,
                Event::Isend(..) | Event::IrecvRequest(_) => {
                    habits = Habits { messages: true, requests: true }
                }
                _ => {}
            }
        }
        habits
    }
}

/// Counts of what was guessed, repaired or left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Doubts {
    /// Records of requests that no call had begun.
    pub(super) unknown_requests: u64,
    /// Collectives whose time is all that is known.
    pub(super) bare_collectives: u64,
    /// Requests that were matched by order.
    pub(super) guessed_requests: u64,
    /// Prepared operations represented as nonblocking ones.
    pub(super) started: u64,
}

/// Builds the calls of one rank.
pub(super) struct Building<'a> {
    pub(super) rank: Rank,
    pub(super) ticks: Ticks,
    pub(super) habits: Habits,
    pub(super) definitions: &'a Definitions,
    pub(super) communicators: &'a mut Communicators,
    sites: &'a mut Sites,
    pub(super) out: RankTrace,
    pub(super) doubts: Doubts,
    /// Keyed by the archive's numbers.
    requests: HashMap<u64, RequestId>,
    /// The call that made each request.
    makers: Vec<usize>,
    marks: Marks,
    receives_in_order: VecDeque<RequestId>,
    sends_in_order: VecDeque<RequestId>,
}

/// A call in the making.
struct Draft {
    call: Call,
    details: Details,
    has_message: bool,
    tested: bool,
    /// Requests with one half seen so far.
    halves: HashSet<RequestId>,
}

impl Draft {
    fn new(call: Call) -> Draft {
        let details = Details::default();
        Draft { call, details, has_message: false, tested: false, halves: HashSet::new() }
    }
}

impl<'a> Building<'a> {
    pub(super) fn new(
        rank: Rank,
        ticks: Ticks,
        habits: Habits,
        definitions: &'a Definitions,
        communicators: &'a mut Communicators,
        sites: &'a mut Sites,
    ) -> Building<'a> {
        Building {
            rank,
            ticks,
            habits,
            definitions,
            communicators,
            sites,
            out: RankTrace::default(),
            doubts: Doubts::default(),
            requests: HashMap::new(),
            makers: Vec::new(),
            marks: Marks::default(),
            receives_in_order: VecDeque::new(),
            sends_in_order: VecDeque::new(),
        }
    }

    /// Adds the calls of all threads, in order of time.
    pub(super) fn threads(&mut self, threads: &[LocationCalls]) -> Result<(), String> {
        let numbered = threads.iter().enumerate();
        let all = numbered.flat_map(|(thread, location)| location.calls.iter().map(move |raw| (thread, raw)));
        let mut all: Vec<(usize, &RawCall)> = all.collect();
        all.sort_by_key(|&(thread, raw)| (raw.enter, thread));
        for (thread, raw) in all {
            let Some(location) = threads.get(thread) else { continue };
            self.call(thread, raw, location)?;
            let site = self.sites.number(raw.site, self.definitions);
            self.out.sites.resize(self.out.calls.len(), site);
        }
        // Operations that MPI_Startall starts may begin later than the next call of another thread.
        let (calls, sites) = (std::mem::take(&mut self.out.calls), std::mem::take(&mut self.out.sites));
        let mut both: Vec<_> = calls.into_iter().zip(sites).collect();
        both.sort_by_key(|(call, _)| call.enter);
        (self.out.calls, self.out.sites) = both.into_iter().unzip();
        if self.out.sites.iter().all(|&site| site == NO_SITE) {
            self.out.sites = Vec::new();
        }
        Ok(())
    }

    fn call(&mut self, thread: usize, raw: &RawCall, location: &LocationCalls) -> Result<(), String> {
        let (facts, times) = (location.facts(raw), location.times(raw));
        let too_late = || format!("rank {}: is longer than 213 days", self.rank);
        let (enter, exit) = (self.ticks.time(raw.enter), self.ticks.time(raw.exit));
        let (enter, exit) = (enter.ok_or_else(too_late)?, exit.ok_or_else(too_late)?);
        let thread =
            u16::try_from(thread).map_err(|_| format!("rank {}: has too many threads", self.rank))?;
        let call = Call { thread, ..Call::new(raw.function, enter, exit) };
        if raw.function.class() == Class::Begin && facts.iter().any(|&fact| begun(fact).is_some()) {
            return self.started(call, facts);
        }
        let mut draft = Draft::new(call);
        let parameter = raw.parameter.and_then(|parameter| location.parameters.get(parameter as usize));
        self.name(&mut draft, raw.region, parameter);
        for &fact in facts {
            self.fact(&mut draft, fact)?;
        }
        draft.details.moment = self.moment(&draft.call, facts, times).and_then(Moment::new);
        self.finish(draft);
        Ok(())
    }

    /// When the message of a call was sent or its collective completed, if that is not the
    /// beginning or end of the call.
    fn moment(&self, call: &Call, facts: &[Event], times: &[u64]) -> Option<Time> {
        let is_send = |fact: &Event| matches!(fact, Event::Send(_) | Event::Isend(..));
        let mut told = facts.iter().zip(times).rev();
        let (fact, &ticks) =
            told.find(|(fact, _)| is_send(fact) || matches!(fact, Event::CollectiveEnd(_)))?;
        let usual = if is_send(fact) { call.enter } else { call.exit };
        self.ticks.time(ticks).filter(|&time| time != usual)
    }

    /// Adds started operations as the corresponding nonblocking ones. The first takes the time of the call.
    fn started(&mut self, call: Call, facts: &[Event]) -> Result<(), String> {
        let mut enter = call.enter;
        for &fact in facts {
            let Some(function) = begun(fact) else { continue };
            let call = Call { function, enter, ..call };
            let mut draft = Draft { has_message: true, ..Draft::new(call) };
            self.fact(&mut draft, fact)?;
            self.finish(draft);
            self.doubts.started += 1;
            enter = call.exit;
        }
        Ok(())
    }

    /// Keeps the name of a region without a function of its own as text.
    fn name(&mut self, draft: &mut Draft, region: Option<u32>, parameter: Option<&String>) {
        let name = region.and_then(|region| self.definitions.regions.get(&region)).map(|region| &region.name);
        match (draft.call.function, name) {
            (Function::Unknown, Some(name)) => {
                *self.out.unknown.entry(name.clone()).or_default() += 1;
                draft.details.rare.text = Some(name.clone());
            }
            (Function::RegionEnter | Function::RegionLeave, Some(name)) => {
                let text = parameter.map_or(name.clone(), |parameter| format!("{name}:{parameter}"));
                draft.details.rare.text = Some(text);
            }
            _ => {}
        }
    }

    fn comm(&mut self, number: u32) -> Result<CommId, String> {
        let comm = self.communicators.resolve(number, self.rank);
        comm.ok_or_else(|| format!("rank {}: communicator {number} is not defined", self.rank))
    }

    fn fact(&mut self, draft: &mut Draft, fact: Event) -> Result<(), String> {
        match fact {
            Event::Send(message) | Event::Isend(message, _) => self.sent(draft, message, fact)?,
            Event::Recv(message) => self.received(draft, message)?,
            Event::IrecvRequest(number) | Event::CollectiveRequest(number) => {
                draft.has_message = true;
                if let Class::Sendrecv(_) = draft.call.function.class() {
                    // The end of the request tells the source.
                    draft.details.receive = Some(NOBODY);
                }
                self.request(draft, Some(number));
            }
            Event::IsendComplete(number) => drop(self.completed(draft, number, false)),
            Event::RequestCancelled(number) => drop(self.completed(draft, number, true)),
            Event::Irecv(message, number) => {
                if let Some(maker) = self.completed(draft, number, false) {
                    self.fill_receive(maker, message)?;
                }
            }
            Event::RequestTest(number) => self.tested(draft, number),
            Event::CollectiveEnd(collected) => self.collective(&mut draft.call, collected)?,
            Event::CollectiveComplete(collected, number) => {
                if let Some(maker) = self.completed(draft, number, false) {
                    self.fill_collective(maker, collected)?;
                }
            }
            Event::CommCreate(number) if draft.call.function.class() != Class::Init => {
                let comm = self.comm(number)?;
                draft.details.rare.new_comm = Some(comm);
                // If not all members call, no collective record says what the communicator was made from.
                let parent = self.communicators.all.get(comm.index()).and_then(|comm| comm.parent);
                draft.call.comm = parent.unwrap_or(draft.call.comm);
            }
            Event::CommDestroy(number) if draft.call.function.class() == Class::FreeComm => {
                draft.call.comm = self.comm(number)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn sent(&mut self, draft: &mut Draft, message: Message, fact: Event) -> Result<(), String> {
        draft.has_message = true;
        draft.call.comm = self.comm(message.comm)?;
        draft.call.peer = message.peer as i32;
        draft.call.tag = message.tag as i32;
        draft.call.sent = message.bytes;
        if let Event::Isend(_, number) = fact {
            self.request(draft, Some(number));
        }
        Ok(())
    }

    fn received(&mut self, draft: &mut Draft, message: Message) -> Result<(), String> {
        draft.has_message = true;
        match draft.call.function.class() {
            Class::Sendrecv(_) => {
                let matched = Matched { peer: message.peer as i32, tag: message.tag as i32 };
                draft.details.receive = Some(matched);
                draft.call.comm = self.comm(message.comm)?;
            }
            Class::Wait(_) | Class::Test(_) => {
                let Some(request) = self.receives_in_order.pop_front() else {
                    self.doubts.unknown_requests += 1;
                    return Ok(());
                };
                self.doubts.guessed_requests += 1;
                self.complete(draft, request, false);
                let maker = self.makers.get(request.index()).copied().unwrap_or(usize::MAX);
                return self.fill_receive(maker, message);
            }
            _ => {
                draft.call.comm = self.comm(message.comm)?;
                draft.call.peer = message.peer as i32;
                draft.call.tag = message.tag as i32;
            }
        }
        draft.call.received = message.bytes;
        Ok(())
    }

    /// Gives the next number to a request that the call makes.
    fn request(&mut self, draft: &mut Draft, number: Option<u64>) -> RequestId {
        let is_half = matches!(draft.call.function.class(), Class::Sendrecv(_));
        if let (true, Some(number), true) = (is_half, number, draft.call.request != Call::NO_REQUEST) {
            self.requests.insert(number, draft.call.request);
            return draft.call.request;
        }
        let request = RequestId(self.makers.len() as u32);
        self.makers.push(self.out.calls.len());
        if let Some(number) = number {
            self.requests.insert(number, request);
        }
        if draft.call.request == Call::NO_REQUEST {
            draft.call.request = request;
        }
        request
    }

    /// Records a request that was tested and is still active.
    fn tested(&mut self, draft: &mut Draft, number: u64) {
        draft.tested = true;
        match self.requests.get(&number).copied() {
            Some(request) if self.is_second_half(draft, request) => {}
            Some(request) => draft.details.requests.push(request),
            None => self.doubts.unknown_requests += 1,
        }
    }

    /// Records the end of a request; returns the call that made it.
    fn completed(&mut self, draft: &mut Draft, number: u64, cancelled: bool) -> Option<usize> {
        let Some(&request) = self.requests.get(&number) else {
            self.doubts.unknown_requests += 1;
            return None;
        };
        self.complete(draft, request, cancelled);
        self.makers.get(request.index()).copied()
    }

    /// Whether a request already occurred in this call, as one request for two messages does.
    fn is_second_half(&self, draft: &mut Draft, request: RequestId) -> bool {
        let maker = self.makers.get(request.index()).and_then(|&maker| self.out.calls.get(maker));
        let is_half = maker.is_some_and(|call| matches!(call.function.class(), Class::Sendrecv(_)));
        is_half && !draft.halves.insert(request)
    }

    fn complete(&mut self, draft: &mut Draft, request: RequestId, cancelled: bool) {
        if draft.call.function.class() == Class::Finalize || self.is_second_half(draft, request) {
            return;
        }
        draft.details.requests.push(request);
        let several = matches!(
            draft.call.function.class(),
            Class::Wait(HowMany::Any | HowMany::Some) | Class::Test(HowMany::Any | HowMany::Some)
        );
        if several || cancelled {
            draft.details.completed.push(Completed { request, matched: None, cancelled });
        }
    }

    fn fill_receive(&mut self, maker: usize, message: Message) -> Result<(), String> {
        let comm = self.comm(message.comm)?;
        let Some(call) = self.out.calls.get_mut(maker) else { return Ok(()) };
        if let Class::Sendrecv(_) = call.function.class() {
            let matched = Matched { peer: message.peer as i32, tag: message.tag as i32 };
            if let Some(details) = self.out.details.get_mut(call.details as usize) {
                details.receive = Some(matched);
            }
        } else {
            call.peer = message.peer as i32;
            call.tag = message.tag as i32;
        }
        call.comm = comm;
        call.received = message.bytes;
        Ok(())
    }

    fn fill_collective(&mut self, maker: usize, collected: Collected) -> Result<(), String> {
        let Some(&call) = self.out.calls.get(maker) else { return Ok(()) };
        let mut call = call;
        if call.function == Function::Start {
            call.function = volume::nonblocking(collected.operation).unwrap_or(call.function);
        }
        self.collective(&mut call, collected)?;
        if let Some(place) = self.out.calls.get_mut(maker) {
            *place = call;
        }
        Ok(())
    }

    fn collective(&mut self, call: &mut Call, collected: Collected) -> Result<(), String> {
        let class = call.function.class();
        if matches!(class, Class::Init | Class::Finalize) {
            return Ok(());
        }
        call.comm = self.comm(collected.comm)?;
        call.peer = match collected.root {
            root::NONE => special::NONE,
            root::SELF => special::ROOT,
            root::THIS_GROUP => special::NOBODY,
            rank => rank as i32,
        };
        (call.sent, call.received) = (collected.sent, collected.received);
        if let (Class::Collective(operation, _), Some(comm)) =
            (class, self.communicators.all.get(call.comm.index()))
        {
            let is_scan =
                matches!(operation, straggler_trace::Collective::Scan | straggler_trace::Collective::Exscan);
            let me = if is_scan { comm.rank_of(self.rank).unwrap_or_default() } else { 0 };
            let factors = Factors::new(operation, comm.peers(self.rank).len() as u64, me.into());
            (call.sent, call.received) = factors.parts(collected.sent, collected.received);
        }
        Ok(())
    }

    fn finish(&mut self, mut draft: Draft) {
        let class = draft.call.function.class();
        if self.habits.requests {
            self.silent_partner(&mut draft, class);
        } else if self.habits.messages {
            self.without_requests(&mut draft, class);
        }
        // A prepared operation has its records where it is started.
        let is_collective = matches!(class, Class::Collective(_, start) | Class::Neighbor(_, start) if start != Start::Persistent);
        let is_bare = draft.call.comm == NO_COMM && draft.call.request == Call::NO_REQUEST;
        self.doubts.bare_collectives += u64::from(is_collective && is_bare);
        if !draft.details.requests.is_empty() {
            draft.details.found = match class {
                Class::Wait(_) => true,
                Class::Test(HowMany::One | HowMany::All) => !draft.tested,
                Class::Test(_) => !draft.details.completed.is_empty(),
                _ => false,
            };
        }
        if draft.details != Details::default() {
            let details = &mut self.out.details;
            draft.call.details = self.marks.place(draft.call.function, draft.details, details);
        }
        self.out.push(draft.call);
    }

    /// Fills in MPI_PROC_NULL, for which Score-P writes no records.
    fn silent_partner(&mut self, draft: &mut Draft, class: Class) {
        let is_null = match class {
            Class::Send(_, Start::Persistent) | Class::Recv(Start::Persistent) => false,
            Class::Send(..) | Class::Recv(_) => !draft.has_message,
            Class::Sendrecv(_) => draft.call.peer == special::NONE,
            _ => false,
        };
        if is_null {
            draft.call.peer = special::NOBODY;
        }
        if let (Class::Sendrecv(_), None) = (class, draft.details.receive) {
            draft.details.receive = Some(NOBODY);
        }
    }

    /// Matches requests by their order, for archives that record none.
    fn without_requests(&mut self, draft: &mut Draft, class: Class) {
        match class {
            Class::Send(_, Start::Nonblocking) => {
                let request = self.request(draft, None);
                self.sends_in_order.push_back(request);
            }
            Class::Recv(Start::Nonblocking) => {
                let request = self.request(draft, None);
                self.receives_in_order.push_back(request);
            }
            Class::Wait(HowMany::All) => self.end_sends(draft, usize::MAX),
            Class::Wait(HowMany::One) if !draft.has_message => self.end_sends(draft, 1),
            _ => {}
        }
    }

    fn end_sends(&mut self, draft: &mut Draft, most: usize) {
        for _ in 0..most.min(self.sends_in_order.len()) {
            if let Some(request) = self.sends_in_order.pop_front() {
                self.doubts.guessed_requests += 1;
                self.complete(draft, request, false);
            }
        }
    }
}

/// The nonblocking function that a record in MPI_Start stands for. For a collective, its end tells which.
fn begun(fact: Event) -> Option<Function> {
    match fact {
        Event::Isend(..) => Some(Function::Isend),
        Event::IrecvRequest(_) => Some(Function::Irecv),
        Event::CollectiveRequest(_) => Some(Function::Start),
        _ => None,
    }
}
