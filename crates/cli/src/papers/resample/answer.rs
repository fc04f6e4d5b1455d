//! The result of `resample`: as one object, as text (a sentence, then tables), and as a page.

use crate::kernel::memory::peak_rss_bytes;
use crate::kernel::prelude::*;
use crate::papers::resample::{BUDGET, Case, Findings, Inputs, Measured, Plan, Why};
use straggler_model::stats::{Summary, chance_distance, distance};
use straggler_report::page::{BoxSeries, Boxes, Histogram, HistogramSeries, Scale};
use straggler_report::{histograms::Histogram as Bins, numbers::rounded};
use straggler_sim::resampling::{Distributions, Processor, throughput};

#[derive(Debug, Serialize)]
pub struct ResampleAnswer {
    pub times: String,
    pub times_count: usize,
    /// Whether any of the times were drawn from a description, not measured.
    pub synthetic: bool,
    pub noise: String,
    pub seed: u64,
    pub threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    pub budget_exchanges: u64,
    /// In the requested order, at least one.
    pub cases: Vec<CaseAnswer>,
    /// None if there is nothing to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_to_one: Option<Comparison>,
    /// Number of exchanges in all cases and the comparison.
    pub exchanges: u64,
    pub wall_seconds: f64,
    pub exchanges_per_second: f64,
    pub peak_rss_bytes: Option<u64>,
    pub warnings: Vec<String>,
}

/// One number of processors.
#[derive(Debug, Serialize)]
pub struct CaseAnswer {
    pub processes: u32,
    pub samples: u32,
    /// Whether the limit on exchanges reduced the number of samples.
    pub samples_limited_by_budget: bool,
    pub total_ps: Option<Summary>,
    /// Over all processors and samples.
    pub idle_ps: Option<Summary>,
    pub idle_ps_of_processor_0: Option<Summary>,
    /// Mean idle time over mean total time.
    pub idle_share: f64,
    /// When a processor finishes its last exchange, averaged over processors and samples.
    pub mean_own_ps: f64,
    /// Per processor: (P - 1) · size / its mean own time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput_bytes_per_second: Option<f64>,
    /// Of the slowest processor: (P - 1) · size / mean total time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest_throughput_bytes_per_second: Option<f64>,
    pub processors: Vec<Processor>,
}

/// Exchanges of two processors, measured and resampled.
#[derive(Debug, Serialize)]
pub struct Comparison {
    pub file: String,
    pub measured_ps: Summary,
    pub resampled_ps: Summary,
    /// The Kolmogorov–Smirnov distance.
    pub distance: f64,
    /// By chance alone, the distance stays below this in 99 of 100 cases.
    pub chance_distance: f64,
}

impl ResampleAnswer {
    pub fn new(plan: &Plan, inputs: &Inputs, findings: Findings) -> ResampleAnswer {
        let noise = inputs.noise.as_ref();
        ResampleAnswer {
            times: plan.times.display().to_string(),
            times_count: inputs.times.len(),
            synthetic: inputs.synthetic,
            noise: noise.map_or_else(|| "no noise".into(), ToString::to_string),
            seed: plan.seed,
            threads: rayon::current_num_threads(),
            size_bytes: inputs.size.map(|Bytes(bytes)| bytes),
            budget_exchanges: BUDGET,
            cases: findings.cases,
            one_to_one: findings.comparison,
            exchanges: findings.exchanges,
            wall_seconds: findings.wall_seconds,
            exchanges_per_second: findings.exchanges as f64 / findings.wall_seconds.max(1e-9),
            peak_rss_bytes: peak_rss_bytes(),
            warnings: inputs.warnings.clone(),
        }
    }

    /// The case with the fewest and the one with the most processors.
    fn extremes(&self) -> Option<(&CaseAnswer, &CaseAnswer)> {
        let by_size = |case: &&CaseAnswer| case.processes;
        self.cases.iter().min_by_key(by_size).zip(self.cases.iter().max_by_key(by_size))
    }
}

impl CaseAnswer {
    pub fn new(case: &Case, size: Option<Bytes>, found: &Distributions) -> CaseAnswer {
        let total = Summary::of_sorted(&found.total_ps);
        let over = |mean_ps: f64| size.map(|Bytes(bytes)| throughput(case.processors, bytes, mean_ps));
        CaseAnswer {
            processes: case.processors,
            samples: case.samples,
            samples_limited_by_budget: case.why == Why::Budget,
            total_ps: total,
            idle_ps: Summary::of_sorted(&found.idle_ps),
            idle_ps_of_processor_0: Summary::of_sorted(&found.first_idle_ps),
            idle_share: found.idle_share(),
            mean_own_ps: found.mean_own_ps,
            throughput_bytes_per_second: over(found.mean_own_ps),
            slowest_throughput_bytes_per_second: total.and_then(|total| over(total.mean)),
            processors: found.processors.clone(),
        }
    }

