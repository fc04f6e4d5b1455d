//! `straggler trace waits`: who waited for whom.

use super::{Opened, open_trace};
use crate::console::Console;
use crate::exit::Outcome;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use straggler_analysis::waits::{Efficiency, Pattern, RankTimes, Total, Totals, WaitStates};
use straggler_model::{Rank, Time};
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent, seconds};
use straggler_trace::{Class, Collective, Function, Start, Trace};

/// Ranks in the table before the rest is only counted.
const MOST_RANKS: usize = 16;

const WRONG_ORDER: &str = "late_sender_wrong_order";

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
    /// `late_sender_wrong_order` is a part of `late_sender`; the others add up to `waiting_seconds`.
    patterns: Vec<PatternAnswer>,
    functions: Vec<FunctionAnswer>,
    /// Time in calls of other kinds, in which nobody can tell who waited for whom; the longest first.
    not_analysed: Vec<NotAnalysed>,
    ranks: Vec<RankAnswer>,
    /// What makes the answer doubtful.
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct NotAnalysed {
    function: &'static str,
    calls: u64,
    seconds: f64,
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
    let answer = Answer::of(path, &opened, &states);
    if console.json { console.print_json(&answer) } else { console.print(&answer.words()) }
}

impl Answer {
    fn of(path: &Path, opened: &Opened, states: &WaitStates) -> Answer {
        let (trace, synthetic) = (&opened.trace, opened.is_synthetic());
        let mut warnings = opened.warnings(path);
        if states.ranks.iter().all(|rank| rank.communication + rank.waiting == Time::ZERO) {
            warnings
                .push("the trace does not say how long calls of MPI took: waits cannot be told".to_owned());
        }
        let sum = |of: fn(&RankTimes) -> Time| states.ranks.iter().map(|rank| of(rank).seconds()).sum();
        let mut caused = vec![0.0; states.ranks.len()];
        for wait in &states.waits {
            let late = wait.cause.and_then(|cause| caused.get_mut(cause.rank as usize));
            late.into_iter().for_each(|sum| *sum += wait.time.seconds());
        }
        let ranks = states.ranks.iter().zip(states.totals()).zip(caused);
        Answer {
            trace: path.display().to_string(),
            program: trace.meta.program.clone(),
            synthetic,
            processes: trace.processes(),
            run_seconds: sum(|rank| rank.run),
            computation_seconds: sum(|rank| rank.computation),
            waiting_seconds: sum(|rank| rank.waiting),
            communication_seconds: sum(|rank| rank.communication),
            efficiency: states.efficiency(None).map(
                |Efficiency { load_balance, communication, parallel, .. }| EfficiencyAnswer {
                    load_balance,
                    communication,
                    parallel,
                },
            ),
            patterns: patterns(&states.total()),
            functions: functions(trace, states),
            not_analysed: not_analysed(trace),
            ranks: (0..)
                .zip(ranks)
                .map(|(rank, ((times, totals), caused))| rank_answer(rank, times, &totals, caused))
                .collect(),
            warnings,
        }
    }
}

fn rank_answer(rank: Rank, times: &RankTimes, totals: &Totals, caused_seconds: f64) -> RankAnswer {
    RankAnswer {
        rank,
        run_seconds: times.run.seconds(),
        computation_seconds: times.computation.seconds(),
        waiting_seconds: times.waiting.seconds(),
        communication_seconds: times.communication.seconds(),
        caused_seconds,
        patterns: patterns(totals),
    }
}

/// All patterns, in a fixed order.
fn patterns(totals: &Totals) -> Vec<PatternAnswer> {
    let answer =
        |pattern, Total { count, time }: Total| PatternAnswer { pattern, count, seconds: time.seconds() };
    let mut all: Vec<PatternAnswer> =
        Pattern::ALL.iter().map(|&pattern| answer(pattern.name(), totals.of(pattern))).collect();
    all.insert(1, answer(WRONG_ORDER, totals.wrong_order));
    all
}

