//! The footer of a file: its columns, its row groups, and where each column of a group is. Field numbers and values
//! are those of `parquet.thrift`.

use crate::error::{Fault, fault};
use crate::schema::Schema;
use crate::thrift::{self, Decoder, Wrong};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metadata {
    pub schema: Schema,
    pub groups: Vec<Group>,
}

/// A number of rows whose columns are stored together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    pub rows: u64,
    /// By column of the schema.
    pub(crate) chunks: Vec<Chunk>,
}

/// One column of a group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chunk {
    pub codec: i32,
    /// Where its pages begin, and their bytes.
    pub start: u64,
    pub length: u64,
    pub encrypted: bool,
    pub in_other_file: bool,
}

impl Metadata {
    /// Decodes the footer of a file whose pages end before byte `end`.
    pub fn decode(footer: &[u8], end: u64) -> Result<Metadata, Fault> {
        let text = |wrong: Wrong| Fault::Borrowed(wrong.text());
        let mut input = Decoder::new(footer);
        let (mut schema, mut groups, mut last) = (None, None, 0);
        while let Some((number, kind)) = input.field(&mut last).map_err(text)? {
            match (number, kind) {
                (2, thrift::LIST) => schema = Some(Schema::decode(&mut input)?),
                (4, thrift::LIST) => groups = Some(decode_groups(&mut input, end)?),
                _ => input.skip(kind).map_err(text)?,
            }
        }
        let schema = schema.ok_or("it lists no columns")?;
        let groups = groups.ok_or("it lists no row groups")?;
        for (number, group) in groups.iter().enumerate() {
            let (found, expected) = (group.chunks.len(), schema.columns.len());
            if found != expected {
                return Err(fault!("row group {number} has {found} columns, the table has {expected}"));
            }
        }
        Ok(Metadata { schema, groups })
    }
}

fn decode_groups(input: &mut Decoder<'_>, end: u64) -> Result<Vec<Group>, Fault> {
    let text = |wrong: Wrong| Fault::Borrowed(wrong.text());
    let (kind, length) = input.list().map_err(text)?;
    if kind != thrift::STRUCT && length > 0 {
        return Err("row groups are not structs".into());
    }
    let mut groups = Vec::new();
    for number in 0..length {
        let (rows, raw) = decode_group(input).map_err(text)?;
        let rows = u64::try_from(rows).map_err(|_| fault!("row group {number} has {rows} rows"))?;
        let chunks = raw.iter().map(|raw| raw.checked(end));
        let chunks = chunks.collect::<Option<Vec<Chunk>>>();
        let chunks = chunks.ok_or_else(|| fault!("a column of row group {number} is outside of the file"))?;
        groups.push(Group { rows, chunks });
    }
    Ok(groups)
}

fn decode_group(input: &mut Decoder<'_>) -> Result<(i64, Vec<RawChunk>), Wrong> {
    let (mut rows, mut chunks, mut last) = (0, Vec::new(), 0);
    while let Some((number, kind)) = input.field(&mut last)? {
        match (number, kind) {
            (1, thrift::LIST) => {
                let (kind, length) = input.list()?;
                if kind != thrift::STRUCT && length > 0 {
                    return Err(Wrong::Invalid("columns are not structs"));
                }
                chunks = (0..length).map(|_| RawChunk::decode(input)).collect::<Result<_, _>>()?;
            }
            (3, thrift::I64) => rows = input.i64()?,
            _ => input.skip(kind)?,
        }
    }
    Ok((rows, chunks))
}

/// A chunk as stated.
#[derive(Default)]
struct RawChunk {
    codec: i32,
    bytes: i64,
    data: i64,
    dictionary: Option<i64>,
    described: bool,
    encrypted: bool,
    in_other_file: bool,
}

impl RawChunk {
    fn decode(input: &mut Decoder<'_>) -> Result<RawChunk, Wrong> {
        let (mut chunk, mut last) = (RawChunk::default(), 0);
        while let Some((number, kind)) = input.field(&mut last)? {
            match (number, kind) {
                (1, thrift::BINARY) => chunk.in_other_file = !input.binary()?.is_empty(),
                (3, thrift::STRUCT) => chunk.describe(input)?,
                (8 | 9, _) => {
                    chunk.encrypted = true;
                    input.skip(kind)?;
                }
                _ => input.skip(kind)?,
            }
        }
        Ok(chunk)
    }

    fn describe(&mut self, input: &mut Decoder<'_>) -> Result<(), Wrong> {
        let mut last = 0;
        while let Some((number, kind)) = input.field(&mut last)? {
            match (number, kind) {
                (4, thrift::I32) => self.codec = input.i32()?,
                (7, thrift::I64) => self.bytes = input.i64()?,
                (9, thrift::I64) => self.data = input.i64()?,
                (11, thrift::I64) => self.dictionary = Some(input.i64()?),
                _ => input.skip(kind)?,
            }
        }
        self.described = true;
        Ok(())
    }

    /// The chunk, if it is within the pages of the file.
    fn checked(&self, end: u64) -> Option<Chunk> {
        let chunk = Chunk {
            codec: self.codec,
            encrypted: self.encrypted,
            in_other_file: self.in_other_file,
            ..Chunk::default()
        };
        if self.encrypted || self.in_other_file {
            return Some(chunk);
        }
        // Some writers state a dictionary at 0 if there is none.
        let dictionary = self.dictionary.filter(|&at| at > 0 && at < self.data);
        let start = u64::try_from(dictionary.unwrap_or(self.data)).ok()?;
        let length = u64::try_from(self.bytes).ok()?;
        let is_inside = self.described && start.checked_add(length).is_some_and(|last| last <= end);
        is_inside.then_some(Chunk { start, length, ..chunk })
    }
}
