//! Which process a thread belongs to: people remove processes, and threads call themselves what they like.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Threads by number, with the name of their process; the first thread of a process bears its name already
/// and is left out. `proc` is where /proc lies. Who has ended meanwhile is not there any more.
pub fn of_threads(proc: &Path) -> HashMap<i32, String> {
    let mut found = HashMap::new();
    for process in numbered(proc) {
        let directory = proc.join(process.to_string());
        let Ok(name) = fs::read_to_string(directory.join("comm")) else { continue };
        let others = threads(&directory).into_iter().filter(|&thread| thread != process);
        found.extend(others.map(|thread| (thread, name.trim_end().to_string())));
    }
    found
}

/// The threads of the process whose directory this is.
pub fn threads(process: &Path) -> Vec<i32> {
    numbered(&process.join("task"))
}

/// The entries of a directory that are numbers.
fn numbered(directory: &Path) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_go_by_their_process() {
        let root = tempfile::tempdir().unwrap();
        for thread in ["12/task/12", "12/task/15", "12/task/16", "self/task/12", "99/task"] {
            fs::create_dir_all(root.path().join(thread)).unwrap();
        }
        fs::write(root.path().join("12/comm"), "telegraf\n").unwrap();
        let expected = [15, 16].map(|thread| (thread, "telegraf".to_string()));
        assert_eq!(of_threads(root.path()), HashMap::from(expected));
        assert!(of_threads(Path::new("/nonexistent")).is_empty());
    }
}
