//! The results as text for a terminal.

use super::answer::{EfficiencyAnswer, NotAnalysed, RankAnswer, WaitsAnswer};
use super::tables;
use crate::answers::waits::{WRONG_ORDER, plain};
use straggler_report::numbers::{counted, grouped, percent, seconds};

/// Most rows of the table of ranks; the rest are only counted.
const MOST_RANKS: usize = 16;
/// The same for causes, and for parts of the critical path.
const MOST_ROWS: usize = 8;

/// Why two efficiencies are missing.
pub const NEEDS_A_SIMULATION: &str = "Its factors, serialisation and transfer, need a simulation on an ideal network: `straggler whatif TRACE --ideal-network`.";

pub fn words(answer: &WaitsAnswer) -> String {
    let mut parts = vec![first(answer)];
    if answer.waiting_seconds > 0.0 {
        parts
            .extend([tables::patterns(answer).to_string(), tables::functions(&answer.functions).to_string()]);
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
fn first(answer: &WaitsAnswer) -> String {
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

/// The table of regions; None if the program marks none.
fn region_table(answer: &WaitsAnswer) -> Option<String> {
    answer.regions.iter().find(|region| region.region.is_some())?;
    let more = more(answer.regions.len(), MOST_ROWS, "regions");
    Some(format!("{}{more}", tables::regions(answer, MOST_ROWS)))
}

fn cause_table(answer: &WaitsAnswer) -> Option<String> {
    answer.causes.first()?;
    let more = more(answer.causes.len(), MOST_ROWS, "causes");
    Some(format!("{}{more}", tables::causes(answer, MOST_ROWS)))
}

fn rank_table(answer: &WaitsAnswer) -> String {
    let first = &answer.ranks[..answer.ranks.len().min(MOST_RANKS)];
    format!("{}{}", tables::ranks(first), more(answer.ranks.len(), MOST_RANKS, "ranks"))
}

fn path_table(answer: &WaitsAnswer) -> String {
    let more = more(answer.critical_path.activities.len(), MOST_ROWS, "activities");
    format!("{}{more}{}\n", tables::critical_path(answer, MOST_ROWS), path_words(answer))
}

/// "The critical path takes 1.2 s and visits 3 ranks; 0.3 s of it is imbalance."
pub fn path_words(answer: &WaitsAnswer) -> String {
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
pub fn not_analysed(answer: &WaitsAnswer) -> Option<String> {
    let one = |NotAnalysed { function, calls, seconds: time }: &NotAnalysed| {
        format!("{function} ({}, {})", counted(*calls, "call", "calls"), seconds(*time))
    };
    let mut all: Vec<String> = answer.not_analysed.iter().take(MOST_ROWS).map(one).collect();
    let rest = answer.not_analysed.len().saturating_sub(MOST_ROWS);
    all.extend((rest > 0).then(|| format!("and {}", counted(rest as u64, "other", "others"))));
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
        format!(
            "Communication efficiency is serialisation {} × transfer {}.",
            percent(serialisation),
            percent(transfer)
        )
    });
    format!("{product}\n{}\n", factors.as_deref().unwrap_or(NEEDS_A_SIMULATION))
}
