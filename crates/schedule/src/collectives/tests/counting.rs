//! Number of rounds of the algorithms, compared with the literature.
//!
//! A message takes one round, in which it occupies both ends, and begins when sender and receiver
//! have both reached it. So a chain of messages counts its hops, a rank that sends k times takes k
//! rounds, and an algorithm that would deadlock with synchronous sends has no number of rounds.

use super::super::{Algorithm, Job, Operation};
use crate::{Message, Step, Steps, Then};
use std::collections::HashMap;
use straggler_model::{Rank, Tag};

/// When sender and receiver reached a message; messages with the same key are numbered.
type Ends = HashMap<(Rank, Rank, Tag, u32), [Option<u64>; 2]>;

#[derive(Default)]
struct Clock {
    stage: u32,
    now: u64,
    /// Number of messages per key that this rank has sent or received.
    counts: HashMap<(Rank, Rank, Tag), u32>,
    /// The messages of the stage, once the rank has entered it.
    entered: Option<Vec<(Rank, Rank, Tag, u32)>>,
}

fn enter(clock: &mut Clock, rank: Rank, step: Step, ends: &mut Ends) {
    assert_eq!(step.then, Then::Wait, "rounds are counted only for steps that are waited for");
    let mut add = |message: Option<Message>, end: usize| {
        let Message { peer, tag, .. } = message?;
        let (from, to) = if end == 0 { (rank, peer) } else { (peer, rank) };
        let count = clock.counts.entry((from, to, tag)).or_default();
        let key = (from, to, tag, *count);
        *count += 1;
        ends.entry(key).or_default()[end] = Some(clock.now);
        Some(key)
    };
    let keys = [add(step.send, 0), add(step.recv, 1)];
    clock.entered = Some(keys.into_iter().flatten().collect());
}

/// Counts the rounds. Returns `None` if ranks deadlock.
fn rounds(steps: &impl Steps) -> Option<u64> {
    let mut clocks: Vec<Clock> = (0..steps.processes()).map(|_| Clock::default()).collect();
    let mut ends = Ends::new();
    loop {
        let (mut moved, mut open) = (false, false);
        for (rank, clock) in (0..).zip(&mut clocks) {
            while clock.stage < steps.stages(rank) {
                if clock.entered.is_none() {
                    enter(clock, rank, steps.step(rank, clock.stage), &mut ends);
                    moved = true;
                }
                let keys = clock.entered.as_ref().unwrap();
                let times: Option<Vec<u64>> =
                    keys.iter().map(|key| Some(ends[key][0]?.max(ends[key][1]?) + 1)).collect();
                let Some(times) = times else { break };
                clock.now = times.into_iter().max().unwrap();
                clock.stage += 1;
                clock.entered = None;
                moved = true;
            }
            open |= clock.stage < steps.stages(rank);
        }
        if !open {
            return clocks.iter().map(|clock| clock.now).max();
        }
        if !moved {
            return None;
        }
    }
}

fn rounds_of(operation: Operation, algorithm: &str, processes: u32, root: Rank, bytes: u64) -> u64 {
    let job = Job { root, ..Job::new(processes, bytes) };
    let algorithm = Algorithm::parse(operation, algorithm).unwrap();
    rounds(&algorithm.build(operation, &job).unwrap()).unwrap()
}

/// ⌈log2 P⌉.
fn log2(processes: u32) -> u64 {
    u64::from(processes.next_power_of_two().trailing_zeros())
}

#[test]
fn binomial_trees_take_the_logarithm() {
    // Optimal if a rank sends one message at a time (Knuth's "telephone" argument: the number of
    // ranks that know something at most doubles per round).
    for processes in 1..70 {
        let root = processes / 2;
        for operation in [Operation::Bcast, Operation::Reduce, Operation::Scatter, Operation::Gather] {
            assert_eq!(rounds_of(operation, "binomial", processes, root, 8), log2(processes), "{operation}");
        }
        assert_eq!(rounds_of(Operation::Barrier, "binomial", processes, 0, 1), 2 * log2(processes));
    }
}

#[test]
fn k_nomial_trees_take_k_minus_one_in_each_level() {
    for (radix, levels) in [(2, 5), (3, 3), (4, 3), (7, 2), (40, 1)] {
        let processes = u32::pow(radix, levels);
        let text = format!("k-nomial,radix={radix}");
        for operation in [Operation::Bcast, Operation::Reduce, Operation::Scatter, Operation::Gather] {
            let expected = u64::from((radix - 1) * levels);
            assert_eq!(rounds_of(operation, &text, processes, 1, 8), expected, "{operation} {radix}");
        }
    }
}

#[test]
fn a_chain_takes_one_round_a_rank_and_a_segment() {
    // Pješivac-Grbović et al. 2007, "Performance analysis of MPI collective operations": P + s - 2.
    for operation in [Operation::Bcast, Operation::Reduce] {
        for processes in 2..20 {
            for segments in [1, 2, 5, 40] {
                let expected = u64::from(processes) + segments - 2;
                assert_eq!(rounds_of(operation, "chain,segment=5", processes, 1, 5 * segments), expected);
            }
        }
    }
}

