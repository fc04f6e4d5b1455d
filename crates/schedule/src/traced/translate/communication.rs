//! Calls that send, receive or take part in a collective.

use super::{Prepared, RankReader, Site};
use crate::collectives::Operation;
use crate::traced::behind::{Behind, InstructionPlaces};
use crate::traced::collective::{Join, Series, operation_of};
use crate::traced::error::TraceError;
use crate::traced::notes::Reason;
use crate::traced::reading::{Pattern, WildReceive};
use crate::traced::recording::{Asked, How, Instruction};

use crate::workloads::Only;
use straggler_model::{Rank, Tag, Time};
use straggler_trace::call::{NO_COMM, special};
use straggler_trace::operations::Operation as Traced;
use straggler_trace::{
    Call, Class, Collective, CommId, Communicator, Details, Function, Matched, Mode, Neighbors, Start,
};

/// Internal tag of neighbourhood collectives; tags of programs are not negative.
const NEIGHBORS: i64 = -16;

/// Added to the tags of messages in partitions; tags of programs are smaller.
const PARTITIONED: i64 = 1 << 32;

/// What a receive asked for, and what it found in the traced run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought {
    asked: Matched,
    found: Matched,
}

/// Bytes of the allreduce that models the agreement on a new communicator.
const AGREEMENT: u64 = 8;

