//! Files of tracefs: where it is mounted, and a directory that is gone afterwards.

use crate::sources::SourcesError;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Prefix of our instances' names, followed by the process number.
pub const INSTANCE: &str = "straggler-";

const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Finds tracefs, mounting it if permitted.
pub fn mounted() -> Result<PathBuf, SourcesError> {
    let found = PLACES.iter().map(PathBuf::from).find(|place| place.join("trace_clock").exists());
    if let Some(place) = found {
        return Ok(place);
    }
    let place = Path::new(PLACES[0]);
    let flags = rustix::mount::MountFlags::empty();
    match rustix::mount::mount("nodev", place, "tracefs", flags, None::<&std::ffi::CStr>) {
        Ok(()) => Ok(place.into()),
        Err(error) => Err(SourcesError::NoTracefs { source: error.into() }),
    }
}

/// Removes instances of processes that have ended, as far as possible.
pub fn remove_stale(root: &Path, processes: &Path) {
    let Ok(instances) = fs::read_dir(root.join("instances")) else { return };
    for instance in instances.flatten() {
        let name = instance.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(INSTANCE)?.split('-').next());
        if process.is_some_and(|process| !processes.join(process).exists()) {
            let _ = put(&instance.path().join("tracing_on"), "0");
            let _ = put(&instance.path().join("current_tracer"), "nop");
            let _ = fs::remove_dir(instance.path());
        }
    }
}

/// Stops the tracing of this process, which must end at once. The instance is removed if nobody reads it,
/// otherwise by the next observation.
pub fn stop_own(root: &Path) {
    let Ok(instances) = fs::read_dir(root.join("instances")) else { return };
    let own = format!("{INSTANCE}{}-", std::process::id());
    for instance in instances.flatten() {
        if instance.file_name().to_str().is_some_and(|name| name.starts_with(&own)) {
            let _ = put(&instance.path().join("tracing_on"), "0");
            let _ = put(&instance.path().join("events/enable"), "0");
            let _ = put(&instance.path().join("current_tracer"), "nop");
            let _ = fs::remove_dir(instance.path());
        }
    }
}

/// A tracing instance, removed when dropped.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// The file in which the osnoise tracer's own workload was turned off, which affects all instances.
    workload_off: Option<PathBuf>,
}

impl Directory {
    pub fn create(root: &Path, name: &str) -> Result<Directory, SourcesError> {
        let path = root.join("instances").join(name);
        match fs::create_dir(&path) {
            Ok(()) => Ok(Directory { path, workload_off: None }),
            Err(source) => Err(failed("make", &path, source)),
        }
    }

    pub fn write(&self, file: &str, text: &str) -> Result<(), SourcesError> {
        let path = self.path.join(file);
        put(&path, text).map_err(|source| failed("write", &path, source))
    }

    pub fn read(&self, file: &str) -> Result<Vec<u8>, SourcesError> {
        let path = self.path.join(file);
        fs::read(&path).map_err(|source| failed("read", &path, source))
    }

    pub fn read_text(&self, file: &str) -> Result<String, SourcesError> {
        Ok(String::from_utf8_lossy(&self.read(file)?).into_owned())
    }

    pub fn has(&self, file: &str) -> bool {
        self.path.join(file).exists()
    }

    /// Names in a directory, sorted; empty if it does not exist.
    pub fn entries(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path.join(directory)) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Turns off the threads with which the osnoise tracer makes its own measurement.
    pub fn without_workload(&mut self) -> Result<(), SourcesError> {
        let root = self.path.ancestors().nth(2).unwrap_or(&self.path);
        let options = root.join("osnoise/options");
        let were = fs::read_to_string(&options).map_err(|source| failed("read", &options, source))?;
        if were.split_whitespace().any(|option| option == "OSNOISE_WORKLOAD") {
            put(&options, "NO_OSNOISE_WORKLOAD").map_err(|source| failed("write", &options, source))?;
            self.workload_off = Some(options);
        }
        Ok(())
    }
}

/// Writes an existing file. Opening truncates it, which empties a trace buffer.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(text.as_bytes())
}

fn failed(what: &'static str, path: &Path, source: io::Error) -> SourcesError {
    match source.kind() {
        ErrorKind::PermissionDenied => SourcesError::NoTracefs { source },
        _ => SourcesError::Tracefs { what, path: path.into(), source },
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Errors are ignored here; the next observation tries again.
        let _ = self.write("tracing_on", "0");
        let _ = self.write("current_tracer", "nop");
        if let Some(options) = &self.workload_off {
            let _ = put(options, "OSNOISE_WORKLOAD");
        }
        let _ = fs::remove_dir(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_of_dead_processes_go() {
        let root = tempfile::tempdir().unwrap();
        let processes = tempfile::tempdir().unwrap();
        fs::create_dir(processes.path().join("12")).unwrap();
        let instances = root.path().join("instances");
        for name in ["straggler-12-0", "straggler-13-0", "somebody", "somebody-13"] {
            fs::create_dir_all(instances.join(name)).unwrap();
        }
        remove_stale(root.path(), processes.path());
        let left = |name: &str| instances.join(name).exists();
        assert!(left("straggler-12-0") && left("somebody") && left("somebody-13"));
        assert!(!left("straggler-13-0"));
    }

    #[test]
    fn an_instance_goes_with_its_observation() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("instances")).unwrap();
        fs::create_dir_all(root.path().join("osnoise")).unwrap();
        let options = root.path().join("osnoise/options");
        fs::write(&options, "NO_DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP").unwrap();
        let mut directory = Directory::create(root.path(), "straggler-1-0").unwrap();
        directory.without_workload().unwrap();
        assert_eq!(fs::read_to_string(&options).unwrap(), "NO_OSNOISE_WORKLOAD");
        let missing = directory.write("trace_clock", "x86-tsc").unwrap_err();
        assert!(matches!(missing, SourcesError::Tracefs { what: "write", .. }), "{missing}");
        drop(directory);
        assert_eq!(fs::read_to_string(&options).unwrap(), "OSNOISE_WORKLOAD");
        assert!(!root.path().join("instances/straggler-1-0").exists());
    }
}