    /// The share of processors, over all samples, without idle time.
    fn never_idle(&self) -> f64 {
        let sum: f64 = self.processors.iter().map(|one| one.never_idle).sum();
        sum / self.processors.len().max(1) as f64
    }
}

impl Comparison {
    /// Takes sorted times. None if either sample is empty.
    pub fn new(measured: &Measured, resampled: &[u64]) -> Option<Comparison> {
        let Measured { name, times_ps, drawn_from } = measured;
        let other = (!drawn_from).then_some(times_ps.len());
        Some(Comparison {
            file: name.clone(),
            measured_ps: Summary::of_sorted(times_ps)?,
            resampled_ps: Summary::of_sorted(resampled)?,
            distance: distance(times_ps, resampled),
            chance_distance: chance_distance(resampled.len(), other),
        })
    }
}

pub fn summary(answer: &ResampleAnswer) -> String {
    let mut text = sentence(answer) + "\n\n";
    text += &format!("Total time of an all-to-all\n\n{}\n", totals(answer));
    text += &format!("Idle time of a processor\n\n{}\n", idle(answer));
    if let Some(found) = &answer.one_to_one {
        text += &format!("One exchange of two processors\n\n{}\n{}\n\n", one_to_one(found), verdict(found));
    } else {
        text += "Use --measured FILE to check whether the interrupts match the machine.\n\n";
    }
    text + &circumstances(answer).to_string()
}

/// "With 32 processors each waits 12 % of the time for late partners; throughput per processor falls from
/// 5.93 to 4.61 MB/s."
fn sentence(answer: &ResampleAnswer) -> String {
    let Some((few, many)) = answer.extremes() else { return String::new() };
    let processors = grouped(many.processes);
    let waiting = match many.idle_share {
        0.0 => format!("With {processors} processors no processor waits for a late partner"),
        share => {
            format!(
                "With {processors} processors each waits {} of the time for late partners",
                percent(share)
            )
        }
    };
    format!("{waiting}; {}.", consequence(few, many))
}

fn consequence(few: &CaseAnswer, many: &CaseAnswer) -> String {
    let speeds = few.throughput_bytes_per_second.zip(many.throughput_bytes_per_second);
    match speeds.map(|(few, many)| (significant(few / 1e6), significant(many / 1e6), few.total_cmp(&many))) {
        None => format!("an all-to-all takes {}", many.total_ps.map_or_else(String::new, |all| mean(&all))),
        Some((_, now, _)) if few.processes == many.processes => {
            format!("throughput per processor is {now} MB/s")
        }
        Some((before, now, _)) if before == now => format!("throughput per processor stays {now} MB/s"),
        Some((before, now, order)) => {
            let verb = if order.is_gt() { "falls" } else { "rises" };
            format!("throughput per processor {verb} from {before} to {now} MB/s")
        }
    }
}

fn mean(summary: &Summary) -> String {
    Time(summary.mean.round() as u64).to_string()
}

fn verdict(found: &Comparison) -> String {
    let alike = if found.distance <= found.chance_distance { "no more" } else { "more" };
    format!(
        "Measured times ({}) and resampled ones differ in their distribution functions by at most \
         {:.4} (Kolmogorov-Smirnov), {alike} than expected by chance, which stays below {:.4} in 99 of \
         100 cases.",
        found.file, found.distance, found.chance_distance
    )
}

fn circumstances(answer: &ResampleAnswer) -> Table {
    let mut table = Table::facts();
    let times = counted(answer.times_count as u64, "time", "times");
    let synthetic = if answer.synthetic { ", synthetic" } else { "" };
    table.row(["drawn from".to_string(), format!("{times} in {}{synthetic}", answer.times)]);
    table.row(["noise", if answer.noise == "no noise" { "none" } else { answer.noise.as_str() }]);
    if let Some(bytes) = answer.size_bytes {
        let size = straggler_model::units::Bytes(bytes);
        let text = format!(
            "(P - 1) · {size} over the mean of a processor's own time; of the slowest: over the total"
        );
        table.row(["throughput".to_string(), text]);
    }
    table.row(["share".to_string(), "mean idle time over mean total time".into()]);
    for case in answer.cases.iter().filter(|case| case.samples_limited_by_budget) {
        let text = format!(
            "{} of {} processors: the budget of {} exchanges",
            grouped(case.samples),
            grouped(case.processes),
            grouped(answer.budget_exchanges)
        );
        table.row(["samples".to_string(), text]);
    }
    table.row(["seed".to_string(), answer.seed.to_string()]);
    let threads = counted(answer.threads as u64, "thread", "threads");
    let (wall, rate) = (seconds(answer.wall_seconds), rounded(answer.exchanges_per_second));
    table.row(["wall time".to_string(), format!("{wall}, {rate} exchanges/s, {threads}")]);
    table
}

