//! Translates the calls of a rank into instructions.

mod communication;
mod completion;
mod windows;

use super::behind::{Behind, InstructionPlace, InstructionPlaces};
use super::error::TraceError;
use super::notes::Reason;
use super::options::{Begin, Decisions, Progress};
use super::reading::{ReadRank, ReadThread, Shared, WildReceive, assembled, init_exit};
use super::recording::Instruction;
use super::transfers::Windows;
use std::collections::HashMap;
use straggler_model::{Rank, Time};
use straggler_trace::call::NO_COMM;
use straggler_trace::operations::{Acted, Operations};
use straggler_trace::{Call, Class, CommId, Communicator, Details, Function, Matched, Start};
use windows::SomeProcesses;

/// Computation between polls is noted if it takes more than one part in this many of the run.
const MUCH: u64 = 50;

/// Reader of one rank.
pub(super) struct RankReader<'s, 'a> {
    shared: &'s mut Shared<'a>,
    rank: Rank,
    operations: &'s Operations<'a>,
    /// What each operation was translated to, by row.
    behind: Vec<Behind>,
    threads: Vec<Thread>,
    thread_of: HashMap<u16, u16>,
    /// Index of the last call of each thread.
    last_calls: HashMap<u16, usize>,
    /// The rank's place in each communicator used, and its collectives there.
    seats: HashMap<CommId, Seat>,
    /// Collectives on intercommunicators, by communicator and root.
    between: HashMap<(CommId, Option<Rank>), usize>,
    windows: Windows,
    /// Open epochs among some processes, by the number of the window on this rank.
    epochs: HashMap<u32, SomeProcesses>,
    /// Persistent collectives, by the call that initialised them.
    prepared: HashMap<usize, Prepared>,
    /// When the rank's clock starts.
    start: Time,
    end: Time,
    finalized: bool,
    /// Whether the replay decides open outcomes.
    decides: bool,
    wild: Vec<WildReceive>,
    /// What the probe asked for, while its receive is translated at the place of the probe.
    looked_for: Option<(CommId, Matched)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seat {
    member: u32,
    collectives: usize,
    /// Number of persistent collectives initialised.
    prepared: u32,
}

/// A persistent collective: its number on the communicator, and how often it was started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prepared {
    number: u32,
    starts: usize,
}

#[derive(Debug)]
struct Thread {
    read: ReadThread,
    /// Computation not yet covered by an instruction.
    computed: Time,
    last_exit: Time,
    /// Whether the last call was an unsuccessful test or probe.
    polling: bool,
    /// Unsuccessful polls that the trace recorded as a count, until another call follows.
    polls: Option<Polls>,
    /// Time since the last poll, if only marks followed it: waiting if the next poll comes soon.
    held: Option<Time>,
    /// When the current run of unsuccessful polls began, and the computation up to then.
    polled_since: Option<(Time, Time)>,
    /// The receive that was already translated at its probe.
    received: Option<usize>,
    /// Unsuccessful tests during the computation not yet covered by an instruction.
    asks: Vec<Ask>,
    between_polls: BetweenPolls,
}

/// Computation between unsuccessful tests or probes. A loop that sleeps between them only waits, which the trace does not
/// show.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BetweenPolls {
    gaps: u64,
    time: Time,
}

/// An unsuccessful test.
#[derive(Debug)]
struct Ask {
    origin: u32,
    /// Computation done before the test.
    after: Time,
    of: Vec<InstructionPlace>,
    all: bool,
    calls: u32,
}

/// Unsuccessful tests and probes that overlap in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Polls {
    start: Time,
    end: Time,
    inside: Time,
    calls: u64,
}

/// A call of the trace, with its index and thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    index: usize,
    thread: u16,
    call: &'a Call,
    details: &'a Details,
    /// The operation that the call itself begins, if any.
    row: Option<u32>,
}

/// Why a call that should communicate cannot be replayed, if so.
fn unusable(reaches_out: &[bool], site: &Site<'_>) -> Option<Reason> {
    let class = site.call.function.class();
    let communicates = matches!(
        class,
        Class::Send(..)
            | Class::Recv(_)
            | Class::Sendrecv(_)
            | Class::Collective(..)
            | Class::Neighbor(..)
            | Class::Partitioned { .. }
    );
    let together = matches!(class, Class::NewComm { collective: true } | Class::Epoch { collective: true });
    let messages = communicates || matches!(class, Class::MatchedRecv(_));
    if messages && site.details.has_failed() {
        Some(Reason::Failed)
    } else if communicates && site.call.comm == NO_COMM {
        Some(Reason::NoCommunicator)
    } else if (communicates || together) && reaches_out.get(site.call.comm.index()) == Some(&true) {
        Some(Reason::OtherWorld)
    } else {
        None
    }
}

