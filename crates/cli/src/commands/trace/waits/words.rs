//! What was found, for a terminal.

use super::answer::{
    Answer, EfficiencyAnswer, FunctionAnswer, NotAnalysed, PatternAnswer, RankAnswer, WRONG_ORDER,
};
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent, seconds};

/// Ranks in the table before the rest is only counted.
const MOST_RANKS: usize = 16;
/// The same for causes, and for what is on the critical path.
const MOST_ROWS: usize = 8;

/// Why two efficiencies are not there.
pub const NEEDS_A_SIMULATION: &str = "Its factors, serialisation and transfer, need a simulation on an ideal network: `straggler whatif TRACE --ideal-network`.";

/// A pattern for people.
pub fn plain(pattern: &str) -> String {
    match pattern {
        WRONG_ORDER => "  in wrong order".to_owned(),
        other => other.replace("nxn", "NxN").replace('_', " "),
    }
}

pub fn words(answer: &Answer) -> String {
    let mut parts = vec![first(answer)];
    if answer.waiting_seconds > 0.0 {
        parts.extend([pattern_table(answer), function_table(answer)]);
        parts.extend(region_table(answer));
        parts.extend(cause_table(answer));
    }
    parts.push(rank_table(answer));
    parts.push(path_table(answer));
    parts.extend(answer.efficiency.as_ref().map(efficiency));
    parts.extend(not_analysed(answer));
    parts.join("\n")
}

/// "… Late sender is the largest part (8 %). Rank 3 waits most (20 % of its time)."
fn first(answer: &Answer) -> String {
    let mut text = answer.sentence.clone();
    let whole = answer.patterns.iter().filter(|pattern| pattern.pattern != WRONG_ORDER);
    let longest = whole.max_by(|one, other| one.seconds.total_cmp(&other.seconds));
    if let Some(longest) = longest.filter(|pattern| pattern.seconds > 0.0) {
        let share = percent(answer.share(longest.seconds));
        text += &format!(" The largest part is {} ({share}).", plain(longest.pattern));
    }
    let most = |of: fn(&RankAnswer) -> f64| answer.ranks.iter().rev().max_by(|a, b| of(a).total_cmp(&of(b)));
    if let Some(rank) = most(|rank| rank.waiting_seconds).filter(|rank| rank.waiting_seconds > 0.0) {
        let share = rank.waiting_seconds / rank.run_seconds.max(f64::MIN_POSITIVE);
        text += &format!(" Rank {} waits most ({} of its time).", rank.rank, percent(share));
    }
    text + "\n"
}

fn pattern_table(answer: &Answer) -> String {
    let mut table = Table::with_header(["pattern", "waits", "time", "of run"]).text(0);
    for PatternAnswer { pattern, count, seconds: time } in &answer.patterns {
        if *count > 0 {
            table.row([plain(pattern), grouped(*count), seconds(*time), percent(answer.share(*time))]);
        }
    }
    table.to_string()
}

fn function_table(answer: &Answer) -> String {
    let mut table = Table::with_header(["function", "pattern", "waits", "time"]).text(1);
    for FunctionAnswer { function, waits } in &answer.functions {
        table.row([
            (*function).to_owned(),
            plain(waits.pattern),
            grouped(waits.count),
            seconds(waits.seconds),
        ]);
    }
    table.to_string()
}

/// Only where the program marks regions.
fn region_table(answer: &Answer) -> Option<String> {
    answer.regions.iter().find(|region| region.region.is_some())?;
    let mut table = Table::with_header(["region", "waits", "time", "with nested"]).text(0);
    for region in answer.regions.iter().take(MOST_ROWS) {
        table.row([
            region.region.clone().unwrap_or_else(|| "(outside)".into()),
            grouped(region.count),
            seconds(region.seconds),
            seconds(region.inclusive_seconds),
        ]);
    }
    Some(format!("{table}{}", more(answer.regions.len(), MOST_ROWS, "regions")))
}

