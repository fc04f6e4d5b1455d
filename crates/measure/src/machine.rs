//! Facts about the machine, from /proc and /sys.
//!
//! All functions take the root of these trees, so that tests can provide other machines. Missing or
//! unreadable facts are left out: a recording without its governor is better than none.

mod cgroup;

use crate::sources::proc_text;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use straggler_model::Time;
use straggler_model::provenance::Machine;

/// This machine, before a measurement; stolen time is the difference of two calls of [`stolen`].
pub fn this() -> Machine {
    Machine { tick_hz: tick_hz(), ..gather(Path::new("/")) }
}

/// Reads the facts from the files under `root`.
pub fn gather(root: &Path) -> Machine {
    let cpu = |file: &str| read(root, &format!("sys/devices/system/cpu/{file}"));
    let (cgroup, cgroup_quota_cores) = cgroup::of_this_process(root);
    let list = |text: String| (text != "(null)").then_some(text);
    Machine {
        host: read(root, "proc/sys/kernel/hostname"),
        kernel: kernel(root),
        kernel_command_line: read(root, "proc/cmdline"),
        processor: processor(root),
        architecture: Some(std::env::consts::ARCH.into()),
        hypervisor: hypervisor(root),
        allowed_cores: allowed_cores(root),
        online_cores: cpu("online"),
        governor: governors(root),
        smt_active: cpu("smt/active").map(|text| text == "1"),
        isolated_cores: cpu("isolated"),
        nohz_full_cores: cpu("nohz_full").and_then(list),
        cgroup,
        cgroup_quota_cores,
        steal_ps: None,
        load: read(root, "proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
        tick_hz: None,
    }
}

/// Time the hypervisor has given to others since the machine started, summed over `cores`.
pub fn stolen(root: &Path, cores: &[u32]) -> Option<Time> {
    let stolen = proc_text::stolen(&read(root, "proc/stat")?);
    let ticks: Option<Vec<u64>> = cores.iter().map(|core| stolen.get(core).copied()).collect();
    let ticks = ticks?.into_iter().fold(0u64, u64::saturating_add);
    let tick = 1_000_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Some(Time(ticks.saturating_mul(tick)))
}

/// The rate of the timer tick: coarse clocks step with it, so their resolution is its period.
pub fn tick_hz() -> Option<u32> {
    let step = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    let ns = u64::try_from(step.tv_nsec).ok().filter(|&ns| step.tv_sec == 0 && ns > 100_000)?;
    u32::try_from((1_000_000_000 + ns / 2) / ns).ok()
}

/// Reads a file and trims it; `None` if it is empty.
fn read(root: &Path, file: &str) -> Option<String> {
    let bytes = fs::read(root.join(file)).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0');
    (!text.is_empty()).then(|| text.into())
}

fn kernel(root: &Path) -> Option<String> {
    let release = read(root, "proc/sys/kernel/osrelease")?;
    Some(match read(root, "proc/sys/kernel/version") {
        Some(version) => format!("{release} {version}"),
        None => release,
    })
}

/// The value of the first line `key : value`.
fn value(text: &str, key: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let value = lines.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim()).next()?;
    (!value.is_empty()).then(|| value.into())
}

/// The processor's name. x86 and most others print one, ARM only the vendor and part number; some have it in
/// the device tree.
fn processor(root: &Path) -> Option<String> {
    let info = read(root, "proc/cpuinfo")?;
    let named = ["model name", "cpu model", "cpu", "uarch"].iter().find_map(|key| value(&info, key));
    let part = || {
        let (implementer, part) = (value(&info, "CPU implementer")?, value(&info, "CPU part")?);
        Some(format!("ARM implementer {implementer} part {part}"))
    };
    named.or_else(part)
}

/// The hypervisor. Files that state its kind come first; the processor's flag only tells that there is one.
fn hypervisor(root: &Path) -> Option<String> {
    read(root, "sys/hypervisor/type")
        .or_else(|| read(root, "proc/device-tree/hypervisor/compatible"))
        .or_else(|| from_clocks(root))
        .or_else(|| from_firmware(root))
        .or_else(|| {
            let flags = value(&read(root, "proc/cpuinfo")?, "flags")?;
            flags.split(' ').any(|flag| flag == "hypervisor").then(|| "unknown".into())
        })
}

fn from_clocks(root: &Path) -> Option<String> {
    let clocks = read(root, "sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    let kinds = [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen")];
    kinds.iter().find(|(clock, _)| clocks.contains(clock)).map(|(_, kind)| (*kind).into())
}

fn from_firmware(root: &Path) -> Option<String> {
    let texts = ["sys_vendor", "product_name", "bios_vendor"];
    let texts: Vec<String> =
        texts.iter().filter_map(|file| read(root, &format!("sys/class/dmi/id/{file}"))).collect();
    let kinds = [
        ("KVM", "KVM"),
        ("QEMU", "QEMU"),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("Virtual Machine", "Hyper-V"),
        ("Xen", "Xen"),
        ("Amazon EC2", "Amazon Nitro"),
        ("Google Compute Engine", "KVM"),
    ];
    // Bare-metal machines of Amazon carry the name, too.
    if texts.iter().any(|text| text.contains(".metal")) {
        return None;
    }
    kinds
        .iter()
        .find(|(mark, _)| texts.iter().any(|text| text.contains(mark)))
        .map(|(_, kind)| (*kind).into())
}

fn allowed_cores(root: &Path) -> Option<String> {
    value(&read(root, "proc/self/status")?, "Cpus_allowed_list")
}

/// All governors that are in use.
fn governors(root: &Path) -> Option<String> {
    let cores = fs::read_dir(root.join("sys/devices/system/cpu")).ok()?;
    let governor = |core: fs::DirEntry| read(&core.path(), "cpufreq/scaling_governor");
    let found: BTreeSet<String> = cores.flatten().filter_map(governor).collect();
    (!found.is_empty()).then(|| found.into_iter().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
