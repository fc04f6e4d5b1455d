//! One distribution, its labels, and what is needed to judge it.

use super::histogram::{Bounds, Histogram, Outside};
use super::{Bins, MergeError};
use crate::{Rank, Time};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was timed, seen from the communicating processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One call or action of one process: a system call, a copy, a command.
    #[default]
    Operation,
    /// An exchange as one of its two ends sees it.
    OneSided,
    /// The mean of both ends' times of an exchange.
    Pairwise,
    /// A message and its reply.
    RoundTrip,
    /// Half of a round trip.
    OneWay,
    /// A collective as one rank sees it.
    PerRank,
    /// A collective from the first that enters to the last that leaves.
    AllRanks,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Operation => "operation",
            Kind::OneSided => "one-sided",
            Kind::Pairwise => "pairwise",
            Kind::RoundTrip => "round trip",
            Kind::OneWay => "one way",
            Kind::PerRank => "per rank",
            Kind::AllRanks => "all ranks",
        })
    }
}

/// Two processes of [`super::Measurement::processes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    pub from: Rank,
    pub to: Rank,
}

/// Labels that identify a distribution within a measurement. Series with equal labels are merged.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// `sendrecv`, `ping-pong`, `tcp`, `getpid`, …
    pub kernel: String,
    pub kind: Kind,
    /// Bytes of a message, a file access or a copy; `None` if the operation has no size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size: Option<u64>,
    /// `None` if the distribution covers many pairs, or no pair.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pair: Option<Pair>,
    /// The process whose view of a collective this is; `None` if the distribution covers all processes, or no
    /// collective.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rank: Option<Rank>,
    /// A class of similar pairs: `same node`, `same socket`, `across switches`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub class: Option<String>,
    /// Number of peers each process communicates with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peers: Option<u32>,
    /// Number of communicating processes per node.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub processes_per_node: Option<u32>,
    /// Number of switches the communicating nodes are spread over, if a sweep varies it; otherwise `None`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub switches: Option<u32>,
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kernel)?;
        if self.kind != Kind::Operation {
            write!(f, ", {}", self.kind)?;
        }
        if let Some(size) = self.size {
            write!(f, ", {}", crate::units::Bytes(size))?;
        }
        if let Some(Pair { from, to }) = self.pair {
            write!(f, ", pair {from}–{to}")?;
        }
        if let Some(rank) = self.rank {
            write!(f, ", rank {rank}")?;
        }
        if let Some(class) = &self.class {
            write!(f, ", {class}")?;
        }
        match self.peers {
            Some(1) => write!(f, ", 1 peer")?,
            Some(peers) => write!(f, ", {peers} peers")?,
            None => {}
        }
        if let Some(count) = self.processes_per_node {
            write!(f, ", {count} per node")?;
        }
        match self.switches {
            Some(1) => write!(f, ", 1 switch"),
            Some(switches) => write!(f, ", {switches} switches"),
            None => Ok(()),
        }
    }
}

/// A batch of trials in a row, for judging whether the distribution changes over time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycle {
    /// When it began, in ns since 1970.
    pub started_ns: u64,
    pub count: u64,
    /// Saturates; the sum of all trials is exact in the histogram.
    pub sum_ps: u64,
    #[serde(rename = "min_ps")]
    pub min: Time,
    /// The middle of its bin; the bound, if it lies outside the bins.
    #[serde(rename = "median_ps")]
    pub median: Time,
    /// Set where the median lies outside the bins.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub median_outside: Option<Outside>,
    #[serde(rename = "max_ps")]
    pub max: Time,
    /// The middle of the bin of the 99 % quantile, to show how the tail changes from cycle to cycle. `None`
    /// for fewer than 100 trials, and if it lies outside the bins.
    #[serde(rename = "p99_ps", skip_serializing_if = "Option::is_none", default)]
    pub p99: Option<Time>,
    /// The process that recorded the cycle, in a series whose cycles ran on several processes at once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub process: Option<Rank>,
}

/// Fewer trials have no meaningful 99 % quantile.
const LEAST_FOR_P99: u64 = 100;

