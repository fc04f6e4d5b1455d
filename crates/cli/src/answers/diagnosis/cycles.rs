//! Cycles that differ from the others, as text.

use straggler_analysis::latency::stationarity::Apart;
use straggler_report::numbers::percent;

pub fn apart(these: Apart, first: &str) -> String {
    let Apart { cycles, change } = these;
    let (which, take) = match (cycles, first) {
        (1, "") => ("one cycle".into(), "takes"),
        (1, first) => (format!("the {first}cycle"), "takes"),
        (_, "") => (format!("{cycles} cycles"), "take"),
        (_, first) => (format!("the {first}{cycles} cycles"), "take"),
    };
    let side = if change < 0.0 { "shorter" } else { "longer" };
    format!("{which} {take} {} {side} than the others", percent(change.abs()))
}
