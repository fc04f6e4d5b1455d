//! PyTorch execution traces: JSON with the operations of the host, without times. They only show which communications a rank has,
//! and their order.

use super::json::{self, End, Sink};
use super::recorded::{
    Channel, Counter, Distinct, Meeting, Recorded, RecordedOp, collective_name, communication, ends_together,
};
use super::{ImportError, source, words};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Value};
use std::path::Path;

const PROFILER_STEP: &str = "ProfilerStep#";
const COMMUNICATION: &str = "record_param_comms";

pub fn read(path: &Path) -> Result<Recorded, ImportError> {
    let mut nodes = Nodes::default();
    let end = json::walk(source::open(path)?, &mut nodes)
        .map_err(|source| ImportError::Io { path: path.into(), source })?;
    nodes.communications.retain(|node| !matches!(node.name.as_str(), "wait" | "init" | ""));
    if nodes.communications.is_empty() {
        let what = format!("none of its {} nodes is a communication or has a time", nodes.count);
        return Err(ImportError::Nothing { path: path.into(), what });
    }
    let mut recorded = Recorded {
        path: path.into(),
        rank: source::rank_in_name(path),
        no_starts: true,
        ..Recorded::default()
    };
    if let End::Broken(at) = end {
        let count = nodes.count;
        recorded.note(&format!(
            "the JSON is truncated or damaged at byte {at}. The {count} nodes before that are used."
        ));
    }
    if nodes.unreadable > 0 {
        let were = words::plural(nodes.unreadable, "node was", "nodes were");
        recorded.note(&format!("{} {were} left out: unknown form.", nodes.unreadable));
    }
    let count = nodes.communications.len();
    recorded.note(&format!(
        "{} nodes, {count} of them {}.",
        nodes.count,
        words::plural(count, "a communication", "communications")
    ));
    build(nodes, &mut recorded);
    recorded.common_notes.push(
        "PyTorch execution traces have no times: only the communications and their order are known. Slowdowns cannot be \
         determined. Give the profiler's traces of the same run."
            .into(),
    );
    Ok(recorded)
}

/// Node ids increase in the order in which the host began the nodes.
fn build(mut nodes: Nodes, recorded: &mut Recorded) {
    nodes.communications.sort_by_key(|node| node.id);
    nodes.steps.sort_unstable();
    let (mut kinds, mut channels, mut counter) =
        (Distinct::default(), Distinct::default(), Counter::default());
    let mut edges = Vec::new();
    for node in &nodes.communications {
        let step = match nodes.steps.partition_point(|&(id, _)| id <= node.id) {
            0 if nodes.steps.is_empty() => 0,
            0 => continue,
            place => nodes.steps[place - 1].1,
        };
        let collective = collective_name(&node.name);
        let group = node.group.as_deref().unwrap_or("all");
        let channel = channels.place(Channel {
            key: format!("group {group} {collective}"),
            label: format!("{collective} of group {group}"),
            size: node.size,
            by_order: true,
            numbered: false,
            ends_together: ends_together(collective),
            one_way: false,
        });
        let detail = node.elements.map_or(String::new(), |elements| format!("{elements} elements"));
        let kind = kinds.place(communication(collective, &detail, None));
        let meeting = (!matches!(collective, "send" | "recv"))
            .then(|| Meeting { channel, number: counter.next(step, channel) });
        let place = recorded.ops.len() as u32;
        if recorded.ops.last().is_some_and(|last: &RecordedOp| last.step == step) {
            edges.push((place, place - 1));
        }
        recorded.ops.push(RecordedOp { step, kind, stream: 0, start_ps: 0, duration_ps: 0, meeting });
    }
    recorded.steps = recorded.ops.iter().map(|op| op.step).collect();
    recorded.steps.sort_unstable();
    recorded.steps.dedup();
    recorded.edges = edges;
    recorded.kinds = kinds.items;
    recorded.channels = channels.items;
}

struct Communication {
    id: u64,
    name: String,
    group: Option<String>,
    size: Option<u32>,
    elements: Option<u64>,
}

#[derive(Default)]
struct Nodes {
    count: usize,
    unreadable: usize,
    communications: Vec<Communication>,
    /// Node id and step number.
    steps: Vec<(u64, i64)>,
}

#[derive(Deserialize)]
struct Node<'a> {
    id: u64,
    #[serde(borrow)]
    name: &'a RawValue,
    /// A list up to schema 1.0; later an object with `values`.
    #[serde(borrow, default)]
    inputs: Option<&'a RawValue>,
    #[serde(borrow, default)]
    attrs: Option<&'a RawValue>,
}

impl Sink for Nodes {
    fn is_list(&self, key: &str) -> bool {
        key == "nodes"
    }

    fn element(&mut self, text: &[u8]) -> Result<usize, serde_json::Error> {
        let mut nodes = Deserializer::from_slice(text).into_iter::<Node>();
        let node = nodes.next().transpose()?;
        let length = nodes.byte_offset();
        if let Some(node) = node {
            self.count += 1;
            let name = node.name.get().trim_matches('"');
            if let Some(number) = name.strip_prefix(PROFILER_STEP).and_then(|number| number.parse().ok()) {
                self.steps.push((node.id, number));
            } else if name == COMMUNICATION {
                self.communications.push(described(&node));
            }
        }
        Ok(length)
    }

    fn member(&mut self, _: &str, _: &RawValue) {}

    fn strange(&mut self) {
        self.count += 1;
        self.unreadable += 1;
    }

    fn may_begin(&self, text: &[u8]) -> bool {
        // Attributes are also objects in a list, but begin with their name.
        text[1..].trim_ascii_start().starts_with(b"\"id\"")
    }

    fn damaged(&mut self, _: u64) {
        self.strange();
    }
}

fn described(node: &Node) -> Communication {
    let parsed = |raw: Option<&RawValue>| {
        raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()).unwrap_or_default()
    };
    let attributes = parsed(node.attrs);
    let attribute = |name: &str| {
        let found = attributes.as_array()?.iter().find(|attribute| attribute["name"] == name)?;
        Some(found["value"].clone())
    };
    let number = |name: &str| attribute(name).and_then(|value| value.as_u64());
    let text = |name: &str| attribute(name).and_then(|value| value.as_str().map(str::to_string));
    Communication {
        id: node.id,
        name: text("collective_name").unwrap_or_else(|| name_of_inputs(&parsed(node.inputs))),
        group: text("pg_name"),
        size: number("pg_size").and_then(|size| u32::try_from(size).ok()),
        elements: number("in_msg_nelems"),
    }
}

/// The name of the collective: the first string among the inputs.
fn name_of_inputs(inputs: &Value) -> String {
    let values = inputs.as_array().or_else(|| inputs["values"].as_array());
    values.into_iter().flatten().find_map(Value::as_str).unwrap_or("").to_string()
}
