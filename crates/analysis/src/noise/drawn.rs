//! Described noise as a recording of one core, as a measurement would find it.

use straggler_model::provenance::Origin;
use straggler_model::{Rank, Time};
use straggler_noise::recording::{Core, Detour, Evidence, NoiseRecording, SourceId};
use straggler_noise::{Source, Waveform};

/// Approximate limit on drawn detours: a description may have one in every picosecond.
const MOST: f64 = 1e7;

/// The detours of a rank within a length, all sources starting at 0. A CPU does one thing at a time: a detour that
/// would begin during another begins at its end. If the noise is too dense, a shorter recording is drawn.
pub fn recording(sources: &[Source], rank: Rank, length: Time) -> NoiseRecording {
    let length = affordable(sources, length);
    let mut recording = NoiseRecording {
        origin: Origin::Synthetic { description: "drawn from a noise spec".into() },
        sources: NoiseRecording::unnamed(),
        ..NoiseRecording::default()
    };
    let mut detours: Vec<Detour> = Vec::new();
    for source in sources.iter().filter(|source| source.who.holds(rank)) {
        let id = recording.source_id(&source.name, Evidence::Stated);
        unroll(&source.waveform, length, id, &mut detours);
    }
    detours.sort_by_key(|detour| detour.start);
    let mut free = Time::ZERO;
    for detour in &mut detours {
        detour.start = detour.start.max(free);
        free = detour.end();
    }
    detours.retain(|detour| detour.start < length);
    recording.cores.push(Core { length, detours, ..Core::default() });
    recording
}

/// The length, or the part of it that holds the most detours allowed.
fn affordable(sources: &[Source], length: Time) -> Time {
    let in_length = |source: &Source| match &source.waveform {
        Waveform::Once { .. } => 1.0,
        Waveform::Trace(trace) => {
            trace.len() as f64 * (length.ps() as f64 / trace.length().ps().max(1) as f64)
        }
    };
    let expected: f64 = sources.iter().map(in_length).sum();
    if expected > MOST { Time((length.ps() as f64 * (MOST / expected)) as u64) } else { length }
}

fn unroll(waveform: &Waveform, length: Time, source: SourceId, detours: &mut Vec<Detour>) {
    match waveform {
        Waveform::Once { at, duration } => detours.push(Detour { start: *at, duration: *duration, source }),
        Waveform::Trace(trace) if trace.share() == 0.0 => {}
        Waveform::Trace(trace) => {
            let mut turn = Time::ZERO;
            while turn < length {
                let shifted = trace
                    .iter()
                    .filter(|(_, duration)| *duration > Time::ZERO)
                    .map(|(start, duration)| Detour { start: turn + start, duration, source });
                detours.extend(shifted.take_while(|detour| detour.start < length));
                turn += trace.length();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_noise::NoiseSpec;

    #[test]
    fn repeated_and_one_after_the_other() {
        let spec: NoiseSpec =
            "periodic:period=1ms,duration=100us+delay:rank=0,at=2050us,duration=1us".parse().unwrap();
        let recording = recording(&spec.load(1).unwrap().sources, 0, Time::from_ns(10_000_000));
        recording.check().unwrap();
        let core = &recording.cores[0];
        assert_eq!((core.detours.len(), core.noise()), (11, Time::from_ns(1_001_000)));
        assert_eq!(core.detours[3].start, Time::from_ns(2_100_000));
    }
}
