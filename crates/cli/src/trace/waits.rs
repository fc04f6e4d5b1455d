//! `straggler trace waits`: which ranks waited for which, and why.

pub mod page;
pub mod words;

use crate::kernel::prelude::*;
use crate::trace::file::{Opened, Work, open_trace_for};
use crate::trace::sites::{CodePlace, Named};
use crate::{trace::Waits, trace::waits::words::WRONG_ORDER};
use std::collections::BTreeMap;
use straggler_analysis::waits::{
    Activity, Cause, CriticalPath, Efficiency, Explanation, MissingRank, Pattern, RankTimes, RegionWaits,
    Total, Totals, WaitStates, unanalysed,
};
use straggler_analysis::whatif::Variation;
use straggler_model::Rank;
use straggler_trace::{Function, Trace, messages::CallPlace};

pub fn run(typed: &Waits, console: &Console) -> Outcome<()> {
    let opened = open_trace_for(&typed.trace, Work::Waits)?;
    let (states, explanation, answer) = analyse(&typed.trace, &opened);
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    pages::write_asked(typed.report.report.as_ref(), console, || {
        page::page(&answer, &opened, &states, &explanation)
    })?;
    if console.json { console.print_json(&answer) } else { console.print(&words::words(&answer)) }
}

pub fn analyse(path: &Path, opened: &Opened) -> (WaitStates, Explanation, WaitsAnswer) {
    let states = WaitStates::new(&opened.trace);
    let explanation = Explanation::new(&opened.trace, &states);
    let answer = WaitsAnswer::new(path, opened, &states, &explanation);
    (states, explanation, answer)
}

/// The page of a trace.
pub fn page_of_trace(path: &Path) -> Outcome<Page> {
    let opened = open_trace_for(path, Work::Waits)?;
    let (states, explanation, answer) = analyse(path, &opened);
    Ok(page::page(&answer, &opened, &states, &explanation))
}

