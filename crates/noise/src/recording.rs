//! A recording: the noise measured on the cores of one node, and what is needed to judge it.
//!
//! Every core has its detours (start, duration, source) and its speed profile: on shared machines the speed
//! itself changes for milliseconds, and an iteration that is slow for that reason is not a detour. All times
//! count from one synchronised start, so that cores can be compared. Detours are sorted by start and do not
//! overlap on a core; whoever creates a recording ensures this ([`NoiseRecording::check`]).
//!
//! Files of other programs become recordings too; fields they do not provide are left empty.

use super::{Detours, DetoursError};
use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_model::provenance::{Machine, Origin, Timer};

/// A position in [`NoiseRecording::sources`].
pub type SourceId = u16;

/// The source of a detour whose cause is unknown.
pub const UNNAMED: SourceId = 0;

/// One interruption of the measuring loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Detour {
    pub start: Time,
    /// The time lost, without the undisturbed length of the iteration.
    pub duration: Time,
    pub source: SourceId,
}

impl Detour {
    pub fn end(&self) -> Time {
        self.start + self.duration
    }
}

/// Noise measured on the cores of one node at the same time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseRecording {
    pub origin: Origin,
    pub machine: Machine,
    pub timer: Timer,
    pub method: Method,
    /// Names of the causes; the first stands for an unknown cause.
    pub sources: Vec<SourceName>,
    pub attribution: Attribution,
    pub cores: Vec<Core>,
}

/// The method of measurement.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Method {
    /// A tight loop that keeps the iterations longer than a threshold.
    #[default]
    Detour,
    /// Times of a fixed amount of work.
    FixedWork,
    /// Amounts of work done in a fixed time.
    FixedTime { quantum_ps: u64 },
}

/// The name of a noise source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceName {
    /// `timer tick`, `softirq NET_RX`, `kworker/0:1`, `hypervisor or firmware`, …
    pub name: String,
    pub evidence: Evidence,
}

/// How a source was identified, which tells how certain it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    #[default]
    None,
    /// A kernel event on that core at that time.
    Traced,
    /// The kernel was traced and did nothing, so the cause lies below it.
    Remainder,
    /// A counter that rose in the same time slices.
    Correlated,
    /// Named by the file or the description.
    Stated,
}

/// How the sources of detours were found, and how completely.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Attribution {
    pub method: AttributionMethod,
    /// Why a better method could not be used, and what would help.
    pub hindrance: Option<String>,
    /// Kernel events that were lost because their buffer was full.
    pub lost_events: u64,
    /// Noise time that kernel events cover to the nanosecond, in ps.
    pub covered_ps: u64,
}

/// How the sources of detours were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttributionMethod {
    #[default]
    None,
    /// Tracepoints of the kernel on the clock of the measurement.
    Tracepoints,
    /// The kernel's osnoise tracer.
    Osnoise,
    /// Counters of /proc, slice by slice.
    Counters,
    /// Named by a file or a description.
    Stated,
}

/// The time lost in detours, by the evidence for its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Explained {
    pub traced: Time,
    pub correlated: Time,
    pub stated: Time,
    /// The kernel was traced and did nothing.
    pub remainder: Time,
    pub unnamed: Time,
}

impl Explained {
    pub fn total(&self) -> Time {
        self.traced + self.correlated + self.stated + self.remainder + self.unnamed
    }
}

/// The noise of one core.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// The kernel's number; for an imported file, the number it states or its position.
    pub core: u32,
    pub length: Time,
    /// The undisturbed length of an iteration, or of a quantum of fixed work.
    pub t_min: Time,
    /// Iterations longer than this are detours.
    pub threshold: Time,
    pub iterations: u64,
    /// Sorted by start.
    #[serde(skip)]
    pub detours: Vec<Detour>,
    /// Periods at less than the best speed, sorted by start.
    pub phases: Vec<Phase>,
    pub lost: Lost,
    /// Samples of the fixed-work and fixed-time kernels, in order; empty for the detour kernel.
    #[serde(skip)]
    pub quanta: Vec<Quantum>,
}

/// A stretch of time in which the core was slower than at its best.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    pub start: Time,
    pub duration: Time,
    /// Duration of an iteration relative to the best.
    pub slowdown: f64,
}

/// Detours that did not fit into a full buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    pub detours: u64,
    pub time: Time,
}

/// One sample of a fixed-work kernel (its time in ps) or of a fixed-time kernel (the work it did).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantum {
    pub start: Time,
    pub value: u64,
}

