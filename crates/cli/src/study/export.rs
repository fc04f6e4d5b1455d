//! `straggler study export`: all replicas or a summary of each point, as a file for other programs.

use crate::kernel::console::{Console, to_json};
use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::interrupt::Orderly;
use crate::study::args::Export;
use crate::study::file::read_results;
use std::fmt::Write;
use straggler_analysis::study::{Series, Summary, series};
use straggler_report::numbers::counted;
use straggler_report::study_results::{Format, csv_place};
use straggler_report::{replace_file, study_results};

pub fn run(typed: &Export, console: &Console) -> Outcome<()> {
    let format = typed.format()?;
    let (_, results, _) = read_results(&typed.study)?;
    let _orderly = Orderly::begin();
    let rows = if typed.summary {
        let all = series(&results, typed.threshold);
        let text = match format {
            Format::Csv => csv(&all),
            Format::Json => to_json(&all)?,
            Format::Parquet => return Err(Failure::usage("--summary is written as .csv or .json")),
        };
        replace_file(&typed.output, |out| out.write_all(text.as_bytes()))?;
        results.points.len()
    } else {
        study_results::write(&typed.output, format, &results)?;
        results.points.iter().map(|point| point.makespans.len()).sum()
    };
    if console.json {
        return console.print_json(&serde_json::json!({ "output": typed.output, "rows": rows }));
    }
    let each = if typed.summary { "one for each point" } else { "one for each point and replica" };
    console.note(&format!("{} in {}: {each}", counted(rows as u64, "row", "rows"), typed.output.display()));
    Ok(())
}

const HEADER: &str = "sweep,workload,size,processes,network,network_scale,noise,cosched,seed,replicas,quiet_ps,median_ps,\
    median_low_ps,median_high_ps,q1_ps,q3_ps,whisker_low_ps,whisker_high_ps,min_ps,max_ps,outliers,slowdown,slowdown_low,\
    slowdown_high,slowdown_max,is_inflection";

fn csv(all: &[Series]) -> String {
    let mut text = format!("{HEADER}\n");
    for series in all {
        for summary in &series.points {
            let inflection = series.inflection == Some(summary.point.processes);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{},{inflection}", row(summary));
        }
    }
    text
}

fn row(summary: &Summary) -> String {
    fn or_empty(value: Option<impl ToString>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    let times = &summary.times;
    let median = summary.median_interval;
    let slowdown = summary.slowdown;
    [
        csv_place(&summary.point),
        times.count.to_string(),
        summary.quiet_ps.to_string(),
        times.median.to_string(),
        or_empty(median.map(|median| median.low)),
        or_empty(median.map(|median| median.high)),
        times.q1.to_string(),
        times.q3.to_string(),
        times.low.to_string(),
        times.high.to_string(),
        times.min.to_string(),
        times.max.to_string(),
        times.outliers.len().to_string(),
        summary.median_slowdown.to_string(),
        or_empty(slowdown.map(|slowdown| slowdown.low)),
        or_empty(slowdown.map(|slowdown| slowdown.high)),
        summary.largest_slowdown.to_string(),
    ]
    .join(",")
}
