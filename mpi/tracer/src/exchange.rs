//! The only communication this library adds: an exchange of times when MPI begins and when it ends.
//!
//! Ranks form a binomial tree. Every rank except 0 asks its parent for the time, in several rounds,
//! and keeps the fastest: the answer was read between its own two readings. On the way down, rank 0
//! also announces the id of the run and where its streams go.

use crate::abi::{Handle, abi};
use crate::site::pmpi;
use crate::{clock, output};
use straggler_trace::format::block::BlockKind;
use straggler_trace::format::exchange as keys;
use straggler_trace::format::write::Pairs;

/// What rank 0 sends to all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub struct Run {
    pub id: [u8; 16],
    /// The number of the run under one command: from the second on, its streams get their own folder.
    pub number: u64,
}

/// The best of several rounds, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Best {
    partner: u32,
    before: u64,
    theirs: u64,
    after: u64,
    rounds: u64,
}

const TAG: usize = 77;
const MOST_ROUNDS: u64 = 16;
/// If a round takes long, because processes share cores, a few must suffice.
const FEW_ROUNDS: u64 = 3;
const ENOUGH_NS: u64 = 2_000_000;

/// Passes through the tree. `run` is set on rank 0 and becomes the same on all ranks.
pub fn exchange(comm: Handle, rank: u32, size: u32, run: &mut Run) -> Option<Best> {
    let lowest = if rank == 0 { size.next_power_of_two() } else { rank & rank.wrapping_neg() };
    let best = (rank > 0).then(|| ask(comm, rank & (rank - 1), run));
    let mut step = lowest / 2;
    while step > 0 {
        if let Some(child) = rank.checked_add(step).filter(|&child| child < size) {
            answer(comm, child, run);
        }
        step /= 2;
    }
    best
}

/// Asks the parent.
fn ask(comm: Handle, partner: u32, run: &mut Run) -> Best {
    receive(comm, partner, run);
    let begun = clock::nanoseconds();
    let mut best = Best { partner, before: 0, theirs: 0, after: u64::MAX, rounds: 0 };
    loop {
        let over = best.rounds + 1 == MOST_ROUNDS
            || best.rounds + 1 >= FEW_ROUNDS && clock::nanoseconds() > begun + ENOUGH_NS;
        let (mut more, mut theirs) = (u64::from(!over), 0u64);
        let before = clock::ticks();
        send(comm, partner, &mut more);
        receive(comm, partner, &mut theirs);
        let after = clock::ticks();
        best.rounds += 1;
        if after.wrapping_sub(before) < best.after.wrapping_sub(best.before) {
            best = Best { before, theirs, after, ..best };
        }
        if over {
            return best;
        }
    }
}

/// Answers a child for as long as it asks.
fn answer(comm: Handle, child: u32, run: &mut Run) {
    send(comm, child, run);
    let mut more = 1u64;
    while more != 0 {
        receive(comm, child, &mut more);
        let mut now = clock::ticks();
        send(comm, child, &mut now);
    }
}

fn send<T>(comm: Handle, to: u32, value: &mut T) {
    pmpi!(Send(value as *mut T, size_of::<T>(), abi().byte, to, TAG, comm));
}

fn receive<T>(comm: Handle, from: u32, value: &mut T) {
    pmpi!(Recv(value as *mut T, size_of::<T>(), abi().byte, from, TAG, comm, abi().status_ignore));
}

/// Writes the measurement into the stream.
pub fn note(best: &Best, at_end: bool) {
    let pairs = Pairs::new()
        .number(keys::WHEN, u64::from(at_end))
        .number(keys::PARTNER, u64::from(best.partner))
        .number(keys::BEFORE, best.before)
        .number(keys::THEIRS, best.theirs)
        .number(keys::AFTER, best.after)
        .number(keys::ROUNDS, best.rounds);
    output::write_pairs(BlockKind::Clock, pairs);
}
