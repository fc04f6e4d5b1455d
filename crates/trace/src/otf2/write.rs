//! Writes traces as OTF2 archives, as libotf2 3.0 would.
//!
//! A tick is a picosecond. Every thread is a location; the first of a rank has the rank's number,
//! the others have the thread's number in the upper 32 bits, as Score-P numbers them. An existing
//! archive is replaced. An archive is never half written: everything goes into a folder of its own
//! and is then moved, the anchor last.
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

use super::anchor::{MAGIC, POSIX, UNCOMPRESSED};
use super::error::WriteError;
use crate::Trace;
use crate::operations::Operations;
use crate::private;
use definitions::{LocationSummary, Names};
use encoder::{DEFINITION_CHUNK, EVENT_CHUNK, Encoder};
use events::Whole;
use requests::Forgotten;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use straggler_model::Rank;

/// The version of libotf2 whose files these resemble.
const VERSION: [u8; 3] = [3, 0, 2];

/// Writes a trace as the archive `name` in a directory, which is created if necessary.
pub fn write(trace: &Trace, directory: &Path, name: &str) -> Result<(), WriteError> {
    if name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '\0']) {
        return Err(WriteError::Name(name.into()));
    }
    refuse_what_is_there(directory, name)?;
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| WriteError::Io { path, source }
    };
    fs::create_dir_all(directory).map_err(io(directory))?;
    let work = tempfile::Builder::new().prefix(".otf2-").tempdir_in(directory).map_err(io(directory))?;
    let folder = work.path().join(name);
    fs::create_dir(&folder).map_err(io(&folder))?;
    let mut names = Names::default();
    let mut locations = Vec::new();
    let references = definitions::references(trace);
    let whole = Whole { trace, references: &references };
    let operations = Operations::of_trace(trace);
    let lengths = requests::lengths(trace, &operations);
    for ((operations, lengths), number) in operations.iter().zip(&lengths).zip(0..) {
        let rank = events::Rank { number, operations, forgotten: Forgotten::of(operations), lengths };
        for thread in threads(operations.traced()) {
            let location = location_number(number, thread);
            let (bytes, events) = events::encode(&whole, &rank, thread, &mut names)?;
            put(&folder.join(format!("{location}.evt")), &bytes)?;
            put(&folder.join(format!("{location}.def")), &Encoder::definitions(DEFINITION_CHUNK).finish())?;
            locations.push(LocationSummary { location, rank: number, thread, events });
        }
    }
    let written = definitions::encode(trace, &references, &locations, names)?;
    let file = |ending: &str| work.path().join(format!("{name}.{ending}"));
    put(&file("def"), &written.bytes)?;
    put(&file("otf2"), &anchor(trace, &locations, &written))?;
    install(work.path(), directory, name)
}

/// Refuses to replace anything but an older archive: a folder of that name may be the trace itself.
fn refuse_what_is_there(directory: &Path, name: &str) -> Result<(), WriteError> {
    let folder = directory.join(name);
    let is_ours = |entry: fs::DirEntry| {
        entry.path().extension().is_some_and(|ending| ending == "evt" || ending == "def")
    };
    let replaceable = match fs::read_dir(&folder) {
        Ok(mut entries) => entries.all(|entry| entry.is_ok_and(is_ours)),
        Err(_) => !folder.exists(),
    };
    if replaceable { Ok(()) } else { Err(WriteError::Exists(folder)) }
}

/// The threads of a rank. The first is always included, since it represents the rank.
fn threads(rank: &crate::RankTrace) -> BTreeSet<u16> {
    rank.calls.iter().map(|call| call.thread).chain([0]).collect()
}

fn location_number(rank: Rank, thread: u16) -> u64 {
    u64::from(thread) << 32 | u64::from(rank)
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    private::write(path, bytes).map_err(|source| WriteError::Io { path: path.into(), source })
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
    out.text(concat!("straggler ", env!("CARGO_PKG_VERSION")));
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

/// Moves a finished archive into place. An existing one loses its anchor first and gets the new one last.
fn install(work: &Path, directory: &Path, name: &str) -> Result<(), WriteError> {
    let anchor = format!("{name}.otf2");
    let old = work.join("old");
    for (from, to) in [(directory.join(&anchor), work.join("old.otf2")), (directory.join(name), old)] {
        if from.exists() {
            rename(&from, &to)?;
        }
    }
    for part in [name.to_owned(), format!("{name}.def"), anchor] {
        rename(&work.join(&part), &directory.join(&part))?;
    }
    Ok(())
}

fn rename(from: &Path, to: &Path) -> Result<(), WriteError> {
    fs::rename(from, to).map_err(|source| WriteError::Io { path: to.into(), source })
}
