//! Logs of NCCL's profiler plugin "Inspector": JSON lines, one per collective or message, one file per process.

use super::recorded::{
    Channel, Counter, Distinct, Meeting, Recorded, RecordedOp, collective_name, communication, ends_together,
};
use super::{ImportError, source, words};
use crate::lines::next_line;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct Line {
    header: Header,
    #[serde(default)]
    metadata: Metadata,
    coll_perf: Option<Collective>,
    p2p_perf: Option<Message>,
}

#[derive(Deserialize)]
struct Header {
    id: String,
    rank: u32,
    n_ranks: u32,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    dump_timestamp_us: f64,
    hostname: String,
}

#[derive(Deserialize)]
struct Collective {
    coll: String,
    coll_sn: u64,
    #[serde(default)]
    coll_msg_size_bytes: u64,
    coll_exec_time_us: f64,
    event_trace_ts: Option<Events>,
}

#[derive(Deserialize)]
struct Message {
    p2p: String,
    p2p_sn: u64,
    p2p_peer: u32,
    #[serde(default)]
    p2p_msg_size_bytes: u64,
    p2p_exec_time_us: f64,
    event_trace_ts: Option<Events>,
}

#[derive(Deserialize)]
struct Events {
    #[serde(alias = "p2p_start_ts")]
    coll_start_ts: Option<f64>,
    #[serde(default)]
    kernel_events: Vec<Kernel>,
}

#[derive(Deserialize)]
struct Kernel {
    kernel_start_ts: Option<f64>,
}

impl Events {
    /// When the first channel began, in microseconds. Unused channels have 0.
    fn start(&self) -> Option<f64> {
        let kernels = self.kernel_events.iter().filter_map(|kernel| kernel.kernel_start_ts);
        kernels
            .filter(|&start| start > 0.0)
            .min_by(f64::total_cmp)
            .or(self.coll_start_ts)
            .filter(|&at| at > 0.0)
    }
}

/// A collective or a message.
struct Entry {
    collective: &'static str,
    channel: Channel,
    number: u64,
    bytes: u64,
    duration_ps: i64,
    start_ps: Option<i128>,
    dumped_ps: i128,
}

/// With more invalid lines than this, a file is something else.
const MOST_BAD: usize = 100_000;

pub fn read(path: &Path) -> Result<Recorded, ImportError> {
    let io = |source| ImportError::Io { path: path.into(), source };
    let mut reader = std::io::BufReader::with_capacity(1 << 18, source::open(path)?);
    let mut recorded = Recorded { path: path.into(), steps: vec![0], ..Recorded::default() };
    let mut entries = Vec::new();
    let mut members: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    let (mut text, mut bad) = (Vec::new(), Vec::new());
    for number in 1.. {
        match next_line(&mut reader, number, &mut text) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(io(error)),
        }
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Line>(&text).ok().and_then(|line| Some((entry(&line)?, line))) {
            Some((entry, line)) => {
                members.entry(line.header.id).or_insert((line.header.rank, line.header.n_ranks));
                recorded.host =
                    Some(line.metadata.hostname).filter(|name| !name.is_empty()).or(recorded.host);
                entries.push(entry);
            }
            None if bad.len() < MOST_BAD => bad.push(number),
            None => {
                let what = format!("more than {MOST_BAD} lines are not records of NCCL Inspector");
                return Err(ImportError::Nothing { path: path.into(), what });
            }
        }
    }
    if entries.is_empty() {
        return Err(ImportError::Nothing {
            path: path.into(),
            what: "no line describes a collective".into(),
        });
    }
    if !bad.is_empty() {
        let left = words::plural(bad.len(), "was left out: not a record", "were left out: not records");
        recorded.note(&format!("{} {left} of NCCL Inspector.", words::named("line", &bad)));
    }
    recorded.memberships = members.into_iter().map(|(id, (rank, size))| (id, rank, size)).collect();
    build(entries, &mut recorded);
    Ok(recorded)
}

/// Converts microseconds to picoseconds. Whole microseconds stay exact.
fn ps(micros: f64) -> Option<i128> {
    let usable = micros.is_finite() && (0.0..1e18).contains(&micros);
    usable.then_some(micros.trunc() as i128 * 1_000_000 + (micros.fract() * 1e6).round() as i128)
}

