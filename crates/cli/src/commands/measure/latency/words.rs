//! What a measurement of latencies says, for people.

use super::answer::{QUANTILES, is_supported};
use straggler_model::Time;
use straggler_model::latency::{Histogram, Kind, Measurement, Outside, Series};
use straggler_report::Table;
use straggler_report::numbers::grouped;

/// Rows of the table.
const MOST_ROWS: usize = 40;

pub fn say(measurement: &Measurement) -> String {
    let mut text = format!("{}\n\n{}", headline(measurement), table(measurement));
    let rest = measurement.series.len().saturating_sub(MOST_ROWS);
    if rest > 0 {
        text += &format!("  and {} more; --json and the file have all\n", grouped(rest as u64));
    }
    text.push('\n');
    for line in outside(measurement).into_iter().chain(timer(measurement)).chain(measurement.notes.clone()) {
        text += &format!("{line}\n");
    }
    text
}

/// A quantile, or its bound where it lies outside the bins: "> 2 ms".
fn told(trials: &Histogram, quantile: f64) -> Option<String> {
    let known = || trials.quantile(quantile).map(|bounds| bounds.middle().to_string());
    trials.outside(quantile).map(|outside| outside.to_string()).or_else(known)
}

fn median(trials: &Histogram) -> String {
    told(trials, 0.5).unwrap_or_else(|| "–".into())
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
    format!(
        "Half of the trials took {fast} or less for {}, and {slow} or less for {}.",
        fastest.labels, slowest.labels
    )
}

fn one(series: &Series) -> String {
    let what = match series.labels.kind {
        Kind::RoundTrip => format!("A round trip ({})", series.labels.kernel),
        _ => series.labels.kernel.clone(),
    };
    let trials = &series.trials;
    let (min, median) = (trials.min().unwrap_or_default(), median(trials));
    let deepest = QUANTILES.iter().rev().find(|&&quantile| is_supported(trials.count(), quantile));
    let tail = deepest.filter(|&&quantile| quantile > 0.5).and_then(|&quantile| {
        let one_in = (1.0 / (1.0 - quantile)).round() as u64;
        let longer = match trials.outside(quantile) {
            Some(Outside::Above(bound)) => format!("{bound}, beyond the last bin"),
            _ => told(trials, quantile)?,
        };
        Some(format!(" One trial in {} took longer than {longer}.", grouped(one_in)))
    });
    format!("{what} took {min} at best and {median} in the median.{}", tail.unwrap_or_default())
}

fn table(measurement: &Measurement) -> Table {
    let most = measurement.series.iter().map(|series| series.trials.count()).max().unwrap_or(0);
    let quantiles: Vec<f64> =
        QUANTILES.into_iter().filter(|&quantile| is_supported(most, quantile)).collect();
    let names = quantiles.iter().map(|&quantile| name(quantile));
    let header = ["", "trials", "min"].map(String::from).into_iter().chain(names).chain(["max".to_string()]);
    let mut table = Table::with_header(header);
    for series in measurement.series.iter().take(MOST_ROWS) {
        let trials = &series.trials;
        let cell = |&quantile: &f64| match told(trials, quantile) {
            Some(text) if is_supported(trials.count(), quantile) => text,
            _ => "–".into(),
        };
        let first = [series.labels.to_string(), grouped(trials.count()), shown(trials.min())];
        table.row(first.into_iter().chain(quantiles.iter().map(cell)).chain([shown(trials.max())]));
    }
    table
}

fn shown(time: Option<Time>) -> String {
    time.map_or_else(|| "–".into(), |time| time.to_string())
}

fn name(quantile: f64) -> String {
    if quantile == 0.5 { "median".into() } else { format!("{} %", (quantile * 1e9).round() / 1e7) }
}

/// What the bins have no room for.
fn outside(measurement: &Measurement) -> Option<String> {
    let sum =
        |of: fn(&Histogram) -> u64| measurement.series.iter().map(|series| of(&series.trials)).sum::<u64>();
    let (short, long) = (sum(Histogram::underflow), sum(Histogram::overflow));
    (short + long > 0).then(|| {
        format!(
            "{} trials were shorter than the cost of the timer and count as 0; {} were longer than the last bin.",
            grouped(short),
            grouped(long)
        )
    })
}

fn timer(measurement: &Measurement) -> Option<String> {
    let timer = measurement.timers.first()?;
    let costs = measurement.series.iter().map(|series| &series.timer);
    let low = costs.clone().filter_map(|cost| Some(cost.subtracted?.low)).min()?;
    let high = costs.clone().filter_map(|cost| Some(cost.subtracted?.high)).max()?;
    let longest = costs.filter_map(|cost| cost.calls.max()).max()?;
    let taken_off = if low == high { low.to_string() } else { format!("{low} to {high}") };
    Some(format!(
        "Timer: {}. Reading it costs {taken_off}, which is taken off; during the run it took {longest} at most.",
        timer.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::latency::{Bins, Labels};
    use straggler_model::noise::recording::Origin;

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
        let text = say(&measurement(&[1]));
        let first = "A round trip (tcp) took 1 µs at best and 500.5 µs in the median. One trial in 100 took longer \
                     than 990.5 µs.\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("99 %") && !text.contains("99.9 %"), "{text}");
    }

    #[test]
    fn several_are_compared_and_what_is_outside_is_told() {
        let text = say(&measurement(&[1, 5]));
        assert!(
            text.starts_with("Half of the trials took 500.5 µs or less for tcp, round trip, 1 B, and "),
            "{text}"
        );
        // Trials of 5 B take 5, 10, … 5000 µs; the bins end at 3 ms, which is not in them: 600 to 1000 times 5 µs are beyond.
        assert!(text.contains("401 were longer than the last bin"), "{text}");
        let row =
            text.lines().find(|line| line.contains("5 B") && line.contains("1,000")).unwrap_or_default();
        assert!(row.contains("> 3 ms") && row.contains("5 ms") && !row.contains("3.99"), "{row}");
        let alone = say(&measurement(&[5]));
        assert!(alone.contains("One trial in 100 took longer than 3 ms, beyond the last bin."), "{alone}");
    }

    #[test]
    fn quantiles_need_ten_trials_beyond() {
        assert!(is_supported(1000, 0.99) && !is_supported(999, 0.99));
        assert!(is_supported(10_000_000, 0.999999) && is_supported(20, 0.5) && !is_supported(19, 0.5));
        assert_eq!([0.9, 0.99, 0.999999].map(name), ["90 %", "99 %", "99.9999 %"]);
    }
}
