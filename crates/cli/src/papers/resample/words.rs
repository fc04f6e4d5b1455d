//! The result of `resample` as text: a sentence, then tables.

use crate::papers::resample::answer::{CaseAnswer, Comparison, ResampleAnswer};
use crate::papers::resample::page;
use straggler_model::Time;
use straggler_model::stats::Summary;
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent, rounded, seconds, significant};

pub fn summary(answer: &ResampleAnswer) -> String {
    let mut text = sentence(answer) + "\n\n";
    text += &format!("Total time of an all-to-all\n\n{}\n", page::totals(answer));
    text += &format!("Idle time of a processor\n\n{}\n", page::idle(answer));
    if let Some(found) = &answer.one_to_one {
        text +=
            &format!("One exchange of two processors\n\n{}\n{}\n\n", page::one_to_one(found), verdict(found));
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
