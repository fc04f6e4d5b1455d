//! Distributes a schedule over the members of a cluster so that few messages cross between them. Each member reads only
//! its own ranks.
//!
//! ```text
//! every member: a run of neighbouring ranks of the file ─► who sends to whom ─► the first: who runs which block
//!               its own ranks of the file ◄──────────────────────────────────────┘
//! ```

use crate::kernel::{Failure, Outcome};
use crate::mpi::cluster::{agreed, gathered};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use straggler_analysis::partition::Traffic;
use straggler_model::Rank;
use straggler_schedule::{Graph, OperationKind, goal};
use straggler_sim::cluster::{Cluster, Shares};

/// Approximate number of blocks of a schedule: enough for a good partition, few enough to find it quickly.
const BLOCKS: u32 = 4096;

/// Divides communicating blocks among a number of members with about the same work each.
type Partition = fn(&Traffic, u32) -> Vec<u32>;

/// How a schedule was distributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossing {
    /// The share of messages that cross from one member to another.
    pub share: f64,
    /// The same share if every member ran a range of neighbouring ranks.
    pub of_neighbours: f64,
}

/// The partition, and its share of crossing messages.
#[derive(Debug)]
pub struct Sharing {
    pub shares: Shares,
    pub crossing: Crossing,
}

/// The traffic that one member counted.
#[derive(Serialize, Deserialize)]
struct Seen {
    /// The first block, and the number of operations of each block from it on.
    first: u32,
    work: Vec<u64>,
    /// Messages from one block to another, or to itself.
    messages: Vec<(u32, u32, u64)>,
}

/// Reads a binary GOAL file with all members of a cluster. None for other files, which every member reads completely.
pub fn read(path: &Path, cluster: &dyn Cluster, partition: Partition) -> Outcome<Option<(Graph, Sharing)>> {
    let Some(processes) = agreed(cluster, goal::binary_ranks(path).map_err(Failure::from), &[path.into()])?
    else {
        return Ok(None);
    };
    let shift = processes.div_ceil(BLOCKS).next_power_of_two().ilog2();
    let neighbours = neighbours(processes.div_ceil(1 << shift), cluster.size());
    let at_first = Shares { shift, members: neighbours }.ranks(cluster.rank(), processes);
    let mut graph = load(path, &at_first, cluster)?;
    let (shares, crossing) = choose(&seen(&graph, &at_first, shift), shift, cluster, partition)?;
    let ranks = shares.ranks(cluster.rank(), processes);
    if cluster.largest(u64::from(ranks != at_first)) > 0 {
        drop(graph);
        graph = load(path, &ranks, cluster)?;
    }
    let facts = gathered(cluster, &graph.facts())?;
    graph.share(&facts);
    Ok(Some((graph, Sharing { shares, crossing })))
}

/// Ranges of neighbouring blocks, one per member.
fn neighbours(blocks: u32, members: u32) -> Vec<u32> {
    (0..blocks)
        .map(|block| (u64::from(block) * u64::from(members) / u64::from(blocks.max(1))) as u32)
        .collect()
}

fn load(path: &Path, ranks: &[Range<Rank>], cluster: &dyn Cluster) -> Outcome<Graph> {
    let changed = || {
        Failure::bad_input(format!(
            "{}: the file changed while it was read; run the command again",
            path.display()
        ))
    };
    let read =
        goal::read_ranks(path, ranks).map_err(Failure::from).and_then(|graph| graph.ok_or_else(changed));
    agreed(cluster, read, &[])
}

/// Counts the messages between blocks.
fn seen(graph: &Graph, ranks: &[Range<Rank>], shift: u32) -> Seen {
    let first = ranks.first().map_or(0, |ranks| ranks.start >> shift);
    let mut seen = Seen { first, work: Vec::new(), messages: Vec::new() };
    let mut messages: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for rank in ranks.iter().cloned().flatten() {
        let block = rank >> shift;
        let place = (block - first) as usize;
        seen.work.resize(seen.work.len().max(place + 1), 0);
        for operation in graph.rank(rank).operations() {
            seen.work[place] += 1;
            if operation.kind == OperationKind::Send {
                *messages.entry((block, operation.peer >> shift)).or_default() += 1;
            }
        }
    }
    seen.messages = messages.into_iter().map(|((from, to), count)| (from, to, count)).collect();
    seen
}

/// The first member decides for all.
fn choose(
    own: &Seen,
    shift: u32,
    cluster: &dyn Cluster,
    partition: Partition,
) -> Outcome<(Shares, Crossing)> {
    let garbled = |_| Failure::from(straggler_sim::RunError::Garbled);
    let all: Vec<Seen> = cluster.collect_values(own).map_err(garbled)?;
    let chosen = (cluster.rank() == 0).then(|| decide(&all, cluster.size(), partition));
    let all = gathered(cluster, &chosen)?;
    let (members, crossing) =
        all.into_iter().flatten().next().ok_or_else(|| Failure::bad_input("no partition"))?;
    Ok((Shares { shift, members }, crossing))
}

