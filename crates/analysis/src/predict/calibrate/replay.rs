//! The beginning of a trace, ready to be replayed, and how far a replay is from the recorded run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use straggler_model::{Network, Time};
use straggler_schedule::traced::{Building, Instruction, Options, Playback, TracedRank, TracedRun};
use straggler_sim::programs::Replayed;
use straggler_sim::{Control, Simulation};
use straggler_trace::{RankTrace, Trace};

/// At most this many calls are replayed.
const MOST_CALLS: usize = 200_000;

/// The run of each rank is divided into this many parts of equal length.
const PARTS: u64 = 64;

/// The end of a call: the instruction that ends it, and when it did in the trace.
#[derive(Clone, Copy, Debug)]
struct Mark {
    instruction: usize,
    traced: Time,
}

pub(super) struct Beginning {
    playback: Playback,
    /// For each rank, the ends of its parts; ranks with several threads have none.
    marks: Vec<Vec<Mark>>,
    /// The recorded length of all parts of all ranks, in picoseconds.
    length: f64,
}

impl Beginning {
    /// None if the trace cannot be replayed or nothing can be compared.
    pub fn new(trace: &Trace) -> Option<Beginning> {
        let trace = beginning(trace);
        let options = Options { drop_unmatched: true, ..Options::default() };
        let run = Arc::new(TracedRun::from_trace(&trace, &options).ok()?);
        let both = run.ranks().iter().zip(&trace.ranks);
        let marks: Vec<Vec<Mark>> = both.map(|(recorded, traced)| marks(recorded, traced)).collect();
        let spans = marks.iter().filter_map(|marks| Some((marks.first()?.traced, marks.last()?.traced)));
        let length = spans.map(|(first, last)| last.since(first).ps() as f64).sum();
        let playback = Playback::new(run, 1, &Building::default()).ok()?;
        (length > 0.0 && playback.messages() > 0).then_some(Beginning { playback, marks, length })
    }

    /// The mean difference between the replayed and the recorded length of a part, as a share of its length.
    pub fn loss(&self, network: &Network) -> Option<f64> {
        let replayed = self.replay(network)?;
        let off: f64 = self.deviations(&replayed).iter().flatten().map(|part| part.abs()).sum();
        Some(off / self.length)
    }

    /// Twice the standard error of the sum of all parts, and its deviation, as a share of the time.
    pub fn uncertainty(&self, network: &Network) -> Option<f64> {
        let deviations = self.deviations(&self.replay(network)?);
        let parts = deviations.iter().map(Vec::len).max()?;
        // Ranks wait for each other, so their parts at about the same time are no independent observations.
        let together = |part: usize| deviations.iter().filter_map(|rank| rank.get(part)).sum::<f64>();
        let sums: Vec<f64> = (0..parts).map(together).collect();
        let all: f64 = sums.iter().sum();
        let mean = all / parts as f64;
        let variance = sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / (parts.max(2) - 1) as f64;
        Some((all.abs() + 2.0 * (variance * parts as f64).sqrt()) / self.length)
    }

    fn replay(&self, network: &Network) -> Option<Vec<Replayed>> {
        let never = AtomicBool::new(false);
        let mut quiet = |_| {};
        let mut control = Control::new(1, &never, &mut quiet);
        let (run, replayed) = Simulation::new(network).replay(&self.playback, &mut control).ok()?;
        run.outcome.stuck.is_none().then_some(replayed)
    }

    /// How much longer each part takes in a replay, in picoseconds, by rank.
    fn deviations(&self, replayed: &[Replayed]) -> Vec<Vec<f64>> {
        let of_rank = |(marks, replayed): (&Vec<Mark>, &Replayed)| {
            let length = |pair: &[Mark]| {
                let [first, last] = [pair[0], pair[1]];
                let simulated = replayed.left[last.instruction].since(replayed.left[first.instruction]);
                simulated.ps() as f64 - last.traced.since(first.traced).ps() as f64
            };
            marks.windows(2).map(length).collect()
        };
        self.marks.iter().zip(replayed).map(of_rank).collect()
    }
}

/// The calls that end the parts of a rank.
fn marks(recorded: &TracedRank, traced: &RankTrace) -> Vec<Mark> {
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
        let mark = Mark { instruction: number, traced: traced.exit };
        match ends.last_mut().filter(|_| previous == Some(call)) {
            Some(last) => *last = mark,
            None => ends.push(mark),
        }
        previous = Some(call);
    }
    let (Some(&first), Some(&last)) = (ends.first(), ends.last()) else { return Vec::new() };
    let part = (last.traced.since(first.traced).ps() / PARTS).max(1);
    let mut marks = vec![first];
    for end in ends.into_iter().skip(1) {
        if end.traced.since(first.traced).ps() >= part * marks.len() as u64 {
            marks.push(end);
        }
    }
    marks
}

/// The calls of all ranks before some time, at most [`MOST_CALLS`]. The end of a trace cannot be cut off elsewhere:
/// messages are matched in order from the start.
fn beginning(trace: &Trace) -> Trace {
    let before = |time: u64| -> Vec<usize> {
        let count = |rank: &RankTrace| rank.calls.partition_point(|call| call.enter.ps() < time);
        trace.ranks.iter().map(count).collect()
    };
    let last = trace.ranks.iter().filter_map(|rank| rank.calls.last()).map(|call| call.enter.ps()).max();
    let (mut low, mut high) = (0, last.unwrap_or(0).saturating_add(1));
    if before(high).iter().sum::<usize>() <= MOST_CALLS {
        low = high;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match before(middle).iter().sum::<usize>() <= MOST_CALLS {
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
