//! A job from its files, whatever it was recorded as. Nothing else decides what a file or a folder is.

use crate::Job;
use crate::derive::JobError;
use crate::import::{ImportError, holds_profiles, import};
use crate::table::{TableError, hold_operations, is_synthetic, read_tables, tables};
use std::path::{Path, PathBuf};

/// Why files do not become a job.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error("{name}: {fault}")]
    Job { name: String, fault: JobError },
}

/// Reads a job: its tables, the files of its profilers, or the folder of either.
pub fn read_job(paths: &[PathBuf]) -> Result<Job, ReadError> {
    let Some(tables) = tables(paths)? else { return Ok(import(paths)?) };
    let table = read_tables(&tables)?;
    let read: Vec<PathBuf> =
        tables.iter().filter(|path| !table.faults.is_unreadable(path)).cloned().collect();
    let name = described(&read);
    let mut job = table.job(&name).map_err(|fault| ReadError::Job { name, fault })?;
    job.synthetic = tables.iter().any(|path| is_synthetic(path));
    Ok(job)
}

/// Whether a path holds a job that can become a trace: its content says so, whatever it is called.
pub fn holds_job(path: &Path) -> bool {
    match tables(&[path.to_path_buf()]) {
        Ok(Some(tables)) => hold_operations(&tables),
        Ok(None) => holds_profiles(path),
        Err(_) => false,
    }
}

/// Tables, for people.
fn described(tables: &[PathBuf]) -> String {
    match tables {
        [one] => one.display().to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.display(), rest.len()),
        [] => String::new(),
    }
}
