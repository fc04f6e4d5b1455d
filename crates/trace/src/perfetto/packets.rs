//! The messages of Perfetto's format that a trace needs, by the numbers of their fields in its public definition
//! (`protos/perfetto/trace` of github.com/google/perfetto: trace.proto, trace_packet.proto,
//! track_event/track_event.proto, track_descriptor.proto and debug_annotation.proto).

/// All packets, one after the other.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<Packet>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Packet {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub sequence: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub event: Option<Event>,
    #[prost(message, optional, tag = "60")]
    pub track: Option<Track>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Track {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub tid: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, prost::Enumeration)]
#[repr(i32)]
pub enum EventKind {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Event {
    #[prost(message, repeated, tag = "4")]
    pub annotations: Vec<Annotation>,
    #[prost(enumeration = "EventKind", optional, tag = "9")]
    pub kind: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flows: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub ended_flows: Vec<u64>,
}

/// A name and a value, shown with a slice.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Annotation {
    #[prost(uint64, optional, tag = "3")]
    pub unsigned: Option<u64>,
    #[prost(int64, optional, tag = "4")]
    pub signed: Option<i64>,
    #[prost(string, optional, tag = "6")]
    pub text: Option<String>,
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
}

impl Annotation {
    pub fn number(name: &str, value: u64) -> Annotation {
        Annotation { name: Some(name.into()), unsigned: Some(value), ..Annotation::default() }
    }

    pub fn integer(name: &str, value: i64) -> Annotation {
        Annotation { name: Some(name.into()), signed: Some(value), ..Annotation::default() }
    }

    pub fn word(name: &str, value: &str) -> Annotation {
        Annotation { name: Some(name.into()), text: Some(value.into()), ..Annotation::default() }
    }
}
