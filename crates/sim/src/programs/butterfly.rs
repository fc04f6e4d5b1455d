//! The redundant-exchange butterfly (Chen and Suda), in compute–communicate cycles: an allreduce in which
//! what a process sends depends on what has arrived.
//!
//! With 2^K processes, level l is the reduction over a group of 2^l neighbours. A process that has level l
//! sends it to the process whose number differs in bit l, and gets level l + 1 from what that process sends.
//! Both ends of a round-0 exchange have the same data from level 1 on. So each of them may hand its level to
//! the other, which can continue with it if its own partner is held up by noise. A process that gets ahead
//! this way still sends in every round it has skipped, because others wait for these messages.
//!
//! Messages of a process go out one after the other, in the order in which they became possible.

use crate::agenda::{Batch, InProgress};
use crate::checkpoint::{Unsound, ensure};
use crate::host::OneLane;
use crate::program::Program;
use crate::release::{Arrived, Release};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use straggler_model::units::grouped;
use straggler_model::{Rank, Time};
use straggler_schedule::{Operation, OperationKind};

/// When a process hands its level to its neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Redundancy {
    /// Never: the conventional butterfly.
    Never,
    /// At the levels whose bits are set. The paper's set, all rounds but the first, is levels 1 to K - 1.
    Levels(u32),
    /// At these levels, if nothing was heard from the neighbour for more than `patience` levels. Neighbours
    /// only exchange messages in the first round, so a neighbour that is on time but hands nothing over also
    /// looks late after a while.
    WhenLate { levels: u32, patience: u8 },
}

impl Redundancy {
    /// All rounds except the first.
    pub const ALL: Redundancy = Redundancy::Levels(!1);
}

/// Compute–communicate cycles with a butterfly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Butterfly {
    rounds: u8,
    cycles: u32,
    compute: Time,
    bytes: u64,
    growth: u32,
    redundancy: Redundancy,
}

/// Invalid parameters of a butterfly.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ButterflyError {
    #[error(
        "the number of processes must be a power of two, at most 2^31, not {}; the nearest are {} and {}",
        grouped(*.0),
        grouped(*.1),
        grouped(*.2)
    )]
    NotAPowerOfTwo(u32, u32, u32),
    #[error("{0} cycles are too many: at most {most}", most = Butterfly::MOST_CYCLES)]
    TooManyCycles(u32),
}

impl Butterfly {
    /// A tag holds the cycle and the round.
    pub const MOST_CYCLES: u32 = 1 << 24;

    pub fn new(processes: u32, cycles: u32, compute: Time) -> Result<Butterfly, ButterflyError> {
        if !processes.is_power_of_two() {
            let above = processes.checked_next_power_of_two().unwrap_or(1 << 31);
            return Err(ButterflyError::NotAPowerOfTwo(processes, (above / 2).max(1), above));
        }
        if cycles > Self::MOST_CYCLES {
            return Err(ButterflyError::TooManyCycles(cycles));
        }
        let rounds = processes.trailing_zeros() as u8;
        Ok(Butterfly { rounds, cycles, compute, bytes: 8, growth: 1, redundancy: Redundancy::Never })
    }

    /// Bytes of a message in the first round, and the factor by which they grow from round to round.
    pub fn with_messages(self, bytes: u64, growth: u32) -> Butterfly {
        Butterfly { bytes, growth, ..self }
    }

    pub fn with_redundancy(self, redundancy: Redundancy) -> Butterfly {
        Butterfly { redundancy, ..self }
    }

    /// The largest number of messages a run can have. Whether a redundant one is sent depends on the run.
    pub fn messages(&self) -> u64 {
        let processes = 1u64 << self.rounds;
        let redundant = match self.redundancy {
            Redundancy::Never => 0,
            Redundancy::Levels(levels) | Redundancy::WhenLate { levels, .. } => {
                (levels & self.levels()).count_ones()
            }
        };
        processes * u64::from(self.cycles) * u64::from(u32::from(self.rounds) + redundant)
    }

    /// Bit mask of the levels a process can hand over during an exchange.
    fn levels(&self) -> u32 {
        ((1u64 << self.rounds) - 1) as u32 & !1
    }

    fn message_bytes(&self, level: u8) -> u64 {
        let factor = u64::from(self.growth).checked_pow(u32::from(level)).unwrap_or(u64::MAX);
        self.bytes.saturating_mul(factor).min(crate::outcome::RunError::LARGEST_MESSAGE)
    }

