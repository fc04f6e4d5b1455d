//! Time-independent traces of SimGrid's replay.
//!
//! Each line is an action: the rank, a name, its parameters. Computations are amounts of work in
//! flops, and calls have no times. Here, computations take their work divided by a flop rate, and
//! calls take no time. All actions are on the world. The grammar is that of `smpi_replay.cpp` of
//! SimGrid (`action.rs`); traces from before tags were written (`send dst size`, `wait` without
//! parameters, mixed case) are recognised and read too. A trace is one file for all ranks, one file
//! per rank, or an index: a text with the names of those files.

mod action;

use super::arguments::{Arguments, push, settle};
use super::requests::{Meant, Requests};
use super::{ImportError, Source};
use action::{Action, ActionKind, Grammar};
use smallvec::smallvec;
use std::collections::{BTreeMap, HashMap};
use straggler_model::{Rank, Time};
use straggler_trace::call::{Call, Completed, Details, Matched, special};
use straggler_trace::{Class, Communicator, Function, HowMany, Meta, RankTrace, RequestId, Trace, WORLD};

/// Whether a text begins with an action.
pub fn looks_like(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let mut words = first.unwrap_or_default().split_whitespace();
    words.next().is_some_and(|rank| rank.parse::<Rank>().is_ok()) && words.next().is_some_and(action::is_name)
}

/// The file names that an index lists.
pub fn index(source: &Source) -> Result<Vec<String>, ImportError> {
    let wrong = |what: &str| ImportError::File { file: source.name.clone(), what: what.into() };
    let text = str::from_utf8(&source.bytes).map_err(|_| wrong("neither actions nor a list of files"))?;
    let names: Vec<String> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(Into::into).collect();
    if names.is_empty() { Err(wrong("lists no files")) } else { Ok(names) }
}

/// Reads the actions of all files together.
pub fn read(sources: &[Source], flops_per_second: f64) -> Result<Trace, ImportError> {
    if !flops_per_second.is_finite() || flops_per_second <= 0.0 {
        return Err(ImportError::FlopRate(flops_per_second));
    }
    let texts: Vec<_> = sources.iter().map(|source| String::from_utf8_lossy(&source.bytes)).collect();
    let mut lines: BTreeMap<Rank, Vec<Line<'_>>> = BTreeMap::new();
    for (source, text) in sources.iter().zip(&texts) {
        for (at, text) in text.lines().enumerate() {
            if let Some(line) = Line::new(&source.name, at + 1, text)? {
                lines.entry(line.rank).or_default().push(line);
            }
        }
    }
    let ranks = lines.len() as u32;
    if ranks == 0 {
        let file = sources.first().map(|source| source.name.clone()).unwrap_or_default();
        return Err(ImportError::File { file, what: "no rank does anything".into() });
    }
    if let Some((rank, _)) = (0..).zip(lines.keys()).find(|(rank, found)| rank != *found) {
        let last = lines.keys().next_back().map_or(0, |last| u64::from(*last) + 1);
        return Err(ImportError::MissingRank { rank: u64::from(rank), ranks: last });
    }
    let grammar = Grammar::detect(lines.values().flatten().map(|line| line.words.as_slice()));
    let mut totals = Totals::default();
    let mut traces = Vec::with_capacity(lines.len());
    for (rank, lines) in lines {
        let replay = Replay::new(rank, ranks, grammar, flops_per_second);
        traces.push(replay.all(&lines, &mut totals)?);
    }
    let notes = totals.notes(grammar, flops_per_second);
    let meta = Meta { format: "SimGrid time-independent".into(), ..Meta::default() };
    Ok(Trace {
        meta,
        ranks: traces,
        communicators: vec![Communicator::world(ranks)],
        notes,
        ..Trace::default()
    })
}

/// A line with an action.
#[derive(Debug)]
struct Line<'a> {
    file: &'a str,
    number: usize,
    rank: Rank,
    /// The name and its parameters.
    words: Vec<&'a str>,
}

impl<'a> Line<'a> {
    fn new(file: &'a str, number: usize, text: &'a str) -> Result<Option<Line<'a>>, ImportError> {
        let mut words = text.split_whitespace();
        let Some(first) = words.next().filter(|first| !first.starts_with('#')) else { return Ok(None) };
        let wrong = |what: String| ImportError::Line { file: file.into(), line: number, what };
        // Older traces name processes "p0", "rank-0".
        let digits = first.trim_start_matches(|c: char| !c.is_ascii_digit());
        let rank = digits.parse().map_err(|_| wrong(format!("'{first}' is not a rank")))?;
        let words: Vec<&str> = words.collect();
        if words.is_empty() {
            return Err(wrong("an action is missing after the rank".into()));
        }
        Ok(Some(Line { file, number, rank, words }))
    }
}

/// Source, destination and tag, by which a wait identifies its request.
type Key = (i32, i32, i32);

/// The state of one rank while its actions are replayed.
struct Replay {
    rank: Rank,
    ranks: u32,
    grammar: Grammar,
    flops_per_second: f64,
    clock: Time,
    /// Bytes of an element if no datatype is given.
    unit: u64,
    requests: Requests<Key>,
    trace: RankTrace,
}

impl Replay {
    fn new(rank: Rank, ranks: u32, grammar: Grammar, flops_per_second: f64) -> Replay {
        let meant = if grammar.old { Meant::Newest } else { Meant::Oldest };
        let (requests, trace) = (Requests::new(meant), RankTrace::default());
        Replay { rank, ranks, grammar, flops_per_second, clock: Time::ZERO, unit: 1, requests, trace }
    }

