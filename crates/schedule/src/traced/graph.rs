//! A playback as an explicit graph, for files and for checking the program that replays it.
//!
//! Operations are ordered by thread, then by instruction.

use super::error::PlaybackError;
use super::playback::Playback;
use super::recording::{Awaited, Instruction, TracedRank};
use crate::graph::{Edge, MAX_DEPENDENCIES};
use crate::steps::{Step, Then};
use crate::{Graph, GraphBuilder, Operation, RankBuilder};
use std::collections::HashMap;
use straggler_model::{Rank, Time};

/// The operations that an operation waits for.
#[derive(Clone, Debug, Default)]
struct Before {
    completed: Vec<u32>,
    started: Vec<u32>,
}

impl Before {
    fn tidy(&mut self) {
        self.completed.sort_unstable();
        self.completed.dedup();
        self.started.retain(|operation| self.completed.binary_search(operation).is_err());
    }
}

/// Dependencies on instructions of other threads, added when all threads are complete.
type Deferred = Vec<(Dependent, u32)>;

/// Operations that wait for an instruction.
type Dependent = Vec<u32>;

struct RankGraph<'a> {
    playback: &'a Playback,
    process: Rank,
    builder: &'a mut RankBuilder,
    /// For instructions that are waited for, the operations at their end.
    ends: HashMap<u32, Before>,
    deferred: Deferred,
}

impl Playback {
    /// Builds the graph of the whole schedule, with every copy written out.
    pub fn materialise(&self) -> Result<Graph, PlaybackError> {
        let mut graph = GraphBuilder::default();
        let mut builder = RankBuilder::default();
        for process in 0..self.processes() {
            builder.clear();
            let mut rank = RankGraph {
                playback: self,
                process,
                builder: &mut builder,
                ends: HashMap::new(),
                deferred: Vec::new(),
            };
            rank.add(self.rank(process));
            let too_large =
                builder.len() > Edge::MAX_OPERATIONS as usize || builder.dependencies() > MAX_DEPENDENCIES;
            if too_large {
                return Err(PlaybackError::TooLarge { rank: process });
            }
            graph.push_rank(&builder);
        }
        Ok(graph.finish())
    }
}

impl RankGraph<'_> {
    fn add(&mut self, recorded: &TracedRank) {
        for thread in 0..recorded.threads() {
            let (start, end) = recorded.thread(thread);
            self.add_thread(recorded, thread, start, end);
        }
        for (dependents, instruction) in std::mem::take(&mut self.deferred) {
            let Some(end) = self.ends.get(&instruction) else { continue };
            for dependent in dependents {
                end.completed.iter().for_each(|&before| self.builder.requires(dependent, before));
                end.started.iter().for_each(|&before| self.builder.irequires(dependent, before));
            }
        }
    }

    fn add_thread(&mut self, recorded: &TracedRank, thread: usize, start: u32, end: u32) {
        let mut front = Before::default();
        // Instructions of other threads that the next operations wait for.
        let mut elsewhere: Vec<u32> = Vec::new();
        for number in start..end {
            let instruction = &recorded.instructions()[number as usize];
            let awaited = match *instruction {
                Instruction::Wait { first, count, .. } => Some(recorded.awaited(first, count)),
                // A graph cannot choose, so it takes what the traced run chose.
                Instruction::Choose { first, count, chosen, .. } => {
                    Some(recorded.chosen(first, count, chosen))
                }
                Instruction::Poll { .. } => continue,
                _ => None,
            };
            if let Some(awaited) = awaited {
                for awaited in awaited {
                    if recorded.thread_of(*awaited) != thread {
                        elsewhere.push(*awaited);
                    } else if let Some(end) = self.ends.remove(awaited) {
                        front.completed.extend(end.completed);
                        front.started.extend(end.started);
                    }
                }
                front.tidy();
                continue;
            }
            self.add_instruction(thread, number, instruction, &mut front, &mut elsewhere);
        }
    }

    /// Adds an instruction. `front` is what its first operations wait for, and is updated for the
    /// next instruction.
    fn add_instruction(
        &mut self,
        thread: usize,
        number: u32,
        instruction: &Instruction,
        front: &mut Before,
        elsewhere: &mut Vec<u32>,
    ) {
        let how = instruction.how();
        let stages = self.playback.stages(self.process, instruction);
        let cpu = self.playback.cpu(self.process, thread, instruction);
        let mut first = Vec::new();
        let mut before = front.clone();
        let mut open = Vec::new();
        for stage in 0..stages {
            let step = self.playback.step(self.process, instruction, stage);
            let added = self.add_step(cpu, &step, &mut before, &mut open);
            if stage == 0 {
                first = added;
            }
        }
        if stages > 0 {
            self.deferred.extend(elsewhere.drain(..).map(|awaited| (first.clone(), awaited)));
        }
        if how.awaited != Awaited::Never {
            self.ends.insert(number, before.clone());
        }
        match (stages, how.blocking) {
            (0, _) => {}
            (_, true) => *front = before,
            (_, false) => *front = Before { completed: Vec::new(), started: first },
        }
    }

    /// Adds the operations of a step. Returns those that become ready first.
    fn add_step(&mut self, cpu: u8, step: &Step, before: &mut Before, open: &mut Vec<u32>) -> Vec<u32> {
        let added: Vec<u32> = step.operations().map(|operation| self.push(cpu, operation, before)).collect();
        open.extend_from_slice(&added);
        *before = match step.then {
            Then::Go => Before { completed: Vec::new(), started: added.clone() },
            Then::Wait => Before { completed: std::mem::take(open), started: Vec::new() },
        };
        if step.after > Time::ZERO {
            let reduction = self.push(cpu, Operation::calc(step.after), before);
            *before = Before { completed: vec![reduction], started: Vec::new() };
        }
        added
    }

    fn push(&mut self, cpu: u8, operation: Operation, before: &Before) -> u32 {
        let number = self.builder.push(Operation { cpu, ..operation });
        before.completed.iter().for_each(|&before| self.builder.requires(number, before));
        before.started.iter().for_each(|&before| self.builder.irequires(number, before));
        number
    }
}
