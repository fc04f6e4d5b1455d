//! A measurement of latencies: its distributions, and all that is needed to judge and to repeat it.

use super::series::{Labels, Run, Series};
use super::{Fault, Histogram, MergeError};
use crate::Rank;
use crate::provenance::{Machine, Origin, Timer};
use serde::{Deserialize, Serialize};

/// Where a process ran. Unknown fields are left out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub rank: Rank,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<String>,
    /// Counted from 0.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub socket: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub numa: Option<u32>,
    /// The kernel's number of the core.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub core: Option<u32>,
    /// The switch its node is connected to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub switch: Option<String>,
}

/// The result of one run, or of several merged ones.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// The kernel's name on the command line.
    pub kernel: String,
    /// For each merged run: version, command line and time, or the description it was drawn from.
    pub origins: Vec<Origin>,
    /// One for each known host.
    pub machines: Vec<Machine>,
    /// The distinct timers of all hosts and runs.
    pub timers: Vec<Timer>,
    /// Sorted by rank, without duplicates.
    pub processes: Vec<Process>,
    /// Sorted by labels, without duplicates.
    pub series: Vec<Series>,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
    /// Why a run ended early, one sentence each; the data up to then is kept. Empty for a complete
    /// measurement.
    pub interruptions: Vec<String>,
}

impl Measurement {
    pub fn new(kernel: &str, origin: Origin) -> Measurement {
        Measurement { kernel: kernel.into(), origins: vec![origin], ..Measurement::default() }
    }

    /// Whether the measurement is complete.
    pub fn is_finished(&self) -> bool {
        self.interruptions.is_empty()
    }

    /// Whether any of it was drawn from a description.
    pub fn is_synthetic(&self) -> bool {
        self.origins.iter().any(|origin| matches!(origin, Origin::Synthetic { .. }))
    }

    /// Why the timer's rate may not be constant; `None` if it is.
    pub fn timer_doubts(&self) -> Option<&str> {
        self.timers.iter().find_map(|timer| timer.not_invariant.as_deref())
    }

    /// Caveats about the measurement, one sentence each.
    pub fn doubts(&self) -> Vec<String> {
        let unfinished =
            self.interruptions.iter().map(|why| format!("the measurement is not complete: {why}"));
        let timer = self.timer_doubts().map(|why| format!("the timer may not run at a constant rate: {why}"));
        let busy = self.machines.iter().filter_map(|machine| {
            let (load, cores) = machine.overload()?;
            let host = machine.host.as_deref().unwrap_or("the machine");
            Some(format!(
                "{host} was busy when the measurement began: programs for {load:.1} cores shared its {cores}, so the \
                 times show the scheduler too; measure again on an idle machine"
            ))
        });
        unfinished.chain(timer).chain(busy).collect()
    }

    /// Prepares for merging with other runs: the trials of a single run are kept apart from theirs.
    pub fn as_runs(mut self) -> Measurement {
        if self.runs().next().is_none() {
            let id = crc32fast::hash(&serde_json::to_vec(&self.series).unwrap_or_default());
            for series in &mut self.series {
                series.runs = vec![Run { id, trials: series.trials.clone() }];
            }
        }
        self
    }

    /// The ids of merged runs; a run that is in several series appears several times.
    pub fn runs(&self) -> impl Iterator<Item = u32> + '_ {
        self.series.iter().flat_map(|series| &series.runs).map(|run| run.id)
    }

    pub fn find(&self, labels: &Labels) -> Option<&Series> {
        self.series.iter().find(|series| series.labels == *labels)
    }

    pub fn process(&self, rank: Rank) -> Option<&Process> {
        self.processes.iter().find(|process| process.rank == rank)
    }

    /// Adds a series, merging it into the one with the same labels if there is one.
    pub fn add(&mut self, series: Series) -> Result<(), MergeError> {
        match self.series.binary_search_by(|known| known.labels.cmp(&series.labels)) {
            Ok(position) => self.series[position].merge(&series),
            Err(position) => {
                self.series.insert(position, series);
                Ok(())
            }
        }
    }

    /// Merges another measurement of the same kernel and placement. On error nothing changes.
    pub fn merge(&mut self, other: &Measurement) -> Result<(), MergeError> {
        if self.kernel != other.kernel {
            let (first, second) = (self.kernel.clone(), other.kernel.clone());
            return Err(MergeError::Kernels { first, second });
        }
        let mut merged = self.clone();
        for process in &other.processes {
            merged.add_process(process)?;
        }
        for series in &other.series {
            merged.add(series.clone())?;
        }
        add_all(&mut merged.origins, &other.origins);
        add_all(&mut merged.machines, &other.machines);
        add_all(&mut merged.timers, &other.timers);
        add_all(&mut merged.notes, &other.notes);
        add_all(&mut merged.interruptions, &other.interruptions);
        *self = merged;
        Ok(())
    }

    fn add_process(&mut self, process: &Process) -> Result<(), MergeError> {
        match self.processes.binary_search_by_key(&process.rank, |known| known.rank) {
            Ok(position) if self.processes[position] == *process => Ok(()),
            Ok(_) => Err(MergeError::Placement { rank: process.rank }),
            Err(position) => {
                self.processes.insert(position, process.clone());
                Ok(())
            }
        }
    }

    /// Checks the documented invariants.
    pub fn check(&self) -> Result<(), Fault> {
        if let Some(pair) = self.processes.windows(2).find(|pair| pair[0].rank >= pair[1].rank) {
            return Err(Fault::Processes { rank: pair[1].rank });
        }
        if let Some(pair) = self.series.windows(2).find(|pair| pair[0].labels >= pair[1].labels) {
            return Err(Fault::Order { labels: Box::new(pair[1].labels.clone()) });
        }
        self.series.iter().try_for_each(Series::check)
    }
}

/// The union of two lists, in an order that does not depend on which came first.
fn add_all<T: Clone + PartialEq + Serialize>(list: &mut Vec<T>, more: &[T]) {
    more.iter().for_each(|item| {
        if !list.contains(item) {
            list.push(item.clone());
        }
    });
    list.sort_by_cached_key(|item| serde_json::to_string(item).unwrap_or_default());
}

impl Series {
    fn check(&self) -> Result<(), Fault> {
        let fault = |field, what| Fault::Series { labels: Box::new(self.labels.clone()), field, what };
        if !self.minima.is_sorted() {
            return Err(fault("minima", "they are not ascending"));
        }
        if !self.cycles.is_sorted() {
            return Err(fault("cycles", "they are not in order of time"));
        }
        if self.runs.windows(2).any(|pair| pair[0].id >= pair[1].id) {
            return Err(fault("runs", "one appears twice or out of order"));
        }
        if !self.runs.is_empty() {
            let mut sum = Histogram::new(self.trials.bins());
            let add = |run: &Run| sum.merge(&run.trials);
            if self.runs.iter().try_for_each(add).is_err() || sum != self.trials {
                return Err(fault("runs", "together they are not the trials"));
            }
        }
        let outside = |time| self.trials.min().is_none_or(|min| time < min);
        if self.minima.iter().any(|&minimum| outside(minimum)) {
            return Err(fault("minima", "one is less than the minimum of all trials"));
        }
        let wrong = |cycle: &super::Cycle| cycle.min > cycle.median || cycle.median > cycle.max;
        if self.cycles.iter().any(wrong) {
            return Err(fault("cycles", "min, median and max of one are not ascending"));
        }
        if self.timer.subtracted.is_some_and(|bounds| bounds.low > bounds.high) {
            return Err(fault("timer.subtracted", "low is larger than high"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
