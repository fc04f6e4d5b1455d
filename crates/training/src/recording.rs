//! Reads a job from its files in any supported format. Only this module decides what a file or folder contains.

use crate::derive::JobError;
use crate::import::{ImportError, holds_profiles, import, profiles_of};
use crate::table::{TableError, hold_operations, is_synthetic, read_tables, tables};
use crate::{Job, impossible};
use std::path::{Path, PathBuf};

/// Why files cannot be read as a job.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error("{} is a table of operations, {} is not: give files of one kind", table.display(), other.display())]
    Mixed { table: PathBuf, other: PathBuf },
    #[error("{name}: {fault}")]
    Job { name: String, fault: JobError },
}

/// Reads a job from tables, profiler files, or a folder of either.
pub fn read_job(paths: &[PathBuf]) -> Result<Job, ReadError> {
    let mut job = recorded_job(paths)?;
    // Overlaps of kernels prove nothing, because their dependencies are partly guessed.
    if job.is_table() {
        impossible::leave_out(&mut job);
    }
    Ok(job)
}

fn recorded_job(paths: &[PathBuf]) -> Result<Job, ReadError> {
    let Some(tables) = tables(paths)? else {
        one_kind(paths)?;
        return Ok(import(paths)?);
    };
    let folders: Vec<PathBuf> = paths.iter().filter(|path| path.is_dir()).cloned().collect();
    let profiles = profiles_of(&folders);
    // Next to profiler files, tables without operations, such as metrics, are ignored.
    if !profiles.is_empty() && !hold_operations(&tables) {
        return Ok(import(paths)?);
    }
    // If there are more profiler files than tables, the tables are hardly the recording.
    if let (Some(table), Some(other)) = (tables.first(), profiles.first())
        && profiles.len() > tables.len()
    {
        return Err(ReadError::Mixed { table: table.clone(), other: other.clone() });
    }
    let table = read_tables(&tables)?;
    let read: Vec<PathBuf> =
        tables.iter().filter(|path| !table.faults.is_unreadable(path)).cloned().collect();
    let name = described(&read);
    let mut job = table.job(&name).map_err(|fault| ReadError::Job { name, fault })?;
    if let Some((first, more)) = profiles.split_first() {
        let others = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        job.notes.push(format!(
            "not read: {}{others}. A folder with tables is read as tables: give only the profiler files",
            first.display()
        ));
    }
    job.synthetic = tables.iter().any(|path| is_synthetic(path));
    Ok(job)
}

/// Checks that tables and files of profilers are not given together.
fn one_kind(paths: &[PathBuf]) -> Result<(), ReadError> {
    let is_table =
        |path: &&PathBuf| matches!(tables(&[path.to_path_buf()]), Ok(Some(found)) if hold_operations(&found));
    let (of_tables, others): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(is_table);
    match (of_tables.first(), others.first()) {
        (Some(table), Some(other)) => {
            Err(ReadError::Mixed { table: table.to_path_buf(), other: other.to_path_buf() })
        }
        _ => Ok(()),
    }
}

/// Whether a path holds a job that can become a trace. Decided by content, not by name.
pub fn holds_job(path: &Path) -> bool {
    match tables(&[path.to_path_buf()]) {
        Ok(Some(tables)) => hold_operations(&tables),
        Ok(None) => holds_profiles(path),
        Err(_) => false,
    }
}

/// The names of the tables in messages.
fn described(tables: &[PathBuf]) -> String {
    match tables {
        [one] => one.display().to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.display(), rest.len()),
        [] => String::new(),
    }
}
