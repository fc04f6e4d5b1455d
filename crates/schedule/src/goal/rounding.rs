//! GOAL counts in whole nanoseconds, the graph in picoseconds.

const PS_PER_NS: u64 = 1_000;

/// Rounds to the nearest nanosecond, half up, capped at [`LONGEST_NS`]. Also returns whether
/// anything was lost.
pub(super) fn nearest_ns(ps: u64) -> (u64, bool) {
    let (whole, rest) = (ps / PS_PER_NS, ps % PS_PER_NS);
    ((whole + u64::from(rest >= PS_PER_NS / 2)).min(LONGEST_NS), rest != 0)
}

/// The longest computation that fits simulated time.
pub(super) const LONGEST_NS: u64 = u64::MAX / PS_PER_NS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_the_nearest() {
        assert_eq!(nearest_ns(0), (0, false));
        assert_eq!(nearest_ns(499), (0, true));
        assert_eq!(nearest_ns(500), (1, true));
        assert_eq!(nearest_ns(2_000), (2, false));
        assert_eq!(nearest_ns(u64::MAX), (LONGEST_NS, true));
    }
}
