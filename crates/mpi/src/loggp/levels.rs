//! Which processes to measure with for each level of the machine.

use straggler_model::latency::Process;
use straggler_model::network::Grouping;

/// A part of the machine that rank 0 shares with some other process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shared {
    pub name: &'static str,
    pub grouping: Grouping,
    /// The first process that shares this part with rank 0, but no smaller one.
    pub partner: u32,
}

/// The parts that contain a process, from the smallest to the largest. A number of a smaller part counts within the
/// larger one.
type Part = (&'static str, fn(&Process) -> Option<(u32, u32)>);

const PARTS: [Part; 3] = [
    ("NUMA domain", |process| Some((process.node?, process.numa?))),
    ("socket", |process| Some((process.node?, process.socket?))),
    ("node", |process| Some((process.node?, 0))),
];

/// The levels between rank 0 and other processes, from the innermost outwards. Of processes that are not bound to a core
/// only the node is known.
pub fn find(processes: &[Process], unbound: bool) -> Vec<Shared> {
    let Some(first) = processes.first() else { return Vec::new() };
    let known = if unbound { &PARTS[2..] } else { &PARTS[..] };
    let (mut found, mut inside) = (Vec::<Shared>::new(), vec![0]);
    for (name, part) in known {
        let is_here = |process: &Process| part(process).is_some() && part(process) == part(first);
        let members: Vec<u32> =
            (0..).zip(processes).filter(|(_, one)| is_here(one)).map(|(rank, _)| rank).collect();
        if let Some(&partner) = members.iter().find(|rank| !inside.contains(rank)) {
            found.push(Shared { name, grouping: grouping(processes.iter().map(part)), partner });
            inside = members;
        }
    }
    found
}

/// Groups of consecutive ranks of one size are written as that size.
fn grouping(parts: impl Iterator<Item = Option<(u32, u32)>>) -> Grouping {
    let mut known = Vec::new();
    let groups: Vec<u32> = parts
        .map(|part| {
            let place = known.iter().position(|other| *other == part).filter(|_| part.is_some());
            place.unwrap_or_else(|| {
                known.push(part);
                known.len() - 1
            }) as u32
        })
        .collect();
    let size = groups.iter().filter(|&&group| group == 0).count() as u32;
    let is_even = (0..).zip(&groups).all(|(rank, &group)| group == rank / size);
    if is_even { Grouping::Consecutive(size) } else { Grouping::Map(groups) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(places: &[(u32, u32, u32)]) -> Vec<Process> {
        let process = |(rank, &(node, socket, numa))| Process {
            rank,
            node: Some(node),
            socket: Some(socket),
            numa: Some(numa),
            ..Process::default()
        };
        (0..).zip(places).map(process).collect()
    }

    #[test]
    fn each_level_has_its_pair() {
        // Two nodes of two sockets with two processes each; a NUMA domain is a socket.
        let all = processes(&[
            (0, 0, 0),
            (0, 0, 0),
            (0, 1, 1),
            (0, 1, 1),
            (1, 0, 0),
            (1, 0, 0),
            (1, 1, 1),
            (1, 1, 1),
        ]);
        let told = |unbound| -> Vec<(&str, u32, Grouping)> {
            find(&all, unbound).into_iter().map(|one| (one.name, one.partner, one.grouping)).collect()
        };
        let (domain, node) = (Grouping::Consecutive(2), Grouping::Consecutive(4));
        assert_eq!(told(false), [("NUMA domain", 1, domain), ("node", 2, node.clone())]);
        assert_eq!(told(true), [("node", 1, node)]);
        // Ranks in turn on two nodes.
        let turns = processes(&[(0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 1)]);
        let found = find(&turns, false);
        assert_eq!((found.len(), found[0].name, found[0].partner), (1, "node", 2));
        assert_eq!(found[0].grouping, Grouping::Map(vec![0, 1, 0, 1]));
        assert_eq!(find(&[], false), []);
        assert_eq!(find(&processes(&[(0, 0, 0), (1, 0, 0)]), false), []);
    }
}
