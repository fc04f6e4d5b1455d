//! Text traces of liballprof, the tracer of the LogGOPSim tool chain.
//!
//! One file per rank, one line per call: `MPI_Send:start:arguments…:end`, times in microseconds. The
//! tracer writes every argument in the order of the C function: numbers as they are; pointers as
//! addresses; datatypes as `id,size,extent`; communicators as `id,rank,size`; lists of counts as an
//! address and, in later versions, a field of numbers. Comments carry the host and how far the clock
//! of rank 0 was ahead, after MPI_Init and before MPI_Finalize: in microseconds, though later versions
//! label it as seconds (`liballprof/gencode.py`, `template.c` and `sync.c` of spcl/LogGOPSim).
//!
//! What this means for the reader:
//! - Requests are identified by the address of their variable (`log.rs`). What the library returned
//!   (flags, indices, statuses) is not in the trace: the sender that a wildcard matched stays
//!   unknown, and the later use of a request shows which test succeeded.
//! - The id of a communicator is a handle or an address local to the rank; ranks of one
//!   communicator are matched by its size and the order of first use (`communicators.rs`).
//! - Times are exact: the text is read as decimal and corrected in whole picoseconds (`clock.rs`).

mod clock;
mod communicators;
mod layout;
mod line;
mod log;

use super::{ImportError, Source, arguments};
use clock::Alignment;
use log::Log;
use std::collections::BTreeMap;
use straggler_model::{Rank, Time};
use straggler_trace::call::{Call, Details, NO_COMM, special};
use straggler_trace::{Class, Clock, CommId, Meta, RankTrace, Start, Trace, WORLD};

/// Whether a text begins like a file of liballprof: with its banner, or with a call.
pub fn looks_like(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next().is_some_and(|first| {
        first.starts_with("# collprof")
            || first.starts_with("# htor's PMPI Tracer")
            || first.starts_with("MPI_Init:-:")
            || first.starts_with("MPI_Init_thread:-:")
    })
}

/// Reads the files of all ranks, in order of the rank.
pub fn read(sources: &[Source]) -> Result<Trace, ImportError> {
    let layouts = layout::layouts();
    let logs: Vec<Log> =
        sources.iter().map(|source| log::read(source, &layouts)).collect::<Result<_, _>>()?;
    let mut notes = Vec::new();
    let unified = communicators::unify(&logs, &mut notes)?;
    let mpich = logs.iter().flat_map(|log| &log.communicators).any(|local| local.id == MPICH_WORLD);
    let alignments: Vec<Alignment> = logs.iter().map(Alignment::new).collect();
    let zero = earliest(&logs, &alignments);
    let mut totals = Totals::default();
    let mut ranks = Vec::with_capacity(logs.len());
    for ((log, alignment), numbers) in logs.into_iter().zip(alignments).zip(&unified.numbers) {
        totals.add(&log);
        let place = RankInRun { rank: ranks.len() as u32, numbers, zero, mpich };
        ranks.push(settled(log, &alignment, &place, &mut totals));
    }
    totals.report(&mut notes);
    let meta = Meta {
        format: "liballprof text".into(),
        library: if mpich { "MPICH or kin".into() } else { String::new() },
        ..Meta::default()
    };
    Ok(Trace { meta, ranks, communicators: unified.communicators, notes, ..Trace::default() })
}

/// MPICH's handle of the world. Its wildcards have other numbers than Open MPI's.
const MPICH_WORLD: u64 = 0x4400_0000;

fn earliest(logs: &[Log], alignments: &[Alignment]) -> i128 {
    let firsts = logs.iter().zip(alignments);
    let all = firsts.flat_map(|(log, alignment)| log.times.iter().map(|(enter, _)| alignment.apply(*enter)));
    all.min().unwrap_or(0)
}

/// The position of a rank in the run.
#[derive(Debug)]
struct RankInRun<'a> {
    rank: Rank,
    /// The numbers of its communicators.
    numbers: &'a [CommId],
    /// The earliest moment of the run.
    zero: i128,
    mpich: bool,
}

