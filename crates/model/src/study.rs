//! The results of a study: each point's coordinates and its outcome. Shared by the crates that run, store and
//! show studies.

use crate::Time;

/// The coordinates of a point in a study; texts are as in the study file.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Coordinates {
    /// The name of the sweep; empty if the study has only one.
    pub sweep: String,
    /// The collective or the workload.
    pub workload: String,
    /// Bytes of a collective's data; `None` for a workload.
    pub size: Option<u64>,
    pub network: String,
    /// How many times faster the network is than `network`.
    pub network_scale: f64,
    pub noise: String,
    pub cosched: bool,
    pub seed: u64,
    pub processes: u32,
}

impl Coordinates {
    /// Whether both lie on one curve over the number of processes.
    pub fn same_series(&self, other: &Coordinates) -> bool {
        let there = |all: &Coordinates| Coordinates { processes: 0, ..all.clone() };
        there(self) == there(other)
    }
}

/// One point and its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct PointResult {
    pub point: Coordinates,
    /// Makespan without noise.
    pub quiet: Time,
    /// Makespan of each replica.
    pub makespans: Vec<Time>,
}

impl PointResult {
    /// T / T0 − 1 of every replica.
    pub fn slowdowns(&self) -> Vec<f64> {
        self.makespans.iter().map(|&time| crate::stats::slowdown(time, self.quiet)).collect()
    }
}

/// All results of a study, in the order of its points.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Results {
    pub points: Vec<PointResult>,
}
