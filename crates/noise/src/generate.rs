//! Noise that is drawn instead of measured.

mod quantiles;

pub use quantiles::{Quantiles, QuantilesError};

use super::{Detours, DetoursError};
use straggler_model::Time;
use straggler_model::philox::Stream;

/// The distribution of drawn durations.
#[derive(Clone, Debug, PartialEq)]
pub enum Durations {
    Constant(Time),
    Exponential {
        mean: Time,
    },
    LogNormal {
        median: Time,
        sigma: f64,
    },
    Uniform {
        min: Time,
        max: Time,
    },
    /// Density falls as duration^-(alpha + 1), from `min` on.
    Pareto {
        min: Time,
        alpha: f64,
    },
    /// Measured quantiles, with straight lines in between.
    Quantiles(Quantiles),
}

/// How much of a random process a trace holds before it repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Events(u32),
    Length(Time),
}

/// Default number of events in a generated trace, as in the traces of the SC10 noise study.
pub const DEFAULT_EVENTS: u32 = 100_000;

/// The most detours a generated trace may hold.
pub const MAX_EVENTS: u32 = 100_000_000;

/// Detours that begin at the points of a Poisson process.
///
/// A detour may begin during an earlier one; the model then continues with the later one.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    pub mean_gap: Time,
    pub durations: Durations,
    pub extent: Extent,
}

/// Why a random process gives no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    #[error("with one detour per {mean_gap} on average, length {length} holds no detour: make it longer")]
    Nothing { length: Time, mean_gap: Time },
    #[error(
        "with one detour per {mean_gap} on average, length {length} holds more than 100,000,000 detours: make it shorter"
    )]
    TooMany { length: Time, mean_gap: Time },
    #[error(
        "{events} detours, one per {mean_gap} on average, exceed the range of simulated time (213 days): give fewer \
         events, or length=TIME"
    )]
    BeyondTime { events: u32, mean_gap: Time },
    #[error(transparent)]
    Detours(#[from] DetoursError),
}

impl Durations {
    pub(super) fn draw(&self, stream: &mut Stream) -> Time {
        match *self {
            Durations::Constant(duration) => duration,
            Durations::Exponential { mean } => exponential(stream, mean),
            Durations::LogNormal { median, sigma } => {
                from_float(median.ps() as f64 * (sigma * standard_normal(stream)).exp())
            }
            Durations::Uniform { min, max } => min + Time(stream.below((max - min).ps().saturating_add(1))),
            Durations::Pareto { min, alpha } => {
                from_float(min.ps() as f64 * stream.unit().powf(-1.0 / alpha))
            }
            Durations::Quantiles(ref quantiles) => quantiles.at(stream.unit()),
        }
    }

    /// The mean in picoseconds; infinite for a Pareto tail with alpha of 1 or less.
    pub fn mean_ps(&self) -> f64 {
        match *self {
            Durations::Constant(duration) => duration.ps() as f64,
            Durations::Exponential { mean } => mean.ps() as f64,
            Durations::LogNormal { median, sigma } => median.ps() as f64 * (sigma * sigma / 2.0).exp(),
            Durations::Uniform { min, max } => (min.ps() as f64 + max.ps() as f64) / 2.0,
            Durations::Pareto { alpha, .. } if alpha <= 1.0 => f64::INFINITY,
            Durations::Pareto { min, alpha } => min.ps() as f64 * alpha / (alpha - 1.0),
            Durations::Quantiles(ref quantiles) => quantiles.mean_ps(),
        }
    }
}

pub(super) fn from_float(ps: f64) -> Time {
    // The cast saturates.
    Time(ps.round() as u64)
}

pub(super) fn exponential(stream: &mut Stream, mean: Time) -> Time {
    from_float(-stream.unit().ln() * mean.ps() as f64)
}

/// Box–Muller transform. The second value is discarded so that draws are independent of each other.
pub(super) fn standard_normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * stream.unit().ln()).sqrt();
    radius * (std::f64::consts::TAU * stream.unit()).cos()
}

