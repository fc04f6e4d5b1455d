//! Matches sends and receives of a pipeline by what they carry: the microbatch, and the chunk of the model that it comes from.

use super::Found;
use super::column::{Building, SLACK};
use crate::Row;
use crate::graph::Group;
use crate::operation::Direction;
use std::collections::BTreeMap;

impl Direction {
    /// If no transfers were recorded, a microbatch on a chunk waits for its computation on the previous chunk.
    pub(super) fn without_transfers(self, building: &mut Building<'_>) {
        let mut of_chunk: BTreeMap<(i32, i32), usize> = BTreeMap::new();
        for (op, row) in building.rows.iter().enumerate().filter(|(_, row)| row.kind == self.compute) {
            let microbatch = if row.microbatch < 0 { row.seq as i32 } else { row.microbatch };
            of_chunk.entry((chunk(row), microbatch)).or_insert(op);
        }
        for (&(chunk, microbatch), &after) in &of_chunk {
            let before = of_chunk.get(&(chunk.saturating_sub(self.to), microbatch));
            // Waits only for computations that started earlier, so there are no cycles.
            if let Some(&before) = before.filter(|&&before| building.start[before] < building.start[after]) {
                building.edge(after, building.done(before));
            }
        }
    }
}

/// The chunk of the model. In a table without chunks, the stage.
pub fn chunk(row: &Row) -> i32 {
    match row.model_chunk {
        -1 => row.stage as i32,
        chunk => chunk,
    }
}

/// What a message carries: direction, microbatch, and the chunk that it comes from. Equal messages are matched in order.
type Message = (i32, i32, i32);

/// Sends and receives by message.
pub struct Partners {
    chunks: i32,
    sends: Vec<(Message, usize)>,
    recvs: Vec<(Message, usize)>,
    /// Sends and receives without a partner.
    alone: Vec<usize>,
}

impl Partners {
    pub fn new(chunks: i32) -> Partners {
        Partners { chunks, sends: Vec::new(), recvs: Vec::new(), alone: Vec::new() }
    }

    /// Matches the sends and receives of a stage in one direction. Adds the edges send ← compute and compute ← recv.
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
                list.push(((direction.to, building.rows[compute].microbatch, leaves), transfer));
            }
            matched.into_iter().for_each(|(after, before)| building.edge(after, before));
        }
    }

    /// Pairs of a send and a receive, and the rest as groups of one.
    pub fn pairs(mut self, found: &mut Found) -> Vec<Group> {
        // Stable, so that equal messages stay in order.
        self.sends.sort_by_key(|(message, _)| *message);
        self.recvs.sort_by_key(|(message, _)| *message);
        let mut groups = Vec::with_capacity(self.sends.len() + self.alone.len());
        let mut lonely = Vec::new();
        let mut recvs = self.recvs.into_iter().peekable();
        for (message, send) in self.sends {
            while let Some((_, recv)) = recvs.next_if(|(other, _)| *other < message) {
                lonely.push(recv);
            }
            match recvs.next_if(|(other, _)| *other == message) {
                Some((_, recv)) => groups.push(group(&[send, recv])),
                None => lonely.push(send),
            }
        }
        lonely.extend(recvs.map(|(_, recv)| recv));
        found.unpaired += lonely.len() as u64;
        groups.extend(lonely.into_iter().chain(self.alone).map(|op| group(&[op])));
        groups
    }
}

fn group(ops: &[usize]) -> Group {
    Group { ops: ops.iter().map(|&op| op as u32).collect(), wide: false }
}

/// The computation that each transfer belongs to. Both are in order: if there are as many of each, they match one by one, else by
/// time.
fn owners(
    building: &Building<'_>,
    transfers: &[usize],
    computes: &[usize],
    receives: bool,
    goes_on: &dyn Fn(&usize) -> bool,
) -> Vec<Option<usize>> {
    // A send that ended before any computation, or a receive that began after all, is left over from another step.
    let latest_start = computes.iter().map(|&op| building.start[op]).max();
    let earliest_end = computes.iter().map(|&op| building.end(building.done(op))).min();
    let is_live = |transfer: usize| match receives {
        true => latest_start.is_some_and(|latest| building.start[transfer] <= latest + SLACK),
        false => earliest_end.is_some_and(|earliest| building.end(transfer) >= earliest - SLACK),
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
