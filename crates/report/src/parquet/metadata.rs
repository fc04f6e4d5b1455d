//! The metadata of a Parquet file. Field numbers and values are those of `parquet.thrift`.

use super::thrift::{Cursor, Writer};
use super::{Column, Kind, Layout, MAGIC};

const CHECKSUM_KEY: &str = "straggler.crc32";
const MADE_BY: &str = "straggler";

/// Placeholder for the checksum: eight hexadecimal digits.
pub const NO_CHECKSUM: &str = "00000000";

const DATA_PAGE: i32 = 0;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const GZIP: i32 = 2;

/// The location of one column of a group.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    pub offset: u64,
    pub rows: usize,
    pub bytes: u64,
    pub unpacked_bytes: u64,
}

/// The footer up to the number of rows: the same in all files of a layout.
pub fn schema(layout: &Layout) -> Vec<u8> {
    let mut out = Writer::default();
    out.i32(1, 1);
    out.structs(2, layout.columns.len() + 1);
    out.open_item();
    out.text(4, "schema");
    out.i32(5, layout.columns.len() as i32);
    out.close();
    for column in layout.columns {
        schema_of(&mut out, column);
    }
    out.bytes
}

fn schema_of(out: &mut Writer, column: &Column) {
    out.open_item();
    out.i32(1, physical(column.kind));
    out.i32(3, i32::from(column.kind == Kind::OptionalU64));
    out.text(4, column.name);
    match column.kind {
        Kind::Text => {
            out.i32(6, 0);
            out.open(10);
            out.open(1);
            out.close();
            out.close();
        }
        Kind::U32 => unsigned(out, 13, 32),
        Kind::U64 | Kind::OptionalU64 => unsigned(out, 14, 64),
        Kind::Bool | Kind::F64 => {}
    }
    out.close();
}

fn unsigned(out: &mut Writer, converted: i32, bits: u8) {
    out.i32(6, converted);
    out.open(10);
    out.open(10);
    out.i8(1, bits);
    out.bool(2, false);
    out.close();
    out.close();
}

fn physical(kind: Kind) -> i32 {
    match kind {
        Kind::Bool => 0,
        Kind::U32 => 1,
        Kind::U64 | Kind::OptionalU64 => 2,
        Kind::F64 => 5,
        Kind::Text => 6,
    }
}

/// The whole footer and the end of the file; chunks go by group, then by column.
pub fn footer(layout: &Layout, rows: usize, chunks: &[Chunk]) -> Vec<u8> {
    let mut bytes = schema(layout);
    let mut out = Writer::after(2);
    out.i64(3, rows as u64);
    let groups = chunks.chunks(layout.columns.len());
    out.structs(4, groups.len());
    for group in groups {
        write_group(&mut out, layout, group);
    }
    bytes.extend(out.bytes);
    bytes.extend(ending(layout));
    let length = bytes.len() as u32;
    bytes.extend(length.to_le_bytes());
    bytes.extend(MAGIC);
    bytes
}

fn write_group(out: &mut Writer, layout: &Layout, chunks: &[Chunk]) {
    out.open_item();
    out.structs(1, chunks.len());
    for (column, chunk) in layout.columns.iter().zip(chunks) {
        out.open_item();
        out.i64(2, chunk.offset);
        out.open(3);
        out.i32(1, physical(column.kind));
        out.i32s(2, &[PLAIN, RLE]);
        out.texts(3, &[column.name]);
        out.i32(4, GZIP);
        out.i64(5, chunk.rows as u64);
        out.i64(6, chunk.unpacked_bytes);
        out.i64(7, chunk.bytes);
        out.i64(9, chunk.offset);
        out.close();
        out.close();
    }
    out.i64(2, chunks.iter().map(|chunk| chunk.unpacked_bytes).sum());
    out.i64(3, chunks.first().map_or(0, |chunk| chunk.rows as u64));
    out.close();
}

/// The last fields of the footer: the same bytes in all files of a layout, except for the checksum.
pub fn ending(layout: &Layout) -> Vec<u8> {
    let mut out = Writer::after(4);
    out.structs(5, 2);
    for (key, value) in [(layout.key, layout.version), (CHECKSUM_KEY, NO_CHECKSUM)] {
        out.open_item();
        out.text(1, key);
        out.text(2, value);
        out.close();
    }
    out.text(6, MADE_BY);
    out.close();
    out.bytes
}

/// The distance in bytes from the checksum to the end of the file.
pub fn checksum_before_end(layout: &Layout) -> usize {
    let after_checksum = {
        let ending = ending(layout);
        let digits = NO_CHECKSUM.as_bytes();
        let at = ending.windows(digits.len()).rposition(|window| window == digits);
        ending.len() - at.unwrap_or_default()
    };
    after_checksum + 8
}

/// The header of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageHeader {
    pub rows: i32,
    pub bytes: i32,
    pub unpacked_bytes: i32,
    /// CRC-32 of the bytes in the file, for readers that check page by page.
    pub checksum: i32,
}

impl PageHeader {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.i32(1, DATA_PAGE);
        out.i32(2, self.unpacked_bytes);
        out.i32(3, self.bytes);
        out.i32(4, self.checksum);
        out.open(5);
        out.i32(1, self.rows);
        out.i32(2, PLAIN);
        out.i32(3, RLE);
        out.i32(4, RLE);
        out.close();
        out.close();
        out.bytes
    }

    /// Decodes the header at the start of `bytes`; also returns the rest.
    pub fn decode(bytes: &[u8]) -> Option<(PageHeader, &[u8])> {
        let mut cursor = Cursor(bytes);
        let kind = cursor.i32()?;
        let [unpacked_bytes, bytes, checksum] = [cursor.i32()?, cursor.i32()?, cursor.i32()?];
        cursor.open()?;
        let rows = cursor.i32()?;
        let encodings = [cursor.i32()?, cursor.i32()?, cursor.i32()?];
        cursor.close()?;
        cursor.close()?;
        let ours = kind == DATA_PAGE && encodings == [PLAIN, RLE, RLE];
        ours.then_some((PageHeader { rows, bytes, unpacked_bytes, checksum }, cursor.0))
    }
}
