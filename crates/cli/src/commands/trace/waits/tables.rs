//! The tables of `trace waits`, for the terminal and for the page.

use super::answer::{CauseAnswer, FunctionAnswer, PathActivityAnswer, RankAnswer, WaitsAnswer};
use crate::answers::waits::{WRONG_ORDER, plain};
use straggler_report::{Cell, Columns, Table};

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
    Columns::over(answer.causes.iter().take(most))
        .text("root cause", |row| &row.activity.activity)
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
