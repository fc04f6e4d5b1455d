//! The JSON answer of `straggler whatif`, with how the ranks of each run spent their time.

use crate::kernel::prelude::*;
use crate::network::NetworkAnswer;
use crate::trace::file::Opened;
use crate::trace::waits::{PatternAnswer, patterns};
use crate::whatif::{Results, Session, args::TraceWhatIf, reenact::Replayed};
use straggler_analysis::waits::{Efficiency, RankTimes, WaitStates};
use straggler_analysis::whatif::{Bound, Decided, InCalls, Scenario, search::Skipped};
use straggler_model::Network;

/// A simulated hypothesis.
pub struct Simulated {
    pub text: String,
    pub is_hypothetical: bool,
    pub ideal_network: bool,
    pub network: Network,
    pub scenario: Scenario,
    pub waits: RunWaits,
    pub notes: Vec<String>,
}

/// The JSON object.
#[derive(Debug, Serialize)]
pub struct WhatIfAnswer {
    pub trace: String,
    pub program: String,
    pub synthetic: bool,
    pub processes: u32,
    pub mode: &'static str,
    /// The traced run.
    pub measured_ps: u64,
    /// The baseline: the same run, simulated.
    pub identity_ps: u64,
    /// The first hypothesis.
    pub hypothesis_ps: u64,
    /// Decisions of the first hypothesis that differ from those of the trace.
    pub decisions_changed: u64,
    /// (identity − measured) / measured.
    pub identity_error: Option<f64>,
    /// Calls whose time counts as computation, because they have no model; part of it may be waiting.
    pub unmodelled: Option<UnmodelledAnswer>,
    /// Network of the baseline; `fitted` to the trace unless it was given.
    pub network: NetworkAnswer,
    pub fitted: bool,
    pub waits: Waits,
    /// The unchanged run, simulated on an ideal network.
    pub ideal_network_ps: u64,
    /// Efficiency of the baseline; None if no rank computed.
    pub efficiency: Option<Efficiency>,
    /// Given hypotheses in their order, then those of a search by gain.
    pub hypotheses: Vec<HypothesisAnswer>,
    /// Hypotheses that a search skipped, because the critical path bounds their gain near zero.
    pub skipped: Vec<SkippedAnswer>,
    /// Slow ranks that a search fixed one after another, each the next that the critical path visits longest.
    pub fixed_together: Vec<u32>,
    pub identity_decisions: Vec<Decided>,
    /// The first hypothesis, or the unchanged run, with real messages.
    pub replayed: Option<Replayed>,
    pub warnings: Vec<String>,
    /// Why gains are not reliable: calls are missing, or the baseline differs from the measured run.
    #[serde(skip)]
    pub unreliable: Vec<String>,
    /// The other warnings about the simulations.
    #[serde(skip)]
    pub doubts: Vec<String>,
    /// Simplifications and omissions.
    pub notes: Vec<String>,
}

/// Calls without a model.
#[derive(Debug, Serialize)]
pub struct UnmodelledAnswer {
    /// The rank that spends most time in them, and the share of the run.
    pub rank: u32,
    pub share: f64,
    /// Over all ranks, the longest first.
    pub functions: Vec<UnmodelledFunction>,
}

#[derive(Debug, Serialize)]
pub struct UnmodelledFunction {
    pub function: String,
    pub calls: u64,
    pub seconds: f64,
}

#[derive(Debug, Serialize)]
pub struct SkippedAnswer {
    pub hypothesis: String,
    /// Upper bound of the gain, as a share of the run.
    pub gain_at_most: f64,
}

/// Wait states of the three runs.
#[derive(Debug, Serialize)]
pub struct Waits {
    pub measured: RunWaits,
    pub identity: RunWaits,
    pub hypothesis: RunWaits,
}

#[derive(Debug, Serialize)]
pub struct HypothesisAnswer {
    pub hypothesis: String,
    pub hypothesis_ps: u64,
    /// A search tried it, though nothing says that it can be done: other hypotheses remove something.
    pub hypothetical: bool,
    /// With an ideal network and no other change: a limit of what can be gained, not a change that can be made.
    pub ideal_network: bool,
    /// (identity − hypothesis) / identity: positive if it is faster.
    pub gain: f64,
    /// The run time is expected between these: it may differ by the error of the baseline, and time without a model
    /// may be waiting that is no longer there.
    pub at_least_ps: u64,
    pub at_most_ps: u64,
    pub network: NetworkAnswer,
    pub decisions_changed: u64,
    pub decisions: Vec<Decided>,
    /// Tests that the program would no longer call.
    pub superfluous_tests: u64,
    /// Decisions are taken from the trace, because the program would hang otherwise.
    pub bound: bool,
    pub waits: RunWaits,
    pub notes: Vec<String>,
}