/// Adds mean, standard deviation and quantiles of a summary.
fn with_summary<R: Copy>(columns: Columns<R>, of: impl Fn(R) -> Summary) -> Columns<R> {
    type Part = (&'static str, fn(&Summary) -> u64);
    const PARTS: [Part; 9] = [
        ("mean", |all| all.mean.round() as u64),
        ("sd", |all| all.sd.round() as u64),
        ("min", |all| all.min),
        ("1 %", |all| all.p1),
        ("25 %", |all| all.p25),
        ("50 %", |all| all.median),
        ("75 %", |all| all.p75),
        ("99 %", |all| all.p99),
        ("max", |all| all.max),
    ];
    columns.each(PARTS, |columns, (name, part)| columns.number(name, |row| Cell::time(Time(part(&of(row))))))
}

fn totals(answer: &ResampleAnswer) -> Table {
    let rows = answer.cases.iter().filter_map(|case| Some((case, case.total_ps.as_ref()?)));
    let columns = Columns::over(rows)
        .number("processors", |(case, _)| Cell::count(case.processes))
        .number("samples", |(case, _)| Cell::count(case.samples));
    let columns = with_summary(columns, |(_, total)| *total);
    if answer.size_bytes.is_none() {
        return columns.build();
    }
    let speed = |speed: f64| Cell::number(format!("{:.3}", speed / 1e6), speed / 1e6);
    columns
        .number("MB/s", |(case, _)| case.throughput_bytes_per_second.map(speed))
        .number("of the slowest", |(case, _)| case.slowest_throughput_bytes_per_second.map(speed))
        .build()
}

fn idle(answer: &ResampleAnswer) -> Table {
    #[derive(Clone, Copy)]
    struct Row<'a> {
        case: &'a CaseAnswer,
        /// "all", or one by its number.
        processor: &'static str,
        never: f64,
        idle: &'a Summary,
    }
    let rows = answer.cases.iter().flat_map(|case| {
        let first = case.processors.first().map_or(0.0, |first| first.never_idle);
        let both = [
            ("all", case.never_idle(), case.idle_ps.as_ref()),
            ("0", first, case.idle_ps_of_processor_0.as_ref()),
        ];
        both.into_iter()
            .filter_map(move |(processor, never, idle)| Some(Row { case, processor, never, idle: idle? }))
    });
    let columns = Columns::over(rows)
        .number("processors", |row| Cell::count(row.case.processes))
        .text("processor", |row| row.processor)
        .number("never idle", |row| Cell::share(row.never))
        .number("share", |row| {
            Cell::share(row.idle.mean / row.case.total_ps.map_or(1.0, |total| total.mean))
        });
    with_summary(columns, |row| *row.idle).build()
}

fn one_to_one(found: &Comparison) -> Table {
    let columns = Columns::over([("measured", &found.measured_ps), ("resampled", &found.resampled_ps)])
        .text("", |(name, _)| name)
        .number("values", |(_, all)| Cell::count(all.count));
    with_summary(columns, |(_, all)| *all).build()
}

pub fn page(answer: &ResampleAnswer, histograms: &[Bins], synthetic: bool) -> Page {
    let command = command_line();
    let mut section = Section::new("All-to-alls");
    let charts = [
        boxes("Duration of an all-to-all", "total time", &answer.cases, |case| case.total_ps, &command),
        boxes("Idle time of a processor", "idle time", &answer.cases, |case| case.idle_ps, &command),
    ];
    charts.into_iter().for_each(|chart| section.add(chart.synthetic(synthetic)));
    for (quantity, title) in [
        ("total", "Total times"),
        ("idle", "Idle times of all processors"),
        ("idle_0", "Idle times of processor 0"),
    ] {
        section.add(histogram(quantity, title, histograms, &command).synthetic(synthetic));
    }
    section.add(totals(answer).titled("Total time of an all-to-all", &command));
    section.add(idle(answer).titled("Idle time of a processor", &command));
    if let Some(found) = &answer.one_to_one {
        section.add(one_to_one(found).titled("One exchange of two processors", &command));
    }
    let summary = pages::paragraphs(&summary(answer)).into_iter().take(1).collect();
    let mut page = pages::page("All-to-alls of resampled exchanges", summary, vec![section]);
    page.facts.add("Times", &answer.times);
    page.facts.add("Noise", &answer.noise);
    page.facts.add("Seed", answer.seed.to_string());
    page.warnings = answer.warnings.clone();
    page
}

