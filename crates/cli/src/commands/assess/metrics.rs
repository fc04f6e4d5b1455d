//! An assessment as metrics.

use super::Report;
use crate::metrics::{Metric, slowdown};

pub fn of(report: &Report) -> Vec<Metric> {
    let mut metrics = vec![Metric::new(&slowdown::NOISE_SHARE, report.subject.noise.share())];
    for curve in &report.answer.curves {
        metrics.extend(curve.points.iter().map(|point| {
            let found = point.slowdown;
            slowdown::metric(&curve.name, point.processes, found.median).within(found.low, found.high)
        }));
        let searched = curve.points.last().map_or(0, |point| point.processes);
        metrics.push(slowdown::inflection(&curve.name, curve.inflection, searched));
    }
    metrics
}
