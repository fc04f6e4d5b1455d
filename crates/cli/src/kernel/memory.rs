//! The memory that the process uses, the memory and disk space that is available, and what happens if there is none.

use crate::kernel::prelude::*;
use indicatif::HumanDuration;
use std::alloc::{GlobalAlloc, Layout, System};
use std::time::Duration;
use straggler_sim::cluster::Cluster;

/// Memory of a job on a cluster, without the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Memory divided over the ranks.
    pub spread_bytes: u64,
    /// Memory of every single rank.
    pub each_bytes: u64,
}

/// Rejects a run that needs more memory than is available.
pub fn refuse_too_much(processes: u64, needed: u64, available: Option<u64>) -> Outcome<()> {
    match available {
        Some(available) if needed > available => Err(Failure::usage(format!(
            "{} take about {} of memory, but only {} are available: simulate fewer processes",
            counted(processes, "process", "processes"),
            memory(needed),
            memory(available)
        ))),
        _ => Ok(()),
    }
}

/// The same for a run whose processes are divided over the members of a cluster, if there is one.
pub fn refuse_too_much_of_share(processes: u64, needed: u64, cluster: Option<&dyn Cluster>) -> Outcome<()> {
    let (members, on_node) = cluster.map_or((1, 1), |cluster| (cluster.size(), cluster.on_node()));
    let available = available_bytes().map(|bytes| bytes / u64::from(on_node));
    refuse_too_much(processes / u64::from(members), needed / u64::from(members), available)
}

/// The peak resident set in bytes, if the system reports it.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    parse_kibibytes(&status, "VmHWM:")
}

/// The available memory in bytes, if the system reports it.
pub fn available_bytes() -> Option<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let of_machine = parse_kibibytes(&memory, "MemAvailable:");
    of_machine.into_iter().chain(left_in_control_group()).chain(left_in_address_space()).min()
}

/// The address space that is left, if it is limited, as by `ulimit -v`.
fn left_in_address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    Some(limit.saturating_sub(parse_kibibytes(&status, "VmSize:")?))
}

/// The resident memory of this process, if the system reports it.
pub fn resident_bytes() -> Option<u64> {
    parse_kibibytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// The memory left in the control group of this process, if it has a limit, as under Slurm or in a container.
fn left_in_control_group() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let folder = std::path::Path::new("/sys/fs/cgroup").join(path.trim_start_matches('/'));
    let number = |folder: &std::path::Path, name: &str| -> Option<u64> {
        std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
    };
    // Every parent group may have its own limit.
    let left = |folder: &std::path::Path| {
        Some(number(folder, "memory.max")?.saturating_sub(number(folder, "memory.current")?))
    };
    folder.ancestors().take_while(|folder| folder.starts_with("/sys/fs/cgroup")).filter_map(left).min()
}

/// The free disk space of an existing folder in bytes, if the system reports it.
pub fn free_disk_bytes(folder: &std::path::Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn parse_kibibytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Messages that a core delivers per second, roughly; `straggler tools bench` measures it.
const MESSAGES_A_SECOND: f64 = 1e7;

/// Rough time that this many messages take.
pub fn seconds_for(messages: f64, threads: usize) -> f64 {
    messages / MESSAGES_A_SECOND / threads.max(1) as f64
}

/// "90 seconds", "5 hours", "less than a second".
pub fn in_words(seconds: f64) -> String {
    if seconds < 1.0 {
        return "less than a second".into();
    }
    // Saturates if no `Duration` can hold the number.
    HumanDuration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)).to_string()
}

/// Work that takes longer than this is announced.
pub const LONG_SECONDS: f64 = 600.0;

/// Makes every thread's heap grow in large steps. Threads that simulate in parallel allocate gigabytes in small pieces.
/// With the default step of 128 KiB they contend in the kernel at every step: a run of 2^24 processes on 16 threads
/// spent 3 of 20 CPU seconds there. Untouched memory costs nothing.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn grow_in_large_steps() {
    const STEP: libc::c_int = 64 << 20;
    /// Blocks of at least this size get a mapping of their own, already zeroed. By default the allocator adapts this
    /// threshold itself, but it stops once any of these settings is changed.
    const LARGE: libc::c_int = 4 << 20;
    // SAFETY: the allocator takes its own lock for this; the settings only change how it gets memory.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, STEP);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * STEP);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn grow_in_large_steps() {}

/// The system's allocator. Where it has no more memory, the program ends with a sentence; Rust would abort.
#[derive(Debug)]
pub struct Refusing;

/// Larger requests are passed on: they come from `try_reserve`, with a length that a file states.
const LARGEST: usize = 1 << 36;

// SAFETY: every call is passed on to the system's allocator, and what that returns is returned unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of this function.
        granted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.realloc(place, layout, size) }, size)
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

fn granted(place: *mut u8, size: usize) -> *mut u8 {
    if place.is_null() && size < LARGEST {
        end();
    }
    place
}

/// Ends the program. Nothing here allocates.
#[cold]
fn end() -> ! {
    let text =
        "error: out of memory: the system refused more; use a machine with more memory, or less input\n";
    let _ = rustix::io::write(std::io::stderr(), text.as_bytes());
    // SAFETY: ends the process at once, without the destructors of others.
    #[allow(unsafe_code)]
    unsafe {
        libc::_exit(Exit::BadInput as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernel_s_line() {
        assert_eq!(parse_kibibytes("Name:\tx\nVmHWM:\t    1234 kB\n", "VmHWM:"), Some(1234 * 1024));
        assert_eq!(parse_kibibytes("Name:\tx\n", "VmHWM:"), None);
    }
}
