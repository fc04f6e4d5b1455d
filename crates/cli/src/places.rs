//! Checks before the work that its results can be written.

use crate::exit::{Failure, Outcome};
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
