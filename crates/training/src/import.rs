//! Recordings of profilers as a [`Job`]: PyTorch's (Kineto), Chakra and PyTorch execution traces, NCCL Inspector.
//!
//! ```text
//! file of a rank ─► its format's reader ─► Recorded: operations of one rank, in its own time
//! all Recorded ─► matched collectives ─► clocks ─► steps that all ranks have ─► Job
//! ```
//! Readers know one rank each, and only their format. What ranks have to do with each other is found in
//! [`assemble`], the same way for every format.

mod assemble;
mod chakra;
mod clocks;
mod execution;
mod inspector;
mod json;
mod kineto;
mod matching;
mod recorded;
mod rows;
mod source;
mod steps;

use crate::{Job, words};
use rayon::prelude::*;
use recorded::Recorded;
use source::Format;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why files do not become a job.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{}: cannot be read: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("no file was given: name the files of a job, one per rank, or their folder")]
    NoFiles,
    #[error("{}: the folder has no file", path.display())]
    EmptyFolder { path: PathBuf },
    #[error("{}: no files, only folders: did you mean {}?", path.display(), first.display())]
    OnlyFolders { path: PathBuf, first: PathBuf },
    #[error(
        "{}: not a recording of a known format. These are read: tables of operations (Parquet, CSV); PyTorch profiler \
         (JSON), PyTorch execution trace (JSON), Chakra (protobuf) and NCCL Inspector (JSON lines), plain or compressed \
         with gzip", path.display()
    )]
    Unknown { path: PathBuf },
    #[error("{}: {what}", path.display())]
    Nothing { path: PathBuf, what: String },
    #[error(
        "{} and {} are of two jobs: {why}. Give the files of one job", first.display(), second.display()
    )]
    TwoJobs { first: PathBuf, second: PathBuf, why: String },
    #[error(
        "{} is {first_format} and {} is {second_format}: give files of one format", first.display(),
        second.display()
    )]
    Mixed { first: PathBuf, second: PathBuf, first_format: &'static str, second_format: &'static str },
    #[error("no step can be analysed: {why}")]
    NoSteps { why: String },
}

/// Reads a job from its files, one per rank, or from the folder that holds them.
///
/// # Errors
/// Files that cannot be read, that are of different jobs, or that have nothing in common.
pub fn import(paths: &[PathBuf]) -> Result<Job, ImportError> {
    let files = source::files(paths)?;
    let formats = files.par_iter().map(|path| source::format(path)).collect::<Vec<_>>();
    let Sorted { known, strange, mut unreadable } = sorted(paths, files, formats)?;
    let (files, left_out) = one_format(known)?;
    let all = files.par_iter().map(|(path, format)| read(path, *format)).collect::<Vec<_>>();
    let mut read = Vec::new();
    for recorded in all {
        match recorded {
            Ok(recorded) => read.push(recorded),
            Err(error) => unreadable.push(error),
        }
    }
    if read.is_empty() && !unreadable.is_empty() {
        return Err(unreadable.swap_remove(0));
    }
    let format = files.first().map_or(Format::Kineto, |&(_, format)| format);
    if format == Format::Inspector {
        inspector::name_ranks(&mut read);
    }
    let mut job = assemble::job(read)?;
    job.source = described(format, &files);
    job.notes.extend(unreadable.iter().map(|error| words::left_out(error)));
    if !strange.is_empty() {
        job.notes.push(format!("not read, as they are no recordings: {}", words::list(&strange)));
    }
    if left_out > 0 {
        job.notes.push(format!(
            "{left_out} PyTorch execution {} not read: the profiler's traces of the job have the same operations, \
             with times.",
            words::plural(left_out, "trace was", "traces were")
        ));
    }
    Ok(job)
}

/// Whether a file, or one of a folder, is of the PyTorch profiler: the only one that tells the operations of a table.
pub fn holds_profiles(path: &Path) -> bool {
    let is_one = |path: &PathBuf| matches!(source::format(path), Ok(Format::Kineto));
    source::files(&[path.to_path_buf()]).is_ok_and(|files| files.iter().any(is_one))
}

/// Files and what they are.
type Files = Vec<(PathBuf, Format)>;

/// Files by what they are.
#[derive(Default)]
struct Sorted {
    known: Files,
    /// Names of what a folder holds beside recordings, such as a README.
    strange: Vec<String>,
    /// Why others cannot be read.
    unreadable: Vec<ImportError>,
}

/// Looks through all files. Those that were named must be there, and be recordings; and one at least must be readable.
fn sorted(
    named: &[PathBuf],
    files: Vec<PathBuf>,
    formats: Vec<Result<Format, ImportError>>,
) -> Result<Sorted, ImportError> {
    let none_is_known = formats.iter().all(Result::is_err);
    let mut sorted = Sorted::default();
    for (path, format) in files.into_iter().zip(formats) {
        match format {
            Ok(format) => sorted.known.push((path, format)),
            Err(error) if none_is_known => return Err(error),
            Err(ImportError::Unknown { .. }) if !named.contains(&path) => {
                sorted.strange.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
            Err(ImportError::Io { source, .. }) if source.kind() != ErrorKind::NotFound => {
                sorted.unreadable.push(ImportError::Io { path, source });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(sorted)
}

fn read(path: &Path, format: Format) -> Result<Recorded, ImportError> {
    match format {
        Format::Kineto => kineto::read(path),
        Format::Chakra => chakra::read(path),
        Format::Execution => execution::read(path),
        Format::Inspector => inspector::read(path),
    }
}

/// Files with their format, which is one. Execution traces beside those of the profiler are left out, and counted.
fn one_format(files: Files) -> Result<(Files, usize), ImportError> {
    let has_kineto = files.iter().any(|&(_, format)| format == Format::Kineto);
    let all = files.len();
    let is_kept = |(_, format): &(PathBuf, Format)| !(has_kineto && *format == Format::Execution);
    let kept: Files = files.into_iter().filter(is_kept).collect();
    let Some((first, format)) = kept.first() else { return Err(ImportError::NoFiles) };
    if let Some((second, other)) = kept.iter().find(|(_, other)| other != format) {
        return Err(ImportError::Mixed {
            first: first.clone(),
            second: second.clone(),
            first_format: format.name(),
            second_format: other.name(),
        });
    }
    let left_out = all - kept.len();
    Ok((kept, left_out))
}

fn described(format: Format, files: &[(PathBuf, Format)]) -> String {
    let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    match files {
        [(path, _)] => format!("{} ({})", name(path), format.name()),
        [(path, _), rest @ ..] => {
            let others = words::plural(rest.len(), "other file", "other files");
            format!("{} and {} {others} ({})", name(path), rest.len(), format.name())
        }
        [] => String::new(),
    }
}
