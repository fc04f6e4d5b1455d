//! Nodes that run slower than the others: an undisturbed iteration of the measuring loop takes longer there. A lower
//! clock frequency does that; it slows down a job without being noise.

use super::{Cluster, Node, NodeId};
use serde::Serialize;
use std::collections::BTreeMap;
use straggler_model::stats::{median_of, robust};

/// Fewer nodes are too few to estimate their spread.
const FEW: usize = 4;

/// The speeds of the nodes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Speeds {
    /// For each node, the median over its cores.
    pub iteration_ps: Vec<f64>,
    /// The slowest first.
    pub slow: Vec<SlowNode>,
    /// Nodes with a processor that no other node has, so they cannot be compared.
    pub alone: Vec<String>,
}

/// A node that runs slower than the median node.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SlowNode {
    pub name: String,
    #[serde(skip)]
    pub node: NodeId,
    /// Its speed as a share of the median node's.
    pub speed: f64,
    pub iteration_ps: f64,
    pub median_iteration_ps: f64,
}

impl Speeds {
    pub fn new(cluster: &Cluster) -> Speeds {
        let iteration_ps: Vec<f64> = cluster.nodes.iter().map(iteration).collect();
        let mut kinds: BTreeMap<Option<&str>, Vec<NodeId>> = BTreeMap::new();
        for (node, one) in cluster.nodes.iter().enumerate().filter(|&(node, _)| iteration_ps[node] > 0.0) {
            kinds.entry(one.processor.as_deref()).or_default().push(node);
        }
        let mut speeds = Speeds { iteration_ps, slow: Vec::new(), alone: Vec::new() };
        for nodes in kinds.values() {
            match nodes[..] {
                [node] => speeds.alone.push(cluster.name(node).to_string()),
                _ => speeds.find(cluster, nodes),
            }
        }
        speeds.slow.sort_by(|one, other| one.speed.total_cmp(&other.speed));
        speeds
    }

    /// Finds the slow ones among nodes with the same processor.
    fn find(&mut self, cluster: &Cluster, nodes: &[NodeId]) {
        let times: Vec<f64> = nodes.iter().map(|&node| self.iteration_ps[node]).collect();
        // The lower median: of two nodes, the faster is the reference.
        let middle = median_of(times.clone());
        let spread = robust::deviation_from(middle, &times);
        let slow = if nodes.len() < FEW { robust::ONE_OF_FEW_NODES } else { robust::NODE };
        for (&node, time) in nodes.iter().zip(times) {
            if time - middle >= slow.margin(middle, spread) {
                let name = cluster.name(node).to_string();
                let (speed, iteration_ps) = (middle / time, time);
                self.slow.push(SlowNode { name, node, speed, iteration_ps, median_iteration_ps: middle });
            }
        }
    }
}

fn iteration(node: &Node) -> f64 {
    median_of(node.cores.iter().map(|core| core.iteration_ps).filter(|&time| time > 0.0).collect())
}
