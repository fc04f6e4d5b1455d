//! The messages of a Chakra file.

use prost::Message;
use std::io::Read;

#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int32, optional, tag = "7")]
    pub int32: Option<i32>,
    #[prost(int64, optional, tag = "9")]
    pub int64: Option<i64>,
    #[prost(uint32, optional, tag = "11")]
    pub uint32: Option<u32>,
    #[prost(uint64, optional, tag = "13")]
    pub uint64: Option<u64>,
    #[prost(bool, optional, tag = "27")]
    pub bool: Option<bool>,
    #[prost(string, optional, tag = "29")]
    pub string: Option<String>,
}

impl Attribute {
    pub fn integer(&self) -> Option<i64> {
        let unsigned = || i64::try_from(self.uint64?).ok();
        self.int64.or(self.int32.map(i64::from)).or(self.uint32.map(i64::from)).or_else(unsigned)
    }
}

#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(message, repeated, tag = "2")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Node {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "3")]
    pub kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub data_deps: Vec<u64>,
    #[prost(uint64, tag = "6")]
    pub start_time_micros: u64,
    #[prost(uint64, tag = "7")]
    pub duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    attributes: Vec<Attribute>,
}

impl Node {
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    pub fn integer(&self, name: &str) -> Option<i64> {
        self.attribute(name)?.integer()
    }
}

/// The attributes that are used. The others are dropped to save memory.
const USED: [&str; 9] = [
    "is_cpu_op",
    "tid",
    "comm_type",
    "comm_size",
    "comm_src",
    "comm_dst",
    "comm_tag",
    "comm_group",
    "pg_name",
];

pub struct Nodes {
    pub nodes: Vec<Node>,
    /// Where the file is truncated or cannot be decoded.
    pub broken_at: Option<u64>,
}

/// Whether the file begins with a length and a message that describes a trace. The message may continue beyond `head`.
pub fn begins(head: &[u8]) -> bool {
    let mut rest = head;
    let Some(length) = length(&mut rest).ok().flatten() else { return false };
    match rest.get(..usize::try_from(length).unwrap_or(usize::MAX)) {
        Some(message) => {
            length > 0 && Metadata::decode(message).is_ok_and(|found| found != Metadata::default())
        }
        // Field 1 or 2, both length-delimited.
        None => length < 1 << 28 && matches!(rest.first(), Some(0x0a | 0x12)),
    }
}

pub fn nodes(mut reader: impl Read) -> std::io::Result<Nodes> {
    let mut reader = std::io::BufReader::with_capacity(1 << 18, &mut reader);
    let mut found = Nodes { nodes: Vec::new(), broken_at: None };
    let mut at = 0;
    let mut buffer = Vec::new();
    let mut first = true;
    loop {
        let begin = at;
        match message(&mut reader, &mut buffer, &mut at) {
            Ok(true) if first => first = false,
            Ok(true) => match Node::decode(buffer.as_slice()) {
                Ok(mut node) => {
                    node.attributes.retain(|attribute| USED.contains(&attribute.name.as_str()));
                    node.attributes.shrink_to_fit();
                    found.nodes.push(node);
                }
                Err(_) => {
                    found.broken_at = Some(begin);
                    return Ok(found);
                }
            },
            Ok(false) => return Ok(found),
            Err(error) if is_end(&error) => {
                found.broken_at = Some(begin);
                return Ok(found);
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_end(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

/// Reads a message; false at the end of the file.
fn message(reader: &mut impl Read, buffer: &mut Vec<u8>, at: &mut u64) -> std::io::Result<bool> {
    let Some(length) = length(reader)? else { return Ok(false) };
    buffer.clear();
    let read = reader.take(length).read_to_end(buffer)? as u64;
    if read < length {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    *at += length + u64::from((64 - length.leading_zeros()).max(1).div_ceil(7));
    Ok(true)
}

/// Reads a number in base 128, lowest digits first. `None` at the end of the file.
fn length(reader: &mut impl Read) -> std::io::Result<Option<u64>> {
    let mut value = 0;
    for digit in 0..10 {
        let mut byte = [0];
        match reader.read(&mut byte)? {
            0 if digit == 0 => return Ok(None),
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => value |= u64::from(byte[0] & 0x7f).checked_shl(7 * digit).unwrap_or(0),
        }
        if byte[0] < 0x80 {
            return Ok(Some(value));
        }
    }
    Err(std::io::ErrorKind::InvalidData.into())
}
