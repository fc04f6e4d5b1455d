//! Atomic replacement of files, and folders that appear when they are complete.
//!
//! Everything is written under a temporary name first. A program that ends early calls [`discard_all`]; what a killed
//! one leaves is removed by the next that writes there.

mod temporary;

pub use temporary::{TemporaryFolder, discard_all};

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use temporary::TemporaryFile;

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
    let target = resolved(path)?;
    there_is_a_folder(&target)?;
    let file = TemporaryFile::beside(&target, mode)?;
    let mut out = BufWriter::with_capacity(256 << 10, file.file());
    let value = fill(&mut out)?;
    out.flush()?;
    drop(out);
    file.persist(&target)?;
    Ok(value)
}

/// Links that lead to links, as many as the system follows.
const MOST_LINKS: u32 = 40;

/// What a symbolic link leads to, even if it does not exist; the path itself if it is not a link.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(next) = target.read_link() else { return Ok(target) };
        target = folder_of(&target).join(next);
    }
    Err(io::Error::other("it is a symbolic link to itself; remove it"))
}

/// A temporary file that several processes fill before it gets its final name.
#[derive(Debug)]
pub struct Temporary {
    file: TemporaryFile,
    path: PathBuf,
}

impl Temporary {
    /// Creates one next to `path`, which stays unchanged. Removed unless [`Temporary::persist`] is called.
    pub fn beside(path: &Path) -> Result<Temporary, ReplaceError> {
        let named = |fault| ReplaceError { path: path.into(), fault };
        let target = resolved(path).map_err(named)?;
        let made = there_is_a_folder(&target).and_then(|()| TemporaryFile::beside(&target, 0o666));
        Ok(Temporary { file: made.map_err(named)?, path: target })
    }

    pub fn file(&self) -> &File {
        self.file.file()
    }

    /// The temporary path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Gives the file its final name, with everything that was written to it.
    pub fn persist(self) -> Result<(), ReplaceError> {
        let Temporary { file, path } = self;
        file.persist(&path).map_err(|fault| ReplaceError { path, fault })
    }
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
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
    #[cfg(unix)]
    fn a_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("private.json");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        for kept in [0o600, 0o640, 0o664] {
            std::fs::write(&path, "first").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(kept)).unwrap();
            replace_file(&path, |out| out.write_all(b"second")).unwrap();
            assert_eq!((mode(&path), std::fs::read(&path).unwrap()), (kept, b"second".to_vec()));
            replace_private_file(&path, |out| out.write_all(b"third")).unwrap();
            assert_eq!(mode(&path), kept);
            replace_executable_file(&path, |out| out.write_all(b"third")).unwrap();
            assert_eq!(mode(&path), kept | (kept & 0o444) >> 2);
        }
    }

    #[test]
    #[cfg(unix)]
    fn links_stay() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("there")).unwrap();
        // To a file that does not exist yet, by way of another link.
        symlink("there/data.csv", at("inner")).unwrap();
        symlink("inner", at("out.csv")).unwrap();
        for text in ["first", "second"] {
            replace_file(&at("out.csv"), |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(std::fs::read_to_string(at("there/data.csv")).unwrap(), text);
            assert!(at("out.csv").is_symlink() && at("inner").is_symlink());
        }
        symlink("no/data.csv", at("lost")).unwrap();
        let error = replace_file(&at("lost"), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("there is no folder"), "{error}");
        symlink("round", at("round")).unwrap();
        let error = replace_file(&at("round"), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("round: cannot be written: it is a symbolic link to itself"), "{error}");
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
