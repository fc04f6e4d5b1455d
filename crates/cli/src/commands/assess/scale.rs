//! Up to how many processes was simulated, and what was left out.

use super::Report;
use crate::commands::simulate::estimate::{in_words, seconds_for};
use straggler_analysis::assess::Curve;
use straggler_report::numbers::grouped;

/// The largest scale of each curve, and whether more was asked for.
pub fn largest_scale(report: &Report) -> String {
    let separate = report.answer.curves.iter().filter(|curve| curve.same_as.is_none());
    let ends: Vec<(&str, u32)> = separate
        .map(|curve| (curve.name.as_str(), curve.points.last().map_or(0, |point| point.processes)))
        .collect();
    let same = ends.iter().all(|(_, end)| ends.first().is_some_and(|(_, first)| first == end));
    let text = match ends.as_slice() {
        [(_, end), ..] if same => format!("{} processes", grouped(*end)),
        all => {
            let each = all.iter().map(|(name, end)| format!("{name} {} processes", grouped(*end)));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    if ends.iter().any(|&(_, end)| end < wanted(report)) {
        return format!("{text}; {} were asked for", grouped(wanted(report)));
    }
    text
}

/// The largest scale that was asked for.
fn wanted(report: &Report) -> u32 {
    match report.program {
        Some(_) => report.processes,
        None => 1 << report.processes.max(1).ilog2(),
    }
}

/// Which curves ended before the largest scale.
pub fn ended_early(report: &Report) -> Vec<String> {
    let separate = report.answer.curves.iter().filter(|curve| curve.same_as.is_none());
    separate.filter_map(|curve| too_long(curve, report.threads)).collect()
}

/// What was left out of a curve, and how long it would have taken.
fn too_long(curve: &Curve, threads: usize) -> Option<String> {
    let left_out = curve.left_out?;
    Some(format!(
        "{}: with so much noise more than {} processes were not simulated; the {} that were asked for would take about \
         {} more",
        curve.name,
        grouped(curve.points.last().map_or(0, |point| point.processes)),
        grouped(left_out.processes),
        in_words(seconds_for(left_out.messages as f64, threads))
    ))
}

/// Whether sources were ranked at a smaller scale than the largest.
pub fn smaller_scale(report: &Report) -> Option<String> {
    let ranked = report.answer.rankings.last()?.processes;
    let largest = report.answer.curves.first()?.points.last()?.processes;
    (ranked < largest).then(|| {
        format!(
            "the removal of sources was simulated at {} processes, not at {}, where it would take long",
            grouped(ranked),
            grouped(largest)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_analysis::assess::LeftOut;

    /// Six replicas of a million processes, each message at eleven times its cost: as measured, about a minute.
    #[test]
    fn what_was_left_out_is_said_with_its_time() {
        let left_out = Some(LeftOut { processes: 1 << 20, messages: (6 * 20 * 11) << 20 });
        let curve =
            Curve { name: "allreduce".into(), same_as: None, inflection: None, points: Vec::new(), left_out };
        let text = too_long(&curve, 2).unwrap();
        assert!(
            text.contains("the 1,048,576 that were asked for would take about 69 seconds more"),
            "{text}"
        );
        assert_eq!(too_long(&Curve { left_out: None, ..curve }, 2), None);
    }
}
