//! The page of a study: box plots over processes, slowdowns with their intervals, distributions at the largest
//! scale, and all numbers as a table.

use crate::kernel::prelude::*;
use crate::noise::file::has_drawn_source;
use crate::study::answer::{self, labels};
use crate::study::file::{About, read_results};
use straggler_analysis::inflection::THRESHOLD;
use straggler_analysis::study::{Series, Summary, series};
use straggler_model::stats::CONFIDENCE;
use straggler_report::numbers::SLOWDOWN_LEGEND;
use straggler_report::page::{BoxSeries, Boxes, Distribution, Line, Lines, Mark, Role, Sample, Scale, Table};

/// Most series in one chart; more are split by workload.
const TOGETHER: usize = 4;

/// Most outliers drawn per box: the largest ones.
const MOST_OUTLIERS: usize = 500;

/// If a slowdown exceeds this many times the threshold, the axis is logarithmic.
const WIDE: f64 = 20.0;

/// A series and its name.
type Named<'a> = (&'a Series, String);

/// The page of the results in a file.
pub fn page_of_results(path: &Path) -> Outcome<Page> {
    let (name, results, about) = read_results(path)?;
    Ok(page(&name, "", &series(&results, THRESHOLD), &about, THRESHOLD, &command_line()))
}

pub fn page(
    name: &str,
    description: &str,
    all: &[Series],
    about: &About,
    threshold: f64,
    command: &str,
) -> Page {
    let named: Vec<Named<'_>> = all.iter().zip(labels(all)).collect();
    let sections: Vec<Section> = groups(&named)
        .into_iter()
        .map(|(title, group)| {
            let group = without_title(&title, group);
            let mut section = section(title, &group, threshold, command);
            section.add(points(&group, about, command));
            section
        })
        .collect();
    let mut summary = answer::verdict(all, about, threshold);
    if !description.is_empty() {
        summary.insert(summary.len().min(1), description.into());
    }
    let mut page = pages::page(name, summary, sections);
    page.facts.add("Slowdown", "+17 % is 17 % longer than without noise; 3.4× is 3.4 times as long");
    page.facts.add("Intervals", format!("{} confidence, from order statistics", percent(CONFIDENCE)));
    for fitted in &about.fitted {
        page.facts.add(format!("Network fitted to the trace {}", fitted.trace), fitted.network.parameters());
    }
    page
}

/// Series that are drawn together, with their common title.
fn groups<'a, 'b>(named: &'b [Named<'a>]) -> Vec<(String, &'b [Named<'a>])> {
    if named.len() <= TOGETHER {
        return vec![("Results".into(), named)];
    }
    let title = |(series, _): &Named<'_>| title(series);
    let parts = named.chunk_by(|one, other| title(one) == title(other));
    parts.map(|part| (part.first().map_or_else(String::new, title), part)).collect()
}

/// The series of a section, by what their names add to its title.
fn without_title<'a>(title: &str, group: &[Named<'a>]) -> Vec<Named<'a>> {
    let rest =
        |name: &str| name.strip_prefix(title).and_then(|rest| rest.strip_prefix(", ")).map(String::from);
    group.iter().map(|(series, name)| (*series, rest(name).unwrap_or_else(|| name.clone()))).collect()
}

fn title(series: &Series) -> String {
    series.coordinates().map_or_else(String::new, |at| {
        let size = at.size.map(straggler_model::units::write_bytes);
        let parts = [(!at.sweep.is_empty()).then(|| at.sweep.clone()), Some(at.workload.clone()), size];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    })
}

