//! The state of a process and its threads.

use super::decider::Decider;
use super::log::Replayed;
use crate::checkpoint::{Unsound, ensure, short_list};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use straggler_model::{Rank, Time};
use straggler_schedule::traced::{PLACES, TracedRank};

#[derive(Debug, Serialize, Deserialize)]
pub struct Process {
    #[serde(deserialize_with = "short_list")]
    pub threads: SmallVec<[Thread; 1]>,
    /// The latest completion.
    pub latest: Time,
    /// If the process makes its own decisions; then it has one thread.
    pub decider: Option<Box<Decider>>,
    /// The record of the replay, if it is kept.
    pub kept: Option<Box<Replayed>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Thread {
    /// The next instruction.
    pub cursor: u32,
    start: u32,
    pub end: u32,
    /// The number of the next operation.
    next: u32,
    /// How many instructions it waits for.
    pub waiting: u32,
    /// How many of `under_way` are not gone.
    live: u32,
    /// The latest completion, or start, of all that the next instruction depends on.
    pub ready: Time,
    /// In the order in which they began, and thus by operation number and by instruction.
    pub under_way: Vec<UnderWay>,
}

/// An instruction that has begun and has not completed, or whose completion has not been waited for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct UnderWay {
    /// The number of its first operation.
    pub first: u32,
    pub instruction: u32,
    pub stages: u32,
    /// The last stage that was entered.
    pub stage: u32,
    /// Operations that have not completed.
    pub open: u32,
    /// Operations of the stage that have not started.
    pub unstarted: u8,
    /// Whether the next stage waits for all open operations.
    pub waits: bool,
    /// Whether a computation follows when no operation is open any more.
    pub after: bool,
    /// Whether the thread continues when the first stage has started.
    pub starting: bool,
    /// Whether it has completed.
    pub over: bool,
    /// Whether its own thread waits for it.
    pub wanted: Wanted,
    /// Removed: the entry is no longer in use.
    pub gone: bool,
    /// The source of its message, if its process makes its own decisions.
    pub source: Rank,
    /// How long its message waited for the CPU, if its process makes its own decisions.
    pub delay: Time,
    /// The number of its completion, if its process makes its own decisions.
    pub report: u32,
    /// The latest completion.
    pub done: Time,
}

/// Whether a thread waits for the completion of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Wanted {
    No,
    Yes,
    /// The thread waits for this or another instruction.
    Choice,
}

const _: () = assert!(size_of::<UnderWay>() == 56);

/// Lists up to this length are not compacted.
const FEW: usize = 32;

impl Process {
    pub fn new(recorded: &TracedRank, decides: bool, keeps: bool) -> Process {
        let thread = |number| {
            let (start, end) = recorded.thread(number);
            Thread {
                cursor: start,
                start,
                end,
                next: 0,
                waiting: 0,
                live: 0,
                ready: Time::ZERO,
                under_way: Vec::new(),
            }
        };
        Process {
            threads: (0..recorded.threads()).map(thread).collect(),
            latest: Time::ZERO,
            decider: (decides && recorded.threads() == 1).then(Box::default),
            kept: keeps.then(|| Box::new(Replayed::new(recorded.instructions().len()))),
        }
    }
}

impl Process {
    /// Returns the instruction that plays the role of an instruction of the trace, and forgets the role.
    #[inline]
    pub fn play(&mut self, role: u32) -> u32 {
        let Some(decider) = &mut self.decider else { return role };
        let actual = decider.role(role);
        decider.retire(role);
        decider.completed(actual);
        actual
    }
}

impl Process {
    /// Notes that a test of the trace asks about an instruction that has completed.
    #[inline]
    pub fn test_found(&mut self, entry: &UnderWay) {
        if let Some(tested) = self.decider.as_mut().and_then(|decider| decider.tested.as_mut()) {
            tested.found = tested.found.max(entry.could_be_found());
        }
    }
}

impl UnderWay {
    /// When a test would have found it complete. The test itself would process a message that waits for the CPU.
    pub fn could_be_found(&self) -> Time {
        Time(self.done.ps().saturating_sub(self.delay.ps()))
    }
}

impl Thread {
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Checks the counts and the order of a list that was read; `numbers` is how many a thread's operations may have.
    pub fn check(&self, numbers: u64) -> Result<(), Unsound> {
        let live = self.under_way.iter().filter(|entry| !entry.gone).count();
        let ends = self.under_way.last().is_none_or(|last| !last.gone);
        ensure(live == self.live as usize && ends, "the number of instructions under way is wrong")?;
        let end = |entry: &UnderWay| u64::from(entry.first) + u64::from(entry.stages) * u64::from(PLACES);
        let is_next = |two: &[UnderWay]| {
            two[0].instruction <= two[1].instruction && end(&two[0]) <= u64::from(two[1].first)
        };
        let last = self.under_way.last().map_or(0, end);
        let fits = self.under_way.windows(2).all(is_next) && last <= u64::from(self.next);
        // There is room for more than a run can have under way at once.
        ensure(fits && u64::from(self.next) <= numbers / 4 * 3, "instructions under way are in another order")
    }

    pub fn is_at_start(&self) -> bool {
        self.cursor == self.start
    }

    pub fn is_over(&self) -> bool {
        // A completed instruction that nothing waits for was never chosen, because the trace ends before that.
        let left = self.live == 0 || self.under_way.iter().all(|entry| entry.gone || entry.over);
        self.cursor == self.end && self.waiting == 0 && left
    }

    /// Adds an instruction with `stages` stages. Returns its place in the list, which is valid until the next one
    /// begins.
    pub fn begin(&mut self, instruction: u32, stages: u32, starting: bool) -> usize {
        if self.live == 0 {
            self.under_way.clear();
            self.next = 0;
        } else if self.under_way.len() > FEW.max(2 * self.live as usize) {
            self.under_way.retain(|entry| !entry.gone);
        }
        self.under_way.push(UnderWay {
            first: self.next,
            instruction,
            stages,
            stage: 0,
            open: 0,
            unstarted: 0,
            waits: false,
            after: false,
            starting,
            over: false,
            wanted: Wanted::No,
            gone: false,
            source: 0,
            delay: Time::ZERO,
            report: 0,
            done: Time::ZERO,
        });
        self.next += stages * PLACES;
        self.live += 1;
        self.under_way.len() - 1
    }

    pub fn remove(&mut self, place: usize) {
        self.live -= 1;
        self.under_way[place].gone = true;
        while self.under_way.last().is_some_and(|last| last.gone) {
            self.under_way.pop();
        }
    }

    /// The place of the instruction that operation `number` belongs to.
    #[inline]
    pub fn holding(&self, number: u32) -> Option<usize> {
        match self.under_way.last() {
            Some(last) if last.first <= number => Some(self.under_way.len() - 1),
            _ => self.under_way.partition_point(|entry| entry.first <= number).checked_sub(1),
        }
    }

    /// The place of an instruction.
    pub fn find(&self, instruction: u32) -> Option<usize> {
        let place = self.under_way.partition_point(|entry| entry.instruction < instruction);
        self.under_way
            .get(place)
            .filter(|entry| entry.instruction == instruction && !entry.gone)
            .map(|_| place)
    }
}
