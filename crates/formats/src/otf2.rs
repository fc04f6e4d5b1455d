//! OTF2, the Open Trace Format 2 that Score-P and TAU write and Vampir and Scalasca read: archives in, archives out.
//!
//! An archive is an anchor file (`name.otf2`), a file of global definitions (`name.def`) and a folder (`name/`) with the
//! definitions and the events of every location, which is a thread of a process. A call of a trace is what lies between
//! entering and leaving a function of MPI:
//!
//! ```text
//! anchor ─► chunk sizes        ENTER MPI_Waitall
//! .def ───► Definitions          MPI_ISEND_COMPLETE 41   ─► the request of an earlier MPI_Isend
//! 7.def ──► LocalDefinitions     MPI_IRECV from 2, 42    ─► who sent, for an earlier MPI_Irecv
//! 7.evt ──► LocationCalls      LEAVE MPI_Waitall         ═► Call { Waitall, requests [0, 1] }
//! ```
//! Threads of a rank are merged, times are corrected by the measured offsets of the clocks
//! (`local.rs`) and counted in picoseconds from the earliest event. `rank.rs` and the notes of the
//! trace say what the records do not tell and what is guessed instead. The parsers take bytes; only
//! this file and `write.rs` open files.
//!
//! The facts about the format come from libotf2 (its headers, its sources, and what it writes), those about its use from
//! Score-P and TAU.

mod anchor;
mod bytes;
mod calls;
mod definitions;
mod error;
mod events;
mod ids;
mod local;
mod processes;
mod rank;
mod sites;
mod volume;
mod write;

pub use error::{Otf2Error, WriteError};
pub use write::write;

use anchor::Anchor;
use calls::LocationCalls;
use definitions::Definitions;
use local::LocalDefinitions;
use processes::{Communicators, Process};
use rank::{Building, Doubts, Habits, Ticks};
use sites::Sites;
use std::path::{Path, PathBuf};
use std::{fs, io};
use straggler_model::{Rank, Time};
use straggler_trace::{Clock, Meta, RankTrace, Trace};

/// What to take from an archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Keep the program's own regions, as marks.
    pub user_regions: bool,
    /// Leave out regions shorter than this in which nothing is recorded. If not given, those are functions that the
    /// compiler instrumented, below 10 µs.
    pub shortest_region: Option<Time>,
}

impl Default for Options {
    fn default() -> Options {
        Options { user_regions: true, shortest_region: None }
    }
}

/// Reads an archive, given its anchor file.
pub fn read(anchor: &Path) -> Result<Trace, Otf2Error> {
    read_with(anchor, Options::default())
}

/// Reads an archive, given its anchor file.
pub fn read_with(anchor: &Path, options: Options) -> Result<Trace, Otf2Error> {
    let archive = Archive::open(anchor)?;
    let wrong = |what| Otf2Error::Inconsistent { path: archive.definitions_path.clone(), what };
    let processes = processes::processes(&archive.definitions).map_err(wrong)?;
    let mut communicators = Communicators::new(&archive.definitions, &processes).map_err(wrong)?;
    let mut ranks = Vec::with_capacity(processes.len());
    for (process, rank) in processes.iter().zip(0..) {
        ranks.push(archive.threads(process, rank, options)?);
    }
    let threads = || ranks.iter().flat_map(|rank: &RankParts| &rank.threads);
    let ticks = Ticks {
        zero: threads().filter_map(|thread| thread.first).min().unwrap_or_default(),
        per_second: archive.definitions.ticks_per_second,
    };
    let habits = Habits::new(threads().flat_map(LocationCalls::all_facts));
    let mut trace = Trace { meta: archive.meta(threads()), ..Trace::default() };
    let (mut doubts, mut sites) = (Doubts::default(), Sites::default());
    for ((process, parts), rank) in processes.iter().zip(&ranks).zip(0..) {
        let mut building =
            Building::new(rank, ticks, habits, &archive.definitions, &mut communicators, &mut sites);
        building.threads(&parts.threads).map_err(wrong)?;
        doubts.add(building.doubts);
        let clock = clock(&parts.clock, ticks.per_second);
        trace.ranks.push(RankTrace { host: process.host.clone(), clock, ..building.out });
    }
    trace.communicators = communicators.all;
    trace.call_sites = sites.finish();
    trace.notes = notes(doubts, threads());
    Ok(trace)
}

/// The files that all locations need.
struct Archive {
    anchor: Anchor,
    definitions: Definitions,
    definitions_path: PathBuf,
    /// The folder with the files of the locations.
    folder: PathBuf,
}

/// The contents of one rank's files.
struct RankParts {
    threads: Vec<LocationCalls>,
    /// The definitions of the thread that represents the rank.
    clock: LocalDefinitions,
}

impl Archive {
    fn open(path: &Path) -> Result<Archive, Otf2Error> {
        let anchor = Anchor::parse(&load(path)?).map_err(|fault| fault.in_file(path))?;
        let unsupported = |what: &str, mend| {
            let what = what.to_owned();
            Err(Otf2Error::Unsupported { path: path.into(), what, mend })
        };
        if anchor.substrate != anchor::POSIX {
            let mend = "trace again with the POSIX substrate (Score-P: SCOREP_TRACING_USE_SION=false)";
            return unsupported("stores its locations in SIONlib containers", mend);
        }
        if anchor.compression != anchor::UNCOMPRESSED {
            let mend = "trace again without compression (OTF2_COMPRESSION_NONE), or copy it with libotf2";
            return unsupported("is compressed", mend);
        }
        let definitions_path = path.with_extension("def");
        let bytes = load(&definitions_path)?;
        let definitions = Definitions::parse(&bytes, anchor.definition_chunk);
        let definitions = definitions.map_err(|fault| fault.in_file(&definitions_path))?;
        Ok(Archive { anchor, definitions, definitions_path, folder: path.with_extension("") })
    }