    /// What to send next, or whether to continue with the next cycle.
    fn next(&self, state: &Exchange) -> Next {
        if state.handing {
            return Next::HandOver;
        }
        if state.sent < state.queued {
            return Next::Exchange;
        }
        if state.level >= self.rounds { Next::Done } else { Next::Wait }
    }

    /// Queues the sends of all rounds that have become possible. As in the paper's algorithm, this also
    /// decides which levels are handed over, before their turn comes.
    #[inline]
    fn queue(&self, state: &mut Exchange) {
        while state.queued <= state.level && state.queued < self.rounds {
            state.owed |= u32::from(self.hands_over(state, state.queued)) << state.queued;
            state.queued += 1;
        }
    }

    /// Whether to hand a level to the neighbour after having sent it in its own round.
    fn hands_over(&self, state: &Exchange, level: u8) -> bool {
        // A level that came from the neighbour need not go back.
        let had_from_neighbour = state.handed > level;
        let chosen = |levels: u32| level > 0 && levels >> level & 1 == 1 && !had_from_neighbour;
        match self.redundancy {
            Redundancy::Never => false,
            Redundancy::Levels(levels) => chosen(levels),
            Redundancy::WhenLate { levels, patience } => {
                chosen(levels) && level.saturating_sub(state.heard()) > patience
            }
        }
    }

    /// Starts the next operation, unless one is in progress.
    #[inline]
    fn act(&self, state: &mut Exchange, release: &mut impl FnMut(Release)) {
        if state.busy {
            return;
        }
        loop {
            let kind = match self.next(state) {
                Next::Wait => return,
                Next::Done => {
                    state.begin_cycle();
                    if state.cycle >= self.cycles {
                        return;
                    }
                    if self.compute == Time::ZERO {
                        self.queue(state);
                        continue;
                    }
                    OperationKind::Calc
                }
                Next::Exchange | Next::HandOver => OperationKind::Send,
            };
            state.busy = true;
            return release(Release { id: kind as u32, kind, cpu: 0, nic: 0, ready: Time::ZERO });
        }
    }

    fn tag(cycle: u32, level: u8, redundant: bool) -> u32 {
        cycle << 7 | u32::from(level) << 1 | u32::from(redundant)
    }
}

enum Next {
    Wait,
    /// Send the level to the partner of its round.
    Exchange,
    /// Hand the level that was sent last to the neighbour.
    HandOver,
    Done,
}

/// What a process knows about its current cycle and the next. No process can be further ahead, because the
/// next cycle cannot end without this one.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Exchange {
    cycle: u32,
    /// Rounds whose message has arrived, in this cycle and in the next.
    got: u32,
    got_ahead: u32,
    /// Levels to hand over once they have been sent in their round, as bits.
    owed: u32,
    /// The highest level the process has.
    level: u8,
    /// How many rounds it has sent in or is about to send in.
    queued: u8,
    /// How many rounds it has sent in.
    sent: u8,
    /// The highest level the neighbour has handed over, plus one; 0 for none.
    handed: u8,
    handed_ahead: u8,
    /// Whether the level that was sent last is being handed over.
    handing: bool,
    /// Whether an operation is in progress.
    busy: bool,
}

impl Exchange {
    /// The neighbour's level, as far as known.
    fn heard(&self) -> u8 {
        self.handed.saturating_sub(1)
    }

    fn begin_cycle(&mut self) {
        *self = Exchange {
            cycle: self.cycle + 1,
            got: self.got_ahead,
            handed: self.handed_ahead,
            ..Exchange::default()
        };
        self.climb();
    }

    /// Raises the level as far as what has arrived allows.
    #[inline]
    fn climb(&mut self) {
        self.level = self.level.max(self.heard());
        while self.got >> self.level & 1 == 1 {
            self.level += 1;
        }
    }
}

impl Program for Butterfly {
    type Host = OneLane;
    type Agenda = Batch;
    type Local = Exchange;
    type Block = ();
    const TAKES_ARRIVALS: bool = true;

    fn processes(&self) -> u32 {
        1 << self.rounds
    }

    fn largest_message(&self) -> u64 {
        if self.rounds == 0 { 0 } else { self.message_bytes(0).max(self.message_bytes(self.rounds - 1)) }
    }

    fn block(&self, _: Range<Rank>) {}

