//! What a command needs to be recorded: the library, its environment, and a folder without old streams.

use crate::commands::make_folder;
use crate::exit::{Failure, Outcome, unreadable};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use straggler_trace::format::directory::EXTENSION;

/// The recording library.
pub const LIBRARY: &str = "libstraggler_tracer.so";
/// Names it, wherever it lies.
pub const LIBRARY_VARIABLE: &str = "STRAGGLER_TRACER";
/// Tells it where streams go.
pub const FOLDER_VARIABLE: &str = "STRAGGLER_TRACE_DIR";
pub const PRELOAD_VARIABLE: &str = "LD_PRELOAD";
/// Tells it to record no arguments.
pub const NO_COMMAND_LINE_VARIABLE: &str = "STRAGGLER_NO_COMMAND_LINE";

/// Where the library is: as the variable says, else beside the program or in the `lib` folder beside its own.
pub fn library(named: Option<OsString>, program: &Path) -> Outcome<PathBuf> {
    if let Some(named) = named {
        let named = PathBuf::from(named);
        return named.canonicalize().map_err(|fault| {
            Failure::bad_input(format!(
                "{LIBRARY_VARIABLE}={}: {fault}; let it name {LIBRARY}, or unset it",
                named.display()
            ))
        });
    }
    let beside = program.parent().unwrap_or(Path::new("."));
    let places = [beside.join(LIBRARY), beside.join("../lib").join(LIBRARY)];
    places.iter().find_map(|place| place.canonicalize().ok()).ok_or_else(|| {
        Failure::bad_input(format!(
            "the recording library {LIBRARY} is neither in {} nor in ../lib: build it with `cargo build -p \
             straggler-tracer` (with --release if this program was), or let {LIBRARY_VARIABLE} name it",
            beside.display()
        ))
    })
}

/// What LD_PRELOAD must be: the library before what is there.
pub fn preload(library: &Path, existing: Option<OsString>) -> Outcome<OsString> {
    // The loader takes both for the end of a name, and knows no quotes.
    if library.as_os_str().as_bytes().iter().any(|byte| b": ".contains(byte)) {
        return Err(Failure::bad_input(format!(
            "{}: {PRELOAD_VARIABLE} takes no path with a space or a colon; copy the library elsewhere and let \
             {LIBRARY_VARIABLE} name it",
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

/// Makes the folder and gives its full path. Streams in it are refused, or removed by force.
pub fn folder(path: &Path, force: bool) -> Outcome<PathBuf> {
    make_folder(path)?;
    let folder = path.canonicalize().map_err(|fault| unreadable(path, &fault))?;
    let old = runs(&folder);
    if !old.is_empty() && !force {
        let count: usize = old.iter().map(|(_, files)| files.len()).sum();
        return Err(Failure::bad_input(format!(
            "{}: {count} streams of an earlier run are in the folder; give another -o, or --force to remove them",
            path.display()
        )));
    }
    for (place, files) in old {
        for file in files {
            std::fs::remove_file(&file).map_err(|fault| {
                Failure::bad_input(format!("{} cannot be removed: {fault}", file.display()))
            })?;
        }
        // A run's own folder is not needed any more; one with other files in it stays.
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
        let mut left: Vec<_> = entries(&run);
        left.sort();
        assert_eq!(left, [run.join("mine.trace"), run.join("notes.txt")]);
    }
}
