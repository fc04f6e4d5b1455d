//! Joins detours with the kernel's activities, on one clock: who took how much of each detour?
//!
//! A detour goes to the source that took most of its time. Between the last instruction of the measuring loop
//! and the first kernel event lies entry and exit code, about a microsecond each way, which is not traced. Up
//! to [`EDGE`] on both sides of an event is therefore attributed to it. The rest is explained by no event:
//! its cause lies below the kernel. So a tick of 5 µs is not blamed for a detour of 3 ms around it.
//!
//! Detours and spans are sorted; both are walked over once.

use super::names::{self, Names};
use super::spans::{CoreSpans, Span};
use straggler_model::Time;
use straggler_noise::recording::{Core, Evidence, Method, NoiseRecording, SourceId, UNNAMED};

/// Untraced code before and after an event.
pub const EDGE: Time = Time(2_000_000);

/// The longest page fault, of which only the beginning is seen. Clearing a huge page takes a few hundred
/// microseconds; faults that wait for a disk appear as switches to other threads.
pub const LONGEST_FAULT: Time = Time(1_000_000_000);

/// The kernel activity observed on one core, in times of the measurement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Observed {
    pub core: u32,
    pub spans: Vec<Took>,
    pub faults: Vec<Time>,
    /// When the kernel was observed; outside this time, no event means nothing.
    pub from: Time,
    pub until: Time,
}

/// A span in which something else had the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Took {
    pub start: Time,
    pub end: Time,
    pub name: u32,
}

impl Observed {
    /// `time` converts the events' clock to times of the measurement; it returns `None` before its start.
    pub fn new(core: u32, found: &CoreSpans, time: impl Fn(u64) -> Option<Time>) -> Observed {
        let took = |span: &Span| {
            Some(Took {
                start: time(span.start).unwrap_or(Time::ZERO),
                end: time(span.end).filter(|&end| end > Time::ZERO)?,
                name: span.name,
            })
        };
        Observed {
            core,
            spans: found.spans.iter().filter_map(took).collect(),
            faults: found.faults.iter().filter_map(|&at| time(at)).collect(),
            from: Time::ZERO,
            until: Time(u64::MAX),
        }
    }
}

/// Names the sources of the recording's detours; returns how much of their time events cover, in ps.
pub fn join(recording: &mut NoiseRecording, observed: &[Observed], names: &Names) -> u64 {
    let mut numbers = Numbers::new(names.list().len());
    let mut covered = 0u64;
    let mut cores = std::mem::take(&mut recording.cores);
    for core in &mut cores {
        let Some(seen) = observed.iter().find(|seen| seen.core == core.core) else { continue };
        let mut walk = Walk::new(seen, names.list().len());
        for index in 0..core.detours.len() {
            let window = window(core, index, &recording.method);
            let duration = core.detours[index].duration;
            let shares = walk.shares(window, duration);
            covered = covered.saturating_add(shares.covered.ps());
            core.detours[index].source = numbers.source(shares.most, names, recording);
        }
    }
    recording.cores = cores;
    covered
}

/// The time in which a detour may lie: known to an iteration for the detour kernel, to a quantum for the
/// others.
fn window(core: &Core, index: usize, method: &Method) -> (Time, Time) {
    let detour = core.detours[index];
    let length = match method {
        Method::FixedTime { quantum_ps } => detour.duration.max(Time(*quantum_ps)),
        Method::Detour | Method::FixedWork => Time(detour.duration.ps().saturating_add(core.t_min.ps())),
    };
    (detour.start, Time(detour.start.ps().saturating_add(length.ps())))
}

/// The source a detour is attributed to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Who {
    Named(u32),
    PageFault,
    BelowTheKernel,
    /// The kernel was not observed at that time.
    Nobody,
}

/// Maps numbers of names to source numbers of the recording.
struct Numbers {
    named: Vec<Option<SourceId>>,
}

impl Numbers {
    fn new(names: usize) -> Numbers {
        Numbers { named: vec![None; names] }
    }

    fn source(&mut self, who: Who, names: &Names, recording: &mut NoiseRecording) -> SourceId {
        match who {
            Who::Nobody => UNNAMED,
            Who::BelowTheKernel => recording.source_id(names::BELOW_THE_KERNEL, Evidence::Remainder),
            Who::PageFault => recording.source_id(names::PAGE_FAULT, Evidence::Traced),
            Who::Named(number) => {
                let Some(name) = names.list().get(number as usize) else { return UNNAMED };
                let id = self.named[number as usize];
                let id = id.unwrap_or_else(|| recording.source_id(name, Evidence::Traced));
                self.named[number as usize] = Some(id);
                id
            }
        }
    }
}