impl Poisson {
    /// Draws the trace. With [`Extent::Events`] it ends where the next event would have been, so
    /// that the repetition continues the process.
    pub fn generate(&self, mut stream: Stream) -> Result<Detours, GenerateError> {
        let (limit, end) = match self.extent {
            Extent::Events(events) => (events, Time::NEVER),
            Extent::Length(length) => (MAX_EVENTS, length),
        };
        let mut detours = Vec::new();
        let mut at = exponential(&mut stream, self.mean_gap);
        while at < end && (detours.len() as u64) < u64::from(limit) {
            detours.push((at, self.durations.draw(&mut stream)));
            at += exponential(&mut stream, self.mean_gap);
        }
        match self.extent {
            Extent::Length(length) if detours.is_empty() => {
                Err(GenerateError::Nothing { length, mean_gap: self.mean_gap })
            }
            Extent::Length(length) if at < end => {
                Err(GenerateError::TooMany { length, mean_gap: self.mean_gap })
            }
            Extent::Length(length) => Ok(Detours::new(&detours, Some(length))?),
            Extent::Events(events) if at == Time::NEVER => {
                Err(GenerateError::BeyondTime { events, mean_gap: self.mean_gap })
            }
            // One more picosecond, in case the last gap rounds to 0.
            Extent::Events(_) => Ok(Detours::new(&detours, Some(at + Time(1)))?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(durations: Durations, extent: Extent) -> Detours {
        let poisson = Poisson { mean_gap: Time::from_ns(1_000_000), durations, extent };
        poisson.generate(Stream::new(7, 0, 0, 0)).unwrap()
    }

    fn quantiles() -> Quantiles {
        let points = [(0.0, 1000), (0.5, 2000), (0.99, 9000), (1.0, 30_000)];
        Quantiles::new(points.map(|(share, ns)| (share, Time::from_ns(ns))).to_vec()).unwrap()
    }

    #[test]
    fn the_same_stream_draws_the_same_trace() {
        let durations = Durations::LogNormal { median: Time::from_ns(5000), sigma: 1.2 };
        assert_eq!(trace(durations.clone(), Extent::Events(100)), trace(durations, Extent::Events(100)));
    }

    #[test]
    fn rates_and_means_come_out() {
        let microsecond = Time::from_ns(1000);
        for durations in [
            Durations::Constant(microsecond),
            Durations::Exponential { mean: microsecond },
            Durations::LogNormal { median: microsecond, sigma: 0.7 },
            Durations::Uniform { min: microsecond, max: Time::from_ns(3000) },
            Durations::Pareto { min: microsecond, alpha: 4.0 },
            Durations::Quantiles(quantiles()),
        ] {
            let trace = trace(durations.clone(), Extent::Events(DEFAULT_EVENTS));
            assert_eq!(trace.len(), DEFAULT_EVENTS as usize);
            let gap = trace.length().ps() as f64 / trace.len() as f64;
            assert!((gap / 1e9 - 1.0).abs() < 0.02, "{durations:?}: gap {gap}");
            let mean = trace.share() * gap;
            assert!((mean / durations.mean_ps() - 1.0).abs() < 0.02, "{durations:?}: mean {mean}");
        }
    }

    #[test]
    fn events_that_simulated_time_cannot_hold_are_refused() {
        let hour = Time::from_ns(3_600_000_000_000);
        let poisson = |events| Poisson {
            mean_gap: hour,
            durations: Durations::Constant(Time(1)),
            extent: Extent::Events(events),
        };
        assert_eq!(poisson(1000).generate(Stream::new(7, 0, 0, 0)).unwrap().len(), 1000);
        let fault = poisson(100_000).generate(Stream::new(7, 0, 0, 0)).unwrap_err();
        assert_eq!(fault, GenerateError::BeyondTime { events: 100_000, mean_gap: hour });
    }

    #[test]
    fn a_length_is_kept() {
        let length = Time::from_ns(1_000_000_000);
        let trace = trace(Durations::Constant(Time(1)), Extent::Length(length));
        assert_eq!(trace.length(), length);
        assert!((900..1100).contains(&trace.len()), "{}", trace.len());
    }
}
