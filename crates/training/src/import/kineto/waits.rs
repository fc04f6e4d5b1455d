//! Which kernels of other streams a kernel waited for.
//!
//! Kernels of a stream come one after the other; that needs no rule. Across streams, "Stream Wait Event" records
//! say it. Where a trace has none, two rules stand in for them:
//! * A communication waits for the last kernel of every other stream that was launched before it and had ended by
//!   its start: PyTorch makes the stream of NCCL wait for the current one.
//! * A kernel waits for a communication of another stream if it was launched after it, starts within [`PROMPT_PS`]
//!   after its end, and its stream was idle by then. Either it was launched [`PROMPT_PS`] or more before that end, or
//!   its stream had been idle for [`LONG_PS`]: that its launch came just then is no chance, the host waited, too. Else
//!   the latency of the launch alone would explain when it started. A communication waits for another one in the same way: PyTorch makes the current stream wait for
//!   the first, and the stream of the second for the current one.

use super::events::{Kernel, StreamWait};

/// A kernel that can start does so within this time, after its launch or after what it waited for.
const PROMPT_PS: i64 = 20_000_000;
/// Streams that wait for their host are idle for up to some hundreds of microseconds.
const LONG_PS: i64 = 100 * PROMPT_PS;

/// Kernels in order of stream and start, with the time of their launch.
pub struct Streams<'a> {
    pub kernels: &'a [Kernel],
    /// By kernel; its start where the launch was not recorded.
    pub launch_ps: &'a [i64],
    /// By stream: its kernels.
    pub ranges: &'a [std::ops::Range<usize>],
}

/// `(after, before)`: kernels of different streams.
pub fn waits(streams: &Streams, recorded: &[StreamWait]) -> Vec<(usize, usize)> {
    let mut waits = match recorded {
        [] => guessed(streams),
        _ => recorded.iter().filter_map(|wait| found(streams, wait)).collect(),
    };
    waits.sort_unstable();
    waits.dedup();
    waits
}

/// The next kernel of the stream waits for the last one before the event of the other stream. Correlation numbers
/// count the calls of the host.
fn found(streams: &Streams, wait: &StreamWait) -> Option<(usize, usize)> {
    let of = |stream: u32| streams.ranges.get(stream as usize).cloned().unwrap_or(0..0);
    let (waiting, on) = (of(wait.stream), of(wait.on_stream));
    let launched_by = |range: &std::ops::Range<usize>, call: u64| {
        range.start + streams.kernels[range.clone()].partition_point(|kernel| kernel.correlation <= call)
    };
    let after = Some(launched_by(&waiting, wait.correlation)).filter(|&after| after < waiting.end)?;
    let before = Some(launched_by(&on, wait.record)).filter(|&before| before > on.start)? - 1;
    let in_order = streams.kernels[before].end_ps() <= streams.kernels[after].start_ps;
    (wait.stream != wait.on_stream && in_order).then_some((after, before))
}

fn guessed(streams: &Streams) -> Vec<(usize, usize)> {
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
                // What an earlier communication of the stream has waited for is done.
                let computed = last_before(streams, kernel, others.clone())
                    .filter(|&before| waited[other].replace(before) != Some(before));
                waits.extend(computed.map(|before| (kernel, before)));
            }
        }
    }
    waits
}

/// The last compute kernel in `other` that was launched before the communication and has ended by its start.
fn last_before(streams: &Streams, communication: usize, other: std::ops::Range<usize>) -> Option<usize> {
    let start = streams.kernels[communication].start_ps;
    let begun = other.start + streams.kernels[other.clone()].partition_point(|of| of.start_ps <= start);
    (other.start..begun).rev().find(|&kernel| {
        let of = &streams.kernels[kernel];
        let launched = (streams.launch_ps[kernel], of.start_ps) < (streams.launch_ps[communication], start);
        of.is_compute() && launched && of.end_ps() <= start
    })
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