fn boxes(
    title: &str,
    label: &str,
    cases: &[CaseAnswer],
    of: fn(&CaseAnswer) -> Option<Summary>,
    command: &str,
) -> Chart {
    let mut series: BoxSeries = BoxSeries { name: label.into(), ..BoxSeries::default() };
    for (case, summary) in cases.iter().filter_map(|case| Some((case, of(case)?))) {
        let time = |ps: u64| Time(ps).seconds();
        series.x.push(case.processes.into());
        series.low.push(time(summary.p1));
        series.q1.push(time(summary.p25));
        series.median.push(time(summary.median));
        series.q3.push(time(summary.p75));
        series.high.push(time(summary.p99));
        series.count.push(summary.count as f64);
        series.median_low.push(f64::NAN);
        series.median_high.push(f64::NAN);
    }
    let x = Axis::new("processors", Unit::Count, Scale::Log2);
    let y = Axis::linear(label, Unit::Seconds);
    Chart::new(title, command, Boxes { x, y, series: vec![series] })
        .with_note("Box: quartiles. Line: median. Whiskers end at 1 % and 99 % of the samples.")
}

fn histogram(quantity: &str, title: &str, histograms: &[Bins], command: &str) -> Chart {
    let series = |one: &Bins| HistogramSeries {
        name: format!("{} processors", grouped(one.processes)),
        edges: edges(one),
        counts: one.bins.iter().map(|bin| bin.count as f64).collect(),
        sum: false,
    };
    let of_quantity = histograms.iter().filter(|one| one.quantity == quantity);
    let plot = Histogram {
        x: Axis::linear("time", Unit::Seconds),
        y: Axis::linear("samples", Unit::Count),
        series: of_quantity.map(series).collect(),
    };
    Chart::new(title, command, plot)
}

/// The edges of adjacent bins.
fn edges(histogram: &Bins) -> Vec<f64> {
    let first = histogram.bins.first().map(|bin| bin.from);
    let ends = histogram.bins.iter().map(|bin| bin.to);
    first.into_iter().chain(ends).map(|ps| Time(ps).seconds()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(processes: u32, idle_share: f64, throughput: Option<f64>) -> CaseAnswer {
        CaseAnswer {
            processes,
            samples: 1_234,
            samples_limited_by_budget: processes > 100,
            total_ps: Summary::of_sorted(&[170_000_000, 176_000_000]),
            idle_ps: None,
            idle_ps_of_processor_0: None,
            idle_share,
            mean_own_ps: 0.0,
            throughput_bytes_per_second: throughput,
            slowest_throughput_bytes_per_second: throughput,
            processors: Vec::new(),
        }
    }

    fn answer(cases: Vec<CaseAnswer>) -> ResampleAnswer {
        ResampleAnswer {
            times: "t.txt".into(),
            times_count: 2,
            synthetic: false,
            noise: "no noise".into(),
            seed: 1,
            threads: 2,
            size_bytes: None,
            budget_exchanges: 500_000_000,
            cases,
            one_to_one: None,
            exchanges: 1,
            wall_seconds: 1.0,
            exchanges_per_second: 1.0,
            peak_rss_bytes: None,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn the_sentence_names_the_largest_and_compares_with_the_smallest() {
        let fast = Some(40.9e6);
        let cases = vec![case(32, 0.12, Some(38.9e6)), case(2, 0.0, fast)];
        assert_eq!(
            sentence(&answer(cases)),
            "With 32 processors each waits 12 % of the time for late partners; throughput per processor falls \
             from 40.9 to 38.9 MB/s."
        );
        assert_eq!(
            sentence(&answer(vec![case(2, 0.0, fast)])),
            "With 2 processors no processor waits for a late partner; throughput per processor is 40.9 \
             MB/s."
        );
        assert_eq!(
            sentence(&answer(vec![case(2, 0.0, fast), case(4, 0.0, fast)])),
            "With 4 processors no processor waits for a late partner; throughput per processor stays 40.9 \
             MB/s."
        );
        assert_eq!(
            sentence(&answer(vec![case(4, 0.2, None)])),
            "With 4 processors each waits 20 % of the time for late partners; an all-to-all takes 173 µs."
        );
    }

    #[test]
    fn the_budget_is_told() {
        let text = summary(&answer(vec![case(4, 0.1, None), case(4096, 0.2, None)]));
        assert!(text.contains("1,234 of 4,096 processors: the budget of 500,000,000 exchanges"), "{text}");
        assert!(!text.contains("1,234 of 4 processors"), "{text}");
    }
}
