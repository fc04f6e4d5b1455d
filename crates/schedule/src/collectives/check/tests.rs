//! The checker finds faults: each mutant of a correct algorithm gets the expected verdict.

mod exchanges;

use super::{Fault, check};
use crate::collectives::{Algorithm, Collective, Job, Meaning, Operation, Take};
use crate::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::{Rank, Time};

/// A correct algorithm, broken in the steps of rank 1.
#[derive(Debug)]
struct Mutant {
    right: Collective,
    mutation: Mutation,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Mutation {
    /// Rank 1 sends its first message to the rank after the one it should.
    WrongPeer,
    /// Rank 1 does not take its last step.
    StopsEarly,
    /// What rank 1 receives replaces what it has.
    Forgets,
    /// What rank 1 receives is combined with itself.
    CountsTwice,
    /// Rank 1 sends a byte less than it should.
    ShortMessage,
    /// Rank 1's message carries a byte less than its stated size.
    CarriesLess,
    /// Rank 1 does not pay for its reductions.
    FreeReduction,
    /// Rank 1 does not wait for its last step to complete.
    Hurries,
    /// Rank 1's first message has a different tag.
    WrongTag,
    /// Rank 1 sends other data of the same size.
    WrongData,
    /// Rank 1 sends in each step what it should send in the next.
    SendsEarly,
}

impl Steps for Mutant {
    fn processes(&self) -> u32 {
        self.right.processes()
    }
    fn stages(&self, rank: Rank) -> u32 {
        let stages = self.right.stages(rank);
        let shorter = matches!(self.mutation, Mutation::StopsEarly | Mutation::SendsEarly);
        stages - u32::from(rank == 1 && shorter)
    }
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let step = self.right.step(rank, stage);
        let last = stage + 1 == self.right.stages(rank);
        let send = |change: &dyn Fn(Message) -> Message| Step { send: step.send.map(change), ..step };
        match self.mutation {
            _ if rank != 1 => step,
            Mutation::WrongPeer if stage == 0 => {
                send(&|m| Message { peer: (m.peer + 1) % self.processes(), ..m })
            }
            Mutation::WrongTag if stage == 0 => send(&|m| Message { tag: m.tag + 77, ..m }),
            Mutation::ShortMessage => send(&|m| Message { bytes: m.bytes - 1, ..m }),
            Mutation::FreeReduction => step.after(Time::ZERO),
            Mutation::Hurries if last => step.go(),
            Mutation::SendsEarly => Step { send: self.right.step(rank, stage + 1).send, ..step },
            _ => step,
        }
    }
    fn largest_message(&self) -> u64 {
        self.right.largest_message()
    }
}

impl Meaning for Mutant {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let early = u32::from(rank == 1 && self.mutation == Mutation::SendsEarly);
        let mut carried = self.right.carries(rank, stage + early);
        if let Some(range) = carried.last_mut().filter(|_| rank == 1 && self.mutation == Mutation::WrongData)
        {
            *range = 0..range.end - range.start;
        }
        let less = matches!(self.mutation, Mutation::ShortMessage | Mutation::CarriesLess);
        if let Some(range) = carried.last_mut().filter(|_| rank == 1 && less) {
            range.end -= 1;
        }
        carried
    }
    fn takes(&self, rank: Rank, stage: u32) -> &'static [Take] {
        use crate::collectives::{Buffer::Work, PLACE};
        match self.mutation {
            Mutation::Forgets if rank == 1 => PLACE,
            Mutation::CountsTwice if rank == 1 => &[Take::Combine(Work), Take::Combine(Work)],
            _ => self.right.takes(rank, stage),
        }
    }
}

fn verdict(operation: Operation, algorithm: &str, mutation: Mutation) -> Fault {
    let job = Job { reduction: straggler_model::network::PerByte::from_ps(3), ..Job::new(8, 40) };
    let right = Algorithm::parse(operation, algorithm).unwrap().build(operation, &job).unwrap();
    assert!(check(operation, &job, &right).is_ok());
    check(operation, &job, &Mutant { right, mutation }).unwrap_err()
}

