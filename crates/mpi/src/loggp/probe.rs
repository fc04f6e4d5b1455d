//! The experiments, with MPI's blocking calls.
//!
//! ```text
//! rank 0                               the other
//!   command (what, count, bytes, ns) ──►
//!                                    ◄── ready (one byte)
//!   the experiment, timed here       ◄─► its other side
//! ```
//! "Ready" means that the network is quiet and the other process is about to do its part.

use crate::communicator::Communicator;
use crate::session::Session;
use straggler_analysis::loggp::{Probe, Receiver, RoundTrip, Train};
use straggler_measure::timer::{Clock, Native};
use straggler_model::Time;
use straggler_model::provenance::Timer;

/// Tags, so that no experiment mistakes a command for its message.
const COMMAND: i32 = 1;
const READY: i32 = 2;
const MESSAGE: i32 = 3;
/// A tag that is never sent.
const NOTHING: i32 = 4;

/// Commands for the other process: the first word of a command message.
const STOP: u64 = 0;
const ROUND_TRIP: u64 = 1;
const RECEIVE_LATE: u64 = 2;
const RECEIVE_AFTER_POLLS: u64 = 3;
const SEND: u64 = 4;

/// A clock that knows its own cost.
struct Stopwatch {
    clock: Native,
    ps_per_tick: f64,
    cost_ps: u64,
}

impl Stopwatch {
    fn new(timer: &Timer) -> Stopwatch {
        Stopwatch {
            clock: Native::default(),
            ps_per_tick: 1e12 / timer.ticks_per_second,
            cost_ps: timer.fenced_overhead_ps,
        }
    }

    #[inline(always)]
    fn now(&mut self) -> u64 {
        self.clock.fenced()
    }

    /// The time between two readings, less the cost of the second.
    fn between(&self, start: u64, end: u64) -> Time {
        let ps = end.saturating_sub(start) as f64 * self.ps_per_tick;
        Time((ps as u64).saturating_sub(self.cost_ps))
    }

    /// Keeps the processor busy, as a computation does.
    fn compute(&mut self, time: Time) {
        self.compute_with(time, std::hint::spin_loop);
    }

    /// Keeps the processor busy by calling `work` repeatedly.
    fn compute_with(&mut self, time: Time, mut work: impl FnMut()) {
        if time == Time::ZERO {
            return;
        }
        let start = self.now();
        let ticks = (time.ps() as f64 / self.ps_per_tick) as u64;
        while self.now().saturating_sub(start) < ticks {
            work();
        }
    }
}

/// The process was told to stop.
#[derive(Debug)]
pub struct Stopped;

/// Rank 0's side.
pub struct Driver<'a> {
    session: &'a Session,
    comm: &'a Communicator,
    /// The other process.
    other: u32,
    watch: Stopwatch,
    buffer: Vec<u8>,
}

impl<'a> Driver<'a> {
    pub fn new(session: &'a Session, other: u32, largest: u64) -> Driver<'a> {
        let watch = Stopwatch::new(&session.timer);
        Driver { session, comm: &session.world, other, watch, buffer: buffer(largest) }
    }

    /// Begins an experiment, unless this process was told to stop: launchers wait a second before they kill it.
    fn command(&self, what: u64, count: u64, bytes: u64, wait: Time) -> Result<(), Stopped> {
        if self.session.stopped() {
            return Err(Stopped);
        }
        self.send(COMMAND, bytemuck::cast_slice(&[what, count, bytes, wait.ps()]));
        self.comm.receive(self.other, READY, &mut [0]);
        Ok(())
    }

    /// Tells the other process to stop.
    pub fn stop(&self) {
        self.send(COMMAND, bytemuck::cast_slice(&[STOP, 0, 0, 0]));
    }

    #[inline(always)]
    fn send(&self, tag: i32, bytes: &[u8]) {
        self.comm.send(self.other, tag, bytes);
    }
}

/// A buffer that is written once, so that its pages exist before the first message.
fn buffer(largest: u64) -> Vec<u8> {
    vec![1; largest as usize]
}

impl Probe for Driver<'_> {
    type Error = Stopped;

    fn round_trip(&mut self, train: Train) -> Result<RoundTrip, Stopped> {
        self.command(ROUND_TRIP, u64::from(train.count), train.bytes, Time::ZERO)?;
        let message = &self.buffer[..train.bytes as usize];
        let mut answer = [0u8];
        let start = self.watch.now();
        for number in 0..train.count {
            if number > 0 {
                self.watch.compute(train.delay);
            }
            self.comm.send(self.other, MESSAGE, message);
        }
        let sent = self.watch.now();
        self.comm.receive(self.other, MESSAGE, &mut answer);
        let back = self.watch.now();
        Ok(RoundTrip { sent: self.watch.between(start, sent), back: self.watch.between(start, back) })
    }

    fn send(&mut self, bytes: u64, late: Time, receiver: Receiver) -> Result<Time, Stopped> {
        let what = match receiver {
            Receiver::Computes => RECEIVE_LATE,
            Receiver::Polls => RECEIVE_AFTER_POLLS,
        };
        self.command(what, 1, bytes, late)?;
        let message = &self.buffer[..bytes as usize];
        let start = self.watch.now();
        self.comm.send(self.other, MESSAGE, message);
        let end = self.watch.now();
        Ok(self.watch.between(start, end))
    }

    fn receive(&mut self, bytes: u64, after: Time) -> Result<Time, Stopped> {
        self.command(SEND, 1, bytes, Time::ZERO)?;
        self.watch.compute(after);
        let message = &mut self.buffer[..bytes as usize];
        let start = self.watch.now();
        self.comm.receive(self.other, MESSAGE, message);
        let end = self.watch.now();
        Ok(self.watch.between(start, end))
    }
}

/// The other process's side: follows commands until it is told to stop.
pub fn follow(comm: &Communicator, timer: &Timer, largest: u64) {
    let mut watch = Stopwatch::new(timer);
    let mut buffer = buffer(largest);
    loop {
        let mut command = [0u64; 4];
        comm.receive(0, COMMAND, bytemuck::cast_slice_mut(&mut command));
        let [what, count, bytes, wait] = command;
        if what == STOP {
            return;
        }
        let message = &mut buffer[..bytes as usize];
        comm.send(0, READY, &[1]);
        match what {
            ROUND_TRIP => {
                for _ in 0..count {
                    comm.receive(0, MESSAGE, message);
                }
                comm.send(0, MESSAGE, &[1]);
            }
            RECEIVE_LATE => {
                watch.compute(Time(wait));
                comm.receive(0, MESSAGE, message);
            }
            RECEIVE_AFTER_POLLS => {
                watch.compute_with(Time(wait), || {
                    comm.poll(0, NOTHING);
                });
                comm.receive(0, MESSAGE, message);
            }
            _ => comm.send(0, MESSAGE, message),
        }
    }
}