/// Why a recording contradicts itself.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("core {core}: detour {index} starts before the previous one ended")]
    Overlap { core: u32, index: usize },
    #[error("core {core}: detour {index} starts at {start}, after the measurement ended at {length}")]
    BeyondEnd { core: u32, index: usize, start: Time, length: Time },
    #[error("core {core}: detour {index} has source {source_id}, but only {sources} are named")]
    UnknownSource { core: u32, index: usize, source_id: SourceId, sources: usize },
    #[error("core {core} appears twice")]
    Twice { core: u32 },
}

impl NoiseRecording {
    /// The initial table of sources.
    pub fn unnamed() -> Vec<SourceName> {
        vec![SourceName { name: "unnamed".into(), evidence: Evidence::None }]
    }

    /// Returns the number of a source, adding it if it is new. The table is full at 65,536 names; further
    /// sources are unnamed.
    pub fn source_id(&mut self, name: &str, evidence: Evidence) -> SourceId {
        let known = self.sources.iter().position(|source| source.name == name && source.evidence == evidence);
        if let Some(index) = known {
            return index as SourceId;
        }
        match SourceId::try_from(self.sources.len()) {
            Ok(id) => {
                self.sources.push(SourceName { name: name.into(), evidence });
                id
            }
            Err(_) => UNNAMED,
        }
    }

    /// Checks the documented invariants.
    pub fn check(&self) -> Result<(), RecordingError> {
        for (index, core) in self.cores.iter().enumerate() {
            if self.cores[..index].iter().any(|other| other.core == core.core) {
                return Err(RecordingError::Twice { core: core.core });
            }
            core.check(self.sources.len())?;
        }
        Ok(())
    }

    /// Appends a later measurement of the same cores. Cores that are in only one of them are dropped.
    pub fn append(&mut self, later: &NoiseRecording) {
        let ids: Vec<SourceId> =
            later.sources.iter().map(|source| self.source_id(&source.name, source.evidence)).collect();
        self.cores.retain(|core| later.cores.iter().any(|other| other.core == core.core));
        for core in &mut self.cores {
            if let Some(other) = later.cores.iter().find(|other| other.core == core.core) {
                core.append(other, &ids);
            }
        }
        let (mine, theirs) = (&mut self.attribution, &later.attribution);
        mine.lost_events = mine.lost_events.saturating_add(theirs.lost_events);
        mine.covered_ps = mine.covered_ps.saturating_add(theirs.covered_ps);
        mine.hindrance = mine.hindrance.take().or_else(|| theirs.hindrance.clone());
        let steal = self.machine.steal_ps.zip(later.machine.steal_ps);
        self.machine.steal_ps = steal.map(|(one, other)| one.saturating_add(other));
    }

    /// Time lost and time measured, each summed over all cores.
    pub fn noise_and_length(&self) -> (Time, Time) {
        let add = |sum: Time, time: Time| sum + time;
        let noise = self.cores.iter().map(Core::noise).fold(Time::ZERO, add);
        (noise, self.cores.iter().map(|core| core.length).fold(Time::ZERO, add))
    }

    /// Sums the noise time of all cores by evidence.
    pub fn explained(&self) -> Explained {
        self.explained_without(&[])
    }

    /// The same without the noise of these sources.
    pub fn explained_without(&self, names: &[String]) -> Explained {
        let mut explained = Explained::default();
        let is_left_out: Vec<bool> = self.sources.iter().map(|source| names.contains(&source.name)).collect();
        for detour in self.cores.iter().flat_map(|core| &core.detours) {
            let source = self.sources.get(usize::from(detour.source));
            if is_left_out.get(usize::from(detour.source)) == Some(&true) {
                continue;
            }
            let sum = match source.map(|source| source.evidence).unwrap_or_default() {
                Evidence::None => &mut explained.unnamed,
                Evidence::Traced => &mut explained.traced,
                Evidence::Remainder => &mut explained.remainder,
                Evidence::Correlated => &mut explained.correlated,
                Evidence::Stated => &mut explained.stated,
            };
            *sum += detour.duration;
        }
        explained
    }
}

impl Core {
    fn check(&self, sources: usize) -> Result<(), RecordingError> {
        let (core, length) = (self.core, self.length);
        let mut busy_until = Time::ZERO;
        for (index, detour) in self.detours.iter().enumerate() {
            let start = detour.start;
            if start < busy_until {
                return Err(RecordingError::Overlap { core, index });
            }
            if start >= length {
                return Err(RecordingError::BeyondEnd { core, index, start, length });
            }
            if usize::from(detour.source) >= sources {
                return Err(RecordingError::UnknownSource { core, index, source_id: detour.source, sources });
            }
            busy_until = detour.end();
        }
        Ok(())
    }

