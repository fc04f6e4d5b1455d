//! Combines kernels into operations.
//!
//! A communication kernel is an operation. Compute kernels of a stream that follow each other make up one operation, a *run*,
//! unless something else waits for one of them, or one of them waits for another stream, or the step or the phase changes. So all
//! ranks have the same runs in all steps, wherever their gaps are. The duration of a run is the time that its kernels were busy.
//! It is placed at the end of the run: the gaps of the run come before it and count as its launch delay, and operations that wait
//! for it wait until its true end. An operation without a duration marks where the step begins, so that the gaps of its first run
//! count, too.

use super::super::recorded::{Recorded, RecordedOp};
use super::super::words;
use super::events::{Events, Kernel, Launch, ProfilerStep, Untimed};
use super::meaning::Meaning;
use super::phases::{Pass, Phases};
use super::waits::{Streams, waits};
use super::{idle, stalls, table};
use std::collections::{BTreeSet, HashMap};
use std::ops::{Range, RangeInclusive};

/// The step and phase in which the host launched a kernel. `None` outside the used steps.
pub type Label = Option<(u32, u8)>;

/// The launch of kernels that were in the queue when the recording began. They belong to no step.
const QUEUED: i64 = i64::MIN;

pub fn build(mut events: Events, recorded: &mut Recorded) {
    number_streams(&mut events);
    events.kernels.sort_by_key(|kernel| (kernel.stream, kernel.start_ps, kernel.correlation));
    let Launches { launch_ps, threads, of_communications, untimed_ps, any, all } = launches(&mut events);
    let Steps { mut steps, gaps } = steps(&mut events, [any, all], recorded);
    leave_out_untimed(&untimed_ps, &mut steps, recorded);
    note_gaps(&gaps, &steps, &launch_ps, recorded);
    let host = std::mem::take(&mut events.host_communications);
    let phases = Phases::new(std::mem::take(&mut events.annotations));
    let passes: Vec<Pass> = launch_ps.iter().map(|&at| phases.at(at)).collect();
    let labels: Vec<Label> = (launch_ps.iter().zip(&passes))
        .map(|(&at, pass)| step_at(&steps, at).map(|step| (step, pass.phase)))
        .collect();
    recorded.queued = launch_ps.iter().filter(|&&at| at == QUEUED).count();
    note_outside(&labels, recorded);

    let ranges = ranges(&events.kernels, events.streams.items.len());
    let streams = Streams { kernels: &events.kernels, launch_ps: &launch_ps, ranges: &ranges };
    let waits = waits(&streams, &events.waits);
    let (runs, run_of) = runs(&streams, &waits, &labels);
    let mut meaning = Meaning::new(&events, host, of_communications);
    operations(&events, &runs, &labels, &steps, &mut meaning, recorded);
    let idle = idle::find(&streams, &labels, &steps);
    let step_of = |at: i64| step_at(&steps, at).and_then(|place| steps[place as usize].1);
    let kernels =
        table::Kernels { events: &events, launch_ps: &launch_ps, passes: &passes, step_of: &step_of };
    table::read(&kernels, &meaning, recorded);
    recorded.edges = edges(&events.kernels, &runs, &run_of, &waits, &recorded.ops);
    idle::add(&mut events, &runs, &run_of, &threads, &idle, &mut meaning, recorded);
    stalls::add(&events, &run_of, &mut meaning, recorded);
    (recorded.kinds, recorded.channels) = meaning.lists();
}

/// Numbers streams by id, which is the same on all ranks, and not by their order in the file.
fn number_streams(events: &mut Events) {
    let count = events.streams.items.len();
    let mut used = vec![false; count];
    events.kernels.iter().for_each(|kernel| used[kernel.stream as usize] = true);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&stream| (!used[stream], events.streams.items[stream]));
    let mut place = vec![0; count];
    (0..).zip(order).for_each(|(number, stream)| place[stream] = number);
    let renumber = |stream: &mut u32| *stream = place[*stream as usize];
    events.kernels.iter_mut().for_each(|kernel| renumber(&mut kernel.stream));
    for wait in &mut events.waits {
        renumber(&mut wait.stream);
        renumber(&mut wait.on_stream);
    }
}

