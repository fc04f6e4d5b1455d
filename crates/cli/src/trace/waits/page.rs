//! Waits on a timeline, coloured by pattern, and the critical path.

use crate::kernel::prelude::*;
use crate::trace::file::Opened;
use crate::trace::waits::words::{self, plain};
use crate::trace::waits::{CauseAnswer, WaitsAnswer};
use std::collections::BTreeMap;
use straggler_analysis::waits::{CriticalPath, Explanation, Pattern, Totals, Wait, WaitStates};
use straggler_model::Rank;
use straggler_report::page::{Activity, ActivityRole, Arrow, Bar, Bars, Kind, NOBODY, Timeline};
use straggler_trace::{Class, Trace, profile::is_counted};

/// Most ranks and calls shown.
const MOST_RANKS: usize = 256;
const MOST_CALLS: usize = 200_000;

const COMPUTATION: u8 = 0;
const COMMUNICATION: u8 = 1;

/// The part of a run that is shown: the first ranks, up to a time.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    pub ranks: usize,
    pub until: Time,
    pub is_cut: bool,
}

impl Shown {
    pub fn new(trace: &Trace) -> Shown {
        let ranks = trace.ranks.len().min(MOST_RANKS);
        let calls = || trace.ranks[..ranks].iter().flat_map(|rank| rank.calls.iter().map(|call| call.enter));
        let mut enters: Vec<Time> = if calls().count() > MOST_CALLS { calls().collect() } else { Vec::new() };
        let is_cut = !enters.is_empty();
        let until = if is_cut { *enters.select_nth_unstable(MOST_CALLS).1 } else { Time::NEVER };
        Shown { ranks, until, is_cut }
    }

    /// Meaning of the arrows, and the part of the run that is not shown.
    pub fn note(self, trace: &Trace) -> String {
        let mut note = "Arrows (messages) point from a wait to the call that ended it.".to_owned();
        if self.ranks < trace.ranks.len() || self.is_cut {
            note += &format!(" The first {} ranks", self.ranks);
            note += &if self.is_cut { format!(", up to {}.", self.until) } else { ".".into() };
        }
        note
    }

    fn rows(self) -> Vec<String> {
        (0..self.ranks).map(|rank| format!("rank {rank}")).collect()
    }
}

/// A run whose waits are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Name of its rows, after the rank.
    pub name: &'a str,
    pub trace: &'a Trace,
    pub states: &'a WaitStates,
}

/// Computation, waits by pattern, and the rest of the time in MPI; arrows go from a wait to the call that ended it.
pub fn waits(trace: &Trace, states: &WaitStates, shown: Shown) -> Timeline {
    beside(&[Run { name: "", trace, states }], shown)
}