#[test]
fn mutants_of_an_allreduce() {
    let verdict = |mutation| verdict(Operation::Allreduce, "recursive-doubling", mutation);
    assert!(matches!(verdict(Mutation::WrongPeer), Fault::NoPeer { rank: 1, .. } | Fault::Deadlock { .. }));
    assert!(matches!(verdict(Mutation::WrongTag), Fault::Deadlock { .. }));
    assert!(matches!(verdict(Mutation::StopsEarly), Fault::Deadlock { .. }));
    assert!(matches!(verdict(Mutation::Forgets), Fault::Reduction { .. }));
    assert!(matches!(verdict(Mutation::CountsTwice), Fault::Reduction { rank: 1, .. }));
    assert!(matches!(verdict(Mutation::ShortMessage), Fault::ReceiveDiffers { from: 1, .. }));
    assert!(matches!(verdict(Mutation::CarriesLess), Fault::SizeDiffers { rank: 1, .. }));
    assert!(matches!(verdict(Mutation::FreeReduction), Fault::Reduction { rank: 1, .. }));
    assert!(matches!(verdict(Mutation::Hurries), Fault::EndsOpen { rank: 1 }));
}

#[test]
fn a_sum_that_is_wrong_is_found() {
    // With free reductions, only the wrong sums themselves can reveal the fault.
    let job = Job::new(8, 40);
    let right =
        || Algorithm::parse(Operation::Allreduce, "ring").unwrap().build(Operation::Allreduce, &job).unwrap();
    let fault =
        |mutation| check(Operation::Allreduce, &job, &Mutant { right: right(), mutation }).unwrap_err();
    assert!(matches!(fault(Mutation::Forgets), Fault::Wrong { found: 0, expected: 1, .. }));
    let job = Job::new(8, 40);
    let right =
        Algorithm::parse(Operation::Reduce, "binomial").unwrap().build(Operation::Reduce, &job).unwrap();
    let fault =
        check(Operation::Reduce, &job, &Mutant { right, mutation: Mutation::CountsTwice }).unwrap_err();
    assert!(matches!(fault, Fault::Wrong { found: 2, expected: 1, .. }));
}

/// The verdict for a mutated rank 1, as the root or below the root.
fn rooted(operation: Operation, algorithm: &str, root: Rank, mutation: Mutation) -> Fault {
    let job = Job { root, ..Job::new(8, 40) };
    let right = Algorithm::parse(operation, algorithm).unwrap().build(operation, &job).unwrap();
    assert!(check(operation, &job, &right).is_ok());
    check(operation, &job, &Mutant { right, mutation }).unwrap_err()
}

#[test]
fn mutants_of_trees() {
    use Operation::*;
    // The root sends the wrong blocks: a rank misses its own, or forwards blocks it does not have.
    assert!(matches!(rooted(Scatter, "linear", 1, Mutation::WrongData), Fault::Missing { .. }));
    for algorithm in ["binomial", "k-nomial,radix=3", "two-level,per-node=2"] {
        let fault = rooted(Scatter, algorithm, 1, Mutation::WrongData);
        assert!(matches!(fault, Fault::SendsMissing { .. } | Fault::Missing { .. }), "{fault}");
    }
    // Rank 1 has children, and forwards blocks that it does not have.
    let fault = rooted(Gather, "binomial", 5, Mutation::WrongData);
    assert!(matches!(fault, Fault::SendsMissing { rank: 1, .. }), "{fault}");
    // A pipeline that runs ahead of its data.
    for algorithm in ["chain,segment=10", "binomial"] {
        let fault = rooted(Bcast, algorithm, 0, Mutation::SendsEarly);
        assert!(matches!(fault, Fault::SendsMissing { rank: 1, stage: 0, .. }), "{fault}");
        let fault = rooted(Reduce, algorithm, 0, Mutation::SendsEarly);
        assert!(matches!(fault, Fault::Wrong { rank: 0, found: 0, expected: 1, .. }), "{fault}");
    }
    for algorithm in ["double-tree,segment=4", "scatter-allgather", "binary,segment=7"] {
        let fault = rooted(Bcast, algorithm, 1, Mutation::WrongData);
        assert!(matches!(fault, Fault::SendsMissing { .. } | Fault::Missing { .. }), "{algorithm} {fault}");
    }
    let fault = rooted(Reduce, "rabenseifner", 0, Mutation::WrongData);
    assert!(matches!(fault, Fault::Wrong { rank: 0, .. }), "{fault}");
}
