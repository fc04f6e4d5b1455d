//! The kernel's trace buffers, watched during a measurement and read after it.
//!
//! Everything happens in a separate instance, so that no other tracing is affected. The instance is removed
//! with the observation, also after an error; those of killed processes are removed by the next observation.
//! Buffers are sized beforehand and keep the first events when they are full: lost events are counted, and
//! the time after them does not count as observed. Reading causes noise itself, so nothing is read before the
//! measurement is over.
//!
//! The clock is the timer of the measurement if the kernel offers it (`x86-tsc`). This is verified rather
//! than assumed: marks are written between two readings of the timer. If the clocks differ, marks before and
//! after relate them.

mod clock;
mod files;

use super::SourcesError;
use super::ftrace_text::{self, FtraceKind};
use super::{names, processes};
use files::Directory;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

pub use clock::{Mark, Tie};

/// Stops the tracing of this process, for a program that must end at once.
pub fn stop_own() {
    if let Ok(root) = files::mounted() {
        files::stop_own(&root);
    }
}

/// The events to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Events {
    /// Beginnings and ends of everything that can take a core.
    Tracepoints,
    /// What the osnoise tracer makes of them.
    Osnoise,
}

/// Groups of events, or single ones; not every kernel has all.
const TRACEPOINTS: [&str; 9] = [
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "ipi/ipi_entry",
    "ipi/ipi_exit",
    "nmi/nmi_handler",
    "exceptions/page_fault_user",
    "exceptions/page_fault_kernel",
];
/// Without this event it is unknown who ran instead of the measuring thread.
const SWITCH: &str = "sched/sched_switch";
const OSNOISE: [&str; 4] =
    ["osnoise/irq_noise", "osnoise/softirq_noise", "osnoise/nmi_noise", "osnoise/thread_noise"];
/// In order of preference: the first is the timer itself, the others print microseconds.
const CLOCKS: [&str; 4] = ["x86-tsc", "mono_raw", "mono", "global"];

/// Size of each buffer, for at least a hundred thousand events, and the limit on all together.
const BUFFER_KB: usize = 16 << 10;
const ALL_BUFFERS_KB: usize = 1 << 20;
/// Enough for marks.
const SMALL_BUFFER_KB: usize = 64;
/// Number of marks, of which the tightest counts.
const MARKS: usize = 8;

/// A running observation.
#[derive(Debug)]
pub struct Tracing {
    directory: Directory,
    events: Events,
    cores: Vec<u32>,
    ticks: fn() -> u64,
    before: Mark,
}

/// The result of an observation.
#[derive(Debug)]
pub struct Watched {
    pub events: Events,
    pub cores: Vec<CoreText>,
    pub before: Mark,
    pub after: Option<Mark>,
    /// Process names by thread number.
    pub processes: HashMap<i32, String>,
}

/// The buffer of one core as the kernel prints it.
#[derive(Clone, Debug, Default)]
pub struct CoreText {
    pub core: u32,
    pub text: Vec<u8>,
    pub lost: u64,
}

impl Tracing {
    /// Starts to watch `cores`; `ticks` reads the timer of the measurement.
    pub fn begin(events: Events, cores: &[u32], ticks: fn() -> u64) -> Result<Tracing, SourcesError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let root = files::mounted()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        files::remove_stale(&root, Path::new("/proc"));
        let name = format!("{}{}-{count}", files::INSTANCE, std::process::id());
        let directory = Directory::create(&root, &name)?;
        // From here on, errors remove the instance when `directory` is dropped.
        directory.write("tracing_on", "0")?;
        choose_clock(&directory)?;
        directory.write("buffer_size_kb", &SMALL_BUFFER_KB.to_string())?;
        let before = mark(&directory, ticks)?;
        let mut tracing = Tracing { directory, events, cores: cores.to_vec(), ticks, before };
        tracing.set_up()?;
        tracing.directory.write("tracing_on", "1")?;
        Ok(tracing)
    }

    fn set_up(&mut self) -> Result<(), SourcesError> {
        let size = BUFFER_KB.min(ALL_BUFFERS_KB / self.cores.len().max(1)).max(SMALL_BUFFER_KB);
        for core in &self.cores {
            self.directory.write(&format!("per_cpu/cpu{core}/buffer_size_kb"), &size.to_string())?;
        }
        self.directory.write("options/overwrite", "0")?;
        // Records the process of threads that end before the measurement does; kernels before 4.14 cannot.
        let _ = self.directory.write("options/record-tgid", "1");
        self.directory.write("tracing_cpumask", &mask(&self.cores))?;
        match self.events {
            Events::Tracepoints => self.enable_tracepoints(),
            Events::Osnoise => self.enable_osnoise(),
        }
    }

    fn enable_tracepoints(&self) -> Result<(), SourcesError> {
        self.enable(SWITCH)?;
        let vectors = self.directory.entries("events/irq_vectors");
        let vectors = vectors.iter().filter(|name| name.ends_with("_entry") || name.ends_with("_exit"));
        for event in vectors.map(|name| format!("irq_vectors/{name}")) {
            self.enable(&event)?;
        }
        let present = TRACEPOINTS.iter().filter(|event| self.directory.has(&format!("events/{event}")));
        present.copied().try_for_each(|event| self.enable(event))
    }

    fn enable_osnoise(&mut self) -> Result<(), SourcesError> {
        let tracers = self.directory.read_text("available_tracers")?;
        if !tracers.split_whitespace().any(|tracer| tracer == "osnoise") {
            return Err(SourcesError::NoOsnoise);
        }
        self.directory.without_workload()?;
        self.directory.write("current_tracer", "osnoise")?;
        OSNOISE.iter().try_for_each(|event| self.enable(event))
    }

    fn enable(&self, event: &str) -> Result<(), SourcesError> {
        self.directory.write(&format!("events/{event}/enable"), "1")
    }

    /// Ends the observation and reads the buffers.
    pub fn end(self) -> Result<Watched, SourcesError> {
        self.directory.write("tracing_on", "0")?;
        self.directory.write("events/enable", "0")?;
        let cores = self.cores.iter().map(|&core| self.read(core)).collect::<Result<_, _>>()?;
        self.directory.write("tracing_cpumask", &mask_of_all(&self.directory))?;
        let after = mark(&self.directory, self.ticks).ok();
        let mut processes = processes::of_threads(Path::new("/proc"));
        let own = processes::threads(Path::new("/proc/self"));
        processes.extend(own.into_iter().map(|thread| (thread, names::OWN.to_string())));
        Ok(Watched { events: self.events, cores, before: self.before, after, processes })
    }

    fn read(&self, core: u32) -> Result<CoreText, SourcesError> {
        let text = self.directory.read(&format!("per_cpu/cpu{core}/trace"))?;
        let lost = lost(&self.directory.read_text(&format!("per_cpu/cpu{core}/stats"))?);
        Ok(CoreText { core, text, lost })
    }
}

