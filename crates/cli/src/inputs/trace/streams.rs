//! The runs in a folder: a command that starts MPI again leaves several.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use straggler_trace::format::directory::EXTENSION;

/// The streams in a folder and its direct subfolders. Each folder with streams is a run.
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

/// Recognises a stream by its name, so that only files of the recorder are ever removed.
fn is_stream(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    name.starts_with("rank-") && path.extension().is_some_and(|ending| ending == EXTENSION)
}

/// Folders of further runs inside the one that was opened, in order.
pub fn further_runs(path: &Path) -> Vec<String> {
    let mut runs = runs(path).into_iter().map(|(folder, _)| folder);
    // If the folder itself holds no streams, the opened run is in one of its subfolders.
    if runs.next().as_deref() != Some(path) {
        return Vec::new();
    }
    let mut names: Vec<String> = runs.map(|folder| folder.display().to_string()).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names
}
