//! How times are sorted into bins. Every layout begins at 0 and its edges are whole picoseconds.
//!
//! - Fixed width: equation 1 of Settlemyer et al., *Diagnosing Anomalous Network Performance with Confidence*.
//! - Logarithmic: equation 2 of the same paper. S is in microseconds there: S = 0.05 is the 50 ns of its figure 1.
//! - High dynamic range, the default: each octave is cut into equal parts, so every time from 1 ps to 213
//!   days is resolved to 1/128 or better. It needs no guess of the longest time. A shift and a count of
//!   leading zeros find the bin; a histogram library would bring its own edges, formats and failure modes.

mod finder;
mod parse;

pub(super) use finder::{Finder, octave_position};

use crate::Time;
use crate::units::UnitError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A layout of bins. Two histograms can be merged when theirs are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "layout", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Bins {
    /// `count` bins of `width_ps` each.
    FixedWidth { width_ps: u64, count: u32 },
    /// The first bin is `size_ps` wide, bin i is e^(S i) - 1 microseconds wide, where S is the size in
    /// microseconds. Bins beyond the longest representable time stay empty.
    Logarithmic { size_ps: u64, count: u32 },
    /// 2^`octave_bits` bins between a power of two and the next.
    HighDynamicRange { octave_bits: u32 },
}

/// Why a layout cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BinsError {
    #[error("{bins}: bins must be at least 1 ps wide")]
    NoWidth { bins: Bins },
    #[error("{bins}: give 1 to {} bins", Bins::MOST)]
    Count { bins: Bins },
    #[error("{bins}: an octave has 2^1 to 2^{} bins", Bins::MOST_OCTAVE_BITS)]
    OctaveBits { bins: Bins },
    #[error(
        "`{text}` is not a layout of bins: write hdr, hdr:BITS, fixed:LONGEST/BINS or log:SIZE/BINS{hint}"
    )]
    Unknown { text: String, hint: String },
    #[error("`{text}` is not a layout of bins: {fault}")]
    Quantity { text: String, fault: UnitError },
    #[error("`{text}` is not a layout of bins: `{number}` is not a whole number")]
    Number { text: String, number: String },
}

impl Default for Bins {
    fn default() -> Bins {
        Bins::HighDynamicRange { octave_bits: 7 }
    }
}

impl Bins {
    /// The most bins a layout may have; more would cost too much memory per distribution.
    pub const MOST: u32 = 1 << 20;
    pub const MOST_OCTAVE_BITS: u32 = 14;
    /// Number of bins in the paper's figure 1.
    pub const FIGURE_1: u32 = 1000;

    /// Equation 1: `count` bins up to `longest`. The width is rounded up to a whole picosecond.
    pub fn fixed_width(longest: Time, count: u32) -> Result<Bins, BinsError> {
        let width_ps = longest.ps().div_ceil(u64::from(count.max(1)));
        Bins::FixedWidth { width_ps, count }.checked()
    }

    /// Equation 2 with S = `size`.
    pub fn logarithmic(size: Time, count: u32) -> Result<Bins, BinsError> {
        Bins::Logarithmic { size_ps: size.ps(), count }.checked()
    }

    /// Returns the layout unchanged if it can be used.
    pub fn checked(self) -> Result<Bins, BinsError> {
        match self {
            Bins::FixedWidth { width_ps: 0, .. } | Bins::Logarithmic { size_ps: 0, .. } => {
                Err(BinsError::NoWidth { bins: self })
            }
            Bins::FixedWidth { count, .. } | Bins::Logarithmic { count, .. }
                if count == 0 || count > Bins::MOST =>
            {
                Err(BinsError::Count { bins: self })
            }
            Bins::HighDynamicRange { octave_bits }
                if !(1..=Bins::MOST_OCTAVE_BITS).contains(&octave_bits) =>
            {
                Err(BinsError::OctaveBits { bins: self })
            }
            _ => Ok(self),
        }
    }

    pub fn count(self) -> usize {
        match self {
            Bins::FixedWidth { count, .. } | Bins::Logarithmic { count, .. } => count as usize,
            Bins::HighDynamicRange { octave_bits } => (65 - octave_bits as usize) << octave_bits,
        }
    }

    /// The width of bin i in microseconds by equation 2.
    pub fn logarithmic_width_us(size_us: f64, i: u32) -> f64 {
        if i == 0 { size_us } else { (size_us * f64::from(i)).exp_m1() }
    }
}

/// In words, for errors and notes.
impl fmt::Display for Bins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Bins::FixedWidth { width_ps, count } => {
                write!(f, "fixed width ({count} bins of {})", Time(width_ps))
            }
            Bins::Logarithmic { size_ps, count } => {
                write!(f, "logarithmic ({count} bins, the first of {})", Time(size_ps))
            }
            Bins::HighDynamicRange { octave_bits } => {
                write!(f, "high dynamic range (2^{octave_bits} bins per octave)")
            }
        }
    }
}

#[cfg(test)]
mod tests;
