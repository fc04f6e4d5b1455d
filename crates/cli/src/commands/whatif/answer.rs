//! What `straggler whatif` answers, for programs.

use super::replayed::Replayed;
use super::{Results, Session};
use crate::args::whatif::WhatIf;
use crate::commands::simulate::NetworkAnswer;
use crate::commands::trace::Opened;
use serde::Serialize;
use straggler_analysis::waits::{Efficiency, Pattern, RankTimes, WaitStates};
use straggler_analysis::whatif::search::Skipped;
use straggler_analysis::whatif::{Bound, Decided, InCalls, Scenario};
use straggler_model::{Network, Time};

/// A hypothesis that was simulated.
pub struct Simulated {
    pub text: String,
    pub network: Network,
    pub scenario: Scenario,
    pub waits: RunWaits,
    pub notes: Vec<String>,
}

/// The JSON object.
#[derive(Debug, Serialize)]
pub struct Answer {
    pub trace: String,
    pub program: String,
    pub synthetic: bool,
    pub processes: u32,
    pub mode: &'static str,
    /// The run as it was traced.
    pub measured_ps: u64,
    /// The same run, simulated.
    pub identity_ps: u64,
    /// The first hypothesis.
    pub hypothesis_ps: u64,
    /// Decisions of the first hypothesis that differ from the trace's.
    pub decisions_changed: u64,
    /// (identity − measured) / measured.
    pub identity_error: Option<f64>,
    /// Of the identity simulation; `fitted` from the trace unless it was given.
    pub network: NetworkAnswer,
    pub fitted: bool,
    pub waits: Waits,
    /// The run as it was, simulated on a network that costs nothing.
    pub ideal_network_ps: u64,
    /// Of the identity simulation; none where nobody computed.
    pub efficiency: Option<EfficiencyAnswer>,
    /// All hypotheses, in the order given.
    pub hypotheses: Vec<HypothesisAnswer>,
    /// What a search did not simulate, because the critical path shows that it wins next to nothing.
    pub skipped: Vec<SkippedAnswer>,
    pub identity_decisions: Vec<DecisionAnswer>,
    /// The first hypothesis, or the run as it was, with real messages.
    pub replayed: Option<Replayed>,
    pub warnings: Vec<String>,
    /// Those of them that are about the simulations.
    #[serde(skip)]
    pub doubts: Vec<String>,
    /// What is simplified or left out.
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct SkippedAnswer {
    pub hypothesis: String,
    /// As a share of the run.
    pub gain_at_most: f64,
}

/// The factors of the POP project: parallel = load balance × communication, communication = serialisation × transfer.
#[derive(Debug, Serialize)]
pub struct EfficiencyAnswer {
    pub parallel: f64,
    pub load_balance: f64,
    pub communication: f64,
    pub serialisation: Option<f64>,
    pub transfer: Option<f64>,
}

/// Wait states of the three runs.
#[derive(Debug, Serialize)]
pub struct Waits {
    pub measured: RunWaits,
    pub identity: RunWaits,
    pub hypothesis: RunWaits,
}

/// How the ranks of a run spent their time, all together, and who waited how.
#[derive(Clone, Debug, Serialize)]
pub struct RunWaits {
    pub computation_seconds: f64,
    pub waiting_seconds: f64,
    pub communication_seconds: f64,
    /// In calls for messages, in barriers, and in other collectives.
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

#[derive(Debug, Serialize)]
pub struct HypothesisAnswer {
    pub hypothesis: String,
    pub hypothesis_ps: u64,
    /// (identity − hypothesis) / identity: positive where it is faster.
    pub gain: f64,
    pub network: NetworkAnswer,
    pub decisions_changed: u64,
    pub decisions: Vec<DecisionAnswer>,
    /// Tests that the program would not call any more.
    pub superfluous_tests: u64,
    /// Decisions are those of the trace, because the program would hang otherwise.
    pub bound: bool,
    pub waits: RunWaits,
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct DecisionAnswer {
    pub rank: u32,
    pub function: &'static str,
    pub kind: &'static str,
    pub count: u64,
}

/// An identity simulation that is further off than this says little about small gains.
const WELL: f64 = 0.05;

impl Answer {
    pub fn new(session: &Session<'_>, typed: &WhatIf, opened: &Opened, results: &Results) -> Answer {
        let Results {
            measured,
            waits,
            identity,
            identity_waits,
            ideal,
            hypotheses,
            skipped,
            hanging,
            replayed,
        } = results;
        let error = (*measured > Time::ZERO)
            .then(|| (identity.end.ps() as f64 - measured.ps() as f64) / measured.ps() as f64);
        let mut doubts = Vec::new();
        if let Some(error) = error.filter(|error| error.abs() > WELL) {
            doubts.push(format!(
                "the identity simulation is {:.1} % off the measured run: gains smaller than that mean little",
                error * 100.0
            ));
        }
        let runs = hypotheses.iter().map(|one| (one.text.as_str(), &one.scenario));
        for (text, scenario) in runs.chain([("identity", identity)]) {
            doubts.extend(decided_by_trace(scenario.bound).map(|what| format!("{text}: {what}")));
        }
        doubts.extend(hanging.iter().cloned());
        for one in hypotheses.iter().filter(|one| one.scenario.goes_on_as_recorded) {
            doubts.push(format!(
                "{}: after a decision that differs, ranks go on as in the trace: what they send and to whom is not decided again",
                one.text
            ));
        }
        let first = hypotheses.first();
        Answer {
            trace: typed.trace.display().to_string(),
            program: session.trace.meta.program.clone(),
            synthetic: opened.is_synthetic(),
            processes: session.trace.processes(),
            mode: typed.mode.name(),
            measured_ps: measured.ps(),
            identity_ps: identity.end.ps(),
            hypothesis_ps: first.map_or(identity.end, |first| first.scenario.end).ps(),
            decisions_changed: first.map_or(0, |first| first.scenario.decisions_changed()),
            identity_error: error,
            ideal_network_ps: ideal.end.ps(),
            efficiency: identity.waits.efficiency(Some(ideal.longest)).map(EfficiencyAnswer::of),
            network: NetworkAnswer::of(&session.network),
            fitted: session.fitted,
            waits: Waits {
                measured: waits.clone(),
                identity: identity_waits.clone(),
                hypothesis: first.map_or(identity_waits, |first| &first.waits).clone(),
            },
            hypotheses: hypotheses.iter().map(|one| HypothesisAnswer::of(one, identity.end)).collect(),
            skipped: skipped.iter().map(SkippedAnswer::of).collect(),
            identity_decisions: identity.decisions.iter().map(DecisionAnswer::of).collect(),
            replayed: replayed.clone(),
            warnings: opened.warnings(&typed.trace).into_iter().chain(doubts.iter().cloned()).collect(),
            doubts,
            notes: identity.notes.clone(),
        }
    }

