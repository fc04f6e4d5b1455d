//! Noise whose detours carry their cause, so that any cause can be removed.

use std::sync::{Arc, OnceLock};
use straggler_model::Time;
use straggler_noise::recording::{Detour, Evidence, NoiseRecording, SourceName};
use straggler_noise::{Detours, DetoursError, Injection, Source, Waveform, Who};

/// A position in [`Noise::causes`].
pub type CauseId = u16;

/// The noise of a node: a stream for each core, or for each source of a description.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    pub streams: Vec<Stream>,
    pub causes: Vec<CauseName>,
    /// Core time of the measurement; none if the noise was not measured.
    pub measured: Option<Time>,
    is_in_wallclock: OnceLock<bool>,
}

/// Noise that takes more of a process's time hardly ever lets it go on.
pub(super) const MOST_IN_WALLCLOCK: f64 = 0.9;

/// The name of a cause, and its evidence.
pub type CauseName = SourceName;

/// One trace, the processes that get it, and its detours with their causes.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    pub name: String,
    pub who: Who,
    pub length: Time,
    pub detours: Vec<Detour>,
}

impl Noise {
    /// Whether what strikes while a process is delayed delays it further, as on a machine. Not if this noise takes nearly
    /// all of a process's time: then simulations would hardly end, and costs are lower bounds.
    pub fn is_in_wallclock(&self) -> bool {
        *self.is_in_wallclock.get_or_init(|| {
            let share = |sources| Injection { sources, ..Injection::QUIET.clone() }.largest_share();
            self.sources(&[]).is_ok_and(|sources| share(sources) <= MOST_IN_WALLCLOCK)
        })
    }

    /// Process r gets the trace of core r modulo the number of cores. Detours of the sources in `own` were made by the
    /// measurement and are left out.
    pub fn of_recording(recording: &NoiseRecording, own: &[&str]) -> Noise {
        let modulus = recording.cores.len() as u32;
        let is_own = |detour: &Detour| {
            let source = recording.sources.get(usize::from(detour.source));
            source.is_some_and(|source| own.contains(&source.name.as_str()))
        };
        let streams = (0..).zip(&recording.cores).map(|(remainder, core)| Stream {
            name: format!("core {}", core.core),
            who: if modulus == 1 { Who::Everyone } else { Who::Residue { modulus, remainder } },
            length: core.length,
            detours: core.detours.iter().filter(|detour| !is_own(detour)).copied().collect(),
        });
        Noise {
            streams: streams.collect(),
            causes: recording.sources.clone(),
            measured: Some(recording.noise_and_length().1),
            is_in_wallclock: OnceLock::new(),
        }
    }

    /// Every source is its own cause. A delay that happens only once is not node noise and is left out.
    pub fn of_sources(sources: &[Source]) -> Noise {
        let mut noise = Noise {
            streams: Vec::new(),
            causes: Vec::new(),
            measured: None,
            is_in_wallclock: OnceLock::new(),
        };
        for source in sources {
            let Waveform::Trace(detours) = &source.waveform else { continue };
            let cause = CauseId::try_from(noise.causes.len()).unwrap_or(CauseId::MAX);
            noise.causes.push(CauseName { name: source.name.clone(), evidence: Evidence::Stated });
            noise.streams.push(Stream {
                name: source.name.clone(),
                who: source.who.clone(),
                length: detours.length(),
                detours: detours
                    .iter()
                    .map(|(start, duration)| Detour { start, duration, source: cause })
                    .collect(),
            });
        }
        noise
    }

    /// Merges several causes into one: programs that belong together are removed together.
    pub fn join(&mut self, causes: &[CauseId], name: String) {
        let Some((&first, others)) = causes.split_first() else { return };
        if let Some(cause) = self.causes.get_mut(usize::from(first)) {
            cause.name = name;
        }
        for detour in self.streams.iter_mut().flat_map(|stream| &mut stream.detours) {
            if others.contains(&detour.source) {
                detour.source = first;
            }
        }
    }