    fn append(&mut self, later: &Core, ids: &[SourceId]) {
        // The last detour may end after the measurement.
        let begin = self.detours.last().map_or(self.length, |last| self.length.max(last.end()));
        let source = |id: SourceId| ids.get(usize::from(id)).copied().unwrap_or(UNNAMED);
        self.detours.extend(later.detours.iter().map(|detour| Detour {
            start: begin + detour.start,
            source: source(detour.source),
            ..*detour
        }));
        self.phases.extend(later.phases.iter().map(|phase| Phase { start: begin + phase.start, ..*phase }));
        self.length = begin + later.length;
        self.t_min = self.t_min.min(later.t_min);
        self.iterations = self.iterations.saturating_add(later.iterations);
        self.lost.detours = self.lost.detours.saturating_add(later.lost.detours);
        self.lost.time += later.lost.time;
    }

    /// Time lost in detours.
    pub fn noise(&self) -> Time {
        self.detours.iter().fold(Time::ZERO, |sum, detour| sum + detour.duration)
    }

    /// The trace that a simulation repeats.
    pub fn trace(&self) -> Result<Detours, DetoursError> {
        let list: Vec<_> = self.detours.iter().map(|detour| (detour.start, detour.duration)).collect();
        Detours::new(&list, Some(self.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(detours: &[(u64, u64, SourceId)]) -> Core {
        let detours = detours
            .iter()
            .map(|&(start, duration, source)| Detour { start: Time(start), duration: Time(duration), source })
            .collect();
        Core { length: Time(1000), detours, ..Core::default() }
    }

    fn recording(detours: &[(u64, u64, SourceId)]) -> NoiseRecording {
        NoiseRecording {
            sources: NoiseRecording::unnamed(),
            cores: vec![core(detours)],
            ..NoiseRecording::default()
        }
    }

    #[test]
    fn contradictions_are_named() {
        assert_eq!(recording(&[(0, 5, 0), (5, 5, 0)]).check(), Ok(()));
        let overlap = recording(&[(0, 6, 0), (5, 5, 0)]).check();
        assert_eq!(overlap, Err(RecordingError::Overlap { core: 0, index: 1 }));
        assert!(matches!(recording(&[(1000, 1, 0)]).check(), Err(RecordingError::BeyondEnd { .. })));
        assert!(matches!(recording(&[(10, 1, 1)]).check(), Err(RecordingError::UnknownSource { .. })));
        let mut twice = recording(&[]);
        twice.cores.push(core(&[]));
        assert_eq!(twice.check(), Err(RecordingError::Twice { core: 0 }));
    }

    #[test]
    fn explained_time_goes_by_evidence() {
        let mut recording = recording(&[(0, 5, 0), (10, 10, 1), (20, 30, 2), (60, 1, 1), (70, 4, 9)]);
        assert_eq!(recording.source_id("timer tick", Evidence::Traced), 1);
        assert_eq!(recording.source_id("firmware", Evidence::Remainder), 2);
        let explained = recording.explained();
        let expected =
            Explained { traced: Time(11), remainder: Time(30), unnamed: Time(9), ..Explained::default() };
        assert_eq!(explained, expected);
        assert_eq!(explained.total(), recording.noise_and_length().0);
    }

    #[test]
    fn a_later_measurement_goes_behind() {
        let mut first = recording(&[(0, 5, 0), (999, 11, 0)]);
        let mut later = recording(&[(0, 7, 0), (20, 3, 1)]);
        later.source_id("timer tick", Evidence::Traced);
        first.source_id("daemon", Evidence::Traced);
        first.append(&later);
        assert_eq!(first.check(), Ok(()));
        let starts: Vec<u64> = first.cores[0].detours.iter().map(|detour| detour.start.ps()).collect();
        assert_eq!((starts, first.cores[0].length), (vec![0, 999, 1010, 1030], Time(2010)));
        let last = first.cores[0].detours[3].source;
        assert_eq!(first.sources[usize::from(last)].name, "timer tick");
    }

    #[test]
    fn sources_are_named_once() {
        let mut recording = recording(&[(0, 5, 0), (10, 7, 1)]);
        assert_eq!(recording.source_id("timer tick", Evidence::Traced), 1);
        assert_eq!(recording.source_id("timer tick", Evidence::Traced), 1);
        assert_eq!(recording.source_id("timer tick", Evidence::Correlated), 2);
        assert_eq!(recording.noise_and_length(), (Time(12), Time(1000)));
        assert_eq!(recording.cores[0].trace().unwrap().share(), 0.012);
    }
}