impl Cycle {
    /// Summarises the histogram of one cycle; `None` if it is empty.
    pub fn new(histogram: &Histogram, started_ns: u64) -> Option<Cycle> {
        let (min, max) = (histogram.min()?, histogram.max()?);
        let median_outside = histogram.outside(0.5);
        let median = match median_outside {
            Some(outside) => outside.bound().clamp(min, max),
            None => histogram.quantile(0.5)?.middle(),
        };
        let sum_ps = u64::try_from(histogram.sum_ps()).unwrap_or(u64::MAX);
        let count = histogram.count();
        let is_known = count >= LEAST_FOR_P99 && histogram.outside(0.99).is_none();
        let p99 = histogram.quantile(0.99).filter(|_| is_known).map(|bin| bin.middle());
        Some(Cycle { started_ns, count, sum_ps, min, median, median_outside, max, p99, process: None })
    }
}

/// The cost of the timer itself.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimerCost {
    /// The least cost of a pair of readings, which was subtracted from every trial. The smallest and the
    /// largest, because recorders calibrated separately may have subtracted different amounts.
    pub subtracted: Option<Bounds>,
    /// Pairs of readings with nothing between them, timed now and then during the run; nothing is subtracted.
    pub calls: Histogram,
}

impl TimerCost {
    fn merge(&mut self, other: &TimerCost) -> Result<(), MergeError> {
        self.subtracted = match (self.subtracted, other.subtracted) {
            (Some(one), Some(two)) => {
                Some(Bounds { low: one.low.min(two.low), high: one.high.max(two.high) })
            }
            (one, two) => one.or(two),
        };
        self.calls.merge(&other.calls)
    }
}

/// The trials of one of several merged runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The checksum of the run's measurement: the same for all its series, and another for every other run.
    pub id: u32,
    pub trials: Histogram,
}

/// One distribution.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    pub labels: Labels,
    /// All trials.
    pub trials: Histogram,
    /// The same trials by run, ascending by id; empty for a single run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub runs: Vec<Run>,
    /// The least time of each cycle of each pair, ascending.
    #[serde(rename = "minima_ps")]
    pub minima: Vec<Time>,
    /// In order of time.
    pub cycles: Vec<Cycle>,
    pub timer: TimerCost,
    /// The largest offset between the clocks of two processes, if times of several clocks are compared.
    #[serde(rename = "clock_error_ps", skip_serializing_if = "Option::is_none", default)]
    pub clock_error: Option<Time>,
}

impl Series {
    pub fn new(labels: Labels, bins: Bins) -> Series {
        Series { labels, trials: Histogram::new(bins), ..Series::default() }
    }

    /// Adds a finished cycle.
    pub fn add_cycle(&mut self, cycle: &Histogram, started_ns: u64) -> Result<(), MergeError> {
        self.trials.merge(cycle)?;
        if let Some(summary) = Cycle::new(cycle, started_ns) {
            let minimum = self.minima.partition_point(|&other| other <= summary.min);
            self.minima.insert(minimum, summary.min);
            let place = self.cycles.partition_point(|other| *other <= summary);
            self.cycles.insert(place, summary);
        }
        Ok(())
    }

    /// Marks every cycle with the process that recorded it, before merging with other processes.
    pub fn recorded_by(mut self, process: Rank) -> Series {
        self.cycles.iter_mut().for_each(|cycle| cycle.process = Some(process));
        self
    }

    /// Adds another series of the same labels.
    pub fn merge(&mut self, other: &Series) -> Result<(), MergeError> {
        let named = |fault: MergeError| fault.of_series(&self.labels);
        let (mut trials, mut runs) = (self.trials.clone(), self.runs.clone());
        trials.merge(&other.trials).map_err(named)?;
        for run in &other.runs {
            match runs.binary_search_by_key(&run.id, |known| known.id) {
                Ok(place) => runs[place].trials.merge(&run.trials).map_err(named)?,
                Err(place) => runs.insert(place, run.clone()),
            }
        }
        self.timer.merge(&other.timer).map_err(|fault| fault.of_series(&other.labels))?;
        (self.trials, self.runs) = (trials, runs);
        self.minima.extend(&other.minima);
        self.minima.sort_unstable();
        self.cycles.extend(&other.cycles);
        self.cycles.sort_unstable();
        self.clock_error = self.clock_error.max(other.clock_error);
        Ok(())
    }
}
