//! Names of noise sources.
//!
//! A name stands for something that a person could remove: threads that differ only in a number or a core are
//! one source, and interrupts are named after their cause.

use super::ftrace_text::Activity;
use std::collections::HashMap;

/// No kernel event explains the detour.
pub const BELOW_THE_KERNEL: &str = "hypervisor or firmware";
/// The periodic interrupt of the kernel's timer.
pub const TIMER_TICK: &str = "timer tick";
/// An access to memory that is not mapped yet.
pub const PAGE_FAULT: &str = "page fault";
/// A non-maskable interrupt.
pub const NMI: &str = "NMI";
/// An interrupt by which another core asks this one to run its scheduler.
pub const RESCHEDULE: &str = "reschedule interrupt";
/// An interrupt by which another core has this one call a function.
pub const FUNCTION_CALL: &str = "function call interrupt";
/// The measuring thread was runnable, and yet the core was idle: only a limit of CPU time does that.
pub const QUOTA: &str = "CPU limit of the cgroup";
/// The measuring thread waited for something.
pub const ASLEEP: &str = "measuring thread asleep";
/// Counters show only that other threads ran, not which.
pub const OTHER_THREADS: &str = "other threads";
/// The sampler that finds out what took the core.
pub const SAMPLER: &str = "straggler's own sampler";
/// Threads of the measuring program that do not measure.
pub const OWN: &str = "straggler itself";

/// Names by number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    list: Vec<String>,
    numbers: HashMap<String, u32>,
    /// The process of a thread, where it is known.
    processes: HashMap<i32, String>,
}

impl Names {
    /// Creates a list with the process names of known threads.
    pub fn of_processes(processes: HashMap<i32, String>) -> Names {
        Names { processes, ..Names::default() }
    }

    pub fn activity(&mut self, activity: &Activity<'_>) -> u32 {
        match activity {
            Activity::Thread { thread, name } => self.thread(*thread, name),
            other => self.number(&self::activity(other)),
        }
    }

    /// Names a thread after its process, if known, else by its own name.
    pub fn thread(&mut self, thread: i32, name: &[u8]) -> u32 {
        let process = self.processes.get(&thread);
        let name = self::thread(process.map_or(name, |process| process.as_bytes()));
        self.number(&name)
    }

    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    pub fn list(&self) -> &[String] {
        &self.list
    }
}

pub(super) fn activity(activity: &Activity<'_>) -> String {
    match activity {
        Activity::Vector(name) => vector(name),
        // The osnoise tracer prints vectors and devices alike.
        Activity::Device { number, name } => {
            let name = String::from_utf8_lossy(name);
            known_vector(&name).map_or_else(|| format!("irq {number} {name}"), String::from)
        }
        Activity::Softirq(name) => softirq(&String::from_utf8_lossy(name)),
        Activity::Nmi => NMI.into(),
        Activity::Thread { name, .. } => thread(name),
    }
}

/// The name of a softirq of the kernel.
pub fn softirq(name: &str) -> String {
    format!("softirq {name}")
}

fn vector(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    known_vector(&name).map_or_else(|| format!("{} interrupt", name.replace('_', " ")), String::from)
}

/// Names of well-known vectors. x86 names them; ARM has its timer among the devices and prints the reasons of
/// inter-processor interrupts.
fn known_vector(name: &str) -> Option<&'static str> {
    Some(match name {
        "local_timer" | "arch_timer" | "timer" | "riscv-timer" | "Timer broadcast interrupts" => TIMER_TICK,
        "reschedule" | "Rescheduling interrupts" => RESCHEDULE,
        "call_function" | "call_function_single" | "Function call interrupts" => FUNCTION_CALL,
        "irq_work" | "IRQ work interrupts" => "irq work interrupt",
        "thermal_apic" => "thermal interrupt",
        "error_apic" => "APIC error interrupt",
        "spurious_apic" => "spurious interrupt",
        "x86_platform_ipi" => "platform interrupt",
        _ => return None,
    })
}

/// The common name of similar threads: `kworker/0:1` and `kworker/u8:2`, `migration/3`, `pool-7`.
pub fn thread(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    if name.starts_with("kworker/") {
        return "kworker".into();
    }
    // `irq/36-nvme0q1` is the thread of one device, not one of many alike.
    if name.starts_with("irq/") {
        return name.into_owned();
    }
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    match stem.strip_suffix(['/', ':', '.', '-', '#', '_']) {
        Some(kind) if stem.len() < name.len() && !kind.trim().is_empty() => kind.into(),
        _ if name.trim().is_empty() => "thread without a name".into(),
        _ => name.into_owned(),
    }
}

