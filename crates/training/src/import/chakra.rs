//! Chakra execution traces: length-prefixed protobuf messages. They contain the graph of operations.

mod protobuf;
mod wire;

use super::recorded::{
    Channel, Counter, Distinct, Meeting, Recorded, RecordedOp, communication, ends_together,
};
use super::{ImportError, source, words};
use crate::graph::Graph;
use crate::{KindInfo, Role};
use std::collections::HashMap;
use std::path::Path;
use wire::{Node, Nodes};

const MICROSECOND_PS: u64 = 1_000_000;

/// Whether a file that begins with `head` has this format.
pub fn begins(head: &[u8]) -> bool {
    wire::begins(head)
}

pub fn read(path: &Path) -> Result<Recorded, ImportError> {
    let read =
        wire::nodes(source::open(path)?).map_err(|source| ImportError::Io { path: path.into(), source })?;
    if read.nodes.is_empty() {
        return Err(ImportError::Nothing { path: path.into(), what: "the Chakra trace has no node".into() });
    }
    let has_starts = read.nodes.iter().any(|node| node.start_time_micros > 0);
    let mut recorded = Recorded {
        path: path.into(),
        rank: source::rank_in_name(path),
        has_clock: has_starts,
        no_starts: !has_starts,
        steps: vec![0],
        ..Recorded::default()
    };
    if let Some(at) = read.broken_at {
        recorded.note(&format!(
            "the messages are truncated or damaged at byte {at}. The {} nodes before that are used.",
            read.nodes.len()
        ));
    }
    Reader::default().take(&read, &mut recorded);
    recorded.edges = edges(&read.nodes, &mut recorded)?;
    notes(&read, &mut recorded);
    Ok(recorded)
}

#[derive(Default)]
struct Reader {
    kinds: Distinct<KindInfo>,
    channels: Distinct<Channel>,
    streams: Distinct<(bool, i64)>,
    counter: Counter,
}

impl Reader {
    fn take(mut self, read: &Nodes, recorded: &mut Recorded) {
        let rank = recorded.rank;
        let origin = read.nodes.iter().map(|node| node.start_time_micros).filter(|&start| start > 0).min();
        recorded.origin_ps = i128::from(origin.unwrap_or(0)) * i128::from(MICROSECOND_PS);
        recorded.ops = read.nodes.iter().map(|node| self.op(node, rank, origin.unwrap_or(0))).collect();
        recorded.kinds = self.kinds.items;
        recorded.channels = self.channels.items;
    }

    fn op(&mut self, node: &Node, rank: Option<u32>, origin: u64) -> RecordedOp {
        let on_host = node.on_host();
        let stream = self.streams.place((on_host, node.integer("tid").unwrap_or(0)));
        let mut meeting = None;
        let kind = match node.class() {
            class if on_host => {
                let class = if class == Class::Collective { "host launch" } else { "host" };
                KindInfo::launched(base(&node.name), class, Role::Other)
            }
            Class::Collective | Class::Send | Class::Receive => {
                meeting = self.meeting(node, rank);
                let group = node.group().map_or(String::new(), |group| format!("({group}) "));
                let bytes = node.integer("comm_size");
                let size = bytes.map_or(String::new(), |size| format!("{size} bytes"));
                let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
                communication(node.collective(), format!("{group}{size}").trim(), bytes)
            }
            Class::Compute => KindInfo::launched(base(&node.name), "compute", Role::Compute),
            Class::Memory => KindInfo::launched(base(&node.name), "memory", Role::Other),
            Class::Metadata => KindInfo::launched("metadata", "metadata", Role::Other),
        };
        let ps = |micros: u64| {
            i64::try_from(micros.saturating_mul(MICROSECOND_PS)).unwrap_or(i64::MAX).min(1 << 60)
        };
        RecordedOp {
            step: 0,
            kind: self.kinds.place(kind),
            stream: stream.min(u32::from(u16::MAX)) as u16,
            start_ps: ps(node.start_time_micros.saturating_sub(origin)),
            duration_ps: ps(node.duration_micros),
            meeting,
        }
    }

    fn meeting(&mut self, node: &Node, rank: Option<u32>) -> Option<Meeting> {
        let peer = |name: &str| node.integer(name).and_then(|rank| u32::try_from(rank).ok());
        let tag = node.integer("comm_tag").unwrap_or(0);
        let pair = |from: u32, to: u32| Channel {
            key: format!("pair {from} {to} {tag}"),
            label: format!("the messages from rank {from} to rank {to}"),
            size: Some(2),
            by_order: true,
            numbered: false,
            ends_together: false,
            one_way: true,
        };
        let channel = match node.class() {
            Class::Send => pair(rank?, peer("comm_dst")?),
            Class::Receive => pair(peer("comm_src")?, rank?),
            _ => {
                let collective = node.collective();
                let group = node.group().unwrap_or_else(|| "all".into());
                Channel {
                    key: format!("group {group} {collective}"),
                    label: format!("{collective} of group {group}"),
                    size: None,
                    by_order: true,
                    numbered: false,
                    ends_together: ends_together(collective),
                    one_way: false,
                }
            }
        };
        let channel = self.channels.place(channel);
        Some(Meeting { channel, number: self.counter.next(0, channel) })
    }
}

