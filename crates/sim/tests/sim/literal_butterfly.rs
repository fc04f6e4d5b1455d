//! Algorithm 2 of Chen and Suda as it is printed: `round`, `datagot` and a queue of sends, with nothing shared
//! with the real program. The paper leaves its loop after the last send; here a process also waits for the
//! last message, without which it has no result.

use std::ops::Range;
use straggler_model::{Rank, Time};
use straggler_schedule::{Operation, OperationKind};
use straggler_sim::Program;
use straggler_sim::agenda::{InProgress, Queues};
use straggler_sim::checkpoint::Unsound;
use straggler_sim::host::OneLane;
use straggler_sim::release::{Arrived, Release};

pub struct Literal {
    pub k: u32,
    pub cycles: u32,
    pub compute: Time,
    /// Values of `round` after its increment.
    pub redundant_rounds: Vec<u32>,
}

/// The number of cycles that are distinguished.
const CYCLES: usize = 64;

#[derive(Clone, Copy)]
pub struct State {
    cycle: u32,
    round: u32,
    computing: bool,
    sending: bool,
    datagot: [[bool; 20]; CYCLES],
    /// Redundant messages that came before their cycle: the largest source round.
    early: [u32; CYCLES],
    queue: [(Rank, u32); 48],
    first: usize,
    last: usize,
}

/// Checkpoints are not supported.
impl serde::Serialize for State {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("not kept"))
    }
}

impl<'de> serde::Deserialize<'de> for State {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("not kept"))
    }
}

impl Default for State {
    fn default() -> State {
        State {
            cycle: 0,
            round: 0,
            computing: false,
            sending: false,
            datagot: [[false; 20]; CYCLES],
            early: [0; CYCLES],
            queue: [(0, 0); 48],
            first: 0,
            last: 0,
        }
    }
}

impl State {
    fn enqueue(&mut self, target: Rank, redundant: bool) {
        let tag = (self.cycle * 64 + self.round) * 2 + u32::from(redundant);
        self.queue[self.last % 48] = (target, tag);
        self.last += 1;
    }

    fn has(&self, level: u32) -> bool {
        level == 0 || self.datagot[self.cycle as usize][level as usize]
    }
}

impl Literal {
    /// Lines 5 to 10.
    fn exchange(&self, rank: Rank, state: &mut State) {
        while state.round < self.k && state.has(state.round) {
            let target = rank ^ (1 << state.round);
            state.round += 1;
            state.enqueue(target, false);
            if self.redundant_rounds.contains(&state.round) {
                state.enqueue(rank ^ 1, true);
            }
        }
    }

    /// Lines 15 to 17.
    fn catch_up(&self, rank: Rank, state: &mut State, src_round: u32) {
        while state.round < src_round {
            let target = rank ^ (1 << state.round);
            state.round += 1;
            state.enqueue(target, false);
        }
    }

    fn begin(&self, rank: Rank, state: &mut State) {
        state.computing = false;
        self.exchange(rank, state);
        self.catch_up(rank, state, state.early[state.cycle as usize]);
        self.exchange(rank, state);
    }

    fn go_on(&self, rank: Rank, state: &mut State, release: &mut impl FnMut(Release)) {
        while !state.sending && !state.computing && state.cycle < self.cycles {
            if state.first < state.last {
                state.sending = true;
                return release(released(OperationKind::Send));
            }
            if state.round < self.k || !state.has(self.k) {
                return;
            }
            (state.cycle, state.round) = (state.cycle + 1, 0);
            if state.cycle < self.cycles && self.compute > Time::ZERO {
                state.computing = true;
                return release(released(OperationKind::Calc));
            }
            self.begin(rank, state);
        }
    }
}

fn released(kind: OperationKind) -> Release {
    Release { id: kind as u32, kind, cpu: 0, nic: 0, ready: Time::ZERO }
}

impl Program for Literal {
    type Host = OneLane;
    type Agenda = Queues;
    type Local = State;
    type Block = ();
    const TAKES_ARRIVALS: bool = true;

    fn processes(&self) -> u32 {
        1 << self.k
    }
    fn largest_message(&self) -> u64 {
        1
    }
    fn block(&self, _: Range<Rank>) {}
    fn start(&self, rank: Rank, state: &mut State, _: &mut (), release: &mut impl FnMut(Release)) {
        if self.compute > Time::ZERO {
            state.computing = true;
            return release(released(OperationKind::Calc));
        }
        self.begin(rank, state);
        self.go_on(rank, state, release);
    }
    fn operation(&self, _: Rank, state: &State, _: &Self::Block, kind: OperationKind, _: u32) -> Operation {
        let (peer, tag) = state.queue[state.first % 48];
        if kind == OperationKind::Calc {
            Operation::calc(self.compute)
        } else {
            Operation::send(1, peer, tag)
        }
    }
    fn started(&self, _: Rank, _: &mut State, _: &mut (), _: u32, _: Time, _: &mut impl FnMut(Release)) {}
    fn completed(
        &self,
        rank: Rank,
        state: &mut State,
        _: &mut (),
        id: u32,
        _: Time,
        release: &mut impl FnMut(Release),
    ) {
        if id == OperationKind::Calc as u32 {
            self.begin(rank, state);
        } else {
            state.sending = false;
            state.first += 1;
        }
        self.go_on(rank, state, release);
    }
    fn arrived(
        &self,
        rank: Rank,
        state: &mut State,
        _: &mut (),
        message: Arrived,
        _: Time,
        release: &mut impl FnMut(Release),
    ) {
        let (cycle, src_round) = (message.tag / 128, message.tag / 2 % 64);
        if message.tag.is_multiple_of(2) {
            state.datagot[cycle as usize][src_round as usize] = true;
        } else if cycle > state.cycle {
            state.early[cycle as usize] = state.early[cycle as usize].max(src_round);
        } else if cycle == state.cycle {
            self.catch_up(rank, state, src_round);
        }
        if cycle == state.cycle && !state.computing && cycle < self.cycles {
            self.exchange(rank, state);
            self.go_on(rank, state, release);
        }
    }
    fn check(&self, _: Range<Rank>, _: &[State], _: &(), _: &[InProgress]) -> Result<(), Unsound> {
        Ok(())
    }
    fn has_send(&self, _: Rank, _: u32) -> bool {
        true
    }
    fn finished(&self, _: Rank, state: &State, _: &()) -> bool {
        state.cycle == self.cycles
    }
}
