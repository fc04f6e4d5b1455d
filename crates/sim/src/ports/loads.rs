//! What the ports of a run have done.

use super::Segment;
use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_model::topology::{Costs, Port};

/// What a port has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Load {
    pub messages: u64,
    pub bytes: u64,
    /// How long it was busy.
    pub busy: Time,
    /// How long messages waited for it, each with its first segment.
    pub waited: Time,
}

impl Load {
    /// Counts a segment that came at `head` and whose service began at `start`.
    #[inline]
    pub(crate) fn count(&mut self, costs: &Costs, segment: &Segment, head: Time, start: Time) {
        self.bytes = self.bytes.saturating_add(segment.bytes);
        self.busy += segment.work(costs.gap_per_byte);
        if segment.is_first() {
            self.messages += 1;
            self.waited += start - head;
        }
    }
}

/// The loads of neighbouring ports, from a first one on.
pub type LinkLoads = Vec<(Port, Vec<Load>)>;
