//! What a study finds out, point by point: where the point lies and what came out. The crates that run studies,
//! store them and show them meet here.

use crate::Time;

/// Where a point lies in the space of a study; texts are as the study has them.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Coordinates {
    /// The name of the sweep; empty where a study is only one.
    pub sweep: String,
    /// The collective or the workload.
    pub workload: String,
    /// Bytes of a collective's data; nothing for a workload.
    pub size: Option<u64>,
    pub network: String,
    /// How many times faster the network is than the one that is named.
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
    /// When all have finished without noise.
    pub quiet: Time,
    /// When all have finished, replica by replica.
    pub makespans: Vec<Time>,
}

impl PointResult {
    /// T / T0 − 1 of every replica.
    pub fn slowdowns(&self) -> Vec<f64> {
        self.makespans.iter().map(|&time| crate::stats::slowdown(time, self.quiet)).collect()
    }
}

/// Everything a study found out, in the order of its points.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Results {
    pub points: Vec<PointResult>,
}
