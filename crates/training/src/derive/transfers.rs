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

/// Identifies a message: direction, microbatch, the chunk that it comes from, and a number among equals.
type Message = (i32, i32, i32, u32);

/// Sends and receives by message.
pub struct Partners {
    chunks: i32,
    sends: BTreeMap<Message, usize>,
    recvs: BTreeMap<Message, usize>,
    /// Counts messages that are otherwise equal, for sends and for receives.
    alike: [BTreeMap<(i32, i32, i32), u32>; 2],
    /// Sends and receives without a partner.
    alone: Vec<usize>,
}

impl Partners {
    pub fn new(chunks: i32) -> Partners {
        Partners {
            chunks,
            sends: BTreeMap::new(),
            recvs: BTreeMap::new(),
            alike: Default::default(),
            alone: Vec::new(),
        }
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
                let microbatch = building.rows[compute].microbatch;
                let carries = (direction.to, microbatch, leaves);
                let alike = self.alike[usize::from(receives)].entry(carries).or_default();
                list.insert((carries.0, carries.1, carries.2, *alike), transfer);
                *alike += 1;
            }
            matched.into_iter().for_each(|(after, before)| building.edge(after, before));
        }
    }

    /// Pairs of a send and a receive, and the rest as groups of one.
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