fn entry(line: &Line) -> Option<Entry> {
    let short = |micros: f64| i64::try_from(ps(micros)?).ok().filter(|&ps| ps < 1 << 60);
    let (id, size) = (&line.header.id, line.header.n_ranks);
    let dumped_ps = ps(line.metadata.dump_timestamp_us)?;
    let start = |events: &Option<Events>| events.as_ref().and_then(Events::start).and_then(ps);
    if let Some(of) = &line.coll_perf {
        let collective = collective_name(&of.coll);
        let channel = Channel {
            key: format!("communicator {id}"),
            label: format!("communicator {id}"),
            size: Some(size),
            by_order: false,
            numbered: true,
            ends_together: ends_together(collective),
            one_way: false,
        };
        let duration_ps = short(of.coll_exec_time_us)?;
        let start_ps = start(&of.event_trace_ts);
        let bytes = of.coll_msg_size_bytes;
        return Some(Entry {
            collective,
            channel,
            number: of.coll_sn,
            bytes,
            duration_ps,
            start_ps,
            dumped_ps,
        });
    }
    let of = line.p2p_perf.as_ref()?;
    let collective = collective_name(&of.p2p);
    let (from, to) = match collective {
        "send" => (line.header.rank, of.p2p_peer),
        _ => (of.p2p_peer, line.header.rank),
    };
    let channel = Channel {
        key: format!("communicator {id} from {from} to {to}"),
        label: format!("messages from {from} to {to} in communicator {id}"),
        size: Some(2),
        by_order: true,
        numbered: false,
        ends_together: false,
        one_way: false,
    };
    let duration_ps = short(of.p2p_exec_time_us)?;
    let start_ps = start(&of.event_trace_ts);
    Some(Entry {
        collective,
        channel,
        number: of.p2p_sn,
        bytes: of.p2p_msg_size_bytes,
        duration_ps,
        start_ps,
        dumped_ps,
    })
}

/// Operations of a communicator run one after the other. Communicators are independent of each other.
fn build(mut entries: Vec<Entry>, recorded: &mut Recorded) {
    let exact = entries.iter().all(|entry| entry.start_ps.is_some());
    let begin = |entry: &Entry| entry.start_ps.unwrap_or(entry.dumped_ps - i128::from(entry.duration_ps));
    let origin = entries.iter().map(begin).min().unwrap_or(0);
    entries.sort_by(|a, b| (&a.channel.key, a.number).cmp(&(&b.channel.key, b.number)));
    let (mut kinds, mut channels, mut counter) =
        (Distinct::default(), Distinct::default(), Counter::default());
    let mut streams: Distinct<String> = Distinct::default();
    for entry in &entries {
        let channel = channels.place(entry.channel.clone());
        let stream = streams.place(entry.channel.key.clone());
        // NCCL counts messages per communicator and direction, so the partner's count may differ.
        let number = if entry.channel.by_order { counter.next(0, channel) } else { entry.number };
        let detail = format!("{} bytes", entry.bytes);
        let place = recorded.ops.len() as u32;
        let stream = stream.min(u32::from(u16::MAX)) as u16;
        if recorded.ops.last().is_some_and(|last: &RecordedOp| last.stream == stream) {
            recorded.edges.push((place, place - 1));
        }
        recorded.ops.push(RecordedOp {
            step: 0,
            kind: kinds.place(communication(entry.collective, &detail, Some(entry.bytes))),
            stream,
            start_ps: i64::try_from(begin(entry) - origin).unwrap_or(i64::MAX / 4).min(i64::MAX / 4),
            duration_ps: entry.duration_ps,
            meeting: Some(Meeting { channel, number }),
        });
    }
    recorded.origin_ps = origin;
    recorded.has_clock = exact;
    recorded.kinds = kinds.items;
    recorded.channels = channels.items;
    notes(exact, recorded);
}

fn notes(exact: bool, recorded: &mut Recorded) {
    recorded.common_notes.push(
        "NCCL Inspector records communication only: computation, steps and launch delays are unknown, and everything \
         counts as step 0. Only communication can be judged."
            .into(),
    );
    if !exact {
        recorded.common_notes.push(
            "NCCL Inspector wrote no event times: starts are the time of writing minus the duration, and are too late. \
             Set NCCL_INSPECTOR_DUMP_VERBOSE=1 to record them."
                .into(),
        );
    }
}

/// Takes ranks from a communicator that all files share. Without one, numbers the files.
pub fn name_ranks(files: &mut [Recorded]) {
    let Some(first) = files.first() else { return };
    let of = |file: &Recorded, id: &str| {
        file.memberships.iter().find(|(of, _, _)| of == id).map(|&(_, rank, size)| (rank, size))
    };
    let shared =
        first.memberships.iter().filter(|(id, _, _)| files.iter().all(|file| of(file, id).is_some()));
    let Some((id, _, _)) = shared.max_by_key(|(id, _, size)| (*size, id.clone())).cloned() else {
        (0..).zip(files.iter_mut()).for_each(|(rank, file)| file.rank = Some(rank));
        files[0]
            .common_notes
            .push("No communicator has all processes: ranks number the files in name order.".into());
        return;
    };
    for file in files {
        let found = of(file, &id);
        file.rank = found.map(|(rank, _)| rank);
        file.world = found.map(|(_, size)| size);
    }
}