struct Launches {
    /// By kernel: when it was launched. If that is unknown, [`QUEUED`], the launch of the previous kernel of its stream, or its
    /// start.
    launch_ps: Vec<i64>,
    /// By kernel: the thread that launched it; 0 if unknown.
    threads: Vec<i64>,
    /// Keyed by kernel.
    of_communications: HashMap<usize, Launch>,
    /// When the events with an invalid time were launched, or began, as far as known.
    untimed_ps: Vec<i64>,
    /// Whether there are launches, and whether no kernel counts where it ran.
    any: bool,
    all: bool,
}

/// Finds the launches of kernels. Frees `events.launches`.
fn launches(events: &mut Events) -> Launches {
    let mut launches = std::mem::take(&mut events.launches);
    launches.sort_by_key(|launch| launch.correlation);
    let find = |correlation: u64| {
        let found = launches.binary_search_by_key(&correlation, |launch| launch.correlation).ok();
        found.map(|found| launches[found])
    };
    let mut of_communications = HashMap::new();
    let mut known = Vec::with_capacity(events.kernels.len());
    let mut threads = Vec::with_capacity(events.kernels.len());
    for (place, kernel) in events.kernels.iter().enumerate() {
        let launch = find(kernel.correlation);
        known.push(launch.map(|launch| launch.at_ps));
        threads.push(launch.map_or(0, |launch| launch.thread));
        if let (Some(launch), false) = (launch, kernel.is_compute()) {
            of_communications.insert(place, launch);
        }
    }
    let first = launches.first().map_or(0, |launch| launch.correlation);
    let (launch_ps, all) = completed(&events.kernels, &known, first);
    let at = |of: &Untimed| of.correlation.and_then(find).map(|launch| launch.at_ps).or(of.at_ps);
    let untimed_ps = events.untimed.iter().filter_map(at).collect();
    Launches { launch_ps, threads, of_communications, untimed_ps, any: !launches.is_empty(), all }
}

/// By kernel: when it was launched. A stream runs in launch order, so a kernel whose launch was not recorded was launched after
/// the one before it. If there is none with a known launch, it was in the queue when the recording began: asynchronous programs
/// are many kernels ahead of the GPU. The same holds if its number is below that of the `first` launch. In a stream without any
/// known launch, kernels count where they ran. Also returns whether there is no such kernel.
fn completed(kernels: &[Kernel], known: &[Option<i64>], first: u64) -> (Vec<i64>, bool) {
    let (mut launch_ps, mut all) = (Vec::with_capacity(kernels.len()), true);
    for stream in kernels.chunk_by(|one, next| one.stream == next.stream) {
        let known = &known[launch_ps.len()..launch_ps.len() + stream.len()];
        let none_known = known.iter().all(Option::is_none);
        let mut last = None;
        for (kernel, &known) in stream.iter().zip(known) {
            last = known.or(last);
            let ran = last.is_none() && none_known && !(1..first).contains(&kernel.correlation);
            all &= !ran;
            launch_ps.push(if ran { kernel.start_ps } else { last.unwrap_or(QUEUED) });
        }
    }
    (launch_ps, all)
}

/// The kernels of each stream.
fn ranges(kernels: &[Kernel], streams: usize) -> Vec<Range<usize>> {
    (0..streams as u32)
        .map(|stream| {
            let begin = kernels.partition_point(|kernel| kernel.stream < stream);
            begin..kernels.partition_point(|kernel| kernel.stream <= stream)
        })
        .collect()
}

