//! Assembles the streams of a run into one trace, on one clock and with one number for each communicator.

use super::clocks::{Conversion, align};
use super::local_comm;
use super::read::{Ending, Made, Stream};
use crate::call::{CommId, NO_COMM};
use crate::sites::{NO_SITE, SiteId, Unifier};
use crate::trace::{Communicator, Meta, Neighbors, RankTrace, Trace, WORLD};
use crate::{Class, Function};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use straggler_model::Time;

/// What is wrong with a trace, or worth knowing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Finding {
    pub rank: Option<u32>,
    /// Byte offset in the rank's stream.
    pub offset: Option<u64>,
    pub severity: Severity,
    #[serde(rename = "text")]
    pub what: String,
}

/// How much a finding takes from a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The trace does not show what was run.
    Error,
    /// Something is less exact than it could be.
    Warning,
}

/// How a stream may have ended other than by MPI_Finalize.
const ENDINGS: [&str; 3] = [
    "the process ended without MPI_Finalize",
    "the run was ended by MPI_Abort",
    "the stream is incomplete: the process was killed, is still running, or the disk was full; the last calls may be \
     missing",
];

impl Finding {
    pub fn error(rank: impl Into<Option<u32>>, what: impl Into<String>) -> Finding {
        Finding { rank: rank.into(), offset: None, severity: Severity::Error, what: what.into() }
    }

    /// Whether it reports that a process did not end properly.
    pub fn is_about_the_end(&self) -> bool {
        ENDINGS.contains(&self.what.as_str())
    }

    /// Whether it reports that a rank has no stream.
    pub fn is_about_a_missing_stream(&self) -> bool {
        self.what == NO_STREAM
    }

    pub fn warning(rank: impl Into<Option<u32>>, what: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, ..Finding::error(rank, what) }
    }
}

/// The finding for a missing rank.
const NO_STREAM: &str = "there is no stream of this rank";

/// At most this many missing ranks are named; the others are counted.
pub const MOST_MISSING: usize = 64;

/// Assembles the streams of one run. Missing ranks are left empty; problems are reported, not refused.
pub fn assemble(streams: Vec<Stream>) -> (Trace, Vec<Finding>) {
    let mut findings = problems(&streams);
    let (mut places, size) = by_rank(streams, &mut findings);
    places.resize_with(size as usize, || None);
    let conversions = align(&places);
    let unified = places.iter().flatten().find_map(|stream| stream.head.communicators.clone());
    let (communicators, numbers) = match unified {
        Some(table) => (table, Vec::new()),
        None => unify(&places, size),
    };
    let zero = earliest(&places, &conversions);
    let meta = meta(&places);
    let notes = places.iter().flatten().flat_map(|stream| stream.head.notes.iter().cloned()).collect();
    let mut unifier = Unifier::default();
    let ranks = places.into_iter().zip(conversions).enumerate().map(|(rank, (stream, conversion))| {
        let (Some(stream), Some(conversion)) = (stream, conversion) else { return RankTrace::default() };
        rank_trace(stream, &conversion, zero, numbers.get(rank), &mut unifier)
    });
    let ranks = ranks.collect();
    let trace = Trace { meta, ranks, communicators, call_sites: unifier.finish(), notes };
    (trace, findings)
}

/// The problems found while reading the streams.
fn problems(streams: &[Stream]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for stream in streams {
        let rank = if stream.head.size > 0 { Some(stream.head.rank) } else { stream.named };
        for problem in &stream.problems {
            let offset = Some(problem.offset);
            findings.push(Finding { offset, ..Finding::error(rank, problem.what.to_string()) });
        }
        let how = match stream.ending {
            Some(Ending::Finalized) => continue,
            Some(Ending::Exited) => ENDINGS[0],
            Some(Ending::Aborted) => ENDINGS[1],
            Some(Ending::Unwritable(code)) => {
                findings.push(unwritable(rank, code));
                continue;
            }
            None => ENDINGS[2],
        };
        findings.push(Finding::warning(rank, how));
    }
    findings
}

/// Reports a full disk or an exceeded limit of the user.
fn unwritable(rank: Option<u32>, code: i32) -> Finding {
    let why = std::io::Error::from_raw_os_error(code);
    let what = format!("writing the stream failed ({why}); later calls are missing");
    Finding::error(rank, what)
}

/// At most this many ranks per existing stream are accepted, since a damaged head may claim any number.
const RANKS_PER_STREAM: usize = 4096;

