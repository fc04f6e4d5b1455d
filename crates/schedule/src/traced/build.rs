//! Builds the collectives of a recording for the number of processes that take part.

use super::error::PlaybackError;
use super::recording::{BlockSizes, CollectiveCall, TracedRun};
use crate::collectives::sizes::Sizes;
use crate::collectives::{Collective, Job, Operation};
use crate::steps::Steps;
use crate::workloads::{Choose, choose_default};
use std::collections::HashMap;
use std::fmt;
use straggler_model::{PerByte, Rank};

/// How collectives are built.
#[derive(Clone, Copy)]
pub struct Building<'a> {
    pub choose: &'a Choose<'a>,
    /// Cost of combining a received byte.
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

/// A collective with its totals and limits.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub collective: Collective,
    /// A bound above all its tags.
    pub tags: u32,
    /// The most steps of any rank.
    pub stages: u32,
    /// Messages of all ranks together.
    pub messages: u64,
}

impl Built {
    fn new(collective: Collective) -> Built {
        let stages = (0..collective.processes()).map(|rank| collective.stages(rank)).max().unwrap_or(0);
        Built { tags: collective.tags(), stages, messages: collective.messages(), collective }
    }
}

/// Key of calls that can share one built collective.
#[derive(PartialEq, Eq, Hash)]
struct Like {
    operation: Operation,
    members: u32,
    grows: bool,
    divides: bool,
    root: Rank,
    sizes: u32,
}

/// Builds all collectives. Also returns, for each call of the recording, the index of its collective.
pub(super) fn build_all(
    recording: &TracedRun,
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
            grows: group.grows,
            divides: group.divides,
            root: call.root,
            sizes: call.sizes,
        };
        let place = match known.get(&like) {
            Some(&place) => place,
            None => {
                let times = if like.grows { copies } else { 1 };
                built.push(Built::new(build(recording, call, like.members, times, how)?));
                known.insert(like, built.len() as u32 - 1);
                built.len() as u32 - 1
            }
        };
        of_call.push(place);
    }
    Ok((built, of_call))
}

/// Builds one collective of `members`·`times` processes.
fn build(
    recording: &TracedRun,
    call: &CollectiveCall,
    members: u32,
    times: u32,
    how: &Building<'_>,
) -> Result<Collective, PlaybackError> {
    let operation = call.operation;
    let divides = recording.groups[call.group as usize].divides
        && matches!(operation, Operation::Allgather | Operation::ReduceScatterBlock);
    let sizes = match &recording.sizes[call.sizes as usize] {
        BlockSizes::Uniform(bytes) if divides => Sizes::uniform(bytes.div_ceil(times.max(1).into())),
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
