//! The faults that a collective can have.

use straggler_model::{Rank, Tag, Time};

/// Why a collective is wrong: the first contradiction that the checker found.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    #[error("step {stage} of rank {rank} sends byte {byte}, which the rank does not have")]
    SendsMissing { rank: Rank, stage: u32, byte: u64 },
    #[error("step {stage} of rank {rank} sends {says} bytes but carries {carries}")]
    SizeDiffers { rank: Rank, stage: u32, says: u64, carries: u64 },
    #[error("step {stage} of rank {rank} sends to rank {peer}, which is not another rank")]
    NoPeer { rank: Rank, stage: u32, peer: Rank },
    #[error("rank {to} expects {expected} bytes from rank {from} with tag {tag} but gets {sent}")]
    ReceiveDiffers { from: Rank, to: Rank, tag: Tag, sent: u64, expected: u64 },
    #[error("step {stage} of rank {rank} combines {needs} of data but computes for {says}")]
    Reduction { rank: Rank, stage: u32, says: Time, needs: Time },
    #[error("step {stage} of rank {rank} does nothing")]
    Empty { rank: Rank, stage: u32 },
    #[error("the last step of rank {rank} is not waited for")]
    EndsOpen { rank: Rank },
    #[error("rank {rank} waits forever in step {stage}")]
    Deadlock { rank: Rank, stage: u32 },
    #[error("the message from rank {from} to rank {to} with tag {tag} is never received")]
    Leftover { from: Rank, to: Rank, tag: Tag },
    #[error("rank {rank} has no byte {byte} at the end")]
    Missing { rank: Rank, byte: u64 },
    #[error("byte {byte} of rank {rank} contains the data of rank {of} {found} times instead of {expected}")]
    Wrong { rank: Rank, byte: u64, of: Rank, found: u32, expected: u32 },
}
