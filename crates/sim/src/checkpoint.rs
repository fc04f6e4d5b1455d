//! The state of a run between two windows, saved so that the run can resume after it was killed.
//!
//! Between two windows no message is in transit: all state is in blocks. A checkpoint is the number of the next
//! window and one record for the state of each block, so a run can resume with other threads, or on another cluster.
//!
//! ```text
//! all parts agree: checkpoint now ─► each writes its blocks ─► they agree on the next window ─► the first says it is whole
//! ```
//!
//! A checksum tells damage, but anyone can compute it. So a state that was read is checked before it is used: indices
//! lead somewhere, lists do not share members or run in circles, and counts are those of the operations in progress.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// State that can be saved and read back.
pub trait Saved: Serialize + DeserializeOwned + Send {}

impl<T: Serialize + DeserializeOwned + Send> Saved for T {}

/// Why no run can have a state that was read.
pub type Unsound = &'static str;

pub(crate) fn ensure(holds: bool, otherwise: Unsound) -> Result<(), Unsound> {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// Reads a list whose stated length is not trusted: `SmallVec` would make room for all of it.
pub(crate) fn short_list<'de, D, A>(deserializer: D) -> Result<SmallVec<A>, D::Error>
where
    D: serde::Deserializer<'de>,
    A: smallvec::Array<Item: Deserialize<'de>>,
{
    Vec::deserialize(deserializer).map(SmallVec::from_vec)
}

/// Storage for checkpoints.
pub trait Checkpoints: Sync {
    /// Whether a checkpoint is due. Called on the first member of a cluster.
    fn is_due(&self) -> bool;
    /// Lets `fill` write the records of some blocks, from block `first` on, as they are before `window`. Returns when
    /// they are on disk. Called by several threads at once.
    fn write(
        &self,
        window: u64,
        first: u32,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()>;
    /// Marks the checkpoint as complete, once the blocks of all members are written. Called on the first member.
    fn complete(&self, position: &Position) -> io::Result<()>;
    /// The position to resume from, if any; the same on all members.
    fn position(&self) -> Option<Position>;
    /// The record of a block at that position.
    fn read(&self, block: u32) -> io::Result<Vec<u8>>;
}

/// A point in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Position {
    /// The next window.
    pub window: u64,
    /// When that window begins, in picoseconds of simulated time.
    pub simulated_ps: u64,
    /// Number of windows that have run.
    pub windows: u64,
    /// log2 of the number of processes in a block.
    pub shift: u32,
    pub processes: u32,
}

/// The place of a block's state in a file of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    pub block: u32,
    begin: u64,
    length: u64,
    checksum: u32,
}

/// Bytes before the state of a block: the block, the length of its state, and a checksum of it.
const HEAD: u64 = 16;

/// Writes the record of a block.
pub(crate) fn write_record(out: &mut dyn Write, block: u32, state: &[u8]) -> io::Result<()> {
    out.write_all(&block.to_le_bytes())?;
    out.write_all(&(state.len() as u64).to_le_bytes())?;
    out.write_all(&crc32fast::hash(state).to_le_bytes())?;
    out.write_all(state)
}

/// The records of a file.
pub fn index(file: &mut (impl Read + Seek)) -> io::Result<Vec<Record>> {
    let end = file.seek(SeekFrom::End(0))?;
    let (mut records, mut at) = (Vec::new(), 0);
    while at < end {
        let (mut block, mut length, mut checksum) = ([0; 4], [0; 8], [0; 4]);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut block)?;
        file.read_exact(&mut length)?;
        file.read_exact(&mut checksum)?;
        let (begin, length) = (at + HEAD, u64::from_le_bytes(length));
        at = begin.checked_add(length).filter(|&next| next <= end).ok_or(io::ErrorKind::UnexpectedEof)?;
        let (block, checksum) = (u32::from_le_bytes(block), u32::from_le_bytes(checksum));
        records.push(Record { block, begin, length, checksum });
    }
    Ok(records)
}

impl Record {
    /// Reads the state of the block. Fails if it is damaged.
    pub fn read(&self, file: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
        file.seek(SeekFrom::Start(self.begin))?;
        let mut state = Vec::new();
        file.take(self.length).read_to_end(&mut state)?;
        if state.len() as u64 != self.length || crc32fast::hash(&state) != self.checksum {
            return Err(io::Error::other(format!("the record of block {} is damaged", self.block)));
        }
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn records_are_found_again() {
        let mut file = Vec::new();
        write_record(&mut file, 7, b"seven").unwrap();
        write_record(&mut file, 2, b"").unwrap();
        let records = index(&mut Cursor::new(&file)).unwrap();
        let read = |file: &[u8], record: &Record| record.read(&mut Cursor::new(file));
        assert_eq!(records.iter().map(|record| record.block).collect::<Vec<_>>(), [7, 2]);
        assert_eq!(read(&file, &records[0]).unwrap(), b"seven");
        assert_eq!(read(&file, &records[1]).unwrap(), b"");
        for length in 1..file.len() {
            assert!(length == 21 || index(&mut Cursor::new(&file[..length])).is_err(), "{length} bytes");
        }
        file[18] ^= 1;
        assert!(read(&file, &records[0]).unwrap_err().to_string().contains("block 7 is damaged"));
    }
}
