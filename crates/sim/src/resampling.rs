//! How the spread of single exchange times affects an all-to-all: the resampling model of Tabe, Hardwick and
//! Stout (*Statistical Analysis of Communication Time on the IBM SP2*, sections 3 to 5).
//!
//! Every pair of processors exchanges one message in the order of a chess tournament
//! ([`straggler_schedule::tournament`]). An exchange starts when both partners are ready, takes a time drawn
//! from a sample of measured ones, and ends for both at once. A processor that is ready before its partner is
//! *idle* until then; the time between its own last exchange and that of the slowest processor does not count
//! as idle. The *total* is when the last processor has finished its last exchange.
//!
//! Where times come from:
//! - Independent draws: every exchange takes a measured time, interrupts and all. This is the simulator of the
//!   paper, whose means did not meet the measured ones: on a real processor a long time without an interrupt
//!   makes the next one more likely.
//! - Interrupts from a trace, the refinement the paper announces: exchanges draw from *uninterrupted* times,
//!   and each processor suffers the interrupts of a noise trace, in which it has its own phase. An exchange
//!   that starts at t and takes d undisturbed ends at t + d + n, where n is the larger of the two partners'
//!   noise(t, t + d) as the execution model defines it: each partner needs d of its own processor for its half
//!   of the exchange, interrupts of the two overlap, and both wait for the later. With the wall-clock option of
//!   [`Injection`], interrupts that fall into the extension count, too. Every sample draws new phases: it is a
//!   replica of the noise with the sample's number.
//!
//! Everything drawn is a function of (seed, number of processors, sample, exchange), so the results are the
//! same on any number of threads. Samples are independent of each other and run in parallel; each writes its
//! own row of the result, and nothing is added up until all are done.

mod draws;
mod exchanges;
mod one_to_one;
mod results;

pub use one_to_one::one_to_one;
pub use results::{Distributions, Processor, Samples, throughput};

use draws::Draws;
use exchanges::Desk;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_model::Time;
use straggler_noise::{Injection, Silence};
use straggler_schedule::tournament;

/// With this many processors one sample has two billion exchanges, and 32 bits still count the draws of a step.
pub const MOST_PROCESSORS: u32 = 1 << 16;

/// The largest number of idle times. All are kept for exact quantiles, in at most a gigabyte.
pub const MOST_IDLE_TIMES: u64 = 1 << 27;

/// Exchanges between two checks of the stop flag: a millisecond or less.
const STRETCH: u64 = 1 << 16;

/// Why nothing can be resampled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResamplingError {
    #[error("{processors} processors have no partner: give at least 2")]
    TooFewProcessors { processors: u32 },
    #[error(
        "{processors} processors are more than the limit of {MOST_PROCESSORS}: one sample would take more than two \
         billion exchanges"
    )]
    TooManyProcessors { processors: u32 },
    #[error("there are no times to draw from")]
    NoTimes,
    #[error("there are no samples to draw: give at least 1")]
    NoSamples,
    #[error(
        "{samples} samples of {processors} processors are too many idle times to keep: give at most {} samples for \
         this many processors",
        MOST_IDLE_TIMES / u64::from(*processors)
    )]
    TooManySamples { samples: u32, processors: u32 },
    #[error("with {processors} processors the total time exceeds the range of simulated time (213 days)")]
    TooLong { processors: u32 },
    #[error("interrupted")]
    Interrupted,
}

/// The distribution of exchange times and the noise.
#[derive(Clone, Copy, Debug)]
pub struct Model<'a> {
    /// The times of an exchange, all equally likely.
    pub times: &'a [Time],
    /// The interrupts of every processor, if the times do not contain them. Random phases are drawn anew for
    /// every sample.
    pub noise: Option<&'a Injection>,
    pub seed: u64,
}

/// How a caller watches and stops a run.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Checked often; once it is set, the run ends with an error.
    pub stop: &'a AtomicBool,
    /// Called from any thread with the number of exchanges since the last call.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Watch<'_> {
    fn advance(&self, exchanges: u64) -> Result<(), ResamplingError> {
        (self.progress)(exchanges);
        if self.stop.load(Ordering::Relaxed) { Err(ResamplingError::Interrupted) } else { Ok(()) }
    }
}

/// Exchanges in one all-to-all.
pub fn exchanges(processors: u32) -> u64 {
    u64::from(processors) * u64::from(processors.saturating_sub(1)) / 2
}

impl Model<'_> {
    /// Computes `samples` samples of an all-to-all, in parallel on the current rayon pool.
    pub fn all_to_all(
        &self,
        processors: u32,
        samples: u32,
        watch: Watch<'_>,
    ) -> Result<Samples, ResamplingError> {
        self.check(processors, samples)?;
        let width = processors as usize;
        let mut result = Samples::new(processors, samples);
        let rows = (STRETCH / exchanges(processors)).clamp(1, 1 << 12) as usize;
        let (totals, own, idle) = result.rows();
        let rows_of = totals.par_chunks_mut(rows).zip(own.par_chunks_mut(rows));
        rows_of.zip(idle.par_chunks_mut(rows * width)).enumerate().try_for_each(
            |(chunk, ((totals, own), idle))| {
                let first = (chunk * rows) as u32;
                self.stretch(processors, first, watch.stop, (totals, own, idle));
                watch.advance(exchanges(processors) * totals.len() as u64)
            },
        )?;
        if totals.contains(&Time::NEVER.ps()) {
            return Err(ResamplingError::TooLong { processors });
        }
        Ok(result)
    }

    fn check(&self, processors: u32, samples: u32) -> Result<(), ResamplingError> {
        match processors {
            0 | 1 => return Err(ResamplingError::TooFewProcessors { processors }),
            2..=MOST_PROCESSORS => {}
            _ => return Err(ResamplingError::TooManyProcessors { processors }),
        }
        if self.times.is_empty() {
            return Err(ResamplingError::NoTimes);
        }
        if samples == 0 {
            return Err(ResamplingError::NoSamples);
        }
        if u64::from(samples) * u64::from(processors) > MOST_IDLE_TIMES {
            return Err(ResamplingError::TooManySamples { samples, processors });
        }
        Ok(())
    }

    /// Computes consecutive samples from `first` on, one for each total, own time and row of idle times.
    fn stretch(
        &self,
        processors: u32,
        first: u32,
        stop: &AtomicBool,
        (totals, own, idle): (&mut [u64], &mut [u64], &mut [u64]),
    ) {
        let draws = Draws::new(self.times, self.seed, processors);
        let mut desk = Desk::new(processors);
        let rows = totals.iter_mut().zip(own).zip(idle.chunks_exact_mut(processors as usize));
        let times = |(total, own): (Time, Time)| (total.ps(), own.ps());
        match self.noise {
            None => rows.zip(first..).for_each(|(((total, own), idle), sample)| {
                (*total, *own) = times(desk.all_to_all(&draws, &Silence, sample, stop, idle));
            }),
            Some(noise) => {
                let mut noise = noise.clone();
                rows.zip(first..).for_each(|(((total, own), idle), sample)| {
                    noise.set_replica(sample);
                    (*total, *own) = times(desk.all_to_all(&draws, &noise, sample, stop, idle));
                });
            }
        }
    }
}
