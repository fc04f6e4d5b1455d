//! The beginning of a trace, ready to be replayed, and how far a replay is from the recorded run.

use std::collections::BTreeMap;
use std::sync::Arc;
use straggler_model::{Network, Time};
use straggler_schedule::traced::{Building, Instruction, Options, Playback, TracedRank, TracedRun};
use straggler_sim::programs::Replayed;
use straggler_sim::{Control, Simulation};
use straggler_trace::{RankTrace, Trace};

/// At most this many calls and messages are replayed, so that the search takes seconds to a minute.
const MOST_CALLS: usize = 200_000;
const MOST_MESSAGES: u64 = 1_000_000;

/// The run is divided into this many parts of equal length. The even ones select the parameters, and the odd ones tell how
/// good they are.
const PARTS: u64 = 64;

/// The end of a call: the instruction that ends it, and when it did in the trace.
#[derive(Clone, Copy, Debug)]
struct Mark {
    instruction: usize,
    traced: Time,
    /// The part of the run that it is the first to end in.
    part: u64,
}

pub(super) struct Beginning {
    playback: Playback,
    /// For each rank, the first end of a call in each part; ranks with several threads have none.
    marks: Vec<Vec<Mark>>,
}

/// How much longer a part of a rank's run takes in a replay.
#[derive(Clone, Copy, Debug)]
struct Deviation {
    /// The part in which it ends.
    part: u64,
    /// In picoseconds.
    by: f64,
    recorded: f64,
}

impl Beginning {
    /// None if the trace cannot be replayed or nothing can be compared.
    pub fn new(trace: &Trace) -> Option<Beginning> {
        let mut calls = MOST_CALLS;
        let (trace, run, playback) = loop {
            let trace = beginning(trace, calls);
            let options = Options { drop_unmatched: true, ..Options::default() };
            let run = Arc::new(TracedRun::from_trace(&trace, &options).ok()?);
            let playback = Playback::new(run.clone(), 1, &Building::default()).ok()?;
            if playback.messages() <= MOST_MESSAGES {
                break (trace, run, playback);
            }
            // A collective of many ranks is many messages.
            calls = (calls as u64 * MOST_MESSAGES / (2 * playback.messages())) as usize;
        };
        let both = run.ranks().iter().zip(&trace.ranks);
        let mut marks: Vec<Vec<Mark>> = both.map(|(recorded, traced)| ends(recorded, traced)).collect();
        // MPI_Init and MPI_Finalize are no part of the run: without them, it lasts from the first of these ends to the last.
        let first = marks.iter().filter_map(|ends| ends.first()).map(|end| end.traced).min()?;
        let last = marks.iter().filter_map(|ends| ends.last()).map(|end| end.traced).max()?;
        let part = (last.since(first).ps() / PARTS).max(1);
        for marks in &mut marks {
            marks.iter_mut().for_each(|mark| mark.part = mark.traced.since(first).ps() / part);
            marks.dedup_by_key(|mark| mark.part);
        }
        let is_comparable = playback.messages() > 0 && marks.iter().any(|marks| marks.len() > 2);
        is_comparable.then_some(Beginning { playback, marks })
    }

    /// The mean difference between the replayed and the recorded length of an even part, as a share of its length.
    pub fn loss(&self, network: &Network) -> Option<f64> {
        let deviations = self.deviations(&self.replay(network)?);
        let even = || deviations.iter().filter(|deviation| deviation.part.is_multiple_of(2));
        let length: f64 = even().map(|deviation| deviation.recorded).sum();
        (length > 0.0).then(|| even().map(|deviation| deviation.by.abs()).sum::<f64>() / length)
    }