fn section(title: String, group: &[Named<'_>], threshold: f64, command: &str) -> Section {
    let synthetic = group.iter().any(|(series, _)| is_synthetic(series));
    let mut section = Section::new(title);
    section.add(boxes(group, command).synthetic(synthetic));
    section.add(slowdowns(group, threshold, command).synthetic(synthetic));
    section.add(distributions(group, command).synthetic(synthetic));
    section
}

/// Whether the noise is synthetic.
fn is_synthetic(series: &Series) -> bool {
    series.coordinates().is_some_and(|at| at.noise.parse().is_ok_and(|noise| has_drawn_source(&noise)))
}

fn seconds(ps: u64) -> f64 {
    Time(ps).seconds()
}

fn column(series: &Series, of: impl Fn(&Summary) -> f64) -> Vec<f64> {
    series.points.iter().map(of).collect()
}

fn processes(series: &Series) -> Vec<f64> {
    column(series, |summary| summary.point.processes.into())
}

fn boxes(group: &[Named<'_>], command: &str) -> Chart {
    let series = group.iter().map(|(series, name)| {
        let outliers = series.points.iter().flat_map(|summary| {
            let all = &summary.times.outliers;
            let shown = all.iter().skip(all.len().saturating_sub(MOST_OUTLIERS));
            shown.map(move |&time| (f64::from(summary.point.processes), seconds(time)))
        });
        let (outlier_x, outlier_y) = outliers.unzip();
        let end = |summary: &Summary, low: bool| {
            let interval = summary.median_interval.map(|all| if low { all.low } else { all.high });
            interval.map_or(f64::NAN, seconds)
        };
        BoxSeries {
            name: name.clone(),
            x: processes(series),
            low: column(series, |summary| seconds(summary.times.low)),
            q1: column(series, |summary| seconds(summary.times.q1)),
            median: column(series, |summary| seconds(summary.times.median)),
            q3: column(series, |summary| seconds(summary.times.q3)),
            high: column(series, |summary| seconds(summary.times.high)),
            count: column(series, |summary| summary.times.count as f64),
            median_low: column(series, |summary| end(summary, true)),
            median_high: column(series, |summary| end(summary, false)),
            outlier_x,
            outlier_y,
            reference: Some(column(series, |summary| seconds(summary.quiet_ps))),
        }
    });
    let y = Axis::new("time", Unit::Seconds, Scale::Log10);
    let plot = Boxes { x: Axis::processes(), y, series: series.collect() };
    let many = group.iter().flat_map(|(series, _)| &series.points);
    let many = many.filter(|summary| summary.times.outliers.len() > MOST_OUTLIERS).count();
    let cut = match many {
        0 => String::new(),
        _ => format!(" For {many} boxes only the {MOST_OUTLIERS} largest outliers are drawn."),
    };
    let note = format!(
        "Box: quartiles. Line: median; the dark band is its interval of {} confidence. Whiskers: farthest run within 1.5 \
         interquartile ranges. Dots: runs beyond the whiskers.{cut}",
        percent(CONFIDENCE)
    );
    Chart::new("Makespan", command, plot).with_note(note)
}

fn slowdowns(group: &[Named<'_>], threshold: f64, command: &str) -> Chart {
    let line = |(series, name): &Named<'_>| {
        let end = |summary: &Summary, low: bool| {
            summary.slowdown.map_or(f64::NAN, |all| if low { all.low } else { all.high })
        };
        Line {
            name: name.clone(),
            role: Role::Simulated,
            x: processes(series),
            y: column(series, |summary| summary.median_slowdown),
            low: Some(column(series, |summary| end(summary, true))),
            high: Some(column(series, |summary| end(summary, false))),
        }
    };
    let mut marks = vec![Mark { x: None, y: Some(threshold), name: Unit::Slowdown.brief(threshold) }];
    marks.extend(group.iter().filter_map(|(series, name)| {
        let x = f64::from(series.inflection?);
        Some(Mark { x: Some(x), y: None, name: format!("{}: bottleneck", short_name(name, group)) })
    }));
    // On a linear axis, a slowdown of ten percent is invisible beside one of thousands.
    let largest = group.iter().flat_map(|(series, _)| &series.points).map(|summary| summary.median_slowdown);
    let wide = largest.fold(0.0, f64::max) > WIDE * threshold;
    let scale = if wide { Scale::Log10 } else { Scale::Linear };
    let cut = if wide { " Points without slowdown are omitted from the logarithmic axis." } else { "" };
    let plot = Lines {
        x: Axis::processes(),
        y: Axis::slowdown(scale),
        series: group.iter().map(line).collect(),
        marks,
    };
    Chart::new("Median slowdown", command, plot).with_note(format!(
        "With its interval of {} confidence. The inflection point is the smallest number of processes whose interval \
         lies above {}.{cut}",
        percent(CONFIDENCE),
        percent(threshold)
    ))
}

/// The first part of a name if it is unique in the group, because full names are long.
fn short_name<'a>(name: &'a str, group: &[Named<'_>]) -> &'a str {
    let first = |name: &'a str| name.split(", ").next().unwrap_or(name);
    let is_same = |(_, other): &&Named<'_>| other.split(", ").next() == Some(first(name));
    if group.iter().filter(is_same).count() == 1 { first(name) } else { name }
}

fn distributions(group: &[Named<'_>], command: &str) -> Chart {
    let sample = |(series, name): &Named<'_>| {
        let largest = series.largest()?;
        let values = largest.sorted_ps().iter().map(|&ps| seconds(ps)).collect();
        let name = format!("{name}, {} processes", grouped(largest.point.processes));
        Some(Sample { name, values, sum: false })
    };
    let x = Axis::new("time", Unit::Seconds, Scale::Log10);
    let plot = Distribution { x, series: group.iter().filter_map(sample).collect(), marks: Vec::new() };
    Chart::new("Distribution of the replicas at the largest scale", command, plot)
}

fn points(group: &[Named<'_>], about: &About, command: &str) -> Table {
    let named: Vec<_> =
        group.iter().map(|(series, name)| (*series, name.as_str(), about.copies(series))).collect();
    answer::points(&named, &[]).titled("All points", command).with_note(format!(
        "{SLOWDOWN_LEGEND} Medians and quartiles are actual runs; of two middle runs, the lower."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_analysis::study::{Coordinates, PointResult, Results, series};
    use straggler_report::page::Plot;

    fn results() -> Results {
        let point = |noise: &str, processes: u32, factor: u64| PointResult {
            point: Coordinates {
                sweep: String::new(),
                workload: "barrier".into(),
                size: Some(1),
                network: "chic".into(),
                network_scale: 1.0,
                noise: noise.into(),
                cosched: false,
                seed: 1,
                processes,
            },
            quiet: Time(1_000_000),
            makespans: (0..21).map(|run| Time(1_000_000 * factor + run)).collect(),
        };
        let points =
            vec![point("chic", 2, 1), point("chic", 4, 3), point("a.noise", 2, 1), point("a.noise", 4, 1)];
        Results { points }
    }

    #[test]
    fn what_is_drawn_is_what_was_found() {
        let all = series(&results(), 0.1);
        let page = page("name", "why", &all, &About::default(), 0.1, "straggler study run s.toml");
        assert!(
            page.summary[0].starts_with("noise chic: ") && page.summary[1] == "why",
            "{:?}",
            page.summary
        );
        let charts: Vec<&Chart> = page.charts().collect();
        assert!(charts.iter().all(|chart| chart.synthetic && chart.command == "straggler study run s.toml"));
        let [Plot::Boxes(boxes), Plot::Lines(lines), Plot::Distribution(samples)] =
            [&charts[0].plot, &charts[1].plot, &charts[2].plot]
        else {
            panic!("{charts:?}")
        };
        assert!(
            charts[0].note.contains("the dark band is its interval of 95 % confidence"),
            "{}",
            charts[0].note
        );
        let first = &boxes.series[0];
        assert_eq!(first.x, [2.0, 4.0]);
        assert_eq!(first.median, [Time(1_000_010).seconds(), Time(3_000_010).seconds()]);
        assert_eq!(first.reference.as_deref(), Some(&[Time(1_000_000).seconds(); 2][..]));
        assert_eq!(lines.series[0].y[1], 3_000_010.0 / 1e6 - 1.0);
        let upright: Vec<_> = lines.marks.iter().filter_map(|mark| mark.x).collect();
        assert_eq!((upright, lines.marks[0].y), (vec![4.0], Some(0.1)));
        assert_eq!(samples.series[1].values.len(), 21);
        assert!(samples.series[1].name.contains("a.noise"), "{}", samples.series[1].name);
    }

    #[test]
    fn measured_noise_is_not_called_synthetic() {
        let mut results = results();
        results.points.retain(|point| point.point.noise == "a.noise");
        let page = page("name", "", &series(&results, 0.1), &About::default(), 0.1, "");
        assert!(page.charts().all(|chart| !chart.synthetic));
    }
}
