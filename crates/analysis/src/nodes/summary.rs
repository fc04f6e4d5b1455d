//! The summary of a node that is kept for comparison with a later measurement.

use super::samples::lost_by_window;
use super::{Cluster, NodeId, Speeds};
use serde::{Deserialize, Serialize};

/// Summary of one node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    pub name: String,
    pub cores: usize,
    #[serde(default)]
    pub processor: Option<String>,
    /// Share of its cores' time.
    pub lost: f64,
    /// Shares by source, largest first.
    #[serde(default)]
    pub sources: Vec<SourceShare>,
    pub iteration_ps: f64,
    /// The share of its cores' time lost in each window of the measurement.
    pub lost_by_window: Vec<f64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SourceShare {
    pub name: String,
    pub lost: f64,
}

/// Sources kept per node.
const MOST_SOURCES: usize = 10;

impl Summary {
    pub fn new(cluster: &Cluster, node: NodeId, speeds: &Speeds) -> Option<Summary> {
        let one = cluster.nodes.get(node)?;
        let (lost, sources) = one.lost();
        let source = |&(cause, lost): &(u16, f64)| SourceShare { name: cluster.cause(cause).into(), lost };
        Some(Summary {
            name: one.name.clone(),
            cores: one.cores.len(),
            processor: one.processor.clone(),
            lost,
            sources: sources.iter().take(MOST_SOURCES).map(source).collect(),
            iteration_ps: speeds.iteration_ps.get(node).copied().unwrap_or(0.0),
            lost_by_window: lost_by_window(one),
        })
    }

    /// The source that takes the most time.
    pub fn largest_source(&self) -> Option<&SourceShare> {
        self.sources.first()
    }
}
