//! One clock for all processes: that of rank 0.
//!
//! Processes on one node share the clock of their operating system. Other processes exchange times
//! with rank 0: a message there and back bounds the difference by half its round-trip time (F.
//! Cristian, "Probabilistic clock synchronization", 1989). This is done before and after a run, and
//! the clock is a line through both readings.

use crate::session::Session;
use rustix::time::{ClockId, clock_gettime};

/// Number of exchanges, of which the fastest counts.
const EXCHANGES: usize = 64;

/// Nanoseconds on the clock of this node.
#[inline]
pub fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as i64 * 1_000_000_000 + now.tv_nsec as i64
}

/// The readings of two clocks at one moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    pub own_ns: i64,
    pub first_ns: i64,
    /// Bound on the error of the comparison.
    pub error_ns: i64,
}

impl Reading {
    /// Compares the clocks of all processes with that of rank 0. All must take part.
    pub fn take(session: &Session) -> Reading {
        let node = |rank: u32| session.processes.get(rank as usize).and_then(|process| process.node);
        let own = now_ns();
        let mut reading = Reading { own_ns: own, first_ns: own, error_ns: 0 };
        for rank in (1..session.size).filter(|&rank| node(rank) != node(0)) {
            if session.rank == 0 {
                answer(session, rank);
            } else if session.rank == rank {
                reading = exchange(session);
            }
        }
        session.world.barrier();
        reading
    }
}

fn answer(session: &Session, rank: u32) {
    for _ in 0..EXCHANGES {
        session.world.receive_number(rank);
        session.world.send_number(rank, now_ns() as u64);
    }
}

fn exchange(session: &Session) -> Reading {
    let one = |_| {
        let before = now_ns();
        session.world.send_number(0, before as u64);
        let theirs = session.world.receive_number(0) as i64;
        let half = (now_ns() - before) / 2;
        Reading { own_ns: before + half, first_ns: theirs, error_ns: half + 1 }
    };
    let fastest = (0..EXCHANGES).map(one).min_by_key(|reading| reading.error_ns);
    fastest.unwrap_or(Reading { own_ns: 0, first_ns: 0, error_ns: 0 })
}

/// A clock interpolated between two readings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clock {
    before: Reading,
    /// Nanoseconds of rank 0 per nanosecond of this node.
    rate: f64,
    pub error_ns: i64,
}

impl Clock {
    pub fn new(before: Reading, after: Reading) -> Clock {
        let (own, first) = (after.own_ns - before.own_ns, after.first_ns - before.first_ns);
        let rate = if own > 0 { first as f64 / own as f64 } else { 1.0 };
        Clock { before, rate, error_ns: before.error_ns.max(after.error_ns) }
    }

    /// Converts a time of this node to the clock of rank 0.
    pub fn first_ns(&self, own_ns: i64) -> f64 {
        self.before.first_ns as f64 + (own_ns - self.before.own_ns) as f64 * self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_and_fast_is_brought_onto_the_first() {
        let before = Reading { own_ns: 1_000, first_ns: 5_000, error_ns: 3 };
        let after = Reading { own_ns: 2_001_000, first_ns: 1_005_000, error_ns: 7 };
        let clock = Clock::new(before, after);
        assert_eq!(clock.first_ns(1_000), 5_000.0);
        assert_eq!(clock.first_ns(1_001_000), 505_000.0);
        assert_eq!(clock.error_ns, 7);
        let same = Reading { own_ns: 10, first_ns: 10, error_ns: 0 };
        assert_eq!(Clock::new(same, same).first_ns(25), 25.0);
    }
}