/// With a larger error of the baseline, small gains mean little.
const WELL: f64 = 0.05;
/// Calls without a model are worth a warning if they hold more than this share of the run.
const MUCH: f64 = 0.02;

impl WhatIfAnswer {
    pub fn new(
        session: &Session<'_>,
        typed: &TraceWhatIf,
        opened: &Opened,
        results: &Results,
    ) -> WhatIfAnswer {
        let Results { measured, waits, identity, identity_waits, hypotheses, .. } = results;
        let error = (*measured > Time::ZERO)
            .then(|| (identity.end.ps() as f64 - measured.ps() as f64) / measured.ps() as f64);
        let mut doubts: Vec<String> = session.base.doubt.iter().cloned().collect();
        let off = error.filter(|error| error.abs() > WELL).map(|error| {
            format!(
                "the baseline differs from the measured run by {:.1} %: smaller gains are not reliable",
                error * 100.0
            )
        });
        let unreliable: Vec<String> = opened.much_missing().map(missing).into_iter().chain(off).collect();
        let unmodelled = UnmodelledAnswer::new(identity);
        doubts.extend(unmodelled.as_ref().filter(|found| found.is_much()).map(UnmodelledAnswer::doubt));
        for (bound, what) in DECIDED_BY_TRACE {
            let mut names = names_of(hypotheses, |run| run.bound == bound);
            names.extend((identity.bound == bound).then_some("baseline"));
            doubts.extend(said_once(&names, what));
        }
        doubts.extend(results.hanging.iter().cloned());
        let continuing = names_of(hypotheses, |run| run.goes_on_as_recorded);
        doubts.extend(said_once(&continuing, CONTINUES_AS_RECORDED));
        let first = hypotheses.first();
        WhatIfAnswer {
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
            unmodelled,
            ideal_network_ps: results.ideal.end.ps(),
            efficiency: identity.waits.efficiency(Some(results.ideal.longest)),
            network: NetworkAnswer::new(&session.base.network),
            fitted: session.base.fitted,
            waits: Waits {
                measured: waits.clone(),
                identity: identity_waits.clone(),
                hypothesis: first.map_or(identity_waits, |first| &first.waits).clone(),
            },
            hypotheses: hypotheses
                .iter()
                .map(|one| HypothesisAnswer::new(one, identity.end, error))
                .collect(),
            skipped: results.skipped.iter().map(SkippedAnswer::new).collect(),
            fixed_together: results.fixed.clone(),
            identity_decisions: identity.decisions.clone(),
            replayed: results.replayed.clone(),
            warnings: [opened.warnings(&typed.trace), unreliable.clone(), doubts.clone()].concat(),
            unreliable,
            doubts,
            notes: identity.notes.clone(),
        }
    }

    /// The one to read first comes first.
    pub fn sorted(&self) -> Vec<&HypothesisAnswer> {
        let mut sorted: Vec<&HypothesisAnswer> = self.hypotheses.iter().collect();
        let place = |one: &HypothesisAnswer| place(one.hypothetical, one.ideal_network, one.gain);
        sorted.sort_by(|a, b| place(a).cmp(&place(b)).then(b.gain.total_cmp(&a.gain)));
        sorted
    }
}

/// Smaller gains are not worth a change.
const WORTH: f64 = 0.01;

/// What removes a fault and is worth it comes first, then what faster parts would gain, then changes that gain little.
/// The last is the limit that an ideal network sets.
fn place(is_hypothetical: bool, ideal_network: bool, gain: f64) -> u8 {
    match gain >= WORTH {
        _ if ideal_network => 3,
        _ if is_hypothetical => 1,
        true => 0,
        false => 2,
    }
}

impl Simulated {
    /// The place of a hypothesis of a search among the others: the smallest is the one to read first.
    pub fn order(&self, identity: Time) -> (u8, Time) {
        let end = self.scenario.end;
        (place(self.is_hypothetical, self.ideal_network, gain(end, identity)), end)
    }
}

