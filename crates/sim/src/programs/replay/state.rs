//! Where the threads of a process are.

use smallvec::SmallVec;
use straggler_model::Time;
use straggler_schedule::traced::{PLACES, RankRecording};

#[derive(Debug)]
pub struct Process {
    pub threads: SmallVec<[Thread; 1]>,
    /// The latest completion.
    pub latest: Time,
}

#[derive(Debug)]
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
    /// In the order in which they began, and so by number, of operations as of instructions.
    pub under_way: Vec<UnderWay>,
}

/// An instruction that has begun and has not completed, or whose completion has not been waited for.
#[derive(Clone, Copy, Debug)]
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
    /// Whether the next stage waits for all that is open.
    pub waits: bool,
    /// Whether a computation follows when nothing is open any more.
    pub after: bool,
    /// Whether the thread goes on when the first stage has started.
    pub starting: bool,
    /// Whether it has completed.
    pub over: bool,
    /// Whether its own thread waits for it.
    pub awaited_now: bool,
    /// Not here any more.
    pub gone: bool,
    /// The latest completion.
    pub done: Time,
}

const _: () = assert!(size_of::<UnderWay>() == 40);

/// Fewer entries than this are never cleared up.
const FEW: usize = 32;

impl Process {
    pub fn new(recorded: &RankRecording) -> Process {
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
        Process { threads: (0..recorded.threads()).map(thread).collect(), latest: Time::ZERO }
    }
}

impl Thread {
    pub fn is_at_start(&self) -> bool {
        self.cursor == self.start
    }

    pub fn is_over(&self) -> bool {
        self.cursor == self.end && self.live == 0 && self.waiting == 0
    }

    /// Enters an instruction of so many stages into the list; gives its place there, which is good until the
    /// next one begins.
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
            awaited_now: false,
            gone: false,
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

    /// The place of the instruction to which operation `number` belongs.
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
