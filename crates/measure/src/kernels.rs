//! Kernels: loops that notice when the CPU is taken away.
//!
//! | kernel | what it does | what it sees |
//! |---|---|---|
//! | [`detour`] | reads the clock as fast as it can | every interruption, with start and length |
//! | `fwq` | times a fixed amount of work again and again | how much longer it took than at its best |
//! | `ftq` | counts work in fixed stretches of time | how much work was lost, at constant sampling rate |
//!
//! The first two are described and compared in section II of Hoefler, Schneider and Lumsdaine,
//! "Characterizing the Influence of System Noise on Large-Scale Applications by Simulation" (2010); the third
//! is by Sottile and Minnich. All are generic over the clock, use only memory that was touched before, and
//! distinguish slow phases of the whole core from detours.

pub mod detour;
pub(crate) mod ftq;
pub(crate) mod fwq;
mod profile;
mod quanta;

pub use profile::{Profile, Stretch};

use straggler_model::Time;

/// The length above which an iteration is a detour.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Threshold {
    /// A multiple of the undisturbed iteration.
    Factor(f64),
    Time(Time),
}

/// An iteration this many times as long as at the best speed of the core belongs to a slow phase, if its
/// neighbours do as well.
pub const SLOW: f64 = 1.25;

/// An interruption, in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    pub start: u64,
    /// The time lost, without the undisturbed iteration.
    pub length: u64,
}

/// The findings of a kernel on one core. All times are in ticks of its clock.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    pub start: u64,
    pub end: u64,
    /// The least time of an iteration, assessed before the measurement.
    pub t_min: u64,
    pub threshold: u64,
    pub iterations: u64,
    /// The mean undisturbed iteration at the core's best speed: the actual cost of the loop.
    pub iteration: f64,
    pub detours: Vec<Span>,
    pub lost: u64,
    pub lost_ticks: u64,
    /// Periods slower than the best speed.
    pub slow: Vec<Stretch>,
    /// Start and value of every quantum, for the kernels that have them.
    pub quanta: Vec<(u64, u64)>,
}

/// Allocates a buffer of fixed capacity with all its pages mapped.
pub(crate) fn touched<T: Copy + Default>(capacity: usize) -> Vec<T> {
    // Not `vec![default; n]` of zeros: the allocator would hand out pages that are mapped at first use.
    let mut buffer = Vec::with_capacity(capacity);
    for _ in 0..capacity {
        buffer.push(std::hint::black_box(T::default()));
    }
    buffer.clear();
    buffer
}

/// Whether a buffer still has room; it must never grow in a measurement.
pub(crate) fn has_room<T>(buffer: &Vec<T>) -> bool {
    buffer.len() < buffer.capacity()
}

/// Something that can do work in small equal steps.
pub trait Work {
    fn work(&mut self, steps: u64);
}

/// A chain of multiplications in which each needs the result of the one before, so that no processor can
/// overlap them and no cache matters.
#[derive(Clone, Copy, Debug)]
pub struct Chain(u64);

impl Default for Chain {
    fn default() -> Chain {
        Chain(0x9E37_79B9_7F4A_7C15)
    }
}

impl Work for Chain {
    #[inline(always)]
    fn work(&mut self, steps: u64) {
        let mut value = self.0;
        for _ in 0..steps {
            // The constant is that of Knuth's MMIX generator; any odd one would do. The black box keeps the
            // compiler from computing several steps in one.
            value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005) | 1);
        }
        self.0 = value;
    }
}
