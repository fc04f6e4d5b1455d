//! Makes all experiments, batch after batch.

use super::limit::Limit;
use super::{Probe, Receiver, Settings, Stage, Train};
use straggler_model::Time;
use straggler_model::stats::quantile_in_place;

/// The value of a batch: what the least disturbed quarter of its repetitions stays below.
const QUIET: f64 = 0.25;

/// Messages of a train at most and at least, and their bytes together in between.
const MOST: u64 = 16;
const FEWEST: u64 = 4;
const TOGETHER: u64 = 1 << 20;

/// Batches that make an interval possible.
const FEWEST_BATCHES: usize = 6;

/// A value for each batch, in picoseconds. Differences may be negative where noise is larger than they are.
pub(super) type Series = Vec<i64>;

/// What was measured. Lists by size are as long as `sizes`, those of eager messages as long as there are such.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Ascending, from 1.
    pub sizes: Vec<u64>,
    pub batches: usize,
    /// One message there and one byte back.
    pub single: Vec<Series>,
    /// From one message of a train to the next, until all were received.
    pub stream: Vec<Series>,
    /// The same until the sender is done, of eager messages.
    pub sent: Vec<Series>,
    /// What a send takes, of eager messages.
    pub sends: Vec<Series>,
    /// What a receive of one byte takes.
    pub receive: Series,
    /// What a send of one byte takes, by sends with a computation between them.
    pub spaced: Series,
}

/// Makes the experiments; none if it is stopped before there are enough batches.
pub(super) fn make<P: Probe>(
    probe: &mut P,
    limit: &Limit,
    settings: &Settings,
    proceed: &mut dyn FnMut(Stage) -> bool,
) -> Result<Option<Samples>, P::Error> {
    let sizes = sizes(limit);
    let eager = sizes.iter().take_while(|&&bytes| limit.is_eager(bytes)).count();
    let batches = settings.batches.max(FEWEST_BATCHES);
    let empty = |count: usize| vec![Series::with_capacity(batches); count];
    let mut samples = Samples {
        single: empty(sizes.len()),
        stream: empty(sizes.len()),
        sent: empty(eager),
        sends: empty(eager),
        sizes,
        ..Samples::default()
    };
    let mut bench = Bench { probe, repetitions: settings.repetitions.max(1) };
    while samples.batches < batches && proceed(Stage::Batches { done: samples.batches, of: batches }) {
        samples.add_batch(&mut bench)?;
        samples.batches += 1;
    }
    Ok((samples.batches >= FEWEST_BATCHES).then_some(samples))
}

/// Two sizes for each power of two, and both sides of S.
fn sizes(limit: &Limit) -> Vec<u64> {
    let powers = (0..63).map(|power| 1u64 << power);
    let mut sizes: Vec<u64> = powers.flat_map(|bytes| [bytes, bytes + bytes / 2]).collect();
    sizes.extend(limit.bytes.iter().flat_map(|&limit| [limit, limit.saturating_add(1)]));
    sizes.push(limit.largest);
    sizes.retain(|&bytes| (1..=limit.largest).contains(&bytes));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The messages of a train of this size: enough to see the time between two, few enough to be quick.
fn count(bytes: u64) -> u32 {
    (TOGETHER / bytes.max(1)).clamp(FEWEST, MOST) as u32
}

impl Samples {
    fn add_batch<P: Probe>(&mut self, bench: &mut Bench<'_, P>) -> Result<(), P::Error> {
        let mut trip = Time::ZERO;
        for index in 0..self.sizes.len() {
            let bytes = self.sizes[index];
            let (sent, back) = bench.round_trip(1, Time::ZERO, bytes)?;
            let between = |one: i64, all: i64| (all - one) / i64::from(count(bytes) - 1);
            let (all_sent, all_back) = bench.round_trip(count(bytes), Time::ZERO, bytes)?;
            self.single[index].push(back);
            self.stream[index].push(between(back, all_back));
            if index == 0 {
                trip = Time(back.max(1) as u64);
                let (_, spaced) = bench.round_trip(count(1), trip, 1)?;
                self.spaced.push(between(back, spaced) - back);
                self.receive.push(bench.low(|probe| probe.receive(1, Time(4 * trip.ps())))?);
            }
            if let Some(sends) = self.sends.get_mut(index) {
                sends.push(bench.low(|probe| probe.send(bytes, trip, Receiver::Polls))?);
                self.sent[index].push(between(sent, all_sent));
            }
        }
        Ok(())
    }
}

/// Repeats experiments.
struct Bench<'a, P> {
    probe: &'a mut P,
    repetitions: usize,
}

impl<P: Probe> Bench<'_, P> {
    fn low(&mut self, mut experiment: impl FnMut(&mut P) -> Result<Time, P::Error>) -> Result<i64, P::Error> {
        let mut times = Vec::with_capacity(self.repetitions);
        for _ in 0..self.repetitions {
            times.push(experiment(self.probe)?);
        }
        Ok(quiet(&mut times))
    }

    /// Until the last message was sent, and until the answer was there.
    fn round_trip(&mut self, count: u32, delay: Time, bytes: u64) -> Result<(i64, i64), P::Error> {
        let (mut sent, mut back) = (Vec::new(), Vec::new());
        for _ in 0..self.repetitions {
            let trip = self.probe.round_trip(Train { count, delay, bytes })?;
            sent.push(trip.sent);
            back.push(trip.back);
        }
        Ok((quiet(&mut sent), quiet(&mut back)))
    }
}

fn quiet(times: &mut [Time]) -> i64 {
    quantile_in_place(times, QUIET).map_or(0, |time| i64::try_from(time.ps()).unwrap_or(i64::MAX))
}
