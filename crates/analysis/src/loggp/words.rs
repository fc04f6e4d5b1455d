//! Formats numbers for messages.

use super::Estimate;
use straggler_model::Time;

/// A time given in picoseconds.
pub(super) fn time(ps: f64) -> String {
    let sign = if ps < 0.0 { "-" } else { "" };
    format!("{sign}{}", Time(ps.abs().round() as u64))
}

/// The unit for times per byte of about this size, and how many picoseconds it has.
fn unit(ps: f64) -> (&'static str, f64) {
    if ps.abs() >= 1_000.0 { ("ns/B", 1_000.0) } else { ("ps/B", 1.0) }
}

/// A time per byte, with the corresponding bandwidth: `250.0 ps/B (4.000 GB/s)`.
pub fn rate(ps: f64) -> String {
    let (unit, scale) = unit(ps);
    if ps <= 0.0 {
        return format!("0 {unit}");
    }
    format!("{} {unit} ({} GB/s)", digits(ps / scale), digits(1_000.0 / ps))
}

/// Four significant digits, or more before the decimal point.
fn digits(value: f64) -> String {
    let before = if value.abs() < 1.0 { 1 } else { value.abs().log10() as usize + 1 };
    format!("{value:.*}", 4usize.saturating_sub(before))
}

impl Estimate {
    /// `1.2 µs (1.1 µs to 1.3 µs)`.
    pub fn as_time(&self) -> String {
        format!("{} ({} to {})", time(self.ps), time(self.low_ps), time(self.high_ps))
    }

    /// `250.0 ps/B (4.000 GB/s), 240.0 to 260.0 ps/B`.
    pub fn as_rate(&self) -> String {
        let (unit, scale) = unit(self.ps);
        let [low, high] = [self.low_ps, self.high_ps].map(|ps| digits(ps / scale));
        format!("{}, {low} to {high} {unit}", rate(self.ps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_in_the_unit_that_suits_them() {
        assert_eq!(rate(250.0), "250.0 ps/B (4.000 GB/s)");
        assert_eq!(rate(0.0), "0 ps/B");
        let estimate = Estimate { ps: 1_250.0, low_ps: 900.0, high_ps: 12_500.0 };
        assert_eq!(estimate.as_rate(), "1.250 ns/B (0.800 GB/s), 0.900 to 12.50 ns/B");
        assert_eq!(estimate.as_time(), "1.250 ns (900 ps to 12.50 ns)");
    }
}
