//! Parses the text form of the kernel's trace buffers, as far as noise needs it.
//!
//! A line is `comm-pid [core] flags time: event: arguments`. The thread name may contain anything, including
//! spaces, dashes, colons and brackets, so it is not searched: the kernel pads it to 16 columns. Only text
//! with another indent is searched for the first dash that makes sense.
//!
//! Events are named as in the kernel's `include/trace/events` (irq, irq_vectors, nmi, exceptions, sched, ipi,
//! osnoise). Other events, and lines that are not events, are counted and skipped.

/// The content of a trace buffer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace<'a> {
    pub events: Vec<Event<'a>>,
    /// Number of events of kinds irrelevant to noise.
    pub unknown: u64,
    /// Lines that are neither events nor comments.
    pub garbled: u64,
    /// Number of events that the kernel reports as lost.
    pub lost: u64,
}

/// One event on one core.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event<'a> {
    /// In ticks or in nanoseconds, depending on whether the clock prints ticks or seconds.
    pub at: u64,
    pub core: u32,
    /// The thread that was running.
    pub thread: i32,
    /// Its name; empty where the kernel no longer knew it.
    pub name: &'a [u8],
    pub what: FtraceKind<'a>,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FtraceKind<'a> {
    Enter(Activity<'a>),
    Leave(Activity<'a>),
    /// Reported at its end. `nanoseconds` exclude interruptions of it; `start` is given by the osnoise tracer
    /// only.
    Took {
        activity: Activity<'a>,
        start: Option<u64>,
        nanoseconds: u64,
    },
    /// The kernel reports when one begins, but not when it ends.
    PageFault,
    /// A switch from one thread to another.
    Switch {
        from: i32,
        /// Whether it was preempted while runnable.
        from_runnable: bool,
        to: i32,
        name: &'a [u8],
    },
    /// An interruption that the osnoise tracer's own loop saw, in nanoseconds.
    Sample {
        start: u64,
        nanoseconds: u64,
    },
    /// Written by a program.
    Mark(&'a [u8]),
}

/// What can take a core from a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity<'a> {
    /// An interrupt raised by the processor itself, by its kernel name: `local_timer`.
    Vector(&'a [u8]),
    /// An interrupt of a device. The end of one is without a name.
    Device {
        number: u32,
        name: &'a [u8],
    },
    Softirq(&'a [u8]),
    Nmi,
    Thread {
        thread: i32,
        name: &'a [u8],
    },
}

impl Activity<'_> {
    /// Whether an end belongs to a beginning.
    pub fn same(&self, other: &Activity<'_>) -> bool {
        match (self, other) {
            (Activity::Device { number, .. }, Activity::Device { number: other, .. }) => number == other,
            _ => self == other,
        }
    }
}

/// Parses the text of a trace buffer. Never fails.
pub fn parse(text: &[u8]) -> Trace<'_> {
    let mut trace = Trace::default();
    for line in text.split(|&byte| byte == b'\n') {
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        match parse_line(line) {
            Line::Event(event) => trace.events.push(event),
            Line::Unknown => trace.unknown += 1,
            Line::Lost(events) => trace.lost = trace.lost.saturating_add(events),
            Line::Garbled => trace.garbled += 1,
        }
    }
    trace
}

enum Line<'a> {
    Event(Event<'a>),
    Unknown,
    Lost(u64),
    Garbled,
}

fn parse_line(line: &[u8]) -> Line<'_> {
    if let Some(lost) = lost_events(line) {
        return Line::Lost(lost);
    }
    let Some((head, rest)) = find_head(line) else { return Line::Garbled };
    let Some((at, rest)) = time(rest) else { return Line::Garbled };
    let Some(colon) = rest.iter().position(|&byte| byte == b':') else { return Line::Unknown };
    let (name, arguments) = rest.split_at(colon);
    match what(name.trim_ascii(), arguments.get(1..).unwrap_or_default().trim_ascii()) {
        Some(what) => Line::Event(Event { at, core: head.core, thread: head.thread, name: head.name, what }),
        None => Line::Unknown,
    }
}

/// `CPU:3 [LOST 17 EVENTS]`
fn lost_events(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"CPU:")?;
    let (_, rest) = split_once(rest, b"[LOST ")?;
    number(rest.split(|&byte| byte == b' ').next()?)
}

