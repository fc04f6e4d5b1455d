//! Atomic replacement of files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {fault}", path.display())]
pub struct ReplaceError {
    pub path: PathBuf,
    pub fault: io::Error,
}

/// Lets `fill` write a temporary file next to `path` and renames it when complete. If `fill` fails, the
/// temporary file is removed and an existing file stays. A device or a pipe is written directly.
pub fn replace_file<T>(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<T>,
) -> Result<T, ReplaceError> {
    replace(path, 0o666, fill).map_err(|fault| ReplaceError { path: path.into(), fault })
}

/// Like [`replace_file`], for a file that only its owner may read.
pub fn replace_private_file<T>(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<T>,
) -> Result<T, ReplaceError> {
    replace(path, 0o600, fill).map_err(|fault| ReplaceError { path: path.into(), fault })
}

/// Like [`replace_file`], for a program or script: executable for everyone who may read it.
pub fn replace_executable_file<T>(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<T>,
) -> Result<T, ReplaceError> {
    replace(path, 0o777, fill).map_err(|fault| ReplaceError { path: path.into(), fault })
}

/// Fails if the folder of a file does not exist. Called before long work, and before every write.
pub fn refuse_missing_folder(path: &Path) -> Result<(), ReplaceError> {
    there_is_a_folder(path).map_err(|fault| ReplaceError { path: path.into(), fault })
}

fn there_is_a_folder(path: &Path) -> io::Result<()> {
    let folder = folder_of(path);
    let why = match folder {
        folder if folder.is_dir() => return Ok(()),
        folder if folder.exists() => format!("{} is not a folder; give another", folder.display()),
        folder => format!("there is no folder {}; make it first", folder.display()),
    };
    Err(io::Error::new(io::ErrorKind::NotFound, why))
}

fn replace<T>(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<T>,
) -> io::Result<T> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut out = BufWriter::new(File::options().write(true).open(path)?);
        let value = fill(&mut out)?;
        out.flush()?;
        return Ok(value);
    }
    if path == Path::new("-") {
        return Err(io::Error::other("write to /dev/stdout, or to ./- for a file of that name"));
    }
    there_is_a_folder(path)?;
    // For a symbolic link, replace its target.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    sweep(folder_of(&target));
    let mut file = temporary_beside(&target, mode)?;
    // The lock goes away when the process ends, however it ends: an unlocked file is a leftover. On file
    // systems without locks nothing is swept either.
    let _ = file.as_file().try_lock();
    let mut out = BufWriter::with_capacity(256 << 10, file.as_file_mut());
    let value = fill(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_data()?;
    file.persist(&target)?;
    Ok(value)
}

/// A temporary file that several processes fill before it gets its final name.
#[derive(Debug)]
pub struct Temporary {
    file: tempfile::NamedTempFile,
    path: PathBuf,
}

impl Temporary {
    /// Creates one next to `path`, which stays unchanged. Removed unless [`Temporary::persist`] is called.
    pub fn beside(path: &Path) -> Result<Temporary, ReplaceError> {
        let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let made = there_is_a_folder(&target).and_then(|()| temporary_beside(&target, 0o666));
        let file = made.map_err(|fault| ReplaceError { path: path.into(), fault })?;
        let _ = file.as_file().try_lock();
        Ok(Temporary { file, path: target })
    }

    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// The temporary path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Gives the file its final name, with everything that was written to it.
    pub fn persist(self) -> Result<(), ReplaceError> {
        let Temporary { file, path } = self;
        let done = file.as_file().sync_data().and_then(|()| Ok(file.persist(&path)?));
        done.map(|_| ()).map_err(|fault| ReplaceError { path, fault })
    }
}

/// Names of temporary files.
const PREFIX: &str = ".straggler-";
const SUFFIX: &str = ".tmp";

/// Any live temporary file is locked long before it reaches this age.
const OLD: Duration = Duration::from_secs(60);

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Removes temporary files that a killed process left behind, as far as possible.
fn sweep(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if is_ours && is_left_over(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether the file is old and locked by no process.
fn is_left_over(path: &Path) -> bool {
    let Ok(file) = File::options().read(true).write(true).open(path) else { return false };
    let age = file.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > OLD) && file.try_lock().is_ok()
}

fn temporary_beside(target: &Path, mode: u32) -> io::Result<tempfile::NamedTempFile> {
    // Opened here because the library's errors name the temporary file, which means nothing to users.
    tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).make_in(folder_of(target), |path| {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        // The process's umask applies.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        #[cfg(not(unix))]
        let _ = mode;
        options.open(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_failure_leaves_what_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        replace_file(&path, |out| out.write_all(b"first")).unwrap();
        let failed = replace_file(&path, |out| {
            out.write_all(b"second")?;
            Err::<(), _>(io::Error::other("no more"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("out.csv: cannot be written: no more"));
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(names(directory.path()), ["out.csv"]);
    }

    #[test]
    fn what_a_killed_process_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, age: Duration| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
            file
        };
        make(".straggler-old.tmp", 2 * OLD);
        make(".straggler-new.tmp", Duration::ZERO);
        make("mine.tmp", 2 * OLD);
        let held = make(".straggler-held.tmp", 2 * OLD);
        held.try_lock().unwrap();
        replace_file(&folder.path().join("a"), |out| out.write_all(b"x")).unwrap();
        let mut names = names(folder.path());
        names.sort();
        assert_eq!(names, [".straggler-held.tmp", ".straggler-new.tmp", "a", "mine.tmp"]);
    }

    #[test]
    #[cfg(unix)]
    fn a_script_can_be_run() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job.sh");
        replace_file(&path, |out| out.write_all(b"first")).unwrap();
        replace_executable_file(&path, |out| out.write_all(b"second")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o100, 0o100);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let text = replace_file(&directory.path().join("no/out"), |_| Ok(())).unwrap_err().to_string();
        let folder = directory.path().join("no");
        assert!(text.ends_with(&format!("there is no folder {}; make it first", folder.display())), "{text}");
        std::fs::write(&folder, "").unwrap();
        let text = replace_file(&directory.path().join("no/out"), |_| Ok(())).unwrap_err().to_string();
        assert!(text.ends_with("no is not a folder; give another"), "{text}");
    }

    /// A folder in which not even root may create files.
    #[test]
    #[cfg(target_os = "linux")]
    fn temporary_names_are_not_told() {
        let text = replace_file(Path::new("/proc/out"), |_| Ok(())).unwrap_err().to_string();
        assert!(text.starts_with("/proc/out: cannot be written: ") && !text.contains("straggler-"), "{text}");
    }
}
