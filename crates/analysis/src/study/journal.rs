//! The results of a study so far, in a file that survives a crash.
//!
//! ```text
//! header   "straggler journal 1\n", length of the fingerprint (u32), fingerprint, CRC of all before
//! record   kind (u32), task (u32), first replica (u32), count (u32), microseconds (u64), makespans (u64 each), CRC
//! ```
//! All numbers are little endian. The file only grows, with one write per record, so if the program dies at any
//! moment, all but the last record are complete; an incomplete tail is cut off. An open journal is locked.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use straggler_model::Time;

const MAGIC: &[u8] = b"straggler journal 1\n";
const BATCH: u32 = 1;
/// A program started to work on the study.
const SESSION: u32 = 2;
/// Bytes of a record before its makespans, and of the checksum after them.
const HEAD: usize = 24;
const CHECKSUM: usize = 4;

/// The most work that a crash of the whole machine may lose.
const SYNC_EVERY: Duration = Duration::from_secs(3);

/// Some replicas of a task, and how long they took to compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub task: u32,
    pub first: u32,
    pub micros: u64,
    pub makespans: Vec<Time>,
}

/// A journal that is open for writing.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The length of all complete records.
    length: u64,
    synced: Instant,
}

/// A journal and its contents.
#[derive(Debug)]
pub struct Opened {
    pub journal: Journal,
    pub batches: Vec<Batch>,
    /// Programs that have already worked on the study.
    pub sessions: u32,
    /// Bytes of an incomplete record that were cut off.
    pub cut: u64,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{}: {fault}", path.display())]
    Io { path: PathBuf, fault: io::Error },
    #[error("{}: another process is running this study: wait for it, or give another folder with -o", path.display())]
    Locked { path: PathBuf },
    #[error(
        "{} belongs to another study: {difference}; give another folder with -o, or discard its results with --fresh",
        path.display()
    )]
    OtherStudy { path: PathBuf, difference: String },
    #[error("{} is not the journal of a study, or its start is damaged: discard it with --fresh", path.display())]
    Damaged { path: PathBuf },
}

impl Journal {
    /// Opens the journal of the study with this fingerprint, or creates one. `fresh` discards existing contents.
    pub fn open(path: &Path, fingerprint: &str, fresh: bool) -> Result<Opened, JournalError> {
        let failed = |fault| JournalError::Io { path: path.into(), fault };
        let options = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Locked { path: path.into() }),
            // A file system without locks: two concurrent runs are not detected there.
            Err(TryLockError::Error(fault)) if fault.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(fault)) => return Err(failed(fault)),
        }
        let mut bytes = Vec::new();
        if !fresh {
            file.read_to_end(&mut bytes).map_err(failed)?;
        }
        let read = read(&bytes, fingerprint).map_err(|fault| match fault {
            Fault::Damaged => JournalError::Damaged { path: path.into() },
            Fault::Other(difference) => JournalError::OtherStudy { path: path.into(), difference },
        })?;
        file.set_len(read.good as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        let mut journal =
            Journal { path: path.into(), file, length: read.good as u64, synced: Instant::now() };
        if read.good == 0 {
            journal.write(&header(fingerprint))?;
        }
        journal.write(&record(SESSION, &Batch { task: 0, first: 0, micros: 0, makespans: Vec::new() }))?;
        journal.sync()?;
        let cut = (bytes.len() - read.good) as u64;
        Ok(Opened { journal, batches: read.batches, sessions: read.sessions, cut })
    }

    /// Writes a batch. It survives if the program dies after this.
    pub fn append(&mut self, batch: &Batch) -> Result<(), JournalError> {
        self.write(&record(BATCH, batch))?;
        if self.synced.elapsed() > SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    /// Waits until everything is on the disk.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(|fault| JournalError::Io { path: self.path.clone(), fault })
    }

    /// A record that was only partly written is removed, so that nothing is ever appended after it.
    fn write(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let written = self.file.write_all(bytes);
        match &written {
            Ok(()) => self.length += bytes.len() as u64,
            Err(_) => {
                let back = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::End(0)));
                back.map_err(|fault| JournalError::Io { path: self.path.clone(), fault })?;
            }
        }
        written.map_err(|fault| JournalError::Io { path: self.path.clone(), fault })
    }
}

fn header(fingerprint: &str) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend((fingerprint.len() as u32).to_le_bytes());
    bytes.extend(fingerprint.as_bytes());
    seal(bytes)
}

fn record(kind: u32, batch: &Batch) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + 8 * batch.makespans.len() + CHECKSUM);
    for number in [kind, batch.task, batch.first, batch.makespans.len() as u32] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(batch.micros.to_le_bytes());
    batch.makespans.iter().for_each(|time| bytes.extend(time.ps().to_le_bytes()));
    seal(bytes)
}

fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// The contents of a journal.
#[derive(Debug, Default)]
struct Content {
    batches: Vec<Batch>,
    sessions: u32,
    /// Bytes up to the end of the last complete record.
    good: usize,
}

#[derive(Debug)]
enum Fault {
    Damaged,
    Other(String),
}

fn read(bytes: &[u8], fingerprint: &str) -> Result<Content, Fault> {
    let mut content = Content::default();
    let expected = header(fingerprint);
    // Empty, or an incomplete header, after which there cannot be anything.
    if bytes.len() < expected.len() && expected.starts_with(bytes) {
        return Ok(content);
    }
    let Some((found, length)) = read_header(bytes) else { return Err(Fault::Damaged) };
    if found != fingerprint {
        return Err(Fault::Other(difference(found, fingerprint)));
    }
    content.good = length;
    while let Some((kind, batch, length)) = bytes.get(content.good..).and_then(read_record) {
        match kind {
            BATCH => content.batches.push(batch),
            SESSION => content.sessions += 1,
            _ => break,
        }
        content.good += length;
    }
    Ok(content)
}