/// (identity − end) / identity.
fn gain(end: Time, identity: Time) -> f64 {
    (identity.ps() as f64 - end.ps() as f64) / identity.ps().max(1) as f64
}

/// The doubt about a trace that lacks much.
fn missing(what: String) -> String {
    format!(
        "{what}: what others waited for is missing, so neither the times nor the gains are those of the program"
    )
}

impl UnmodelledAnswer {
    fn new(identity: &Scenario) -> Option<UnmodelledAnswer> {
        let (rank, time) = identity.unmodelled.most()?;
        let functions = identity.unmodelled.functions.iter().cloned();
        let functions = functions.map(|(function, calls, time)| {
            let seconds = time.seconds();
            UnmodelledFunction { function, calls, seconds }
        });
        let share = time.seconds() / identity.end.seconds().max(f64::MIN_POSITIVE);
        Some(UnmodelledAnswer { rank, share, functions: functions.collect() })
    }

    pub fn is_much(&self) -> bool {
        self.share > MUCH
    }

    /// "MPI_Win_wait, MPI_Win_start and 3 others".
    pub fn names(&self) -> String {
        let names = self.functions.iter().take(MOST_NAMES).map(|one| one.function.as_str());
        let mut names = names.collect::<Vec<_>>().join(", ");
        let rest = self.functions.len().saturating_sub(MOST_NAMES);
        if rest > 0 {
            names += &format!(" and {}", counted(rest as u64, "other", "others"));
        }
        names
    }

    fn doubt(&self) -> String {
        format!(
            "{} of the run of rank {} is in calls without a model ({}): this time counts as computation, though part \
             of it may be waiting. So gains may be larger, and waits are missing",
            percent(self.share),
            self.rank,
            self.names()
        )
    }
}

impl SkippedAnswer {
    fn new(skipped: &Skipped) -> SkippedAnswer {
        SkippedAnswer { hypothesis: skipped.difference.text(), gain_at_most: skipped.bound }
    }
}

/// Which decisions are taken from the trace, because the program would hang if the simulation made them.
const DECIDED_BY_TRACE: [(Bound, &str); 2] = [
    (
        Bound::Wildcards,
        "wildcard receives take the messages they took in the trace, because the program would hang otherwise",
    ),
    (
        Bound::Everything,
        "every decision is taken from the trace, because the program would hang otherwise: compare with \
         --mode recorded",
    ),
];

const CONTINUES_AS_RECORDED: &str =
    "where the order of messages changed, later messages still follow the trace";

/// Runs that a warning names; the rest are counted.
const MOST_NAMES: usize = 3;

fn names_of(hypotheses: &[Simulated], concerns: impl Fn(&Scenario) -> bool) -> Vec<&str> {
    hypotheses.iter().filter(|one| concerns(&one.scenario)).map(|one| one.text.as_str()).collect()
}

/// One warning for all runs it concerns; None if it concerns no run.
fn said_once(names: &[&str], what: &str) -> Option<String> {
    let mut named = names[..names.len().min(MOST_NAMES)].join("; ");
    let rest = names.len().saturating_sub(MOST_NAMES);
    if rest > 0 {
        named += &format!("; and {}", counted(rest as u64, "other", "others"));
    }
    (!names.is_empty()).then(|| format!("{named}: {what}"))
}

impl HypothesisAnswer {
    fn new(one: &Simulated, identity: Time, error: Option<f64>) -> HypothesisAnswer {
        let Simulated { text, is_hypothetical, ideal_network, network, scenario, waits, notes } = one;
        let off = Time((scenario.end.ps() as f64 * error.unwrap_or(0.0).abs()) as u64);
        let unmodelled = scenario.unmodelled.most().map_or(Time::ZERO, |(_, time)| time);
        HypothesisAnswer {
            hypothesis: text.clone(),
            hypothesis_ps: scenario.end.ps(),
            hypothetical: *is_hypothetical,
            ideal_network: *ideal_network,
            gain: gain(scenario.end, identity),
            at_least_ps: scenario.end.since(off + unmodelled).ps(),
            at_most_ps: (scenario.end + off).ps(),
            network: NetworkAnswer::new(network),
            decisions_changed: scenario.decisions_changed(),
            decisions: scenario.decisions.clone(),
            superfluous_tests: scenario.superfluous_tests,
            bound: scenario.bound != Bound::Nothing,
            waits: waits.clone(),
            notes: notes.clone(),
        }
    }
}

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
