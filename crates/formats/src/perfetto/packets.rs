//! The messages of Perfetto's format that a trace needs, by the numbers of their fields in its public
//! definition (`protos/perfetto/trace` of github.com/google/perfetto: trace.proto, trace_packet.proto,
//! track_event/track_event.proto, track_descriptor.proto and debug_annotation.proto), in the wire
//! format of protocol buffers: a field is its number and kind, then a varint, eight bytes, or a length
//! and that many bytes. A dozen fields do not justify a library.

use straggler_trace::format::varint::put;

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<u8>);

impl Fields {
    pub fn number(mut self, field: u64, value: u64) -> Fields {
        put(&mut self.0, field << 3 | VARINT);
        put(&mut self.0, value);
        self
    }

    fn fixed(mut self, field: u64, value: u64) -> Fields {
        put(&mut self.0, field << 3 | FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Fields {
        put(&mut self.0, field << 3 | BYTES);
        put(&mut self.0, value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub fn text(self, field: u64, value: &str) -> Fields {
        self.bytes(field, value.as_bytes())
    }

    pub fn message(self, field: u64, value: &Fields) -> Fields {
        self.bytes(field, &value.0)
    }

    /// The packet as an entry of the outermost message, which is thus never held as a whole.
    pub fn as_packet(&self) -> Vec<u8> {
        Fields::default().message(1, self).0
    }
}

/// All packets belong to one sequence.
const SEQUENCE: u64 = 1;

/// A packet that describes a track.
pub(super) fn track(track: &Fields) -> Fields {
    Fields::default().number(10, SEQUENCE).message(60, track)
}

/// The track of a process.
pub(super) fn process(uuid: u64, pid: u64, name: &str) -> Fields {
    let process = Fields::default().number(1, pid).text(6, name);
    Fields::default().number(1, uuid).message(3, &process)
}

/// The track of a thread of a process.
pub(super) fn thread(uuid: u64, parent: u64, (pid, tid): (u64, u64), name: &str) -> Fields {
    let thread = Fields::default().number(1, pid).number(2, tid).text(5, name);
    Fields::default().number(1, uuid).message(4, &thread).number(5, parent)
}

/// What happens on a track.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventKind {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
}

/// An event on a track.
#[derive(Clone, Debug)]
pub(super) struct Event(Fields);

impl Event {
    pub fn new(kind: EventKind, track: u64) -> Event {
        Event(Fields::default().number(9, kind as u64).number(11, track))
    }

    pub fn named(self, name: &str, category: &str) -> Event {
        Event(self.0.text(22, category).text(23, name))
    }

    /// Adds values that are shown with the event.
    pub fn with(self, annotations: &[(&str, Value)]) -> Event {
        Event(annotations.iter().fold(self.0, |fields, (name, value)| {
            let annotation = Fields::default().text(10, name);
            let annotation = match value {
                Value::Number(value) => annotation.number(3, *value),
                // A negative number is written as its two's complement.
                Value::Integer(value) => annotation.number(4, *value as u64),
                Value::Word(value) => annotation.text(6, value),
            };
            fields.message(4, &annotation)
        }))
    }

    /// Adds flows that begin here.
    pub fn begins(self, flows: impl Iterator<Item = u64>) -> Event {
        Event(flows.fold(self.0, |fields, flow| fields.fixed(47, flow)))
    }

    /// Adds a flow that ends here.
    pub fn ends(self, flow: u64) -> Event {
        Event(self.0.fixed(48, flow))
    }

    /// The packet of the event, at a time in nanoseconds.
    pub fn at(&self, ns: u64) -> Fields {
        Fields::default().number(8, ns).number(10, SEQUENCE).message(11, &self.0)
    }
}

/// The value of an annotation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Number(u64),
    Integer(i64),
    Word(&'static str),
}