impl<'a> RankReader<'_, 'a> {
    /// Translates an operation, given by its row. `by` is the call that begins it: `site`, which
    /// describes it, or a later call for persistent requests.
    pub(super) fn operate(
        &mut self,
        by: &Site<'a>,
        site: &Site<'a>,
        start: Start,
        row: u32,
    ) -> Result<(), TraceError> {
        let Some(&operation) = self.operations.get(row) else { return Ok(()) };
        let blocking = start == Start::Blocking;
        if self.left_out(site, &operation) {
            return Ok(());
        }
        let places = match site.call.function.class() {
            Class::Send(mode, _) => self.send(by, site, mode, blocking)?,
            Class::Partitioned { sends: true } => self.send(by, site, Mode::Standard, blocking)?,
            Class::Recv(_) | Class::MatchedRecv(_) | Class::Partitioned { .. } => {
                self.receive(by, site, blocking, &operation)?
            }
            Class::Sendrecv(_) => self.send_and_receive(by, site, &operation)?,
            Class::Collective(kind, _) => self.collective(by, site, kind, blocking)?,
            Class::Neighbor(kind, _) => self.neighbors(by, site, kind)?,
            _ => InstructionPlaces::default(),
        };
        match (blocking, site.call.function.class()) {
            (true, Class::Sendrecv(_) | Class::Neighbor(..)) => {
                self.await_all(by, places.iter().collect(), Asked::Waited);
            }
            (true, _) => {}
            // Only a collective without a model has no instructions, or one in which this process takes no part.
            (false, Class::Collective(..) | Class::Neighbor(..))
                if places.is_empty() && site.call.peer != special::NOBODY =>
            {
                self.become_of(row, Behind::NotReplayed);
            }
            (false, _) => self.become_of(row, Behind::Instructions(places)),
        }
        Ok(())
    }

    /// Whether an operation was cancelled or filtered out.
    fn left_out(&mut self, site: &Site<'_>, operation: &Traced) -> bool {
        if operation.is_cancelled() {
            self.shared.notes.count(Reason::Cancelled, site.call.function);
            return true;
        }
        let collective = matches!(site.call.function.class(), Class::Collective(..) | Class::Neighbor(..));
        match self.shared.options.only {
            Only::All => false,
            Only::P2p => collective,
            Only::Collectives => !collective,
        }
    }

    /// The peer of a message as a rank of the schedule, and its tag; `None` for MPI_PROC_NULL.
    fn partner(
        &mut self,
        site: &Site<'_>,
        comm: CommId,
        other: Matched,
    ) -> Result<Option<(Rank, Tag)>, TraceError> {
        let me = self.rank;
        let communicator = self.communicator(site, comm)?;
        if other.peer == special::NOBODY {
            return Ok(None);
        }
        let fault = TraceError::NoPeer {
            rank: self.rank,
            call: site.index,
            function: site.call.function,
            comm,
            peer: other.peer,
        };
        let peer = communicator.world_rank(me, other.peer).ok_or(fault)?;
        // Messages in partitions only match each other.
        let is_partitioned = matches!(site.call.function.class(), Class::Partitioned { .. });
        let tag = i64::from(other.tag) + if is_partitioned { PARTITIONED } else { 0 };
        Ok(Some((peer, self.shared.tag(comm, tag)?)))
    }

    fn send(
        &mut self,
        by: &Site<'_>,
        site: &Site<'_>,
        mode: Mode,
        blocking: bool,
    ) -> Result<InstructionPlaces, TraceError> {
        let reason = match mode {
            Mode::Standard | Mode::Ready => None,
            Mode::Buffered => Some(Reason::Buffered),
            Mode::Synchronous => Some(Reason::Synchronous),
        };
        reason.into_iter().for_each(|reason| self.shared.notes.count(reason, site.call.function));
        let Call { comm, peer, tag, sent: bytes, .. } = *site.call;
        let Some((to, tag)) = self.partner(site, comm, Matched { peer, tag })? else {
            return Ok(InstructionPlaces::default());
        };
        // A buffered send completes once its bytes are in the buffer, whatever their size: it never
        // waits for the receiver.
        let buffered = mode == Mode::Buffered;
        let how =
            How { blocking: blocking && !buffered, answered: mode == Mode::Synchronous, ..How::default() };
        let place = self.emit(by, Instruction::Send { bytes, to, tag, how });
        Ok(if buffered { InstructionPlaces::default() } else { place.into() })
    }

    fn receive(
        &mut self,
        by: &Site<'_>,
        site: &Site<'_>,
        blocking: bool,
        operation: &Traced,
    ) -> Result<InstructionPlaces, TraceError> {
        let comm = self.operations.comm(operation).unwrap_or(NO_COMM);
        if comm == NO_COMM {
            // MPI_MESSAGE_NO_PROC, or a message that is not in the trace.
            if operation.source.peer != special::NOBODY {
                self.shared.notes.count(Reason::NeverMatched, site.call.function);
            }
            return Ok(InstructionPlaces::default());
        }
        if self.shared.reaches_out.get(comm.index()) == Some(&true) {
            self.take_time_for(site, Reason::OtherWorld, site.call.function.name());
            return Ok(InstructionPlaces::default());
        }
        let call = site.call;
        let own = Matched { peer: call.peer, tag: call.tag };
        let kept = matches!(call.function.class(), Class::MatchedRecv(_));
        // A matched receive accepts exactly its probe's message, unless it is translated at the
        // place of the probe: then it accepts what the probe asked for.
        let asked = self.looked_for.map_or(if kept { operation.source } else { own }, |(_, asked)| asked);
        self.receive_from(by, site, comm, Sought { asked, found: operation.source }, blocking)
    }

    /// Receives the message recorded in the trace; dropped if the trace does not identify it.
    fn receive_from(
        &mut self,
        by: &Site<'_>,
        site: &Site<'_>,
        comm: CommId,
        Sought { asked, found: from }: Sought,
        blocking: bool,
    ) -> Result<InstructionPlaces, TraceError> {
        let is_open = |value: i32| value == special::ANY || value == special::NONE;
        if from.peer != special::NOBODY && (is_open(from.peer) || is_open(from.tag)) {
            self.shared.notes.count(Reason::NeverMatched, site.call.function);
            return Ok(InstructionPlaces::default());
        }
        let Some((from, tag)) = self.partner(site, comm, from)? else {
            return Ok(InstructionPlaces::default());
        };
        let how = How { blocking, ..How::default() };
        let bytes = site.call.received;
        let place = self.emit(by, Instruction::Recv { bytes, from, tag, how });
        if self.decides && (asked.peer == special::ANY || asked.tag == special::ANY) {
            let exact = asked.peer != special::ANY;
            let pattern = Pattern {
                comm: self.shared.side(comm),
                from: exact.then_some(from),
                tag: (asked.tag != special::ANY).then_some(i64::from(asked.tag)),
            };
            self.wild.push(WildReceive { instruction: place.number, pattern });
        }
        Ok(place.into())
    }

    /// Both begin together. Posting a receive costs nothing, so it comes first, as in MPI libraries.
    fn send_and_receive(
        &mut self,
        by: &Site<'_>,
        site: &Site<'_>,
        operation: &Traced,
    ) -> Result<InstructionPlaces, TraceError> {
        let own = Matched { peer: site.call.peer, tag: site.call.tag };
        let sought = Sought { asked: site.details.receive.unwrap_or(own), found: operation.source };
        let mut places = self.receive_from(by, site, site.call.comm, sought, false)?;
        self.send(by, site, Mode::Standard, false)?.iter().for_each(|place| places.push(place));
        Ok(places)
    }

    fn collective(
        &mut self,
        by: &Site<'_>,
        site: &Site<'_>,
        kind: Collective,
        blocking: bool,
    ) -> Result<InstructionPlaces, TraceError> {
        let operation = operation_of(kind);
        let root = if operation.has_root() { site.call.peer } else { 0 };
        self.join(by, site, site.call.comm, operation, root, blocking)
    }

    fn join(
        &mut self,
        by: &Site<'_>,
        site: &Site<'_>,
        comm: CommId,
        operation: Operation,
        root: i32,
        blocking: bool,
    ) -> Result<InstructionPlaces, TraceError> {
        let (rank, index, function) = (self.rank, site.index, site.call.function);
        let communicator = self.communicator(site, comm)?;
        if communicator.is_between_groups() {
            return self.join_between(by, site, comm, operation, blocking);
        }
        let size = communicator.members.len();
        let root = u32::try_from(root)
            .ok()
            .filter(|&root| (root as usize) < size)
            .ok_or(TraceError::NoPeer { rank, call: index, function, comm, peer: root })?;
        let member = self.seat(site, comm)?.member;
        let (series, number) = self.next_of_series(site, comm)?;
        let Site { call, details, .. } = *site;
        let join = Join { rank, index, call, details, comm, series, member, operation, root, blocking };
        self.take_part(by, number, &join, communicator)
    }

    fn take_part(
        &mut self,
        by: &Site<'_>,
        number: usize,
        join: &Join<'_>,
        group: &Communicator,
    ) -> Result<InstructionPlaces, TraceError> {
        let processes = self.shared.trace.processes();
        let call = self.shared.collectives.join(number, join, group, processes)?;
        let how = How { blocking: join.blocking, ..How::default() };
        Ok(self.emit(by, Instruction::Collective { call, member: join.member, how }).into())
    }

    /// Takes part in a collective between two groups. One with a root is among the root and the other group; any other
    /// is modelled as one of both groups together, though no data moves within a group.
    fn join_between(
        &mut self,
        by: &Site<'_>,
        site: &Site<'_>,
        comm: CommId,
        operation: Operation,
        blocking: bool,
    ) -> Result<InstructionPlaces, TraceError> {
        let (rank, index, function) = (self.rank, site.index, site.call.function);
        let (own, comm) = (self.communicator(site, comm)?, self.shared.side(comm));
        let Communicator { members, remote, .. } = self.communicator(site, comm)?;
        let peer = site.call.peer;
        if operation.has_root() && peer == special::NOBODY {
            return Ok(InstructionPlaces::default());
        }
        self.shared.notes.count(Reason::BetweenGroups, function);
        let root = match operation.has_root() {
            false => None,
            true if peer == special::ROOT => Some(rank),
            true => {
                let fault = TraceError::NoPeer { rank, call: index, function, comm, peer };
                Some(own.world_rank(rank, peer).ok_or(fault)?)
            }
        };
        let group = match root {
            None => [&members[..], &remote[..]].concat(),
            Some(root) if members.contains(&root) => [&[root], &remote[..]].concat(),
            Some(root) => [&[root], &members[..]].concat(),
        };
        let group = Communicator { members: group, ..Communicator::default() };
        let member =
            group.rank_of(rank).ok_or(TraceError::NotAMember { rank, call: index, function, comm })?;
        let series = match (self.prepared.get_mut(&index), root) {
            (Some(prepared), _) => {
                prepared.starts += 1;
                (Series::Prepared(prepared.number), prepared.starts - 1)
            }
            (None, root) => {
                let count = self.between.entry((comm, root)).or_default();
                *count += 1;
                (root.map_or(Series::Called, Series::Rooted), *count - 1)
            }
        };
        // Sizes are listed for the other group only.
        let mut details = site.details.clone();
        let before = if members.contains(&rank) { members.len() } else { 0 };
        if let Some(rare) = details.rare.get_mut().filter(|_| operation == Operation::Alltoallv) {
            for sizes in
                [&mut rare.sent_sizes, &mut rare.received_sizes].into_iter().filter(|list| !list.is_empty())
            {
                let listed = std::mem::replace(sizes, vec![0; group.members.len()]);
                let places = sizes.iter_mut().skip(before);
                places.zip(listed).for_each(|(place, bytes)| *place = bytes);
            }
        }
        let (series, number) = series;
        let (call, details) = (site.call, &details);
        let join = Join { rank, index, call, details, comm, series, member, operation, root: 0, blocking };
        self.take_part(by, number, &join, &group)
    }

    /// The number of a collective in the order that all members share.
    fn next_of_series(&mut self, site: &Site<'_>, comm: CommId) -> Result<(Series, usize), TraceError> {
        if let Some(prepared) = self.prepared.get_mut(&site.index) {
            prepared.starts += 1;
            return Ok((Series::Prepared(prepared.number), prepared.starts - 1));
        }
        let seat = self.seat(site, comm)?;
        seat.collectives += 1;
        Ok((Series::Called, seat.collectives - 1))
    }

    /// Handles a persistent request. Collectives are numbered in the order of their initialisation.
    pub(super) fn prepare(&mut self, site: &Site<'_>) {
        if matches!(site.call.function.class(), Class::Collective(..))
            && let Ok(seat) = self.seat(site, site.call.comm)
        {
            let number = seat.prepared;
            seat.prepared += 1;
            self.prepared.insert(site.index, Prepared { number, starts: 0 });
        }
    }

    /// Takes part in a synchronisation that the program did not request explicitly.
    fn join_plainly(
        &mut self,
        site: &Site<'_>,
        comm: CommId,
        operation: Operation,
        bytes: u64,
    ) -> Result<(), TraceError> {
        let call = Call { sent: bytes, received: 0, ..*site.call };
        let nothing = Details::default();
        let plain = Site { call: &call, details: &nothing, ..*site };
        let blocking = site.call.request == Call::NO_REQUEST;
        let places = self.join(site, &plain, comm, operation, 0, blocking)?;
        if let Some(row) = site.row.filter(|_| !blocking) {
            self.become_of(row, Behind::Instructions(places));
        }
        Ok(())
    }

    pub(super) fn new_communicator(&mut self, site: &Site<'_>) -> Result<(), TraceError> {
        if site.call.comm == NO_COMM || self.shared.options.only == Only::P2p {
            self.time_only(site, Reason::TimeOnly);
            return Ok(());
        }
        self.join_plainly(site, site.call.comm, Operation::Allreduce, AGREEMENT)?;
        let work = self.work_together(site);
        self.threads[usize::from(site.thread)].computed += work;
        self.shared.notes.count_time(Reason::AsAllreduce, site.call.function.name(), work);
        Ok(())
    }

    /// The time that a call took after the last member had entered.
    fn work_together(&self, site: &Site<'_>) -> Time {
        let number = u32::try_from(site.index).unwrap_or(u32::MAX);
        let blocking = site.call.request == Call::NO_REQUEST;
        if let Some(alone) = site.details.alone.filter(|_| blocking) {
            return alone;
        }
        let complete = self.shared.complete.get(&(self.rank, number)).filter(|_| blocking);
        complete.map_or(Time::ZERO, |&last| site.call.exit.since(site.call.enter.max(last)))
    }

    pub(super) fn synchronise_window(&mut self, site: &Site<'_>) -> Result<(), TraceError> {
        let window = self.windows.at(site.details, site.call.comm, site.call.function);
        if let Some(window) = window.filter(|_| site.call.function == Function::Win_fence) {
            self.complete_transfers(site, window)?;
        }
        let comm =
            if site.call.comm == NO_COMM { window.map(|window| window.comm) } else { Some(site.call.comm) };
        match comm.filter(|_| self.shared.options.only != Only::P2p) {
            Some(comm) => {
                self.shared.notes.count(Reason::AsBarrier, site.call.function);
                self.join_plainly(site, comm, Operation::Barrier, 0)
            }
            None => {
                self.time_only(site, Reason::TimeOnly);
                Ok(())
            }
        }
    }

    /// A message to and from every neighbour, all started at once.
    fn neighbors(
        &mut self,
        by: &Site<'_>,
        site: &Site<'_>,
        kind: Collective,
    ) -> Result<InstructionPlaces, TraceError> {
        let comm = site.call.comm;
        let member = self.seat(site, comm)?.member as usize;
        let communicator = self.communicator(site, comm)?;
        let Some(neighbors) = communicator.neighbors.get(member) else {
            self.take_time_for(site, Reason::NoNeighbors, site.call.function.name());
            return Ok(InstructionPlaces::default());
        };
        self.exchange(by, site, communicator, neighbors, kind)
    }

    fn exchange(
        &mut self,
        by: &Site<'_>,
        site: &Site<'_>,
        communicator: &Communicator,
        neighbors: &Neighbors,
        kind: Collective,
    ) -> Result<InstructionPlaces, TraceError> {
        let tag = self.shared.tag(site.call.comm, NEIGHBORS)?;
        let how = How::default();
        let mut places = InstructionPlaces::default();
        for &peer in neighbors.sources.iter().filter(|&&peer| peer != special::NOBODY) {
            let from = self.member(site, communicator, peer)?;
            places.push(self.emit(by, Instruction::Recv { bytes: 0, from, tag, how }));
        }
        for (place, &peer) in neighbors.destinations.iter().enumerate() {
            if peer == special::NOBODY {
                continue;
            }
            let to = self.member(site, communicator, peer)?;
            let own = site.details.sent_sizes.get(place).copied();
            // All neighbours get the same amount, unless the collective has a size for each.
            let own = own.filter(|_| matches!(kind, Collective::Alltoallv | Collective::Alltoallw));
            let bytes = own.unwrap_or(site.call.sent);
            places.push(self.emit(by, Instruction::Send { bytes, to, tag, how }));
        }
        Ok(places)
    }

    fn member(&self, site: &Site<'_>, communicator: &Communicator, peer: i32) -> Result<Rank, TraceError> {
        let member = usize::try_from(peer).ok().and_then(|peer| communicator.members.get(peer).copied());
        member.ok_or(TraceError::NoPeer {
            rank: self.rank,
            call: site.index,
            function: site.call.function,
            comm: site.call.comm,
            peer,
        })
    }
}