    /// The largest gain first.
    pub fn sorted(&self) -> Vec<&HypothesisAnswer> {
        let mut sorted: Vec<&HypothesisAnswer> = self.hypotheses.iter().collect();
        sorted.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        sorted
    }
}

impl SkippedAnswer {
    fn of(skipped: &Skipped) -> SkippedAnswer {
        SkippedAnswer { hypothesis: skipped.difference.text(), gain_at_most: skipped.bound }
    }
}

impl EfficiencyAnswer {
    fn of(efficiency: Efficiency) -> EfficiencyAnswer {
        EfficiencyAnswer {
            parallel: efficiency.parallel,
            load_balance: efficiency.load_balance,
            communication: efficiency.communication,
            serialisation: efficiency.factors.map(|factors| factors.serialisation),
            transfer: efficiency.factors.map(|factors| factors.transfer),
        }
    }
}

/// What the trace decides, because the program would hang if the simulation did.
fn decided_by_trace(bound: Bound) -> Option<&'static str> {
    match bound {
        Bound::Nothing => None,
        Bound::Wildcards => Some(
            "receives from anyone take the messages they took in the trace, because the program would hang otherwise",
        ),
        Bound::Everything => Some(
            "all is decided as in the trace, because the program would hang otherwise: compare with --mode recorded",
        ),
    }
}

impl HypothesisAnswer {
    fn of(one: &Simulated, identity: Time) -> HypothesisAnswer {
        let Simulated { text, network, scenario, waits, notes } = one;
        let whole = identity.ps().max(1) as f64;
        HypothesisAnswer {
            hypothesis: text.clone(),
            hypothesis_ps: scenario.end.ps(),
            gain: (identity.ps() as f64 - scenario.end.ps() as f64) / whole,
            network: NetworkAnswer::of(network),
            decisions_changed: scenario.decisions_changed(),
            decisions: scenario.decisions.iter().map(DecisionAnswer::of).collect(),
            superfluous_tests: scenario.superfluous_tests,
            bound: scenario.bound != Bound::Nothing,
            waits: waits.clone(),
            notes: notes.clone(),
        }
    }
}

impl DecisionAnswer {
    fn of(decided: &Decided) -> DecisionAnswer {
        let Decided { rank, function, kind, count } = *decided;
        DecisionAnswer { rank, function: function.name(), kind: kind.name(), count }
    }
}

impl RunWaits {
    pub fn of(states: &WaitStates, calls: &InCalls) -> RunWaits {
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

fn patterns(totals: &straggler_analysis::waits::Totals) -> Vec<PatternAnswer> {
    let own = Pattern::ALL.map(|pattern| (pattern.name(), totals.of(pattern)));
    let all = own.into_iter().chain([("late_sender_wrong_order", totals.wrong_order)]);
    all.map(|(pattern, total)| PatternAnswer { pattern, count: total.count, seconds: total.time.seconds() })
        .collect()
}
