//! When a run communicates, over its normalised time, as in Figure 8(a) of Hoefler, Schneider and Lumsdaine,
//! "Characterizing the Influence of System Noise on Large-Scale Applications by Simulation" (2010).

use super::RankProfile;
use crate::Function;
use crate::call::CommId;
use crate::collectives::{Sequence, runs, sequences};
use crate::messages::Ends;
use crate::trace::Trace;
use serde::Serialize;
use straggler_model::Time;

/// The times of collectives and messages.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Pattern {
    /// One per collective operation, however many ranks take part, in order of time.
    #[serde(rename = "collectives")]
    pub dots: Vec<Dot>,
    /// How many messages were sent in each of [`Pattern::BINS`] equal parts of the run.
    pub messages: Vec<u64>,
}

/// A collective operation.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Dot {
    /// When the last rank entered it, from 0 at the beginning of the run to 1 at its end.
    pub at: f64,
    pub function: Function,
    #[serde(rename = "communicator")]
    pub comm: CommId,
    /// How many ranks took part.
    pub ranks: u32,
}

impl Pattern {
    pub const BINS: usize = 200;

    pub(super) fn new(trace: &Trace, ranks: &[RankProfile], ends: &[Ends]) -> Pattern {
        let run = Run::new(ranks);
        let mut dots: Vec<Dot> = Vec::new();
        for (comm, sequence) in sequences(trace) {
            let longest = sequence.values().map(Vec::len).max().unwrap_or(0);
            dots.extend((0..longest).filter_map(|number| dot(trace, &run, comm, &sequence, number)));
        }
        dots.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.comm.cmp(&b.comm)));
        let mut messages = vec![0; Pattern::BINS];
        for sent in ends.iter().flat_map(|rank| &rank.sends) {
            let bin = (run.share(sent.enter) * Pattern::BINS as f64) as usize;
            if let Some(count) = messages.get_mut(bin.min(Pattern::BINS - 1)) {
                *count += 1;
            }
        }
        Pattern { dots, messages }
    }
}

/// The run, from the first rank that begins to the last that ends.
struct Run {
    start: Time,
    length: Time,
}

impl Run {
    fn new(ranks: &[RankProfile]) -> Run {
        let started = ranks.iter().filter(|rank| rank.calls > 0);
        let start = started.clone().map(|rank| rank.start).min().unwrap_or_default();
        let end = started.map(|rank| rank.end).max().unwrap_or_default();
        Run { start, length: end.since(start) }
    }

    fn share(&self, time: Time) -> f64 {
        super::share(time.since(self.start), self.length).min(1.0)
    }
}

fn dot(trace: &Trace, run: &Run, comm: CommId, sequence: &Sequence, number: usize) -> Option<Dot> {
    let calls = sequence.iter().filter_map(|(&rank, numbers)| {
        let call = *numbers.get(number)?;
        trace.ranks.get(rank as usize)?.calls.get(call as usize)
    });
    let calls = calls.filter(|call| runs(call));
    let first = calls.clone().next()?;
    let last = calls.clone().map(|call| call.enter).max()?;
    Some(Dot { at: run.share(last), function: first.function, comm, ranks: calls.count() as u32 })
}
