//! Guesses which counter explains a detour, from how much each rose in a time slice.
//!
//! The most certain steps come first, and each leaves the detours named before alone:
//! 1. detours caused by the sampler of the counters itself: it knows when it had the core;
//! 2. counters of time: the measuring thread's wait for its core is due to other threads, stolen time to the
//!    hypervisor. Both are assigned to the longest detours that fit into them;
//! 3. the timer tick: detours at one phase of its period;
//! 4. other counts: for detours of about the same length, the non-negative mixture of interrupts and softirqs
//!    that best reproduces their numbers, slice by slice (`fit.rs`).
//!
//! The remaining detours stay unnamed.

mod fit;

use super::names::{self, Names};
use super::slices::Slice;
use straggler_model::Time;
use straggler_noise::recording::Detour;

/// The presumed cause of a detour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Guess {
    #[default]
    Nothing,
    Own,
    OtherThreads,
    Stolen,
    /// A number in the list of names.
    Counted(u32),
}

/// The cost of the two context switches around a wait, which the wait does not include; also how long before
/// its first reading the sampler may have taken the core.
const SWITCHES: Time = Time(10_000_000);
/// The shortest detours that can be a switch of threads, or stolen by a hypervisor.
const SHORTEST_SWITCH: Time = Time(2_000_000);
const SHORTEST_STOLEN: Time = Time(20_000_000);
/// A tick takes no longer; a longer detour that begins with one has another cause.
const LONGEST_TICK: Time = Time(200_000_000);
/// Fewer at one phase may be there by chance.
const FEWEST_TICKS: usize = 5;
/// A guess for every detour of a core. Detours, slices and `own` are sorted by time; `tick_hz` is the rate of
/// the kernel's tick if it is known.
pub fn guess(
    detours: &[Detour],
    own: &[(Time, Time)],
    slices: &[Slice],
    names: &Names,
    tick_hz: Option<u32>,
) -> Vec<Guess> {
    let mut work =
        Guesses { detours, slices, guesses: vec![Guess::Nothing; detours.len()], members: Vec::new() };
    work.members = work.members_of_slices();
    work.own(own);
    work.other_threads();
    work.stolen();
    let tick = names.list().iter().position(|name| name == names::TIMER_TICK).map(|number| number as u32);
    let found = tick.zip(tick_hz).is_some_and(|(tick, rate)| work.ticks(tick, rate));
    fit::counts(&mut work, tick.filter(|_| found));
    work.guesses
}

struct Guesses<'a> {
    detours: &'a [Detour],
    slices: &'a [Slice],
    guesses: Vec<Guess>,
    /// The detours of each slice: those that end in it, because waiting is counted when it is over.
    members: Vec<Vec<usize>>,
}

