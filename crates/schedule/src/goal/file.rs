//! GOAL files on disk: read through a memory map, written by replacement.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap, UncheckedAdvice};

use super::error::GoalError;
use super::{Written, binary, parse_with, text_write};
use crate::Graph;
use straggler_model::Rank;
use straggler_model::replace::replace_file;

/// The formats of a GOAL file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Text,
    Binary,
}

impl Format {
    /// Guesses the format from the first bytes.
    pub fn detect(bytes: &[u8]) -> Option<Format> {
        match bytes.first_chunk::<8>().map(|first| u64::from_le_bytes(*first)) {
            Some(binary::MAGIC | binary::DESTROYED) => Some(Format::Binary),
            _ if bytes.iter().take(64).any(|byte| *byte == 0) => None,
            _ => Some(Format::Text),
        }
    }

    /// The format for a file name: `.bin` is binary, anything else text.
    pub fn for_path(path: &Path) -> Format {
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("bin") => Format::Binary,
            _ => Format::Text,
        }
    }
}

/// A schedule and the file it came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    pub graph: Graph,
    pub format: Format,
    /// The file's length in bytes.
    pub bytes: u64,
}

/// Why a GOAL file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{}: cannot be read: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Goal { path: PathBuf, source: GoalError },
}

/// Why a GOAL file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {source}", path.display())]
pub struct WriteError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Reads a schedule, text or binary.
pub fn read_path(path: impl AsRef<Path>) -> Result<Loaded, ReadError> {
    let path = path.as_ref();
    let input = Input::open(path).map_err(|source| ReadError::Io { path: path.into(), source })?;
    let bytes = input.bytes();
    let graph = parse_with(bytes, &mut |range| input.release(range));
    let graph = graph.map_err(|source| ReadError::Goal { path: path.into(), source })?;
    let format = Format::detect(bytes).unwrap_or(Format::Text);
    Ok(Loaded { graph, format, bytes: bytes.len() as u64 })
}

/// Returns the number of ranks of a binary file, or `None` for any other file.
pub fn binary_ranks(path: &Path) -> Result<Option<Rank>, ReadError> {
    with_binary(path, |_, bytes| binary::ranks(bytes))
}

/// Reads some ranks of a binary file; the others get no operations. Returns `None` for any other file.
pub fn read_ranks(path: &Path, wanted: &[Range<Rank>]) -> Result<Option<Graph>, ReadError> {
    let is_wanted = |rank| {
        let after = wanted.partition_point(|ranks| ranks.start <= rank);
        after > 0 && wanted[after - 1].contains(&rank)
    };
    with_binary(path, |input, bytes| {
        binary::parse_ranks(bytes, &is_wanted, &mut |range| input.release(range))
    })
}

fn with_binary<T>(
    path: &Path,
    read: impl FnOnce(&Input, &[u8]) -> Result<T, GoalError>,
) -> Result<Option<T>, ReadError> {
    let input = Input::open(path).map_err(|source| ReadError::Io { path: path.into(), source })?;
    let bytes = input.bytes();
    if Format::detect(bytes) != Some(Format::Binary) {
        return Ok(None);
    }
    read(&input, bytes).map(Some).map_err(|source| ReadError::Goal { path: path.into(), source })
}

/// The bytes of a file: mapped if possible, read otherwise (a pipe, an empty file).
enum Input {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Input {
    fn open(path: &Path) -> io::Result<Input> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() == 0 {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return Ok(Input::Read(bytes));
        }
        // SAFETY: the map is private, read only and dropped before this module returns. Nothing here
        // writes schedules in place: writers replace them by renaming, which leaves a mapped file
        // whole. Another program that truncates the file meanwhile ends this one by a signal, as it
        // would any reader of a map.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file)? };
        // Only a hint: reading works without it.
        let _ = map.advise(Advice::Sequential);
        Ok(Input::Mapped(map))
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Input::Mapped(map) => map,
            Input::Read(bytes) => bytes,
        }
    }

    /// Lets the kernel take back the pages of a range, so that a large file does not stay in memory
    /// along with its graph.
    fn release(&self, range: Range<usize>) {
        let Input::Mapped(map) = self else { return };
        if range.is_empty() {
            return;
        }
        // SAFETY: the map is of a file and was never written to, so that a page which is read after
        // all comes back with the same bytes. The range is inside the map: it was read from there.
        #[allow(unsafe_code)]
        let released =
            unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len()) };
        // Only a hint, as above.
        let _ = released;
    }
}

/// Writes a schedule. The file appears under its name only when it is complete; if anything fails
/// before, an existing file stays as it was.
pub fn write_path(path: impl AsRef<Path>, graph: &Graph, format: Format) -> Result<Written, WriteError> {
    let path = path.as_ref();
    let written = replace_file(path, |out| match format {
        Format::Text => text_write::write(graph, out),
        Format::Binary => binary::write(graph, out),
    });
    written.map_err(|fault| WriteError { path: path.into(), source: fault.fault })
}
