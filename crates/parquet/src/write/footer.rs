//! The footer of a file that is written. Field numbers and values are those of `parquet.thrift`.

use super::chunk::Chunk;
use super::{Field, Kind, Layout};
use crate::MAGIC;
use crate::page_header::{PLAIN, RLE, RLE_DICTIONARY};
use crate::thrift::Encoder;

/// The name under which the footer states the checksum.
pub const CHECKSUM_KEY: &str = "straggler.crc32";
const MADE_BY: &str = "straggler";

/// Placeholder for the checksum: eight hexadecimal digits.
pub const NO_CHECKSUM: &str = "00000000";

/// The footer up to the number of rows: the same in all files of a layout.
pub fn schema(layout: &Layout<'_>) -> Vec<u8> {
    let mut out = Encoder::default();
    out.i32(1, 1);
    out.structs(2, layout.columns.len() + 1);
    out.open_item();
    out.text(4, "schema");
    out.i32(5, layout.columns.len() as i32);
    out.close();
    for field in layout.columns {
        schema_of(&mut out, field);
    }
    out.bytes
}

fn schema_of(out: &mut Encoder, field: &Field) {
    out.open_item();
    out.i32(1, physical(field.kind));
    out.i32(3, i32::from(field.nullable));
    out.text(4, field.name);
    match field.kind {
        Kind::Text => {
            out.i32(6, 0);
            out.open(10);
            out.open(1);
            out.close();
            out.close();
        }
        Kind::U32 => unsigned(out, 13, 32),
        Kind::U64 => unsigned(out, 14, 64),
        Kind::Bool | Kind::I32 | Kind::I64 | Kind::F64 => {}
    }
    out.close();
}

fn unsigned(out: &mut Encoder, converted: i32, bits: u8) {
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
        Kind::I32 | Kind::U32 => 1,
        Kind::I64 | Kind::U64 => 2,
        Kind::F64 => 5,
        Kind::Text => 6,
    }
}

/// The whole footer and the end of the file; chunks go by group, then by column.
pub fn footer(layout: &Layout<'_>, rows: usize, chunks: &[Chunk]) -> Vec<u8> {
    let mut bytes = schema(layout);
    let mut out = Encoder::after(2);
    out.i64(3, rows as u64);
    let groups = chunks.chunks(layout.columns.len().max(1));
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

fn write_group(out: &mut Encoder, layout: &Layout<'_>, chunks: &[Chunk]) {
    out.open_item();
    out.structs(1, chunks.len());
    for (field, chunk) in layout.columns.iter().zip(chunks) {
        out.open_item();
        out.i64(2, chunk.offset);
        out.open(3);
        out.i32(1, physical(field.kind));
        match field.dictionary {
            true => out.i32s(2, &[PLAIN, RLE, RLE_DICTIONARY]),
            false => out.i32s(2, &[PLAIN, RLE]),
        }
        out.texts(3, &[field.name]);
        out.i32(4, layout.codec.number());
        out.i64(5, chunk.rows as u64);
        out.i64(6, chunk.unpacked_bytes);
        out.i64(7, chunk.bytes);
        out.i64(9, chunk.offset + chunk.dictionary_bytes);
        if field.dictionary {
            out.i64(11, chunk.offset);
        }
        out.close();
        out.close();
    }
    out.i64(2, chunks.iter().map(|chunk| chunk.unpacked_bytes).sum());
    out.i64(3, chunks.first().map_or(0, |chunk| chunk.rows as u64));
    out.close();
}

/// The last fields of the footer: the same bytes in all files of a layout, except for the checksum.
pub fn ending(layout: &Layout<'_>) -> Vec<u8> {
    let mut out = Encoder::after(4);
    if let Some(seal) = layout.seal {
        out.structs(5, 2);
        for (key, value) in [(seal.key, seal.version), (CHECKSUM_KEY, NO_CHECKSUM)] {
            out.open_item();
            out.text(1, key);
            out.text(2, value);
            out.close();
        }
    }
    out.text(6, MADE_BY);
    out.close();
    out.bytes
}

/// The distance in bytes from the checksum to the end of a sealed file.
pub fn checksum_before_end(layout: &Layout<'_>) -> usize {
    let after_checksum = {
        let ending = ending(layout);
        let digits = NO_CHECKSUM.as_bytes();
        let at = ending.windows(digits.len()).rposition(|window| window == digits);
        ending.len() - at.unwrap_or_default()
    };
    after_checksum + 8
}