    /// Twice the standard error of the sum of all parts, and its deviation, as a share of the time. From the odd parts.
    pub fn uncertainty(&self, network: &Network) -> Option<f64> {
        // Ranks wait for each other, so their parts at the same time are no independent observations.
        let mut together: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        let deviations = self.deviations(&self.replay(network)?);
        for deviation in deviations.iter().filter(|deviation| !deviation.part.is_multiple_of(2)) {
            let (by, recorded) = together.entry(deviation.part).or_default();
            *by += deviation.by;
            *recorded += deviation.recorded;
        }
        let parts = together.len() as f64;
        let length: f64 = together.values().map(|(_, recorded)| recorded).sum();
        let mean = together.values().map(|(by, _)| by).sum::<f64>() / parts;
        let squares: f64 = together.values().map(|(by, _)| (by - mean).powi(2)).sum();
        let deviation = (squares / (parts - 1.0)).sqrt();
        // The other half of the parts adds as much to the sum, and half as much to the square of its error.
        let error = 2.0 * deviation / parts.sqrt() / std::f64::consts::SQRT_2;
        (parts >= 2.0 && length > 0.0).then(|| parts * (mean.abs() + error) / length)
    }

    fn replay(&self, network: &Network) -> Option<Vec<Replayed>> {
        let mut control = Control::new(1);
        let (run, replayed) = Simulation::new(network).replay(&self.playback, &mut control).ok()?;
        run.outcome.stuck.is_none().then_some(replayed)
    }

    fn deviations(&self, replayed: &[Replayed]) -> Vec<Deviation> {
        let of_rank = |(marks, replayed): (&Vec<Mark>, &Replayed)| {
            let length = |pair: &[Mark]| {
                let [first, last] = [pair[0], pair[1]];
                let simulated = replayed.left[last.instruction].since(replayed.left[first.instruction]);
                let recorded = last.traced.since(first.traced).ps() as f64;
                Deviation { part: last.part, by: simulated.ps() as f64 - recorded, recorded }
            };
            marks.windows(2).map(length).collect::<Vec<_>>()
        };
        self.marks.iter().zip(replayed).flat_map(of_rank).collect()
    }
}

/// The ends of all calls that have instructions; none if the rank has several threads.
fn ends(recorded: &TracedRank, traced: &RankTrace) -> Vec<Mark> {
    if recorded.threads() > 1 {
        return Vec::new();
    }
    // The last instruction of each call.
    let mut ends: Vec<Mark> = Vec::new();
    let mut previous = None;
    for (number, instruction) in recorded.instructions().iter().enumerate() {
        let call = recorded.origin(number as u32);
        let is_call = !matches!(instruction, Instruction::Calc(_) | Instruction::Poll { .. });
        let Some(traced) = traced.calls.get(call as usize).filter(|_| is_call) else { continue };
        let mark = Mark { instruction: number, traced: traced.exit, part: 0 };
        match ends.last_mut().filter(|_| previous == Some(call)) {
            Some(last) => *last = mark,
            None => ends.push(mark),
        }
        previous = Some(call);
    }
    ends
}

/// The calls of all ranks before some time, at most this many. The end of a trace cannot be cut off elsewhere:
/// messages are matched in order from the start.
fn beginning(trace: &Trace, most: usize) -> Trace {
    let before = |time: u64| -> Vec<usize> {
        let count = |rank: &RankTrace| rank.calls.partition_point(|call| call.enter.ps() < time);
        trace.ranks.iter().map(count).collect()
    };
    let last = trace.ranks.iter().filter_map(|rank| rank.calls.last()).map(|call| call.enter.ps()).max();
    let (mut low, mut high) = (0, last.unwrap_or(0).saturating_add(1));
    if before(high).iter().sum::<usize>() <= most {
        low = high;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match before(middle).iter().sum::<usize>() <= most {
            true => low = middle,
            false => high = middle,
        }
    }
    let ranks = trace.ranks.iter().zip(before(low)).map(|(rank, calls)| cut(rank, calls)).collect();
    let communicators = trace.communicators.clone();
    Trace { meta: trace.meta.clone(), ranks, communicators, ..Trace::default() }
}

/// The first calls of a rank.
fn cut(rank: &RankTrace, calls: usize) -> RankTrace {
    let calls = rank.calls.get(..calls).unwrap_or_default().to_vec();
    let known = calls.iter().map(|call| call.details as usize).filter(|&place| place < rank.details.len());
    let details = known.max().map_or(0, |last| last + 1);
    RankTrace { details: rank.details[..details].to_vec(), calls, ..RankTrace::default() }
}