impl<'s, 'a> RankReader<'s, 'a> {
    pub fn new(shared: &'s mut Shared<'a>, rank: Rank, operations: &'s Operations<'a>) -> Self {
        let traced = operations.traced();
        let own = init_exit(traced).or(traced.calls.first().map(|call| call.enter));
        // Which thread comes first depends on timing, so nothing can be decided in a threaded rank.
        let threaded = traced.calls.iter().any(|call| call.thread > 0);
        let decides = shared.options.decisions != Decisions::AsRecorded && !threaded;
        let start = match shared.options.begin {
            Begin::AsTraced => shared.origin,
            Begin::Together => own.unwrap_or(shared.origin),
        };
        RankReader {
            shared,
            rank,
            operations,
            behind: vec![Behind::Instructions(InstructionPlaces::default()); operations.rows().len()],
            threads: Vec::new(),
            thread_of: HashMap::new(),
            last_calls: traced.calls.iter().enumerate().map(|(index, call)| (call.thread, index)).collect(),
            seats: HashMap::new(),
            between: HashMap::new(),
            windows: Windows::default(),
            epochs: HashMap::new(),
            prepared: HashMap::new(),
            start,
            end: start,
            finalized: false,
            decides,
            wild: Vec::new(),
            looked_for: None,
        }
    }

    pub fn read(mut self) -> Result<ReadRank, TraceError> {
        for acted in self.operations.walk() {
            let Acted { call, details, .. } = acted;
            if self.finalized {
                self.shared.notes.count(Reason::AfterFinalize, call.function);
                continue;
            }
            let index = acted.number as usize;
            let thread = self.thread(call.thread, index)?;
            let row = acted.rows().map(|(row, _)| row).next();
            let site = Site { index, thread, call, details, row };
            self.pass_time(&site);
            self.translate(&site, &acted)?;
        }
        let calls = self.operations.traced().calls.len();
        let last = u32::try_from(calls.saturating_sub(1)).unwrap_or(u32::MAX);
        for thread in &mut self.threads {
            thread.settle_polls(self.shared.options.spin);
            thread.flush(last);
        }
        let length = self.end.since(self.start);
        for BetweenPolls { gaps, time } in self.threads.iter().map(|thread| thread.between_polls) {
            if time.ps() > length.ps() / MUCH {
                self.shared.notes.compute_between_polls(self.rank, gaps, time);
            }
        }
        let threads = self.threads.into_iter().map(|thread| thread.read).collect();
        let read = assembled(self.rank, threads, self.end.since(self.start))?;
        Ok(ReadRank { wild: self.wild, taken: taken_by_probes(self.operations), ..read })
    }

    /// The number of a thread within the rank.
    fn thread(&mut self, thread: u16, index: usize) -> Result<u16, TraceError> {
        if let Some(&known) = self.thread_of.get(&thread) {
            return Ok(known);
        }
        if let Some(ended) = self.ended_before(index) {
            let number = self.thread_of.remove(&ended).unwrap_or_default();
            self.thread_of.insert(thread, number);
            self.threads[usize::from(number)].settle_polls(self.shared.options.spin);
            return Ok(number);
        }
        let number = self.threads.len();
        // The library's thread is another one.
        let more = usize::from(self.shared.options.progress == Progress::Thread);
        if number + more > usize::from(u8::MAX) {
            return Err(TraceError::TooManyThreads { rank: self.rank, threads: number + 1 });
        }
        self.threads.push(Thread {
            read: ReadThread::default(),
            computed: Time::ZERO,
            last_exit: self.start,
            polling: false,
            polls: None,
            held: None,
            polled_since: None,
            received: None,
            asks: Vec::new(),
            between_polls: BetweenPolls::default(),
        });
        self.thread_of.insert(thread, number as u16);
        Ok(number as u16)
    }

