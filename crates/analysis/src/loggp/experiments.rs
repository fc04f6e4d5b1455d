//! Runs all experiments, batch by batch.

use super::limit::Limit;
use super::{Probe, Progress, Receiver, Settings, Train};
use straggler_model::Time;
use straggler_model::stats::quantile_in_place;

/// The value of a batch is this quantile of its repetitions, the least disturbed ones.
const QUIET: f64 = 0.25;

/// The largest and the smallest number of messages in a train; in between, their total size is TOGETHER.
const MOST: u64 = 16;
const FEWEST: u64 = 4;
const TOGETHER: u64 = 1 << 20;

/// The fewest batches that give an interval.
const FEWEST_BATCHES: usize = 6;

/// One value per batch, in picoseconds. Differences may be negative if noise exceeds them.
pub(super) type Series = Vec<i64>;

/// The measured values. Lists by size have one entry for each of `sizes`, or for each eager size.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Ascending, from 1.
    pub sizes: Vec<u64>,
    pub batches: usize,
    /// One message there, one byte back.
    pub single: Vec<Series>,
    /// Time from one message of a train to the next, until all are received.
    pub stream: Vec<Series>,
    /// The same until the sender is done, for eager sizes.
    pub sent: Vec<Series>,
    /// Duration of a send, for eager sizes.
    pub sends: Vec<Series>,
    /// Duration of a receive of one byte.
    pub receive: Series,
    /// Duration of a send of one byte, from sends with a computation between them.
    pub spaced: Series,
}

/// Runs the experiments. If the probe fails in a batch, those before it are used if there are at least six; else its error
/// is returned.
pub(super) fn make<P: Probe>(
    probe: &mut P,
    limit: &Limit,
    settings: &Settings,
    report: &mut dyn FnMut(Progress),
) -> Result<Samples, P::Error> {
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
    while samples.batches < batches {
        report(Progress { done: samples.batches, of: batches });
        match samples.add_batch(&mut bench) {
            Ok(()) => samples.batches += 1,
            Err(_) if samples.batches >= FEWEST_BATCHES => {
                samples.drop_unfinished();
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(samples)
}

/// Two sizes per power of two, and those on both sides of S.
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

/// The number of messages in a train: enough to see the time between two, few enough to be fast.
fn count(bytes: u64) -> u32 {
    (TOGETHER / bytes.max(1)).clamp(FEWEST, MOST) as u32
}

impl Samples {
    /// Removes the values of a batch that was not finished.
    fn drop_unfinished(&mut self) {
        let lists = [&mut self.single, &mut self.stream, &mut self.sent, &mut self.sends];
        let series = lists.into_iter().flatten().chain([&mut self.receive, &mut self.spaced]);
        series.for_each(|values| values.truncate(self.batches));
    }

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

    /// The times until the last message was sent, and until the answer arrived.
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
