//! Dates for headers of files and reports.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time, as `2026-01-31T12:34:56Z`.
pub fn utc_now() -> String {
    utc(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// Days are counted from 1 March of the year 0, so that a leap day ends a year; a month then begins after
/// (153 m + 2) / 5 days.
pub fn utc(seconds: u64) -> String {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_IN_400_YEARS: u64 = 146_097;
    let (days, second) = (seconds / 86_400 + DAYS_TO_1970, seconds % 86_400);
    let day = days % DAYS_IN_400_YEARS;
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + days / DAYS_IN_400_YEARS * 400 + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from `date -u -d @…`.
    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