impl Guesses<'_> {
    fn members_of_slices(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.slices.len()];
        let mut slice = 0;
        for (index, detour) in self.detours.iter().enumerate() {
            while self.slices.get(slice).is_some_and(|slice| slice.end < detour.end()) {
                slice += 1;
            }
            match self.slices.get(slice) {
                Some(holder) if holder.start <= detour.end() => members[slice].push(index),
                _ => {}
            }
        }
        members
    }

    fn open(&self, members: &[usize]) -> Vec<usize> {
        members.iter().copied().filter(|&index| self.guesses[index] == Guess::Nothing).collect()
    }

    /// A detour is the sampler's if it had the core for more than half of it.
    fn own(&mut self, own: &[(Time, Time)]) {
        let mut next = 0;
        for (index, detour) in self.detours.iter().enumerate() {
            while own.get(next).is_some_and(|span| span.1 + SWITCHES <= detour.start) {
                next += 1;
            }
            let Some(span) = own.get(next) else { return };
            let start = Time(span.0.ps().saturating_sub(SWITCHES.ps()));
            let shared = detour.end().min(span.1 + SWITCHES).since(detour.start.max(start));
            if shared.ps() > detour.duration.ps() / 2 {
                self.guesses[index] = Guess::Own;
            }
        }
    }

    fn other_threads(&mut self) {
        for (number, slice) in self.slices.iter().enumerate() {
            let members = std::mem::take(&mut self.members[number]);
            let own = members.iter().filter(|&&index| self.guesses[index] == Guess::Own);
            let own = own.fold(Time::ZERO, |sum, &index| sum + self.detours[index].duration);
            let fitting = Fitting {
                time: slice.waited.since(own),
                allowance: SWITCHES,
                shortest: SHORTEST_SWITCH,
                most: slice.turns,
            };
            self.give_to_longest(&members, fitting, Guess::OtherThreads);
            self.members[number] = members;
        }
    }

    /// Stolen time is counted in steps of 10 ms, so a step covers all slices since the previous step.
    fn stolen(&mut self) {
        let mut since_last_step = Vec::new();
        for (number, slice) in self.slices.iter().enumerate() {
            since_last_step.extend_from_slice(&self.members[number]);
            if slice.stolen > Time::ZERO {
                let members = std::mem::take(&mut since_last_step);
                let fitting = Fitting {
                    time: slice.stolen,
                    allowance: SWITCHES,
                    shortest: SHORTEST_STOLEN,
                    most: u64::MAX,
                };
                self.give_to_longest(&members, fitting, Guess::Stolen);
            }
        }
    }

    fn give_to_longest(&mut self, members: &[usize], fitting: Fitting, guess: Guess) {
        let mut open = self.open(members);
        open.retain(|&index| self.detours[index].duration >= fitting.shortest);
        open.sort_by_key(|&index| std::cmp::Reverse(self.detours[index].duration));
        let (mut left, mut given) = (fitting.time, 0);
        for index in open {
            if left == Time::ZERO || given == fitting.most {
                return;
            }
            // A detour takes the counted time and a little more.
            let least = Time(self.detours[index].duration.ps() / 20 * 19).since(fitting.allowance);
            if least <= left {
                left = left.since(self.detours[index].duration);
                given += 1;
                self.guesses[index] = guess;
            }
        }
    }

    /// Names the detours of the tick by their phase. Returns whether the tick runs all the time, which this
    /// requires. Its interrupt also serves other timers, so more may be counted, but not fewer.
    fn ticks(&mut self, tick: u32, rate: u32) -> bool {
        let count =
            |slice: &Slice| slice.counts.iter().find(|(name, _)| *name == tick).map_or(0, |row| row.1);
        let counted: u64 = self.slices.iter().map(count).sum();
        let seconds: f64 = self.slices.iter().map(|slice| slice.end.since(slice.start).seconds()).sum();
        if rate == 0 || (counted as f64) < 0.9 * f64::from(rate) * seconds {
            return false;
        }
        let period = 1_000_000_000_000 / u64::from(rate);
        for number in 0..self.slices.len() {
            let ticks = self.slices[number].end.since(self.slices[number].start).ps() / period;
            for index in self.in_phase(self.open(&self.members[number]), period, ticks) {
                self.guesses[index] = Guess::Counted(tick);
            }
        }
        true
    }

    /// The detours in the narrow phase window that has the most of them. Something faster, such as the tick
    /// of a hypervisor, fills the window half a period away as well; that number is subtracted. If too few
    /// remain, the tick is too short to be seen, and the detours in the window are there by chance.
    fn in_phase(&self, mut open: Vec<usize>, period: u64, ticks: u64) -> Vec<usize> {
        open.retain(|&index| self.detours[index].duration <= LONGEST_TICK);
        let phase = |index: usize| self.detours[index].start.ps() % period;
        open.sort_by_key(|&index| phase(index));
        let phases = Phases { sorted: open.iter().map(|&index| phase(index)).collect(), period };
        let more = |first: usize| {
            let from = phases.sorted[first];
            let (here, opposite) = (phases.window(from), phases.window(from + period / 2));
            (here.len().saturating_sub(opposite.len()), first)
        };
        let Some((more, first)) = (0..open.len()).map(more).max() else { return open };
        if (more as u64) * 3 < ticks || more < FEWEST_TICKS {
            return Vec::new();
        }
        phases.window(phases.sorted[first]).map(|at| open[at % open.len()]).collect()
    }
}

/// Phases of detours within the period of the tick.
struct Phases {
    sorted: Vec<u64>,
    period: u64,
}

impl Phases {
    /// Positions of the phases from `from` to a fiftieth of the period later, continuing past the end of the
    /// list. Slices are so short that the few ppm between two clocks do not matter.
    fn window(&self, from: u64) -> std::ops::Range<usize> {
        let from = from % self.period;
        let to = from + self.period / 50;
        let before = |end: u64| self.sorted.partition_point(|&phase| phase < end);
        let around = if to < self.period { 0 } else { before(to - self.period + 1) };
        before(from)..before(to + 1) + around
    }
}

/// An amount of time to be assigned to detours, with its conditions.
struct Fitting {
    time: Time,
    allowance: Time,
    shortest: Time,
    most: u64,
}

#[cfg(test)]
mod tests;
