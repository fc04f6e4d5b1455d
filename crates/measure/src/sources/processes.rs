//! The process of each thread: processes are what people can remove, and thread names are arbitrary.

use super::ftrace_text;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Maps thread numbers to process names. `proc` is the path of /proc. Threads that have ended are missing.
pub fn of_threads(proc: &Path) -> HashMap<i32, String> {
    let mut found = HashMap::new();
    for process in numbered(proc) {
        let directory = proc.join(process.to_string());
        let Ok(name) = fs::read_to_string(directory.join("comm")) else { continue };
        let all = threads(&directory).into_iter();
        found.extend(all.map(|thread| (thread, name.trim_end().to_string())));
    }
    found
}

/// Adds threads that had ended before /proc was read, for example those of compilers: the kernel's events
/// give their process, and the first thread of a process, which has the same number, gives its name.
pub fn add_ended<'a>(known: &mut HashMap<i32, String>, texts: impl Iterator<Item = &'a [u8]>) {
    let (mut members, mut leaders) = (HashMap::new(), HashMap::new());
    for head in texts.flat_map(ftrace_text::heads).filter(|head| !known.contains_key(&head.thread)) {
        match head.process {
            Some(process) if process == head.thread && !head.name.is_empty() => {
                leaders.insert(process, head.name);
            }
            Some(process) if process != head.thread => {
                members.insert(head.thread, process);
            }
            _ => {}
        }
    }
    for (thread, process) in members {
        let traced = || leaders.get(&process).map(|name| String::from_utf8_lossy(name).into_owned());
        if let Some(name) = known.get(&process).cloned().or_else(traced) {
            known.insert(thread, name);
        }
    }
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
        let expected = [12, 15, 16].map(|thread| (thread, "telegraf".to_string()));
        assert_eq!(of_threads(root.path()), HashMap::from(expected));
        assert!(of_threads(Path::new("/nonexistent")).is_empty());
    }

    /// A compiler's threads, recorded with the processes they belong to. One ended with its process, one belongs to a
    /// process that /proc still has, one to a process whose first thread never ran.
    #[test]
    fn threads_that_have_ended_go_by_their_process() {
        let text = b"\
# tracer: nop
      opt cgu.11-15640   (  15609) [000] d.... 39868.854081: sched_switch: prev_comm=opt cgu.11 prev_pid=15640 prev_prio=115 prev_state=R ==> next_comm=rustc next_pid=15609 next_prio=120
           rustc-15609   (  15609) [000] d.... 39868.854089: sched_switch: prev_comm=rustc prev_pid=15609 prev_prio=120 prev_state=I ==> next_comm=a next_pid=7 next_prio=115
 tokio-rt-worker-77      (     70) [001] d.... 39868.854089: local_timer_entry: vector=236
           ghost-88      (     80) [001] d.... 39868.854090: local_timer_entry: vector=236
           <...>-89      (-------) [001] d.... 39868.854091: local_timer_entry: vector=236
";
        let mut known = HashMap::from([(70, "telegraf".to_string())]);
        add_ended(&mut known, std::iter::once(&text[..]));
        let mut found: Vec<_> = known.iter().map(|(&thread, name)| (thread, name.as_str())).collect();
        found.sort_unstable();
        assert_eq!(found, [(70, "telegraf"), (77, "telegraf"), (15640, "rustc")]);
    }
}
