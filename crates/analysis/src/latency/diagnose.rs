//! What the shape of measured latencies hints at. Every hint carries its evidence.

mod oversubscribed;
mod peers;
mod split;
mod ticks;

pub use oversubscribed::{BusyHost, Oversubscribed, SharedCore, find as crowds, shared_cores};
pub use peers::{AbovePeers, AtPeers};
pub use split::{PairSplit, SplitKind};
pub use ticks::Ticks;

use super::fits::Family;
use super::groups::Group;
use super::noise::{NoTail, NoiseTail};
use super::pairs::{SlowPair, SlowProcess};
use super::stationarity::Steadiness;
use super::steps::Steps;
use super::{Distribution, Fits, Mode, Pairs, Ranks, Stationarity, Summary, modes};
use serde::Serialize;
use straggler_model::latency::{Labels, Measurement};
use straggler_noise::NoiseRecording;

/// The diagnosis of a measurement.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Diagnosis {
    /// The series that have trials.
    pub groups: Vec<GroupFound>,
    pub hints: Vec<Hint>,
    /// Series without a single trial.
    pub empty: Vec<String>,
}

/// Findings for one distribution.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GroupFound {
    pub name: String,
    pub labels: Labels,
    pub trials: Summary,
    /// Trials shorter than the timer's cost (counted as 0), and trials beyond the last bin.
    pub underflow: u64,
    pub overflow: u64,
    /// Over the shortest times of the cycles of each pair.
    pub minima: Option<Summary>,
    pub modes: Vec<Mode>,
    pub minima_modes: Vec<Mode>,
    pub stationarity: Stationarity,
    pub fits: Option<Fits>,
    pub steps: Option<Steps>,
    pub ticks: Option<Ticks>,
    /// The share of the total time that the slowest 1 % of trials take; none for few trials, or if more than 1 % lie
    /// beyond the last bin.
    pub slowest_share: Option<f64>,
    /// The median cost of two timer readings, if it was measured.
    pub timer_ps: Option<f64>,
    pub pairs: Option<Pairs>,
    /// For a collective whose ranks were recorded separately.
    pub ranks: Option<Ranks>,
    /// How modes split by pair, if there are several modes and several pairs.
    pub split: Option<PairSplit>,
    /// What a noise recording explains, if one was given.
    pub noise: Option<NoiseTail>,
    /// Why the noise explains nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_noise: Option<NoTail>,
}

/// A possible cause of the shape; `group` is an index into [`Diagnosis::groups`].
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "hint", rename_all = "kebab-case")]
pub enum Hint {
    /// Other programs wanted more cores than a host has when the measurement began.
    Busy(BusyHost),
    /// More processes than cores on a host: they wait for each other, whatever other causes there are.
    Oversubscribed(Oversubscribed),
    /// Several processes on one core of a host: they wait for each other as well.
    SameCore(SharedCore),
    /// A mode that appears only with more peers: resources per peer run out.
    AbovePeers(AbovePeers),
    /// Some pairs are in one mode, some in the other, or every pair is in both.
    ModesByPair { group: usize },
    /// Times come in steps: the timer is too coarse.
    CoarseTimer { group: usize },
    /// Reading the timer takes a large part of the measured time.
    TimerCost { group: usize, share: f64 },
    /// The tail comes in steps of the timer tick: the operating system gave the core to other work.
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
    /// Several modes without a known cause.
    SeveralModes { group: usize },
    /// A mode with few trials that is clearly separate from the others.
    SmallMode { group: usize, centre_ps: f64, weight: f64, low_ps: f64, high_ps: f64 },
    /// A narrow peak on a wide distribution, without the valley that would make it a mode.
    NarrowPeak { group: usize, centre_ps: f64, weight: f64 },
    /// The slowest trials take a large part of the total time.
    HeavyTail { group: usize, share: f64 },
    /// Whether noise explains the tail.
    Noise { group: usize },
}

