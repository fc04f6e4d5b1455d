//! Turns host work while the GPU was idle, such as data loading and garbage collection, into operations before the
//! run that it delayed. Used if kernels are analysed one by one.

use super::super::recorded::{Recorded, RecordedOp};
use super::events::{Events, Kernel};
use super::meaning::Meaning;
use crate::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// Adds the operations. `run_of` has the operation of each kernel, or `u32::MAX`.
pub fn add(events: &Events, run_of: &[u32], meaning: &mut Meaning, recorded: &mut Recorded) {
    let Some(stream) = compute_stream(&events.kernels) else { return };
    let kernels: Vec<usize> = (0..events.kernels.len())
        .filter(|&kernel| events.kernels[kernel].is_compute() && events.kernels[kernel].stream == stream)
        .collect();
    let mut spans: Vec<(i64, i64, Kind)> =
        events.host_work.iter().map(|span| (span.start_ps, span.end_ps, span.what)).collect();
    spans.sort_unstable();
    let mut lasts: BTreeMap<(u32, Kind), i64> = BTreeMap::new();
    let mut until = i64::MIN;
    for (start, end, kind) in spans {
        // Kernels of a stream run one after the other, so the GPU is idle from the end of the last one that has begun.
        let next = kernels.partition_point(|&kernel| events.kernels[kernel].start_ps < end);
        let busy = next.checked_sub(1).map_or(i64::MIN, |last| events.kernels[kernels[last]].end_ps());
        let idle = end.saturating_sub(start.max(busy).max(until));
        until = until.max(end);
        let Some(&run) = kernels.get(next).map(|&kernel| &run_of[kernel]) else { continue };
        if idle > 0 && run != u32::MAX {
            let sum = lasts.entry((run, kind)).or_default();
            *sum = sum.saturating_add(idle);
        }
    }
    let runs: BTreeSet<u32> = lasts.keys().map(|(run, _)| *run).collect();
    let mut waits: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (after, before) in recorded.edges.iter().filter(|(after, _)| runs.contains(after)) {
        waits.entry(*after).or_default().push(*before);
    }
    // In reverse order, so that each is inserted right before its successor.
    let mut behind: Option<(u32, u32)> = None;
    for ((run, kind), lasts) in lasts.into_iter().rev() {
        let next = behind.filter(|(of, _)| *of == run).map_or(run, |(_, stall)| stall);
        let (RecordedOp { step, stream, start_ps, .. }, place) =
            (recorded.ops[next as usize], recorded.ops.len() as u32);
        // It waits for what the run waits for.
        let before = waits.get(&run).into_iter().flatten();
        recorded.edges.extend(before.map(|&before| (place, before)));
        recorded.edges.push((next, place));
        // The rest of the idle time now comes before the stall.
        let idle = std::mem::take(&mut recorded.idle_ps[next as usize]);
        recorded.idle_ps.push(idle.saturating_sub(lasts).max(0));
        recorded.ops.push(RecordedOp {
            step,
            kind: meaning.stall(kind),
            stream,
            start_ps: start_ps.saturating_sub(lasts),
            duration_ps: lasts,
            meeting: None,
        });
        behind = Some((run, place));
    }
    recorded.edges.sort_unstable();
}

/// The stream with the most computing time. Work on other streams, such as copies, delays nothing by itself.
pub fn compute_stream(kernels: &[Kernel]) -> Option<u32> {
    let mut busy: BTreeMap<u32, i64> = BTreeMap::new();
    for kernel in kernels.iter().filter(|kernel| kernel.is_compute()) {
        let sum = busy.entry(kernel.stream).or_default();
        *sum = sum.saturating_add(kernel.duration_ps);
    }
    let longest = busy.into_iter().max_by_key(|&(stream, busy)| (busy, std::cmp::Reverse(stream)));
    longest.map(|(stream, _)| stream)
}