/// Chooses among the offered clocks: `[local] global mono x86-tsc`.
fn choose_clock(directory: &Directory) -> Result<(), SourcesError> {
    let offered = directory.read_text("trace_clock")?;
    let offered: Vec<_> = offered.split_whitespace().map(|name| name.trim_matches(['[', ']'])).collect();
    match CLOCKS.iter().find(|clock| offered.contains(clock)) {
        Some(clock) => directory.write("trace_clock", clock),
        None => Err(SourcesError::NoClock { offered: offered.join(" ") }),
    }
}

/// Writes marks and finds out when they were written by the kernel's clock. Clears the buffer.
fn mark(directory: &Directory, ticks: fn() -> u64) -> Result<Mark, SourcesError> {
    directory.write("trace", "")?;
    directory.write("tracing_on", "1")?;
    let mut around = Vec::with_capacity(MARKS);
    for number in 0..MARKS {
        let start = ticks();
        directory.write("trace_marker", &format!("straggler {number}"))?;
        around.push((start, ticks()));
    }
    directory.write("tracing_on", "0")?;
    let text = directory.read("trace")?;
    directory.write("trace", "")?;
    let trace = ftrace_text::parse(&text);
    let written = trace.events.iter().filter_map(|event| match event.what {
        FtraceKind::Mark(text) => Some((mark_number(text)?, event.at)),
        _ => None,
    });
    let marks = written.filter_map(|(number, at)| around.get(number).map(|&(start, end)| (start, at, end)));
    Mark::tightest(marks).ok_or(SourcesError::NoMarks)
}

fn mark_number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text.strip_prefix(b"straggler ")?).ok()?.parse().ok()
}

/// A set of cores in the kernel's notation: hexadecimal words of 32 bits, the highest first.
fn mask(cores: &[u32]) -> String {
    let words = cores.iter().max().map_or(1, |&core| core as usize / 32 + 1);
    let mut mask = vec![0u32; words];
    for &core in cores {
        mask[core as usize / 32] |= 1 << (core % 32);
    }
    mask.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(",")
}

fn mask_of_all(directory: &Directory) -> String {
    let cores = directory.entries("per_cpu");
    let cores: Vec<u32> = cores.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    mask(&cores)
}

/// Lines like `overrun: 0`, `commit overrun: 0`, `dropped events: 12`.
fn lost(stats: &str) -> u64 {
    let counted = stats.lines().filter_map(|line| line.split_once(": "));
    let counted =
        counted.filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"));
    counted.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_cores_as_the_kernel_writes_them() {
        assert_eq!(mask(&[0, 1]), "00000003");
        assert_eq!(mask(&[33, 4]), "00000002,00000010");
        assert_eq!(mask(&[]), "00000000");
    }

    #[test]
    fn lost_events_are_added_up() {
        let stats =
            "entries: 714\noverrun: 2\ncommit overrun: 3\nbytes: 1\ndropped events: 5\nread events: 9\n";
        assert_eq!(lost(stats), 10);
        assert_eq!(lost("overrun: many"), 0);
    }

    #[test]
    fn marks_carry_numbers() {
        assert_eq!(mark_number(b"straggler 7"), Some(7));
        assert_eq!(mark_number(b"somebody else"), None);
    }
}
