//! Measures the LogGP parameters between two processes.
//!
//! A [`Probe`] runs the few necessary experiments, on MPI or in a simulation; [`measure`] repeats them and derives L,
//! o_s, o_r, g, G, O and S as this project's model defines them. With b = max(k, 1) − 1 for messages of k bytes, and
//! O ≤ G:
//!
//! | experiment | what the model says it takes |
//! |---|---|
//! | one message there, one byte back | 2·(o_s + L + o_r) + b·G |
//! | n messages in a row there, one byte back | the same + (n−1)·max(o_s + b·O, o_r + b·G, g + b·G) |
//! | n sends in a row, as their sender sees it | o_s + b·O + (n−1)·max(o_s + b·O, g + b·G) |
//! | the same with a computation of d between them | the same + (n−1)·max(o_s + b·O + d, …) |
//! | a send whose receiver comes late by d | o_s + b·O if k ≤ S, else d and more |
//! | a receive whose message is there | o_r + b·G |
//!
//! The experiments with n messages and a delay are those of Hoefler, Lichei and Rehm, "Low-overhead LogGP parameter
//! assessment for modern interconnection networks" (2007).
//!
//! - `experiments.rs` runs them in batches, each of which contains every experiment, so that a
//!   disturbance of seconds affects all alike. The value of a batch is the lower quartile of its repetitions.
//! - `estimate.rs` derives the parameters from the medians over the batches, and confidence intervals by
//!   resampling batches and sizes (bootstrap).
//! - `judge.rs` decides which estimates are reliable, and reports what was assumed instead of the others.

mod estimate;
mod experiments;
mod file;
mod judge;
mod limit;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
mod words;

pub use file::{MeasuredLevel, Provenance};
pub use words::rate;

use straggler_model::Time;
use straggler_model::network::{Link, Network, PerByte};

/// Messages that follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Train {
    pub count: u32,
    /// How long the sender computes between two messages.
    pub delay: Time,
    pub bytes: u64,
}

/// How long a train took, as its sender sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrip {
    /// Until the last send has finished.
    pub sent: Time,
    /// Until the one-byte answer has arrived, which the receiver sends after it has received the last message.
    pub back: Time,
}

/// What a receiver does before it posts its receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receiver {
    /// It computes; its communication library makes no progress.
    Computes,
    /// It waits for something else inside the library, which makes progress on all messages.
    Polls,
}

/// Two processes that exchange messages on demand. Each call is one experiment, which starts and ends with a quiet
/// network; the cost of the clock is subtracted.
pub trait Probe {
    type Error;

    fn round_trip(&mut self, train: Train) -> Result<RoundTrip, Self::Error>;

    /// The duration of a send whose receiver posts its receive `late` after it learned of the message.
    fn send(&mut self, bytes: u64, late: Time, receiver: Receiver) -> Result<Time, Self::Error>;

    /// The duration of a receive that is called `after` the message was sent.
    fn receive(&mut self, bytes: u64, after: Time) -> Result<Time, Self::Error>;
}

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The largest message, in bytes.
    pub largest: u64,
    /// A 95 % confidence interval needs at least six.
    pub batches: usize,
    /// Repetitions of each experiment in a batch.
    pub repetitions: usize,
    /// Number of bootstrap samples for the confidence intervals, and their seed.
    pub draws: usize,
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { largest: 4 << 20, batches: 21, repetitions: 8, draws: 400, seed: 0 }
    }
}

/// A time in picoseconds, with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Estimate {
    pub ps: f64,
    pub low_ps: f64,
    pub high_ps: f64,
}

impl Estimate {
    /// The width of the interval as a share of the value; infinite for 0.
    pub fn width(&self) -> f64 {
        let width = self.high_ps - self.low_ps;
        if width == 0.0 { 0.0 } else { width / self.ps.abs() }
    }

    fn exactly(ps: f64) -> Estimate {
        Estimate { ps, low_ps: ps, high_ps: ps }
    }

    /// The same, with negative values replaced by 0.
    fn at_least_nothing(self) -> Estimate {
        let up = |ps: f64| ps.max(0.0);
        Estimate { ps: up(self.ps), low_ps: up(self.low_ps), high_ps: up(self.high_ps) }
    }
}

/// A range of sizes that is sent in the same way: the time from the start of a send to the end of its receive is
/// `at_zero` + (k−1)·`per_byte`.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Protocol {
    /// The smallest and the largest measured size of this protocol.
    pub from_bytes: u64,
    pub to_bytes: u64,
    pub at_zero: Estimate,
    pub per_byte: Estimate,
}

/// Measured times of messages of one size.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Measured {
    pub bytes: u64,
    /// From the start of a send to the end of its receive.
    pub one_way_ps: f64,
    /// From one message to the next in a long train.
    pub stream_ps: f64,
}

/// The measured parameters.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct LogGp {
    pub latency: Estimate,
    pub send_overhead: Estimate,
    pub recv_overhead: Estimate,
    /// g; none if it is hidden by the overheads and assumed to be 0.
    pub gap: Option<Estimate>,
    /// G of the protocol that fits all sizes best; it goes into the network file.
    pub gap_per_byte: Estimate,
    pub overhead_per_byte: Estimate,
    /// S in bytes; none if even the largest messages are sent eagerly.
    pub eager_limit: Option<u64>,
    /// Time per byte in a stream of the largest messages.
    pub stream_per_byte: Estimate,
    /// Ordered by size.
    pub protocols: Vec<Protocol>,
    pub points: Vec<Measured>,
    /// What could not be measured, what was assumed instead, and inconsistencies.
    pub doubts: Vec<String>,
}

impl LogGp {
    /// The link that the model needs.
    pub fn link(&self) -> Link {
        let time = |estimate: &Estimate| Time(estimate.ps.max(0.0).round() as u64);
        Link {
            // Without latency there would be no lookahead for parallel simulation.
            latency: time(&self.latency).max(Time::from_ns(1)),
            send_overhead: time(&self.send_overhead),
            recv_overhead: time(&self.recv_overhead),
            gap: self.gap.as_ref().map_or(Time::ZERO, time),
            gap_per_byte: PerByte::from_picoseconds(self.gap_per_byte.ps),
            overhead_per_byte: PerByte::from_picoseconds(self.overhead_per_byte.ps),
            eager_limit: self.eager_limit.unwrap_or(u64::MAX),
            overlap_limit: u64::MAX,
        }
    }

    pub fn network(&self, name: &str) -> Network {
        Network::uniform(name, self.link())
    }
}

/// Finished batches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    pub done: usize,
    pub of: usize,
}

/// Runs all experiments. If the probe fails or is stopped after at least six batches, enough for an interval, these are
/// used; if earlier, its error is returned.
pub fn measure<P: Probe>(
    probe: &mut P,
    settings: &Settings,
    report: &mut dyn FnMut(Progress),
) -> Result<LogGp, P::Error> {
    let limit = limit::find(probe, settings.largest.max(1), Receiver::Polls)?;
    let silent = limit::find(probe, settings.largest.max(1), Receiver::Computes)?;
    let samples = experiments::make(probe, &limit, settings, report)?;
    let estimates = estimate::Estimates::new(&samples, settings);
    Ok(judge::judge(&samples, &estimates, &limit, &silent))
}