struct Steps {
    /// The start of each step and of each gap, and the number of the step. The number is `None` in a gap, and if the step is not
    /// used: it has no end, or was recorded twice.
    steps: Vec<(i64, Option<i64>)>,
    /// The gaps between steps, as indices in `steps`, and the numbers of the steps that are missing there.
    gaps: Vec<(usize, RangeInclusive<i64>)>,
}

/// Finds the steps. What follows the end of a step belongs to it, unless the next step is missing.
fn steps(events: &mut Events, [has_launches, all_launched]: [bool; 2], recorded: &mut Recorded) -> Steps {
    let mut found: Vec<ProfilerStep> = std::mem::take(&mut events.steps);
    if found.is_empty() {
        found = std::mem::take(&mut events.gpu_steps);
    }
    if found.is_empty() {
        recorded.common_notes.push(
            "No ProfilerStep was recorded: everything counts as step 0. Call profiler.step() in the training loop \
             to see single steps."
                .into(),
        );
        recorded.steps.push(0);
        return Steps { steps: vec![(QUEUED + 1, Some(0))], gaps: Vec::new() };
    }
    found.sort_by_key(|step| (step.start_ps, step.number));
    // Without launches, kernels are placed by their start, which may be long after the host has ended the step.
    let (mut steps, mut gaps) = (Vec::with_capacity(found.len()), Vec::new());
    let mut seen: BTreeSet<i64> = recorded.steps.iter().copied().collect();
    for (place, step) in found.iter().enumerate() {
        let twice = seen.contains(&step.number);
        let why = match (twice, step.end_ps) {
            (true, _) => Some("it was recorded twice"),
            (_, None) => Some("it has no end"),
            _ => None,
        };
        match why {
            Some(why) => recorded.left_out.push((step.number, why)),
            None => {
                seen.insert(step.number);
                recorded.steps.push(step.number);
            }
        }
        steps.push((step.start_ps, why.is_none().then_some(step.number)));
        let next = found.get(place + 1);
        let missing =
            step.number.saturating_add(1)..=next.map_or(i64::MAX, |next| next.number.saturating_sub(1));
        if let Some(end_ps) = step
            .end_ps
            .filter(|_| !missing.is_empty() && if next.is_some() { has_launches } else { all_launched })
        {
            if next.is_some() {
                gaps.push((steps.len(), missing));
            }
            steps.push((next.map_or(end_ps, |next| end_ps.min(next.start_ps)), None));
        }
    }
    recorded.steps.sort_unstable();
    Steps { steps, gaps }
}

/// Leaves out the steps that have an event with an invalid time.
fn leave_out_untimed(untimed_ps: &[i64], steps: &mut [(i64, Option<i64>)], recorded: &mut Recorded) {
    for &at_ps in untimed_ps {
        let Some(place) = step_at(steps, at_ps) else { continue };
        if let Some(number) = steps[place as usize].1.take() {
            recorded.steps.retain(|&step| step != number);
            recorded.left_out.push((number, "an event has an invalid time"));
        }
    }
}

/// Adds notes about steps without a mark, if kernels were launched where they are missing.
fn note_gaps(
    gaps: &[(usize, RangeInclusive<i64>)],
    steps: &[(i64, Option<i64>)],
    launch_ps: &[i64],
    recorded: &mut Recorded,
) {
    for (place, missing) in gaps {
        let (begin, end) = (steps[*place].0, steps[place + 1].0);
        if launch_ps.iter().any(|at| (begin..end).contains(at)) {
            let (first, last) = (missing.start(), missing.end());
            let more = if first == last { String::new() } else { format!(" to #{last}") };
            recorded.note(&format!(
                "it has no ProfilerStep#{first}{more}. The kernels launched between steps {} and {} belong to no step.",
                first.saturating_sub(1),
                last.saturating_add(1)
            ));
        }
    }
}

/// The index in `steps` of the last step that began before the launch. `None` if that step is not used.
fn step_at(steps: &[(i64, Option<i64>)], at_ps: i64) -> Option<u32> {
    let place = steps.partition_point(|&(begin, _)| begin <= at_ps).checked_sub(1)?;
    steps[place].1.map(|_| place as u32)
}

