//! How much memory the process has taken.

/// The largest resident set so far, in bytes; nothing where the system does not tell.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    parse_high_water_mark(&status)
}

fn parse_high_water_mark(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernel_s_line() {
        assert_eq!(parse_high_water_mark("Name:\tx\nVmHWM:\t    1234 kB\n"), Some(1234 * 1024));
        assert_eq!(parse_high_water_mark("Name:\tx\n"), None);
    }
}
