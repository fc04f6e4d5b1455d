//! Mutants of the algorithms that exchange blocks, each broken in one simple way.

use super::{Mutation, verdict};
use crate::collectives::check::{Fault, check};
use crate::collectives::{Algorithm, Buffer, Collective, Job, Meaning, Name, Operation, Take};
use crate::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

/// An algorithm that carries different data; messages are resized to match. Both ends of a message
/// must handle it in the same stage.
struct Broken {
    right: Collective,
    carries: fn(&Collective, Rank, u32) -> Vec<Range<u64>>,
    takes: fn(&Collective, Rank, u32) -> &'static [Take],
}

impl std::fmt::Debug for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.right.fmt(f)
    }
}

impl Steps for Broken {
    fn processes(&self) -> u32 {
        self.right.processes()
    }
    fn stages(&self, rank: Rank) -> u32 {
        self.right.stages(rank)
    }
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let step = self.right.step(rank, stage);
        let resize = |message: Message, from| {
            let bytes = self.carries(from, stage).iter().map(|range| range.end - range.start).sum();
            Message { bytes, ..message }
        };
        let recv = step.recv.map(|message| resize(message, message.peer));
        Step { send: step.send.map(|message| resize(message, rank)), recv, ..step }
    }
    fn largest_message(&self) -> u64 {
        self.right.largest_message()
    }
}

impl Meaning for Broken {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        (self.carries)(&self.right, rank, stage)
    }
    fn takes(&self, rank: Rank, stage: u32) -> &'static [Take] {
        (self.takes)(&self.right, rank, stage)
    }
}

const BLOCK: u64 = 10;
const RANKS: u32 = 8;

fn right(operation: Operation, algorithm: &str) -> Collective {
    Algorithm::parse(operation, algorithm).unwrap().build(operation, &Job::new(RANKS, BLOCK)).unwrap()
}

/// The verdict on an algorithm that carries different data.
fn carrying(
    operation: Operation,
    algorithm: &str,
    carries: fn(&Collective, Rank, u32) -> Vec<Range<u64>>,
) -> Fault {
    let broken = Broken { right: right(operation, algorithm), carries, takes: Collective::takes };
    check(operation, &Job::new(RANKS, BLOCK), &broken).unwrap_err()
}

/// The blocks that the correct algorithm carries, each replaced by another.
fn other_blocks(right: &Collective, at: (Rank, u32), other: impl Fn(u64) -> u64) -> Vec<Range<u64>> {
    let carried = right.carries(at.0, at.1);
    let blocks = carried.iter().flat_map(|range| range.start / BLOCK..range.end / BLOCK);
    blocks.map(|block| other(block) * BLOCK..(other(block) + 1) * BLOCK).collect()
}

#[test]
fn a_broken_wrapper_that_changes_nothing_is_right() {
    for (operation, algorithm) in [(Operation::Allgather, "bruck"), (Operation::Alltoall, "bruck")] {
        let right = right(operation, algorithm);
        let same = Broken { right, carries: Collective::carries, takes: Collective::takes };
        assert!(check(operation, &Job::new(RANKS, BLOCK), &same).is_ok());
    }
}

#[test]
fn bruck_that_forgets_the_wrap_around() {
    let fault = carrying(Operation::Allgather, "bruck", |right, rank, stage| {
        right.carries(rank, stage).into_iter().take(1).collect()
    });
    assert!(matches!(fault, Fault::Missing { .. }), "{fault}");
}

#[test]
fn bruck_that_passes_nothing_on() {
    // Replaces every block by the rank's own block with the same distance.
    let fault = carrying(Operation::Alltoall, "bruck", |right, rank, stage| {
        let all = u64::from(RANKS);
        other_blocks(right, (rank, stage), |block| {
            let way = (block % all + all - block / all) % all;
            u64::from(rank) * all + (u64::from(rank) + way) % all
        })
    });
    assert!(matches!(fault, Fault::Missing { .. }), "{fault}");
}

#[test]
fn rings_that_start_one_block_off() {
    let one_off: fn(&Collective, Rank, u32) -> Vec<Range<u64>> =
        |right, rank, stage| other_blocks(right, (rank, stage), |block| (block + 1) % u64::from(RANKS));
    let fault = carrying(Operation::Allgather, "ring", one_off);
    assert!(matches!(fault, Fault::SendsMissing { stage: 0, .. }), "{fault}");
    let fault = carrying(Operation::ReduceScatterBlock, "ring", one_off);
    assert!(matches!(fault, Fault::Wrong { .. }), "{fault}");
}

#[test]
fn recursive_halving_with_swapped_halves() {
    for operation in [Operation::ReduceScatterBlock, Operation::ReduceScatter] {
        let fault = carrying(operation, "recursive-halving", |right, rank, stage| {
            let partner = right.step(rank, stage).send.map_or(rank, |message| message.peer);
            right.carries(partner, stage)
        });
        assert!(matches!(fault, Fault::Wrong { found: 0, expected: 1, .. }), "{fault}");
    }
}

#[test]
fn scan_that_combines_from_above() {
    for operation in [Operation::Scan, Operation::Exscan] {
        let right = right(operation, "recursive-doubling");
        let takes: fn(&Collective, Rank, u32) -> &'static [Take] =
            |_, _, _| &[Take::Combine(Buffer::Work), Take::Combine(Buffer::Result)];
        let broken = Broken { right, carries: Collective::carries, takes };
        let fault = check(operation, &Job::new(RANKS, BLOCK), &broken).unwrap_err();
        assert!(matches!(fault, Fault::Wrong { found: 1, expected: 0, .. }), "{fault}");
    }
}

/// For every algorithm: a rank that stops early, does not wait, or leaves out a byte.
#[test]
fn mutants_of_every_algorithm() {
    for operation in Operation::ALL {
        for name in operation.algorithms() {
            let levels = if *name == Name::TwoLevel { ",per-node=3" } else { "" };
            let name = format!("{}{levels}", name.text());
            let right = right(operation, &name);
            let sends = (0..right.stages(1)).any(|stage| right.step(1, stage).send.is_some());
            let early = verdict(operation, &name, Mutation::StopsEarly);
            let unfinished = matches!(
                early,
                Fault::Deadlock { .. }
                    | Fault::Leftover { .. }
                    | Fault::EndsOpen { .. }
                    | Fault::Missing { .. }
            );
            assert!(unfinished, "{operation}:{name}: {early}");
            let hurried = verdict(operation, &name, Mutation::Hurries);
            assert_eq!(hurried, Fault::EndsOpen { rank: 1 }, "{operation}:{name}");
            if sends {
                let short = verdict(operation, &name, Mutation::ShortMessage);
                let seen = matches!(short, Fault::ReceiveDiffers { from: 1, .. });
                assert!(seen, "{operation}:{name}: {short}");
            }
        }
    }
}
