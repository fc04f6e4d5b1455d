//! Writes traces as OTF2 archives, as libotf2 3.0 would.
//!
//! A tick is a picosecond. Every thread is a location; the first of a rank has the rank's number,
//! the others have the thread's number in the upper 32 bits, as Score-P numbers them. An existing
//! archive is replaced if straggler wrote it. An archive is never half written: everything goes into a
//! folder of its own and is then moved, the anchor last.
//!
//! Every message is recorded on both of its sides, with the bytes that were sent. What OTF2 cannot
//! express is lost: sizes that differ from rank to rank, topologies, epochs, repeated tests, what probes
//! found, return codes, the source of a cancelled receive, buffer sizes, and which prepared request
//! MPI_Start starts. Bytes of collectives are counted as Score-P counts them ([`super::volume`]).

mod definitions;
mod encoder;
mod events;
mod regions;
mod requests;
mod windows;

use super::anchor::{Anchor, MAGIC, POSIX, UNCOMPRESSED};
use super::error::WriteError;
use definitions::{LocationSummary, Names};
use encoder::{DEFINITION_CHUNK, EVENT_CHUNK, Encoder};
use events::Whole;
use requests::Forgotten;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use straggler_model::Rank;
use straggler_model::replace::TemporaryFolder;
use straggler_trace::Trace;
use straggler_trace::operations::Operations;
use straggler_trace::private;
use windows::Windows;

/// The version of libotf2 whose files these resemble.
const VERSION: [u8; 3] = [3, 0, 2];

/// Writes a trace as the archive `name` in a directory, which is created if necessary.
pub fn write(trace: &Trace, directory: &Path, name: &str) -> Result<(), WriteError> {
    if name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '\0']) {
        return Err(WriteError::Name(name.into()));
    }
    refuse_what_is_there(directory, name)?;
    let made = !directory.exists();
    let io = |source| WriteError::Io { path: directory.into(), source };
    fs::create_dir_all(directory).map_err(io)?;
    let work = TemporaryFolder::in_folder(directory).map_err(io)?;
    let written = Archive { work: work.path(), directory, name }.write(trace);
    drop(work);
    if written.is_err() && made {
        let _ = fs::remove_dir(directory);
    }
    written
}

/// An archive on its way: complete in `work`, then moved to `directory`.
struct Archive<'a> {
    work: &'a Path,
    directory: &'a Path,
    name: &'a str,
}

impl Archive<'_> {
    fn write(&self, trace: &Trace) -> Result<(), WriteError> {
        let folder = Path::new(self.name);
        let made = fs::create_dir(self.work.join(folder));
        made.map_err(|source| WriteError::Io { path: self.directory.join(folder), source })?;
        let mut names = Names::default();
        let mut locations = Vec::new();
        let references = definitions::references(trace);
        let windows = Windows::new(trace);
        let whole = Whole { trace, references: &references, windows: &windows };
        let operations = Operations::of_trace(trace);
        let lengths = requests::lengths(trace, &operations);
        for ((operations, lengths), number) in operations.iter().zip(&lengths).zip(0..) {
            let rank = events::Rank { number, operations, forgotten: Forgotten::new(operations), lengths };
            for thread in threads(operations.traced()) {
                let location = location_number(number, thread);
                let (bytes, events) = events::encode(&whole, &rank, thread, &mut names)?;
                self.put(&folder.join(format!("{location}.evt")), &bytes)?;
                let definitions = Encoder::definitions(DEFINITION_CHUNK).finish();
                self.put(&folder.join(format!("{location}.def")), &definitions)?;
                locations.push(LocationSummary { location, rank: number, thread, events });
            }
        }
        let written = definitions::encode(trace, &references, &windows, &locations, names)?;
        self.put(Path::new(&self.file("def")), &written.bytes)?;
        self.put(Path::new(&self.file("otf2")), &anchor(trace, &locations, &written))?;
        self.install()
    }

    fn file(&self, ending: &str) -> String {
        format!("{}.{ending}", self.name)
    }

    /// Writes one of its files. Errors name where it will be.
    fn put(&self, file: &Path, bytes: &[u8]) -> Result<(), WriteError> {
        private::write(&self.work.join(file), bytes)
            .map_err(|source| WriteError::Io { path: self.directory.join(file), source })
    }

    /// Moves the finished archive into place. An existing one loses its anchor first and gets the new one last.
    fn install(&self) -> Result<(), WriteError> {
        let [anchor, definitions] = ["otf2", "def"].map(|ending| self.file(ending));
        let old = self.work.join("old");
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| WriteError::Io { path, source }
        };
        fs::create_dir(&old).map_err(io(self.directory))?;
        for part in [anchor.as_str(), definitions.as_str(), self.name] {
            let there = self.directory.join(part);
            if there.exists() {
                fs::rename(&there, old.join(part)).map_err(io(&there))?;
            }
        }
        for part in [self.name, definitions.as_str(), anchor.as_str()] {
            let there = self.directory.join(part);
            fs::rename(self.work.join(part), &there).map_err(io(&there))?;
        }
        Ok(())
    }
}

