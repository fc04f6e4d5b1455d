//! The collectives of a recording, built for the number of processes that take part.

use super::error::PlaybackError;
use super::recording::{BlockSizes, CollectiveCall, Recording};
use crate::collectives::sizes::Sizes;
use crate::collectives::{Collective, Job, Operation};
use crate::steps::Steps;
use crate::workloads::{Choose, choose_default};
use rayon::prelude::*;
use std::collections::HashMap;
use std::fmt;
use straggler_model::{PerByte, Rank};

/// How collectives are done.
#[derive(Clone, Copy)]
pub struct Building<'a> {
    pub choose: &'a Choose<'a>,
    /// What combining a received byte costs.
    pub reduction: PerByte,
}

impl Default for Building<'_> {
    fn default() -> Self {
        Building { choose: &choose_default, reduction: PerByte::ZERO }
    }
}

impl fmt::Debug for Building<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Building").field("reduction", &self.reduction).finish_non_exhaustive()
    }
}

/// A collective, and what it comes to.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub collective: Collective,
    /// What its tags stay below.
    pub tags: u32,
    /// The most steps of a rank.
    pub stages: u32,
    /// Of all ranks together.
    pub messages: u64,
    pub operations: u64,
}

impl Built {
    /// Goes through the whole collective once: not more work than simulating it once.
    fn new(collective: Collective) -> Built {
        let ranks = (0..collective.processes()).into_par_iter();
        let [tags, stages, messages, operations] = ranks.map(|rank| extent(&collective, rank)).reduce(
            || [0; 4],
            |a, b| [a[0].max(b[0]), a[1].max(b[1]), a[2].saturating_add(b[2]), a[3].saturating_add(b[3])],
        );
        Built { tags: tags as u32, stages: stages as u32, messages, operations, collective }
    }
}

/// Tags, stages, messages and operations of one rank.
fn extent(collective: &Collective, rank: Rank) -> [u64; 4] {
    let stages = collective.stages(rank);
    let mut all = [0, u64::from(stages), 0, 0];
    for stage in 0..stages {
        let step = collective.step(rank, stage);
        let used = step.send.iter().chain(&step.recv).map(|message| u64::from(message.tag) + 1);
        all[0] = used.fold(all[0], u64::max);
        all[2] += u64::from(step.send.is_some());
        all[3] += u64::from(step.send.is_some())
            + u64::from(step.recv.is_some())
            + u64::from(step.calc.is_some())
            + u64::from(step.after.ps() > 0);
    }
    all
}

/// Calls that are alike share what is built for them.
#[derive(PartialEq, Eq, Hash)]
struct Like {
    operation: Operation,
    members: u32,
    everyone: bool,
    root: Rank,
    sizes: u32,
}

/// What was built, and which of it each call of the recording is.
pub(super) fn build_all(
    recording: &Recording,
    copies: u32,
    how: &Building<'_>,
) -> Result<(Vec<Built>, Vec<u32>), PlaybackError> {
    let mut known: HashMap<Like, u32> = HashMap::new();
    let mut built = Vec::new();
    let mut of_call = Vec::with_capacity(recording.calls.len());
    for call in &recording.calls {
        let group = &recording.groups[call.group as usize];
        let like = Like {
            operation: call.operation,
            members: group.members.len() as u32,
            everyone: group.everyone,
            root: call.root,
            sizes: call.sizes,
        };
        let place = match known.get(&like) {
            Some(&place) => place,
            None => {
                let times = if like.everyone { copies } else { 1 };
                built.push(Built::new(build(recording, call, like.members, times, how)?));
                known.insert(like, built.len() as u32 - 1);
                built.len() as u32 - 1
            }
        };
        of_call.push(place);
    }
    Ok((built, of_call))
}

/// One collective of `members`·`times` processes.
fn build(
    recording: &Recording,
    call: &CollectiveCall,
    members: u32,
    times: u32,
    how: &Building<'_>,
) -> Result<Collective, PlaybackError> {
    let operation = call.operation;
    let sizes = match &recording.sizes[call.sizes as usize] {
        BlockSizes::Uniform(bytes) => Sizes::uniform(*bytes),
        BlockSizes::PerMember(list) => Sizes::repeating(list),
        BlockSizes::PerPair(list) => Sizes::tiled(list, members, times),
    };
    let job =
        Job { processes: members.saturating_mul(times), root: call.root, sizes, reduction: how.reduction };
    if !job.fits(operation) {
        return Err(PlaybackError::TooMuchData { operation: operation.name() });
    }
    let algorithm = (how.choose)(operation, &job);
    let fault = |fault| PlaybackError::Collective { operation: operation.name(), fault };
    algorithm.build(operation, &job).map_err(fault)
}