/// The thread that was running when a line was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head<'a> {
    /// Empty where the kernel no longer knew it.
    pub name: &'a [u8],
    pub thread: i32,
    /// Its process, if the kernel was asked to record it (`record-tgid`) and knew it.
    pub process: Option<i32>,
    core: u32,
}

/// The running thread of each line of a trace buffer.
pub fn heads(text: &[u8]) -> impl Iterator<Item = Head<'_>> {
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"#"));
    lines.filter_map(|line| Some(find_head(line)?.0))
}

/// Column width of thread names.
const NAME_WIDTH: usize = 16;

/// Printed for a thread that ended and whose name has been overwritten.
const NAME_UNKNOWN: &[u8] = b"<...>";

fn find_head(line: &[u8]) -> Option<(Head<'_>, &[u8])> {
    let dashes = line.iter().enumerate().filter(|&(_, &byte)| byte == b'-').map(|(at, _)| at);
    std::iter::once(NAME_WIDTH)
        .filter(|&at| line.get(at) == Some(&b'-'))
        .chain(dashes)
        .find_map(|at| parse_head(line.get(..at)?, line.get(at + 1..)?))
}

/// Parses `4711    [003] d.h1. `, also with the process, `( 4700)`, before the core.
fn parse_head<'a>(name: &'a [u8], rest: &'a [u8]) -> Option<(Head<'a>, &'a [u8])> {
    let name = name.trim_ascii_start();
    let name = if name == NAME_UNKNOWN { b"" } else { name };
    let (thread, rest) = leading_number(rest)?;
    let (mut process, mut rest) = (None, rest.trim_ascii_start());
    if let Some(told) = rest.strip_prefix(b"(") {
        let (number, after) = split_once(told, b")")?;
        process = self::number(number.trim_ascii()).and_then(|number| i32::try_from(number).ok());
        rest = after.trim_ascii_start();
    }
    let (core, rest) = leading_number(rest.strip_prefix(b"[")?)?;
    let (thread, core) = (i32::try_from(thread).ok()?, u32::try_from(core).ok()?);
    let head = Head { name, thread, process, core };
    Some((head, rest.strip_prefix(b"]")?))
}

/// Parses the time, after optional flags. Seconds become nanoseconds.
fn time(rest: &[u8]) -> Option<(u64, &[u8])> {
    let mut rest = rest.trim_ascii_start();
    // The flags are one word; trace-cmd prints none.
    for _ in 0..2 {
        let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if let Some(at) = word.strip_suffix(b":").and_then(ticks_or_seconds) {
            return Some((at, after.trim_ascii_start()));
        }
        rest = after.trim_ascii_start();
    }
    None
}

fn ticks_or_seconds(word: &[u8]) -> Option<u64> {
    match split_once(word, b".") {
        None => number(word),
        Some((seconds, fraction)) => seconds_as_ns(seconds, fraction),
    }
}

/// `12` and `345` are 12.345 s. Digits beyond the ninth after the point are ignored.
fn seconds_as_ns(seconds: &[u8], fraction: &[u8]) -> Option<u64> {
    let mut digits = [b'0'; 9];
    digits.iter_mut().zip(fraction).for_each(|(digit, &byte)| *digit = byte);
    let whole = number(seconds)?.checked_mul(1_000_000_000)?;
    whole.checked_add(number(&digits)?)
}

