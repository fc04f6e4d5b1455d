//! Noise drawn from a signature.
//!
//! Each source has its own stream of random numbers, so that leaving one out does not change the others. A
//! CPU does one thing at a time: a detour that would begin during an earlier one begins at its end, with its
//! full duration.

use super::{Arrivals, Signature, SignatureError, SignatureSource};
use crate::Detours;
use crate::generate::{Durations, Extent, MAX_EVENTS, exponential, from_float, standard_normal};
use crate::recording::{
    Attribution, AttributionMethod, Core, Detour, Evidence, NoiseRecording, SourceId, UNNAMED,
};
use straggler_model::Time;
use straggler_model::philox::Stream;
use straggler_model::provenance::Origin;

/// One detour: which source of the signature, when, how long.
pub type Strike = (usize, Time, Time);

/// Strikes in the trace of one source. The largest of this many draws lies near the 0.99995 quantile, and
/// even among a million processes few share a starting point.
const TRACE_EVENTS: u64 = 20_000;

/// A quarter of the range of simulated time, leaving room for detours that are delayed.
const LONGEST: Time = Time(1 << 62);

/// Length of a recording without any source.
const HOUR: Time = Time::from_ns(3_600_000_000_000);

/// Replica number of signature streams: used by no run, and distinct from that of other drawn noise.
const REPLICA: u32 = u32::MAX - 1;

impl SignatureSource {
    /// Draws the strikes within a length before queueing: sorted, possibly overlapping. The position of the
    /// first one is drawn, too. A strike that jitter moves past one end re-enters at the other, because the
    /// trace repeats.
    fn wishes(&self, stream: &mut Stream, length: Time) -> Vec<(Time, Time)> {
        let mut starts = match self.arrivals {
            Arrivals::Periodic { period, jitter } => periodic(stream, period, jitter, length),
            Arrivals::Random { mean_gap } => random(stream, mean_gap, length),
        };
        starts.sort_unstable();
        starts.into_iter().map(|start| (start, self.durations.draw(stream))).collect()
    }

    /// The trace to be repeated: one period if all strikes are alike, else many.
    fn trace(&self, stream: &mut Stream) -> Result<Detours, SignatureError> {
        let fault = |fault| SignatureError::Detours { name: self.name.clone(), fault };
        let gap = self.arrivals.gap();
        if let (Arrivals::Periodic { period, jitter: Time::ZERO }, Durations::Constant(duration)) =
            (self.arrivals, &self.durations)
        {
            return Detours::new(&[(Time::ZERO, *duration)], Some(period)).map_err(fault);
        }
        // A whole number of periods, so that the repetition keeps the beat.
        let count = (LONGEST.ps() / gap.ps().max(1)).clamp(1, TRACE_EVENTS);
        let length = Time(gap.ps().saturating_mul(count));
        let mut list = self.wishes(stream, length);
        queue(list.iter_mut().map(|(start, duration)| (start, *duration)));
        list.retain(|(start, duration)| *start < length && *duration > Time::ZERO);
        Detours::new(&list, Some(length)).map_err(fault)
    }
}

fn periodic(stream: &mut Stream, period: Time, jitter: Time, length: Time) -> Vec<Time> {
    let phase = stream.below(period.ps());
    let mut starts = Vec::new();
    let mut at = phase;
    while at < length.ps() {
        let start = if jitter == Time::ZERO {
            at
        } else {
            let moved = at as f64 + jitter.ps() as f64 * standard_normal(stream);
            from_float(moved.rem_euclid(length.ps() as f64)).ps() % length.ps()
        };
        starts.push(Time(start));
        at = at.saturating_add(period.ps().max(1));
    }
    starts
}

fn random(stream: &mut Stream, mean_gap: Time, length: Time) -> Vec<Time> {
    let mut starts = Vec::new();
    let mut at = exponential(stream, mean_gap);
    while at < length {
        starts.push(at);
        // At least a picosecond: gaps that round to 0 would never end the loop.
        at += exponential(stream, mean_gap).max(Time(1));
    }
    starts
}