/// Prefixes of kernel thread names.
const KERNEL_THREADS: [&str; 28] = [
    "kworker",
    "migration",
    "ksoftirqd",
    "rcu",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "kthreadd",
    "ktimer",
    "irq/",
    "watchdog",
    "cpuhp",
    "idle_inject",
    "jbd2",
    "xfs",
    "ext4",
    "nvme",
    "scsi",
    "kblockd",
    "kauditd",
    "ksmd",
    "dm-",
    "napi/",
    "ib_",
    "mlx5",
    "ptlrpcd",
    "ldlm_",
    "nfsd",
];

/// Whether it is a numbered thread of a block device: `md127_raid1`, `loop0`. `mdrun` and `md5sum` are
/// programs.
fn is_of_a_device(name: &str) -> bool {
    let rest_of =
        |start| name.strip_prefix(start).map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest_of("md").is_some_and(|rest| rest.starts_with("_raid")) || rest_of("loop").is_some_and(str::is_empty)
}

/// Whether a source is a program that somebody started, rather than an interrupt, a kernel thread, or
/// something below the kernel.
pub fn is_program(name: &str) -> bool {
    let known = [
        "unnamed",
        BELOW_THE_KERNEL,
        TIMER_TICK,
        PAGE_FAULT,
        NMI,
        RESCHEDULE,
        FUNCTION_CALL,
        QUOTA,
        ASLEEP,
        SAMPLER,
        OWN,
    ];
    let interrupt = name.starts_with("softirq ") || name.starts_with("irq ") || name.ends_with(" interrupt");
    let kernel = KERNEL_THREADS.iter().any(|start| name.starts_with(start)) || is_of_a_device(name);
    !known.contains(&name) && !interrupt && !kernel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_kind_are_one_source() {
        let cases = [
            ("kworker/0:1-events", "kworker"),
            ("kworker/u8:2", "kworker"),
            ("migration/12", "migration"),
            ("opt cgu.07", "opt cgu"),
            ("irq/36-nvme0q1", "irq/36-nvme0q1"),
            ("gcc-12", "gcc"),
            ("kswapd0", "kswapd0"),
            ("42", "42"),
            ("-1", "-1"),
            ("", "thread without a name"),
        ];
        for (name, kind) in cases {
            assert_eq!(thread(name.as_bytes()), kind, "{name}");
        }
    }

    #[test]
    fn interrupts_go_by_what_raised_them() {
        let device = |number, name| activity(&Activity::Device { number, name });
        assert_eq!(device(36, b"virtio1-req.0"), "irq 36 virtio1-req.0");
        assert_eq!(device(236, b"local_timer"), TIMER_TICK);
        assert_eq!(device(11, b"arch_timer"), TIMER_TICK);
        assert_eq!(activity(&Activity::Vector(b"call_function_single")), FUNCTION_CALL);
        assert_eq!(activity(&Activity::Vector(b"deferred_error")), "deferred error interrupt");
        assert_eq!(activity(&Activity::Softirq(b"NET_RX")), "softirq NET_RX");
    }

    #[test]
    fn a_thread_goes_by_its_process() {
        let mut names = Names::of_processes(HashMap::from([(7, "telegraf".to_string())]));
        let worker = names.thread(7, b"tokio-rt-worker");
        assert_eq!(worker, names.thread(3, b"telegraf"));
        assert_ne!(worker, names.activity(&Activity::Thread { thread: 8, name: b"tokio-rt-worker" }));
    }

    #[test]
    fn programs_are_told_from_the_system() {
        for name in ["rustc", "LogGOPSim", "telegraf", "mdrun", "md5sum", "mdtest", "loopback", OTHER_THREADS]
        {
            assert!(is_program(name), "{name}");
        }
        for name in [
            "kworker",
            "rcu_sched",
            "softirq NET_RX",
            "irq 36 virtio1",
            "md127_raid1",
            "loop0",
            "ptlrpcd",
            TIMER_TICK,
            OWN,
            BELOW_THE_KERNEL,
        ] {
            assert!(!is_program(name), "{name}");
        }
    }

    #[test]
    fn names_are_numbered_once() {
        let mut names = Names::default();
        assert_eq!((names.number("a"), names.number("b"), names.number("a")), (0, 1, 0));
        assert_eq!(names.list(), ["a", "b"]);
    }
}
