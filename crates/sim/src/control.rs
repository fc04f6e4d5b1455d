//! How a run is steered and watched from outside. Nothing here changes a result.

use crate::checkpoint::Checkpoints;
use crate::cluster::Cluster;
use std::sync::atomic::AtomicBool;
use straggler_model::Time;

/// What a caller sees of a run in progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub simulated: Time,
    /// On a cluster, those of this member.
    pub messages: u64,
}

/// How to run. Nothing here changes the result.
pub struct Control<'a> {
    pub threads: usize,
    /// Ranks in a block, as a power of two; chosen by the number of processes unless given.
    pub block_shift: Option<u32>,
    /// Who else runs a part of it.
    pub cluster: Option<&'a dyn Cluster>,
    /// Where the state of the run is kept, and where it begins.
    pub checkpoints: Option<&'a dyn Checkpoints>,
    /// Set from outside to stop the run.
    pub stop: &'a AtomicBool,
    /// Called now and then.
    pub progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Control<'a> {
    pub fn new(threads: usize, stop: &'a AtomicBool, progress: &'a mut dyn FnMut(Progress)) -> Control<'a> {
        Control { threads, block_shift: None, cluster: None, checkpoints: None, stop, progress }
    }
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("threads", &self.threads).finish_non_exhaustive()
    }
}