    /// A thread that made its last call before this one. The new thread takes its place, so that
    /// programs may start any number of threads.
    fn ended_before(&self, index: usize) -> Option<u16> {
        let enter = self.operations.traced().calls.get(index)?.enter;
        let ended = |&(thread, &number): &(&u16, &u16)| {
            let is_over = self.last_calls.get(thread).is_some_and(|&last| last < index);
            is_over && self.threads[usize::from(number)].last_exit <= enter
        };
        self.thread_of.iter().filter(ended).min_by_key(|&(_, &number)| number).map(|(&thread, _)| thread)
    }

    /// Counts the time since the thread's last call as computation, unless the thread was polling.
    fn pass_time(&mut self, site: &Site<'_>) {
        let spin = self.shared.options.spin;
        let class = site.call.function.class();
        let polls = matches!(class, Class::Test(_) | Class::Probe { .. });
        let thread = &mut self.threads[usize::from(site.thread)];
        let held = thread.held.take();
        let gap = held.unwrap_or_default() + site.call.enter.since(thread.last_exit);
        thread.last_exit = thread.last_exit.max(site.call.exit);
        if class == Class::Mark && thread.polling {
            // A polling loop may mark regions.
            thread.held = Some(gap);
            self.end = self.end.max(site.call.exit);
            return;
        }
        if !polls {
            thread.settle_polls(spin);
            thread.polled_since = None;
        } else if held.is_some() && gap >= spin {
            thread.polled_since = None;
        }
        if !(thread.polling && polls && gap < spin) {
            thread.computed += gap;
            if thread.polling && polls {
                thread.between_polls.add(1, gap);
            }
        }
        thread.polling = false;
        // MPI_Finalize and everything after it are not part of the run.
        let end = if class == Class::Finalize { site.call.enter } else { site.call.exit };
        self.end = self.end.max(end);
    }

    fn translate(&mut self, site: &Site<'a>, acted: &Acted<'_, 'a>) -> Result<(), TraceError> {
        if self.threads[usize::from(site.thread)].received.take_if(|call| *call == site.index).is_some() {
            return Ok(());
        }
        if let Some(reason) = unusable(&self.shared.reaches_out, site) {
            self.time_only(site, reason);
            return Ok(());
        }
        match site.call.function.class() {
            Class::Init => self.threads[usize::from(site.thread)].computed = site.call.exit.since(self.start),
            Class::Finalize => self.finalized = true,
            Class::Send(_, start)
            | Class::Recv(start)
            | Class::Sendrecv(start)
            | Class::MatchedRecv(start)
            | Class::Collective(_, start)
            | Class::Neighbor(_, start) => match start {
                Start::Persistent => self.prepare(site),
                _ => acted.rows().try_for_each(|(row, _)| self.operate(site, site, start, row))?,
            },
            // It is sent or received once it is started and ready.
            Class::Partitioned { .. } if site.call.comm != NO_COMM => {}
            Class::Begin | Class::Ready => self.begin(site, acted)?,
            Class::Probe { blocking, .. } => self.probe(site, blocking)?,
            Class::Wait(_) => self.wait(site, acted),
            Class::Test(_) => self.test(site, acted),
            // A freed request still completes, but no call waits for it.
            Class::Drop => {}
            Class::NewComm { collective: true } => self.new_communicator(site)?,
            Class::Epoch { collective: true } => self.synchronise_window(site)?,
            Class::Mark => self.take_time(site),
            Class::Epoch { .. } if self.epoch(site)? => {}
            Class::OneSided if self.transfer(site) => {}
            Class::NewComm { .. }
            | Class::FreeComm
            | Class::OneSided
            | Class::Partitioned { .. }
            | Class::Epoch { .. }
            | Class::Other => {
                self.time_only(site, Reason::TimeOnly);
            }
        }
        Ok(())
    }

    /// Counts the time of a call as computation.
    fn take_time(&mut self, site: &Site<'_>) {
        self.threads[usize::from(site.thread)].computed += site.call.exit.since(site.call.enter);
    }

    /// Counts the time of a call as computation, and notes the reason.
    fn take_time_for(&mut self, site: &Site<'_>, reason: Reason, name: &str) {
        self.take_time(site);
        let time = site.call.exit.since(site.call.enter);
        self.shared.notes.count_unmodelled(reason, name, time, self.rank);
    }