/// What a node describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Metadata,
    Memory,
    Compute,
    Send,
    Receive,
    Collective,
}

impl Node {
    fn class(&self) -> Class {
        match self.kind {
            2 | 3 => Class::Memory,
            4 => Class::Compute,
            5 => Class::Send,
            6 => Class::Receive,
            7 => Class::Collective,
            _ => Class::Metadata,
        }
    }

    /// Whether this is the host's part of an operation. False in traces without this attribute.
    fn on_host(&self) -> bool {
        self.attribute("is_cpu_op").is_some_and(|of| of.bool == Some(true) || of.integer == Some(1))
    }

    fn group(&self) -> Option<String> {
        let of = self.attribute("pg_name").or_else(|| self.attribute("comm_group"))?;
        of.string
            .clone()
            .or_else(|| of.integer.map(|number| number.to_string()))
            .filter(|name| !name.is_empty())
    }

    fn collective(&self) -> &'static str {
        match (self.class(), self.integer("comm_type")) {
            (Class::Send, _) => "send",
            (Class::Receive, _) => "recv",
            (_, Some(0)) => "all_reduce",
            (_, Some(1)) => "reduce",
            (_, Some(2)) => "all_gather",
            (_, Some(3)) => "gather",
            (_, Some(4)) => "scatter",
            (_, Some(5)) => "broadcast",
            (_, Some(6)) => "all_to_all",
            (_, Some(7 | 8)) => "reduce_scatter",
            (_, Some(9)) => "barrier",
            _ => super::recorded::collective_name(&self.name),
        }
    }
}

/// The name of a function without template arguments and parameters.
fn base(name: &str) -> String {
    let name = name.replace("(anonymous namespace)::", "");
    let end = name.find(['(', '<']).filter(|&end| end > 0).unwrap_or(name.len());
    name[..end].trim_start_matches("void ").trim().chars().take(120).collect()
}

/// Control and data dependencies. Some converters write control dependencies that contradict the data; then only data
/// dependencies count.
fn edges(nodes: &[Node], recorded: &mut Recorded) -> Result<Vec<(u32, u32)>, ImportError> {
    let places: HashMap<u64, u32> = nodes.iter().map(|node| node.id).zip(0..).collect();
    if places.len() < nodes.len() {
        recorded.note("some nodes share an id: dependencies on them refer to the last one.");
    }
    let (all, unknown) = dependencies(nodes, &places, true);
    if unknown > 0 {
        let are = words::plural(unknown, "dependency is", "dependencies are");
        recorded.note(&format!("{unknown} {are} on nodes missing from the file, and left out."));
    }
    if Graph::new(nodes.len(), &all, &[]).is_ok() {
        return Ok(all);
    }
    let (data, _) = dependencies(nodes, &places, false);
    match Graph::new(nodes.len(), &data, &[]) {
        Ok(_) => {
            recorded.note("control dependencies form a cycle: only data dependencies are used.");
            Ok(data)
        }
        Err(node) => Err(ImportError::Nothing {
            path: recorded.path.clone(),
            what: format!("node {} depends on itself, through others", nodes[node as usize].id),
        }),
    }
}

/// The edges, without those of a node to itself, and the number of edges to missing nodes.
fn dependencies(nodes: &[Node], places: &HashMap<u64, u32>, control: bool) -> (Vec<(u32, u32)>, usize) {
    let mut unknown = 0;
    let mut edges = Vec::new();
    for (after, node) in (0..).zip(nodes) {
        for dependency in node.ctrl_deps.iter().filter(|_| control).chain(&node.data_deps) {
            match places.get(dependency) {
                Some(&before) if before == after => {}
                Some(&before) => edges.push((after, before)),
                None => unknown += 1,
            }
        }
    }
    edges.sort_unstable();
    edges.dedup();
    (edges, unknown)
}

fn notes(read: &Nodes, recorded: &mut Recorded) {
    let count = |what: &dyn Fn(&&Node) -> bool| read.nodes.iter().filter(what).count();
    let collectives = count(&|node| node.class() == Class::Collective);
    let on_host = count(&|node| node.class() == Class::Collective && node.on_host());
    recorded.note(&format!(
        "{} nodes, {collectives} of them {}, of which {on_host} on the host.",
        read.nodes.len(),
        words::plural(collectives, "a collective", "collectives")
    ));
    let communicates = |node: &&Node| {
        !node.on_host() && matches!(node.class(), Class::Collective | Class::Send | Class::Receive)
    };
    let common = &mut recorded.common_notes;
    if recorded.no_starts {
        common.push(
            "Chakra: the nodes have no start times. Starts are the earliest that the dependencies allow, so launch \
             delays cannot be seen."
                .into(),
        );
    }
    if read.nodes.iter().all(|node| node.duration_micros == 0) {
        common.push(
            "Chakra: the nodes have no durations. Only the graph is known; slowdowns cannot be determined."
                .into(),
        );
    } else if read.nodes.iter().filter(communicates).all(|node| node.duration_micros == 0) {
        common.push("Chakra: communications have no durations. Only computation can be judged.".into());
    }
}
