//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {fault}", path.display())]
pub struct ReplaceError {
    pub path: PathBuf,
    pub fault: io::Error,
}

/// Lets `fill` write a temporary file beside `path` and renames it when that is complete. If `fill`
/// fails, nothing is left and what was there stays. A device or a pipe is written directly.
pub fn replace_file<T>(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<T>,
) -> Result<T, ReplaceError> {
    replace(path, fill).map_err(|fault| ReplaceError { path: path.into(), fault })
}

fn replace<T>(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<T>) -> io::Result<T> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut out = BufWriter::new(File::options().write(true).open(path)?);
        let value = fill(&mut out)?;
        out.flush()?;
        return Ok(value);
    }
    if path == Path::new("-") {
        return Err(io::Error::other("write to /dev/stdout, or to ./- for a file of that name"));
    }
    // A link's target is replaced, not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut file = temporary_beside(&target)?;
    let mut out = BufWriter::with_capacity(256 << 10, file.as_file_mut());
    let value = fill(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_data()?;
    file.persist(&target)?;
    Ok(value)
}

fn temporary_beside(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".straggler-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What any new file gets; the process's mask is applied to it.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
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
    fn a_missing_folder_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(replace_file(&directory.path().join("no/out"), |_| Ok(())).is_err());
    }
}
