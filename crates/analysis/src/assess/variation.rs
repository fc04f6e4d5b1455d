//! How much the answer depends on when the noise was measured.
//!
//! A recording is cut into consecutive parts of equal length, and each is simulated as if it were the whole recording.
//! If they differ, one measurement does not represent the node, only that moment.

use super::curve::slowdowns;
use super::{Asked, AssessError, Curve, Noise, Point, Question};
use crate::inflection::LEAST_REPLICAS;
use serde::Serialize;
use straggler_model::Time;
use straggler_model::stats::quantile_of_sorted;

/// A recording is cut into this many parts.
pub const PARTS: u64 = 5;

/// The scale of the comparison: a small job, or the next smaller scale that was simulated.
pub(super) const PROCESSES: u32 = 1024;

/// Replicas of each part.
pub(super) const REPLICAS: u32 = 2 * LEAST_REPLICAS;

/// The parts of a recording, each simulated as if it were the whole.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Variation {
    pub processes: u32,
    /// In the order in which they were measured.
    pub parts: Vec<Part>,
    /// The source whose share of the time differs most between the parts.
    pub varies_most: Option<String>,
    /// The length of one part.
    pub part_seconds: f64,
}

/// One of the consecutive parts of a recording, simulated as if it were all of it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Part {
    /// Share of the time lost to noise.
    pub share: f64,
    pub median_slowdown: f64,
}

impl Variation {
    /// The least and the largest median slowdown of the parts.
    pub fn range(&self) -> (f64, f64) {
        let medians = || self.parts.iter().map(|part| part.median_slowdown);
        (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max))
    }

    /// The relative standard error of the mean slowdown with this many parts like these.
    pub fn relative_error(&self, parts: f64) -> f64 {
        let count = self.parts.len().max(2) as f64;
        let mean = self.parts.iter().map(|part| part.median_slowdown).sum::<f64>() / count;
        let squares: f64 = self.parts.iter().map(|part| (part.median_slowdown - mean).powi(2)).sum();
        (squares / (count - 1.0)).sqrt() / parts.max(1.0).sqrt() / mean.max(f64::MIN_POSITIVE)
    }
}

impl Question<'_> {
    pub(super) fn variation(&self, asked: &Asked, curve: &Curve) -> Result<Option<Variation>, AssessError> {
        let scales = asked.scales.iter().zip(&curve.points);
        let suits = |point: &Point| point.processes <= PROCESSES && self.has_time_for_parts(point);
        let Some((workload, point)) = scales.rev().find(|(_, point)| suits(point)) else {
            return Ok(None);
        };
        let Some(measured) = self.noise.measured else { return Ok(None) };
        let noises: Vec<Noise> = (0..PARTS).map(|index| self.noise.part(index, PARTS)).collect();
        let mut parts = Vec::with_capacity(noises.len());
        for (part, noise) in (0..).zip(&noises) {
            let ahead = workload.messages().saturating_mul((PARTS - part) * u64::from(REPLICAS));
            self.begin("one part of the measurement", point.processes, ahead);
            let makespans = self.makespans(workload, &noise.sources(&[])?, 0..REPLICAS)?;
            let mut found = slowdowns(Time(point.quiet_ps), &makespans);
            found.sort_unstable_by(f64::total_cmp);
            let median_slowdown = quantile_of_sorted(&found, 0.5).unwrap_or(0.0);
            parts.push(Part { share: noise.share(), median_slowdown });
        }
        let cores = self.noise.streams.len().max(1) as f64;
        let part_seconds = measured.seconds() / cores / PARTS as f64;
        let varies_most = varies_most(&noises);
        Ok(Some(Variation { processes: point.processes, parts, varies_most, part_seconds }))
    }
}

fn varies_most(parts: &[Noise]) -> Option<String> {
    let causes = &parts.first()?.causes;
    let range = |id: u16| {
        let shares: Vec<f64> = parts.iter().map(|part| part.share_of(id)).collect();
        shares.iter().copied().fold(0.0, f64::max) - shares.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let ranges = (0u16..).zip(causes).map(|(id, cause)| (range(id), cause));
    let (range, cause) = ranges.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (range > 0.0).then(|| cause.name.clone())
}