    fn threads(&self, process: &Process, rank: Rank, options: Options) -> Result<RankParts, Otf2Error> {
        let mut parts = RankParts { threads: Vec::new(), clock: LocalDefinitions::default() };
        for (place, &location) in process.locations.iter().enumerate() {
            let local = self.local_definitions(location)?;
            let Some((path, bytes)) = self.events(location, rank)? else {
                parts.threads.push(LocationCalls::default());
                continue;
            };
            let calls =
                LocationCalls::parse(&bytes, self.anchor.event_chunk, &self.definitions, &local, options);
            parts.threads.push(calls.map_err(|fault| fault.in_file(&path))?);
            if place == 0 {
                parts.clock = local;
            }
        }
        Ok(parts)
    }

    /// Reads the local definitions. A location without a file of its own uses the global numbers and clock.
    fn local_definitions(&self, location: u64) -> Result<LocalDefinitions, Otf2Error> {
        let path = self.folder.join(format!("{location}.def"));
        match fs::read(&path) {
            Ok(bytes) => {
                let parsed = LocalDefinitions::parse(&bytes, self.anchor.definition_chunk);
                parsed.map_err(|fault| fault.in_file(&path))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(LocalDefinitions::default()),
            Err(source) => Err(Otf2Error::Io { path, source }),
        }
    }

    fn events(&self, location: u64, rank: Rank) -> Result<Option<(PathBuf, Vec<u8>)>, Otf2Error> {
        let path = self.folder.join(format!("{location}.evt"));
        match fs::read(&path) {
            Ok(bytes) => Ok(Some((path, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let events = self.definitions.locations.get(&location).map_or(0, |location| location.events);
                if events == 0 { Ok(None) } else { Err(Otf2Error::NoEvents { path, rank, location }) }
            }
            Err(source) => Err(Otf2Error::Io { path, source }),
        }
    }

    fn meta<'a>(&self, threads: impl Iterator<Item = &'a LocationCalls>) -> Meta {
        let [major, minor, _] = self.anchor.version;
        let program = threads.map(|thread| &thread.program).find(|words| !words.is_empty());
        let words: Vec<&str> =
            program.into_iter().flatten().map(|&word| self.definitions.string(word)).collect();
        let mut meta = Meta { format: format!("OTF2 {major}.{minor}"), ..Meta::default() };
        meta.program = words.join(" ");
        let ticks = self.definitions.ticks_per_second.to_string();
        let texts = [
            ("creator", &self.anchor.creator),
            ("description", &self.anchor.description),
            ("machine", &self.anchor.machine),
            ("ticks a second", &ticks),
        ];
        let texts = texts.into_iter().map(|(key, text)| (key.to_owned(), text.clone()));
        let all = texts.chain(self.anchor.properties.iter().cloned());
        meta.more.extend(all.filter(|(_, text)| !text.is_empty()));
        meta
    }
}

fn load(path: &Path) -> Result<Vec<u8>, Otf2Error> {
    fs::read(path).map_err(|source| Otf2Error::Io { path: path.into(), source })
}

/// Converts the measured offsets of a rank's clock.
fn clock(local: &LocalDefinitions, per_second: u64) -> Clock {
    let (Some(first), Some(last)) = (local.offsets.first(), local.offsets.last()) else {
        return Clock::default();
    };
    let offset_ps = i128::from(first.ticks) * 1_000_000_000_000 / i128::from(per_second.max(1));
    let passed = last.time.saturating_sub(first.time);
    let drift = -(last.ticks as f64 - first.ticks as f64) / passed.max(1) as f64;
    // A deviation of zero means that nothing was measured.
    let deviation = first.deviation.max(last.deviation);
    let error = (deviation > 0.0).then(|| Time((deviation * 1e12 / per_second.max(1) as f64) as u64));
    Clock { error, offset_ps: i64::try_from(offset_ps).unwrap_or_default(), drift_ppm: drift * 1e6 }
}

impl Doubts {
    fn add(&mut self, other: Doubts) {
        self.unknown_requests += other.unknown_requests;
        self.bare_collectives += other.bare_collectives;
        self.guessed_requests += other.guessed_requests;
        self.started += other.started;
    }
}

fn notes<'a>(doubts: Doubts, threads: impl Iterator<Item = &'a LocationCalls> + Clone) -> Vec<String> {
    let sum = |count: fn(&LocationCalls) -> u64| threads.clone().map(count).sum::<u64>();
    let all = [
        (
            sum(|thread| thread.orphans),
            "MPI records lie outside of MPI functions: they become calls without length",
        ),
        (sum(|thread| thread.open_at_end), "calls do not end within the trace: they end with its last event"),
        (sum(|thread| thread.back_in_time), "events are earlier than the previous one: they get its time"),
        (
            sum(|thread| thread.short),
            "short regions are left out: `straggler trace convert --shortest-region 0s` keeps them",
        ),
        (doubts.bare_collectives, "collectives have neither communicator nor size in the archive"),
        (
            doubts.guessed_requests,
            "requests are not in the archive: they are assumed to complete in the order of their start",
        ),
        (
            doubts.started,
            "persistent operations are shown as nonblocking ones: OTF2 does not record which were started",
        ),
        (doubts.unknown_requests, "records name a request that was never started: they are ignored"),
    ];
    let worth_telling = all.into_iter().filter(|&(count, _)| count > 0);
    worth_telling.map(|(count, text)| format!("{count} {text}")).collect()
}
