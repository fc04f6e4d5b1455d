//! Sends and receives of a pipeline, matched by what they carry: the microbatch, and the chunk of the model that it leaves.

use super::Found;
use super::column::{Building, SLACK};
use crate::graph::Group;
use crate::{Kind, Row};
use std::collections::BTreeMap;

/// The operations of one direction, and to which chunk of the model its messages go.
#[derive(Clone, Copy)]
pub struct Direction {
    compute: Kind,
    send: Kind,
    recv: Kind,
    to: i32,
}

pub const FORWARD: Direction =
    Direction { compute: Kind::ForwardCompute, send: Kind::ForwardSend, recv: Kind::ForwardRecv, to: 1 };
pub const BACKWARD: Direction =
    Direction { compute: Kind::BackwardCompute, send: Kind::BackwardSend, recv: Kind::BackwardRecv, to: -1 };

impl Direction {
    /// Where no transfers were recorded: a microbatch is computed on a chunk after it was on the chunk that it comes from.
    pub fn without_transfers(self, building: &mut Building<'_>) {
        let mut of_chunk: BTreeMap<(i32, i32), usize> = BTreeMap::new();
        for (op, row) in building.rows.iter().enumerate().filter(|(_, row)| row.kind == self.compute) {
            let microbatch = if row.microbatch < 0 { row.seq as i32 } else { row.microbatch };
            of_chunk.entry((chunk(row), microbatch)).or_insert(op);
        }
        for (&(chunk, microbatch), &after) in &of_chunk {
            let before = of_chunk.get(&(chunk.saturating_sub(self.to), microbatch));
            // Against the clock nothing waits, and nobody in a circle.
            if let Some(&before) = before.filter(|&&before| building.start[before] < building.start[after]) {
                building.edge(after, building.done(before));
            }
        }
    }
}

/// The chunk of the model. A table without chunks has one a stage.
pub fn chunk(row: &Row) -> i32 {
    match row.model_chunk {
        -1 => row.stage as i32,
        chunk => chunk,
    }
}

/// What a message carries: its direction, microbatch, the chunk that it leaves, and which of these it is.
type Message = (i32, i32, i32, u32);

/// Sends and receives by what they carry.
pub struct Partners {
    chunks: i32,
    sends: BTreeMap<Message, usize>,
    recvs: BTreeMap<Message, usize>,
    /// Those that carry nothing to another stage.
    alone: Vec<usize>,
}

impl Partners {
    pub fn new(chunks: i32) -> Partners {
        Partners { chunks, sends: BTreeMap::new(), recvs: BTreeMap::new(), alone: Vec::new() }
    }

    /// Sends and receives of a stage in one direction: send ← compute, and compute ← recv.
    pub fn match_stage(&mut self, building: &mut Building<'_>, stage: u32, direction: Direction) {
        let computes: Vec<usize> = building.range(stage, Some(direction.compute)).collect();
        for (kind, to) in [(direction.send, direction.to), (direction.recv, -direction.to)] {
            let receives = kind == direction.recv;
            let transfers = building.in_order(building.range(stage, Some(kind)));
            building.chain(&transfers);
            let chunk = |compute: usize| chunk(&building.rows[compute]);
            let goes_on =
                |compute: &usize| (0..self.chunks.max(1)).contains(&chunk(*compute).saturating_add(to));
            let belongs = owners(building, &transfers, &computes, receives, &goes_on);
            let mut matched = Vec::new();
            for (&transfer, owner) in transfers.iter().zip(&belongs) {
                let Some(compute) = *owner else {
                    building.found.unmatched += 1;
                    self.alone.push(transfer);
                    continue;
                };
                matched.push(if receives { (compute, transfer) } else { (transfer, building.done(compute)) });
                if !goes_on(&compute) {
                    self.alone.push(transfer);
                    continue;
                }
                let leaves = if receives { chunk(compute).saturating_add(to) } else { chunk(compute) };
                let list = if receives { &mut self.recvs } else { &mut self.sends };
                let microbatch = building.rows[compute].microbatch;
                let mut message = (direction.to, microbatch, leaves, 0);
                while list.contains_key(&message) {
                    message.3 += 1;
                }
                list.insert(message, transfer);
            }
            matched.into_iter().for_each(|(after, before)| building.edge(after, before));
        }
    }

    /// Pairs, and the rest on its own.
    pub fn pairs(self, found: &mut Found) -> Vec<Group> {
        let group = |ops: &[usize]| Group { ops: ops.iter().map(|&op| op as u32).collect(), wide: false };
        let mut groups = Vec::new();
        for (message, &send) in &self.sends {
            match self.recvs.get(message) {
                Some(&recv) => groups.push(group(&[send, recv])),
                None => groups.push(group(&[send])),
            }
        }
        let lonely = self.recvs.iter().filter(|(message, _)| !self.sends.contains_key(message));
        groups.extend(lonely.map(|(_, &recv)| group(&[recv])));
        found.unpaired += groups.iter().filter(|group| group.ops.len() == 1).count() as u64;
        groups.extend(self.alone.into_iter().map(|op| group(&[op])));
        groups
    }
}

/// The compute that each transfer belongs to. Both are in order, so that equal numbers match one by one; else by time.
fn owners(
    building: &Building<'_>,
    transfers: &[usize],
    computes: &[usize],
    receives: bool,
    goes_on: &dyn Fn(&usize) -> bool,
) -> Vec<Option<usize>> {
    // What ended before anything was computed, or began after everything, is left over from another step.
    let is_live = |transfer: usize| match receives {
        true => computes.iter().any(|&op| building.start[transfer] <= building.start[op] + SLACK),
        false => computes.iter().any(|&op| building.end(transfer) >= building.end(building.done(op)) - SLACK),
    };
    let live: Vec<bool> = transfers.iter().map(|&transfer| is_live(transfer)).collect();
    let count = live.iter().filter(|live| **live).count();
    let needing: Vec<usize> = computes.iter().copied().filter(goes_on).collect();
    let one_by_one = if count == needing.len() {
        Some(&needing[..])
    } else if count == computes.len() {
        Some(computes)
    } else if receives && count + 1 == needing.len() {
        Some(&needing[1..])
    } else {
        None
    };
    if let Some(owners) = one_by_one {
        let mut next = owners.iter().copied();
        return live.into_iter().map(|live| if live { next.next() } else { None }).collect();
    }
    let mut free = needing;
    transfers
        .iter()
        .map(|&transfer| {
            let fits = |&op: &usize| match receives {
                true => building.start[op] >= building.end(transfer) - SLACK,
                false => building.end(building.done(op)) <= building.start[transfer] + SLACK,
            };
            let place = if receives { free.iter().position(fits) } else { free.iter().rposition(fits) };
            place.map(|place| free.remove(place))
        })
        .collect()
}
