//! Latencies and their differences as text, and a whole measurement.

use crate::kernel::prelude::*;
use crate::latency::measure::{QUANTILES, is_supported};
use straggler_analysis::{latency::Distribution, latency::compare::Difference};
use straggler_model::latency::{Histogram, Kind, Measurement, Outside, Series};
use straggler_report::numbers::NOTHING;

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
fn quantile(value_ps: Option<f64>, outside: Option<Outside>) -> String {
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

/// Most rows of the table.
const MOST_ROWS: usize = 40;

pub fn summary(measurement: &Measurement) -> String {
    let mut text = format!("{}\n\n{}", headline(measurement), table(measurement));
    let rest = measurement.series.len().saturating_sub(MOST_ROWS);
    if rest > 0 {
        text += &format!("  and {} more; --json and the file list all\n", grouped(rest as u64));
    }
    text.push('\n');
    for line in outside(measurement).into_iter().chain(timer(measurement)).chain(measurement.notes.clone()) {
        text += &format!("{line}\n");
    }
    text
}

/// A quantile, or its bound if it lies outside the bins: "> 2 ms".
fn quantile_text(trials: &Histogram, quantile: f64) -> Option<String> {
    // The same numbers as in `diagnose` and `compare`.
    let known =
        || Distribution::from_histogram(trials).map(|distribution| time(distribution.quantile(quantile)));
    trials.outside(quantile).map(|outside| outside.to_string()).or_else(known)
}

fn median(trials: &Histogram) -> String {
    quantile_text(trials, 0.5).unwrap_or_else(|| "–".into())
}

fn headline(measurement: &Measurement) -> String {
    let series = &measurement.series;
    let by_median = |one: &&Series| one.trials.quantile(0.5).map(|bounds| bounds.low);
    let (Some(fastest), Some(slowest)) =
        (series.iter().min_by_key(by_median), series.iter().max_by_key(by_median))
    else {
        return "Nothing was measured.".into();
    };
    if series.len() == 1 {
        return one(fastest);
    }
    let (fast, slow) = (median(&fastest.trials), median(&slowest.trials));
    format!("Medians: from {fast} ({}) to {slow} ({}).", fastest.labels, slowest.labels)
}

fn one(series: &Series) -> String {
    let what = match series.labels.kind {
        Kind::RoundTrip => format!("{} round trip", series.labels.kernel),
        _ => format!("time of {}", series.labels.kernel),
    };
    let size = series.labels.size.map_or_else(String::new, |size| format!(" ({})", Bytes(size)));
    let trials = &series.trials;
    let (min, median) = (trials.min().unwrap_or_default(), median(trials));
    let deepest = QUANTILES.iter().rev().find(|&&quantile| is_supported(trials.count(), quantile));
    let tail = deepest.filter(|&&quantile| quantile > 0.5).and_then(|&quantile| {
        if let Some(Outside::Above(bound)) = trials.outside(quantile) {
            let beyond = share(trials.overflow(), trials.count());
            return Some(format!(" {beyond} took longer than {bound}, where the last bin ends."));
        }
        // If the longest trial is in the same bin, the number of longer trials is unknown.
        let longest = trials.max().unwrap_or_default();
        trials.quantile(quantile).filter(|bounds| bounds.high < longest)?;
        let one_in = (1.0 / (1.0 - quantile)).round() as u64;
        Some(format!(
            " One trial in {} took longer than {}.",
            grouped(one_in),
            quantile_text(trials, quantile)?
        ))
    });
    format!("Median {what}: {median}{size}; the fastest took {min}.{}", tail.unwrap_or_default())
}

/// "All trials", "41 of 1,000 trials".
fn share(part: u64, all: u64) -> String {
    if part == all { "All trials".into() } else { format!("{} of {} trials", grouped(part), grouped(all)) }
}

fn table(measurement: &Measurement) -> Table {
    let most = measurement.series.iter().map(|series| series.trials.count()).max().unwrap_or(0);
    let quantiles: Vec<f64> =
        QUANTILES.into_iter().filter(|&quantile| is_supported(most, quantile)).collect();
    let cell = |trials: &Histogram, quantile: f64| match quantile_text(trials, quantile) {
        Some(text) if is_supported(trials.count(), quantile) => text,
        _ => "–".into(),
    };
    Columns::over(measurement.series.iter().take(MOST_ROWS))
        .text("", |row| row.labels.to_string())
        .number("trials", |row| Cell::count(row.trials.count()))
        .number("min", |row| shown(row.trials.min()))
        .each(quantiles, |columns, quantile| {
            columns.number(name(quantile), |row| cell(&row.trials, quantile))
        })
        .number("max", |row| shown(row.trials.max()))
        .build()
}

fn shown(time: Option<Time>) -> String {
    time.map_or_else(|| "–".into(), |time| time.to_string())
}

fn name(quantile: f64) -> String {
    if quantile == 0.5 { "median".into() } else { format!("{} %", (quantile * 1e9).round() / 1e7) }
}

/// Trials outside the bins.
fn outside(measurement: &Measurement) -> Option<String> {
    let sum =
        |of: fn(&Histogram) -> u64| measurement.series.iter().map(|series| of(&series.trials)).sum::<u64>();
    let (short, long) = (sum(Histogram::underflow), sum(Histogram::overflow));
    let were = |count: u64| counted(count, "trial was", "trials were");
    let short = (short > 0).then(|| format!("{} shorter than the timer's cost and count as 0.", were(short)));
    let long = (long > 0).then(|| format!("{} longer than the last bin.", were(long)));
    let told: Vec<String> = short.into_iter().chain(long).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn timer(measurement: &Measurement) -> Option<String> {
    let timer = measurement.timers.first()?;
    let costs = measurement.series.iter().map(|series| &series.timer);
    let low = costs.clone().filter_map(|cost| Some(cost.subtracted?.low)).min()?;
    let high = costs.clone().filter_map(|cost| Some(cost.subtracted?.high)).max()?;
    let longest = costs.filter_map(|cost| cost.calls.max()).max()?;
    let taken_off = if low == high { low.to_string() } else { format!("{low} to {high}") };
    Some(format!(
        "Timer: {}. Reading it costs {taken_off}, which is subtracted; during the run a reading took \
         {longest} at most.",
        timer.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::latency::{Bins, Labels};
    use straggler_model::provenance::Origin;

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

    fn measurement(sizes: &[u64]) -> Measurement {
        let mut measurement = Measurement::new("tcp", Origin::Imported);
        for &size in sizes {
            let labels =
                Labels { kernel: "tcp".into(), kind: Kind::RoundTrip, size: Some(size), ..Labels::default() };
            let mut series = Series::new(labels, Bins::FixedWidth { width_ps: 1_000_000, count: 3000 });
            (1..=1000u64).for_each(|us| series.trials.record(Time::from_ns(1000 * us * size)));
            measurement.add(series).unwrap();
        }
        measurement
    }

    #[test]
    fn one_distribution_is_a_sentence() {
        let text = summary(&measurement(&[1]));
        let first = "Median tcp round trip: 501 µs (1 B); the fastest took 1 µs. One trial in 100 took longer than \
                     991 µs.\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("99 %") && !text.contains("99.9 %"), "{text}");
    }

    #[test]
    fn several_are_compared_and_what_is_outside_is_told() {
        let text = summary(&measurement(&[1, 5]));
        assert!(text.starts_with("Medians: from 501 µs (tcp, round trip, 1 B) to "), "{text}");
        // Trials of 5 B take 5, 10, … 5000 µs; the bins end at 3 ms, which is not in them: 600 to 1000 times 5 µs are beyond.
        assert!(text.contains("\n401 trials were longer than the last bin.\n"), "{text}");
        assert!(!text.contains("shorter than the timer's cost"), "{text}");
        let row =
            text.lines().find(|line| line.contains("5 B") && line.contains("1,000")).unwrap_or_default();
        assert!(row.contains("> 3 ms") && row.contains("5 ms") && !row.contains("3.99"), "{row}");
        let alone = summary(&measurement(&[5]));
        assert!(
            alone.contains("401 of 1,000 trials took longer than 3 ms, where the last bin ends."),
            "{alone}"
        );
        let all = summary(&measurement(&[5000]));
        assert!(all.contains(" All trials took longer than 3 ms, where the last bin ends."), "{all}");
        // All trials are equal: none took longer than the others.
        let mut equal = measurement(&[1]);
        equal.series[0].trials = Histogram::default();
        (0..200).for_each(|_| equal.series[0].trials.record(Time::from_ns(700)));
        assert!(!summary(&equal).contains("One trial in"), "{}", summary(&equal));
    }

    #[test]
    fn quantiles_need_ten_trials_beyond() {
        assert!(is_supported(1000, 0.99) && !is_supported(999, 0.99));
        assert!(is_supported(10_000_000, 0.999999) && is_supported(20, 0.5) && !is_supported(19, 0.5));
        assert_eq!([0.9, 0.99, 0.999999].map(name), ["90 %", "99 %", "99.9999 %"]);
    }
}