/// Delays every start to the end of the detour before it.
fn queue<'a>(detours: impl Iterator<Item = (&'a mut Time, Time)>) {
    let mut free = Time::ZERO;
    for (start, duration) in detours {
        *start = (*start).max(free);
        free = *start + duration;
    }
}

impl Signature {
    /// Draws a trace for each source, to be repeated and applied to processes each with its own phase.
    /// `place` distinguishes the signatures of one run.
    pub fn traces(&self, seed: u64, place: u32) -> Result<Vec<Detours>, SignatureError> {
        self.check()?;
        let traces = self.sources.iter().enumerate().map(|(index, source)| {
            let mut stream = Stream::new(seed, REPLICA, place, stream_number(index));
            source.trace(&mut stream)
        });
        traces.collect()
    }

    /// The time in which this many detours are expected.
    fn length_of(&self, events: u64) -> Time {
        if self.sources.is_empty() { HOUR } else { from_float(events as f64 / self.per_ps()) }
    }

    /// Strikes a picosecond, of all sources.
    fn per_ps(&self) -> f64 {
        self.sources.iter().map(|source| 1.0 / source.arrivals.gap().ps() as f64).sum()
    }

    fn length(&self, extent: Extent) -> Time {
        match extent {
            Extent::Length(length) => length,
            Extent::Events(events) => self.length_of(u64::from(events)),
        }
        .min(LONGEST)
    }

    /// Draws the strikes of all sources on one core: sorted by start, without overlaps. With
    /// [`Extent::Events`] their number is approximate.
    pub fn generate(&self, seed: u64, extent: Extent) -> Result<Vec<Strike>, SignatureError> {
        self.check()?;
        let length = self.length(extent);
        if self.per_ps() * length.ps() as f64 > f64::from(MAX_EVENTS) {
            return Err(SignatureError::TooMany { length });
        }
        let mut strikes: Vec<Strike> = Vec::new();
        for (index, source) in self.sources.iter().enumerate() {
            let mut stream = Stream::new(seed, REPLICA, u32::MAX, stream_number(index));
            let wishes = source.wishes(&mut stream, length);
            strikes.extend(wishes.into_iter().map(|(start, duration)| (index, start, duration)));
        }
        strikes.sort_by_key(|&(index, start, _)| (start, index));
        queue(strikes.iter_mut().map(|(_, start, duration)| (start, *duration)));
        // A duration of 0 means that nothing happens.
        strikes.retain(|&(_, start, duration)| start < length && duration > Time::ZERO);
        Ok(strikes)
    }

    /// The recording that a measurement of one core would have made, every detour with its source.
    pub fn recording(&self, seed: u64, extent: Extent) -> Result<NoiseRecording, SignatureError> {
        let strikes = self.generate(seed, extent)?;
        let mut recording = NoiseRecording {
            origin: Origin::Synthetic { description: format!("{}: {}", self.name, self.made_from) },
            sources: NoiseRecording::unnamed(),
            attribution: Attribution { method: AttributionMethod::Stated, ..Attribution::default() },
            ..NoiseRecording::default()
        };
        let names = self.sources.iter().map(|source| recording.source_id(&source.name, Evidence::Stated));
        let names: Vec<SourceId> = names.collect();
        let detours = strikes.into_iter().map(|(index, start, duration)| Detour {
            start,
            duration,
            source: names.get(index).copied().unwrap_or(UNNAMED),
        });
        let core = Core { length: self.length(extent), detours: detours.collect(), ..Core::default() };
        recording.cores.push(core);
        Ok(recording)
    }
}

