//! Rounds of the algorithms and bytes sent per rank, compared with the formulas of the literature.
//!
//! Unless another source is named, formulas are from Thakur, Rabenseifner and Gropp, *Optimization
//! of Collective Communication Operations in MPICH* (2005): p processes, n bytes.

use super::super::{Algorithm, Collective, Job, Operation};
use crate::{Message, Steps, Then};
use std::collections::{HashMap, VecDeque};
use straggler_model::{Rank, Tag};

/// Number of rounds of a collective if a message takes one round and a sending step at least as
/// long. Operations that begin together share a round.
pub fn rounds(steps: &impl Steps) -> u32 {
    let mut ranks: Vec<Clock> = (0..steps.processes()).map(|_| Clock::default()).collect();
    let mut flying = HashMap::new();
    while (0..)
        .zip(&mut ranks)
        .fold(false, |moved, (rank, clock)| clock.run(rank, steps, &mut flying) | moved)
    {}
    for (rank, clock) in (0..).zip(&ranks) {
        assert_eq!(clock.stage, steps.stages(rank), "rank {rank} is stuck");
    }
    ranks.iter().map(|clock| clock.now).max().unwrap_or(0)
}

/// Rounds in which messages arrive, by source, destination and tag.
type Flying = HashMap<(Rank, Rank, Tag), VecDeque<u32>>;

/// Progress of a rank.
#[derive(Default)]
struct Clock {
    stage: u32,
    entered: bool,
    now: u32,
    /// When everything begun so far will have completed, except for receives.
    end: u32,
    open: VecDeque<Message>,
}

impl Clock {
    /// Advances as far as possible. Returns whether that was any further.
    fn run(&mut self, rank: Rank, steps: &impl Steps, flying: &mut Flying) -> bool {
        let begin = self.stage;
        while self.stage < steps.stages(rank) {
            let step = steps.step(rank, self.stage);
            if !self.entered {
                self.entered = true;
                self.open.extend(step.recv);
                if let Some(sent) = step.send {
                    self.end = self.now + 1;
                    flying.entry((rank, sent.peer, sent.tag)).or_default().push_back(self.end);
                }
            }
            if step.then == Then::Wait && !self.wait(rank, flying) {
                break;
            }
            self.entered = false;
            self.stage += 1;
        }
        self.stage > begin
    }

    fn wait(&mut self, rank: Rank, flying: &mut Flying) -> bool {
        while let Some(message) = self.open.front() {
            let queue = flying.get_mut(&(message.peer, rank, message.tag));
            let Some(arrival) = queue.and_then(VecDeque::pop_front) else { return false };
            self.end = self.end.max(arrival);
            self.open.pop_front();
        }
        self.now = self.now.max(self.end);
        true
    }
}

fn collective(text: &str, processes: u32, bytes: u64) -> Collective {
    let (operation, algorithm) = text.split_once(':').unwrap();
    let operation: Operation = operation.parse().unwrap();
    let algorithm = Algorithm::parse(operation, algorithm).unwrap();
    algorithm.build(operation, &Job::new(processes, bytes)).unwrap()
}

/// The bytes that each rank sends.
fn sent(steps: &impl Steps) -> Vec<u64> {
    let of_rank = |rank| {
        let messages = (0..steps.stages(rank)).filter_map(|stage| steps.step(rank, stage).send);
        messages.map(|message| message.bytes).sum()
    };
    (0..steps.processes()).map(of_rank).collect()
}

/// Compares rounds and bytes per rank for several numbers of processes. Bytes are `None` if ranks differ.
fn expect(
    text: &str,
    bytes: u64,
    all: impl Iterator<Item = u32>,
    formula: impl Fn(u64) -> (u64, Option<u64>),
) {
    for processes in all {
        let collective = collective(text, processes, bytes);
        let (rounds_wanted, bytes_wanted) = formula(processes.into());
        assert_eq!(u64::from(rounds(&collective)), rounds_wanted, "{text} on {processes}");
        if let Some(wanted) = bytes_wanted {
            assert!(sent(&collective).iter().all(|&bytes| bytes == wanted), "{text} on {processes}");
        }
    }
}

fn any() -> std::ops::RangeInclusive<u32> {
    1..=70
}

fn powers() -> impl Iterator<Item = u32> {
    (0..8).map(|bit| 1 << bit)
}

/// The smallest number of rounds after which k-fold growth reaches p.
fn log_up(p: u64, k: u64) -> u64 {
    (0..).find(|&rounds| k.pow(rounds) >= p).map_or(0, u64::from)
}

fn log2(p: u64) -> u64 {
    p.ilog2().into()
}

/// Extra rounds before and after, if ranks fold.
fn folding(p: u64) -> u64 {
    if p.is_power_of_two() { 0 } else { 2 }
}

