//! Checks whether the counter runs at a constant rate, even in idle states, and equally on all cores.
//!
//! On x86-64 the processor reports this (CPUID 80000007H, EDX bit 8); Linux shows it as the flags
//! `constant_tsc` and `nonstop_tsc`. The kernel monitors the counter and removes it from its clock sources if
//! it is unstable. The counters of two cores are compared by passing readings back and forth: a later reading
//! must not be smaller.

use super::{Clock, Native};
use crate::cores;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Why this machine's clock may not have a constant rate; `None` if there is no doubt.
pub fn doubts() -> Option<String> {
    if Native::NAME != "TSC" {
        return None;
    }
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    tsc_doubts(
        &read("/proc/cpuinfo"),
        &read("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
    )
}

fn tsc_doubts(cpuinfo: &str, clock_sources: &str) -> Option<String> {
    let Some(flags) = cpuinfo.lines().find(|line| line.starts_with("flags")) else {
        return Some("the kernel does not report the processor features".into());
    };
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let mut doubts = Vec::new();
    if !has("constant_tsc") {
        doubts.push("it follows the processor frequency (no constant_tsc)");
    }
    if !has("nonstop_tsc") {
        doubts.push("it may stop in idle states (no nonstop_tsc)");
    }
    if !clock_sources.trim().is_empty() && !clock_sources.split_whitespace().any(|name| name == "tsc") {
        doubts.push("the kernel does not trust it as a clock source");
    }
    (!doubts.is_empty()).then(|| doubts.join("; "))
}

/// Readings passed between two cores.
const EXCHANGES: u32 = 200;

/// A core that does not answer for this long is not compared.
const PATIENCE: Duration = Duration::from_millis(50);

/// Limit on the time for comparing all cores.
const PATIENCE_IN_ALL: Duration = Duration::from_millis(500);

/// Compares the counters of all cores with that of the first: returns the first core where a later reading
/// was smaller, and by how many ticks. `None` if no contradiction is seen.
pub fn contradiction(list: &[u32]) -> Option<(u32, u64)> {
    let (&first, others) = list.split_first()?;
    let until = Instant::now() + PATIENCE_IN_ALL;
    let others = others.iter().take_while(|_| Instant::now() < until);
    others.into_iter().find_map(|&other| Some((other, compare(first, other)?)))
}

/// A reading for the other side, or 0 while there is none.
#[derive(Default)]
struct Mailbox {
    ping: AtomicU64,
    pong: AtomicU64,
    over: AtomicBool,
}

fn compare(first: u32, other: u32) -> Option<u64> {
    let mail = Mailbox::default();
    std::thread::scope(|scope| {
        let answering = std::thread::Builder::new().spawn_scoped(scope, || answer(&mail, other)).ok()?;
        let asking = std::thread::Builder::new().spawn_scoped(scope, || ask(&mail, first));
        // Without an asker the answerer would wait for ever.
        let worst = asking.ok().and_then(|thread| thread.join().ok()).flatten();
        mail.over.store(true, Ordering::Release);
        let _ = answering.join();
        worst
    })
}

/// The largest contradiction that was seen, if any.
fn ask(mail: &Mailbox, core: u32) -> Option<u64> {
    cores::pin(core).ok()?;
    let mut clock = Native::default();
    let until = Instant::now() + PATIENCE;
    let mut worst = 0;
    for _ in 0..EXCHANGES {
        let before = clock.fenced().max(1);
        mail.ping.store(before, Ordering::Release);
        let theirs = loop {
            match mail.pong.swap(0, Ordering::AcqRel) {
                0 if Instant::now() > until => return (worst > 0).then_some(worst),
                0 => std::hint::spin_loop(),
                reading => break reading,
            }
        };
        let after = clock.fenced();
        worst = worst.max(before.saturating_sub(theirs)).max(theirs.saturating_sub(after));
    }
    (worst > 0).then_some(worst)
}

fn answer(mail: &Mailbox, core: u32) {
    if cores::pin(core).is_err() {
        return;
    }
    let mut clock = Native::default();
    while !mail.over.load(Ordering::Acquire) {
        if mail.ping.swap(0, Ordering::AcqRel) == 0 {
            std::hint::spin_loop();
        } else {
            mail.pong.store(clock.fenced().max(1), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_are_told() {
        let good = "model name : x\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n";
        assert_eq!(tsc_doubts(good, "tsc kvm-clock \n"), None);
        assert_eq!(tsc_doubts(good, ""), None);
        let distrusted = tsc_doubts(good, "kvm-clock acpi_pm\n").unwrap();
        assert!(distrusted.contains("does not trust"), "{distrusted}");
        let old = tsc_doubts("flags : fpu tsc\n", "tsc").unwrap();
        assert!(old.contains("constant_tsc") && old.contains("nonstop_tsc"), "{old}");
    }

    #[test]
    fn the_cores_of_this_machine_agree() {
        let allowed = cores::allowed().unwrap();
        assert_eq!(contradiction(&allowed), None);
    }
}
