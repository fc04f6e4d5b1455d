//! The messages of a collective, for the real run and for its simulation.

use straggler_model::Time;
use straggler_schedule::Graph;
use straggler_schedule::graph::{GraphBuilder, Operation, RankBuilder};

/// Bytes of a message.
pub const BYTES: usize = 8;

/// The collectives that are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Dissemination.
    Barrier,
    /// Recursive doubling; ranks beyond a power of two first hand their part to another one.
    Allreduce,
    /// A binomial tree; the root changes with every broadcast, so that no rank runs ahead.
    Bcast,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Barrier, Kind::Allreduce, Kind::Bcast];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier (dissemination)",
            Kind::Allreduce => "allreduce (recursive doubling)",
            Kind::Bcast => "bcast (binomial tree)",
        }
    }
}

/// A message sent, then one received; the next round begins when both are complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    pub to: Option<u32>,
    pub from: Option<u32>,
}

/// The rounds of one rank in collective `number`.
pub fn rounds(kind: Kind, rank: u32, size: u32, number: u32) -> Vec<Round> {
    match kind {
        Kind::Barrier => {
            let distances = (0..).map(|round| 1u32 << round).take_while(|&distance| distance < size);
            distances
                .map(|distance| Round {
                    to: Some((rank + distance) % size),
                    from: Some((rank + size - distance) % size),
                })
                .collect()
        }
        Kind::Allreduce => doubling(rank, size),
        Kind::Bcast => binomial(rank, size, number % size.max(1)),
    }
}

fn doubling(rank: u32, size: u32) -> Vec<Round> {
    let power = 1 << size.max(1).ilog2();
    let send = |to: u32| Round { to: Some(to), from: None };
    let receive = |from: u32| Round { to: None, from: Some(from) };
    if rank >= power {
        return vec![send(rank - power), receive(rank - power)];
    }
    let partner = Some(rank + power).filter(|&partner| partner < size);
    let steps = (0..).map(|step| 1u32 << step).take_while(|&step| step < power);
    let exchange = |step: u32| Round { to: Some(rank ^ step), from: Some(rank ^ step) };
    partner.map(receive).into_iter().chain(steps.map(exchange)).chain(partner.map(send)).collect()
}

fn binomial(rank: u32, size: u32, root: u32) -> Vec<Round> {
    let own = (rank + size - root) % size;
    let at = |place: u32| (place + root) % size;
    // The lowest set bit tells which rank sends to this one; the root has none.
    let lowest = if own == 0 { size.next_power_of_two() } else { own & own.wrapping_neg() };
    let receive = (own != 0).then(|| Round { to: None, from: Some(at(own - lowest)) });
    let steps = (0..32).rev().map(|bit| 1u32 << bit).filter(|&step| step < lowest && own + step < size);
    receive.into_iter().chain(steps.map(|step| Round { to: Some(at(own + step)), from: None })).collect()
}

/// The schedule of `count` collectives, each after some work, for the simulation.
pub fn graph(kind: Kind, size: u32, work: Time, count: u32) -> Graph {
    let mut graph = GraphBuilder::default();
    for rank in 0..size {
        let mut builder = RankBuilder::default();
        let mut before: Vec<u32> = Vec::new();
        let mut push = |operations: &[Operation], builder: &mut RankBuilder| {
            let new: Vec<u32> = operations.iter().map(|&operation| builder.push(operation)).collect();
            new.iter().for_each(|&new| before.iter().for_each(|&before| builder.requires(new, before)));
            before = new;
        };
        for number in 0..count {
            if work > Time::ZERO {
                push(&[Operation::calc(work)], &mut builder);
            }
            for round in rounds(kind, rank, size, number) {
                let send = round.to.map(|to| Operation::send(BYTES as u64, to, 0));
                let receive = round.from.map(|from| Operation::recv(BYTES as u64, from, 0));
                let both: Vec<Operation> = send.into_iter().chain(receive).collect();
                push(&both, &mut builder);
            }
        }
        graph.push_rank(&builder);
    }
    graph.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, VecDeque};

    /// Executes the rounds of all ranks with messages that carry everything their senders know.
    fn knowledge(kind: Kind, size: u32, number: u32) -> Vec<BTreeSet<u32>> {
        let rounds: Vec<Vec<Round>> = (0..size).map(|rank| super::rounds(kind, rank, size, number)).collect();
        let mut known: Vec<BTreeSet<u32>> = (0..size).map(|rank| [rank].into()).collect();
        let mut queues = vec![vec![VecDeque::new(); size as usize]; size as usize];
        let (mut places, mut sent) = (vec![0; size as usize], vec![false; size as usize]);
        loop {
            let mut moved = false;
            for rank in 0..size as usize {
                let Some(round) = rounds[rank].get(places[rank]) else { continue };
                if let (Some(to), false) = (round.to, sent[rank]) {
                    queues[rank][to as usize].push_back(known[rank].clone());
                    moved = true;
                }
                sent[rank] = true;
                let got = match round.from {
                    Some(from) => queues[from as usize][rank].pop_front(),
                    None => Some(BTreeSet::new()),
                };
                if let Some(got) = got {
                    known[rank].extend(got);
                    (places[rank], sent[rank], moved) = (places[rank] + 1, false, true);
                }
            }
            if !moved {
                break;
            }
        }
        assert!(
            (0..size as usize).all(|rank| places[rank] == rounds[rank].len()),
            "{kind:?} of {size} hangs"
        );
        assert!(queues.iter().flatten().all(VecDeque::is_empty), "{kind:?} of {size} leaves messages");
        known
    }

    #[test]
    fn collectives_do_what_they_are_called() {
        for size in 1..=17 {
            let all: BTreeSet<u32> = (0..size).collect();
            for kind in [Kind::Barrier, Kind::Allreduce] {
                assert!(knowledge(kind, size, 0).iter().all(|known| *known == all), "{kind:?} of {size}");
            }
            for number in 0..size {
                let known = knowledge(Kind::Bcast, size, number);
                assert!(known.iter().all(|known| known.contains(&number)), "bcast of {size} from {number}");
            }
        }
    }
}
