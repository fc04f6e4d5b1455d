//! Every algorithm for all small numbers of processes and all roots.

use std::collections::HashMap;

use straggler_model::{Rank, Time};

use super::{Choice, Collective};
use crate::steps::{Steps, materialise};
use crate::validate::validate;
use crate::{Graph, OperationKind};

const SIZES: [u64; 4] = [0, 1, 13, 4096];

fn all() -> impl Iterator<Item = (Choice, Collective)> {
    Choice::ALL.into_iter().flat_map(|choice| {
        (1..=40).flat_map(move |processes| {
            let roots = if choice.has_root() { processes } else { 1 };
            (0..roots).flat_map(move |root| {
                SIZES.into_iter().map(move |bytes| (choice, choice.build(processes, bytes, root).unwrap()))
            })
        })
    })
}

/// Messages sent and received by (source, destination, tag), with the sizes in order.
fn traffic(graph: &Graph, kind: OperationKind) -> HashMap<(Rank, Rank, u32), Vec<u64>> {
    let mut traffic: HashMap<_, Vec<u64>> = HashMap::new();
    for rank in 0..graph.processes() {
        for operation in graph.rank(rank).operations().filter(|operation| operation.kind == kind) {
            let (from, to) = match kind {
                OperationKind::Send => (rank, operation.peer),
                _ => (operation.peer, rank),
            };
            traffic.entry((from, to, operation.tag)).or_default().push(operation.amount);
        }
    }
    traffic
}

#[test]
fn every_send_has_its_receive() {
    for (choice, collective) in all() {
        let graph = materialise(&collective, 2, Time::from_ns(5));
        let sent = traffic(&graph, OperationKind::Send);
        assert_eq!(sent, traffic(&graph, OperationKind::Recv), "{choice} {collective:?}");
        assert!(sent.keys().all(|(from, to, _)| from != to), "{choice} {collective:?}");
        assert_eq!(validate(&graph), [], "{choice} {collective:?}");
    }
}

#[test]
fn closed_formulas_count_what_is_there() {
    struct Generic<'a>(&'a Collective);
    impl Steps for Generic<'_> {
        fn processes(&self) -> u32 {
            self.0.processes()
        }
        fn stages(&self, rank: Rank) -> u32 {
            self.0.stages(rank)
        }
        fn step(&self, rank: Rank, stage: u32) -> crate::Step {
            self.0.step(rank, stage)
        }
        fn largest_message(&self) -> u64 {
            let steps =
                (0..self.processes()).flat_map(|rank| (0..self.stages(rank)).map(move |stage| (rank, stage)));
            steps.filter_map(|(rank, stage)| self.step(rank, stage).send).map(|m| m.bytes).max().unwrap_or(0)
        }
    }
    for (choice, collective) in all() {
        let generic = Generic(&collective);
        assert_eq!(collective.messages(), generic.messages(), "{choice} {collective:?}");
        assert_eq!(collective.largest_message(), generic.largest_message(), "{choice} {collective:?}");
    }
}

#[test]
fn one_process_does_nothing() {
    for choice in Choice::ALL {
        let alone = choice.build(1, 8, 0).unwrap();
        assert_eq!((alone.stages(0), alone.messages(), alone.largest_message()), (0, 0, 0), "{choice}");
    }
}

/// Runs the steps as a blocking program and lets every message carry the set of ranks whose data
/// it contains.
fn knowledge(collective: &Collective) -> Vec<u64> {
    let processes = collective.processes();
    let mut known: Vec<u64> = (0..processes).map(|rank| 1 << rank).collect();
    let mut stage = vec![0; processes as usize];
    let mut sent = vec![false; processes as usize];
    let mut flying: HashMap<(Rank, Rank, u32), u64> = HashMap::new();
    loop {
        let mut moved = false;
        for rank in 0..processes {
            let at = rank as usize;
            if stage[at] == collective.stages(rank) {
                continue;
            }
            let step = collective.step(rank, stage[at]);
            if let Some(message) = step.send.filter(|_| !sent[at]) {
                flying.insert((rank, message.peer, message.tag), known[at]);
                (sent[at], moved) = (true, true);
            }
            let arrived = step.recv.map(|message| flying.remove(&(message.peer, rank, message.tag)));
            if arrived != Some(None) {
                known[at] |= arrived.flatten().unwrap_or(0);
                stage[at] += 1;
                (sent[at], moved) = (false, true);
            }
        }
        if !moved {
            assert!(flying.is_empty());
            return known;
        }
    }
}

#[test]
fn the_data_gets_where_it_should() {
    for (choice, collective) in all() {
        let known = knowledge(&collective);
        let everything = (1u64 << collective.processes()) - 1;
        match choice {
            Choice::ReduceBinomial => {
                let complete = known.iter().filter(|&&known| known == everything).count();
                assert!(complete >= 1, "{choice} {collective:?}");
            }
            Choice::BroadcastBinomial => {
                let common = known.iter().fold(u64::MAX, |common, known| common & known);
                assert!(common != 0, "{choice} {collective:?}");
            }
            _ => assert!(known.iter().all(|&known| known == everything), "{choice} {collective:?}"),
        }
    }
}
