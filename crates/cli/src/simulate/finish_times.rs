//! Finish times of all ranks as a section.

use straggler_model::Time;
use straggler_model::stats::quantile_of_sorted;
use straggler_report::numbers::counted;
use straggler_report::page::{Axis, Chart, Distribution, PointSeries, Sample, Scatter, Section, Unit};
use straggler_report::{Cell, Columns, Table};

/// When each rank finishes, and how these times are distributed.
pub fn section(title: &str, finish: &[Time], command: &str, synthetic: bool) -> Section {
    let mut sorted = finish.to_vec();
    sorted.sort_unstable();
    let mut section = Section::new(title);
    section.text.push(sentence(&sorted));
    section.add(by_rank(finish, command).synthetic(synthetic));
    section.add(distribution(&sorted, command).synthetic(synthetic));
    section.add(quantiles(&sorted, command));
    section
}

fn sentence(sorted: &[Time]) -> String {
    let ranks = counted(sorted.len() as u64, "rank finishes", "ranks finish");
    match (sorted.first(), quantile_of_sorted(sorted, 0.5), sorted.last()) {
        (Some(first), Some(median), Some(last)) => {
            format!("{ranks}: the first at {first}, the median at {median}, the last at {last}.")
        }
        _ => "No rank finishes.".into(),
    }
}

fn by_rank(finish: &[Time], command: &str) -> Chart {
    let series = PointSeries {
        name: "finish".into(),
        x: (0..finish.len()).map(|rank| rank as f64).collect(),
        y: finish.iter().map(|time| time.seconds()).collect(),
    };
    let (x, y) = (Axis::linear("rank", Unit::Count), Axis::linear("finish time", Unit::Seconds));
    Chart::new("Finish time of each rank", command, Scatter { x, y, series: vec![series] })
}

fn distribution(sorted: &[Time], command: &str) -> Chart {
    let values = sorted.iter().map(|time| time.seconds()).collect();
    let series = vec![Sample { name: "ranks".into(), values, sum: false }];
    let x = Axis::linear("finish time", Unit::Seconds);
    Chart::new("Distribution of finish times", command, Distribution { x, series, marks: Vec::new() })
}

fn quantiles(sorted: &[Time], command: &str) -> Table {
    const SHARES: [(&str, f64); 7] = [
        ("earliest", 0.0),
        ("1 %", 0.01),
        ("25 %", 0.25),
        ("median", 0.5),
        ("75 %", 0.75),
        ("99 %", 0.99),
        ("latest", 1.0),
    ];
    let found = SHARES.iter().filter_map(|&(name, share)| Some((name, quantile_of_sorted(sorted, share)?)));
    Columns::over(found)
        .text("", |(name, _)| name)
        .number("time", |(_, time)| Cell::time(time))
        .build()
        .titled("Finish times", command)
}
