//! Wait states as text.

use crate::kernel::prelude::*;
use crate::trace::waits::{
    CauseAnswer, FunctionAnswer, NotAnalysed, PathActivityAnswer, RankAnswer, SiteAnswer, WaitsAnswer,
};
use crate::{trace::file::what_is_missing, trace::sites::Named};
use std::collections::BTreeMap;
use straggler_analysis::waits::{
    Activity, Cause, Efficiency, Explanation, Missing, Pattern, Total, WaitStates,
};
use straggler_model::Rank;
use straggler_trace::{Class, Function};

pub const WRONG_ORDER: &str = "late_sender_wrong_order";

/// The name of a pattern as text.
pub fn plain(pattern: &str) -> String {
    match pattern {
        WRONG_ORDER => "  in wrong order".to_owned(),
        other => other.replace("nxn", "NxN").replace('_', " "),
    }
}

/// A cause of a smaller share of the waits is not named as their reason.
const LARGE: f64 = 0.3;

/// "Ranks wait 12 % of their time; 67 % of it because rank 3 computes too long in solve."
pub fn headline(
    states: &WaitStates,
    explanation: &Explanation,
    unanalysed: &[(Function, Total)],
    sites: &Named,
    varies: bool,
    synthetic: bool,
) -> String {
    let sum =
        |of: &dyn Fn(usize) -> Time| (0..states.ranks.len()).map(|rank| of(rank).seconds()).sum::<f64>();
    let waiting = sum(&|rank| states.ranks[rank].waiting);
    let run = sum(&|rank| states.ranks[rank].run);
    let note = if synthetic { " (synthetic)" } else { "" };
    let missing = missing(&explanation.missing);
    if waiting <= 0.0 {
        let place = if missing.is_some() { "among the other calls" } else { "in the run" };
        return format!("{}No wait of a known pattern was found {place}{note}.", missing.unwrap_or_default());
    }
    let share = percent(waiting / run.max(f64::MIN_POSITIVE));
    let other: f64 = unanalysed.iter().map(|(_, total)| total.time.seconds()).sum();
    let other = match other / run.max(f64::MIN_POSITIVE) {
        other if other > 0.02 => format!("; another {} is in calls that are not analysed", percent(other)),
        _ => String::new(),
    };
    let in_turn = varies.then(|| in_turn(&explanation.causes, waiting)).flatten();
    let why = in_turn
        .or_else(|| why(&explanation.causes, unanalysed, sites, waiting))
        .unwrap_or_else(|| format!("{} is the largest part", largest(states)));
    format!("{}Ranks wait {share} of their time{note}; {why}{other}.", missing.unwrap_or_default())
}

/// "Waits cannot be analysed fully, because rank 1 has no calls in the trace. "
fn missing(missing: &Missing) -> Option<String> {
    what_is_missing(missing).map(|what| format!("Waits cannot be analysed fully, because {what}. "))
}

/// "80 % of it because the ranks' computation varies from iteration to iteration": no rank is to blame.
fn in_turn(causes: &[Cause], waiting: f64) -> Option<String> {
    let computes =
        |cause: &&Cause| matches!(cause.activity, Activity::Region(_) | Activity::Between(Some(_), Some(_)));
    let cost: f64 = causes.iter().filter(computes).map(Cause::total).sum();
    (cost >= LARGE * waiting).then(|| {
        format!(
            "{} of it because the ranks' computation varies from iteration to iteration, and none is always the slowest",
            percent(cost / waiting)
        )
    })
}

