//! When the GPU was idle because the host had not launched its next kernel.
//!
//! ```text
//! host    l1  l2          l3        l: launch of a kernel
//! GPU      ▒▒▒▒▒▒▒▒········▒▒▒▒     ·: idle until kernel 3 is launched and starts
//! ```
//! A kernel that was launched while an earlier one still ran waits for nothing but the GPU. Idle time also ends a little after
//! the launch, because a kernel that starts later waited for something else.

use super::super::recorded::{Recorded, RecordedOp};
use super::events::{Events, Kernel};
use super::meaning::Meaning;
use super::operations::Label;
use super::stalls::compute_stream;
use super::waits::{PROMPT_PS, Streams};
use crate::{Host, times};
use std::collections::BTreeMap;
use std::ops::Range;

/// The names of what the host does that are kept for each rank.
const NAMED: usize = 16;

/// A time in which no kernel ran on any stream, before a kernel of the compute stream that was launched too late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Idle {
    pub kernel: usize,
    pub begin_ps: i64,
    pub end_ps: i64,
}

/// All idle times that the host caused, in order.
pub fn find(streams: &Streams, labels: &[Label], steps: &[(i64, Option<i64>)]) -> Vec<Idle> {
    let kernels = streams.kernels;
    let Some(stream) = compute_stream(kernels) else { return Vec::new() };
    let others = busy(kernels, stream);
    let (mut idle, mut free, mut next) = (Vec::new(), None, 0);
    let mut before: Label = None;
    for kernel in streams.ranges[stream as usize].clone() {
        let of = &kernels[kernel];
        let launch = streams.launch_ps[kernel];
        if let Some((place, _)) = labels[kernel] {
            let begin = idle_since(free, before, place, steps).unwrap_or(of.start_ps);
            let end = of.start_ps.min(launch.saturating_add(PROMPT_PS));
            while others.get(next).is_some_and(|&(_, end)| end <= begin) {
                next += 1;
            }
            if launch > begin {
                pieces(begin, end, &others[next..], |begin_ps, end_ps| {
                    idle.push(Idle { kernel, begin_ps, end_ps })
                });
            }
        }
        before = labels[kernel];
        free = Some(of.end_ps().max(free.unwrap_or(i64::MIN)));
    }
    idle
}

/// Since when the stream is free for a kernel of a step, which follows a kernel with the label `before`. A step counts from its
/// mark, unless the step before it was recorded, too.
fn idle_since(free: Option<i64>, before: Label, place: u32, steps: &[(i64, Option<i64>)]) -> Option<i64> {
    let number = |place: u32| steps.get(place as usize).and_then(|step| step.1);
    let follows = |before: u32| {
        before == place || number(before).and_then(|number| number.checked_add(1)) == number(place)
    };
    if before.is_some_and(|(before, _)| follows(before)) {
        return free;
    }
    let mark = steps.get(place as usize).map(|step| step.0).filter(|&mark| mark > i64::MIN / 2);
    mark.map(|mark| mark.max(free.unwrap_or(i64::MIN)))
}

/// When any other stream was busy: times that do not overlap, in order.
fn busy(kernels: &[Kernel], stream: u32) -> Vec<(i64, i64)> {
    let others = kernels.iter().filter(|kernel| kernel.stream != stream);
    let mut times: Vec<(i64, i64)> = others.map(|kernel| (kernel.start_ps, kernel.end_ps())).collect();
    times::join(&mut times);
    times
}

/// The parts of a time that are not in `busy`.
fn pieces(begin: i64, end: i64, busy: &[(i64, i64)], mut each: impl FnMut(i64, i64)) {
    let mut now = begin;
    for &(from, to) in busy.iter().take_while(|&&(from, _)| from < end) {
        if from > now {
            each(now, from);
        }
        now = now.max(to);
    }
    if end > now {
        each(now, end);
    }
}

/// Adds the mark of each step before its first run of computations, how long the GPU was idle before each run, and what the host
/// did in that time. `run_of` has the operation of each kernel, or `u32::MAX`, and `threads` the thread that launched it.
pub fn add(
    events: &mut Events,
    runs: &[Range<usize>],
    run_of: &[u32],
    threads: &[i64],
    idle: &[Idle],
    meaning: &mut Meaning,
    recorded: &mut Recorded,
) {
    let Some(stream) = compute_stream(&events.kernels) else { return };
    recorded.idle_ps = vec![0; recorded.ops.len()];
    let mut begins: BTreeMap<u32, i64> = BTreeMap::new();
    let mut times = Vec::with_capacity(idle.len());
    for of in idle {
        let run = run_of[of.kernel];
        if let Some(sum) = recorded.idle_ps.get_mut(run as usize) {
            *sum = sum.saturating_add(of.end_ps.saturating_sub(of.begin_ps));
            begins.entry(run).or_insert(of.begin_ps);
            times.push((threads[of.kernel], of.begin_ps, of.end_ps));
        }
    }
    let mut host = Host { does: events.host.during(&times), ..Host::default() };
    host.does.truncate(NAMED);
    let mut marked = None;
    for (place, run) in (0..).zip(runs).filter(|(_, run)| events.kernels[run.start].stream == stream) {
        let op = recorded.ops[place as usize];
        host.kernels += run.len() as u64;
        host.busy_ps = host.busy_ps.saturating_add(op.duration_ps);
        if marked.replace(op.step) == Some(op.step) {
            continue;
        }
        host.steps += 1;
        let first = events.kernels[run.start].start_ps;
        let start_ps = begins.get(&place).map_or(first, |&begin| begin.min(first));
        recorded.edges.push((place, recorded.ops.len() as u32));
        recorded.ops.push(RecordedOp { kind: meaning.step(), start_ps, duration_ps: 0, meeting: None, ..op });
        recorded.idle_ps.push(0);
    }
    recorded.edges.sort_unstable();
    recorded.host_facts = Some(host);
}
