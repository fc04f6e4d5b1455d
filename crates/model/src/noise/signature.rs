//! A signature: noise as a short list of sources, each with its arrivals and its durations. It stands for a
//! system of which no trace is at hand, or says in a few lines what a long trace looks like.

use super::generate::Durations;
use crate::Time;

/// The noise of one core of a system.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    pub name: String,
    /// What it was made from: a paper's table, a fitted recording.
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
