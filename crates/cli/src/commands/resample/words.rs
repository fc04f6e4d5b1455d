//! The result of `resample` for people: a sentence, then tables.

use super::answer::{Answer, CaseAnswer, Comparison};
use straggler_model::Time;
use straggler_model::stats::Summary;
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent, rounded, seconds, significant};

pub fn say(answer: &Answer) -> String {
    let mut text = sentence(answer) + "\n\n";
    text += &format!("Total time of an all-to-all\n\n{}\n", totals(answer));
    text += &format!("Idle time of a processor\n\n{}\n", idle(answer));
    if let Some(found) = &answer.one_to_one {
        text += &format!("One exchange of two processors\n\n{}\n{}\n\n", one_to_one(found), verdict(found));
    } else {
        text += "Whether the interrupts are those of the machine shows with --measured FILE.\n\n";
    }
    text + &circumstances(answer).to_string()
}

/// "With 32 processors each waits 12 % of the time for late partners; throughput per processor falls from
/// 5.93 to 4.61 MB/s."
fn sentence(answer: &Answer) -> String {
    let Some((few, many)) = answer.extremes() else { return String::new() };
    let processors = grouped(many.processes);
    let waiting = match many.idle_share {
        0.0 => format!("With {processors} processors nobody waits for a late partner"),
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

const QUANTILES: [&str; 7] = ["min", "1 %", "25 %", "50 %", "75 %", "99 %", "max"];

/// Mean, standard deviation and quantiles.
fn cells(summary: &Summary) -> Vec<String> {
    let Summary { min, p1, p25, median, p75, p99, max, .. } = *summary;
    let (middle, spread) = (summary.mean.round() as u64, summary.sd.round() as u64);
    [middle, spread, min, p1, p25, median, p75, p99, max].map(|ps| Time(ps).to_string()).to_vec()
}

fn totals(answer: &Answer) -> Table {
    let speeds = answer.size_bytes.map(|_| ["MB/s", "of the slowest"]).into_iter().flatten();
    let header = ["processors", "samples", "mean", "sd"].into_iter().chain(QUANTILES).chain(speeds);
    let mut table = Table::with_header(header);
    for case in &answer.cases {
        let Some(total) = &case.total_ps else { continue };
        let speeds = [case.throughput_bytes_per_second, case.slowest_throughput_bytes_per_second];
        let speeds = speeds.into_iter().flatten().map(|speed| format!("{:.3}", speed / 1e6));
        let first = [grouped(case.processes), grouped(case.samples)];
        table.row(first.into_iter().chain(cells(total)).chain(speeds));
    }
    table
}

fn idle(answer: &Answer) -> Table {
    let header = ["processors", "whose", "never idle", "share", "mean", "sd"].into_iter().chain(QUANTILES);
    let mut table = Table::with_header(header).text(1);
    for case in &answer.cases {
        let total = case.total_ps.map_or(1.0, |total| total.mean);
        let first = case.processors.first().map_or(0.0, |first| first.never_idle_share);
        let rows =
            [("all", case.never_idle(), case.idle_ps), ("processor 0", first, case.idle_ps_of_processor_0)];
        for (whose, never, summary) in rows {
            let Some(summary) = summary else { continue };
            let front =
                [grouped(case.processes), whose.into(), percent(never), percent(summary.mean / total)];
            table.row(front.into_iter().chain(cells(&summary)));
        }
    }
    table
}

fn one_to_one(found: &Comparison) -> Table {
    let mut table = Table::with_header(["", "values", "mean", "sd"].into_iter().chain(QUANTILES));
    for (name, summary) in [("measured", &found.measured_ps), ("resampled", &found.resampled_ps)] {
        let front = [name.to_string(), grouped(summary.count as u64)];
        table.row(front.into_iter().chain(cells(summary)));
    }
    table
}

fn verdict(found: &Comparison) -> String {
    let alike = if found.distance <= found.chance_distance { "no more" } else { "more" };
    format!(
        "Measured times ({}) and resampled ones differ in their distribution functions by at most {:.4}\n\
         (Kolmogorov-Smirnov), {alike} than chance explains, which stays below {:.4} in 99 of 100 cases.",
        found.file, found.distance, found.chance_distance
    )
}

fn circumstances(answer: &Answer) -> Table {
    let mut table = Table::new().text(1);
    let times = counted(answer.times_count as u64, "time", "times");
    let synthetic = if answer.synthetic { ", synthetic" } else { "" };
    table.row(["drawn from".to_string(), format!("{times} in {}{synthetic}", answer.times)]);
    table.row(["noise", &answer.noise]);
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

    fn answer(cases: Vec<CaseAnswer>) -> Answer {
        Answer {
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
            "With 2 processors nobody waits for a late partner; throughput per processor is 40.9 MB/s."
        );
        assert_eq!(
            sentence(&answer(vec![case(2, 0.0, fast), case(4, 0.0, fast)])),
            "With 4 processors nobody waits for a late partner; throughput per processor stays 40.9 MB/s."
        );
        assert_eq!(
            sentence(&answer(vec![case(4, 0.2, None)])),
            "With 4 processors each waits 20 % of the time for late partners; an all-to-all takes 173 µs."
        );
    }

    #[test]
    fn the_budget_is_told() {
        let text = say(&answer(vec![case(4, 0.1, None), case(4096, 0.2, None)]));
        assert!(text.contains("1,234 of 4,096 processors: the budget of 500,000,000 exchanges"), "{text}");
        assert!(!text.contains("1,234 of 4 processors"), "{text}");
    }
}