#[test]
fn allreduce() {
    let n = 128 * 45; // a multiple of every power below and of some other numbers
    expect("allreduce:recursive-doubling", n, powers(), |p| (log2(p), Some(log2(p) * n)));
    expect("allreduce:recursive-doubling", n, any(), |p| (log2(p) + folding(p), None));
    expect("allreduce:rabenseifner", n, powers(), |p| (2 * log2(p), Some(2 * n * (p - 1) / p)));
    expect("allreduce:rabenseifner", n, any(), |p| (2 * log2(p) + folding(p), None));
    let divisors = any().filter(|&p| n.is_multiple_of(p.into()));
    expect("allreduce:ring", n, divisors, |p| (2 * (p - 1), Some(2 * n * (p - 1) / p)));
    // Hensgen, Finkel and Manber 1988; with n partners Hoefler, Mehlan, Mietke and Rehm 2006.
    expect("allreduce:dissemination", n, any(), |p| (log_up(p, 2), Some(log_up(p, 2) * n)));
    for radix in [3, 4, 5, 40] {
        expect(&format!("barrier:dissemination,radix={radix}"), 1, any(), |p| (log_up(p, radix), None));
    }
    // The root of the binomial tree gets its last message in round ceil(log2 p).
    expect("allreduce:reduce-bcast", n, powers(), |p| (2 * log2(p), None));
}

#[test]
fn allgather() {
    // Here n is the whole result: p blocks of 10 bytes.
    let others = |p: u64| Some(10 * (p - 1));
    expect("allgather:ring", 10, any(), |p| (p - 1, others(p)));
    expect("allgather:bruck", 10, any(), |p| (log_up(p, 2), others(p)));
    expect("allgather:dissemination", 10, any(), |p| (log_up(p, 2), others(p)));
    expect("allgather:recursive-doubling", 10, powers(), |p| (log2(p), others(p)));
    expect("allgather:recursive-doubling", 10, any(), |p| (log2(p) + folding(p), None));
    expect("allgather:linear", 10, any(), |p| (u64::from(p > 1), others(p)));
    // Bruck, Ho, Kipnis, Upfal and Weathersby 1997: optimal in rounds and in bytes, with any number of ports.
    for radix in [3, 4, 5, 40] {
        expect(&format!("allgather:bruck,radix={radix}"), 10, any(), |p| (log_up(p, radix), others(p)));
    }
}

#[test]
fn reduce_scatter() {
    let others = |p: u64| Some(10 * (p - 1));
    expect("reduce_scatter_block:recursive-halving", 10, powers(), |p| (log2(p), others(p)));
    expect("reduce_scatter_block:recursive-halving", 10, any(), |p| (log2(p) + folding(p), None));
    expect("reduce_scatter_block:pairwise", 10, any(), |p| (p - 1, others(p)));
    expect("reduce_scatter_block:ring", 10, any(), |p| (p - 1, others(p)));
}

#[test]
fn alltoall() {
    let others = |p: u64| Some(10 * (p - 1));
    expect("alltoall:linear", 10, any(), |p| (u64::from(p > 1), others(p)));
    expect("alltoall:pairwise", 10, any(), |p| (p - 1, others(p)));
    // Half of the blocks in every round.
    expect("alltoall:bruck", 10, powers(), |p| (log2(p), Some(10 * p / 2 * log2(p))));
    // A block is sent once per one bit of its distance: Bruck and others 1997.
    let ones = |p: u64| (0..p).map(|way| u64::from(way.count_ones())).sum::<u64>();
    expect("alltoall:bruck", 10, any(), |p| (log_up(p, 2), Some(10 * ones(p))));
    // Tabe, Hardwick and Stout: with an odd number of processes, one sits out in each of p steps.
    let steps = |p: u64| if p.is_multiple_of(2) { p - 1 } else { p };
    expect("alltoall:tournament", 10, any(), |p| (if p == 1 { 0 } else { steps(p) }, others(p)));
}

#[test]
fn scan() {
    for operation in ["scan", "exscan"] {
        expect(&format!("{operation}:linear"), 10, any(), |p| (p - 1, None));
        expect(&format!("{operation}:recursive-doubling"), 10, any(), |p| (log_up(p, 2), None));
    }
    expect("scan:recursive-doubling", 10, powers(), |p| (log2(p), Some(10 * log2(p))));
    // Blelloch 1990: up in log2 p rounds and down in one fewer, with fewer than two messages a rank.
    expect("scan:binomial", 10, powers(), |p| ((2 * log2(p)).saturating_sub(1), None));
    for p in powers() {
        let messages = collective("scan:binomial", p, 10).messages();
        assert_eq!(messages, 2 * u64::from(p) - 2 - log2(p.into()));
    }
}
