//! Numbers for sentences.

use super::Estimate;
use straggler_model::Time;

/// A time of so many picoseconds.
pub(super) fn time(ps: f64) -> String {
    let sign = if ps < 0.0 { "-" } else { "" };
    format!("{sign}{}", Time(ps.abs().round() as u64))
}

/// A time per byte, with the bandwidth that it means: `0.2500 ns/B (4.00 GB/s)`.
pub fn rate(ps: f64) -> String {
    let (value, unit) = if ps.abs() >= 1_000.0 { (ps / 1_000.0, "ns/B") } else { (ps, "ps/B") };
    if ps <= 0.0 {
        return format!("{value:.3} {unit}");
    }
    format!("{value:.3} {unit} ({:.3} GB/s)", 1_000.0 / ps)
}

impl Estimate {
    /// `1.2 µs (1.1 µs to 1.3 µs)`.
    pub fn as_time(&self) -> String {
        format!("{} ({} to {})", time(self.ps), time(self.low_ps), time(self.high_ps))
    }

    /// `250.0 ps/B (4.00 GB/s), 240 to 260 ps/B`.
    pub fn as_rate(&self) -> String {
        format!("{}, {:.3} to {:.3} ps/B", rate(self.ps), self.low_ps, self.high_ps)
    }
}