/// What calls of each function waited for, the longest first.
fn functions(trace: &Trace, states: &WaitStates) -> Vec<FunctionAnswer> {
    let mut sums: BTreeMap<(Function, Pattern), Total> = BTreeMap::new();
    for wait in &states.waits {
        let rank = trace.ranks.get(wait.place.rank as usize);
        let Some(call) = rank.and_then(|rank| rank.calls.get(wait.place.call as usize)) else { continue };
        let sum = sums.entry((call.function, wait.pattern)).or_default();
        sum.add(wait.time);
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

/// Calls that may wait for others in ways that no pattern describes.
fn not_analysed(trace: &Trace) -> Vec<NotAnalysed> {
    let mut sums: BTreeMap<Function, Total> = BTreeMap::new();
    for call in trace.ranks.iter().flat_map(|rank| &rank.calls) {
        let waits = match call.function.class() {
            Class::Probe { blocking, .. } => blocking,
            Class::Collective(Collective::Alltoallv | Collective::Alltoallw, Start::Blocking) => true,
            Class::Neighbor(_, Start::Blocking) | Class::Epoch { .. } => true,
            Class::NewComm { collective } => collective,
            _ => false,
        };
        if waits {
            sums.entry(call.function).or_default().add(call.exit.since(call.enter));
        }
    }
    let answer = |(function, Total { count, time }): (Function, Total)| NotAnalysed {
        function: function.name(),
        calls: count,
        seconds: time.seconds(),
    };
    let mut all: Vec<NotAnalysed> = sums.into_iter().map(answer).collect();
    all.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    all
}

/// A pattern for people.
fn plain(pattern: &str) -> String {
    match pattern {
        WRONG_ORDER => "  in wrong order".to_owned(),
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
        parts.extend(self.not_analysed_words());
        parts.join("\n")
    }

    /// "Ranks wait 12 % of the run; late sender is the largest part (8 %). Rank 3 waits most (20 % of its time). Others
    /// wait longest for rank 0 (1.2 s in all), which may itself have waited."
    fn sentence(&self) -> String {
        let synthetic = if self.synthetic { " (synthetic)" } else { "" };
        let whole = self.patterns.iter().filter(|pattern| pattern.pattern != WRONG_ORDER);
        let longest = whole.max_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let Some(longest) = longest.filter(|pattern| pattern.seconds > 0.0) else {
            return format!("No wait of a known pattern was found in the run{synthetic}.\n");
        };
        let mut text = format!(
            "Ranks wait {} of the run{synthetic}; {} is the largest part ({}).",
            percent(self.share(self.waiting_seconds)),
            plain(longest.pattern),
            percent(self.share(longest.seconds))
        );
        let most =
            |of: fn(&RankAnswer) -> f64| self.ranks.iter().rev().max_by(|a, b| of(a).total_cmp(&of(b)));
        if let Some(rank) = most(|rank| rank.waiting_seconds) {
            let share = rank.waiting_seconds / rank.run_seconds.max(f64::MIN_POSITIVE);
            text += &format!(" Rank {} waits most ({} of its time).", rank.rank, percent(share));
        }
        if let Some(rank) = most(|rank| rank.caused_seconds).filter(|rank| rank.caused_seconds > 0.0) {
            let time = seconds(rank.caused_seconds);
            text += &format!(
                " Others wait longest for rank {} ({time} in all), which may itself have waited.",
                rank.rank
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

    /// "Not analysed: MPI_Alltoallv (12 calls, 3.1 ms)."
    fn not_analysed_words(&self) -> Option<String> {
        let one = |NotAnalysed { function, calls, seconds: time }: &NotAnalysed| {
            format!("{function} ({}, {})", counted(*calls, "call", "calls"), seconds(*time))
        };
        let all: Vec<String> = self.not_analysed.iter().map(one).collect();
        (!all.is_empty()).then(|| format!("Not analysed for waits: {}.\n", all.join(", ")))
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