fn note_outside(labels: &[Label], recorded: &mut Recorded) {
    let outside = labels.iter().filter(|label| label.is_none()).count() - recorded.queued;
    if outside > 0 {
        let were = words::plural(outside, "kernel was", "kernels were");
        recorded.note(&format!(
            "{outside} {were} left out: launched outside of all steps, or in a step that is left out."
        ));
    }
}

/// The kernels of each operation, and the operation of each kernel, or `u32::MAX`.
fn runs(streams: &Streams, waits: &[(usize, usize)], labels: &[Label]) -> (Vec<Range<usize>>, Vec<u32>) {
    let kernels = streams.kernels;
    let mut begins = vec![false; kernels.len() + 1];
    for &(after, before) in waits {
        begins[after] = true;
        begins[before + 1] = true;
    }
    streams.ranges.iter().filter(|range| !range.is_empty()).for_each(|range| begins[range.start] = true);
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut run_of = vec![u32::MAX; kernels.len()];
    for kernel in 0..kernels.len() {
        if labels[kernel].is_none() {
            continue;
        }
        let joins = !begins[kernel]
            && kernels[kernel].is_compute()
            && kernels[kernel - 1].is_compute()
            && labels[kernel] == labels[kernel - 1];
        match runs.last_mut() {
            Some(run) if joins => run.end = kernel + 1,
            _ => runs.push(kernel..kernel + 1),
        }
        run_of[kernel] = runs.len() as u32 - 1;
    }
    (runs, run_of)
}

fn operations(
    events: &Events,
    runs: &[Range<usize>],
    labels: &[Label],
    steps: &[(i64, Option<i64>)],
    meaning: &mut Meaning,
    recorded: &mut Recorded,
) {
    // Meetings without a number are counted in order of their start, over all streams.
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&run| (events.kernels[runs[run].start].start_ps, run));
    let unset = RecordedOp { step: 0, kind: 0, stream: 0, start_ps: 0, duration_ps: 0, meeting: None };
    recorded.ops = vec![unset; runs.len()];
    for run in order {
        let kernels = &events.kernels[runs[run].clone()];
        let Some((place, phase)) = labels[runs[run].start] else { continue };
        let Some(step) = steps[place as usize].1 else { continue };
        let busy_ps = kernels.iter().fold(0i64, |sum, kernel| sum.saturating_add(kernel.duration_ps));
        let end_ps = kernels.iter().map(Kernel::end_ps).max().unwrap_or(0);
        let stream = kernels[0].stream;
        let (kind, meeting) = match kernels[0].is_compute() {
            true => (meaning.compute(step, phase, stream), None),
            false => meaning.communication(events, runs[run].start, step, recorded.rank),
        };
        recorded.ops[run] = RecordedOp {
            step,
            kind,
            stream: stream.min(u32::from(u16::MAX)) as u16,
            start_ps: end_ps.saturating_sub(busy_ps),
            duration_ps: busy_ps,
            meeting,
        };
    }
}

/// The order within streams, and waits across streams; both within a step.
fn edges(
    kernels: &[Kernel],
    runs: &[Range<usize>],
    run_of: &[u32],
    waits: &[(usize, usize)],
    ops: &[RecordedOp],
) -> Vec<(u32, u32)> {
    let stream = |run: usize| kernels[runs[run].start].stream;
    let order = (1..runs.len()).filter(|&run| stream(run) == stream(run - 1));
    let order = order.map(|run| (run as u32, run as u32 - 1));
    let across = waits.iter().map(|&(after, before)| (run_of[after], run_of[before]));
    let step = |run: u32| ops.get(run as usize).map(|op| op.step);
    let mut edges: Vec<(u32, u32)> = order
        .chain(across)
        .filter(|&(after, before)| step(after).is_some() && step(after) == step(before))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}
