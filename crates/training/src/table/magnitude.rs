//! Times that are too long to be in seconds.

use super::Row;
use straggler_model::parallel;
use straggler_model::stats::median;

/// No microbatch computes this long on a stage, in seconds. `UNITS` has the limits above which times are usually in
/// another unit.
const LONG: f64 = 20.0;
const UNITS: [(f64, &str); 3] = [(2e7, "nanoseconds"), (2e4, "microseconds"), (LONG, "milliseconds")];

/// A sentence about times that are too long for seconds.
pub fn note(rows: &[Row]) -> Option<String> {
    // Microseconds are precise enough for magnitudes.
    let length = |row: &Row| row.kind.is_compute().then_some((row.duration * 1e6) as i64);
    let mut takes: Vec<i64> = parallel::flat_map(rows.len(), |row| length(&rows[row]));
    let middle = median(&mut takes) as f64 / 1e6;
    let (_, unit) = UNITS.into_iter().find(|(least, _)| middle >= *least)?;
    Some(format!(
        "half of the forward and backward computations take {middle:.0} s or more, which is very long: are the times in {unit}? \
         Tables use seconds"
    ))
}
