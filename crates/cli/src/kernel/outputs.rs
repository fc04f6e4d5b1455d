//! Checks before the work that its results can be written, and replace only those of earlier runs.

use crate::kernel::exit::{Failure, Outcome};
use std::io::ErrorKind;
use std::path::Path;

/// Fails if the path cannot be created because one of its parents is not a folder.
pub fn refuse_unwritable(path: &Path) -> Outcome<()> {
    let existing = path.ancestors().skip(1).find(|place| place.as_os_str().is_empty() || place.exists());
    match existing {
        Some(place) if !place.as_os_str().is_empty() && !place.is_dir() => Err(Failure::bad_input(format!(
            "{} cannot be written: {} is not a folder; write to another place",
            path.display(),
            place.display()
        ))),
        _ => Ok(()),
    }
}

/// Fails if the folder of a file does not exist.
pub fn refuse_missing_folder(path: &Path) -> Outcome<()> {
    Ok(straggler_report::refuse_missing_folder(path)?)
}

/// Creates a folder for results, with its parents.
pub fn make_folder(path: &Path) -> Outcome<()> {
    std::fs::create_dir_all(path).map_err(|fault| {
        let why = if path.exists() { "it is a file".to_string() } else { fault.to_string() };
        Failure::bad_input(format!("{} cannot be created: {why}; use another folder", path.display()))
    })
}

/// Fails if a folder holds files that a command is about to replace, but not `mark`, which it would hold if the command
/// had written them.
pub fn refuse_foreign(folder: &Path, names: &[&str], mark: &str) -> Outcome<()> {
    match names.iter().find(|name| folder.join(name).exists()) {
        Some(name) if !folder.join(mark).exists() => Err(Failure::bad_input(format!(
            "{}: there is a file {name} but no {mark}, so it is not from an earlier run of this command, which would \
             replace it; use another -o",
            folder.display()
        ))),
        _ => Ok(()),
    }
}

/// Removes the results of an earlier run, in this order: until there are new ones, nobody should mistake them for those
/// of this run.
pub fn remove_outdated(folder: &Path, names: &[&str]) -> Outcome<()> {
    names.iter().map(|name| folder.join(name)).try_for_each(|path| match std::fs::remove_file(&path) {
        Err(fault) if fault.kind() != ErrorKind::NotFound => Err(Failure::bad_input(format!(
            "cannot remove {} of an earlier run: {fault}; use another -o",
            path.display()
        ))),
        _ => Ok(()),
    })
}