    /// One of several equal parts of the time, as if only that part had been measured.
    pub fn part(&self, index: u64, parts: u64) -> Noise {
        let streams = self.streams.iter().map(|stream| stream.part(index, parts)).collect();
        let measured = self.measured.map(|measured| Time(measured.ps() / parts.max(1)));
        Noise { streams, causes: self.causes.clone(), measured, is_in_wallclock: OnceLock::new() }
    }

    /// The sources for a simulation without the `removed` causes. Streams keep their places and lengths, so the other
    /// detours stay where they were.
    pub fn sources(&self, removed: &[CauseId]) -> Result<Vec<Source>, DetoursError> {
        self.streams.iter().map(|stream| stream.source(removed)).collect()
    }

    /// Durations of a cause's detours on all streams, longest first.
    pub fn durations(&self, cause: CauseId) -> Vec<Time> {
        let of_cause = |detour: &&Detour| detour.source == cause;
        let detours = self.streams.iter().flat_map(|stream| stream.detours.iter().filter(of_cause));
        let mut durations: Vec<Time> = detours.map(|detour| detour.duration).collect();
        durations.sort_unstable_by(|a, b| b.cmp(a));
        durations
    }

    /// The time over which a cause's detours are spread. Cores are measured in parallel, and a cause may be on all of
    /// them. Sources of a description overlap, each in a stream of its own length; one that only every n-th process gets
    /// is as rare as if its stream were n times as long.
    pub fn length_of(&self, cause: CauseId) -> Time {
        if self.measured.is_some() {
            return self.streams.iter().fold(Time::ZERO, |sum, stream| sum + stream.length);
        }
        let own = self.streams.iter().filter(|stream| stream.causes().any(|other| other == cause));
        own.fold(Time::ZERO, |sum, stream| sum + Time(stream.length.ps().saturating_mul(stream.every())))
    }

    /// The share of a process's time that a cause takes.
    pub fn share_of(&self, cause: CauseId) -> f64 {
        let noise: Time = self.durations(cause).into_iter().fold(Time::ZERO, |sum, one| sum + one);
        noise.ps() as f64 / self.length_of(cause).ps().max(1) as f64
    }

    /// The share of a process's time that all causes take.
    pub fn share(&self) -> f64 {
        (0..self.causes.len()).filter_map(|id| CauseId::try_from(id).ok()).map(|id| self.share_of(id)).sum()
    }
}

impl Stream {
    fn part(&self, index: u64, parts: u64) -> Stream {
        let border = |index: u64| {
            Time((u128::from(self.length.ps()) * u128::from(index) / u128::from(parts.max(1))) as u64)
        };
        let (begin, end) = (border(index), border(index + 1));
        let from = self.detours.partition_point(|detour| detour.start < begin);
        let to = self.detours.partition_point(|detour| detour.start < end);
        let inside = self.detours.get(from..to).unwrap_or_default();
        let detours = inside.iter().map(|detour| Detour { start: detour.start.since(begin), ..*detour });
        Stream { length: end.since(begin), detours: detours.collect(), ..self.clone() }
    }

    /// One of so many processes has this stream.
    fn every(&self) -> u64 {
        match self.who {
            Who::Residue { modulus, .. } => modulus.into(),
            Who::Everyone | Who::Ranks(..) => 1,
        }
    }

    fn causes(&self) -> impl Iterator<Item = CauseId> + '_ {
        self.detours.iter().map(|detour| detour.source)
    }

    fn source(&self, removed: &[CauseId]) -> Result<Source, DetoursError> {
        let kept = self.detours.iter().filter(|detour| !removed.contains(&detour.source));
        let list: Vec<_> = kept.map(|detour| (detour.start, detour.duration)).collect();
        let detours = Arc::new(Detours::new(&list, Some(self.length))?);
        Ok(Source { name: self.name.clone(), waveform: Waveform::Trace(detours), who: self.who.clone() })
    }
}
