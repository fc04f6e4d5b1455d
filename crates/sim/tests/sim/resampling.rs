//! The resampling model, compared with a second, naive implementation and with known properties.

use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use std::sync::atomic::AtomicBool;
use straggler_model::philox::philox4x32;
use straggler_model::stats::{chance_distance, distance};
use straggler_model::{Rank, Time};
use straggler_noise::{Injection, Noise, NoiseSpec, Phases, QuietUntil};
use straggler_schedule::tournament;
use straggler_sim::resampling::{Model, ResamplingError, Samples, Watch, exchanges, one_to_one, throughput};

static GO_ON: AtomicBool = AtomicBool::new(false);
const WATCH: Watch<'static> = Watch { stop: &GO_ON, progress: &|_| {} };

fn resample(model: &Model<'_>, processors: u32, samples: u32) -> Samples {
    model.all_to_all(processors, samples, WATCH).unwrap()
}

fn injection(text: &str, seed: u64, wallclock: bool) -> Injection {
    let spec: NoiseSpec = text.parse().unwrap();
    let sources = spec.load(seed).unwrap().sources;
    Injection::new(sources, Phases::Drawn { seed, replica: 0 }, wallclock).unwrap()
}

/// An exchange in the graph of all exchanges. It waits for the previous exchanges of its two partners.
struct Node {
    partners: [Rank; 2],
    before: [Option<usize>; 2],
    length: Time,
    times: Option<(Time, Time)>,
}

/// The drawn time of an exchange, as the documentation of the draws defines it: word k mod 4 of block step ·
/// ceil(⌊P/2⌋ / 4) + ⌊k / 4⌋.
fn drawn(model: &Model<'_>, processors: u32, sample: u32, step: u32, rank: Rank) -> Time {
    let circle = tournament::steps(processors);
    let distance = (rank + circle - step) % circle;
    let distance = distance.min(circle - distance) % circle;
    let k = match (processors % 2, rank == circle) {
        (0, true) => 0,
        (0, false) => distance,
        _ => distance - 1,
    };
    let block = step * (processors / 2).div_ceil(4) + k / 4;
    let key = [model.seed as u32, (model.seed >> 32) as u32];
    let word = philox4x32([block, processors, sample, u32::MAX], key)[k as usize % 4];
    model.times[(u128::from(word) * model.times.len() as u128 / (1 << 32)) as usize]
}

fn graph(model: &Model<'_>, processors: u32, sample: u32) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut last = vec![None; processors as usize];
    for step in 0..tournament::steps(processors) {
        for rank in 0..processors {
            let Some(other) = tournament::partner(processors, rank, step).filter(|&other| other > rank)
            else {
                continue;
            };
            let before = [last[rank as usize], last[other as usize]];
            let length = drawn(model, processors, sample, step, rank);
            nodes.push(Node { partners: [rank, other], before, length, times: None });
            last[rank as usize] = Some(nodes.len() - 1);
            last[other as usize] = Some(nodes.len() - 1);
        }
    }
    nodes
}

/// Start and end of a node: the longest path to it, found from the end backwards.
fn times(nodes: &mut [Node], node: usize, noise: Option<&Injection>) -> (Time, Time) {
    if let Some(known) = nodes[node].times {
        return known;
    }
    let mut start = Time::ZERO;
    for before in nodes[node].before.into_iter().flatten() {
        start = start.max(times(nodes, before, noise).1);
    }
    let quiet_end = start + nodes[node].length;
    let charge = |rank| {
        noise.map_or(Time::ZERO, |noise| noise.charge(rank, &mut QuietUntil::default(), start, quiet_end))
    };
    let end = quiet_end + nodes[node].partners.map(charge).into_iter().max().unwrap();
    nodes[node].times = Some((start, end));
    (start, end)
}

/// Total time, mean of the processors' own times, and idle times of one sample.
fn naive(model: &Model<'_>, processors: u32, sample: u32) -> (u64, u64, Vec<u64>) {
    let noise = model
        .noise
        .cloned()
        .map(|noise| Injection { phases: Phases::Drawn { seed: model.seed, replica: sample }, ..noise });
    let mut nodes = graph(model, processors, sample);
    let mut idle = vec![0; processors as usize];
    let mut total = 0;
    let mut own = vec![0; processors as usize];
    for node in (0..nodes.len()).rev() {
        let (start, end) = times(&mut nodes, node, noise.as_ref());
        total = total.max(end.ps());
        for (rank, before) in nodes[node].partners.into_iter().zip(nodes[node].before) {
            let ready = before.map_or(Time::ZERO, |before| times(&mut nodes, before, noise.as_ref()).1);
            idle[rank as usize] += start.since(ready).ps();
            own[rank as usize] = end.ps().max(own[rank as usize]);
        }
    }
    let mean = own.iter().map(|&own| u128::from(own)).sum::<u128>() / u128::from(processors);
    (total, mean as u64, idle)
}

