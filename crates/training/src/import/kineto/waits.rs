//! Which kernels of other streams a kernel waited for.
//!
//! Kernels of a stream run one after the other. Across streams, "Stream Wait Event" records show the waits. If a trace has none,
//! two rules replace them:
//! * A communication waits for the last kernel of every other stream that was launched before it and had ended by
//!   its start: PyTorch makes the stream of NCCL wait for the current one.
//! * A kernel waits for a communication of another stream if it was launched after it, starts within [`PROMPT_PS`] after its end,
//!   and its stream was idle by then. Either it was launched [`PROMPT_PS`] or more before that end, or its stream had been idle
//!   for [`LONG_PS`]: then the launch did not come at that moment by chance, because the host waited, too. Otherwise the launch
//!   latency alone would explain its start. A communication waits for another one in the same way: PyTorch makes the current
//!   stream wait for the first, and the stream of the second for the current one.

use super::events::{Kernel, StreamWait};

/// A kernel that can start does so within this time, after its launch or after what it waited for.
pub const PROMPT_PS: i64 = 20_000_000;
/// A stream that only waits for its host is idle for less than this: up to several hundred microseconds.
const LONG_PS: i64 = 100 * PROMPT_PS;

/// Times of other programs may be rounded.
const ROUNDING_PS: i64 = 100_000;

/// Kernels in order of stream and start, with the time of their launch.
pub struct Streams<'a> {
    pub kernels: &'a [Kernel],
    /// By kernel: its launch, or its start if the launch was not recorded.
    pub launch_ps: &'a [i64],
    /// By stream: its kernels.
    pub ranges: &'a [std::ops::Range<usize>],
}

/// Returns pairs `(after, before)` of kernels of different streams.
pub fn waits(streams: &Streams, recorded: &[StreamWait]) -> Vec<(usize, usize)> {
    let mut waits = match recorded {
        [] => guessed(streams),
        _ => recorded.iter().filter_map(|wait| found(streams, wait)).collect(),
    };
    waits.sort_unstable();
    waits.dedup();
    waits
}

/// The next kernel of the stream waits for the last kernel before the event on the other stream. Correlation numbers are in the
/// order of host calls.
fn found(streams: &Streams, wait: &StreamWait) -> Option<(usize, usize)> {
    let of = |stream: u32| streams.ranges.get(stream as usize).cloned().unwrap_or(0..0);
    let (waiting, on) = (of(wait.stream), of(wait.on_stream));
    let launched_by = |range: &std::ops::Range<usize>, call: u64| {
        range.start + streams.kernels[range.clone()].partition_point(|kernel| kernel.correlation <= call)
    };
    let after = Some(launched_by(&waiting, wait.correlation)).filter(|&after| after < waiting.end)?;
    let before = Some(launched_by(&on, wait.record)).filter(|&before| before > on.start)? - 1;
    let end = streams.kernels[before].end_ps().saturating_sub(ROUNDING_PS);
    let in_order = end <= streams.kernels[after].start_ps;
    (wait.stream != wait.on_stream && in_order).then_some((after, before))
}

fn guessed(streams: &Streams) -> Vec<(usize, usize)> {
    let computes: Vec<Computes> =
        streams.ranges.iter().map(|range| Computes::new(streams, range.clone())).collect();
    let mut waits = Vec::new();
    for (stream, range) in streams.ranges.iter().enumerate() {
        let mut waited = vec![None; streams.ranges.len()];
        for kernel in range.clone() {
            for (other, others) in streams.ranges.iter().enumerate().filter(|&(other, _)| other != stream) {
                let of_communication = prompt_after(streams, kernel, range.start, others.clone());
                waits.extend(of_communication.map(|before| (kernel, before)));
                if streams.kernels[kernel].is_compute() {
                    continue;
                }
                // Skips a kernel that an earlier communication of the stream has already waited for.
                let computed = computes[other]
                    .last_before(streams, kernel)
                    .filter(|&before| waited[other].replace(before) != Some(before));
                waits.extend(computed.map(|before| (kernel, before)));
            }
        }
    }
    waits
}

/// The compute kernels of a stream. Usually a stream has either computing or communication.
struct Computes {
    kernels: Vec<usize>,
    /// By kernel: the earliest launch of it and all later ones. Ascending even if launches are out of order.
    launched_from: Vec<i64>,
}

