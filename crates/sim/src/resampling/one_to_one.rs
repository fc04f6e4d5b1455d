//! Back-to-back exchanges of two processors, as a benchmark measures them, to compare resampled times and
//! interrupts with the machine's.

use super::draws::Draws;
use super::{Model, ResamplingError, Watch};
use rayon::prelude::*;
use straggler_model::Time;
use straggler_noise::{Noise, QuietUntil, Silence};

/// Exchanges in a row; the next series begins elsewhere in the noise. Long, so that it matters little that
/// the first exchange may begin inside an interrupt and all others begin where one has ended.
const SERIES: usize = 500;

/// The lengths of `count` exchanges, in picoseconds, in the order they were made.
pub fn one_to_one(model: &Model<'_>, count: u32, watch: Watch<'_>) -> Result<Vec<u64>, ResamplingError> {
    if model.times.is_empty() {
        return Err(ResamplingError::NoTimes);
    }
    if count == 0 {
        return Err(ResamplingError::NoSamples);
    }
    let mut lengths = vec![0; count as usize];
    lengths.par_chunks_mut(SERIES).enumerate().try_for_each(|(number, lengths)| {
        let number = number as u32;
        match model.noise {
            None => series(model, &Silence, number, lengths),
            Some(noise) => {
                let mut noise = noise.clone();
                noise.set_replica(number);
                series(model, &noise, number, lengths);
            }
        }
        watch.advance(lengths.len() as u64)
    })?;
    if lengths.contains(&Time::NEVER.ps()) {
        return Err(ResamplingError::TooLong { processors: 2 });
    }
    Ok(lengths)
}

/// Computes one series. It uses the draws for 1 processor, which no all-to-all uses.
fn series<N: Noise>(model: &Model<'_>, noise: &N, number: u32, lengths: &mut [u64]) {
    let mut drawn = [Time::ZERO; SERIES];
    Draws::new(model.times, model.seed, 1).fill(number, 0, &mut drawn);
    let mut quiet = [QuietUntil::UNKNOWN; 2];
    let mut now = Time::ZERO;
    for (length, drawn) in lengths.iter_mut().zip(drawn) {
        let end = now + drawn;
        let [one, other] = &mut quiet;
        let end = end + noise.charge(0, one, now, end).max(noise.charge(1, other, now, end));
        *length = if end == Time::NEVER { end.ps() } else { end.since(now).ps() };
        now = end;
    }
}
