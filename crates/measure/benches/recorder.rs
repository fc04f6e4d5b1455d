//! The cost of a recorder on top of reading the clock: the difference between `two_readings` and
//! `begin_end_*`.

use divan::{Bencher, black_box};
use straggler_measure::latency::Recorder;
use straggler_measure::timer::{Clock, Native};
use straggler_model::latency::{Bins, Labels};

fn main() {
    divan::main();
}

/// Trials per sample: two batches of the recorder, so that every sample does the same work.
const TRIALS: u64 = 1024;

#[divan::bench]
fn two_readings(bencher: Bencher<'_, '_>) {
    let mut clock = Native::default();
    bencher.counter(TRIALS).bench_local(|| {
        for _ in 0..TRIALS {
            black_box(clock.fenced());
            black_box(clock.fenced());
        }
    });
}

fn begin_end(bencher: Bencher<'_, '_>, bins: Bins) {
    let mut recorder = Recorder::with_clock(Native::default(), 2.1e9, Labels::default(), bins);
    bencher.counter(TRIALS).bench_local(|| {
        for _ in 0..TRIALS {
            let begun = recorder.begin();
            recorder.end(begun);
        }
    });
}

#[divan::bench]
fn begin_end_high_dynamic_range(bencher: Bencher<'_, '_>) {
    begin_end(bencher, Bins::default());
}

#[divan::bench]
fn begin_end_fixed_width(bencher: Bencher<'_, '_>) {
    begin_end(bencher, Bins::FixedWidth { width_ps: 50_000, count: 1000 });
}

#[divan::bench]
fn begin_end_logarithmic(bencher: Bencher<'_, '_>) {
    begin_end(bencher, Bins::Logarithmic { size_ps: 50_000, count: 1000 });
}
