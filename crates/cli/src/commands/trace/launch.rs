//! Prepares the recording of a command: the library, its environment, and a folder without old streams.

use crate::exit::{Failure, Outcome, unreadable};
use crate::inputs::trace::runs;
use crate::places::make_folder;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The recording library.
pub const LIBRARY: &str = "libstraggler_tracer.so";
/// Variable with the path of the library.
pub const LIBRARY_VARIABLE: &str = "STRAGGLER_TRACER";
/// Variable with the folder of the streams.
pub const FOLDER_VARIABLE: &str = "STRAGGLER_TRACE_DIR";
pub const PRELOAD_VARIABLE: &str = "LD_PRELOAD";
/// Variable that disables recording of arguments.
pub const NO_COMMAND_LINE_VARIABLE: &str = "STRAGGLER_NO_COMMAND_LINE";

/// Variable that enables recording of call sites.
pub const CALL_SITES_VARIABLE: &str = "STRAGGLER_CALL_SITES";

/// The path of the library: from the variable, else beside the program or in `../lib`.
pub fn library(named: Option<OsString>, program: &Path) -> Outcome<PathBuf> {
    if let Some(named) = named {
        let named = PathBuf::from(named);
        return named.canonicalize().map_err(|fault| {
            Failure::bad_input(format!(
                "{LIBRARY_VARIABLE}={}: {fault}; set it to the path of {LIBRARY}, or unset it",
                named.display()
            ))
        });
    }
    let beside = program.parent().unwrap_or(Path::new("."));
    let places = [beside.join(LIBRARY), beside.join("../lib").join(LIBRARY)];
    places.iter().find_map(|place| place.canonicalize().ok()).ok_or_else(|| {
        Failure::bad_input(format!(
            "the recording library {LIBRARY} is neither in {} nor in ../lib: build it with `cargo build -p \
             straggler-tracer` (with --release if this program was), or set {LIBRARY_VARIABLE} to its path",
            beside.display()
        ))
    })
}

/// The value of LD_PRELOAD: the library, then the existing entries.
pub fn preload(library: &Path, existing: Option<OsString>) -> Outcome<OsString> {
    // The loader splits its list at both characters and has no quoting.
    if library.as_os_str().as_bytes().iter().any(|byte| b": ".contains(byte)) {
        return Err(Failure::bad_input(format!(
            "{}: {PRELOAD_VARIABLE} does not accept a path with a space or a colon; copy the library \
             elsewhere and set {LIBRARY_VARIABLE} to its path",
            library.display()
        )));
    }
    let mut value = library.as_os_str().to_owned();
    if let Some(existing) = existing.filter(|existing| !existing.is_empty()) {
        value.push(OsStr::new(":"));
        value.push(existing);
    }
    Ok(value)
}

/// Creates the folder and returns its full path. Existing streams are an error, or are removed with `force`.
pub fn folder(path: &Path, force: bool) -> Outcome<PathBuf> {
    make_folder(path)?;
    let folder = path.canonicalize().map_err(|fault| unreadable(path, &fault))?;
    let old = runs(&folder);
    if !old.is_empty() && !force {
        let count: usize = old.iter().map(|(_, files)| files.len()).sum();
        return Err(Failure::bad_input(format!(
            "{}: {count} streams of an earlier run are in the folder; use another -o, or --force to remove \
             them",
            path.display()
        )));
    }
    for (place, files) in old {
        for file in files {
            std::fs::remove_file(&file)
                .map_err(|fault| Failure::bad_input(format!("cannot remove {}: {fault}", file.display())))?;
        }
        // Removes the empty folder of a run; one with other files stays.
        if place != folder {
            let _ = std::fs::remove_dir(&place);
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_comes_first_and_keeps_what_was_there() {
        let library = Path::new("/opt/lib/libstraggler_tracer.so");
        assert_eq!(preload(library, None).unwrap(), "/opt/lib/libstraggler_tracer.so");
        assert_eq!(preload(library, Some("".into())).unwrap(), "/opt/lib/libstraggler_tracer.so");
        let both = preload(library, Some("/lib/other.so".into())).unwrap();
        assert_eq!(both, "/opt/lib/libstraggler_tracer.so:/lib/other.so");
        assert!(preload(Path::new("/my programs/x.so"), None).is_err());
    }

    #[test]
    fn the_library_is_found_beside_the_program_and_in_lib() {
        let root = tempfile::tempdir().unwrap();
        let (bin, lib) = (root.path().join("bin"), root.path().join("lib"));
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(&lib).unwrap();
        let program = bin.join("straggler");
        assert!(
            library(None, &program)
                .unwrap_err()
                .error
                .to_string()
                .contains("cargo build -p straggler-tracer")
        );
        std::fs::write(lib.join(LIBRARY), "").unwrap();
        let found = library(None, &program).unwrap();
        assert_eq!(found, lib.join(LIBRARY).canonicalize().unwrap());
        std::fs::write(bin.join(LIBRARY), "").unwrap();
        assert_eq!(library(None, &program).unwrap(), bin.join(LIBRARY).canonicalize().unwrap());
        assert_eq!(library(Some(found.clone().into()), &program).unwrap(), found);
        assert!(library(Some("/no/such.so".into()), &program).is_err());
    }

    #[test]
    fn force_removes_streams_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        std::fs::create_dir_all(run.join("second")).unwrap();
        for name in ["rank-000000.trace", "notes.txt", "mine.trace", "second/rank-000000.trace"] {
            std::fs::write(run.join(name), "x").unwrap();
        }
        assert!(folder(&run, false).unwrap_err().error.to_string().contains("2 streams"));
        folder(&run, true).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()).collect();
        left.sort();
        assert_eq!(left, [run.join("mine.trace"), run.join("notes.txt")]);
    }
}
