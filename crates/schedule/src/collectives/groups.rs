//! Groups of ranks: all ranks, the nodes, or the leaders of the nodes.

use straggler_model::Rank;

/// Nodes of consecutive ranks; the last may be smaller. The leader of a node is its first rank; in
/// the root's node it is the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nodes {
    pub processes: u32,
    /// At least 1.
    pub per_node: u32,
    pub root: Rank,
}

impl Nodes {
    pub fn count(&self) -> u32 {
        self.processes.div_ceil(self.per_node)
    }

    pub fn node(&self, rank: Rank) -> u32 {
        rank / self.per_node
    }

    /// Number of ranks of a node.
    pub fn size(&self, node: u32) -> u32 {
        (self.processes - node * self.per_node).min(self.per_node)
    }

    pub fn leader(&self, node: u32) -> Rank {
        if node == self.node(self.root) { self.root } else { node * self.per_node }
    }

    /// The leader's number within its node.
    pub fn leader_member(&self, node: u32) -> u32 {
        self.leader(node) % self.per_node
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Groups {
    Everyone,
    Nodes(Nodes),
    /// The leaders form one group, in the order of their nodes; other ranks belong to none.
    Leaders(Nodes),
}

/// A rank's place in its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    pub group: u32,
    /// The rank's number in its group.
    pub member: u32,
}

impl Groups {
    pub fn count(&self) -> u32 {
        match self {
            Groups::Everyone | Groups::Leaders(_) => 1,
            Groups::Nodes(nodes) => nodes.count(),
        }
    }

    pub fn seat(&self, rank: Rank) -> Option<Seat> {
        match self {
            Groups::Everyone => Some(Seat { group: 0, member: rank }),
            Groups::Nodes(nodes) => Some(Seat { group: nodes.node(rank), member: rank % nodes.per_node }),
            Groups::Leaders(nodes) => {
                let node = nodes.node(rank);
                (nodes.leader(node) == rank).then_some(Seat { group: 0, member: node })
            }
        }
    }

    pub fn rank(&self, seat: Seat) -> Rank {
        match self {
            Groups::Everyone => seat.member,
            Groups::Nodes(nodes) => seat.group * nodes.per_node + seat.member,
            Groups::Leaders(nodes) => nodes.leader(seat.member),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_lead_back_to_ranks() {
        for (processes, per_node, root) in [(1, 1, 0), (10, 3, 7), (10, 3, 9), (12, 4, 5), (5, 5, 2)] {
            let nodes = Nodes { processes, per_node, root };
            for groups in [Groups::Everyone, Groups::Nodes(nodes), Groups::Leaders(nodes)] {
                let seats = (0..processes).filter_map(|rank| Some((rank, groups.seat(rank)?)));
                assert!(seats.clone().all(|(rank, seat)| groups.rank(seat) == rank));
                assert!(seats.clone().all(|(_, seat)| seat.group < groups.count()));
            }
            assert_eq!((0..nodes.count()).map(|node| nodes.size(node)).sum::<u32>(), processes);
            let leaders = (0..processes).filter(|&rank| Groups::Leaders(nodes).seat(rank).is_some()).count();
            assert_eq!(leaders as u32, nodes.count());
            assert!(Groups::Leaders(nodes).seat(root).is_some());
        }
    }
}
