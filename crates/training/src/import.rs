//! Reads profiler recordings as a [`Job`]: PyTorch profiler (Kineto), Chakra and PyTorch execution traces, NCCL Inspector.
//!
//! ```text
//! file of a rank ─► its format's reader ─► Recorded: operations of one rank, in its own time
//! all Recorded ─► matched collectives ─► clocks ─► steps that all ranks have ─► Job
//! ```
//! A reader handles one file of one format. [`assemble`] relates the ranks to each other, in the same way for every format.

mod assemble;
mod chakra;
mod clocks;
mod execution;
mod inspector;
mod json;
mod kineto;
mod matching;
mod one_job;
mod recorded;
mod rows;
mod source;
mod steps;

use crate::files::{also_as, given_twice};
use crate::{Job, words};
use recorded::Recorded;
use source::Format;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use straggler_model::parallel;

/// Why files cannot be read as a job.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{}: cannot be read: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("no file was given: name the files of a job, one per rank, or their folder")]
    NoFiles,
    #[error("{}: the folder contains no files", path.display())]
    EmptyFolder { path: PathBuf },
    #[error("{}: contains no files, only folders: did you mean {}?", path.display(), first.display())]
    OnlyFolders { path: PathBuf, first: PathBuf },
    #[error(
        "{}: not a recording in a known format. Supported formats: tables of operations (Parquet, CSV); PyTorch profiler \
         (JSON), PyTorch execution trace (JSON), Chakra (protobuf) and NCCL Inspector (JSON lines), plain or compressed \
         with gzip", path.display()
    )]
    Unknown { path: PathBuf },
    #[error("{}: the file is empty", path.display())]
    EmptyFile { path: PathBuf },
    #[error("{}: {what}", path.display())]
    Nothing { path: PathBuf, what: String },
    #[error("{} is given twice{}: give it once", path.display(), also_as(path, other))]
    GivenTwice { path: PathBuf, other: PathBuf },
    #[error("{} is a copy of {}: give one of them", copy.display(), of.display())]
    Copied { copy: PathBuf, of: PathBuf },
    #[error(
        "{} and {} belong to different jobs: {why}. Give the files of one job", first.display(), second.display()
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
/// The files cannot be read, belong to different jobs, or have no step in common.
pub fn import(paths: &[PathBuf]) -> Result<Job, ImportError> {
    let files = source::files(paths)?;
    if let Some((path, other)) = given_twice(&files) {
        return Err(ImportError::GivenTwice { path, other });
    }
    let formats = parallel::map_list(&files, |path| source::format(path));
    let Sorted { known, strange, mut unreadable } = sorted(paths, files, formats)?;
    let (files, left_out) = one_format(known)?;
    let all = parallel::map_list(&files, |(path, format)| read(path, *format));
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
        job.notes.push(format!("skipped, not recordings: {}", words::list(&strange)));
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

/// Whether a file, or a file in a folder, was written by a profiler.
pub fn holds_profiles(path: &Path) -> bool {
    !profiles_of(&[path.to_path_buf()]).is_empty()
}

/// The profiler files among the given files and folders, in order.
pub fn profiles_of(paths: &[PathBuf]) -> Vec<PathBuf> {
    // Arbitrary bytes may look like Chakra.
    let is_one = |path: &PathBuf| match source::format(path) {
        Ok(Format::Chakra) => path.extension().is_some_and(|end| end == "et"),
        Ok(_) => true,
        Err(_) => false,
    };
    source::files(paths).map_or(Vec::new(), |files| files.into_iter().filter(is_one).collect())
}

/// Files and their formats.
type Files = Vec<(PathBuf, Format)>;

/// Files, sorted by whether they can be used.
#[derive(Default)]
struct Sorted {
    known: Files,
    /// Names of other files in a folder, such as a README.
    strange: Vec<String>,
    /// Errors of files that cannot be read.
    unreadable: Vec<ImportError>,
}

/// Detects the format of all files. Files named by the user must exist and be recordings. At least one file must be readable.
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
            Err(error @ (ImportError::Unknown { .. } | ImportError::EmptyFile { .. }))
                if !named.contains(&path) =>
            {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_empty = matches!(error, ImportError::EmptyFile { .. });
                sorted.strange.push(if is_empty { format!("{name} (empty)") } else { name.into_owned() });
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

/// Checks that all files have the same format. Execution traces next to profiler traces are left out and counted.
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
