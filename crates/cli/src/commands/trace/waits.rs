//! `straggler trace waits`: who waited for whom.

use super::open_trace;
use crate::console::Console;
use crate::exit::Outcome;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use straggler_analysis::waits::{Efficiency, Pattern, RankTimes, Total, WaitStates};
use straggler_model::{Rank, Time};
use straggler_report::Table;
use straggler_report::numbers::{grouped, percent, seconds};
use straggler_trace::{Function, Trace};

/// Ranks in the table before the rest is only counted.
const MOST_RANKS: usize = 16;

/// The JSON object.
#[derive(Debug, Serialize)]
struct Answer {
    trace: String,
    program: String,
    synthetic: bool,
    processes: u32,
    /// Of all ranks together.
    run_seconds: f64,
    computation_seconds: f64,
    waiting_seconds: f64,
    communication_seconds: f64,
    /// None where nobody computed.
    efficiency: Option<EfficiencyAnswer>,
    /// `late_sender_wrong_order` is a part of `late_sender`; the others exclude each other.
    patterns: Vec<PatternAnswer>,
    functions: Vec<FunctionAnswer>,
    ranks: Vec<RankAnswer>,
}

#[derive(Debug, Serialize)]
struct EfficiencyAnswer {
    load_balance: f64,
    communication: f64,
    parallel: f64,
}

#[derive(Debug, Serialize)]
struct PatternAnswer {
    pattern: &'static str,
    count: u64,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct FunctionAnswer {
    function: &'static str,
    #[serde(flatten)]
    waits: PatternAnswer,
}

#[derive(Debug, Serialize)]
struct RankAnswer {
    rank: Rank,
    run_seconds: f64,
    computation_seconds: f64,
    waiting_seconds: f64,
    communication_seconds: f64,
    /// Time that others waited because this rank was late.
    caused_seconds: f64,
    patterns: Vec<PatternAnswer>,
}

pub fn run(path: &Path, console: &Console) -> Outcome<()> {
    let opened = open_trace(path)?;
    opened.warn_of_errors(path, console);
    let states = WaitStates::of(&opened.trace);
    let answer = Answer::of(path, &opened.trace, opened.is_synthetic(), &states);
    if console.json { console.print_json(&answer) } else { console.print(&answer.words()) }
}

impl Answer {
    fn of(path: &Path, trace: &Trace, synthetic: bool, states: &WaitStates) -> Answer {
        let sum = |of: fn(&RankTimes) -> Time| states.ranks.iter().map(|rank| of(rank).seconds()).sum();
        let mut caused = vec![0.0; states.ranks.len()];
        for wait in &states.waits {
            let late = wait.cause.and_then(|cause| caused.get_mut(cause.rank as usize));
            late.into_iter().for_each(|sum| *sum += wait.time.seconds());
        }
        let ranks = (0..).zip(states.ranks.iter().zip(caused));
        Answer {
            trace: path.display().to_string(),
            program: trace.meta.program.clone(),
            synthetic,
            processes: trace.processes(),
            run_seconds: sum(|rank| rank.run),
            computation_seconds: sum(|rank| rank.computation),
            waiting_seconds: sum(|rank| rank.waiting),
            communication_seconds: sum(|rank| rank.communication),
            efficiency: states.efficiency().map(|Efficiency { load_balance, communication, parallel }| {
                EfficiencyAnswer { load_balance, communication, parallel }
            }),
            patterns: patterns(states, None),
            functions: functions(trace, states),
            ranks: ranks.map(|(rank, (times, caused))| rank_answer(states, rank, times, caused)).collect(),
        }
    }
}

fn rank_answer(states: &WaitStates, rank: Rank, times: &RankTimes, caused_seconds: f64) -> RankAnswer {
    RankAnswer {
        rank,
        run_seconds: times.run.seconds(),
        computation_seconds: times.computation.seconds(),
        waiting_seconds: times.waiting.seconds(),
        communication_seconds: times.communication.seconds(),
        caused_seconds,
        patterns: patterns(states, Some(rank)),
    }
}

/// All patterns, in a fixed order.
fn patterns(states: &WaitStates, rank: Option<Rank>) -> Vec<PatternAnswer> {
    let answer =
        |pattern, Total { count, time }: Total| PatternAnswer { pattern, count, seconds: time.seconds() };
    let mut all: Vec<PatternAnswer> =
        Pattern::ALL.iter().map(|&pattern| answer(pattern.name(), states.total(pattern, rank))).collect();
    all.insert(1, answer("late_sender_wrong_order", states.wrong_order(rank)));
    all
}

/// What calls of each function waited for, the longest first.
fn functions(trace: &Trace, states: &WaitStates) -> Vec<FunctionAnswer> {
    let mut sums: BTreeMap<(Function, Pattern), Total> = BTreeMap::new();
    for wait in &states.waits {
        let rank = trace.ranks.get(wait.place.rank as usize);
        let Some(call) = rank.and_then(|rank| rank.calls.get(wait.place.call as usize)) else { continue };
        let sum = sums.entry((call.function, wait.pattern)).or_default();
        *sum = Total { count: sum.count + 1, time: sum.time + wait.time };
    }
    let mut sums: Vec<((Function, Pattern), Total)> = sums.into_iter().collect();
    sums.sort_by_key(|&(key, total)| (std::cmp::Reverse(total.time), key));
    let answer =
        |((function, pattern), Total { count, time }): ((Function, Pattern), Total)| FunctionAnswer {
            function: function.name(),
            waits: PatternAnswer { pattern: pattern.name(), count, seconds: time.seconds() },
        };
    sums.into_iter().map(answer).collect()
}

/// A pattern for people.
fn plain(pattern: &str) -> String {
    match pattern {
        "late_sender_wrong_order" => "  in wrong order".to_owned(),
        other => other.replace("nxn", "NxN").replace('_', " "),
    }
}

impl Answer {
    fn words(&self) -> String {
        let mut parts = vec![self.sentence()];
        if self.waiting_seconds > 0.0 {
            parts.extend([self.pattern_table(), self.function_table()]);
        }
        parts.push(self.rank_table());
        parts.extend(self.efficiency_words());
        parts.join("\n")
    }

