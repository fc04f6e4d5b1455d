//! The socket and NUMA domain of a core, from /sys.

use std::fs;
use std::path::Path;
use straggler_model::latency::Process;

/// Describes a process on a core of this machine, from the files under `root`.
pub fn place(root: &Path, rank: u32, host: Option<String>, core: u32) -> Process {
    let folder = root.join(format!("sys/devices/system/cpu/cpu{core}"));
    let socket = fs::read_to_string(folder.join("topology/physical_package_id"));
    let names = fs::read_dir(&folder).into_iter().flatten().flatten();
    let numa = names.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()).min();
    Process {
        rank,
        host,
        node: Some(0),
        socket: socket.ok().and_then(|text| text.trim().parse().ok()),
        numa,
        core: Some(core),
        switch: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_and_domains_are_found() {
        let root = tempfile::tempdir().unwrap();
        let cpu = root.path().join("sys/devices/system/cpu/cpu5");
        fs::create_dir_all(cpu.join("topology")).unwrap();
        fs::create_dir_all(cpu.join("node1")).unwrap();
        fs::write(cpu.join("topology/physical_package_id"), "1\n").unwrap();
        let found = place(root.path(), 3, None, 5);
        assert_eq!((found.rank, found.core, found.socket, found.numa), (3, Some(5), Some(1), Some(1)));
        let unknown = place(root.path(), 0, None, 6);
        assert_eq!((unknown.socket, unknown.numa), (None, None));
    }
}