/// What begins the names of the programs that archives of ours state as their creators.
const CREATOR: &str = "straggler ";

/// Refuses to replace anything but an older archive of ours: its anchor says so, and its folder holds nothing else.
fn refuse_what_is_there(directory: &Path, name: &str) -> Result<(), WriteError> {
    let [anchor, definitions] = ["otf2", "def"].map(|ending| directory.join(format!("{name}.{ending}")));
    let folder = directory.join(name);
    let is_ours = anchor.is_file()
        && fs::read(&anchor)
            .is_ok_and(|bytes| Anchor::parse(&bytes).is_ok_and(|anchor| anchor.creator.starts_with(CREATOR)));
    let is_part = |entry: fs::DirEntry| {
        let path = entry.path();
        let is_location = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok()).is_some();
        let is_ending = path.extension().is_some_and(|ending| ending == "evt" || ending == "def");
        is_ours && is_location && is_ending && path.is_file()
    };
    let replaceable = |path: &Path| match path {
        path if path == folder && path.is_dir() => {
            fs::read_dir(path).is_ok_and(|mut all| all.all(|entry| entry.is_ok_and(is_part)))
        }
        path => !path.exists() || is_ours && path.is_file() && path != folder,
    };
    match [anchor.clone(), definitions, folder.clone()].into_iter().find(|path| !replaceable(path)) {
        Some(path) => Err(WriteError::Exists(path)),
        None => Ok(()),
    }
}

/// The threads of a rank. The first is always included, since it represents the rank.
fn threads(rank: &straggler_trace::RankTrace) -> BTreeSet<u16> {
    rank.calls.iter().map(|call| call.thread).chain([0]).collect()
}

fn location_number(rank: Rank, thread: u16) -> u64 {
    u64::from(thread) << 32 | u64::from(rank)
}

fn anchor(trace: &Trace, locations: &[LocationSummary], written: &definitions::Written) -> Vec<u8> {
    let mut out = Encoder::unchunked();
    out.text(MAGIC);
    // Versions of the anchor's format and of the trace's.
    [3, 2].into_iter().chain(VERSION).for_each(|byte| out.u8(byte));
    out.full_u64(EVENT_CHUNK as u64);
    out.full_u64(written.chunk as u64);
    out.u8(POSIX);
    out.u8(UNCOMPRESSED);
    out.full_u64(locations.len() as u64);
    out.full_u64(written.records);
    out.text("");
    out.text(&format!("{CREATOR}{}", env!("CARGO_PKG_VERSION")));
    out.text(&trace.meta.program);
    out.full_u32(0);
    // A number that identifies the archive; here, a hash of its definitions.
    out.full_u64(fingerprint(&written.bytes));
    // Snapshots and thumbnails.
    out.full_u32(0);
    out.full_u32(0);
    out.finish()
}

/// FNV-1a.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
