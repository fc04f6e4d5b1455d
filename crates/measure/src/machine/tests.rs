use super::*;
use tempfile::TempDir;

/// A temporary tree of files, removed at the end of the test.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn a_node_tells_about_itself() {
    let root = tree(&[
        ("proc/sys/kernel/hostname", "node7\n"),
        ("proc/sys/kernel/osrelease", "6.18.44\n"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n"),
        ("proc/cmdline", "isolcpus=2-3 quiet\n"),
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some(R) Processor\nflags\t\t: fpu hypervisor lm\n"),
        ("proc/self/status", "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3,8\n"),
        ("proc/self/cgroup", "0::/user/job\n"),
        ("proc/loadavg", "0.25 0.5 0.7 1/100 4711\n"),
        ("sys/devices/system/cpu/online", "0-15\n"),
        ("sys/devices/system/cpu/isolated", "2-3\n"),
        ("sys/devices/system/cpu/nohz_full", "(null)\n"),
        ("sys/devices/system/cpu/smt/active", "1\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
        ("sys/fs/cgroup/user/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/user/job/cpu.max", "max 100000\n"),
    ]);
    let text = |text: &str| Some(text.to_owned());
    let expected = Machine {
        host: text("node7"),
        kernel: text("6.18.44 #1 SMP PREEMPT_DYNAMIC"),
        kernel_command_line: text("isolcpus=2-3 quiet"),
        processor: text("Some(R) Processor"),
        architecture: text(std::env::consts::ARCH),
        hypervisor: text("unknown"),
        allowed_cores: text("0-3,8"),
        online_cores: text("0-15"),
        governor: text("performance, powersave"),
        smt_active: Some(true),
        isolated_cores: text("2-3"),
        nohz_full_cores: None,
        cgroup: text("/user/job"),
        cgroup_quota_cores: Some(1.5),
        steal_ps: None,
        load: Some(0.25),
        tick_hz: None,
    };
    assert_eq!(gather(root.path()), expected);
}

#[test]
fn a_machine_that_tells_nothing_is_no_error() {
    let root = tree(&[("proc/cpuinfo", "\n"), ("proc/self/cgroup", "nonsense\n")]);
    let expected = Machine { architecture: Some(std::env::consts::ARCH.into()), ..Machine::default() };
    assert_eq!(gather(root.path()), expected);
    assert_eq!(stolen(root.path(), &[0]), None);
}

#[test]
fn limits_of_the_first_cgroups() {
    let cgroup = "5:devices:/a\n1:cpu,cpuacct:/docker/77\n0::/\n";
    let root = tree(&[
        ("proc/self/cgroup", cgroup),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/docker/77/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/docker/77/cpu.cfs_period_us", "100000\n"),
    ]);
    let machine = gather(root.path());
    assert_eq!((machine.cgroup.as_deref(), machine.cgroup_quota_cores), (Some("/docker/77"), Some(0.5)));
}

#[test]
fn hypervisors_by_what_they_leave_behind() {
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    let vendor = "sys/class/dmi/id/sys_vendor";
    let product = "sys/class/dmi/id/product_name";
    type Files<'a> = &'a [(&'a str, &'a str)];
    let cases: [(Files<'_>, Option<&str>); 6] = [
        (&[("sys/hypervisor/type", "xen\n")], Some("xen")),
        (&[(clocks, "tsc kvm-clock acpi_pm\n")], Some("KVM")),
        (&[(clocks, "tsc hpet\n"), (vendor, "QEMU\n")], Some("QEMU")),
        (&[(vendor, "Amazon EC2\n"), (product, "c6i.metal\n")], None),
        (&[("proc/device-tree/hypervisor/compatible", "linux,kvm\0")], Some("linux,kvm")),
        (&[("proc/cpuinfo", "flags : fpu hypervisors\n")], None),
    ];
    for (files, expected) in cases {
        assert_eq!(gather(tree(files).path()).hypervisor.as_deref(), expected, "{files:?}");
    }
    let arm = tree(&[("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n")]);
    assert_eq!(gather(arm.path()).processor.as_deref(), Some("ARM implementer 0x41 part 0xd0c"));
}

#[test]
fn stolen_time_is_summed_over_cores() {
    let stat =
        "cpu  0 0 0 0 0 0 0 9 0\ncpu0 0 0 0 0 0 0 0 2 0\ncpu1 0 0 0 0 0 0 0 3 0\ncpu2 0 0 0 0 0 0 0 4 0\n";
    let root = tree(&[("proc/stat", stat)]);
    let tick = 1_000_000_000_000 / rustix::param::clock_ticks_per_second();
    assert_eq!(stolen(root.path(), &[0, 2]), Some(Time(6 * tick)));
    assert_eq!(stolen(root.path(), &[0, 5]), None);
}

/// Kernels are built with ticks between 24 Hz (Alpha in QEMU) and 1200 Hz.
#[test]
fn this_machine_can_be_asked() {
    let machine = this();
    assert!(machine.kernel.is_some() && machine.allowed_cores.is_some());
    assert!(machine.tick_hz.is_none_or(|rate| (24..=1200).contains(&rate)), "{:?}", machine.tick_hz);
}
