//! A signature: noise as a short list of sources, each with its arrivals and durations. It stands in for a
//! system without an available trace, or summarises a long trace in a few lines.
//!
//! Signatures are read from and written to TOML ([`Signature::from_toml`], [`Signature::to_toml`]); those of
//! published systems are built in ([`BuiltIn`]). Simulations inject noise drawn from a signature: a trace for
//! each source ([`Signature::traces`]), or all sources on one core as a measurement would have recorded them
//! ([`Signature::recording`]).

mod builtin;
mod draw;
mod file;

pub use builtin::{BuiltIn, UnknownSignature};
pub use draw::Strike;

use super::DetoursError;
use super::generate::Durations;
use std::path::{Path, PathBuf};
use straggler_model::Time;
use straggler_model::toml_file::TomlError;

/// Suffix of the names of sources that were drawn from a signature.
pub const SYNTHESISED: &str = "(synthesised, not measured)";

/// The noise of one core of a system.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    pub name: String,
    /// The basis of the signature: a paper's table, a fitted recording.
    pub made_from: String,
    pub sources: Vec<SignatureSource>,
}

/// One source of a signature.
#[derive(Clone, PartialEq, Debug)]
pub struct SignatureSource {
    pub name: String,
    pub arrivals: Arrivals,
    pub durations: Durations,
}

/// When a source strikes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arrivals {
    /// At every multiple of the period, each time off by a normal deviate.
    Periodic { period: Time, jitter: Time },
    /// At random, with exponential gaps.
    Random { mean_gap: Time },
}

/// Why a signature is invalid, or nothing can be drawn from it.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    #[error("the file is invalid: {0}")]
    Toml(#[from] TomlError),
    #[error("the file is not UTF-8 text")]
    NotText,
    #[error("the signature file has version {found}, but this program reads version 1")]
    Version { found: u32 },
    #[error(
        "source `{name}`: give one of period = \"4ms\" (regular), rate = \"10Hz\" or mean_gap = \"100ms\" (random)"
    )]
    Arrivals { name: String },
    #[error("source `{name}`: jitter is for sources with a period; those with a rate are random anyway")]
    Jitter { name: String },
    #[error("source `{name}` has a period of {gap}: give a period above 0")]
    NoGap { name: String, gap: Time },
    #[error("source `{name}` appears twice: give each its own name")]
    Twice { name: String },
    #[error(
        "its sources take {percent:.1} % of the time and leave none for the process: make them shorter or rarer"
    )]
    NoTimeLeft { percent: f64 },
    #[error("{length} hold more than 100,000,000 detours: give a shorter length or fewer events")]
    TooMany { length: Time },
    #[error("source `{name}`: {fault}")]
    Detours { name: String, fault: DetoursError },
    #[error("source `{name}`: duration {durations} cannot be written: {fault}")]
    Unwritable { name: String, durations: String, fault: String },
    #[error("the signature cannot be written: {0}")]
    Write(#[from] toml::ser::Error),
    #[error("{path}: {fault}")]
    InFile { path: PathBuf, fault: Box<SignatureError> },
    #[error("{path} cannot be read: {fault}")]
    Unreadable { path: PathBuf, fault: std::io::Error },
}

impl SignatureError {
    pub(super) fn in_file(self, path: &Path) -> SignatureError {
        SignatureError::InFile { path: path.into(), fault: Box::new(self) }
    }

    pub(super) fn unreadable(path: &Path, fault: std::io::Error) -> SignatureError {
        SignatureError::Unreadable { path: path.into(), fault }
    }
}

impl Arrivals {
    /// The mean time between strikes.
    pub fn gap(&self) -> Time {
        match *self {
            Arrivals::Periodic { period, .. } => period,
            Arrivals::Random { mean_gap } => mean_gap,
        }
    }
}

impl SignatureSource {
    /// The share of time it takes in the long run, by its formula.
    pub fn share(&self) -> f64 {
        self.durations.mean_ps() / self.arrivals.gap().ps() as f64
    }
}

impl Signature {
    /// The share of time that all sources take in the long run.
    pub fn share(&self) -> f64 {
        // Not `sum`, which gives -0 for an empty list.
        self.sources.iter().fold(0.0, |sum, source| sum + source.share())
    }

    /// Checks that every source strikes and has a unique name, and that together they leave some time.
    pub fn check(&self) -> Result<(), SignatureError> {
        for (index, SignatureSource { name, arrivals, .. }) in self.sources.iter().enumerate() {
            if arrivals.gap() == Time::ZERO {
                return Err(SignatureError::NoGap { name: name.clone(), gap: arrivals.gap() });
            }
            if self.sources.iter().take(index).any(|other| other.name == *name) {
                return Err(SignatureError::Twice { name: name.clone() });
            }
        }
        match self.share() {
            share if share < 1.0 => Ok(()),
            share => Err(SignatureError::NoTimeLeft { percent: share * 100.0 }),
        }
    }
}

#[cfg(test)]
pub(super) fn sample() -> Signature {
    let us = |count: u64| Time::from_ns(count * 1000);
    let source = |name: &str, arrivals, durations| SignatureSource { name: name.into(), arrivals, durations };
    Signature {
        name: "sample".into(),
        made_from: "nothing".into(),
        sources: vec![
            source(
                "tick",
                Arrivals::Periodic { period: us(1000), jitter: us(20) },
                Durations::LogNormal { median: us(5), sigma: 0.3 },
            ),
            source(
                "clock",
                Arrivals::Periodic { period: us(10_000), jitter: Time::ZERO },
                Durations::Constant(us(7)),
            ),
            source(
                "daemon",
                Arrivals::Random { mean_gap: us(100_000) },
                Durations::Exponential { mean: us(2000) },
            ),
        ],
    }
}
