//! What one member contributes to a collective and receives from it.

use straggler_schedule::collectives::Operation;
use straggler_schedule::traced::{BlockSizes, TracedRun};

/// A collective as one member sees it; sizes in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Share {
    /// The group in the recording.
    pub group: u32,
    pub operation: Operation,
    pub root: u32,
    pub is_root: bool,
    /// One block, or one per member.
    pub gives: Vec<u64>,
    pub gets: Vec<u64>,
}

impl Share {
    /// The part of `member` in a call of the recording.
    pub fn new(recording: &TracedRun, call: u32, member: u32) -> Option<Share> {
        let call = recording.calls().get(call as usize)?;
        let members = recording.groups().get(call.group as usize)?.members.len();
        let sizes = recording.sizes().get(call.sizes as usize)?;
        let (operation, is_root) = (call.operation, member == call.root);
        let (gives, gets) = exchanged(operation, sizes, members, member as usize, is_root);
        Some(Share { group: call.group, operation, root: call.root, is_root, gives, gets })
    }

    pub fn outgoing(&self) -> usize {
        self.gives.iter().sum::<u64>() as usize
    }

    pub fn incoming(&self) -> usize {
        self.gets.iter().sum::<u64>() as usize
    }

    /// The size of an element. Reductions are sums of doubles if the sizes allow it, as in most
    /// programs. The decision is the same for all members.
    pub fn unit(&self) -> u64 {
        let reduces = matches!(
            self.operation,
            Operation::Allreduce
                | Operation::Reduce
                | Operation::Scan
                | Operation::Exscan
                | Operation::ReduceScatter
                | Operation::ReduceScatterBlock
        );
        if reduces && self.gives.iter().all(|bytes| bytes % 8 == 0) { 8 } else { 1 }
    }
}

/// The blocks that a member gives and gets.
fn exchanged(
    operation: Operation,
    sizes: &BlockSizes,
    members: usize,
    member: usize,
    is_root: bool,
) -> (Vec<u64>, Vec<u64>) {
    let list = listed(sizes, members, member);
    let own = vec![list.get(member).copied().unwrap_or(0)];
    let nothing = vec![0];
    match operation {
        Operation::Barrier => (nothing.clone(), nothing),
        Operation::Bcast | Operation::Allreduce | Operation::Scan | Operation::Exscan => (own.clone(), own),
        Operation::Reduce => (own.clone(), if is_root { own } else { nothing }),
        Operation::Gather | Operation::Gatherv => (own, if is_root { list } else { nothing }),
        Operation::Scatter | Operation::Scatterv => (if is_root { list } else { nothing }, own),
        Operation::Allgather | Operation::Allgatherv => (own, list),
        Operation::ReduceScatter | Operation::ReduceScatterBlock => (list, own),
        Operation::Alltoall => (list.clone(), list),
        Operation::Alltoallv => {
            let gets = match sizes {
                BlockSizes::PerPair(all) => {
                    all.iter().skip(member).step_by(members.max(1)).copied().take(members).collect()
                }
                _ => list.clone(),
            };
            (list, gets)
        }
    }
}

/// The blocks of all members; if they differ from pair to pair, those that `member` sends.
fn listed(sizes: &BlockSizes, members: usize, member: usize) -> Vec<u64> {
    let mut list = match sizes {
        BlockSizes::Uniform(bytes) => vec![*bytes; members],
        BlockSizes::PerMember(all) => all.to_vec(),
        BlockSizes::PerPair(all) => all.iter().skip(member * members).take(members).copied().collect(),
    };
    list.resize(members, 0);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_agree_on_what_passes_between_them() {
        let pairs = BlockSizes::PerPair((0..9).collect::<Vec<u64>>().into());
        let shares: Vec<_> =
            (0..3).map(|member| exchanged(Operation::Alltoallv, &pairs, 3, member, false)).collect();
        assert_eq!(shares[1].0, [3, 4, 5]);
        for (one, other) in [(0, 1), (1, 2), (2, 0), (2, 2)] {
            assert_eq!(shares[one].0[other], shares[other].1[one]);
        }
    }

    #[test]
    fn the_root_of_a_gather_gets_what_the_others_give() {
        let list = BlockSizes::PerMember(vec![8, 0, 24].into());
        let root = exchanged(Operation::Gatherv, &list, 3, 0, true);
        assert_eq!(root, (vec![8], vec![8, 0, 24]));
        assert_eq!(exchanged(Operation::Gatherv, &list, 3, 2, false), (vec![24], vec![0]));
        let uniform = exchanged(Operation::Scatter, &BlockSizes::Uniform(16), 2, 1, true);
        assert_eq!(uniform, (vec![16, 16], vec![16]));
    }
}