fn what<'a>(name: &'a [u8], arguments: &'a [u8]) -> Option<FtraceKind<'a>> {
    match name {
        b"irq_handler_entry" | b"irq_handler_exit" => {
            let device = Activity::Device {
                number: u32::try_from(number(field(arguments, b"irq=")?)?).ok()?,
                name: split_once(arguments, b"name=").map_or(&b""[..], |(_, name)| name),
            };
            Some(enter_or_leave(name, device))
        }
        b"softirq_entry" | b"softirq_exit" => {
            let action = split_once(arguments, b"[action=")?.1;
            Some(enter_or_leave(name, Activity::Softirq(action.strip_suffix(b"]").unwrap_or(action))))
        }
        b"ipi_entry" | b"ipi_exit" => {
            let reason = arguments.strip_prefix(b"(")?.strip_suffix(b")")?;
            Some(enter_or_leave(name, Activity::Vector(reason)))
        }
        b"nmi_handler" => {
            let nanoseconds = number(field(arguments, b"delta_ns: ")?)?;
            Some(FtraceKind::Took { activity: Activity::Nmi, start: None, nanoseconds })
        }
        b"page_fault_user" | b"page_fault_kernel" => Some(FtraceKind::PageFault),
        b"sched_switch" => switch(arguments),
        b"tracing_mark_write" => Some(FtraceKind::Mark(arguments)),
        _ if name.ends_with(b"_noise") || name == b"sample_threshold" => osnoise(name, arguments),
        _ => vector(name, arguments),
    }
}

fn enter_or_leave<'a>(name: &[u8], activity: Activity<'a>) -> FtraceKind<'a> {
    if name.ends_with(b"_entry") { FtraceKind::Enter(activity) } else { FtraceKind::Leave(activity) }
}

/// All interrupts of irq_vectors print `vector=236` and nothing else.
fn vector<'a>(name: &'a [u8], arguments: &[u8]) -> Option<FtraceKind<'a>> {
    number(arguments.strip_prefix(b"vector=")?)?;
    let vector = name.strip_suffix(b"_entry").or_else(|| name.strip_suffix(b"_exit"))?;
    Some(enter_or_leave(name, Activity::Vector(vector)))
}

/// Parses the fields from the end, because thread names may contain anything.
fn switch(arguments: &[u8]) -> Option<FtraceKind<'_>> {
    let (from, to) = rsplit_once(arguments, b" ==> next_comm=")?;
    let (name, to) = rsplit_once(to, b" next_pid=")?;
    let (_, from) = rsplit_once(from, b" prev_pid=")?;
    Some(FtraceKind::Switch {
        from: thread(from)?,
        from_runnable: field(from, b"prev_state=")?.starts_with(b"R"),
        to: thread(to)?,
        name,
    })
}

/// `name:number start 12.345678901 duration 1845 ns`; NMIs and samples are without a name.
fn osnoise<'a>(event: &[u8], arguments: &'a [u8]) -> Option<FtraceKind<'a>> {
    let (name, rest) = match arguments.strip_prefix(b"start ") {
        Some(rest) => (&b""[..], rest),
        None => rsplit_once(arguments, b" start ")?,
    };
    let (start, rest) = split_once(rest, b" duration ")?;
    let start = ticks_or_seconds(start)?;
    let nanoseconds = leading_number(rest)?.0;
    let named = rsplit_once(name.trim_ascii(), b":");
    let activity = match (event, named) {
        (b"sample_threshold", _) => return Some(FtraceKind::Sample { start, nanoseconds }),
        (b"nmi_noise", _) => Activity::Nmi,
        (b"softirq_noise", Some((name, _))) => Activity::Softirq(name),
        (b"thread_noise", Some((name, id))) => Activity::Thread { thread: thread(id)?, name },
        (b"irq_noise", Some((name, id))) => {
            Activity::Device { number: u32::try_from(number(id)?).ok()?, name }
        }
        _ => return None,
    };
    Some(FtraceKind::Took { activity, start: Some(start), nanoseconds })
}

fn thread(text: &[u8]) -> Option<i32> {
    i32::try_from(leading_number(text)?.0).ok()
}

/// The value after `key`, up to the next space.
fn field<'a>(arguments: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    split_once(arguments, key)?.1.split(|&byte| byte == b' ').next()
}

fn number(text: &[u8]) -> Option<u64> {
    match leading_number(text) {
        Some((number, [])) => Some(number),
        _ => None,
    }
}

fn leading_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(digits);
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

fn split_once<'a>(text: &'a [u8], by: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(by.len()).position(|window| window == by)?;
    Some((text.get(..at)?, text.get(at + by.len()..)?))
}

fn rsplit_once<'a>(text: &'a [u8], by: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(by.len()).rposition(|window| window == by)?;
    Some((text.get(..at)?, text.get(at + by.len()..)?))
}

#[cfg(test)]
mod tests;
