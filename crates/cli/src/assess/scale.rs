//! The largest simulated scale, and the points that were not simulated.

use crate::assess::{Report, again};
use crate::kernel::memory::{in_words, seconds_for};
use straggler_analysis::assess::{Curve, Why};
use straggler_report::numbers::grouped;

/// The largest scale of each curve, and whether more was requested.
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
        return format!("{text}; {} were requested", grouped(wanted(report)));
    }
    text
}

/// The largest requested scale.
fn wanted(report: &Report) -> u32 {
    match report.program {
        Some(_) => report.processes,
        None => 1 << report.processes.max(1).ilog2(),
    }
}

/// Which curves ended before the largest scale, and why.
pub fn ended_early(report: &Report) -> Vec<String> {
    let separate = report.answer.curves.iter().filter(|curve| curve.same_as.is_none());
    let again = report.noise_file.as_ref().map(|path| format!(": {}", again(path))).unwrap_or_default();
    let limit = Limit { threads: report.threads, seconds: report.simulation_seconds, again };
    separate.filter_map(|curve| left_out(curve, &limit)).collect()
}

/// The limit that bounded the simulations.
struct Limit {
    threads: usize,
    seconds: f64,
    /// The command to simulate elsewhere or later.
    again: String,
}

/// Points not simulated for a curve, and the time they would have taken.
fn left_out(curve: &Curve, limit: &Limit) -> Option<String> {
    let left_out = curve.left_out?;
    let name = &curve.name;
    let simulated = grouped(curve.points.last().map_or(0, |point| point.processes));
    let asked = grouped(left_out.processes);
    let more = match seconds_for(left_out.messages as f64, limit.threads) {
        seconds if seconds < 1.0 => in_words(seconds),
        seconds => format!("about {}", in_words(seconds)),
    };
    Some(match left_out.why {
        Why::Noise => format!(
            "Not simulated: {name} on more than {simulated} processes. So much noise makes the simulation \
             slow: the requested {asked} processes would take {more} more."
        ),
        Why::Time => format!(
            "Not simulated: {name} on more than {simulated} processes. This machine is busy or slow: {name} \
             has used up its share of the {} for simulations. The requested {asked} processes would take \
             {more} more on an idle machine{}.",
            in_words(limit.seconds),
            limit.again
        ),
    })
}

/// Whether sources were ranked at a smaller scale than the largest.
pub fn smaller_scale(report: &Report) -> Option<String> {
    let largest = report.answer.curves.first()?.points.last()?.processes;
    let Some(ranked) = report.answer.rankings.last().map(|ranking| ranking.processes) else {
        return Some("the removal of sources was not simulated: it would take too long".into());
    };
    (ranked < largest).then(|| {
        format!(
            "the removal of sources was simulated at {} processes, because at {} it would take too long",
            grouped(ranked),
            grouped(largest)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_analysis::assess::LeftOut;

    /// Six replicas of a million processes, each message at eleven times its cost: about a minute, as measured.
    #[test]
    fn what_was_left_out_is_said_with_its_time_and_why() {
        let of = |why| Curve {
            name: "allreduce".into(),
            same_as: None,
            inflection: None,
            points: Vec::new(),
            left_out: Some(LeftOut { processes: 1 << 20, messages: (6 * 20 * 11) << 20, why }),
        };
        let limit = Limit { threads: 2, seconds: 40.0, again: ": straggler assess n".into() };
        let text = left_out(&of(Why::Noise), &limit).unwrap();
        assert!(
            text.contains("the requested 1,048,576 processes would take about 69 seconds more."),
            "{text}"
        );
        let text = left_out(&of(Why::Time), &limit).unwrap();
        assert!(
            text.contains("busy or slow: allreduce has used up its share of the 40 seconds for simulations"),
            "{text}"
        );
        assert!(text.contains("more on an idle machine: straggler assess n."), "{text}");
        assert_eq!(left_out(&Curve { left_out: None, ..of(Why::Time) }, &limit), None);
    }
}