    /// Handles a call without a model.
    fn time_only(&mut self, site: &Site<'_>, reason: Reason) {
        let told = site.details.text.as_deref().filter(|_| site.call.function == Function::Unknown);
        self.take_time_for(site, reason, told.unwrap_or(site.call.function.name()));
        site.row.into_iter().for_each(|row| self.become_of(row, Behind::NotReplayed));
    }

    /// Records what an operation was translated to.
    fn become_of(&mut self, row: u32, behind: Behind) {
        if let Some(known) = self.behind.get_mut(row as usize) {
            *known = behind;
        }
    }

    /// Appends an instruction to a thread, after its pending computation.
    fn emit(&mut self, site: &Site<'_>, instruction: Instruction) -> InstructionPlace {
        let origin = u32::try_from(site.index).unwrap_or(u32::MAX);
        let thread = &mut self.threads[usize::from(site.thread)];
        thread.flush(origin);
        let number = thread.read.push(origin, instruction);
        InstructionPlace { thread: site.thread, number }
    }

    /// The communicator that a call names.
    fn communicator(&self, site: &Site<'_>, comm: CommId) -> Result<&'a Communicator, TraceError> {
        self.shared.trace.communicators.get(comm.index()).ok_or(TraceError::NoCommunicator {
            rank: self.rank,
            call: site.index,
            function: site.call.function,
            comm,
        })
    }

    fn seat(&mut self, site: &Site<'_>, comm: CommId) -> Result<&mut Seat, TraceError> {
        let fault =
            TraceError::NotAMember { rank: self.rank, call: site.index, function: site.call.function, comm };
        let (rank, comm) = (self.rank, self.shared.side(comm));
        let Communicator { members, remote, .. } = self.communicator(site, comm)?;
        match self.seats.entry(comm) {
            std::collections::hash_map::Entry::Occupied(seat) => Ok(seat.into_mut()),
            std::collections::hash_map::Entry::Vacant(empty) => {
                let member = members.iter().chain(remote).position(|&member| member == rank).ok_or(fault)?;
                Ok(empty.insert(Seat { member: member as u32, collectives: 0, prepared: 0 }))
            }
        }
    }
}

/// Computation between `calls` polls that took `length` in all, of which `inside` was spent in the calls. It
/// is the time between polls, or zero if the gaps are shorter than `spin`: then the thread was only waiting.
pub fn computed_between(length: Time, inside: Time, calls: u64, spin: Time) -> Time {
    let between = length.since(inside);
    let gaps = calls.saturating_sub(1).max(1);
    if Time(between.ps() / gaps) >= spin { between } else { Time::ZERO }
}

impl BetweenPolls {
    fn add(&mut self, gaps: u64, time: Time) {
        self.gaps += gaps;
        self.time += time;
    }
}

impl Thread {
    /// Counts the time between polls as computation.
    fn settle_polls(&mut self, spin: Time) {
        self.computed += self.held.take().unwrap_or_default();
        let Some(polls) = self.polls.take() else { return };
        let computed = computed_between(polls.end.since(polls.start), polls.inside, polls.calls, spin);
        self.computed += computed;
        if computed > Time::ZERO {
            self.between_polls.add(polls.calls.saturating_sub(1), computed);
        }
    }

    /// Turns the pending computation into instructions.
    fn flush(&mut self, origin: u32) {
        let computed = std::mem::take(&mut self.computed);
        self.polled_since = None;
        for Ask { origin, after, of, all, calls } in std::mem::take(&mut self.asks) {
            let (first, count) = (self.read.waits.len() as u32, of.len() as u32);
            self.read.waits.extend(of);
            let after = after.min(computed);
            self.read.push(origin, Instruction::Poll { first, count, all, calls, after });
        }
        if computed > Time::ZERO {
            self.read.push(origin, Instruction::Calc(computed));
        }
    }
}

impl ReadThread {
    fn push(&mut self, origin: u32, instruction: Instruction) -> u32 {
        self.instructions.push(instruction);
        self.origins.push(origin);
        (self.instructions.len() - 1) as u32
    }
}

/// Receives whose message an earlier probe took.
fn taken_by_probes(operations: &Operations<'_>) -> Vec<(u32, u32)> {
    let both = operations.rows().iter().map(|operation| (operation.begun, operations.posted(operation)));
    let mut taken: Vec<(u32, u32)> = both.filter(|(begun, posted)| posted < begun).collect();
    taken.sort_unstable();
    taken
}
