//! Compares the run time that the model predicts for a traced program with the traced one.
//!
//! The model charges for communication between ranks; local computation is taken from the trace. The difference is
//! therefore the error of the network parameters, or of LogGOPS itself. Parameters come from a file or, by
//! [`fit`](mod@fit), from the trace itself.

mod calibrate;
mod estimate;
mod evidence;
pub mod fit;
mod joints;
mod pairs;
#[cfg(test)]
mod tests;
mod unusual;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use straggler_model::Time;
use straggler_schedule::traced::TracedRun;
use straggler_trace::Trace;

pub use fit::{Fit, FitError, fit};

/// When one rank finished, in the trace and in the model, on the clock of the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RankPrediction {
    pub traced: Time,
    pub predicted: Time,
}

/// A whole run.
#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    pub ranks: Vec<RankPrediction>,
    /// When the last rank finished.
    pub traced: Time,
    pub predicted: Time,
}

impl Prediction {
    /// `finish` is the result of a run without copies.
    pub fn new(recording: &TracedRun, finish: &[Time]) -> Prediction {
        let ranks: Vec<RankPrediction> = recording
            .ranks()
            .iter()
            .zip(finish)
            .map(|(rank, &predicted)| RankPrediction { traced: rank.traced_end(), predicted })
            .collect();
        // Without finish times, too, it is known how long the recorded run took.
        let predicted = ranks.iter().map(|rank| rank.predicted).max().unwrap_or_default();
        Prediction { traced: recording.traced_end(), predicted, ranks }
    }

    /// The error as a share of the traced time; positive if the model is too slow. None for an empty trace.
    pub fn error(&self) -> Option<f64> {
        relative(self.predicted, self.traced)
    }

    /// The rank with the largest error, and the error.
    pub fn worst(&self) -> Option<(u32, f64)> {
        let errors = self.ranks.iter().enumerate();
        let errors =
            errors.filter_map(|(rank, one)| Some((rank as u32, relative(one.predicted, one.traced)?)));
        errors.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))
    }
}

/// (a − b) / b.
pub fn relative(a: Time, b: Time) -> Option<f64> {
    (b > Time::ZERO).then(|| (a.ps() as f64 - b.ps() as f64) / b.ps() as f64)
}

/// A host with more ranks than cores: ranks wait for each other's computation, so measured times mean little.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Sharing {
    pub host: String,
    pub ranks: u32,
    pub cores: u32,
}

/// Hosts on which ranks shared cores.
pub fn sharing(trace: &Trace) -> Vec<Sharing> {
    let mut hosts: BTreeMap<&str, (u32, BTreeSet<u32>)> = BTreeMap::new();
    for rank in trace.ranks.iter().filter(|rank| !rank.cores.is_empty()) {
        let (ranks, cores) = hosts.entry(&rank.host).or_default();
        *ranks += 1;
        cores.extend(&rank.cores);
    }
    let crowded = hosts.into_iter().filter(|(_, (ranks, cores))| *ranks as usize > cores.len());
    crowded
        .map(|(host, (ranks, cores))| Sharing { host: host.to_owned(), ranks, cores: cores.len() as u32 })
        .collect()
}
