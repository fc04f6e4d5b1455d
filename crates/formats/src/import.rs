//! Traces of other tools, read into [`Trace`].
//!
//! Each format has a module that parses bytes and opens no files; this one finds the files. A path
//! is a file of the trace (any rank's, or the one that names the others) or the folder it lies in.
//! Whatever a format does not record is guessed, and [`Trace::notes`] says so:
//!
//! | format | times | senders | requests | communicators |
//! |---|---|---|---|---|
//! | liballprof text ([`allprof`]) | recorded, clocks aligned | not for wildcards | by the addresses of their variables | by size and order |
//! | SimGrid time-independent ([`simgrid`]) | none: computations at a flop rate | if a wait names it | by source, destination and tag | only the world |
//! | SST DUMPI ([`dumpi`]) | recorded | recorded | recorded | replayed from their creation |
//!
//! OTF2 has a module outside this one.

pub mod allprof;
mod arguments;
pub mod dumpi;
mod requests;
pub mod simgrid;

use crate::otf2::{self, Otf2Error};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use straggler_trace::Trace;
use thiserror::Error;

/// A format of traces, as [`detect`] tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// Text of the LogGOPSim tool chain, one file per rank.
    Allprof,
    /// Time-independent traces of SimGrid's replay: one file, or an index of one file per rank.
    SimGrid,
    /// Binary files of SST's DUMPI, one per rank, beside a `.meta` file.
    Dumpi,
    /// Score-P's and TAU's archives: an anchor file `*.otf2` and its folder.
    Otf2,
}

/// Settings for what the files do not tell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Assumed speed of the computations in time-independent traces.
    pub flops_per_second: f64,
    /// For OTF2: see [`otf2::Options::shortest_region`].
    pub shortest_region: Option<straggler_model::Time>,
}

impl Default for Options {
    fn default() -> Options {
        Options { flops_per_second: 1e9, shortest_region: None }
    }
}

impl Options {
    fn otf2(&self) -> otf2::Options {
        otf2::Options { shortest_region: self.shortest_region, ..otf2::Options::default() }
    }
}

/// A file in memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Source {
    /// The name used in messages.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Why a trace could not be read.
#[derive(Debug, Error)]
pub enum ImportError {
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    #[error(
        "{}: not a trace in a known format (OTF2, liballprof text, SimGrid time-independent, SST DUMPI); give a file \
         of the trace or its folder",
        .0.display()
    )]
    Unknown(PathBuf),
    #[error(transparent)]
    Otf2(#[from] Otf2Error),
    #[error("{}: holds more than one trace ({}); give a file of one of them", path.display(), names.join(", "))]
    Several { path: PathBuf, names: Vec<String> },
    #[error("{file}, line {line}: {what}")]
    Line { file: String, line: usize, what: String },
    #[error("{file} (rank {rank}), byte {offset}: {what}")]
    Byte { file: String, rank: usize, offset: usize, what: String },
    #[error("{file}: {what}")]
    File { file: String, what: String },
    #[error("rank {rank} of {ranks} has no file: add it, the trace needs the files of all ranks")]
    MissingRank { rank: u64, ranks: u64 },
    /// An error about all files of a trace.
    #[error("{}: {error}", path.display())]
    Whole { path: PathBuf, error: Box<ImportError> },
    #[error("the flop rate is {0}; it must be a positive number of operations per second")]
    FlopRate(f64),
}

/// Detects the format of the trace at a path by how its files begin.
pub fn detect(path: &Path) -> Option<Format> {
    if !path.is_dir() {
        return detect_file(path);
    }
    let files = list(path).ok()?;
    let mut formats: Vec<Format> = files.iter().filter_map(|file| detect_file(file)).collect();
    formats.sort_unstable();
    formats.dedup();
    // A folder may hold other files beside the trace. Binary formats are recognised for certain,
    // text formats less so.
    [Format::Otf2, Format::Dumpi, Format::Allprof, Format::SimGrid]
        .into_iter()
        .find(|format| formats.contains(format))
}