fn equals_the_naive_one(model: &Model<'_>, processors: u32, samples: u32) {
    let fast = resample(model, processors, samples);
    let times = fast.total_ps().iter().zip(fast.own_ps());
    for (sample, (row, (&total, &own))) in fast.idle_ps().zip(times).enumerate() {
        let (expected_total, expected_own, expected_idle) = naive(model, processors, sample as u32);
        assert_eq!(total, expected_total, "{processors} processors, sample {sample}");
        assert_eq!(own, expected_own, "{processors} processors, sample {sample}");
        assert_eq!(row, expected_idle, "{processors} processors, sample {sample}");
    }
}

#[test]
fn every_small_number_of_processors_equals_the_naive_one() {
    let times: Vec<Time> = (1..=50).map(|i: u64| Time(i * i * 1_000_003)).collect();
    let noise =
        injection("periodic:period=1ms,duration=60us + periodic:period=603us,duration=40us", 7, false);
    for processors in 2..=40 {
        equals_the_naive_one(&Model { times: &times, noise: None, seed: 7 }, processors, 3);
        equals_the_naive_one(&Model { times: &times, noise: Some(&noise), seed: 7 }, processors, 3);
    }
}

proptest! {
    #[test]
    fn random_models_equal_the_naive_one(
        times in prop::collection::vec(1u64..2_000_000, 1..30),
        processors in 2u32..24,
        seed: u64,
        period in 1_000u64..5_000,
        share in 1u64..40,
        rate in 1u64..100,
        wallclock: bool,
    ) {
        let times: Vec<Time> = times.into_iter().map(Time).collect();
        equals_the_naive_one(&Model { times: &times, noise: None, seed }, processors, 2);
        let duration = period * share / 100 + 1;
        let text = format!(
            "periodic:period={period}ns,duration={duration}ns \
             + poisson:rate={rate}kHz,duration=exponential(mean=1us),events=30,ranks=1-5"
        );
        let noise = injection(&text, seed, wallclock);
        equals_the_naive_one(&Model { times: &times, noise: Some(&noise), seed }, processors, 2);
    }
}

#[test]
fn threads_do_not_matter() {
    let times: Vec<Time> = (1..=100).map(|i: u64| Time(i * i * 10_007)).collect();
    let noise = injection("periodic:period=10ms,duration=60us", 3, false);
    for noise in [None, Some(&noise)] {
        let model = Model { times: &times, noise, seed: 3 };
        let on = |threads| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let all = [2, 7, 64].map(|processors| resample(&model, processors, 1500));
                (all, one_to_one(&model, 10_001, WATCH).unwrap())
            })
        };
        let expected = on(1);
        for threads in [2, 7] {
            assert!(on(threads) == expected, "{threads} threads");
        }
    }
}

#[test]
fn the_first_samples_do_not_depend_on_how_many_there_are() {
    let times: Vec<Time> = (1..=100).map(Time).collect();
    let model = Model { times: &times, noise: None, seed: 1 };
    let (few, many) = (resample(&model, 6, 10), resample(&model, 6, 5000));
    assert_eq!(few.total_ps(), &many.total_ps()[..10]);
    let other = resample(&Model { seed: 2, ..model }, 6, 10);
    assert_ne!(few.total_ps(), other.total_ps());
}

/// With equal exchange times and an even number of processors none waits, and all end after P - 1 steps. With
/// an odd number all but the last wait during the step they sit out, since their next partner is busy in it.
#[test]
fn equal_times_leave_only_those_idle_who_sit_out() {
    let times = [Time(1_000)];
    let model = Model { times: &times, noise: None, seed: 1 };
    for processors in 2..40u32 {
        let samples = resample(&model, processors, 2);
        let steps = u64::from(processors - 1 + processors % 2);
        assert_eq!(samples.total_ps(), [steps * 1_000; 2]);
        for row in samples.idle_ps() {
            let waiting = u64::from(processors % 2) * 1_000;
            let (last, others) = row.split_last().unwrap();
            assert_eq!(*last, 0);
            assert!(others.iter().all(|&idle| idle == waiting), "{processors}: {row:?}");
        }
    }
}

#[test]
fn two_processors_repeat_the_sample() {
    let times: Vec<Time> = (0..997).map(|i: u64| Time(100_000 + i * i % 7919)).collect();
    let model = Model { times: &times, noise: None, seed: 5 };
    let samples = resample(&model, 2, 100_000);
    assert!(samples.idle_ps().all(|row| row == [0, 0]));
    for (sample, &total) in samples.total_ps().iter().enumerate().take(1000) {
        assert_eq!(total, drawn(&model, 2, sample as u32, 0, 0).ps());
    }
    let mut measured: Vec<u64> = times.iter().map(|time| time.ps()).collect();
    measured.sort_unstable();
    let mut alone = one_to_one(&model, 100_000, WATCH).unwrap();
    alone.sort_unstable();
    let limit = chance_distance(100_000, None);
    assert!(distance(&samples.into_distributions().total_ps, &measured) < limit);
    assert!(distance(&alone, &measured) < limit);
}

