//! Latencies and their differences as text.

use straggler_analysis::latency::compare::Difference;
use straggler_model::Time;
use straggler_model::latency::Outside;
use straggler_report::Cell;
use straggler_report::numbers::{NOTHING, percent};

/// Picoseconds to seconds: tables on pages sort by seconds.
pub const SECONDS: f64 = 1e-12;

/// A time as text.
pub fn time(ps: f64) -> String {
    Time(ps.max(0.0).round() as u64).to_string()
}

/// The same for a table.
pub fn time_cell(ps: f64) -> Cell {
    Cell::number(time(ps), ps * SECONDS)
}

/// A quantile, or its bound if it lies outside the bins: "> 2 ms".
pub fn quantile(value_ps: Option<f64>, outside: Option<Outside>) -> String {
    match (value_ps, outside) {
        (Some(ps), _) => time(ps),
        (None, Some(outside)) => outside.to_string(),
        (None, None) => "–".into(),
    }
}

/// The same for a table.
pub fn quantile_cell(value_ps: Option<f64>, outside: Option<Outside>) -> Cell {
    Cell::maybe(quantile(value_ps, outside), value_ps.map(|ps| ps * SECONDS))
}

/// Both quantiles of a comparison.
pub fn both(found: &Difference) -> [String; 2] {
    [0, 1].map(|side| quantile(found.values_ps[side], found.outside[side]))
}

/// A time with its sign; one that rounds to 0 has none.
pub fn signed_time(ps: f64) -> String {
    let sign = match ps.round() {
        0.0 => "",
        less if less < 0.0 => "-",
        _ => "+",
    };
    format!("{sign}{}", time(ps.abs()))
}

/// A share with its sign; one that rounds to 0 has none.
pub fn signed_percent(share: f64) -> String {
    match percent(share) {
        text if share > 0.0 && text != NOTHING => format!("+{text}"),
        text => text,
    }
}

/// The p-value of a test.
pub fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".into() } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_0_has_a_sign() {
        assert_eq!(
            [12_300.0, -12_300.0, 0.0, 0.3, -0.3].map(signed_time),
            ["+12.30 ns", "-12.30 ns", "0 s", "0 s", "0 s"]
        );
        assert_eq!(
            [0.05, -0.05, 0.0, 1e-12, -1e-12].map(signed_percent),
            ["+5 %", "-5 %", "0 %", "0 %", "0 %"]
        );
    }
}