/// The generator has 24 bits for the source; more sources would share streams, which does not occur in practice.
fn stream_number(index: usize) -> u32 {
    (index % (1 << 24)) as u32
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use proptest::prelude::*;

    const SECOND: Time = Time::from_ns(1_000_000_000);

    #[test]
    fn formula_trace_and_recording_agree() {
        let signature = sample();
        let traces: f64 = signature.traces(1, 0).unwrap().iter().map(Detours::share).sum();
        let recording = signature.recording(1, Extent::Length(Time(30 * SECOND.ps()))).unwrap();
        let (noise, length) = recording.noise_and_length();
        let recorded = noise.ps() as f64 / length.ps() as f64;
        // 300 exponential detours of the daemon, most of the noise: 6 % is one standard deviation.
        assert!((recorded / signature.share() - 1.0).abs() < 0.15, "{recorded}");
        assert!((traces / signature.share() - 1.0).abs() < 0.02, "{traces}");
    }

    #[test]
    fn a_recording_names_its_sources() {
        let recording = sample().recording(1, Extent::Length(SECOND)).unwrap();
        recording.check().unwrap();
        let named: Vec<_> = recording.sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(named, ["unnamed", "tick", "clock", "daemon"]);
        let count = |id| recording.cores[0].detours.iter().filter(|detour| detour.source == id).count();
        assert_eq!((count(0), count(1), count(2)), (0, 1000, 100));
        assert!((2..30).contains(&count(3)), "{}", count(3));
        assert!(
            matches!(&recording.origin, Origin::Synthetic { description } if description.contains("sample"))
        );
    }

    #[test]
    fn a_source_left_out_changes_no_other() {
        let whole = sample().traces(1, 0).unwrap();
        let mut without = sample();
        without.sources.pop();
        assert_eq!(without.traces(1, 0).unwrap(), whole[..2]);
        assert_ne!(sample().traces(2, 0).unwrap()[0], whole[0]);
        assert_ne!(sample().traces(1, 1).unwrap()[0], whole[0]);
    }

    #[test]
    fn jitter_keeps_the_beat() {
        let trace = &sample().traces(1, 0).unwrap()[0];
        assert_eq!((trace.len(), trace.length()), (20_000, Time(20 * SECOND.ps())));
        let starts: Vec<f64> = trace.iter().map(|(start, _)| start.ps() as f64).collect();
        let steps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        let spread =
            (steps.iter().map(|step| (step - mean).powi(2)).sum::<f64>() / steps.len() as f64).sqrt();
        // The difference of two normal deviates of 20 µs.
        assert!((spread / (20e6 * 2f64.sqrt()) - 1.0).abs() < 0.03, "{spread}");
    }

    #[test]
    fn lengths_are_chosen_and_bounded() {
        let mut signature = sample();
        assert_eq!(signature.length(Extent::Events(1110)), SECOND);
        let far = Extent::Length(Time(1_000_000 * SECOND.ps()));
        assert!(matches!(signature.generate(1, far), Err(SignatureError::TooMany { .. })));
        signature.sources.clear();
        assert_eq!(signature.generate(1, Extent::Events(5)).unwrap(), []);
        assert_eq!(signature.recording(1, Extent::Events(5)).unwrap().cores[0].length, HOUR);
    }

    proptest! {
        /// For any gaps and durations, the drawn strikes are sorted, do not overlap, and lie within the
        /// length.
        #[test]
        fn one_detour_at_a_time(
            seed: u64,
            gaps in prop::collection::vec((1u64..1 << 55, 0u64..1 << 55, any::<bool>()), 1..4),
            alpha in 1.5f64..5.0,
            events in 1u32..300,
        ) {
            let sources = gaps.iter().enumerate().map(|(index, &(gap, jitter, regular))| SignatureSource {
                name: index.to_string(),
                arrivals: match regular {
                    true => Arrivals::Periodic { period: Time(gap), jitter: Time(jitter) },
                    false => Arrivals::Random { mean_gap: Time(gap) },
                },
                durations: Durations::Pareto { min: Time(gap / 12), alpha },
            });
            let signature = Signature { name: "x".into(), made_from: "y".into(), sources: sources.collect() };
            prop_assume!(signature.check().is_ok());
            let recording = signature.recording(seed, Extent::Events(events)).unwrap();
            prop_assert_eq!(recording.check(), Ok(()));
            let _ = signature.traces(seed, 0);
        }
    }
}
