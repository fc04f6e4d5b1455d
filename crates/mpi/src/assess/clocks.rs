//! Compares the clocks of all nodes with that of rank 0.
//!
//! The first process of each node answers with its ticks. Of many round trips the fastest counts, whose
//! error is at most half its time. This is done before and after the measurement, and a line through
//! both accounts for clocks that run at different rates. Processes on one node read the same clock.

use crate::session::Session;
use straggler_measure::timer;
use straggler_model::Time;

/// Number of round trips with each node.
const ROUND_TRIPS: u32 = 200;

/// The ticks of a node and of rank 0 at one moment.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Moment {
    pub node: u64,
    pub first: u64,
    /// Bound on the error, in ticks of rank 0.
    pub error: u64,
}

/// Compares all clocks with that of rank 0. All processes must call it; all get the moments of all nodes.
pub fn compare(session: &Session) -> Vec<Moment> {
    let leaders = leaders(session);
    let mut moments = vec![Moment::default(); leaders.len()];
    for (moment, &leader) in moments.iter_mut().zip(&leaders) {
        match session.rank {
            0 if leader == 0 => {
                let now = timer::ticks();
                *moment = Moment { node: now, first: now, error: 0 };
            }
            0 => *moment = ask(session, leader),
            rank if rank == leader => answer(session),
            _ => {}
        }
    }
    let mut numbers: Vec<u64> =
        moments.iter().flat_map(|moment| [moment.node, moment.first, moment.error]).collect();
    session.world.broadcast(bytemuck::cast_slice_mut(&mut numbers));
    let moment = |three: &[u64]| Moment { node: three[0], first: three[1], error: three[2] };
    numbers.chunks_exact(3).map(moment).collect()
}

/// The first process of each node.
fn leaders(session: &Session) -> Vec<u32> {
    let mut leaders: Vec<(u32, u32)> = (0..)
        .zip(session.processes.iter().zip(&session.local))
        .filter(|(_, (_, local))| **local == 0)
        .map(|(rank, (process, _))| (process.node.unwrap_or(0), rank))
        .collect();
    leaders.sort_unstable();
    leaders.into_iter().map(|(_, rank)| rank).collect()
}

fn ask(session: &Session, leader: u32) -> Moment {
    let mut best = Moment { error: u64::MAX, ..Moment::default() };
    for _ in 0..ROUND_TRIPS {
        let asked = timer::ticks();
        session.world.send_number(leader, 0);
        let node = session.world.receive_number(leader);
        let half = (timer::ticks() - asked).div_ceil(2);
        if half < best.error {
            best = Moment { node, first: asked + half, error: half };
        }
    }
    best
}

fn answer(session: &Session) {
    for _ in 0..ROUND_TRIPS {
        session.world.receive_number(0);
        session.world.send_number(0, timer::ticks());
    }
}

/// Converts the ticks of a node to time on the clock of rank 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Line {
    before: Moment,
    /// Ticks of rank 0 per tick of the node.
    slope: f64,
    /// Ticks of rank 0 per second.
    ticks_per_second: f64,
    /// The zero of time, in ticks of rank 0.
    zero: u64,
}

impl Line {
    pub fn new(before: Moment, after: Moment, ticks_per_second: f64, zero: u64) -> Line {
        let (node, first) = (signed(after.node, before.node), signed(after.first, before.first));
        let slope = if node > 0.0 && first > 0.0 { first / node } else { 1.0 };
        Line { before, slope, ticks_per_second, zero }
    }

    /// Converts a moment of the node; moments before the zero become 0.
    pub fn time(&self, ticks: u64) -> Time {
        let first = signed(self.before.first, self.zero) + signed(ticks, self.before.node) * self.slope;
        Time((first.max(0.0) * 1e12 / self.ticks_per_second).round() as u64)
    }

    /// Seconds of rank 0 per second of a process on the node, whose timer was measured at `ticks_per_second`.
    pub fn rate(&self, ticks_per_second: f64) -> f64 {
        self.slope * ticks_per_second / self.ticks_per_second
    }
}

/// Bound on the difference between the clocks of two nodes: each contributes its own error.
pub fn error(before: &[Moment], after: &[Moment], ticks_per_second: f64) -> Time {
    let errors = before.iter().zip(after).map(|(before, after)| before.error.max(after.error));
    let worst = errors.max().unwrap_or(0) as f64;
    Time((2.0 * worst * 1e12 / ticks_per_second).round() as u64)
}

fn signed(later: u64, earlier: u64) -> f64 {
    later.wrapping_sub(earlier) as i64 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node whose clock began a million ticks later and makes 3 ticks where rank 0 makes 2.
    #[test]
    fn clocks_of_other_rates_are_brought_together() {
        let before = Moment { node: 1_000_000, first: 9_000_000, error: 40 };
        let after = Moment { node: 4_000_000, first: 11_000_000, error: 60 };
        let line = Line::new(before, after, 2e9, 8_000_000);
        assert_eq!(line.time(1_000_000), Time(500_000_000));
        assert_eq!(line.time(2_500_000), Time(1_000_000_000));
        assert_eq!(line.time(0), Time(166_666_667));
        assert!((line.rate(3e9) - 1.0).abs() < 1e-12);
        // 60 ticks are 30 ns, for each of two nodes.
        assert_eq!(error(&[before], &[after], 2e9), Time::from_ns(60));
    }

    #[test]
    fn one_moment_makes_a_line_too() {
        let only = Moment { node: 5, first: 5, error: 0 };
        assert_eq!(Line::new(only, only, 1e12, 0).time(7), Time(7));
    }
}
