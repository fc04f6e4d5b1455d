//! The processor usage of this process: time, preemptions, and time spent waiting for a core.

use std::sync::Mutex;
use std::time::Instant;
use straggler_trace::trace::Usage;

/// Counters of the kernel, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Counters {
    cpu: u64,
    preemptions: u64,
    waiting: Option<u64>,
}

/// When the recording began, and the counters then.
static BEGAN: Mutex<Option<(Instant, Counters)>> = Mutex::new(None);

/// Stores the counters.
pub fn begin() {
    if let Ok(mut began) = BEGAN.lock() {
        *began = Some((Instant::now(), Counters::now()));
    }
}

/// The usage since then.
pub fn since_the_beginning() -> Option<Usage> {
    // A signal may have ended the process while the lock was held.
    let (began, before) = (*BEGAN.try_lock().ok()?)?;
    let now = Counters::now();
    let waiting = now.waiting.zip(before.waiting).map(|(now, before)| now.saturating_sub(before));
    let wall = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let preemptions = now.preemptions.saturating_sub(before.preemptions);
    Some(Usage::from_nanoseconds(wall, now.cpu.saturating_sub(before.cpu), preemptions, waiting))
}

impl Counters {
    fn now() -> Counters {
        // SAFETY: all zeros are a valid value, and the kernel fills it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        let nanoseconds =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        Counters {
            cpu: nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
            preemptions: u64::try_from(usage.ru_nivcsw).unwrap_or_default(),
            waiting: std::fs::read_to_string("/proc/self/schedstat").ok().and_then(|text| waiting(&text)),
        }
    }
}

/// How long the main thread was ready to run but had no core: the second number, after the time it
/// had one. A kernel that does not count this has zeros there.
fn waiting(schedstat: &str) -> Option<u64> {
    let mut numbers = schedstat.split_ascii_whitespace();
    let ran: u64 = numbers.next()?.parse().ok()?;
    let waited = numbers.next()?.parse().ok()?;
    (ran > 0).then_some(waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_does_not_count_says_nothing() {
        assert_eq!(waiting("123456 7890 12\n"), Some(7890));
        assert_eq!(waiting("123456 0 12\n"), Some(0));
        assert_eq!(waiting("0 0 1\n"), None);
        assert_eq!(waiting(""), None);
    }

    #[test]
    fn work_is_counted() {
        begin();
        let until = Instant::now() + std::time::Duration::from_millis(50);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        let usage = since_the_beginning().unwrap();
        assert!(usage.cpu.ps() > 0 && usage.wall.ps() >= 50_000_000_000, "{usage:?}");
    }
}
