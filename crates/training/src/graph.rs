//! The dependencies between the operations of a step, in flat lists.

/// Lists of numbers, stored one after the other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lists {
    /// Where each list begins, and where the last one ends.
    begins: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Builds lists from pairs of list and item. The items of a list keep the order of the pairs.
    pub(crate) fn of_pairs(lists: usize, pairs: &[(u32, u32)]) -> Lists {
        let mut begins = vec![0u32; lists + 1];
        pairs.iter().for_each(|&(list, _)| begins[list as usize + 1] += 1);
        (0..lists).for_each(|list| begins[list + 1] += begins[list]);
        let mut next = begins.clone();
        let mut items = vec![0; pairs.len()];
        for &(list, item) in pairs {
            let place = &mut next[list as usize];
            items[*place as usize] = item;
            *place += 1;
        }
        Lists { begins, items }
    }

    #[inline]
    pub fn get(&self, list: usize) -> &[u32] {
        &self.items[self.begins[list] as usize..self.begins[list + 1] as usize]
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.begins.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn items(&self) -> usize {
        self.items.len()
    }
}

/// Operations that begin their transfer when all of them have started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    pub ops: Vec<u32>,
    /// Whether the operations of all columns take part, see [`crate::Job`].
    pub wide: bool,
}

/// What an operation waits for: another operation, or a group that transfers together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    Op(u32),
    Group(u32),
}

/// The operations of a column: which waits for which, and which transfer together.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Graph {
    /// By operation: what it waits for.
    pub before: Lists,
    /// By group: its operations.
    pub groups: Lists,
    pub wide: Vec<bool>,
    /// By operation: its group, or [`Graph::ALONE`].
    group: Vec<u32>,
    /// Operations and groups in an order in which each comes after what it waits for.
    pub order: Vec<Node>,
}

impl Graph {
    pub const ALONE: u32 = u32::MAX;

    /// Builds the graph from edges `(after, before)`, in any order and without duplicates. An operation is in one
    /// group at most.
    ///
    /// # Errors
    /// Operations wait for each other in a cycle; returns one of them.
    pub fn new(ops: usize, edges: &[(u32, u32)], groups: &[Group]) -> Result<Graph, u32> {
        let mut group = vec![Graph::ALONE; ops];
        let mut members = Vec::new();
        for (number, of_group) in (0..).zip(groups) {
            of_group.ops.iter().for_each(|&op| group[op as usize] = number);
            members.extend(of_group.ops.iter().map(|&op| (number, op)));
        }
        let mut graph = Graph {
            before: Lists::of_pairs(ops, edges),
            groups: Lists::of_pairs(groups.len(), &members),
            wide: groups.iter().map(|group| group.wide).collect(),
            group,
            order: Vec::new(),
        };
        graph.order = graph.sorted(edges)?;
        Ok(graph)
    }

    pub fn group(&self, op: usize) -> Option<u32> {
        Some(self.group[op]).filter(|&group| group != Graph::ALONE)
    }

    pub fn ops(&self) -> usize {
        self.group.len()
    }

    /// A topological order in which a group is one node.
    fn sorted(&self, edges: &[(u32, u32)]) -> Result<Vec<Node>, u32> {
        let ops = self.ops();
        let node_of = |op: u32| self.group(op as usize).map_or(op, |group| ops as u32 + group);
        let size = ops + self.groups.len();
        let mut open = vec![0u32; size];
        let mut after = Vec::with_capacity(edges.len());
        for &(op, before) in edges {
            if node_of(before) == node_of(op) {
                return Err(op);
            }
            open[node_of(op) as usize] += 1;
            after.push((node_of(before), node_of(op)));
        }
        let after = Lists::of_pairs(size, &after);
        let is_node = |node: usize| node >= ops || self.group[node] == Graph::ALONE;
        let nodes = (0..size).filter(|&node| is_node(node)).count();
        let mut ready: Vec<u32> =
            (0..size).filter(|&node| is_node(node) && open[node] == 0).map(|node| node as u32).collect();
        let mut order = Vec::with_capacity(nodes);
        while let Some(node) = ready.pop() {
            order.push(match node.checked_sub(ops as u32) {
                Some(group) => Node::Group(group),
                None => Node::Op(node),
            });
            for &next in after.get(node as usize) {
                open[next as usize] -= 1;
                if open[next as usize] == 0 {
                    ready.push(next);
                }
            }
        }
        match order.len() == nodes {
            true => Ok(order),
            false => Err((0..ops as u32).find(|&op| open[node_of(op) as usize] > 0).unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_comes_after_what_any_of_it_waits_for() {
        let groups = [Group { ops: vec![1, 2], wide: false }];
        let graph = Graph::new(4, &[(1, 0), (3, 2)], &groups).unwrap();
        assert_eq!(graph.order, [Node::Op(0), Node::Group(0), Node::Op(3)]);
        assert_eq!((graph.before.get(3), graph.groups.get(0)), (&[2][..], &[1, 2][..]));
        // 2 waits for 3, which waits for the group of 2.
        assert!(Graph::new(4, &[(1, 0), (3, 1), (2, 3)], &groups).is_err());
        assert_eq!(Graph::new(4, &[(1, 2)], &groups), Err(1));
    }
}