/// Reads the trace at a path, whatever its format.
pub fn read(path: &Path, options: &Options) -> Result<Trace, ImportError> {
    let read = match detect(path) {
        Some(Format::Allprof) => read_allprof(path),
        Some(Format::SimGrid) => read_simgrid(path, options),
        Some(Format::Dumpi) => read_dumpi(path),
        Some(Format::Otf2) => read_otf2(path, options.otf2()),
        None => {
            fs::metadata(path).map_err(|error| ImportError::Io { path: path.into(), error })?;
            Err(ImportError::Unknown(path.into()))
        }
    };
    read.map_err(|error| match error {
        ImportError::MissingRank { .. } => ImportError::Whole { path: path.into(), error: error.into() },
        error => error,
    })
}

/// Reads an OTF2 archive: its anchor file, or the folder it lies in.
pub fn read_otf2(path: &Path, options: otf2::Options) -> Result<Trace, ImportError> {
    if !path.is_dir() {
        return Ok(otf2::read_with(path, options)?);
    }
    let mut anchors = list(path)?;
    anchors.retain(|file| file.extension().is_some_and(|extension| extension == "otf2"));
    match anchors.as_slice() {
        [anchor] => Ok(otf2::read_with(anchor, options)?),
        [] => Err(ImportError::Unknown(path.into())),
        several => {
            let names =
                several.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
            Err(ImportError::Several { path: path.into(), names: names.collect() })
        }
    }
}

/// Reads liballprof's files, given their folder or any one of them.
pub fn read_allprof(path: &Path) -> Result<Trace, ImportError> {
    allprof::read(&ranked(path, allprof::looks_like)?)
}

/// Reads the files of a DUMPI trace, given their folder, the `.meta` file or any rank's file.
pub fn read_dumpi(path: &Path) -> Result<Trace, ImportError> {
    let stem = match path.extension() {
        Some(extension) if extension == "meta" => {
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
        }
        _ => None,
    };
    let within = if stem.is_some() { path.parent().map(folder).unwrap_or_default() } else { path.into() };
    let sources = ranked_if(&within, dumpi::looks_like, |name| match &stem {
        Some(stem) => name.strip_prefix(stem.as_str()).is_some_and(|rest| rest.starts_with('-')),
        None => true,
    })?;
    let meta = meta_of(path)?;
    dumpi::read(&sources, meta.as_ref())
}

/// Reads a time-independent trace, given the file of all ranks, an index of their files, or the folder.
pub fn read_simgrid(path: &Path, options: &Options) -> Result<Trace, ImportError> {
    let mut sources = Vec::new();
    if path.is_dir() {
        for file in list(path)? {
            if simgrid::looks_like(&head(&file).unwrap_or_default()) {
                sources.push(load(&file)?);
            }
        }
    } else {
        let first = load(path)?;
        if simgrid::looks_like(&first.bytes) {
            sources.push(first);
        } else {
            for name in simgrid::index(&first)? {
                sources.push(load(&path.parent().map(folder).unwrap_or_default().join(name))?);
            }
        }
    }
    simgrid::read(&sources, options.flops_per_second)
}

fn detect_file(path: &Path) -> Option<Format> {
    let head = head(path)?;
    if path.extension().is_some_and(|extension| extension == "otf2") {
        Some(Format::Otf2)
    } else if dumpi::looks_like(&head)
        || (dumpi::is_meta(&head) && path.extension().is_some_and(|e| e == "meta"))
    {
        Some(Format::Dumpi)
    } else if allprof::looks_like(&head) {
        Some(Format::Allprof)
    } else if simgrid::looks_like(&head) || is_index(path, &head) {
        Some(Format::SimGrid)
    } else {
        None
    }
}

/// Whether a text is an index that names files of time-independent traces beside it.
fn is_index(path: &Path, head: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(head) else { return false };
    let Some(name) = text.lines().map(str::trim).find(|line| !line.is_empty()) else { return false };
    let file = path.parent().map(folder).unwrap_or_default().join(name);
    file.is_file() && simgrid::looks_like(&self::head(&file).unwrap_or_default())
}

/// The files of one trace, which are numbered by rank, in the order of the ranks.
fn ranked(path: &Path, ours: impl Fn(&[u8]) -> bool) -> Result<Vec<Source>, ImportError> {
    ranked_if(path, ours, |_| true)
}

