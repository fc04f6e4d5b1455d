//! How a caller controls and watches a run. Nothing here changes a result.

use crate::checkpoint::Checkpoints;
use crate::cluster::Cluster;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_model::Time;

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub simulated: Time,
    /// Messages so far; on a cluster, of this member.
    pub messages: u64,
}

/// How to run. Nothing here changes the result.
pub struct Control<'a> {
    pub threads: usize,
    /// log2 of the ranks in a block; chosen by the number of processes unless given.
    pub block_shift: Option<u32>,
    /// The cluster whose members share the run.
    pub cluster: Option<&'a dyn Cluster>,
    /// Where to save the run's state, and to resume from.
    pub checkpoints: Option<&'a dyn Checkpoints>,
    /// Set from outside to stop the run.
    pub stop: Option<&'a AtomicBool>,
    /// Called now and then.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
}

impl<'a> Control<'a> {
    /// A run on so many threads, from beginning to end, that reports nothing.
    pub fn new(threads: usize) -> Control<'a> {
        Control { threads, block_shift: None, cluster: None, checkpoints: None, stop: None, progress: None }
    }

    /// Ends the run soon after the flag is set.
    pub fn stop_if(self, flag: &'a AtomicBool) -> Control<'a> {
        Control { stop: Some(flag), ..self }
    }

    /// Calls a function now and then.
    pub fn progress(self, report: &'a mut dyn FnMut(Progress)) -> Control<'a> {
        Control { progress: Some(report), ..self }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("threads", &self.threads).finish_non_exhaustive()
    }
}
