//! What to do about a cause.

use super::parts::time;
use crate::exact::{Cause, Finding};
use crate::words;

/// A host that waits for the GPU during this share of the idle time of the GPU is slowed by that.
const MAINLY: f64 = 0.3;

/// The advice for a cause, as sentences.
pub fn fix(cause: &Cause) -> String {
    match &cause.finding {
        Finding::Worker { occasional: true, .. } | Finding::Workers { occasional: true, .. } => {
            "Check what else ran on the node at that time. It is slow too rarely to be broken."
        }
        Finding::Worker { .. } => "Check its clock, temperature, memory errors and neighbours, or replace it.",
        Finding::Workers { .. } => match &cause.place {
            Some(place) => {
                return format!(
                    "Compare {place} with others: clocks, power, cooling, drivers, and what else runs there."
                );
            }
            None => "Check their clocks, temperatures, memory errors and neighbours.",
        },
        Finding::Stages { .. } => {
            return format!(
                "Check the nodes of these workers: clocks, temperatures, and what changed at {}.",
                first_step(cause)
            );
        }
        Finding::RandomStalls { .. } => {
            "Look for what interrupts nodes now and then: daemons, file systems, checkpoints, page migration. \
             `straggler assess` on a node names its sources of noise."
        }
        Finding::Partition { layers, step_seconds: Some(step), .. } => {
            return format!(
                "Split the layers {}: a step would take {}.",
                words::list_up_to(usize::MAX, layers),
                time(*step)
            );
        }
        Finding::Partition { stage, factor, .. } => {
            return format!(
                "Move {:.0} % of the work of stage {stage} to the others; --layers finds the best split.",
                100.0 * (1.0 - 1.0 / factor)
            );
        }
        Finding::SequenceLengths {} => {
            "Give microbatches the same amount of attention work: pack or sort sequences by length across ranks."
        }
        Finding::Variation { passes_known: true } => {
            "Check for other programs on the nodes, and for changing clock frequencies."
        }
        Finding::Variation { .. } => {
            "Annotate forward and backward passes, as the guide says, and record again; check for other programs \
             on the nodes, and for changing clock frequencies."
        }
        Finding::LaunchDelay {} => {
            let whose = match cause.ranks.len() {
                0 => "the ranks",
                1 => "that rank",
                _ => "these ranks",
            };
            return format!("Check data loading, garbage collection and other host work on {whose}.");
        }
        Finding::HostBound { host_waits_share, .. } if *host_waits_share >= MAINLY => {
            "Do not wait for the GPU within a step: avoid .item(), .cpu(), printing tensors, and copies from memory that \
             is not pinned."
        }
        Finding::HostBound { .. } => {
            "Launch fewer and larger kernels (torch.compile, CUDA graphs, fused optimizers, larger batches), and do \
             less in Python between them."
        }
        Finding::DataLoading { .. } => {
            "Load batches ahead: use more loader processes, a larger prefetch or faster storage."
        }
        Finding::GarbageCollection { .. } => {
            "Disable automatic collection and collect manually, in the same step on all ranks."
        }
        Finding::Links { .. } => match cause.ranks.len() {
            1 => "Check the links of this rank, and what else uses the network.",
            2 => "Check the link between these ranks, and what else uses the network.",
            _ => "Check the links of these ranks, and what else uses the network.",
        },
        Finding::Transfers { .. } => "Check what else uses the network.",
        Finding::StartUp { .. } => "Record later steps; in a long job start-up does not matter.",
        Finding::WholeJob { waits_in_computing: true, .. } => {
            "Record again so that waits are told from computing: give the probe the model. Then a slow rank can be named."
        }
        Finding::WholeJob { .. } => {
            return format!(
                "Check what changed at {}: power or temperature limits of all nodes, longer sequences, another \
                 program.",
                first_step(cause)
            );
        }
        Finding::OneOff { .. } => {
            "Check what happened on that node at that time, or whether the recording is wrong. A single such value \
             dominates S: leave that step out to see the usual S."
        }
    }
    .into()
}

fn first_step(cause: &Cause) -> String {
    cause.since_step.map_or_else(|| "the first step".into(), |step| format!("step {step}"))
}