fn ranked_if(
    path: &Path,
    ours: impl Fn(&[u8]) -> bool,
    named: impl Fn(&str) -> bool,
) -> Result<Vec<Source>, ImportError> {
    let directory =
        if path.is_dir() { path.to_path_buf() } else { path.parent().map(folder).unwrap_or_default() };
    let mut found: Vec<(Numbered, PathBuf)> = Vec::new();
    for file in list(&directory)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(numbered) = Numbered::new(&name) else { continue };
        if named(&name) && ours(&head(&file).unwrap_or_default()) {
            found.push((numbered, file));
        }
    }
    if !path.is_dir() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let wanted = Numbered::new(&name).ok_or_else(|| ImportError::Unknown(path.into()))?;
        found.retain(|(numbered, _)| numbered.around == wanted.around);
    }
    found.sort();
    in_order(path, found)
}

fn in_order(path: &Path, found: Vec<(Numbered, PathBuf)>) -> Result<Vec<Source>, ImportError> {
    let mut names: Vec<String> = found.iter().map(|(numbered, _)| numbered.around.join("N")).collect();
    names.dedup();
    if names.len() > 1 {
        return Err(ImportError::Several { path: path.into(), names });
    }
    let ranks = found.len() as u64;
    for (rank, (numbered, _)) in found.iter().enumerate() {
        if numbered.rank != rank as u64 {
            let last = found.last().map_or(ranks, |(last, _)| last.rank.saturating_add(1));
            return Err(ImportError::MissingRank { rank: rank as u64, ranks: last.max(ranks) });
        }
    }
    if found.is_empty() {
        return Err(ImportError::Unknown(path.into()));
    }
    found.iter().map(|(_, file)| load(file)).collect()
}

/// A file name that contains the number of a rank.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Numbered {
    /// The text before and after the number.
    around: [String; 2],
    rank: u64,
}

impl Numbered {
    /// Takes the last number before the extension as the rank.
    fn new(name: &str) -> Option<Numbered> {
        let dot = name.rfind('.').unwrap_or(name.len());
        let (stem, extension) = name.split_at_checked(dot)?;
        let end = stem.rfind(|c: char| c.is_ascii_digit())? + 1;
        let digits = stem.get(..end)?;
        let start = digits.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        let start = (start..=end).find(|&at| digits.is_char_boundary(at))?;
        let around = [stem.get(..start)?.to_string(), format!("{}{extension}", stem.get(end..)?)];
        Some(Numbered { around, rank: digits.get(start..)?.parse().ok()? })
    }
}

/// The description beside a DUMPI trace, if there is exactly one.
fn meta_of(path: &Path) -> Result<Option<Source>, ImportError> {
    if path.extension().is_some_and(|extension| extension == "meta") {
        return load(path).map(Some);
    }
    let directory =
        if path.is_dir() { path.to_path_buf() } else { path.parent().map(folder).unwrap_or_default() };
    let mut metas: Vec<PathBuf> = list(&directory)?;
    metas.retain(|file| file.extension().is_some_and(|extension| extension == "meta"));
    match metas.as_slice() {
        [one] => load(one).map(Some),
        _ => Ok(None),
    }
}

fn folder(parent: &Path) -> PathBuf {
    if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_path_buf() }
}

fn list(directory: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let failed = |error| ImportError::Io { path: directory.into(), error };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn load(path: &Path) -> Result<Source, ImportError> {
    let bytes = fs::read(path).map_err(|error| ImportError::Io { path: path.into(), error })?;
    Ok(Source { name: path.display().to_string(), bytes })
}

/// The first few kilobytes of a file.
fn head(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(4096).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_the_last_number_of_the_stem() {
        let rank = |name| Numbered::new(name).map(|numbered| (numbered.around.join("N"), numbered.rank));
        assert_eq!(rank("pmpi-trace-rank-12.txt"), Some(("pmpi-trace-rank-N.txt".into(), 12)));
        assert_eq!(rank("run7-0003.bin"), Some(("run7-N.bin".into(), 3)));
        assert_eq!(rank("dumpi-2013.11.22-0001.bin"), Some(("dumpi-2013.11.22-N.bin".into(), 1)));
        assert_eq!(rank("é5è.txt"), Some(("éNè.txt".into(), 5)));
        assert_eq!(rank("notes.txt"), None);
        assert_eq!(rank("99999999999999999999999.txt"), None);
    }
}