/// The fingerprint and the length of the header.
fn read_header(bytes: &[u8]) -> Option<(&str, usize)> {
    let length = number(bytes.strip_prefix(MAGIC)?, 0)? as usize;
    let end = MAGIC.len().checked_add(4)?.checked_add(length)?;
    let sealed = bytes.get(..end)?;
    if number(bytes, end)? != crc32fast::hash(sealed) {
        return None;
    }
    Some((std::str::from_utf8(sealed.get(MAGIC.len() + 4..)?).ok()?, end + CHECKSUM))
}

/// The record at the beginning of the bytes, and its length; none if it is incomplete.
fn read_record(bytes: &[u8]) -> Option<(u32, Batch, usize)> {
    let count = number(bytes, 12)? as usize;
    let end = HEAD.checked_add(count.checked_mul(8)?)?;
    let sealed = bytes.get(..end)?;
    if number(bytes, end)? != crc32fast::hash(sealed) {
        return None;
    }
    let long = |chunk: &[u8]| chunk.try_into().map(u64::from_le_bytes).unwrap_or(0);
    let micros = long(sealed.get(16..HEAD)?);
    let makespans = sealed.get(HEAD..)?.chunks_exact(8).map(|chunk| Time(long(chunk))).collect();
    let batch = Batch { task: number(bytes, 4)?, first: number(bytes, 8)?, micros, makespans };
    Some((number(bytes, 0)?, batch, end + CHECKSUM))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The first line in which two fingerprints differ.
fn difference(old: &str, new: &str) -> String {
    let (mut old, mut new) = (old.lines(), new.lines());
    loop {
        match (old.next(), new.next()) {
            (Some(old), Some(new)) if old == new => {}
            (Some(old), Some(new)) => return format!("it has `{old}` where this one has `{new}`"),
            (Some(old), None) => return format!("it also has `{old}`"),
            (None, Some(new)) => return format!("it lacks `{new}`"),
            (None, None) => return "they differ".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn batch(task: u32, first: u32, count: u64) -> Batch {
        Batch { task, first, micros: 7, makespans: (0..count).map(|value| Time(value * 1_000_003)).collect() }
    }

    fn open(path: &Path) -> Opened {
        Journal::open(path, "the study\n", false).unwrap()
    }

    #[test]
    fn what_was_kept_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let batches = [batch(3, 0, 5), batch(0, 2, 1), batch(3, 5, 0)];
        let mut opened = open(&path);
        assert_eq!((opened.batches.len(), opened.sessions, opened.cut), (0, 0, 0));
        batches.iter().for_each(|batch| opened.journal.append(batch).unwrap());
        assert!(matches!(Journal::open(&path, "the study\n", true), Err(JournalError::Locked { .. })));
        drop(opened);
        let opened = open(&path);
        assert_eq!((opened.batches.as_slice(), opened.sessions), (&batches[..], 1));
        drop(opened);
        let fault = Journal::open(&path, "the study\nand more\n", false).unwrap_err().to_string();
        assert!(fault.contains("it lacks `and more`") && fault.contains("--fresh"), "{fault}");
        let fresh = Journal::open(&path, "other\n", true).unwrap();
        assert_eq!((fresh.batches.len(), fresh.sessions), (0, 0));
        drop(fresh);
        std::fs::write(&path, "something else entirely").unwrap();
        assert!(matches!(Journal::open(&path, "other\n", false), Err(JournalError::Damaged { .. })));
    }

    #[test]
    fn a_torn_tail_is_cut_off_and_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut opened = open(&path);
        opened.journal.append(&batch(1, 0, 4)).unwrap();
        opened.journal.append(&batch(2, 0, 4)).unwrap();
        drop(opened);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let mut opened = open(&path);
        assert_eq!(opened.batches, [batch(1, 0, 4)]);
        assert!(opened.cut > 0);
        opened.journal.append(&batch(9, 0, 4)).unwrap();
        drop(opened);
        assert_eq!(open(&path).batches, [batch(1, 0, 4), batch(9, 0, 4)]);
    }

    proptest! {
        /// Cut at any byte, or with any byte changed, a journal reads as a prefix of what was written.
        #[test]
        fn never_anything_else(
            counts in prop::collection::vec(0u64..6, 0..6),
            cut in 0usize..2000,
            flip in prop::option::of((0usize..2000, 1u8..)),
        ) {
            let written: Vec<Batch> =
                counts.iter().enumerate().map(|(task, &count)| batch(task as u32, 1, count)).collect();
            let mut bytes = header("x\n");
            written.iter().for_each(|batch| bytes.extend(record(BATCH, batch)));
            if let Some((at, bits)) = flip {
                let length = bytes.len();
                bytes[at % length] ^= bits;
            } else {
                bytes.truncate(cut);
            }
            if let Ok(content) = read(&bytes, "x\n") {
                prop_assert!(written.starts_with(&content.batches));
                prop_assert!(content.good <= bytes.len());
                if flip.is_some() {
                    prop_assert!(content.batches.len() < written.len() || written.is_empty());
                }
            } else {
                prop_assert!(flip.is_some_and(|(at, _)| at % bytes.len() < header("x\n").len()));
            }
        }
    }
}