#[test]
fn a_binary_tree_takes_two_rounds_a_level_and_a_segment() {
    // The same source: with P = 2^h - 1 the last leaf gets the first segment after 2·(h - 1) rounds, and
    // each further segment comes two rounds later.
    for operation in [Operation::Bcast, Operation::Reduce] {
        for height in 2u32..7 {
            for segments in [1, 2, 9] {
                let processes = (1 << height) - 1;
                let expected = 2 * (u64::from(height) - 1) + 2 * (segments - 1);
                let text = "binary,segment=5";
                assert_eq!(rounds_of(operation, text, processes, 2, 5 * segments), expected);
            }
        }
    }
}

#[test]
fn two_trees_use_the_full_bandwidth() {
    // Sanders, Speck and Träff 2009: with their trees, a vector in 2s segments takes 2s rounds plus at most
    // two for each level below the top. A single pipelined binary tree takes twice as many per segment.
    for operation in [Operation::Bcast, Operation::Reduce] {
        for processes in 2..70u32 {
            for segments in [1, 4, 50] {
                let taken = rounds_of(operation, "double-tree,segment=5", processes, 1, 10 * segments);
                let most = 2 * segments + 2 * u64::from((processes - 1).ilog2());
                assert!(taken >= 2 * segments && taken <= most, "{processes} {segments} {taken} {most}");
            }
        }
    }
}

#[test]
fn scatter_and_allgather_take_a_logarithm_and_a_ring() {
    // Thakur, Rabenseifner and Gropp 2005: ⌈log2 P⌉ + P - 1.
    for processes in [2, 4, 8, 16, 32, 64] {
        let taken = rounds_of(Operation::Bcast, "scatter-allgather", processes, 1, 100);
        assert_eq!(taken, log2(processes) + u64::from(processes) - 1);
    }
}

#[test]
fn rabenseifner_takes_twice_the_logarithm() {
    // The same source; folding takes one more round.
    for processes in 1..70u32 {
        let taken = rounds_of(Operation::Reduce, "rabenseifner", processes, processes / 2, 100);
        let halving = u64::from(processes.ilog2());
        assert_eq!(taken, 2 * halving + u64::from(!processes.is_power_of_two()), "{processes}");
    }
}

#[test]
fn levels_add_up() {
    let taken = |operation, text, processes| rounds_of(operation, text, processes, 0, 8);
    let text = "two-level,per-node=4,node=binomial,network=binomial";
    assert_eq!(taken(Operation::Bcast, text, 64), 2 + 4);
    assert_eq!(taken(Operation::Gather, text, 64), 2 + 4);
    let text = "two-level,per-node=4,node=binomial,network=ring";
    assert_eq!(taken(Operation::Allreduce, text, 64), 2 + 2 * 15 + 2);
    let text = "two-level,per-node=8,node=binomial,network=dissemination";
    assert_eq!(taken(Operation::Barrier, text, 64), 3 + 3 + 3);
}

#[test]
fn synchronous_sends_do_not_deadlock() {
    for operation in Operation::ALL {
        for &name in operation.algorithms() {
            let mut algorithm = Algorithm::from(name);
            algorithm.levels.per_node = Some(3);
            for processes in 1..40 {
                let job = Job { root: processes / 3, ..Job::new(processes, 1000) };
                let collective = algorithm.build(operation, &job).unwrap();
                if !collective.overlaps() {
                    assert!(rounds(&collective).is_some(), "{operation}:{algorithm} {processes}");
                }
            }
        }
    }
    for algorithm in ["double-tree,segment=9", "chain,segment=9", "binary,segment=9"] {
        for (operation, processes) in
            [Operation::Bcast, Operation::Reduce].iter().flat_map(|o| (1..60).map(move |p| (o, p)))
        {
            rounds_of(*operation, algorithm, processes, processes / 3, 100);
        }
    }
}

#[test]
fn messages_are_as_many_as_edges_and_segments() {
    let messages = |operation, text, processes, bytes| {
        let algorithm = Algorithm::parse(operation, text).unwrap();
        algorithm.build(operation, &Job::new(processes, bytes)).unwrap().messages()
    };
    for processes in [1u32, 2, 7, 16, 33] {
        let edges = u64::from(processes) - 1;
        for text in ["linear", "k-nomial", "binomial", "binary"] {
            assert_eq!(messages(Operation::Bcast, text, processes, 100), edges);
            assert_eq!(messages(Operation::Reduce, text, processes, 100), edges);
        }
        assert_eq!(messages(Operation::Barrier, "linear", processes, 1), 2 * edges);
        assert_eq!(messages(Operation::Bcast, "chain,segment=30", processes, 100), 4 * edges);
        // Two trees, each with half of the vector in two segments.
        assert_eq!(messages(Operation::Bcast, "double-tree,segment=30", processes, 100), 4 * edges);
        let ring = u64::from(processes) * edges;
        assert_eq!(messages(Operation::Bcast, "scatter-allgather", processes, 100), edges + ring);
        // The two levels share the edges between them.
        assert_eq!(messages(Operation::Gather, "two-level,per-node=4", processes, 100), edges);
    }
    // Thakur, Rabenseifner and Gropp 2005: P messages in each round of halving, then a tree.
    assert_eq!(messages(Operation::Reduce, "rabenseifner", 64, 100), 64 * 6 + 63);
}