/// Interrupts of 50 µs every 1 ms on both of two processors. A millisecond holds two of them and nine or ten
/// exchanges of 100 µs: 2 in 9 are longer if no exchange has both, 1 in 10 if they always come together. No
/// exchange is longer than 150 µs, since the interrupts of partners overlap.
#[test]
fn interrupts_of_two_partners_overlap() {
    let times = [Time(100_000_000)];
    let noise = injection("periodic:period=1ms,duration=50us", 1, false);
    let lengths = one_to_one(&Model { times: &times, noise: Some(&noise), seed: 1 }, 50_000, WATCH).unwrap();
    let longer = lengths.iter().filter(|&&ps| ps > 100_000_000).count() as f64 / 50_000.0;
    assert!((0.1..=2.0 / 9.0).contains(&longer), "{longer}");
    assert_eq!(lengths.iter().max(), Some(&150_000_000));
}

#[test]
fn distributions_add_up() {
    let times: Vec<Time> = (1..=30).map(|i: u64| Time(i * i * 1000)).collect();
    let samples = resample(&Model { times: &times, noise: None, seed: 1 }, 5, 777);
    let column = |rank: usize| samples.idle_ps().map(move |row| row[rank]).collect::<Vec<u64>>();
    let columns: Vec<Vec<u64>> = (0..5).map(column).collect();
    let mut totals = samples.total_ps().to_vec();
    totals.sort_unstable();
    let found = samples.clone().into_distributions();
    assert_eq!(found.total_ps, totals);
    for (processor, column) in found.processors.iter().zip(&columns) {
        let summary = processor.idle_ps.unwrap();
        assert_eq!(summary.mean, column.iter().sum::<u64>() as f64 / 777.0);
        assert_eq!(summary.max, *column.iter().max().unwrap());
        let never = column.iter().filter(|&&idle| idle == 0).count();
        assert_eq!(processor.never_idle, never as f64 / 777.0);
    }
    let mut first = columns[0].clone();
    first.sort_unstable();
    assert_eq!(found.first_idle_ps, first);
    assert_eq!(found.idle_ps.len(), 5 * 777);
    assert!(found.idle_share() > 0.0 && found.idle_share() < 1.0);
}

/// Table 1 of the paper for 2 processors: 1 MB in 24.396 ms is 40.99 MB/s.
#[test]
fn throughput_by_hand() {
    assert!((throughput(2, 1_000_000, 24.396e9) / 1e6 - 40.99).abs() < 0.01);
    assert_eq!(throughput(3, 500, 1e12), 1000.0);
    assert_eq!(throughput(2, 1, 0.0), 0.0);
}

#[test]
fn what_cannot_be_resampled_is_refused() {
    let times = [Time(1)];
    let model = Model { times: &times, noise: None, seed: 1 };
    let fault = |processors, samples| model.all_to_all(processors, samples, WATCH).unwrap_err();
    assert_eq!(fault(1, 1), ResamplingError::TooFewProcessors { processors: 1 });
    assert_eq!(fault(65_537, 1), ResamplingError::TooManyProcessors { processors: 65_537 });
    assert_eq!(fault(2, 0), ResamplingError::NoSamples);
    assert!(fault(4096, 100_000).to_string().contains("at most 32768 samples"));
    let none = Model { times: &[], ..model };
    assert_eq!(none.all_to_all(2, 1, WATCH), Err(ResamplingError::NoTimes));
    assert_eq!(one_to_one(&none, 1, WATCH), Err(ResamplingError::NoTimes));
    let long = [Time(u64::MAX / 2)];
    let long = Model { times: &long, ..model };
    assert_eq!(long.all_to_all(6, 1, WATCH), Err(ResamplingError::TooLong { processors: 6 }));
    assert!(one_to_one(&long, 10, WATCH).is_err());
}

#[test]
fn a_flag_ends_the_run_and_exchanges_are_counted() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let times = [Time(1)];
    let model = Model { times: &times, noise: None, seed: 1 };
    let stop = AtomicBool::new(true);
    let stopped = model.all_to_all(64, 1000, Watch { stop: &stop, ..WATCH });
    assert_eq!(stopped, Err(ResamplingError::Interrupted));
    let count = AtomicU64::new(0);
    let progress = |more| {
        count.fetch_add(more, Ordering::Relaxed);
    };
    model.all_to_all(64, 1000, Watch { progress: &progress, ..WATCH }).unwrap();
    assert_eq!(count.into_inner(), 1000 * exchanges(64));
    assert_eq!(exchanges(64), 2016);
}
