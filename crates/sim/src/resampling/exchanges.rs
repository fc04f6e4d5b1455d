//! Simulates one all-to-all: the hot loop of resampling.

use super::draws::Draws;
use super::tournament;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_model::{Rank, Time};
use straggler_noise::{Noise, QuietUntil};

/// Buffers for computing a sample, reused by the next one.
#[derive(Debug)]
pub struct Desk {
    processors: Vec<Processor>,
    /// The times of one step's exchanges.
    lengths: Vec<Time>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Processor {
    /// When its last exchange has ended.
    ready: Time,
    idle: Time,
    quiet: QuietUntil,
}

impl Desk {
    pub fn new(processors: u32) -> Desk {
        Desk { processors: vec![Processor::default(); processors as usize], lengths: Vec::new() }
    }

    /// Computes a sample and writes the idle time of every processor to `idle`. Returns when the last processor has
    /// finished its last exchange, and the average over processors; the former is [`Time::NEVER`] if simulated time
    /// overflows. Once `stop` is set, the results are meaningless.
    pub fn all_to_all<N: Noise>(
        &mut self,
        draws: &Draws<'_>,
        noise: &N,
        sample: u32,
        stop: &AtomicBool,
        idle: &mut [u64],
    ) -> (Time, Time) {
        self.processors.fill(Processor::default());
        self.lengths.resize(draws.room(), Time::ZERO);
        let count = self.processors.len() as u32;
        for step in 0..tournament::steps(count) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            draws.step(sample, step, &mut self.lengths);
            for ((one, other), &length) in tournament::pairs(count, step).zip(&self.lengths) {
                exchange(&mut self.processors, noise, one, other, length);
            }
        }
        for (idle, processor) in idle.iter_mut().zip(&self.processors) {
            *idle = processor.idle.ps();
        }
        let ready = self.processors.iter().map(|processor| processor.ready);
        let sum: u128 = ready.clone().map(|ready| u128::from(ready.ps())).sum();
        let average = sum / u128::from(count.max(1));
        // The average fits: it is not larger than the largest value.
        (ready.max().unwrap_or(Time::ZERO), Time(average as u64))
    }
}

#[inline(always)]
fn exchange<N: Noise>(processors: &mut [Processor], noise: &N, one: Rank, other: Rank, length: Time) {
    let (mut a, mut b) = (processors[one as usize], processors[other as usize]);
    let start = a.ready.max(b.ready);
    a.idle += start.since(a.ready);
    b.idle += start.since(b.ready);
    let end = start + length;
    let interrupted =
        noise.charge(one, &mut a.quiet, start, end).max(noise.charge(other, &mut b.quiet, start, end));
    a.ready = end + interrupted;
    b.ready = a.ready;
    processors[one as usize] = a;
    processors[other as usize] = b;
}