fn cause_table(answer: &Answer) -> Option<String> {
    answer.causes.first()?;
    let header = ["others wait because", "rank", "direct", "indirect", "of waits"];
    let mut table = Table::with_header(header).text(0);
    for cause in answer.causes.iter().take(MOST_ROWS) {
        let total = cause.direct_seconds + cause.indirect_seconds;
        table.row([
            cause.activity.activity.clone(),
            cause.rank.to_string(),
            seconds(cause.direct_seconds),
            seconds(cause.indirect_seconds),
            percent(total / answer.waiting_seconds),
        ]);
    }
    Some(format!("{table}{}", more(answer.causes.len(), MOST_ROWS, "causes")))
}

fn rank_table(answer: &Answer) -> String {
    let header = ["rank", "run", "computes", "waits", "communicates", "others wait for it", "because of it"];
    let mut table = Table::with_header(header).text(0);
    for rank in answer.ranks.iter().take(MOST_RANKS) {
        table.row([
            rank.rank.to_string(),
            seconds(rank.run_seconds),
            seconds(rank.computation_seconds),
            seconds(rank.waiting_seconds),
            seconds(rank.communication_seconds),
            seconds(rank.caused_seconds),
            seconds(rank.root_cause_seconds),
        ]);
    }
    format!("{table}{}", more(answer.ranks.len(), MOST_RANKS, "ranks"))
}

fn path_table(answer: &Answer) -> String {
    let path = &answer.critical_path;
    let mut table =
        Table::with_header(["on the critical path", "time", "share", "mean of ranks", "imbalance"]).text(0);
    for one in path.activities.iter().take(MOST_ROWS) {
        table.row([
            one.activity.activity.clone(),
            seconds(one.seconds),
            percent(one.seconds / path.seconds.max(f64::MIN_POSITIVE)),
            seconds(one.mean_seconds),
            seconds(one.imbalance_seconds),
        ]);
    }
    let more = more(path.activities.len(), MOST_ROWS, "activities");
    format!("{table}{more}{}\n", path_words(answer))
}

/// "The critical path takes 1.2 s and visits 3 ranks; 0.3 s of it is imbalance."
pub fn path_words(answer: &Answer) -> String {
    let path = &answer.critical_path;
    format!(
        "The critical path takes {} and visits {}; {} of it is imbalance.",
        seconds(path.seconds),
        counted(path.ranks.len() as u64, "rank", "ranks"),
        percent(path.imbalance_seconds / path.seconds.max(f64::MIN_POSITIVE))
    )
}

fn more(count: usize, shown: usize, what: &str) -> String {
    match count.saturating_sub(shown) {
        0 => String::new(),
        rest => format!("  … and {} more {what}\n", grouped(rest as u64)),
    }
}

/// "Not analysed for waits: MPI_Alltoallv (12 calls, 3.1 ms)."
pub fn not_analysed(answer: &Answer) -> Option<String> {
    let one = |NotAnalysed { function, calls, seconds: time }: &NotAnalysed| {
        format!("{function} ({}, {})", counted(*calls, "call", "calls"), seconds(*time))
    };
    let all: Vec<String> = answer.not_analysed.iter().map(one).collect();
    (!all.is_empty()).then(|| format!("Not analysed for waits: {}.\n", all.join(", ")))
}

pub fn efficiency(of: &EfficiencyAnswer) -> String {
    let product = format!(
        "Parallel efficiency {} = load balance {} × communication efficiency {}.",
        percent(of.parallel),
        percent(of.load_balance),
        percent(of.communication)
    );
    let factors = of.serialisation.zip(of.transfer).map(|(serialisation, transfer)| {
        format!("The last is serialisation {} × transfer {}.", percent(serialisation), percent(transfer))
    });
    format!("{product}\n{}\n", factors.as_deref().unwrap_or(NEEDS_A_SIMULATION))
}