/// The streams in order of rank. Duplicate ranks, streams of another run and missing ranks are reported.
fn by_rank(streams: Vec<Stream>, findings: &mut Vec<Finding>) -> (Vec<Option<Stream>>, u32) {
    // The run is the one that most streams belong to.
    let mut votes: BTreeMap<(Vec<u8>, u32), usize> = BTreeMap::new();
    for stream in streams.iter().filter(|stream| stream.head.size > 0) {
        *votes.entry((stream.head.run.clone(), stream.head.size)).or_default() += 1;
    }
    let most = votes.iter().max_by_key(|&(_, &count)| count).map(|(key, _)| key.clone());
    let Some((run, size)) = most else { return (Vec::new(), 0) };
    // Problems of these have already been reported.
    let unreadable: BTreeSet<u32> = streams.iter().filter_map(|stream| stream.named).collect();
    let most = streams.len().saturating_mul(RANKS_PER_STREAM);
    let (claimed, size) = (size, size.min(u32::try_from(most).unwrap_or(u32::MAX)));
    if size < claimed {
        let what = format!(
            "the streams are of a run of {claimed} processes, but only {} are present: ranks from {size} on are \
             ignored",
            streams.len()
        );
        findings.push(Finding::error(None, what));
    }
    let mut places: Vec<Option<Stream>> = Vec::new();
    places.resize_with(size as usize, || None);
    for stream in streams.into_iter().filter(|stream| stream.head.size > 0) {
        let rank = stream.head.rank;
        if stream.head.run != run || stream.head.size != claimed {
            let what = format!(
                "belongs to another run (of {} processes, {}): keep the streams of each run in a separate folder",
                stream.head.size, stream.head.program
            );
            findings.push(Finding::error(rank, what));
            continue;
        }
        match places.get_mut(rank as usize) {
            Some(place @ None) => *place = Some(stream),
            Some(Some(_)) => findings.push(Finding::error(rank, "there are two streams of this rank")),
            None => {
                let what = match rank < claimed {
                    true => format!("is ignored: too few streams are present for ranks from {size} on"),
                    false => format!("is not a rank of a run of {claimed} processes"),
                };
                findings.push(Finding::error(rank, what));
            }
        }
    }
    let missing: Vec<u32> =
        (0..size).filter(|&rank| !matches!(places.get(rank as usize), Some(Some(_)))).collect();
    for &rank in missing.iter().filter(|rank| !unreadable.contains(rank)).take(MOST_MISSING) {
        findings.push(Finding::error(rank, NO_STREAM));
    }
    if missing.len() > MOST_MISSING {
        let more = missing.len() - MOST_MISSING;
        findings.push(Finding::error(None, format!("{more} more ranks have no stream")));
    }
    (places, size)
}

