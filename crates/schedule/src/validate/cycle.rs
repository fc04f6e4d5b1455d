//! Operations of one rank that wait for each other in a cycle.

use crate::RankView;

/// Returns the operations of one cycle: each must happen before the next, and the last before the
/// first; the smallest comes first. An operation that depends on itself does not count. Takes
/// linear time in operations and dependencies.
pub fn find_cycle(rank: &RankView<'_>) -> Option<Vec<u32>> {
    if goes_forward(rank) {
        return None;
    }
    let waiting = never_ready(rank);
    let mut predecessor: Vec<Option<u32>> = vec![None; rank.len() as usize];
    for before in (0..rank.len()).filter(|&operation| waiting[operation as usize]) {
        for edge in rank.dependents(before) {
            if edge.dependent() != before {
                predecessor[edge.dependent() as usize] = Some(before);
            }
        }
    }
    // An operation that is never ready waits for another one that is never ready, so following them
    // back ends in a cycle.
    let start = waiting.iter().position(|&waits| waits)? as u32;
    Some(circle(start, &predecessor))
}

/// Whether every dependency goes from an earlier operation to a later one.
fn goes_forward(rank: &RankView<'_>) -> bool {
    (0..rank.len()).all(|before| rank.dependents(before).all(|edge| edge.dependent() > before))
}

/// Kahn's algorithm: removes operations that wait for nothing; the remaining ones never become ready.
fn never_ready(rank: &RankView<'_>) -> Vec<bool> {
    let mut waits_for = vec![0u32; rank.len() as usize];
    for before in 0..rank.len() {
        for edge in rank.dependents(before).filter(|edge| edge.dependent() != before) {
            waits_for[edge.dependent() as usize] += 1;
        }
    }
    let mut ready: Vec<u32> =
        (0..rank.len()).filter(|&operation| waits_for[operation as usize] == 0).collect();
    while let Some(operation) = ready.pop() {
        for edge in rank.dependents(operation).filter(|edge| edge.dependent() != operation) {
            let left = &mut waits_for[edge.dependent() as usize];
            *left -= 1;
            if *left == 0 {
                ready.push(edge.dependent());
            }
        }
    }
    waits_for.into_iter().map(|left| left > 0).collect()
}

/// Follows predecessors from `start` until an operation repeats.
fn circle(start: u32, predecessor: &[Option<u32>]) -> Vec<u32> {
    let mut visited = vec![false; predecessor.len()];
    let mut at = start;
    while !std::mem::replace(&mut visited[at as usize], true) {
        at = predecessor[at as usize].expect("what is never ready waits for something");
    }
    let mut cycle = vec![at];
    let mut back = predecessor[at as usize].expect("it is in a cycle");
    while back != at {
        cycle.push(back);
        back = predecessor[back as usize].expect("it is in a cycle");
    }
    cycle.reverse();
    let smallest = (0..cycle.len()).min_by_key(|&place| cycle[place]).unwrap_or(0);
    cycle.rotate_left(smallest);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GraphBuilder, Operation, RankBuilder};
    use straggler_model::Time;

    fn cycle_of(operations: u32, requires: &[(u32, u32)]) -> Option<Vec<u32>> {
        let mut rank = RankBuilder::default();
        for _ in 0..operations {
            rank.push(Operation::calc(Time::ZERO));
        }
        for &(dependent, before) in requires {
            rank.requires(dependent, before);
        }
        let mut graph = GraphBuilder::default();
        graph.push_rank(&rank);
        find_cycle(&graph.last_rank())
    }

    #[test]
    fn finds_a_cycle_behind_and_before_a_tail() {
        // 4 → 0 → 1 → 2 → 0, 2 → 3
        let edges = [(0, 4), (1, 0), (2, 1), (0, 2), (3, 2)];
        assert_eq!(cycle_of(5, &edges), Some(vec![0, 1, 2]));
    }

    #[test]
    fn backward_edges_alone_are_no_cycle() {
        assert_eq!(cycle_of(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]), None);
        assert_eq!(cycle_of(0, &[]), None);
    }

    #[test]
    fn waiting_for_oneself_is_not_counted() {
        assert_eq!(cycle_of(2, &[(0, 0), (0, 1)]), None);
        assert_eq!(cycle_of(3, &[(0, 0), (2, 1), (1, 2), (1, 2)]), Some(vec![1, 2]));
    }
}