impl Computes {
    fn new(streams: &Streams, range: std::ops::Range<usize>) -> Computes {
        let kernels: Vec<usize> = range.filter(|&kernel| streams.kernels[kernel].is_compute()).collect();
        let mut launched_from: Vec<i64> = kernels.iter().map(|&kernel| streams.launch_ps[kernel]).collect();
        for place in (1..kernels.len()).rev() {
            launched_from[place - 1] = launched_from[place - 1].min(launched_from[place]);
        }
        Computes { kernels, launched_from }
    }

    /// The last kernel that was launched before a communication and had ended by its start. Streams run in launch order, so only
    /// one or two kernels are left to check after both searches.
    fn last_before(&self, streams: &Streams, communication: usize) -> Option<usize> {
        let (start, launch) = (streams.kernels[communication].start_ps, streams.launch_ps[communication]);
        let begun = self.kernels.partition_point(|&kernel| streams.kernels[kernel].start_ps <= start);
        let launched = self.launched_from.partition_point(|&first| first <= launch);
        self.kernels[..begun.min(launched)].iter().rev().copied().find(|&kernel| {
            let of = &streams.kernels[kernel];
            (streams.launch_ps[kernel], of.start_ps) < (launch, start) && of.end_ps() <= start
        })
    }
}

/// The communication in `other` that the kernel seems to have waited for.
fn prompt_after(
    streams: &Streams,
    kernel: usize,
    first: usize,
    other: std::ops::Range<usize>,
) -> Option<usize> {
    let start = streams.kernels[kernel].start_ps;
    let begun = other.start + streams.kernels[other.clone()].partition_point(|of| of.start_ps <= start);
    let last = (other.start..begun).rev().find(|&of| streams.kernels[of].end_ps() <= start)?;
    let communication = &streams.kernels[last];
    let end = communication.end_ps();
    let free = if kernel == first { i64::MIN } else { streams.kernels[kernel - 1].end_ps() };
    let launch = streams.launch_ps[kernel];
    let ready = launch.saturating_add(PROMPT_PS) <= end || free.saturating_add(LONG_PS) <= end;
    let waited = free < end && ready && streams.launch_ps[last] < launch;
    (!communication.is_compute() && waited && start - end <= PROMPT_PS).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;
    use straggler_model::philox::Stream;

    fn kernel(stream: u32, start_ps: i64, is_compute: bool) -> Kernel {
        let communication = if is_compute { Kernel::COMPUTE } else { 0 };
        Kernel { start_ps, duration_ps: 7, stream, correlation: 0, communication }
    }

    /// Random streams whose kernels start in order and were launched at most `before` earlier.
    fn drawn(
        random: &mut Stream,
        sizes: &[usize],
        computes: f64,
        before: u64,
    ) -> (Vec<Kernel>, Vec<i64>, Vec<Range<usize>>) {
        let (mut kernels, mut launch_ps, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        for (stream, &size) in (0..).zip(sizes) {
            let first = kernels.len();
            let mut now = 0;
            for _ in 0..size {
                now += random.below(20) as i64;
                kernels.push(kernel(stream, now, random.unit() < computes));
                launch_ps.push(now - random.below(before) as i64);
            }
            ranges.push(first..kernels.len());
        }
        (kernels, launch_ps, ranges)
    }

    /// Holds for any order of launches.
    #[test]
    fn the_last_before_is_that_of_a_walk() {
        let mut random = Stream::new(1, 0, 0, 0);
        for _ in 0..200 {
            let (kernels, launch_ps, ranges) = drawn(&mut random, &[30, 30], 0.5, 60);
            let streams = Streams { kernels: &kernels, launch_ps: &launch_ps, ranges: &ranges };
            let computes = Computes::new(&streams, ranges[1].clone());
            for one in ranges[0].clone() {
                let (start, key) = (kernels[one].start_ps, (launch_ps[one], kernels[one].start_ps));
                let walked = ranges[1].clone().rev().find(|&other| {
                    let of = &kernels[other];
                    of.is_compute() && (launch_ps[other], of.start_ps) < key && of.end_ps() <= start
                });
                assert_eq!(computes.last_before(&streams, one), walked);
            }
        }
    }

    /// Streams with only communication are not scanned for every communication of another stream: a hundred billion steps would
    /// take minutes.
    #[test]
    fn streams_of_communication_are_not_walked_through() {
        let mut random = Stream::new(2, 0, 0, 0);
        let (kernels, launch_ps, ranges) = drawn(&mut random, &[300_000, 300_000, 300_000], 0.0, 60);
        let streams = Streams { kernels: &kernels, launch_ps: &launch_ps, ranges: &ranges };
        let begin = std::time::Instant::now();
        waits(&streams, &[]);
        assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
    }
}
