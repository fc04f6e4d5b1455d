//! Barrier: nobody leaves before everybody has come.

use super::CollectiveError;
use super::allreduce::Dissemination;

/// A barrier's messages carry nothing; one byte costs the same as none.
pub const BYTES: u64 = 1;

/// The dissemination barrier is the dissemination allreduce of next to no data.
pub fn dissemination(processes: u32, bytes: u64) -> Result<Dissemination, CollectiveError> {
    Dissemination::new(processes, bytes)
}
