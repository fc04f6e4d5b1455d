//! Which runs a folder holds: a command that starts MPI again leaves several.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use straggler_trace::format::directory::EXTENSION;

/// The files with streams in a folder and in those directly in it, by folder: each is a run.
pub fn runs(folder: &Path) -> Vec<(PathBuf, Vec<PathBuf>)> {
    let mut inner: Vec<PathBuf> = entries(folder).into_iter().filter(|path| path.is_dir()).collect();
    inner.sort();
    let folders = std::iter::once(folder.to_path_buf()).chain(inner);
    let streams = |folder: PathBuf| {
        let mut files = entries(&folder);
        files.retain(|path| path.is_file() && is_stream(path));
        files.sort();
        (folder, files)
    };
    folders.map(streams).filter(|(_, files)| !files.is_empty()).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()
}

/// By its name: only what the recorder wrote is ever removed.
fn is_stream(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    name.starts_with("rank-") && path.extension().is_some_and(|ending| ending == EXTENSION)
}

/// What lies in a folder beside the run that was opened: a command that starts MPI again leaves it there.
pub fn further_runs(path: &Path) -> Vec<String> {
    let mut runs = runs(path).into_iter().map(|(folder, _)| folder);
    // Where the folder itself holds none, what was opened is one of those inside.
    if runs.next().as_deref() != Some(path) {
        return Vec::new();
    }
    let mut names: Vec<String> = runs.map(|folder| folder.display().to_string()).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names
}