/// The JSON object.
#[derive(Debug, Serialize)]
pub struct WaitsAnswer {
    pub trace: String,
    pub program: String,
    pub synthetic: bool,
    pub sentence: String,
    pub processes: u32,
    /// Summed over all ranks.
    pub run_seconds: f64,
    pub computation_seconds: f64,
    pub waiting_seconds: f64,
    pub communication_seconds: f64,
    /// None if no rank computed.
    pub efficiency: Option<Efficiency>,
    /// `late_sender_wrong_order` is a part of `late_sender`; the others add up to `waiting_seconds`.
    pub patterns: Vec<PatternAnswer>,
    pub functions: Vec<FunctionAnswer>,
    /// Waits by the place in the program that calls, the longest first; empty if call sites were not recorded.
    pub call_sites: Vec<SiteAnswer>,
    /// Their `seconds` add up to `waiting_seconds`.
    pub regions: Vec<RegionAnswer>,
    /// What ranks did that made others wait, the longest first. Covers all waits whose cause is known.
    pub causes: Vec<CauseAnswer>,
    pub critical_path: PathAnswer,
    /// Whether ranks take turns in computing longest, from one synchronisation to the next.
    pub computation_varies: bool,
    /// Ranks of which calls are missing.
    pub missing: Vec<MissingRank>,
    /// Time in other kinds of calls, whose waits cannot be attributed, the longest first.
    pub not_analysed: Vec<NotAnalysed>,
    pub ranks: Vec<RankAnswer>,
    /// Reasons to doubt the answer.
    pub warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct NotAnalysed {
    pub function: &'static str,
    pub calls: u64,
    pub seconds: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct PatternAnswer {
    pub pattern: &'static str,
    pub count: u64,
    pub seconds: f64,
}

#[derive(Debug, Serialize)]
pub struct FunctionAnswer {
    pub function: &'static str,
    #[serde(flatten)]
    pub waits: PatternAnswer,
}

#[derive(Debug, Serialize)]
pub struct SiteAnswer {
    #[serde(flatten)]
    pub place: CodePlace,
    #[serde(flatten)]
    pub waits: FunctionAnswer,
}

#[derive(Debug, Serialize)]
pub struct RegionAnswer {
    /// Null for outside of all regions.
    pub region: Option<String>,
    /// Excluding nested regions.
    pub count: u64,
    pub seconds: f64,
    /// Including nested regions.
    pub inclusive_seconds: f64,
    pub waits: Vec<RegionWaitAnswer>,
}

#[derive(Debug, Serialize)]
pub struct RegionWaitAnswer {
    pub rank: Rank,
    #[serde(flatten)]
    pub waits: FunctionAnswer,
}

/// What a rank did: `computation` in a region or between two calls, work in a `call`, or a `call_without_partner`, which
/// may have waited for calls that are missing in the trace.
#[derive(Clone, Debug, Serialize)]
pub struct ActivityAnswer {
    pub activity: String,
    pub kind: &'static str,
    pub region: Option<String>,
    pub after: Option<&'static str>,
    pub before: Option<&'static str>,
    pub function: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub struct CauseAnswer {
    pub rank: Rank,
    #[serde(flatten)]
    pub activity: ActivityAnswer,
    /// Time that others waited for this rank, and for ranks that had waited because of it.
    pub direct_seconds: f64,
    pub indirect_seconds: f64,
    /// The call sites before and after a computation, or that of a call; empty if call sites were not recorded.
    pub sites: Vec<String>,
}

/// The critical path; `parts` add up to it, and so do `activities` and `ranks`.
#[derive(Debug, Serialize)]
pub struct PathAnswer {
    pub seconds: f64,
    pub imbalance_seconds: f64,
    pub activities: Vec<PathActivityAnswer>,
    pub ranks: Vec<PathRankAnswer>,
    pub parts: Vec<PathPartAnswer>,
}

#[derive(Debug, Serialize)]
pub struct PathActivityAnswer {
    #[serde(flatten)]
    pub activity: ActivityAnswer,
    pub seconds: f64,
    /// The mean time that a rank spends on it.
    pub mean_seconds: f64,
    pub imbalance_seconds: f64,
}

#[derive(Debug, Serialize)]
pub struct PathRankAnswer {
    pub rank: Rank,
    pub seconds: f64,
}

#[derive(Debug, Serialize)]
pub struct PathPartAnswer {
    pub rank: Rank,
    #[serde(flatten)]
    pub activity: ActivityAnswer,
    pub seconds: f64,
}

#[derive(Debug, Serialize)]
pub struct RankAnswer {
    pub rank: Rank,
    pub run_seconds: f64,
    pub computation_seconds: f64,
    pub waiting_seconds: f64,
    pub communication_seconds: f64,
    /// Time that others waited for this rank.
    pub caused_seconds: f64,
    /// Time that others waited because of what this rank did, directly or through others.
    pub root_cause_seconds: f64,
    pub patterns: Vec<PatternAnswer>,
}

impl WaitsAnswer {
    pub fn new(path: &Path, opened: &Opened, states: &WaitStates, explanation: &Explanation) -> WaitsAnswer {
        let trace = &opened.trace;
        let mut warnings = opened.warnings(path);
        if states.ranks.iter().all(|rank| rank.communication + rank.waiting == Time::ZERO) {
            warnings.push("the trace has no durations of MPI calls: waits are unknown".to_owned());
        }
        let sum = |of: fn(&RankTimes) -> Time| states.ranks.iter().map(|rank| of(rank).seconds()).sum();
        let (unanalysed, run_seconds) = (unanalysed(trace, &explanation.missing), sum(|rank| rank.run));
        warnings.extend(doubt(&unanalysed, run_seconds));
        let sites = Named::new(&trace.call_sites);
        warnings.extend_from_slice(&sites.warnings);
        let varies = Variation::new(trace).is_some_and(|found| found.is_from_step_to_step());
        let waiting_seconds: f64 = sum(|rank| rank.waiting);
        WaitsAnswer {
            trace: path.display().to_string(),
            program: trace.meta.program.clone(),
            synthetic: opened.is_synthetic(),
            sentence: words::headline(
                states,
                explanation,
                &unanalysed,
                &sites,
                varies,
                opened.is_synthetic(),
            ),
            processes: trace.processes(),
            run_seconds,
            computation_seconds: sum(|rank| rank.computation),
            waiting_seconds,
            communication_seconds: sum(|rank| rank.communication),
            efficiency: states.efficiency(None),
            patterns: patterns(&states.total()),
            functions: functions(trace, states),
            call_sites: call_sites(trace, states, &sites),
            regions: explanation.regions.iter().map(region).collect(),
            causes: explanation.causes.iter().map(|of| cause(of, &sites)).collect(),
            critical_path: critical_path(&explanation.critical_path),
            computation_varies: varies,
            missing: explanation.missing.ranks.clone(),
            not_analysed: not_analysed(&unanalysed),
            ranks: ranks(states, &explanation.causes),
            warnings,
        }
    }

    /// A time as a share of the time of all ranks.
    pub fn share(&self, time: f64) -> f64 {
        time / self.run_seconds.max(f64::MIN_POSITIVE)
    }
}

fn ranks(states: &WaitStates, causes: &[Cause]) -> Vec<RankAnswer> {
    let (mut caused, mut rooted) = (vec![0.0; states.ranks.len()], vec![0.0; states.ranks.len()]);
    for wait in &states.waits {
        let late = wait.cause.and_then(|cause| caused.get_mut(cause.rank as usize));
        late.into_iter().for_each(|sum| *sum += wait.time.seconds());
    }
    for cause in causes {
        rooted.get_mut(cause.rank as usize).into_iter().for_each(|sum| *sum += cause.total());
    }
    let totals = states.totals();
    let answer = |(number, times): (usize, &RankTimes)| RankAnswer {
        rank: number as Rank,
        run_seconds: times.run.seconds(),
        computation_seconds: times.computation.seconds(),
        waiting_seconds: times.waiting.seconds(),
        communication_seconds: times.communication.seconds(),
        caused_seconds: caused[number],
        root_cause_seconds: rooted[number],
        patterns: patterns(&totals[number]),
    };
    states.ranks.iter().enumerate().map(answer).collect()
}

fn pattern_answer(pattern: &'static str, Total { count, time }: Total) -> PatternAnswer {
    PatternAnswer { pattern, count, seconds: time.seconds() }
}

/// All patterns, in a fixed order.
pub fn patterns(totals: &Totals) -> Vec<PatternAnswer> {
    let mut all: Vec<PatternAnswer> =
        Pattern::ALL.iter().map(|&pattern| pattern_answer(pattern.name(), totals.get(pattern))).collect();
    all.insert(1, pattern_answer(WRONG_ORDER, totals.wrong_order));
    all
}

/// Waits by function, pattern and what `place` gives for their calls, the longest first.
fn by_function<P: Copy + Ord>(
    trace: &Trace,
    states: &WaitStates,
    place: impl Fn(CallPlace) -> Option<P>,
) -> Vec<(P, FunctionAnswer)> {
    let mut sums: BTreeMap<(Function, Pattern, P), Total> = BTreeMap::new();
    for wait in &states.waits {
        let (Some(call), Some(place)) = (trace.call(wait.place), place(wait.place)) else { continue };
        sums.entry((call.function, wait.pattern, place)).or_default().add(wait.time);
    }
    let mut sums: Vec<((Function, Pattern, P), Total)> = sums.into_iter().collect();
    sums.sort_by_key(|&(key, total)| (std::cmp::Reverse(total.time), key));
    let answer = |((function, pattern, place), total): ((Function, Pattern, P), Total)| {
        (place, FunctionAnswer { function: function.name(), waits: pattern_answer(pattern.name(), total) })
    };
    sums.into_iter().map(answer).collect()
}

fn functions(trace: &Trace, states: &WaitStates) -> Vec<FunctionAnswer> {
    by_function(trace, states, |_| Some(())).into_iter().map(|(_, answer)| answer).collect()
}

fn call_sites(trace: &Trace, states: &WaitStates, sites: &Named) -> Vec<SiteAnswer> {
    let site = |place: CallPlace| trace.ranks.get(place.rank as usize)?.site(place.call as usize);
    let all = by_function(trace, states, site).into_iter();
    all.filter_map(|(site, waits)| Some(SiteAnswer { place: sites.get(site)?.clone(), waits })).collect()
}

fn region(of: &RegionWaits) -> RegionAnswer {
    let waits = of.parts.iter().map(|part| RegionWaitAnswer {
        rank: part.rank,
        waits: FunctionAnswer {
            function: part.function.name(),
            waits: pattern_answer(part.pattern.name(), part.total),
        },
    });
    RegionAnswer {
        region: of.region.as_ref().map(ToString::to_string),
        count: of.exclusive.count,
        seconds: of.exclusive.time.seconds(),
        inclusive_seconds: of.inclusive.time.seconds(),
        waits: waits.collect(),
    }
}

fn activity(of: &Activity) -> ActivityAnswer {
    let nothing = ActivityAnswer {
        activity: of.to_string(),
        kind: "computation",
        region: None,
        after: None,
        before: None,
        function: None,
    };
    match of {
        Activity::Region(region) => ActivityAnswer { region: Some(region.to_string()), ..nothing },
        Activity::Between(after, before) => {
            ActivityAnswer { after: after.map(Function::name), before: before.map(Function::name), ..nothing }
        }
        Activity::Call(function, region) => ActivityAnswer {
            kind: "call",
            function: Some(function.name()),
            region: region.as_ref().map(ToString::to_string),
            ..nothing
        },
        Activity::Alone(function) => {
            ActivityAnswer { kind: "call_without_partner", function: Some(function.name()), ..nothing }
        }
    }
}

fn cause(of: &Cause, sites: &Named) -> CauseAnswer {
    CauseAnswer {
        rank: of.rank,
        activity: activity(&of.activity),
        direct_seconds: of.direct,
        indirect_seconds: of.indirect,
        sites: of.sites.iter().filter_map(|&site| Some(sites.get(site)?.site.clone())).collect(),
    }
}

fn critical_path(of: &CriticalPath) -> PathAnswer {
    let activities = of.activities.iter().map(|one| PathActivityAnswer {
        activity: activity(&one.activity),
        seconds: one.time.seconds(),
        mean_seconds: one.mean,
        imbalance_seconds: one.imbalance(),
    });
    let parts = of.parts.iter().map(|part| PathPartAnswer {
        rank: part.rank,
        activity: activity(&part.activity),
        seconds: part.time.seconds(),
    });
    let ranks = of.ranks().into_iter().map(|(rank, time)| PathRankAnswer { rank, seconds: time.seconds() });
    PathAnswer {
        seconds: of.length.seconds(),
        imbalance_seconds: of.activities.iter().map(|one| one.imbalance()).sum(),
        activities: activities.collect(),
        ranks: ranks.collect(),
        parts: parts.collect(),
    }
}

/// Calls that may wait in ways that no pattern describes.
fn not_analysed(unanalysed: &[(Function, Total)]) -> Vec<NotAnalysed> {
    let answer = |&(function, Total { count, time }): &(Function, Total)| NotAnalysed {
        function: function.name(),
        calls: count,
        seconds: time.seconds(),
    };
    unanalysed.iter().map(answer).collect()
}

/// Calls that are not analysed and hold more of the run than this are worth a warning.
const MUCH: f64 = 0.02;

/// The warning about calls that are not analysed; none if they take little time.
fn doubt(unanalysed: &[(Function, Total)], run: f64) -> Option<String> {
    let share = unanalysed.iter().map(|(_, total)| total.time.seconds()).sum::<f64>() / run;
    let names: Vec<&str> = unanalysed.iter().take(3).map(|(function, _)| function.name()).collect();
    (share > MUCH).then(|| {
        format!(
            "{} of the time of all ranks is in calls whose waits are not analysed, most of it in {}: ranks may wait \
             more than is said here, and for others",
            percent(share),
            names.join(", ")
        )
    })
}
