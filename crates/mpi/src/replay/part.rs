//! The part of one process in a run: the sizes of its messages, and the memory they need at once.

use super::rooms::Rooms;
use super::share::Share;
use crate::wire::Room;
use std::collections::{HashMap, HashSet, VecDeque};
use straggler_schedule::graph::ANY;
use straggler_schedule::traced::{Instruction, TracedRank, TracedRun};

#[derive(Debug)]
pub struct Part<'a> {
    pub recording: &'a TracedRun,
    pub recorded: &'a TracedRank,
    /// The largest message that each receiving instruction may get.
    pub incoming: HashMap<u32, usize>,
    /// The largest number of bytes sent at once.
    pub largest: usize,
}

impl<'a> Part<'a> {
    pub fn new(recording: &'a TracedRun, rank: u32) -> Part<'a> {
        let recorded = recording.rank(rank);
        let mut part = Part { recording, recorded, incoming: incoming(recording, rank), largest: 0 };
        let largest = recorded.instructions().iter().map(|instruction| part.outgoing(instruction)).max();
        part.largest = largest.unwrap_or(0);
        part
    }

    fn outgoing(&self, instruction: &Instruction) -> usize {
        match *instruction {
            Instruction::Send { bytes, .. } => bytes as usize,
            Instruction::Collective { call, member, .. } => {
                Share::new(self.recording, call, member).map_or(0, |share| share.outgoing())
            }
            _ => 0,
        }
    }

    /// The buffer size that an instruction needs.
    pub fn room_of(&self, number: u32) -> usize {
        match self.recorded.instructions().get(number as usize) {
            Some(&Instruction::Collective { call, member, .. }) => {
                Share::new(self.recording, call, member).map_or(0, |share| share.incoming())
            }
            _ => self.incoming.get(&number).copied().unwrap_or(0),
        }
    }

    /// All buffers that the traced run had in use at once.
    pub fn rooms(&self) -> Rooms {
        let mut rooms = Rooms::default();
        let mut used: HashMap<u32, Room> = HashMap::new();
        for (number, instruction) in (0..).zip(self.recorded.instructions()) {
            match *instruction {
                Instruction::Recv { .. } | Instruction::Collective { .. } => {
                    let room = rooms.take(self.room_of(number));
                    if instruction.how().blocking {
                        rooms.give_back(room);
                    } else {
                        used.insert(number, room);
                    }
                }
                Instruction::Wait { first, count, .. } => {
                    self.release(self.recorded.awaited(first, count), &mut used, &mut rooms);
                }
                Instruction::Choose { first, count, chosen, .. } => {
                    self.release(self.recorded.chosen(first, count, chosen), &mut used, &mut rooms);
                }
                _ => {}
            }
        }
        used.into_values().for_each(|room| rooms.give_back(room));
        rooms
    }

    fn release(&self, over: &[u32], used: &mut HashMap<u32, Room>, rooms: &mut Rooms) {
        over.iter().filter_map(|number| used.remove(number)).for_each(|room| rooms.give_back(room));
    }
}

/// The lengths of the messages that a rank receives. Those with the same sender and tag arrive in
/// the order of sending; a wildcard receive needs room for the longest.
fn incoming(recording: &TracedRun, rank: u32) -> HashMap<u32, usize> {
    let mut sent: HashMap<(u32, u32), VecDeque<usize>> = HashMap::new();
    let mut longest: HashMap<u32, usize> = HashMap::new();
    for (from, recorded) in (0..).zip(recording.ranks()) {
        for instruction in recorded.instructions() {
            if let Instruction::Send { bytes, to, tag, .. } = *instruction
                && to == rank
            {
                sent.entry((from, tag)).or_default().push_back(bytes as usize);
                let longest = longest.entry(tag).or_default();
                *longest = (*longest).max(bytes as usize);
            }
        }
    }
    let instructions = || (0..).zip(recording.rank(rank).instructions());
    let from_anyone: HashSet<u32> = instructions()
        .filter_map(|(_, instruction)| match *instruction {
            Instruction::Recv { from: ANY, tag, .. } => Some(tag),
            _ => None,
        })
        .collect();
    let mut found = HashMap::new();
    for (number, instruction) in instructions() {
        if let Instruction::Recv { from, tag, .. } = *instruction {
            // A wildcard receive may take the message of a later receive.
            let bytes = match from {
                _ if from_anyone.contains(&tag) => longest.get(&tag).copied(),
                from => sent.get_mut(&(from, tag)).and_then(VecDeque::pop_front),
            };
            found.insert(number, bytes.unwrap_or(0));
        }
    }
    found
}
