//! Parts of the sentences in [`crate::Job::notes`].

pub use straggler_model::words::{list, list_up_to, plural};

/// Lists the first five items.
pub fn listed(items: impl Iterator<Item = String>) -> String {
    list_up_to(5, &items.collect::<Vec<String>>())
}

/// A note about a file that cannot be read.
pub fn left_out(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    let end = if text.ends_with('?') { "" } else { "." };
    format!("{text}{end} The file is left out; what its rank did is unknown")
}

/// `rank 3`, `ranks 3 and 5`.
pub fn named<T: ToString>(noun: &str, items: &[T]) -> String {
    format!("{noun}{} {}", plural(items.len(), "", "s"), list(items))
}

/// `3 to 7`, if the numbers are consecutive and at least three.
pub fn range(numbers: &[u32]) -> Option<String> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let is_range = sorted.len() > 2 && sorted.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    is_range.then(|| format!("{} to {}", sorted[0], sorted[sorted.len() - 1]))
}

/// Formats picoseconds as nanoseconds, microseconds, milliseconds or seconds, with one decimal.
pub fn time(ps: i64) -> String {
    let us = ps as f64 / 1e6;
    match us.abs() {
        0.0 => "0 s".into(),
        us_abs if us_abs < 0.1 => format!("{:.1} ns", us * 1e3),
        us_abs if us_abs < 1e4 => format!("{us:.1} µs"),
        us_abs if us_abs < 1e7 => format!("{:.1} ms", us / 1e3),
        _ => format!("{:.1} s", us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(named("rank", &[3]), "rank 3");
        assert_eq!(named("rank", &[3, 5, 7]), "ranks 3, 5 and 7");
        assert_eq!(list(&(0..10).collect::<Vec<_>>()), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
        assert_eq!((time(0), time(20_000)), ("0 s".into(), "20.0 ns".into()));
        assert_eq!((time(1_500_000), time(20_000_000_000)), ("1.5 µs".into(), "20.0 ms".into()));
    }
}