fn why(causes: &[Cause], unanalysed: &[(Function, Total)], sites: &Named, waiting: f64) -> Option<String> {
    let too_long = |cause: &Cause| too_long(&cause.activity, unanalysed) + &sites.between(&cause.sites);
    let of_waits = |cost: f64| percent(cost / waiting);
    let (mut activities, mut ranks): (BTreeMap<&Activity, f64>, BTreeMap<Rank, f64>) = Default::default();
    for cause in causes {
        *activities.entry(&cause.activity).or_default() += cause.total();
        *ranks.entry(cause.rank).or_default() += cause.total();
    }
    let large = |cost: &f64| *cost >= LARGE * waiting;
    // With few ranks, each causes a large share anyway.
    let fair = waiting / ranks.len().max(1) as f64;
    let stands_out = |cost: &f64| large(cost) && *cost >= 1.5 * fair;
    let first = causes.first().filter(|first| first.total() >= LARGE * waiting);
    if let Some((rank, cost)) = longest(ranks).filter(|(_, cost)| stands_out(cost)) {
        let first = first.filter(|first| first.rank == rank);
        let all = of_waits(cost);
        return Some(match first.map(|first| (of_waits(first.total()), too_long(first))) {
            None => format!("{all} of it because rank {rank} is late"),
            Some((part, verb)) if part == all => format!("{all} of it because rank {rank} {verb}"),
            Some((part, verb)) => format!("{all} of it because of rank {rank}, which {verb} ({part})"),
        });
    }
    if let Some(first) = first {
        let (share, verb) = (of_waits(first.total()), too_long(first));
        return Some(format!("{share} of it because rank {} {verb}", first.rank));
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
        Activity::Alone(function) => {
            format!("may itself have waited in {function} for a rank whose calls are missing")
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
        Activity::Call(function, _) | Activity::Alone(function) => format!("their time in {function}"),
        other => other.to_string(),
    }
}

fn largest(states: &WaitStates) -> String {
    let total = states.total();
    let time = |pattern: Pattern| -> Total { total.get(pattern) };
    let largest = Pattern::ALL.into_iter().rev().max_by_key(|&pattern| time(pattern).time);
    largest.map_or_else(String::new, |pattern| plain(pattern.name()))
}

/// Patterns that occur.
pub fn patterns(answer: &WaitsAnswer) -> Table {
    Columns::over(answer.patterns.iter().filter(|pattern| pattern.count > 0))
        .text("pattern", |row| plain(row.pattern))
        .terminal_only()
        // On the page rows can be sorted, so each must make sense without the one above it.
        .text("pattern", |row| match row.pattern {
            WRONG_ORDER => "late sender, in wrong order".into(),
            pattern => plain(pattern),
        })
        .page_only()
        .number("waits", |row| Cell::count(row.count))
        .number("time", |row| Cell::seconds(row.seconds))
        .number("of run", |row| Cell::share(answer.share(row.seconds)))
        .build()
}

pub fn functions(functions: &[FunctionAnswer]) -> Table {
    Columns::over(functions)
        .text("function", |row| row.function)
        .text("pattern", |row| plain(row.waits.pattern))
        .number("waits", |row| Cell::count(row.waits.count))
        .number("time", |row| Cell::seconds(row.waits.seconds))
        .build()
}

/// The same by the place in the program that calls.
pub fn call_sites(sites: &[SiteAnswer]) -> Table {
    Columns::over(sites)
        .text("waits at", |row| &row.place.site)
        .text("function", |row| row.waits.function)
        .text("pattern", |row| plain(row.waits.waits.pattern))
        .number("waits", |row| Cell::count(row.waits.waits.count))
        .number("time", |row| Cell::seconds(row.waits.waits.seconds))
        .build()
}

/// Totals of the regions.
pub fn regions(answer: &WaitsAnswer, most: usize) -> Table {
    Columns::over(answer.regions.iter().take(most))
        .text("region", |row| named(row.region.as_deref()))
        .number("waits", |row| Cell::count(row.count))
        .number("time", |row| Cell::seconds(row.seconds))
        .number("with nested", |row| Cell::seconds(row.inclusive_seconds))
        .build()
}

/// The waits in each region, by rank, function and pattern.
pub fn waits_of_regions(answer: &WaitsAnswer, most: usize) -> Table {
    let rows = answer.regions.iter().flat_map(|region| region.waits.iter().map(move |wait| (region, wait)));
    Columns::over(rows.take(most))
        .text("region", |(region, _)| named(region.region.as_deref()))
        .number("rank", |(_, wait)| Cell::id(wait.rank))
        .text("function", |(_, wait)| wait.waits.function)
        .text("pattern", |(_, wait)| plain(wait.waits.waits.pattern))
        .number("waits", |(_, wait)| Cell::count(wait.waits.waits.count))
        .number("time", |(_, wait)| Cell::seconds(wait.waits.waits.seconds))
        .build()
}

fn named(region: Option<&str>) -> &str {
    region.unwrap_or("(outside)")
}

pub fn causes(answer: &WaitsAnswer, most: usize) -> Table {
    let total = |cause: &CauseAnswer| cause.direct_seconds + cause.indirect_seconds;
    let mut columns =
        Columns::over(answer.causes.iter().take(most)).text("root cause", |row| &row.activity.activity);
    if answer.causes.iter().any(|cause| !cause.sites.is_empty()) {
        columns = columns.text("where", |row| row.sites.join(" to "));
    }
    columns
        .number("rank", |row| Cell::id(row.rank))
        .number("direct", |row| Cell::seconds(row.direct_seconds))
        .number("indirect", |row| Cell::seconds(row.indirect_seconds))
        .number("of waits", |row| Cell::share(total(row) / answer.waiting_seconds.max(f64::MIN_POSITIVE)))
        .build()
}

pub fn ranks(ranks: &[RankAnswer]) -> Table {
    Columns::over(ranks)
        .number("rank", |row| Cell::id(row.rank))
        .number("run", |row| Cell::seconds(row.run_seconds))
        .number("computes", |row| Cell::seconds(row.computation_seconds))
        .number("waits", |row| Cell::seconds(row.waiting_seconds))
        .number("communicates", |row| Cell::seconds(row.communication_seconds))
        .number("wait caused", |row| Cell::seconds(row.caused_seconds))
        .number("as root cause", |row| Cell::seconds(row.root_cause_seconds))
        .build()
}

pub fn critical_path(answer: &WaitsAnswer, most: usize) -> Table {
    let path = &answer.critical_path;
    let share = |row: &PathActivityAnswer| row.seconds / path.seconds.max(f64::MIN_POSITIVE);
    Columns::over(path.activities.iter().take(most))
        .text("on the critical path", |row| &row.activity.activity)
        .number("time", |row| Cell::seconds(row.seconds))
        .number("share", |row| Cell::share(share(row)))
        .number("mean of ranks", |row| Cell::seconds(row.mean_seconds))
        .number("imbalance", |row| Cell::seconds(row.imbalance_seconds))
        .build()
}

/// Most rows of the table of ranks; the rest are only counted.
const MOST_RANKS: usize = 16;
/// The same for causes, and for parts of the critical path.
const MOST_ROWS: usize = 8;

/// Why two efficiencies are missing.
pub const NEEDS_A_SIMULATION: &str = "Its factors, serialisation and transfer, need a simulation on an ideal network: `straggler whatif TRACE --ideal-network`.";

pub fn words(answer: &WaitsAnswer) -> String {
    let mut parts = vec![first(answer)];
    if answer.waiting_seconds > 0.0 {
        parts.extend([patterns(answer).to_string(), functions(&answer.functions).to_string()]);
        parts.extend(site_table(answer));
        parts.extend(region_table(answer));
        parts.extend(cause_table(answer));
    }
    parts.push(rank_table(answer));
    parts.push(path_table(answer));
    parts.extend(answer.efficiency.as_ref().map(efficiency));
    parts.extend(not_analysed(answer));
    parts.extend(answer.computation_varies.then(|| {
        format!(
            "What balancing each iteration would gain: straggler whatif {} --balance all=steps\n",
            quoted(&answer.trace)
        )
    }));
    parts.join("\n")
}

/// "… Late sender is the largest part (8 %). Rank 3 waits most (20 % of its time)."
fn first(answer: &WaitsAnswer) -> String {
    let mut text = answer.sentence.clone();
    let whole = answer.patterns.iter().filter(|pattern| pattern.pattern != WRONG_ORDER);
    let longest = whole.max_by(|one, other| one.seconds.total_cmp(&other.seconds));
    if let Some(longest) = longest.filter(|pattern| pattern.seconds > 0.0) {
        let share = percent(answer.share(longest.seconds));
        let site = answer.call_sites.iter().find(|site| site.waits.waits.pattern == longest.pattern);
        let site = site.map_or_else(String::new, |site| {
            format!(", longest in {} at {}", site.waits.function, site.place.site)
        });
        text += &format!(" The largest part is {} ({share}){site}.", plain(longest.pattern));
    }
    let most = |of: fn(&RankAnswer) -> f64| answer.ranks.iter().rev().max_by(|a, b| of(a).total_cmp(&of(b)));
    if let Some(rank) = most(|rank| rank.waiting_seconds).filter(|rank| rank.waiting_seconds > 0.0) {
        let share = rank.waiting_seconds / rank.run_seconds.max(f64::MIN_POSITIVE);
        text += &format!(" Rank {} waits most ({} of its time).", rank.rank, percent(share));
    }
    text + "\n"
}

/// The table of call sites; None if they were not recorded.
fn site_table(answer: &WaitsAnswer) -> Option<String> {
    let sites = &answer.call_sites;
    let more = more(sites.len(), MOST_ROWS, "call site", "call sites");
    (!sites.is_empty()).then(|| format!("{}{more}", call_sites(&sites[..sites.len().min(MOST_ROWS)])))
}

/// The table of regions; None if the program marks none.
fn region_table(answer: &WaitsAnswer) -> Option<String> {
    answer.regions.iter().find(|region| region.region.is_some())?;
    let more = more(answer.regions.len(), MOST_ROWS, "region", "regions");
    Some(format!("{}{more}", regions(answer, MOST_ROWS)))
}

fn cause_table(answer: &WaitsAnswer) -> Option<String> {
    answer.causes.first()?;
    let more = more(answer.causes.len(), MOST_ROWS, "cause", "causes");
    Some(format!("{}{more}", causes(answer, MOST_ROWS)))
}

fn rank_table(answer: &WaitsAnswer) -> String {
    let first = &answer.ranks[..answer.ranks.len().min(MOST_RANKS)];
    format!("{}{}", ranks(first), more(answer.ranks.len(), MOST_RANKS, "rank", "ranks"))
}

fn path_table(answer: &WaitsAnswer) -> String {
    let more = more(answer.critical_path.activities.len(), MOST_ROWS, "activity", "activities");
    format!("{}{more}{}\n", critical_path(answer, MOST_ROWS), path_words(answer))
}

/// "The critical path takes 1.2 s and visits 3 ranks; 0.3 s of it is imbalance."
pub fn path_words(answer: &WaitsAnswer) -> String {
    let path = &answer.critical_path;
    let run = answer.ranks.iter().map(|rank| rank.run_seconds).fold(0.0, f64::max);
    let with_ends = if path.seconds > 1.01 * run { " from the first call to the last" } else { "" };
    format!(
        "The critical path takes {}{with_ends} and visits {}; {} of it is imbalance.",
        seconds(path.seconds),
        counted(path.ranks.len() as u64, "rank", "ranks"),
        percent(path.imbalance_seconds / path.seconds.max(f64::MIN_POSITIVE))
    )
}

/// "… and 1 more cause".
fn more(count: usize, shown: usize, one: &str, several: &str) -> String {
    match count.saturating_sub(shown) {
        0 => String::new(),
        1 => format!("  … and 1 more {one}\n"),
        rest => format!("  … and {} more {several}\n", grouped(rest as u64)),
    }
}

/// "Not analysed for waits: MPI_Alltoallv (12 calls, 3.1 ms)."
pub fn not_analysed(answer: &WaitsAnswer) -> Option<String> {
    let one = |NotAnalysed { function, calls, seconds: time }: &NotAnalysed| {
        format!("{function} ({}, {})", counted(*calls, "call", "calls"), seconds(*time))
    };
    let mut all: Vec<String> = answer.not_analysed.iter().take(MOST_ROWS).map(one).collect();
    let rest = answer.not_analysed.len().saturating_sub(MOST_ROWS);
    all.extend((rest > 0).then(|| format!("and {}", counted(rest as u64, "other", "others"))));
    (!all.is_empty()).then(|| format!("Not analysed for waits: {}.\n", all.join(", ")))
}

pub fn efficiency(of: &Efficiency) -> String {
    let product = format!(
        "Parallel efficiency {} = load balance {} × communication efficiency {}.",
        percent(of.parallel),
        percent(of.load_balance),
        percent(of.communication)
    );
    let factors = of.serialisation.zip(of.transfer).map(|(serialisation, transfer)| {
        format!(
            "Communication efficiency is serialisation {} × transfer {}.",
            percent(serialisation),
            percent(transfer)
        )
    });
    format!("{product}\n{}\n", factors.as_deref().unwrap_or(NEEDS_A_SIMULATION))
}