/// The cost of the timer is worth a hint from this share of the median.
const TIMER_COST: f64 = 0.1;
/// Modes below this weight are part of the tail.
pub const WEIGHTY: f64 = 0.02;
/// Modes below this weight, or with fewer trials, are not worth a hint.
const SMALL: f64 = 0.005;
const LEAST_OF_MODE: f64 = 20.0;
/// A peak is narrow if the other trials are this many times as wide. It is worth a hint within this range of weights,
/// and if a mixture of two fits this much better (by BIC) than any single distribution.
const NARROW: f64 = 5.0;
const PEAK: std::ops::Range<f64> = 0.05..0.5;
const MUCH_LIKELIER: f64 = 50.0;
/// A small mode is separate if the valley to its neighbours is at most half its height.
const APART: f64 = 0.5;
/// For comparison: the slowest 1 % take 6 % of the total time of exponential times, 9 % of log-normal ones with a
/// sigma of 1.
const HEAVY: f64 = 0.15;
const LEAST_OF_TAIL: u64 = 1000;

impl Diagnosis {
    /// Diagnoses groups of a measurement, with a noise recording from the same time if there is one.
    pub fn new(measurement: &Measurement, groups: &[Group], noise: Option<&NoiseRecording>) -> Diagnosis {
        let empty = groups.iter().filter(|group| group.all.trials.is_empty());
        let empty = empty.map(|group| group.labels.to_string()).collect();
        let groups: Vec<GroupFound> =
            groups.iter().filter_map(|group| GroupFound::new(measurement, group, noise)).collect();
        let sweeps = peers::find(&groups);
        let of_group = |(index, group): (usize, &GroupFound)| group.hints(index);
        let swept: Vec<&str> = sweeps.iter().map(|found| found.name.as_str()).collect();
        // Modes that a sweep over peers explains get no separate hint.
        let is_explained = |hint: &Hint| match *hint {
            Hint::SeveralModes { group } => swept.contains(&peers::sweep(&groups[group]).as_str()),
            _ => false,
        };
        let of_groups = groups.iter().enumerate().flat_map(of_group).filter(|hint| !is_explained(hint));
        let crowds = oversubscribed::find(measurement).into_iter().map(Hint::Oversubscribed);
        let shared = oversubscribed::shared_cores(measurement).into_iter().map(Hint::SameCore);
        let hints = oversubscribed::busy(measurement)
            .into_iter()
            .map(Hint::Busy)
            .chain(crowds)
            .chain(shared)
            .chain(sweeps.iter().cloned().map(Hint::AbovePeers))
            .chain(of_groups)
            .collect();
        Diagnosis { groups, hints, empty }
    }
}

impl GroupFound {
    fn new(measurement: &Measurement, group: &Group, noise: Option<&NoiseRecording>) -> Option<GroupFound> {
        let distribution = Distribution::from_histogram(&group.all.trials)?;
        let minima = Distribution::of_sorted(&group.all.minima);
        let modes = modes::find(&distribution);
        let pairs = Pairs::new(measurement, &group.pairs);
        let split = split::find(&modes, &group.pairs);
        let ticks = Ticks::new(&distribution, &modes, tick_hz(measurement));
        let timer = Distribution::from_histogram(&group.all.timer.calls);
        let explained = noise.map(|recording| NoiseTail::new(measurement, group, recording));
        Some(GroupFound {
            name: group.labels.to_string(),
            labels: group.labels.clone(),
            trials: Summary::new(&distribution),
            underflow: group.all.trials.underflow(),
            overflow: group.all.trials.overflow(),
            minima_modes: minima.as_ref().map(modes::find).unwrap_or_default(),
            minima: minima.as_ref().map(Summary::new),
            modes,
            stationarity: Stationarity::new(&group.cycles),
            fits: Fits::new(&distribution),
            steps: Steps::new(&distribution),
            ticks,
            slowest_share: slowest_share(&distribution),
            timer_ps: timer.map(|timer| timer.median()),
            pairs,
            ranks: Ranks::new(&group.ranks),
            split,
            no_noise: explained.as_ref().and_then(|found| found.as_ref().err().copied()),
            noise: explained.and_then(Result::ok),
        })
    }

    /// Modes that are not just part of the tail.
    pub fn weighty_modes(&self) -> impl Iterator<Item = &Mode> {
        self.modes.iter().filter(|mode| mode.weight >= WEIGHTY)
    }

    fn small_modes(&self) -> impl Iterator<Item = &Mode> {
        let least = SMALL.max(LEAST_OF_MODE / self.trials.count as f64);
        self.modes.iter().filter(move |mode| (least..WEIGHTY).contains(&mode.weight) && mode.depth >= APART)
    }