    fn all(mut self, lines: &[Line<'_>], totals: &mut Totals) -> Result<RankTrace, ImportError> {
        for line in lines {
            let wrong = |what| ImportError::Line { file: line.file.into(), line: line.number, what };
            let action = Action::parse(&line.words, self.grammar, self.ranks, self.unit).map_err(wrong)?;
            let Some(action) = action else {
                let name = line.words.first().copied().unwrap_or_default();
                *totals.ignored.entry(name.to_string()).or_default() += 1;
                continue;
            };
            self.act(action, totals).map_err(wrong)?;
        }
        totals.left_open += self.requests.under_way().len() as u64;
        Ok(self.trace)
    }

    fn act(&mut self, action: Action, totals: &mut Totals) -> Result<(), String> {
        match action.what {
            ActionKind::Compute => self.clock += self.time(action.flops / self.flops_per_second)?,
            ActionKind::Sleep => self.clock += self.time(action.flops)?,
            ActionKind::Init => {
                self.unit = if action.arguments.sent > 0 { 8 } else { 1 };
                self.push(Function::Init, Arguments::default(), Details::default());
            }
            ActionKind::Message(function) => self.message(function, action.arguments),
            ActionKind::Wait(function) => self.wait(function, action.key, totals),
            ActionKind::WaitAll => self.wait_all(),
            ActionKind::Collective(function) => {
                self.push(function, action.arguments, Details::default());
                // The work of a reduction follows it, as in SimGrid's replay.
                self.clock += self.time(action.flops / self.flops_per_second)?;
            }
        }
        Ok(())
    }

    /// Seconds in whole picoseconds; every computation is rounded separately.
    fn time(&self, seconds: f64) -> Result<Time, String> {
        let picoseconds = (seconds * 1e12).round();
        if !(0.0..9e18).contains(&picoseconds) {
            return Err(format!("{seconds} s is not a valid length of a computation"));
        }
        Ok(Time(picoseconds as u64))
    }

    fn push(&mut self, function: Function, arguments: Arguments, mut details: Details) {
        let mut call = Call::new(function, self.clock, self.clock);
        arguments.fill(&mut call, &mut details);
        if !matches!(function.class(), Class::Init | Class::Finalize | Class::Wait(_) | Class::Test(_)) {
            call.comm = WORLD;
        }
        settle(&mut call, Some(&mut details), self.rank);
        push(&mut self.trace, call, details);
    }

    fn message(&mut self, function: Function, arguments: Arguments) {
        let own = self.rank as i32;
        let (peer, tag) = (arguments.peer.unwrap_or(special::NOBODY), arguments.tag.unwrap_or(0));
        let key =
            if matches!(function.class(), Class::Send(..)) { (own, peer, tag) } else { (peer, own, tag) };
        self.push(function, arguments, Details::default());
        if function.makes_request() {
            let request = self.requests.made(key);
            if let Some(call) = self.trace.calls.last_mut() {
                call.request = request;
            }
        }
    }

    /// Waits for or tests one request.
    fn wait(&mut self, function: Function, key: Option<Key>, totals: &mut Totals) {
        let found = match key {
            Some(key) => self.find(key),
            // Without parameters, a wait is for the last request.
            None => self.requests.under_way().last().map(|(key, request)| (*key, *request)),
        };
        let Some((known, request)) = found else {
            // SimGrid's replay assumes that a test has completed it.
            totals.strange += 1;
            return;
        };
        let matched = key.filter(|key| *key != known).map(|(source, _, tag)| Matched { peer: source, tag });
        let waits = function.class() == Class::Wait(HowMany::One);
        totals.tests += u64::from(!waits);
        let mut details = Details { requests: smallvec![request], found: waits, ..Details::default() };
        if waits {
            self.requests.completed(known, request);
            details.completed.push(Completed { request, matched, cancelled: false });
        }
        self.push(function, Arguments::default(), details);
    }

    /// Finds a request by its key; a receive may have asked for any source and any tag.
    fn find(&self, (source, destination, tag): Key) -> Option<(Key, RequestId)> {
        let keys = [
            (source, destination, tag),
            (special::ANY, destination, tag),
            (source, destination, special::ANY),
            (special::ANY, destination, special::ANY),
        ];
        keys.into_iter().find_map(|key| Some((key, self.requests.listed(&[key]).first().copied()??)))
    }

    fn wait_all(&mut self) {
        let open = self.requests.under_way();
        for (key, request) in &open {
            self.requests.completed(*key, *request);
        }
        let requests = open.into_iter().map(|(_, request)| request).collect();
        let details = Details { requests, found: true, ..Details::default() };
        self.push(Function::Waitall, Arguments::default(), details);
    }
}

#[derive(Debug, Default)]
struct Totals {
    ignored: HashMap<String, u64>,
    strange: u64,
    tests: u64,
    left_open: u64,
}

impl Totals {
    fn notes(&self, grammar: Grammar, flops_per_second: f64) -> Vec<String> {
        let mut notes = vec![format!(
            "the trace has no times: calls take none, computations run at {flops_per_second:e} flop/s"
        )];
        if grammar.old {
            notes.push("messages have no tags: the trace uses the grammar before SimGrid 3.20".into());
        }
        let mut say = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        say(self.strange, "waits or tests name no open request; they are ignored");
        say(self.tests, "tests: whether they succeeded is not recorded, they count as unsuccessful");
        say(self.left_open, "requests were never waited for");
        let mut ignored: Vec<String> =
            self.ignored.iter().map(|(name, count)| format!("{count} {name}")).collect();
        ignored.sort();
        if !ignored.is_empty() {
            notes.push(format!("ignored, they have no effect in a replay: {}", ignored.join(", ")));
        }
        notes
    }
}
