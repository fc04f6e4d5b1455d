//! Temporary files and folders, beside what they become.
//!
//! The process that fills one holds a lock on it, which ends with the process, however that ends: one that is old and not
//! locked is a leftover. On file systems without locks nothing counts as left over.

use super::folder_of;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Names of temporary files and folders.
const PREFIX: &str = ".straggler-";
const SUFFIX: &str = ".tmp";

/// Any live temporary file is locked long before it reaches this age.
const OLD: Duration = Duration::from_secs(60);

/// The temporary files and folders of this process.
static LIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes all temporary files and folders of this process, which is about to end.
pub fn discard_all() {
    let live = live();
    for path in &*live {
        // Another thread may be adding files to a folder.
        (0..10).take_while(|_| path.exists()).for_each(|_| remove(path));
    }
    // Nothing is made or renamed from here on.
    std::mem::forget(live);
}

fn live() -> MutexGuard<'static, Vec<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a path in [`LIVE`].
#[derive(Debug)]
struct Registered(PathBuf);

impl Registered {
    /// Makes something at a path. A signal waits until the path is registered, and then removes what is there.
    fn make<T>(
        make: impl FnOnce() -> io::Result<T>,
        path: impl Fn(&T) -> &Path,
    ) -> io::Result<(T, Registered)> {
        let mut live = live();
        let made = make()?;
        let path = path(&made).to_path_buf();
        live.push(path.clone());
        Ok((made, Registered(path)))
    }

    /// Gives what is registered its final name by `rename`, unless it was discarded.
    fn rename(self, rename: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let _live = live();
        rename()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        live().retain(|path| *path != self.0);
    }
}

fn remove(path: &Path) {
    let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
    let _ = if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}

/// Removes what a killed process left in a folder, as far as possible.
fn sweep(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if is_ours && is_left_over(&entry.path()) {
            remove(&entry.path());
        }
    }
}

/// Whether it is old and locked by no process.
fn is_left_over(path: &Path) -> bool {
    // A folder cannot be opened for writing; a file is locked for writing on network file systems.
    let opened = File::options().read(true).write(!path.is_dir()).open(path);
    let Ok(file) = opened else { return false };
    let age = file.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > OLD) && file.try_lock().is_ok()
}

/// A file that has not got its final name.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    file: tempfile::NamedTempFile,
    registered: Registered,
}

impl TemporaryFile {
    /// Makes one for `target`. It has the mode of the file that it will replace, or else `mode` less the umask.
    pub fn beside(target: &Path, mode: u32) -> io::Result<TemporaryFile> {
        sweep(folder_of(target));
        // Opened here because the library's errors name the temporary file, which means nothing to users.
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(PREFIX).suffix(SUFFIX);
        let make = || {
            builder.make_in(folder_of(target), |path| {
                let mut options = File::options();
                options.read(true).write(true).create_new(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode & !others(target));
                options.open(path)
            })
        };
        let (file, registered) = Registered::make(make, |file| file.path())?;
        let file = TemporaryFile { file, registered };
        keep_mode(target, file.file(), mode)?;
        let _ = file.file().try_lock();
        Ok(file)
    }

    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Gives the file its final name when all of it is on disk.
    pub fn persist(self, target: &Path) -> io::Result<()> {
        let TemporaryFile { file, registered } = self;
        file.as_file().sync_data()?;
        registered.rename(|| {
            file.persist(target)?;
            Ok(())
        })
    }
}

#[cfg(unix)]
fn mode_of(target: &Path) -> Option<u32> {
    let about = target.metadata().ok()?;
    Some(std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777)
}

/// What a temporary file must not allow at any time: everything that the file it replaces does not.
#[cfg(unix)]
fn others(target: &Path) -> u32 {
    mode_of(target).map_or(0, |mode| !mode & 0o077)
}

/// Gives a file the mode of the one it replaces. A program or script also becomes executable for all who may read it.
#[cfg(unix)]
fn keep_mode(target: &Path, file: &File, mode: u32) -> io::Result<()> {
    let Some(kept) = mode_of(target) else { return Ok(()) };
    let executable = if mode & 0o111 == 0 { 0 } else { (kept & 0o444) >> 2 };
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(kept | executable))
}

#[cfg(not(unix))]
fn keep_mode(_: &Path, _: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// A folder that has not got its final name. Removed with all that is in it, unless it is moved into place.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: tempfile::TempDir,
    registered: Registered,
    /// Locked.
    _open: Option<File>,
}

impl TemporaryFolder {
    /// Makes one in `parent`, which must exist.
    pub fn in_folder(parent: &Path) -> io::Result<TemporaryFolder> {
        sweep(parent);
        let make = || {
            let made = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempdir_in(parent);
            // The library's error contains the temporary name.
            made.map_err(|fault| io::Error::from(fault.kind()))
        };
        let (folder, registered) = Registered::make(make, |folder| folder.path())?;
        let open = File::open(folder.path()).ok().inspect(|open| drop(open.try_lock()));
        Ok(TemporaryFolder { folder, registered, _open: open })
    }

    /// Makes one beside `target`, whose parents are made if necessary.
    pub fn beside(target: &Path) -> io::Result<TemporaryFolder> {
        let parent = folder_of(target);
        std::fs::create_dir_all(parent)?;
        TemporaryFolder::in_folder(parent)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives the folder its final name, under which there may be nothing but an empty folder.
    pub fn persist(self, target: &Path) -> io::Result<()> {
        let TemporaryFolder { folder, registered, .. } = self;
        registered.rename(|| std::fs::rename(folder.path(), target))?;
        // It was moved, so there is nothing to remove.
        let _ = folder.keep();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replace::replace_file;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_process_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let dated = |file: File, age: Duration| {
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
            file
        };
        let make = |name: &str, age| dated(File::create(folder.path().join(name)).unwrap(), age);
        let make_folder = |name: &str, age| {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("x"), "x").unwrap();
            dated(File::open(folder.path().join(name)).unwrap(), age)
        };
        make(".straggler-old.tmp", 2 * OLD);
        make(".straggler-new.tmp", Duration::ZERO);
        make("mine.tmp", 2 * OLD);
        make_folder(".straggler-folder.tmp", 2 * OLD);
        make_folder(".straggler-photos", 2 * OLD);
        let held = [make(".straggler-held.tmp", 2 * OLD), make_folder(".straggler-held too.tmp", 2 * OLD)];
        held.iter().for_each(|held| held.try_lock().unwrap());
        replace_file(&folder.path().join("a"), |out| out.write_all(b"x")).unwrap();
        let left = [
            ".straggler-held too.tmp",
            ".straggler-held.tmp",
            ".straggler-new.tmp",
            ".straggler-photos",
            "a",
        ];
        assert_eq!(names(folder.path()), [&left[..], &["mine.tmp"]].concat());
    }

    #[test]
    fn a_folder_appears_when_it_is_complete() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("new/run");
        let begin = || {
            let folder = TemporaryFolder::beside(&target).unwrap();
            std::fs::write(folder.path().join("rank-0"), "0").unwrap();
            folder
        };
        drop(begin());
        assert_eq!(names(target.parent().unwrap()), [""; 0]);
        std::fs::create_dir(&target).unwrap();
        begin().persist(&target).unwrap();
        assert_eq!(
            (names(&target), names(target.parent().unwrap())),
            (vec!["rank-0".into()], vec!["run".into()])
        );
        // What is there stays.
        assert!(begin().persist(&target).is_err());
        assert_eq!(names(target.parent().unwrap()), ["run"]);
        assert!(!live().iter().any(|path| path.starts_with(place.path())));
    }
}