/// Uses the partition if fewer messages cross it than with ranges of neighbours.
fn decide(all: &[Seen], members: u32, partition: Partition) -> (Vec<u32>, Crossing) {
    let mut traffic = Traffic::default();
    let mut count = 0;
    for Seen { first, work, messages } in all {
        let end = *first as usize + work.len();
        traffic.work.resize(traffic.work.len().max(end), 0);
        traffic.work[*first as usize..end].iter_mut().zip(work).for_each(|(sum, more)| *sum += more);
        for &(from, to, messages) in messages {
            count += messages;
            if from != to {
                *traffic.messages.entry((from.min(to), from.max(to))).or_default() += messages;
            }
        }
    }
    let crossing = |members: &[u32]| {
        let member = |block: u32| members.get(block as usize);
        let crosses =
            |(&(from, to), &count): (&(u32, u32), &u64)| if member(from) == member(to) { 0 } else { count };
        traffic.messages.iter().map(crosses).sum::<u64>()
    };
    let share = |messages: u64| messages as f64 / count.max(1) as f64;
    let usual = neighbours(traffic.work.len() as u32, members);
    let of_neighbours = crossing(&usual);
    let other = if of_neighbours == 0 { None } else { Some(partition(&traffic, members)) };
    let other =
        other.filter(|found| found.len() == usual.len() && found.iter().all(|&member| member < members));
    match other.map(|found| (crossing(&found), found)) {
        Some((messages, found)) if messages < of_neighbours => {
            (found, Crossing { share: share(messages), of_neighbours: share(of_neighbours) })
        }
        _ => (usual, Crossing { share: share(of_neighbours), of_neighbours: share(of_neighbours) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_schedule::goal::Format;
    use straggler_sim::cluster::on_threads;

    /// Ranks 0 and 1 each send two messages to the rank two further on.
    const TEXT: &str = "num_ranks 4
        rank 0 { l1: send 1b to 2 tag 0\nl2: send 1b to 2 tag 1 }
        rank 1 { l1: send 1b to 3 tag 0\nl2: send 1b to 3 tag 1 }
        rank 2 { l1: recv 1b from 0 tag 0\nl2: recv 1b from 0 tag 1 }
        rank 3 { l1: recv 1b from 1 tag 0\nl2: recv 1b from 1 tag 1\nl3: send 9b to 2 tag 7 }";

    fn even_and_odd(traffic: &Traffic, members: u32) -> Vec<u32> {
        assert_eq!(traffic.work, [2, 2, 2, 3]);
        assert_eq!(traffic.messages, BTreeMap::from([((0, 2), 2), ((1, 3), 2), ((2, 3), 1)]));
        (0..traffic.work.len() as u32).map(|block| block % members).collect()
    }

    fn parts(text: &str, format: Format, partition: Partition) -> Vec<Option<(Graph, Sharing)>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("schedule");
        goal::write_path(&path, &goal::parse(text.as_bytes()).unwrap(), format).unwrap();
        on_threads(2, |member| {
            read(&path, member, partition).unwrap_or_else(|failure| panic!("{}", failure.error))
        })
    }

    #[test]
    fn members_read_what_was_chosen_for_them() {
        let parts: Vec<_> =
            parts(TEXT, Format::Binary, even_and_odd).into_iter().map(Option::unwrap).collect();
        for (number, (graph, Sharing { shares, crossing })) in parts.iter().enumerate() {
            assert_eq!(shares.members, [0, 1, 0, 1]);
            assert_eq!((crossing.share, crossing.of_neighbours), (0.2, 0.8));
            let lengths: Vec<u32> = (0..4).map(|rank| graph.rank(rank).len()).collect();
            assert_eq!(lengths, [[2, 0, 2, 0], [0, 2, 0, 3]][number]);
            assert_eq!((graph.operations(), graph.messages(), graph.largest_message()), (9, 5, 9));
        }
    }

    #[test]
    fn a_partition_that_is_no_better_is_not_taken() {
        for partition in [(|_, _| vec![]) as Partition, |_, _| vec![0; 3], |_, _| vec![0, 2, 0, 2]] {
            let sharing = parts(TEXT, Format::Binary, partition).remove(0).unwrap().1;
            assert_eq!(sharing.shares.members, [0, 0, 1, 1]);
            assert_eq!(sharing.crossing.share, sharing.crossing.of_neighbours);
        }
    }

    #[test]
    fn text_is_read_as_a_whole() {
        assert!(parts(TEXT, Format::Text, even_and_odd).iter().all(Option::is_none));
    }
}
