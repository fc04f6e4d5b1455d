//! A clock for tests: every reading takes a fixed number of ticks, plus the disturbances of a script.

use super::Clock;
use crate::kernels::Work;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

#[derive(Clone, Debug)]
pub(crate) struct Simulated {
    pub now: u64,
    /// Ticks of an undisturbed reading.
    pub step: u64,
    /// Ticks of an undisturbed step of work.
    pub work_step: u64,
    /// (at, ticks), sorted: the reading or work that spans `at` takes that many ticks longer.
    detours: VecDeque<(u64, u64)>,
    /// (from, to, slowdown).
    slow: Vec<(u64, u64, u64)>,
}

impl Simulated {
    pub fn new(step: u64) -> Simulated {
        Simulated { now: 0, step, work_step: 1, detours: VecDeque::new(), slow: Vec::new() }
    }

    pub fn with_detour(mut self, at: u64, ticks: u64) -> Simulated {
        self.detours.push_back((at, ticks));
        self
    }

    pub fn with_detours(mut self, detours: impl IntoIterator<Item = (u64, u64)>) -> Simulated {
        self.detours.extend(detours);
        self
    }

    pub fn slow_between(mut self, from: u64, to: u64, slowdown: u64) -> Simulated {
        self.slow.push((from, to, slowdown));
        self
    }

    fn slowdown(&self) -> u64 {
        let inside = |&&(from, to, _): &&(u64, u64, u64)| from <= self.now && self.now < to;
        self.slow.iter().find(inside).map_or(1, |&(_, _, slowdown)| slowdown)
    }

    fn disturb(&mut self) {
        while let Some(&(at, ticks)) = self.detours.front() {
            if at > self.now {
                break;
            }
            self.now += ticks;
            self.detours.pop_front();
        }
    }

    /// Does steps of work, each possibly disturbed.
    pub fn work(&mut self, steps: u64) {
        for _ in 0..steps {
            self.now += self.work_step * self.slowdown();
            self.disturb();
        }
    }
}

impl Clock for Simulated {
    const NAME: &'static str = "simulated";

    fn now(&mut self) -> u64 {
        self.now += self.step * self.slowdown();
        self.disturb();
        self.now
    }
}

/// Clock and work of one simulated core: both are handles to it.
#[derive(Clone, Debug)]
pub(crate) struct Bench(Rc<RefCell<Simulated>>);

impl Bench {
    pub fn new(core: Simulated) -> (Bench, Bench) {
        let shared = Rc::new(RefCell::new(core));
        (Bench(Rc::clone(&shared)), Bench(shared))
    }
}

impl Clock for Bench {
    const NAME: &'static str = "simulated";

    fn now(&mut self) -> u64 {
        self.0.borrow_mut().now()
    }
}

impl Work for Bench {
    fn work(&mut self, steps: u64) {
        self.0.borrow_mut().work(steps);
    }
}