    /// The position and weight of a narrow peak above the median of the other trials: the upper part of the fitted
    /// mixture, if there is only one mode. Below the median it would be the normal body of a long tail.
    fn narrow_peak(&self) -> Option<(f64, f64)> {
        let [best, next, ..] = &self.fits.as_ref()?.fits[..] else { return None };
        let is_two = best.family == Family::TwoLogNormals && next.bic - best.bic > MUCH_LIKELIER;
        if !is_two || self.weighty_modes().count() > 1 {
            return None;
        }
        let width = |median: f64, sigma: &str| Some(median * best.parameter(sigma)?);
        let (lower, upper) = (best.parameter("median_1_ps")?, best.parameter("median_2_ps")?);
        let weight = 1.0 - best.parameter("weight_1")?;
        let is_narrow = width(upper, "sigma_2")? * NARROW < width(lower, "sigma_1")?;
        (is_narrow && PEAK.contains(&weight)).then_some((upper + best.shift_ps, weight))
    }

    /// Facts about the timer come first: they may explain the rest.
    fn hints(&self, group: usize) -> Vec<Hint> {
        let median =
            self.trials.at(0.5).and_then(|level| level.value_ps).unwrap_or(self.trials.mean_ps).max(1.0);
        let cost = self.timer_ps.map(|cost| cost / median).filter(|&share| share >= TIMER_COST);
        let is_untold = matches!(self.stationarity.verdict, Steadiness::TooFew | Steadiness::OutsideBins);
        let is_steady = is_untold || self.stationarity.verdict == Steadiness::Steady;
        let is_unsteady = !is_steady || self.stationarity.warm_up.is_some();
        let mut hints = Vec::new();
        hints.extend(self.steps.map(|_| Hint::CoarseTimer { group }));
        hints.extend(cost.map(|share| Hint::TimerCost { group, share }));
        let about_modes = match self.split {
            Some(_) => Some(Hint::ModesByPair { group }),
            None if self.weighty_modes().count() > 1 => Some(Hint::SeveralModes { group }),
            None => None,
        };
        // If the slow mode consists of slow processes or pairs, they explain the modes and come first.
        let slow_first = self.pairs.as_ref().is_some_and(Pairs::slow_ones_are_a_cluster);
        hints.extend(about_modes.clone().filter(|_| !slow_first));
        if let Some(pairs) = &self.pairs {
            hints.extend(pairs.slow_processes.iter().map(|&process| Hint::SlowProcess { group, process }));
            hints.extend(pairs.slow_pairs.iter().map(|&pair| Hint::SlowPair { group, pair }));
        }
        hints.extend(about_modes.filter(|_| slow_first));
        hints.extend(self.ticks.map(|_| Hint::TickSteps { group }));
        if self.ticks.is_none() {
            hints.extend(self.small_modes().map(|mode| Hint::SmallMode {
                group,
                centre_ps: mode.centre_ps,
                weight: mode.weight,
                low_ps: mode.low_ps,
                high_ps: mode.high_ps,
            }));
            let peak = self.narrow_peak();
            hints.extend(peak.map(|(centre_ps, weight)| Hint::NarrowPeak { group, centre_ps, weight }));
            let heavy = self.slowest_share.filter(|&share| share >= HEAVY);
            hints.extend(heavy.map(|share| Hint::HeavyTail { group, share }));
        }
        hints.extend(is_unsteady.then_some(Hint::NotSteady { group }));
        hints.extend(self.noise.as_ref().map(|_| Hint::Noise { group }));
        hints
    }
}

/// The tick of the kernel, if all hosts have the same.
fn tick_hz(measurement: &Measurement) -> Option<u32> {
    let mut ticks = measurement.machines.iter().filter_map(|machine| machine.tick_hz);
    let first = ticks.next()?;
    ticks.all(|tick| tick == first).then_some(first)
}

/// The mean and the number of trials are exact; the time of the other trials is known to the width of a bin.
fn slowest_share(distribution: &Distribution) -> Option<f64> {
    let total = distribution.mean_ps * distribution.count() as f64;
    if distribution.count() < LEAST_OF_TAIL || total <= 0.0 || distribution.outside(0.99).is_some() {
        return None;
    }
    let mut left = 0.99 * distribution.count() as f64;
    let mut others = 0.0;
    for cell in distribution.cells() {
        let taken = left.min(cell.count as f64);
        others += taken * cell.middle().clamp(distribution.min_ps, distribution.max_ps);
        left -= taken;
    }
    Some((1.0 - others / total).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests;