fn meta(places: &[Option<Stream>]) -> Meta {
    let Some(first) = places.iter().flatten().next() else { return Meta::default() };
    let head = &first.head;
    let mut more = BTreeMap::new();
    if head.started_ns > 0 {
        more.insert("started_ns".to_owned(), head.started_ns.to_string());
    }
    if !head.run.is_empty() {
        more.insert("run".to_owned(), head.run.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    let format =
        if head.format.is_empty() { format!("straggler {}", head.version) } else { head.format.clone() };
    Meta { format, program: head.program.clone(), library: head.library.clone(), more }
}

/// The earliest moment of all ranks, in picoseconds of the run's clock.
fn earliest(places: &[Option<Stream>], conversions: &[Option<Conversion>]) -> f64 {
    let starts = places.iter().zip(conversions).filter_map(|(stream, conversion)| {
        let call = stream.as_ref()?.calls.first()?;
        Some(conversion.as_ref()?.picoseconds(call.enter.0))
    });
    let zero = starts.fold(f64::INFINITY, f64::min);
    if zero.is_finite() { zero } else { 0.0 }
}

fn rank_trace(
    mut stream: Stream,
    conversion: &Conversion,
    zero: f64,
    numbers: Option<&HashMap<u32, CommId>>,
    unifier: &mut Unifier,
) -> RankTrace {
    let sites = unified_sites(&stream, unifier);
    let time = |ticks: Time| Time((conversion.picoseconds(ticks.0) - zero).max(0.0).round() as u64);
    let number = |local: CommId| match numbers {
        Some(numbers) => numbers.get(&local.0).copied().unwrap_or(NO_COMM),
        None => local,
    };
    for call in &mut stream.calls {
        (call.enter, call.exit) = (time(call.enter), time(call.exit));
        call.comm = number(call.comm);
    }
    for rare in stream.details.iter_mut().filter_map(|details| details.rare.get_mut()) {
        rare.new_comm = rare.new_comm.map(number).filter(|&comm| comm != NO_COMM);
        if let Some(repeated) = &mut rare.repeated {
            repeated.inside = conversion.length(repeated.inside.0);
        }
    }
    RankTrace {
        host: stream.head.host,
        cores: stream.head.cores,
        calls: stream.calls,
        sites,
        details: stream.details,
        clock: conversion.clock,
        unknown: stream.unknown,
        usage: stream.usage,
    }
}

/// Where each call was made, in the numbers of the run. A place without a description counts as unknown.
fn unified_sites(stream: &Stream, unifier: &mut Unifier) -> Vec<SiteId> {
    let mut known: HashMap<u32, SiteId> = HashMap::new();
    let mut unify = |&local: &u32| {
        *known.entry(local).or_insert_with(|| {
            stream.described.get(local).map_or(NO_SITE, |(module, offset)| unifier.site(module, offset))
        })
    };
    stream.sites.iter().map(&mut unify).collect()
}

/// Identifies a communicator: its parent, the creating call, its index among those, and its two groups.
type Identity = (CommId, &'static str, u32, Vec<u32>, Vec<u32>);

/// Gives the communicators of all ranks common numbers. Returns the communicators and, for each
/// rank, the map from its own numbers to the common ones.
fn unify(places: &[Option<Stream>], size: u32) -> (Vec<Communicator>, Vec<HashMap<u32, CommId>>) {
    let mut table = vec![Communicator::world(size)];
    let mut numbers: Vec<HashMap<u32, CommId>> = Vec::with_capacity(places.len());
    for rank in 0..places.len() as u32 {
        numbers.push([(local_comm::WORLD, WORLD), (local_comm::SELF, CommId(table.len() as u32))].into());
        table.push(Communicator { members: vec![rank], name: "self".into(), ..Communicator::default() });
    }
    let mut known: HashMap<Identity, CommId> = HashMap::new();
    // On every rank a communicator is made after its parent, so the parent already has its number.
    for (rank, stream) in places.iter().enumerate() {
        let mut together: HashMap<(CommId, Vec<u32>, Vec<u32>), u32> = HashMap::new();
        for made in stream.iter().flat_map(|stream| &stream.made) {
            let identity = identify(made, &numbers[rank], &mut together);
            let parent = numbers[rank].get(&made.parent).copied();
            let (members, remote) = (identity.3.clone(), identity.4.clone());
            let number = *known.entry(identity).or_insert_with(|| {
                let name = made.function.name().trim_start_matches("MPI_").to_owned();
                table.push(Communicator { members, remote, neighbors: Vec::new(), parent, name });
                CommId(table.len() as u32 - 1)
            });
            numbers[rank].insert(made.local, number);
            note_neighbors(&mut table[number.index()], rank as u32, made.neighbors.as_ref());
        }
    }
    (table, numbers)
}

fn identify(
    made: &Made,
    numbers: &HashMap<u32, CommId>,
    together: &mut HashMap<(CommId, Vec<u32>, Vec<u32>), u32>,
) -> Identity {
    // Both sides of an intercommunicator see the same pair of groups.
    let (mut members, mut remote) = (made.members.clone(), made.remote.clone());
    if !remote.is_empty() && remote < members {
        std::mem::swap(&mut members, &mut remote);
    }
    let by_all = matches!(made.function.class(), Class::NewComm { collective: true });
    let joins_groups = made.function == Function::Intercomm_create;
    let parent = numbers.get(&made.parent).copied().unwrap_or(NO_COMM);
    if by_all && !joins_groups {
        return (parent, made.function.name(), made.index, members, remote);
    }
    // Not all members of the parent took part, or the sides have different parents: the new members
    // count what they made together.
    let parent = if joins_groups { NO_COMM } else { parent };
    let count = together.entry((parent, members.clone(), remote.clone())).or_default();
    *count += 1;
    (parent, made.function.name(), *count, members, remote)
}

fn note_neighbors(comm: &mut Communicator, rank: u32, neighbors: Option<&Neighbors>) {
    let (Some(neighbors), Some(place)) = (neighbors, comm.rank_of(rank)) else { return };
    comm.neighbors.resize(comm.members.len(), Neighbors::default());
    comm.neighbors[place as usize] = neighbors.clone();
}
