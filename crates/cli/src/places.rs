//! Places where results go: whether something can be written there is found out before the work, not after it.

use crate::exit::{Failure, Outcome};
use std::path::Path;

/// Whether the place where something is to be written exists, or can be made below a folder that does.
pub fn refuse_unwritable(path: &Path) -> Outcome<()> {
    let existing = path.ancestors().skip(1).find(|place| place.as_os_str().is_empty() || place.exists());
    match existing {
        Some(place) if !place.as_os_str().is_empty() && !place.is_dir() => Err(Failure::bad_input(format!(
            "{} cannot be written: {} is not a folder; use another -o",
            path.display(),
            place.display()
        ))),
        _ => Ok(()),
    }
}

/// Whether the folder of a file is there.
pub fn refuse_missing_folder(path: &Path) -> Outcome<()> {
    Ok(straggler_report::refuse_missing_folder(path)?)
}

/// Makes a folder for results, and those above it.
pub fn make_folder(path: &Path) -> Outcome<()> {
    std::fs::create_dir_all(path).map_err(|fault| {
        let why = if path.exists() { "it is a file".to_string() } else { fault.to_string() };
        Failure::bad_input(format!("{} cannot be created: {why}; use another folder", path.display()))
    })
}
