//! Assigns cores to processes: every core that some process may use is measured once.

/// The node of a process, and the cores it may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allowed {
    pub node: u32,
    pub cores: Vec<u32>,
}

/// The cores of each process, by rank. A core goes to the process, among those that may use it,
/// that has the fewest so far; in a tie, to the one with the fewest to choose from. If processes
/// share a core, one of them measures it and the others wait.
pub fn shares(processes: &[Allowed]) -> Vec<Vec<u32>> {
    let mut shares = vec![Vec::new(); processes.len()];
    let nodes = processes.iter().map(|process| process.node).max().map_or(0, |last| last + 1);
    let mut of_node: Vec<Vec<usize>> = vec![Vec::new(); nodes as usize];
    for (rank, process) in processes.iter().enumerate() {
        of_node[process.node as usize].push(rank);
    }
    for ranks in &of_node {
        let mut cores: Vec<u32> = ranks.iter().flat_map(|&rank| &processes[rank].cores).copied().collect();
        cores.sort_unstable();
        cores.dedup();
        for core in cores {
            let may = ranks.iter().copied().filter(|&rank| processes[rank].cores.contains(&core));
            if let Some(rank) = may.min_by_key(|&rank| (shares[rank].len(), processes[rank].cores.len())) {
                shares[rank].push(core);
            }
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(list: &[(u32, &[u32])]) -> Vec<Vec<u32>> {
        let processes: Vec<Allowed> =
            list.iter().map(|&(node, cores)| Allowed { node, cores: cores.to_vec() }).collect();
        shares(&processes)
    }

    #[test]
    fn bound_processes_measure_their_own_cores() {
        assert_eq!(placed(&[(0, &[0]), (0, &[1]), (1, &[0]), (1, &[1])]), [[0], [1], [0], [1]]);
    }

    #[test]
    fn fewer_processes_than_cores_share_them() {
        assert_eq!(placed(&[(0, &[0, 1, 2, 3]), (0, &[0, 1, 2, 3])]), [[0, 2], [1, 3]]);
        assert_eq!(placed(&[(0, &[0, 1, 2])]), [[0, 1, 2]]);
    }

    #[test]
    fn a_shared_core_is_measured_once() {
        assert_eq!(placed(&[(0, &[5]), (0, &[5]), (0, &[4, 5])]), [vec![5], vec![], vec![4]]);
        assert_eq!(placed(&[]), Vec::<Vec<u32>>::new());
    }
}