    /// "Ranks wait 12 % of the run; late sender is the largest part (8 %). Rank 3 waits most (20 % of its time), and others
    /// wait longest for rank 0 (1.2 s in all)."
    fn sentence(&self) -> String {
        let synthetic = if self.synthetic { " (synthetic)" } else { "" };
        let longest = self.patterns.iter().max_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let Some(longest) = longest.filter(|pattern| pattern.seconds > 0.0) else {
            return format!("No rank of the run{synthetic} waits for another in MPI.\n");
        };
        let mut text = format!(
            "Ranks wait {} of the run{synthetic}; {} is the largest part ({}).",
            percent(self.share(self.waiting_seconds)),
            plain(longest.pattern),
            percent(self.share(longest.seconds))
        );
        let most =
            |of: fn(&RankAnswer) -> f64| self.ranks.iter().rev().max_by(|a, b| of(a).total_cmp(&of(b)));
        if let Some((waits, late)) = most(|rank| rank.waiting_seconds).zip(most(|rank| rank.caused_seconds)) {
            let share = waits.waiting_seconds / waits.run_seconds.max(f64::MIN_POSITIVE);
            text += &format!(
                " Rank {} waits most ({} of its time), and others wait longest for rank {} ({} in all).",
                waits.rank,
                percent(share),
                late.rank,
                seconds(late.caused_seconds)
            );
        }
        text + "\n"
    }

    fn share(&self, time: f64) -> f64 {
        time / self.run_seconds.max(f64::MIN_POSITIVE)
    }

    fn pattern_table(&self) -> String {
        let mut table = Table::with_header(["pattern", "waits", "time", "of run"]).text(0);
        for PatternAnswer { pattern, count, seconds: time } in &self.patterns {
            if *count > 0 {
                table.row([plain(pattern), grouped(*count), seconds(*time), percent(self.share(*time))]);
            }
        }
        table.to_string()
    }

    fn function_table(&self) -> String {
        let mut table = Table::with_header(["function", "pattern", "waits", "time"]).text(1);
        for FunctionAnswer { function, waits } in &self.functions {
            table.row([
                (*function).to_owned(),
                plain(waits.pattern),
                grouped(waits.count),
                seconds(waits.seconds),
            ]);
        }
        table.to_string()
    }

    fn rank_table(&self) -> String {
        let mut table =
            Table::with_header(["rank", "run", "computes", "waits", "communicates", "others wait for it"])
                .text(0);
        for rank in self.ranks.iter().take(MOST_RANKS) {
            table.row([
                rank.rank.to_string(),
                seconds(rank.run_seconds),
                seconds(rank.computation_seconds),
                seconds(rank.waiting_seconds),
                seconds(rank.communication_seconds),
                seconds(rank.caused_seconds),
            ]);
        }
        let more = self.ranks.len().saturating_sub(MOST_RANKS);
        let more =
            if more > 0 { format!("  … and {} more ranks\n", grouped(more as u64)) } else { String::new() };
        format!("{table}{more}")
    }

    fn efficiency_words(&self) -> Option<String> {
        let EfficiencyAnswer { load_balance, communication, parallel } = self.efficiency.as_ref()?;
        Some(format!(
            "Parallel efficiency {} = load balance {} × communication efficiency {}.\n",
            percent(*parallel),
            percent(*load_balance),
            percent(*communication)
        ))
    }
}
