//! The summary sentence: how much ranks wait, and the main cause.

use crate::answers::waits::plain;
use std::collections::BTreeMap;
use straggler_analysis::waits::{Activity, Cause, Pattern, Total, WaitStates};
use straggler_model::{Rank, Time};
use straggler_report::numbers::percent;
use straggler_trace::{Class, Function};

/// A cause of a smaller share of the waits is not named as their reason.
const LARGE: f64 = 0.3;

/// "Ranks wait 12 % of their time; 67 % of it because rank 3 computes too long in solve."
pub fn of(
    states: &WaitStates,
    causes: &[Cause],
    unanalysed: &[(Function, Total)],
    synthetic: bool,
) -> String {
    let sum =
        |of: &dyn Fn(usize) -> Time| (0..states.ranks.len()).map(|rank| of(rank).seconds()).sum::<f64>();
    let waiting = sum(&|rank| states.ranks[rank].waiting);
    let run = sum(&|rank| states.ranks[rank].run);
    let note = if synthetic { " (synthetic)" } else { "" };
    if waiting <= 0.0 {
        return format!("No wait of a known pattern was found in the run{note}.");
    }
    let share = percent(waiting / run.max(f64::MIN_POSITIVE));
    let why = why(causes, unanalysed, waiting).unwrap_or_else(|| format!("{} is the largest part", largest(states)));
    format!("Ranks wait {share} of their time{note}; {why}.")
}

fn why(causes: &[Cause], unanalysed: &[(Function, Total)], waiting: f64) -> Option<String> {
    let of_waits = |cost: f64| percent(cost / waiting);
    if let Some(first) = causes.first().filter(|first| first.total() >= LARGE * waiting) {
        let (share, verb) = (of_waits(first.total()), too_long(&first.activity, unanalysed));
        return Some(format!("{share} of it because rank {} {verb}", first.rank));
    }
    let (mut activities, mut ranks): (BTreeMap<&Activity, f64>, BTreeMap<Rank, f64>) = Default::default();
    for cause in causes {
        *activities.entry(&cause.activity).or_default() += cause.total();
        *ranks.entry(cause.rank).or_default() += cause.total();
    }
    let large = |cost: &f64| *cost >= LARGE * waiting;
    // With few ranks, each causes a large share anyway.
    let fair = waiting / ranks.len().max(1) as f64;
    let stands_out = |cost: &f64| large(cost) && *cost >= 1.5 * fair;
    if let Some((rank, cost)) = longest(ranks).filter(|(_, cost)| stands_out(cost)) {
        return Some(format!("{} of it because rank {rank} is late", of_waits(cost)));
    }
    let (activity, cost) = longest(activities)?;
    Some(format!("{} of it because ranks differ in {}", of_waits(cost), noun(activity)))
}

fn longest<K>(costs: BTreeMap<K, f64>) -> Option<(K, f64)> {
    costs.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))
}

fn too_long(activity: &Activity, unanalysed: &[(Function, Total)]) -> String {
    match activity {
        Activity::Region(region) => format!("computes too long in {region}"),
        Activity::Between(Some(last), Some(next)) => format!("computes too long from {last} to {next}"),
        Activity::Between(None, Some(next)) => format!("is late for its first call, {next}"),
        Activity::Between(..) => "computes too long".to_owned(),
        // It may have been waiting there: the trace does not show what an unsuccessful test or probe polled for.
        Activity::Call(function, _) if is_poll(*function) => {
            format!("polls in {function} (what it polls for is not analysed)")
        }
        Activity::Call(function, _) if unanalysed.iter().any(|(other, _)| other == function) => {
            format!("takes long in {function} (whether it waits there is not analysed)")
        }
        Activity::Call(function, None) => format!("takes too long in {function}"),
        Activity::Call(function, Some(region)) => format!("takes too long in {function} in {region}"),
    }
}

fn is_poll(function: Function) -> bool {
    matches!(function.class(), Class::Test(_) | Class::Probe { blocking: false, .. })
}

fn noun(activity: &Activity) -> String {
    match activity {
        Activity::Between(None, Some(next)) => format!("the time they reach their first call, {next}"),
        Activity::Call(function, _) => format!("their time in {function}"),
        other => other.to_string(),
    }
}

fn largest(states: &WaitStates) -> String {
    let total = states.total();
    let time = |pattern: Pattern| -> Total { total.of(pattern) };
    let largest = Pattern::ALL.into_iter().rev().max_by_key(|&pattern| time(pattern).time);
    largest.map_or_else(String::new, |pattern| plain(pattern.name()))
}
