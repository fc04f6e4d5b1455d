//! How much memory the process has taken, and how much memory and disk there is.

use crate::exit::{Failure, Outcome};
use straggler_report::numbers::{counted, memory};
use straggler_sim::cluster::Cluster;

/// What a job takes on a cluster, without the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Every rank holds its share of this.
    pub spread_bytes: u64,
    /// Every rank holds all of this.
    pub each_bytes: u64,
}

/// Refuses a run on so many processes that would need more memory than there is.
pub fn refuse_too_much(processes: u64, needed: u64, available: Option<u64>) -> Outcome<()> {
    match available {
        Some(available) if needed > available => Err(Failure::usage(format!(
            "{} take about {}, but {} are available: take fewer",
            counted(processes, "process", "processes"),
            memory(needed),
            memory(available)
        ))),
        _ => Ok(()),
    }
}

/// The same where the members of a cluster share the processes, if there is one.
pub fn refuse_too_much_of_share(processes: u64, needed: u64, cluster: Option<&dyn Cluster>) -> Outcome<()> {
    let (members, on_node) = cluster.map_or((1, 1), |cluster| (cluster.size(), cluster.on_node()));
    let available = available_bytes().map(|bytes| bytes / u64::from(on_node));
    refuse_too_much(processes / u64::from(members), needed / u64::from(members), available)
}

/// The largest resident set so far, in bytes; nothing where the system does not tell.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    parse_kibibytes(&status, "VmHWM:")
}

/// What the system could still give, in bytes; nothing where it does not tell.
pub fn available_bytes() -> Option<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let of_machine = parse_kibibytes(&memory, "MemAvailable:");
    of_machine.into_iter().chain(left_in_control_group()).min()
}

/// What the control group of this process may still take, where it has a limit: that of a job under Slurm, or of a container.
fn left_in_control_group() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let folder = std::path::Path::new("/sys/fs/cgroup").join(path.trim_start_matches('/'));
    let number = |folder: &std::path::Path, name: &str| -> Option<u64> {
        std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
    };
    // Every group above has its own limit.
    let left = |folder: &std::path::Path| {
        Some(number(folder, "memory.max")?.saturating_sub(number(folder, "memory.current")?))
    };
    folder.ancestors().take_while(|folder| folder.starts_with("/sys/fs/cgroup")).filter_map(left).min()
}

/// What the disk of a folder that is there could still take, in bytes; nothing where the system does not tell.
pub fn free_disk_bytes(folder: &std::path::Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn parse_kibibytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
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
