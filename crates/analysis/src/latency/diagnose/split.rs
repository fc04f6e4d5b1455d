//! Whether modes split by pair: does each pair have one mode, or do all pairs have all modes?

use super::WEIGHTY;
use crate::latency::pairs::different;
use crate::latency::{Distribution, Mode};
use serde::Serialize;
use straggler_model::latency::Series;

/// How the pairs share the modes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PairSplit {
    pub kind: SplitKind,
    /// The valley between the modes.
    pub at_ps: f64,
    pub centres_ps: [f64; 2],
    /// Pairs with 90 % of their trials below the valley, above it, and other pairs.
    pub fast: usize,
    pub slow: usize,
    pub both: usize,
}

/// How the trials of pairs divide into modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitKind {
    /// Nearly every pair is in one mode: the cause depends on the pair.
    ByPair,
    /// Every pair is in both modes: the cause acts on every pair.
    WithinPairs,
    /// Neither.
    Mixed,
}

/// A pair belongs to a mode if the mode holds this share of its trials.
const PURE: f64 = 0.9;
/// The share of pairs needed for a verdict.
const MOST: f64 = 0.8;

/// Uses the two heaviest modes. None for a single mode or fewer than two pairs: one pair shows nothing about pairs.
pub fn find(modes: &[Mode], pairs: &[Series]) -> Option<PairSplit> {
    let mut heavy: Vec<&Mode> = modes.iter().filter(|mode| mode.weight >= WEIGHTY).collect();
    heavy.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    heavy.truncate(2);
    heavy.sort_by(|a, b| a.centre_ps.total_cmp(&b.centre_ps));
    let [lower, upper] = heavy[..] else { return None };
    let at_ps = upper.low_ps;
    let shares: Vec<f64> = pairs
        .iter()
        .filter_map(|series| Distribution::from_histogram(&series.trials))
        .map(|distribution| distribution.share_below(at_ps))
        .collect();
    if different(pairs) < 2 {
        return None;
    }
    let fast = shares.iter().filter(|&&below| below >= PURE).count();
    let slow = shares.iter().filter(|&&below| below <= 1.0 - PURE).count();
    let both = shares.len() - fast - slow;
    let part = |count: usize| count as f64 / shares.len() as f64;
    // With a rare mode, every pair is 90 % pure; then check whether all pairs have a similar share of it.
    let mean = 1.0 - shares.iter().sum::<f64>() / shares.len() as f64;
    let alike =
        shares.iter().filter(|&&below| (0.25..=4.0).contains(&((1.0 - below) / mean.max(1e-9)))).count();
    let kind = match () {
        () if fast > 0 && slow > 0 && part(fast + slow) >= MOST => SplitKind::ByPair,
        () if part(both) >= MOST || part(alike) >= MOST => SplitKind::WithinPairs,
        () => SplitKind::Mixed,
    };
    Some(PairSplit { kind, at_ps, centres_ps: [lower.centre_ps, upper.centre_ps], fast, slow, both })
}
