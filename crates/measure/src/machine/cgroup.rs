//! The cgroup of this process and its limit of CPU time.
//!
//! Limits apply to everything below them, so the tightest on the way up to the root counts. In a container
//! the path may be the host's, of which only the root is visible; the search ends there as well.

use super::read;
use std::path::{Path, PathBuf};

/// The path of the cgroup that limits CPU time, and the limit in cores.
pub fn of_this_process(root: &Path) -> (Option<String>, Option<f64>) {
    let Some(text) = read(root, "proc/self/cgroup") else { return (None, None) };
    let lines: Vec<(&str, &str)> = text.lines().filter_map(split).collect();
    let v1 = lines.iter().find(|(controllers, _)| controllers.split(',').any(|one| one == "cpu"));
    let v2 = lines.iter().find(|(controllers, _)| controllers.is_empty());
    let v1_quota = v1.and_then(|(_, path)| tightest(root, &["cpu", "cpu,cpuacct"], path, v1_limit));
    let v2_quota = v2.and_then(|(_, path)| tightest(root, &["", "unified"], path, v2_limit));
    let quota = [v1_quota, v2_quota].into_iter().flatten().reduce(f64::min);
    let path = v1.or(v2).map(|(_, path)| (*path).to_owned());
    (path, quota)
}

/// `4:cpu,cpuacct:/a/b` or `0::/a/b`
fn split(line: &str) -> Option<(&str, &str)> {
    let mut fields = line.splitn(3, ':');
    fields.next()?;
    Some((fields.next()?, fields.next()?))
}

fn tightest(root: &Path, mounts: &[&str], path: &str, limit: impl Fn(&Path) -> Option<f64>) -> Option<f64> {
    let mount = |mount: &&str| root.join("sys/fs/cgroup").join(mount);
    let groups = |mount: PathBuf| {
        let group = mount.join(path.trim_start_matches('/'));
        let up = group.ancestors().take_while(|up| up.starts_with(&mount)).map(Path::to_owned);
        up.collect::<Vec<_>>()
    };
    mounts.iter().map(mount).flat_map(groups).filter_map(|group| limit(&group)).reduce(f64::min)
}

/// `max 100000` or `50000 100000`
fn v2_limit(group: &Path) -> Option<f64> {
    let text = read(group, "cpu.max")?;
    let (quota, period) = text.split_once(' ')?;
    ratio(quota.parse().ok()?, period.parse().ok()?)
}

/// -1 means no limit.
fn v1_limit(group: &Path) -> Option<f64> {
    let quota = read(group, "cpu.cfs_quota_us")?.parse().ok()?;
    ratio(quota, read(group, "cpu.cfs_period_us")?.parse().ok()?)
}

fn ratio(quota: f64, period: f64) -> Option<f64> {
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}
