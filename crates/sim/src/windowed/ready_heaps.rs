//! Many ready operations of one process, each found in logarithmic time.
//!
//! An operation's eligible time is the later of its own and of its lane's free time. So each lane keeps
//! two heaps: those that wait for their own time, and those that only wait for the lane, which are all
//! eligible at the same time and ordered by the rest of the key. Free times only grow, so operations
//! move from the first to the second and never back.

use super::queues::Pending;
use crate::host::Host;
use crate::order::Key;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use straggler_model::Time;
use straggler_schedule::OperationKind;

/// What an operation waits for besides its own time.
type Lane = (OperationKind, u8, u8);

#[derive(Debug)]
struct LaneHeaps {
    lane: Lane,
    waiting: BinaryHeap<Reverse<(Time, Time, u32)>>,
    eligible: BinaryHeap<Reverse<(Time, u32)>>,
}

/// The ready operations of a process, by lane.
#[derive(Debug, Default)]
pub(super) struct ReadyHeaps {
    lanes: Vec<LaneHeaps>,
    /// What the last search found, and in which lane.
    found: Option<(usize, Pending)>,
}

impl LaneHeaps {
    fn pending(&self, ready: Time, created: Time, id: u32) -> Pending {
        let (kind, cpu, nic) = self.lane;
        Pending { ready, created, id, kind, cpu, nic }
    }

    fn first(&mut self, host: &impl Host) -> Option<Pending> {
        // A receive waits for nothing but its own time.
        let free = match self.lane.0 {
            OperationKind::Recv => Time::ZERO,
            _ => self.pending(Time::ZERO, Time::ZERO, 0).key(host).eligible,
        };
        while let Some(&Reverse((ready, created, id))) = self.waiting.peek()
            && ready <= free
        {
            self.waiting.pop();
            self.eligible.push(Reverse((created, id)));
        }
        match self.eligible.peek() {
            Some(&Reverse((created, id))) => Some(self.pending(free, created, id)),
            None => self.waiting.peek().map(|&Reverse((ready, created, id))| self.pending(ready, created, id)),
        }
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.eligible.is_empty()
    }
}

impl ReadyHeaps {
    pub fn push(&mut self, pending: Pending) {
        let lane = (pending.kind, pending.cpu, pending.nic);
        let index = match self.lanes.iter().position(|heaps| heaps.lane == lane) {
            Some(index) => index,
            None => {
                self.lanes.push(LaneHeaps { lane, waiting: BinaryHeap::new(), eligible: BinaryHeap::new() });
                self.lanes.len() - 1
            }
        };
        self.lanes[index].waiting.push(Reverse((pending.ready, pending.created, pending.id)));
    }

    /// The operation with the smallest key.
    pub fn first(&mut self, host: &impl Host) -> Option<Pending> {
        let mut best: Option<(Key, usize, Pending)> = None;
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(pending) = lane.first(host) {
                let key = pending.key(host);
                if best.as_ref().is_none_or(|(least, ..)| key < *least) {
                    best = Some((key, index, pending));
                }
            }
        }
        self.found = best.map(|(_, index, pending)| (index, pending));
        self.found()
    }

    /// What the last search found.
    pub fn found(&self) -> Option<Pending> {
        self.found.map(|(_, pending)| pending)
    }

    /// Removes what the last search found; there was something.
    pub fn remove_found(&mut self) -> (OperationKind, u32) {
        let Some((index, pending)) = self.found.take() else {
            debug_assert!(false, "nothing was found");
            return (OperationKind::Calc, 0);
        };
        let lane = &mut self.lanes[index];
        if lane.eligible.pop().is_none() {
            lane.waiting.pop();
        }
        (pending.kind, pending.id)
    }

    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(LaneHeaps::is_empty)
    }
}
