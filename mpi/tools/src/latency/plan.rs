//! What is measured, one configuration after the other.

use crate::args::{Kernel, LatencyOptions};
use crate::session::Session;
use anyhow::{Result, bail};
use std::fmt;
use straggler_model::units::Bytes;
use straggler_report::numbers::counted;
use straggler_schedule::tournament;

/// Who communicates with how many, and how large messages are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Configuration {
    pub size: u64,
    pub per_node: u32,
    pub peers: u32,
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Configuration { size, per_node, peers } = *self;
        let count = |number: u32, one, many| counted(u64::from(number), one, many);
        let (peers, processes) = (count(peers, "peer", "peers"), count(per_node, "process", "processes"));
        write!(f, "{} with {peers} and {processes} a node", Bytes(size))
    }
}

/// The world ranks that communicate when so many of each node do.
pub fn active(session: &Session, per_node: u32) -> Vec<u32> {
    (0..).zip(&session.local).filter(|(_, local)| **local < per_node).map(|(rank, _)| rank).collect()
}

/// All configurations that are asked for and that there are processes for.
pub fn configurations(session: &Session, options: &LatencyOptions) -> Result<Vec<Configuration>> {
    if session.size < 2 {
        bail!(
            "a latency needs two processes and this job has one: start it with `mpirun -n 2 straggler-mpi latency …`. \
             If you did, mpirun belongs to another MPI than the one straggler-mpi was built with"
        );
    }
    for &Bytes(size) in &options.sizes {
        let each = if options.kernel == Kernel::Alltoall { u64::from(session.size) } else { 1 };
        if size.saturating_mul(each) > LARGEST {
            bail!("--sizes {}: a process sends at most {} at once: take less", Bytes(size), Bytes(LARGEST));
        }
    }
    let most = session.most_on_a_node();
    let per_node = match (options.sweep, options.per_node.is_empty()) {
        (true, _) => doubled(most),
        (false, true) => vec![most],
        (false, false) => options.per_node.clone(),
    };
    let mut all = Vec::new();
    for per_node in per_node {
        if per_node == 0 || per_node > most {
            bail!("--per-node {per_node}: the nodes of this job have 1 to {most} processes");
        }
        let active = active(session, per_node).len() as u32;
        let rounds = tournament::steps(active);
        if rounds == 0 {
            if !options.sweep {
                bail!("--per-node {per_node} on one node leaves nobody to communicate with: take 2 or more");
            }
            continue;
        }
        let peers = match (options.sweep && !options.kernel.is_collective(), options.peers.is_empty()) {
            (true, _) => doubled(active - 1),
            (false, true) => vec![active - 1],
            (false, false) => options.peers.clone(),
        };
        for peers in peers {
            if peers == 0 || peers >= active {
                let most = counted(u64::from(active - 1), "peer", "peers");
                bail!("--peers {peers}: with {active} communicating processes each has at most {most}");
            }
            // A barrier has no bytes, so that its sizes are all the same.
            let sizes = if options.kernel == Kernel::Barrier { &[Bytes(0)][..] } else { &options.sizes };
            all.extend(sizes.iter().map(|size| Configuration { size: size.0, per_node, peers }));
        }
    }
    Ok(all)
}

/// MPI counts bytes with 31 bits.
const LARGEST: u64 = 1 << 30;

/// 1, 2, 4, … and the number itself.
fn doubled(last: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (0..).map(|power| 1u32 << power).take_while(|&number| number < last).collect();
    all.push(last);
    all
}

#[cfg(test)]
mod tests {
    use super::doubled;

    #[test]
    fn sweeps_end_with_all() {
        assert_eq!(doubled(1), [1]);
        assert_eq!(doubled(4), [1, 2, 4]);
        assert_eq!(doubled(6), [1, 2, 4, 6]);
    }
}
