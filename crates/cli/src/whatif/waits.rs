//! How the ranks of a run spent their time.

use serde::Serialize;
use straggler_analysis::waits::{Pattern, RankTimes, Totals, WaitStates};
use straggler_analysis::whatif::InCalls;
use straggler_model::Time;

/// How the ranks of a run spent their time in total, and their waits.
#[derive(Clone, Debug, Serialize)]
pub struct RunWaits {
    pub computation_seconds: f64,
    pub waiting_seconds: f64,
    pub communication_seconds: f64,
    /// Time in point-to-point calls, in barriers, and in other collectives.
    pub point_to_point_seconds: f64,
    pub barrier_seconds: f64,
    pub collective_seconds: f64,
    pub patterns: Vec<PatternAnswer>,
    pub ranks: Vec<RankWaits>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RankWaits {
    pub rank: u32,
    pub run_seconds: f64,
    pub computation_seconds: f64,
    pub waiting_seconds: f64,
    pub communication_seconds: f64,
    pub patterns: Vec<PatternAnswer>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PatternAnswer {
    pub pattern: &'static str,
    pub count: u64,
    pub seconds: f64,
}

impl RunWaits {
    pub fn new(states: &WaitStates, calls: &InCalls) -> RunWaits {
        let sum = |of: fn(&RankTimes) -> Time| states.ranks.iter().map(|rank| of(rank).seconds()).sum();
        let ranks = (0..).zip(&states.ranks).zip(states.totals()).map(|((rank, times), totals)| RankWaits {
            rank,
            run_seconds: times.run.seconds(),
            computation_seconds: times.computation.seconds(),
            waiting_seconds: times.waiting.seconds(),
            communication_seconds: times.communication.seconds(),
            patterns: patterns(&totals),
        });
        RunWaits {
            computation_seconds: sum(|rank| rank.computation),
            waiting_seconds: sum(|rank| rank.waiting),
            communication_seconds: sum(|rank| rank.communication),
            point_to_point_seconds: calls.point_to_point.seconds(),
            barrier_seconds: calls.barriers.seconds(),
            collective_seconds: calls.collectives.seconds(),
            patterns: patterns(&states.total()),
            ranks: ranks.collect(),
        }
    }

    pub fn seconds_of(&self, pattern: &str) -> f64 {
        self.patterns.iter().find(|one| one.pattern == pattern).map_or(0.0, |one| one.seconds)
    }
}

fn patterns(totals: &Totals) -> Vec<PatternAnswer> {
    let own = Pattern::ALL.map(|pattern| (pattern.name(), totals.get(pattern)));
    let all = own.into_iter().chain([("late_sender_wrong_order", totals.wrong_order)]);
    all.map(|(pattern, total)| PatternAnswer { pattern, count: total.count, seconds: total.time.seconds() })
        .collect()
}
