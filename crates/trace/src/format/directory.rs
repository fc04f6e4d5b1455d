//! Finds the streams of a run: a folder with one file per rank, or one file with all of them.

use super::assemble::{Finding, assemble};
use super::read::{Fault, Problem, Stream, read};
use crate::trace::Trace;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The extension of stream files.
pub const EXTENSION: &str = "trace";

/// The file of a rank's stream in its folder.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:06}.{EXTENSION}")
}

/// The inverse of [`file_name`].
fn rank_named(path: &Path) -> Option<u32> {
    path.file_stem()?.to_str()?.strip_prefix("rank-")?.parse().ok()
}

/// Why no trace can be opened at a path.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{path}: {source}", path = path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{path}: no trace streams here (files named {example}); record a trace with `straggler trace record -o DIR -- mpirun …`",
        path = path.display(), example = file_name(0)
    )]
    Empty { path: PathBuf },
    #[error(
        "{path} holds {count} runs; name one of them, for example {first}",
        path = path.display(), count = runs.len(), first = runs.first().map_or_else(String::new, |run| run.display().to_string())
    )]
    SeveralRuns { path: PathBuf, runs: Vec<PathBuf> },
    #[error("{path}: {what}", path = path.display())]
    Nothing { path: PathBuf, what: String },
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path = path.to_owned();
    move |source| OpenError::Io { path, source }
}

/// Whether a path is a trace in this format: a stream, or a folder with streams.
pub fn is_trace(path: &Path) -> bool {
    if path.is_dir() { files(path).is_ok() } else { begins_like_a_stream(path) }
}

fn begins_like_a_stream(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; 4];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == super::block::MAGIC
}

/// The files with the streams of a run.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, OpenError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(io_error(path))? {
        entries.push(entry.map_err(io_error(path))?.path());
    }
    entries.sort();
    let streams: Vec<PathBuf> =
        entries.iter().filter(|path| path.extension().is_some_and(|end| end == EXTENSION)).cloned().collect();
    if !streams.is_empty() {
        return Ok(streams);
    }
    // A command that started MPI more than once leaves one folder per run.
    let runs: Vec<PathBuf> = entries.into_iter().filter(|path| path.join(file_name(0)).is_file()).collect();
    match runs.as_slice() {
        [] => Err(OpenError::Empty { path: path.to_owned() }),
        [run] => files(run),
        _ => Err(OpenError::SeveralRuns { path: path.to_owned(), runs }),
    }
}

type FileStreams = Result<Vec<Stream>, OpenError>;

/// Reads the streams of a file, one or several in a row.
pub fn read_file(path: &Path) -> Result<Vec<Stream>, OpenError> {
    let bytes = fs::read(path).map_err(io_error(path))?;
    let mut streams = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (mut stream, length) = read(&bytes[at..], at as u64);
        stream.named = rank_named(path).filter(|_| stream.head.size == 0);
        streams.push(stream);
        at += length.max(1);
    }
    if streams.is_empty() {
        let empty = Problem { offset: 0, what: Fault::Empty };
        streams.push(Stream { named: rank_named(path), problems: vec![empty], ..Stream::default() });
    }
    Ok(streams)
}

/// Reads all streams of a run, in parallel.
pub fn read_streams(path: &Path) -> Result<Vec<Stream>, OpenError> {
    let files = files(path)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, FileStreams)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(index) else { break };
                    let streams = read_file(file);
                    if let Ok(mut found) = found.lock() {
                        found.push((index, streams));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    found.sort_by_key(|&(index, _)| index);
    let mut streams = Vec::new();
    for (_, of_file) in found {
        streams.extend(of_file?);
    }
    Ok(streams)
}

/// Reads a whole trace. Returns it with everything that is wrong with it.
pub fn open(path: &Path) -> Result<(Trace, Vec<Finding>), OpenError> {
    let streams = read_streams(path)?;
    if streams.iter().all(|stream| stream.head.size == 0) {
        let why = streams.iter().flat_map(|stream| &stream.problems).next();
        let what = why
            .map_or("nothing to read".into(), |problem| format!("byte {}: {}", problem.offset, problem.what));
        return Err(OpenError::Nothing { path: path.to_owned(), what });
    }
    Ok(assemble(streams))
}
