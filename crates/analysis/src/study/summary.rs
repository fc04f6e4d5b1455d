//! Summarises the replicas of a point, and finds where noise becomes the bottleneck of a series.

use crate::inflection::{Slowdown, inflection_point};
use straggler_model::Time;
use straggler_model::stats::CONFIDENCE;
use straggler_model::stats::{BoxPlot, Quantile, QuantileError, quantile_with_interval};
use straggler_model::study::{Coordinates, PointResult, Results};

/// Statistics of a point, times in picoseconds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Summary {
    pub point: Coordinates,
    pub quiet_ps: u64,
    #[serde(flatten)]
    pub times: BoxPlot,
    /// The interval of the median; none for fewer than 6 replicas.
    pub median_interval: Option<Quantile<u64>>,
    /// T / T0 − 1; none for fewer than 6 replicas.
    pub slowdown: Option<Slowdown>,
    /// T / T0 − 1 of the median, for any number of replicas.
    pub median_slowdown: f64,
    pub largest_slowdown: f64,
    #[serde(skip)]
    sorted: Vec<u64>,
}

impl Summary {
    /// None without replicas.
    pub fn new(result: &PointResult) -> Option<Summary> {
        let mut sorted: Vec<u64> = result.makespans.iter().map(|time| time.ps()).collect();
        sorted.sort_unstable();
        let times = BoxPlot::of_sorted(&sorted)?;
        let slowdown = |ps: u64| straggler_model::stats::slowdown(Time(ps), result.quiet);
        Some(Summary {
            point: result.point.clone(),
            quiet_ps: result.quiet.ps(),
            median_interval: quantile_with_interval(&sorted, 0.5, CONFIDENCE).ok(),
            slowdown: Slowdown::new(&result.slowdowns()),
            median_slowdown: slowdown(times.median),
            largest_slowdown: slowdown(times.max),
            times,
            sorted,
        })
    }

    /// A quantile of the makespans, in picoseconds, if there are enough of them for an interval.
    pub fn quantile(&self, q: f64) -> Result<Quantile<u64>, QuantileError> {
        quantile_with_interval(&self.sorted, q, CONFIDENCE)
    }

    /// How much longer the longest run took than the quiet one.
    pub fn largest_loss(&self) -> Time {
        Time(self.times.max).since(Time(self.quiet_ps))
    }

    /// All makespans, ascending.
    pub fn sorted_ps(&self) -> &[u64] {
        &self.sorted
    }
}

/// Points that differ only in the number of processes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Series {
    /// The smallest number of processes for which the whole interval of the median slowdown lies
    /// above the threshold.
    pub inflection: Option<u32>,
    /// By ascending number of processes.
    pub points: Vec<Summary>,
}

/// All series of a study, in the order of its points.
pub fn series(results: &Results, threshold: f64) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for summary in results.points.iter().filter_map(Summary::new) {
        // The points of a series are adjacent.
        let last = all.last_mut().filter(|series| {
            series.points.last().is_some_and(|other| other.point.same_series(&summary.point))
        });
        match last {
            Some(series) => series.points.push(summary),
            None => all.push(Series { inflection: None, points: vec![summary] }),
        }
    }
    for series in &mut all {
        let slowdowns = series.points.iter().filter_map(|all| Some((all.point.processes, all.slowdown?)));
        series.inflection = inflection_point(&slowdowns.collect::<Vec<_>>(), threshold);
    }
    all
}

impl Series {
    /// The coordinates common to all points.
    pub fn coordinates(&self) -> Option<&Coordinates> {
        self.points.first().map(|summary| &summary.point)
    }

    /// The point at the largest scale.
    pub fn largest(&self) -> Option<&Summary> {
        self.points.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(processes: u32, seed: u64, factor: u64) -> PointResult {
        let point = Coordinates {
            sweep: String::new(),
            workload: "barrier".into(),
            size: Some(1),
            network: "chic".into(),
            network_scale: 1.0,
            noise: "chic".into(),
            cosched: false,
            seed,
            processes,
        };
        let makespans = (0..20).map(|value| Time(100 * factor + value)).collect();
        PointResult { point, quiet: Time(100), makespans }
    }

    #[test]
    fn series_and_where_they_bend() {
        let points = vec![point(2, 1, 1), point(4, 1, 2), point(8, 1, 3), point(2, 2, 1), point(4, 2, 1)];
        let all = series(&Results { points }, 0.5);
        assert_eq!(all.iter().map(|series| series.points.len()).collect::<Vec<_>>(), [3, 2]);
        assert_eq!((all[0].inflection, all[1].inflection), (Some(4), None));
        let last = all[0].largest().unwrap();
        assert_eq!((last.times.median, last.times.max, last.median_slowdown), (309, 319, 2.09));
        let slowdown = last.slowdown.unwrap();
        assert_eq!((slowdown.median, slowdown.largest), (2.09, 2.19));
        let fault = last.quantile(0.99).unwrap_err().to_string();
        assert!(fault.contains("368") && fault.contains("20"), "{fault}");
        assert_eq!(last.quantile(0.5).ok(), last.median_interval);
    }

    #[test]
    fn one_replica_has_no_interval() {
        let alone = PointResult { makespans: vec![Time(150)], ..point(2, 1, 1) };
        let summary = Summary::new(&alone).unwrap();
        assert_eq!((summary.median_interval, summary.slowdown, summary.median_slowdown), (None, None, 0.5));
        assert_eq!(Summary::new(&PointResult { makespans: vec![], ..alone }), None);
    }
}
