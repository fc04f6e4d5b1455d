//! What the shape of measured latencies hints at. Every hint carries the numbers it rests on.

mod peers;
mod split;
mod ticks;

pub use peers::{AbovePeers, AtPeers};
pub use split::{PairSplit, SplitKind};
pub use ticks::Ticks;

use super::groups::Group;
use super::noise::NoiseTail;
use super::pairs::{SlowPair, SlowProcess};
use super::stationarity::Steadiness;
use super::steps::Steps;
use super::{Distribution, Fits, Mode, Pairs, Stationarity, Summary, modes};
use serde::Serialize;
use straggler_model::latency::{Labels, Measurement};
use straggler_model::noise::Recording;

/// All that is said of a measurement.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Diagnosis {
    /// Those with trials.
    pub groups: Vec<GroupFound>,
    pub hints: Vec<Hint>,
    /// Series without a single trial.
    pub empty: Vec<String>,
}

/// What one distribution shows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GroupFound {
    pub name: String,
    pub labels: Labels,
    pub trials: Summary,
    /// Trials shorter than the timer's cost, which count as 0, and beyond the last bin.
    pub underflow: u64,
    pub overflow: u64,
    /// Of the least times of the cycles of each pair.
    pub minima: Option<Summary>,
    pub modes: Vec<Mode>,
    pub minima_modes: Vec<Mode>,
    pub stationarity: Stationarity,
    pub fits: Option<Fits>,
    pub steps: Option<Steps>,
    pub ticks: Option<Ticks>,
    /// The median cost of a pair of readings of the timer, where it was measured.
    pub timer_ps: Option<f64>,
    pub pairs: Option<Pairs>,
    /// How modes split by pair, where there are several of both.
    pub split: Option<PairSplit>,
    /// Where a recording of noise was given.
    pub noise: Option<NoiseTail>,
}

/// Something that may be behind the shape; `group` is a position in [`Diagnosis::groups`].
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "hint", rename_all = "kebab-case")]
pub enum Hint {
    /// A mode that is only there with more peers: resources for each peer run out.
    AbovePeers(AbovePeers),
    /// Some pairs are in one mode, some in the other, or every pair is in both.
    ModesByPair { group: usize },
    /// Times in steps: the timer is too coarse for what it measures.
    CoarseTimer { group: usize },
    /// Reading the timer costs a good part of what is measured.
    TimerCost { group: usize, share: f64 },
    /// The tail comes in steps of a timer tick: the operating system gave the processor to others.
    TickSteps { group: usize },
    /// The distribution changes over the run.
    NotSteady { group: usize },
    SlowProcess {
        group: usize,
        #[serde(flatten)]
        process: SlowProcess,
    },
    SlowPair {
        group: usize,
        #[serde(flatten)]
        pair: SlowPair,
    },
    /// Several modes, and nothing that tells where they come from.
    SeveralModes { group: usize },
    /// Noise explains the tail, or does not.
    Noise { group: usize },
}

/// From this share of the median on, the cost of the timer is worth a hint.
const TIMER_COST: f64 = 0.1;
/// Modes below this weight are part of the tail.
pub const WEIGHTY: f64 = 0.02;

impl Diagnosis {
    /// Of groups of a measurement, and of a recording of noise taken at the same time if there is one.
    pub fn of(measurement: &Measurement, groups: &[Group], noise: Option<&Recording>) -> Diagnosis {
        let empty = groups.iter().filter(|group| group.all.trials.is_empty());
        let empty = empty.map(|group| group.labels.to_string()).collect();
        let groups: Vec<GroupFound> =
            groups.iter().filter_map(|group| GroupFound::of(measurement, group, noise)).collect();
        let mut hints: Vec<Hint> = peers::find(&groups).into_iter().map(Hint::AbovePeers).collect();
        let of_group = |(index, group): (usize, &GroupFound)| group.hints(index);
        hints.extend(groups.iter().enumerate().flat_map(of_group));
        Diagnosis { groups, hints, empty }
    }
}

impl GroupFound {
    fn of(measurement: &Measurement, group: &Group, noise: Option<&Recording>) -> Option<GroupFound> {
        let distribution = Distribution::of(&group.all.trials)?;
        let minima = Distribution::of_sorted(&group.all.minima);
        let modes = modes::find(&distribution);
        let pairs = Pairs::of(measurement, &group.pairs);
        let split = split::find(&modes, &group.pairs);
        let timer = Distribution::of(&group.all.timer.calls);
        Some(GroupFound {
            name: group.labels.to_string(),
            labels: group.labels.clone(),
            trials: Summary::of(&distribution),
            underflow: group.all.trials.underflow(),
            overflow: group.all.trials.overflow(),
            minima_modes: minima.as_ref().map(modes::find).unwrap_or_default(),
            minima: minima.as_ref().map(Summary::of),
            modes,
            stationarity: Stationarity::of(&group.cycles()),
            fits: Fits::of(&distribution),
            steps: Steps::of(&distribution),
            ticks: Ticks::of(&distribution),
            timer_ps: timer.map(|timer| timer.median()),
            pairs,
            split,
            noise: noise.and_then(|recording| NoiseTail::of(measurement, group, recording)),
        })
    }

    /// Modes that are more than a part of the tail.
    pub fn weighty_modes(&self) -> impl Iterator<Item = &Mode> {
        self.modes.iter().filter(|mode| mode.weight >= WEIGHTY)
    }

    /// What is sure about the instrument comes first: it may explain the rest.
    fn hints(&self, group: usize) -> Vec<Hint> {
        let median = self.trials.at(0.5).map_or(self.trials.mean_ps, |level| level.value_ps).max(1.0);
        let cost = self.timer_ps.map(|cost| cost / median).filter(|&share| share >= TIMER_COST);
        let is_unsteady = !matches!(self.stationarity.verdict, Steadiness::Steady | Steadiness::TooFew);
        let mut hints = Vec::new();
        hints.extend(self.steps.map(|_| Hint::CoarseTimer { group }));
        hints.extend(cost.map(|share| Hint::TimerCost { group, share }));
        match self.split {
            Some(_) => hints.push(Hint::ModesByPair { group }),
            None if self.weighty_modes().count() > 1 => hints.push(Hint::SeveralModes { group }),
            None => {}
        }
        if let Some(pairs) = &self.pairs {
            hints.extend(pairs.slow_processes.iter().map(|&process| Hint::SlowProcess { group, process }));
            hints.extend(pairs.slow_pairs.iter().map(|&pair| Hint::SlowPair { group, pair }));
        }
        hints.extend(self.ticks.map(|_| Hint::TickSteps { group }));
        hints.extend(is_unsteady.then_some(Hint::NotSteady { group }));
        hints.extend(self.noise.as_ref().map(|_| Hint::Noise { group }));
        hints
    }
}

#[cfg(test)]
mod tests;