/// Converts a log to the rank's final times, communicators and peers.
fn settled(log: Log, alignment: &Alignment, place: &RankInRun<'_>, totals: &mut Totals) -> RankTrace {
    let Log { mut rank, times, communicators, .. } = log;
    for (call, (enter, exit)) in rank.calls.iter_mut().zip(times) {
        let [enter, exit] = [enter, exit].map(|moment| moment_after(alignment.apply(moment), place.zero));
        totals.backwards += u64::from(exit < enter);
        (call.enter, call.exit) = (enter, exit.max(enter));
        let own = communicators.get(call.comm.index()).map_or(0, |local| local.rank);
        call.comm = place.numbers.get(call.comm.index()).copied().unwrap_or(NO_COMM);
        let mut details = rank.details.get_mut(call.details as usize);
        peers(call, details.as_deref_mut(), place.mpich, totals);
        arguments::settle(call, details, if call.comm == WORLD { place.rank } else { own });
    }
    rank.calls.sort_by_key(|call| call.enter);
    rank.clock = Clock { error: None, offset_ps: alignment.offset_ps(), drift_ppm: alignment.drift_ppm() };
    rank
}

/// Translates the MPI library's constants among peers and tags.
fn peers(call: &mut Call, details: Option<&mut Details>, mpich: bool, totals: &mut Totals) {
    call.peer = peer(call.peer, call.function.class(), mpich);
    if call.tag < 0 && call.tag != special::NONE {
        call.tag = special::ANY;
    }
    totals.wildcards += u64::from(is_open_receive(call.function.class()) && call.peer == special::ANY);
    if let Some(half) = details.and_then(|details| details.receive.as_mut()) {
        half.peer = peer(half.peer, Class::Recv(Start::Blocking), mpich);
        half.tag = if half.tag < 0 { special::ANY } else { half.tag };
        totals.wildcards += u64::from(half.peer == special::ANY);
    }
}

fn moment_after(moment: i128, zero: i128) -> Time {
    Time(u64::try_from(moment.saturating_sub(zero)).unwrap_or(if moment < zero { 0 } else { u64::MAX }))
}

fn is_open_receive(class: Class) -> bool {
    matches!(class, Class::Recv(_) | Class::Probe { .. })
}

/// Negative numbers are constants of the MPI library: Open MPI has −1 for any source and −2 for
/// MPI_PROC_NULL, MPICH the other way round. Sends have no wildcard.
fn peer(raw: i32, class: Class, mpich: bool) -> i32 {
    let receives = is_open_receive(class);
    match raw {
        special::NONE | 0.. => raw,
        -1 if receives && !mpich => special::ANY,
        -2 if receives && mpich => special::ANY,
        _ => special::NOBODY,
    }
}

/// Counts for the notes, over all ranks.
#[derive(Debug, Default)]
struct Totals {
    wildcards: u64,
    backwards: u64,
    guesses: log::Guesses,
    unknown: BTreeMap<String, u64>,
}

impl Totals {
    fn add(&mut self, log: &Log) {
        self.guesses.add(&log.guesses);
        for (name, count) in &log.rank.unknown {
            *self.unknown.entry(name.clone()).or_default() += count;
        }
    }

    fn report(&self, notes: &mut Vec<String>) {
        let mut say = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        say(self.wildcards, "receives or probes from any source; the sender is not recorded");
        say(self.backwards, "calls end before they start; their length is set to 0");
        say(
            self.guesses.moved,
            "waits name unknown requests; they are assumed to wait for the oldest open ones",
        );
        say(
            self.guesses.any,
            "waits for any or some of their requests: which one completed is not recorded, they are taken in order",
        );
        say(
            self.guesses.tests,
            "tests: which succeeded is not recorded, it is derived from later uses of the request",
        );
        say(self.guesses.small, "lists of requests were read with 4 bytes per request instead of 8");
        say(
            self.guesses.sizes,
            "collectives without recorded counts or datatypes per rank: their bytes are zero",
        );
        say(self.guesses.made, "calls created communicators; which ones, only their first use shows");
        if !self.unknown.is_empty() {
            let list: Vec<String> =
                self.unknown.iter().map(|(name, count)| format!("{count} {name}")).collect();
            notes.push(format!("ignored, they neither communicate nor wait: {}", list.join(", ")));
        }
    }
}
