//! The messages of a Chakra file.

use super::protobuf::{Broken, Fields};
use std::io::Read;

#[derive(Clone, PartialEq, Default, Debug)]
pub struct Attribute {
    pub name: String,
    pub bool: Option<bool>,
    pub string: Option<String>,
    /// The value, if it is an integer of any type.
    pub integer: Option<i64>,
}

impl Attribute {
    fn decode(bytes: &[u8]) -> Result<Attribute, Broken> {
        let mut attribute = Attribute::default();
        for field in Fields::new(bytes) {
            let (number, value) = field?;
            match number {
                1 => attribute.name = value.string()?,
                // int32, int64, and the two unsigned ones.
                7 => attribute.integer = Some((value.number()? as i32).into()),
                9 => attribute.integer = Some(value.number()? as i64),
                11 | 13 => attribute.integer = i64::try_from(value.number()?).ok(),
                27 => attribute.bool = Some(value.number()? != 0),
                29 => attribute.string = Some(value.string()?),
                _ => {}
            }
        }
        Ok(attribute)
    }
}

/// Whether this is the message that describes a trace: a version and attributes, at least one of them.
fn is_metadata(bytes: &[u8]) -> Result<bool, Broken> {
    let mut found = false;
    for field in Fields::new(bytes) {
        match field? {
            (1, value) => found |= !value.string()?.is_empty(),
            (2, value) => {
                Attribute::decode(value.bytes()?)?;
                found = true;
            }
            _ => {}
        }
    }
    Ok(found)
}

#[derive(Clone, PartialEq, Default, Debug)]
pub struct Node {
    pub id: u64,
    pub name: String,
    pub kind: i32,
    pub ctrl_deps: Vec<u64>,
    pub data_deps: Vec<u64>,
    pub start_time_micros: u64,
    pub duration_micros: u64,
    attributes: Vec<Attribute>,
}

impl Node {
    /// Decodes a node, without the attributes that nobody uses.
    fn decode(bytes: &[u8]) -> Result<Node, Broken> {
        let mut node = Node::default();
        for field in Fields::new(bytes) {
            let (number, value) = field?;
            match number {
                1 => node.id = value.number()?,
                2 => node.name = value.string()?,
                3 => node.kind = value.number()? as i32,
                4 => value.append_numbers(&mut node.ctrl_deps)?,
                5 => value.append_numbers(&mut node.data_deps)?,
                6 => node.start_time_micros = value.number()?,
                7 => node.duration_micros = value.number()?,
                10 => {
                    let attribute = Attribute::decode(value.bytes()?)?;
                    if USED.contains(&attribute.name.as_str()) {
                        node.attributes.push(attribute);
                    }
                }
                _ => {}
            }
        }
        node.attributes.shrink_to_fit();
        Ok(node)
    }

    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    pub fn integer(&self, name: &str) -> Option<i64> {
        self.attribute(name)?.integer
    }
}

/// The attributes that are used.
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
        Some(message) => is_metadata(message).unwrap_or(false),
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
                Ok(node) => found.nodes.push(node),
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
