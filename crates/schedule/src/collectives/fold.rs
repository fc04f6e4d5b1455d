//! Exchanges between ranks whose numbers differ in one bit, for any number of processes.
//!
//! With P = 2^m + r processes, the first 2r ranks fold in pairs: the even rank hands its data to the odd one
//! before the rounds, rests, and gets its result back after them (Thakur, Rabenseifner and Gropp 2005). The
//! other ranks take 2^m places in order of rank, so that the blocks of a run of places, including those of
//! resting ranks, are contiguous. Algorithms differ in what they send: see [`Exchanges`].

use super::{COMBINE, Job, Meaning, PLACE, Take};
use crate::steps::{Message, Step, Steps};
use std::fmt::Debug;
use std::ops::Range;
use straggler_model::Rank;

/// Which ranks fold, and the places of the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fold {
    pub processes: u32,
    /// m, the number of doubling rounds.
    pub doublings: u32,
    /// r, the number of folded pairs.
    pub pairs: u32,
}

impl Fold {
    pub fn new(processes: u32) -> Fold {
        let processes = processes.max(1);
        let doublings = processes.ilog2();
        Fold { processes, doublings, pairs: processes - (1 << doublings) }
    }

    /// Number of places, 2^m.
    pub fn places(&self) -> u32 {
        1 << self.doublings
    }

    pub fn folds(&self, rank: Rank) -> bool {
        rank < 2 * self.pairs
    }

    /// Whether the rank takes no part in the rounds.
    pub fn rests(&self, rank: Rank) -> bool {
        self.folds(rank) && rank.is_multiple_of(2)
    }

    /// Place of a rank that does not rest.
    pub fn place(&self, rank: Rank) -> u32 {
        if self.folds(rank) { rank / 2 } else { rank - self.pairs }
    }

    pub fn rank(&self, place: u32) -> Rank {
        if place < self.pairs { 2 * place + 1 } else { place + self.pairs }
    }

    /// The blocks, one per rank, of a run of places.
    pub fn blocks(&self, places: Range<u32>) -> Range<u64> {
        let first = |place: u32| u64::from(place) + u64::from(place.min(self.pairs));
        first(places.start)..first(places.end)
    }
}

/// What an algorithm sends, as byte ranges of the operation's data.
pub trait Exchanges: Debug + Send + Sync {
    fn job(&self) -> &Job;
    fn fold(&self) -> &Fold;
    fn rounds(&self) -> u32;
    /// The bit in which partners differ in a round.
    fn bit(&self, round: u32) -> u32;
    fn sent(&self, place: u32, round: u32) -> Range<u64>;
    /// Whether a rank combines the data it receives.
    fn combines(&self, turn: Turn) -> bool;
    /// What a resting rank gives away before the rounds.
    fn handed_over(&self, rank: Rank) -> Range<u64>;
    /// What a resting rank gets back after the rounds.
    fn given_back(&self, rank: Rank) -> [Range<u64>; 2];
    fn largest_message(&self) -> u64;
}

/// What a rank does in a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    HandOver,
    Round(u32),
    GiveBack,
}

/// The schedule of these exchanges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folded<E>(pub E);

impl<E: Exchanges> Folded<E> {
    #[inline]
    fn turn(&self, rank: Rank, stage: u32) -> Turn {
        let (fold, rounds) = (self.0.fold(), self.0.rounds());
        let before = u32::from(fold.folds(rank));
        if stage < before {
            Turn::HandOver
        } else if fold.rests(rank) || stage - before == rounds {
            Turn::GiveBack
        } else {
            Turn::Round(stage - before)
        }
    }

    fn exchange(&self, place: u32, round: u32) -> Step {
        let partner = place ^ (1 << self.0.bit(round));
        let peer = self.0.fold().rank(partner);
        let message = |place| Message { peer, tag: round + 1, bytes: length(&self.0.sent(place, round)) };
        Step::exchange(message(place), message(partner))
    }

    /// The message between the ranks of a pair; `rests` is the resting one.
    fn within_pair(&self, peer: Rank, rests: Rank, turn: Turn) -> Message {
        match turn {
            Turn::HandOver => Message { peer, tag: 0, bytes: length(&self.0.handed_over(rests)) },
            _ => {
                let bytes = self.0.given_back(rests).iter().map(length).sum();
                Message { peer, tag: self.0.rounds() + 1, bytes }
            }
        }
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

impl<E: Exchanges> Steps for Folded<E> {
    fn processes(&self) -> u32 {
        self.0.fold().processes
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        let (fold, rounds) = (self.0.fold(), self.0.rounds());
        match (fold.folds(rank), fold.rests(rank)) {
            (_, true) => 2,
            (true, false) => rounds + 2,
            (false, false) => rounds,
        }
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let turn = self.turn(rank, stage);
        let rests = self.0.fold().rests(rank);
        let step = match turn {
            Turn::Round(round) => self.exchange(self.0.fold().place(rank), round),
            Turn::HandOver if rests => Step::send(self.within_pair(rank + 1, rank, turn)),
            Turn::HandOver => Step::recv(self.within_pair(rank - 1, rank - 1, turn)),
            Turn::GiveBack if rests => Step::recv(self.within_pair(rank + 1, rank, turn)),
            Turn::GiveBack => Step::send(self.within_pair(rank - 1, rank - 1, turn)),
        };
        match step.recv {
            Some(received) if self.0.combines(turn) => step.after(self.0.job().cost(received.bytes)),
            _ => step,
        }
    }

    fn largest_message(&self) -> u64 {
        self.0.largest_message()
    }

    fn messages(&self) -> u64 {
        let fold = self.0.fold();
        u64::from(self.0.rounds()) * u64::from(fold.places()) + 2 * u64::from(fold.pairs)
    }
}

impl<E: Exchanges> Meaning for Folded<E> {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        match self.turn(rank, stage) {
            Turn::HandOver => vec![self.0.handed_over(rank)],
            Turn::Round(round) => vec![self.0.sent(self.0.fold().place(rank), round)],
            Turn::GiveBack => self.0.given_back(rank - 1).to_vec(),
        }
    }

    fn takes(&self, rank: Rank, stage: u32) -> &'static [Take] {
        if self.0.combines(self.turn(rank, stage)) { COMBINE } else { PLACE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_ranks_are_inverse() {
        for processes in 1..70 {
            let fold = Fold::new(processes);
            let active: Vec<Rank> = (0..processes).filter(|&rank| !fold.rests(rank)).collect();
            assert_eq!(active.len() as u32, fold.places());
            for (place, rank) in (0..).zip(active) {
                assert_eq!((fold.place(rank), fold.rank(place)), (place, rank));
                assert!(fold.blocks(place..place + 1).contains(&u64::from(rank)));
            }
            assert_eq!(fold.blocks(0..fold.places()), 0..u64::from(processes));
        }
    }

    #[test]
    fn the_largest_number_of_processes_does_not_overflow() {
        let fold = Fold::new((1 << 31) - 1);
        assert!(fold.rests(0) && fold.folds(2 * fold.pairs - 1));
        assert_eq!(fold.rank(fold.places() - 1), (1 << 31) - 2);
        assert_eq!(Fold::new(1 << 31).pairs, 0);
    }
}