    fn start(&self, _: Rank, state: &mut Exchange, _: &mut (), release: &mut impl FnMut(Release)) {
        if self.cycles == 0 {
            return;
        }
        if self.compute > Time::ZERO {
            state.busy = true;
            let kind = OperationKind::Calc;
            return release(Release { id: kind as u32, kind, cpu: 0, nic: 0, ready: Time::ZERO });
        }
        self.queue(state);
        self.act(state, release);
    }

    #[inline]
    fn operation(
        &self,
        rank: Rank,
        state: &Exchange,
        _: &Self::Block,
        kind: OperationKind,
        _: u32,
    ) -> Operation {
        if kind == OperationKind::Calc {
            return Operation::calc(self.compute);
        }
        let (level, peer, redundant) = if state.handing {
            (state.sent - 1, rank ^ 1, true)
        } else {
            (state.sent, rank ^ (1 << state.sent), false)
        };
        Operation::send(self.message_bytes(level), peer, Self::tag(state.cycle, level, redundant))
    }

    fn started(&self, _: Rank, _: &mut Exchange, _: &mut (), _: u32, _: Time, _: &mut impl FnMut(Release)) {}

    #[inline]
    fn completed(
        &self,
        _: Rank,
        state: &mut Exchange,
        _: &mut (),
        id: u32,
        _: Time,
        release: &mut impl FnMut(Release),
    ) {
        state.busy = false;
        if id == OperationKind::Calc as u32 {
            self.queue(state);
        } else if state.handing {
            state.handing = false;
        } else {
            state.handing = state.owed >> state.sent & 1 == 1;
            state.sent += 1;
        }
        self.act(state, release);
    }

    #[inline]
    fn arrived(
        &self,
        _: Rank,
        state: &mut Exchange,
        _: &mut (),
        message: Arrived,
        _: Time,
        release: &mut impl FnMut(Release),
    ) {
        let (cycle, level, redundant) =
            (message.tag >> 7, (message.tag >> 1 & 63) as u8, message.tag & 1 == 1);
        // A message for a past cycle is of no use any more.
        if cycle < state.cycle || state.cycle >= self.cycles {
            return;
        }
        let ahead = cycle > state.cycle;
        debug_assert!(cycle <= state.cycle + 1);
        match (redundant, ahead) {
            (false, false) => state.got |= 1 << level,
            (false, true) => state.got_ahead |= 1 << level,
            (true, false) => state.handed = state.handed.max(level + 1),
            (true, true) => state.handed_ahead = state.handed_ahead.max(level + 1),
        }
        if !ahead {
            state.climb();
            // During the computation, the process's own contribution is missing.
            if state.queued > 0 {
                self.queue(state);
                self.act(state, release);
            }
        }
    }

    fn check(
        &self,
        _: Range<Rank>,
        states: &[Exchange],
        _: &(),
        in_progress: &[InProgress],
    ) -> Result<(), Unsound> {
        let rounds = self.rounds;
        let is_mask = |bits: u32| u64::from(bits) >> rounds == 0;
        for (state, in_progress) in states.iter().zip(in_progress) {
            let levels = [state.level, state.queued, state.handed, state.handed_ahead];
            let fits = levels.into_iter().all(|level| level <= rounds)
                && state.sent <= state.queued
                && [state.got, state.got_ahead, state.owed].into_iter().all(is_mask)
                && (!state.handing || state.sent > 0)
                && state.cycle <= self.cycles;
            ensure(fits, "a process is in a round that does not exist")?;
            let is_sending = state.handing || state.sent < state.queued;
            let fits = match *in_progress.ready {
                [(kind, ..)] => {
                    state.busy && is_sending == (kind == OperationKind::Send) && kind != OperationKind::Recv
                }
                _ => in_progress.ready.is_empty() && (!state.busy || is_sending),
            };
            // Without a ready operation, a busy process waits for the acknowledgement of its send.
            let waits = state.busy && in_progress.ready.is_empty();
            let fits =
                fits && in_progress.acknowledged.len() <= usize::from(waits) && in_progress.posted.is_empty();
            ensure(fits && (!state.busy || state.cycle < self.cycles), "a process works on something else")?;
        }
        Ok(())
    }

    fn can_arrive(&self, to: &Exchange, message: Arrived) -> bool {
        let (cycle, level) = (message.tag >> 7, (message.tag >> 1 & 63) as u8);
        level < self.rounds && cycle <= to.cycle.saturating_add(1)
    }

    fn has_send(&self, _: Rank, _: u32) -> bool {
        true
    }

    fn finished(&self, _: Rank, state: &Exchange, _: &()) -> bool {
        state.cycle >= self.cycles
    }
}