struct Shares {
    most: Who,
    covered: Time,
}

/// A walk over the spans and faults of a core, from detour to detour.
struct Walk<'a> {
    seen: &'a Observed,
    next_span: usize,
    next_fault: usize,
    /// The time that each name took of the current detour, and the names that took any.
    tally: Vec<u64>,
    touched: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(seen: &'a Observed, names: usize) -> Walk<'a> {
        Walk { seen, next_span: 0, next_fault: 0, tally: vec![0; names], touched: Vec::new() }
    }

    fn shares(&mut self, window: (Time, Time), duration: Time) -> Shares {
        let spans = self.spans_in(window);
        let faults = self.faults_in(window);
        let covered: u64 = spans.iter().map(|&span| inside(span, window)).sum();
        let mut left = duration.ps().saturating_sub(covered);
        for &span in spans {
            self.add(span.name, inside(span, window));
        }
        self.add_edges(spans, window, &mut left);
        let fault = left.min(LONGEST_FAULT.ps().saturating_mul(faults as u64));
        let rest = (left - fault).max(self.unwatched(window));
        Shares { most: self.most(fault, rest, window), covered: Time(covered.min(duration.ps())) }
    }

    fn spans_in(&mut self, window: (Time, Time)) -> &'a [Took] {
        let spans = &self.seen.spans[self.next_span..];
        let passed = spans.iter().take_while(|span| span.end <= window.0).count();
        self.next_span += passed;
        let spans = &spans[passed..];
        &spans[..spans.iter().take_while(|span| span.start < window.1).count()]
    }

    fn faults_in(&mut self, window: (Time, Time)) -> usize {
        let faults = &self.seen.faults[self.next_fault..];
        let passed = faults.iter().take_while(|&&at| at < window.0).count();
        self.next_fault += passed;
        faults[passed..].iter().take_while(|&&at| at < window.1).count()
    }

    fn add(&mut self, name: u32, ps: u64) {
        let Some(sum) = self.tally.get_mut(name as usize) else { return };
        if *sum == 0 && ps > 0 {
            self.touched.push(name);
        }
        *sum += ps;
    }

    /// Attributes gaps next to events to them, half each between two, as far as untraced code can explain.
    fn add_edges(&mut self, spans: &[Took], window: (Time, Time), left: &mut u64) {
        let mut at = window.0.ps();
        let mut before: Option<u32> = None;
        for span in spans {
            let gap = span.start.ps().saturating_sub(at);
            let share = if before.is_some() { gap / 2 } else { gap };
            before.into_iter().for_each(|name| self.edge(name, gap - share, left));
            self.edge(span.name, share, left);
            at = span.end.ps();
            before = Some(span.name);
        }
        let gap = window.1.ps().saturating_sub(at);
        before.into_iter().for_each(|name| self.edge(name, gap, left));
    }

    fn edge(&mut self, name: u32, gap: u64, left: &mut u64) {
        let share = gap.min(EDGE.ps()).min(*left);
        *left -= share;
        self.add(name, share);
    }

    /// How much of the window was not observed.
    fn unwatched(&self, window: (Time, Time)) -> u64 {
        let watched = Took { start: self.seen.from, end: self.seen.until, name: 0 };
        window.1.ps().saturating_sub(window.0.ps()).saturating_sub(inside(watched, window))
    }

    /// Ties go to the lower name number, and to names before the rest.
    fn most(&mut self, fault: u64, rest: u64, window: (Time, Time)) -> Who {
        let mut most = (0, Who::Nobody);
        self.touched.sort_unstable();
        for name in std::mem::take(&mut self.touched) {
            let ps = std::mem::take(&mut self.tally[name as usize]);
            if ps > most.0 {
                most = (ps, Who::Named(name));
            }
        }
        if fault > most.0 {
            most = (fault, Who::PageFault);
        }
        if rest > most.0 {
            let watched = self.unwatched(window) == 0;
            most = (rest, if watched { Who::BelowTheKernel } else { Who::Nobody });
        }
        most.1
    }
}

fn inside(span: Took, window: (Time, Time)) -> u64 {
    span.end.min(window.1).ps().saturating_sub(span.start.max(window.0).ps())
}

#[cfg(test)]
mod tests;