/// The same for several runs; the rows of a rank are below each other.
pub fn beside(runs: &[Run<'_>], shown: Shown) -> Timeline {
    let patterns = kinds(runs);
    let of_pattern = |pattern: &Pattern| Kind { name: plain(pattern.name()), role: ActivityRole::Wait };
    let kinds =
        [("computation", ActivityRole::Computation), ("in MPI, not waiting", ActivityRole::Communication)];
    let kinds = kinds.map(|(name, role)| Kind { name: name.into(), role });
    let kinds = kinds.into_iter().chain(patterns.keys().map(of_pattern)).collect();
    let names = shown.rows();
    let rows = names.iter().flat_map(|rank| runs.iter().map(move |run| format!("{rank} {}", run.name)));
    let rows = rows.map(|name| name.trim_end().to_owned()).collect();
    let timeline = Timeline { rows, kinds, ..Timeline::default() };
    let mut painter = Painter { timeline, kinds: patterns, runs: runs.len() as u32, run: 0 };
    let mut waits: Vec<&[Wait]> = runs.iter().map(|run| run.states.waits.as_slice()).collect();
    for rank in 0..shown.ranks as Rank {
        for ((number, run), waits) in (0..).zip(runs).zip(&mut waits) {
            let count = waits.partition_point(|wait| wait.place.rank <= rank);
            let (own, rest) = waits.split_at(count);
            painter.run = number;
            painter.rank(run.trace, rank, own, shown.until);
            *waits = rest;
        }
    }
    painter.timeline
}

/// The patterns that occur, each with its kind of activity.
fn kinds(runs: &[Run<'_>]) -> BTreeMap<Pattern, u8> {
    let totals: Vec<Totals> = runs.iter().map(|run| run.states.total()).collect();
    let there =
        Pattern::ALL.into_iter().filter(|&pattern| totals.iter().any(|total| total.get(pattern).count > 0));
    there.zip(COMMUNICATION + 1..).collect()
}

struct Painter {
    timeline: Timeline,
    kinds: BTreeMap<Pattern, u8>,
    runs: u32,
    /// Index of the run being drawn.
    run: u32,
}

impl Painter {
    fn row(&self, rank: Rank) -> u32 {
        rank * self.runs + self.run
    }

    /// Draws the calls of a rank's first thread.
    fn rank(&mut self, trace: &Trace, rank: Rank, mut waits: &[Wait], until: Time) {
        let calls = trace.ranks[rank as usize].calls.iter();
        let mut now: Option<Time> = None;
        for (number, call) in (0..).zip(calls).take_while(|(_, call)| call.enter <= until) {
            let count = waits.partition_point(|wait| wait.place.call <= number);
            let (own, rest) = waits.split_at(count);
            waits = rest;
            if call.thread != 0
                || call.function.class() == Class::Mark
                || now.is_some_and(|now| call.exit <= now)
            {
                continue;
            }
            let enter = now.map_or(call.enter, |now| now.max(call.enter));
            self.push(rank, COMPUTATION, now.unwrap_or(call.enter), enter);
            let after = self.waits(trace, rank, own, [enter, call.exit]);
            if is_counted(call.function) {
                self.push(rank, COMMUNICATION, after[0], after[1]);
            }
            if let Some(wait) = own.iter().find(|wait| wait.cause.is_none()) {
                self.push(rank, self.kinds[&wait.pattern], after[1], call.exit);
            }
            now = Some(call.exit);
        }
    }

    /// Draws the waits at the start of a call, with arrows. Returns the rest of the call, without the
    /// waits at its end, which have no cause.
    fn waits(&mut self, trace: &Trace, rank: Rank, waits: &[Wait], [enter, exit]: [Time; 2]) -> [Time; 2] {
        let mut left = [enter, exit];
        for wait in waits {
            let Some(late) = wait.cause.and_then(|cause| Some((cause.rank, trace.call(cause)?.enter))) else {
                left[1] = Time(exit.ps().saturating_sub(wait.time.ps())).max(left[0]);
                continue;
            };
            let end = (enter + wait.time).min(exit);
            self.push(rank, self.kinds[&wait.pattern], enter, end);
            let (from, to) = (self.row(rank), self.row(late.0));
            if (to as usize) < self.timeline.rows.len() {
                let (sent_ps, received_ps) = (enter.ps() as f64, late.1.max(enter).ps() as f64);
                self.timeline.push_arrow(Arrow { from, to, sent_ps, received_ps, bytes: 0.0 });
            }
            left[0] = end;
        }
        left
    }

    fn push(&mut self, rank: Rank, kind: u8, start: Time, end: Time) {
        let row = self.row(rank);
        push(&mut self.timeline, row, kind, start, end);
    }
}

fn push(timeline: &mut Timeline, row: u32, kind: u8, start: Time, end: Time) {
    if start < end {
        let (start_ps, end_ps) = (start.ps() as f64, end.ps() as f64);
        timeline.push(Activity { row, start_ps, end_ps, kind, peer: NOBODY, bytes: -1.0, tag: 0 });
    }
}

/// The rank of the critical path over time.
pub fn path(path: &CriticalPath, shown: Shown) -> Timeline {
    let kinds = vec![Kind { name: "on the critical path".into(), role: ActivityRole::Other }];
    let mut timeline = Timeline { rows: shown.rows(), kinds, ..Timeline::default() };
    let mut stretches: Vec<_> = path
        .stretches
        .iter()
        .filter(|one| (one.rank as usize) < shown.ranks && one.start <= shown.until)
        .collect();
    stretches.sort_by_key(|stretch| (stretch.rank, stretch.start));
    for stretch in stretches {
        push(&mut timeline, stretch.rank, 0, stretch.start, stretch.end);
    }
    timeline
}

/// Most bars of a chart, and most rows of long tables.
const MOST_BARS: usize = 12;
const MOST_ROWS: usize = 1000;

pub fn page(answer: &WaitsAnswer, opened: &Opened, states: &WaitStates, explanation: &Explanation) -> Page {
    let command = command_line();
    let mut why = Section::new("Why ranks wait");
    why.add(cause_bars(answer, &command));
    let causes = words::causes(answer, MOST_ROWS).titled("Root causes", &command);
    why.add(causes.with_note(
        "Direct: others waited for this rank. Indirect: they waited for ranks that had waited because of it.",
    ));
    let mut how = Section::new("Waits by kind and place");
    how.add(words::patterns(answer).titled("Patterns", &command));
    how.add(words::functions(&answer.functions).titled("Functions", &command));
    if !answer.call_sites.is_empty() {
        how.add(words::call_sites(&answer.call_sites).titled("Call sites", &command));
    }
    let regions = words::waits_of_regions(answer, MOST_ROWS).titled("Regions", &command);
    how.add(regions.with_note("A wait belongs to the innermost region marked by the program."));
    how.add(words::ranks(&answer.ranks).titled("Ranks", &command));
    let mut path = Section::new("Critical path");
    path.text = vec![words::path_words(answer)];
    path.text.extend(answer.efficiency.as_ref().map(words::efficiency));
    let activities = words::critical_path(answer, MOST_ROWS).titled("The critical path", &command);
    path.add(activities.with_note("Imbalance is the time on the path beyond what a rank spends on average."));
    let sections = vec![why, how, path, when(opened, states, explanation, &command)];
    let program = &opened.trace.meta.program;
    let title = if program.is_empty() { &answer.trace } else { program };
    let mut page = pages::page(format!("Waits of {title}"), vec![answer.sentence.clone()], sections);
    page.facts.add("Trace", &answer.trace);
    page.facts.add("Ranks", grouped(opened.trace.processes()));
    page.warnings = answer.warnings.clone();
    page.notes = words::not_analysed(answer).iter().map(|note| note.trim().to_owned()).collect();
    page
}

fn when(opened: &Opened, states: &WaitStates, explanation: &Explanation, command: &str) -> Section {
    let shown = Shown::new(&opened.trace);
    let note = shown.note(&opened.trace);
    let synthetic = opened.is_synthetic();
    let mut when = Section::new("Waits over time");
    let waits = waits(&opened.trace, states, shown);
    when.add(Chart::new("Waits by pattern", command, waits).with_note(note).synthetic(synthetic));
    let path = path(&explanation.critical_path, shown);
    let note = "At every moment, the rank that determines the run time.";
    when.add(Chart::new("The critical path", command, path).with_note(note).synthetic(synthetic));
    when
}

fn cause_bars(answer: &WaitsAnswer, command: &str) -> Chart {
    let bar = |cause: &CauseAnswer| {
        let value = cause.direct_seconds + cause.indirect_seconds;
        let share = percent(value / answer.waiting_seconds.max(f64::MIN_POSITIVE));
        let name = format!("rank {}: {}", cause.rank, cause.activity.activity);
        Bar { name, value, note: share, ..Bar::default() }
    };
    let bars = answer.causes.iter().take(MOST_BARS).map(bar).collect();
    let plot = Bars { x: Axis::linear("waiting time caused on other ranks", Unit::Seconds), bars };
    Chart::new("Causes of waiting", command, plot)
        .with_note("Shares are of the total waiting time.")
        .synthetic(answer.synthetic)
}
