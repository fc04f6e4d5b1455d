//! Writing a table: pages as they are produced, then the footer with their locations.

use super::metadata::{self, Chunk, NO_CHECKSUM, PageHeader};
use super::{Layout, MAGIC, Values, groups, pages_of_group};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::ops::Range;

/// Writes `rows` rows; calls `values` for some rows of a column at a time, in the order of the file.
pub fn write(
    out: &mut dyn Write,
    layout: &Layout,
    rows: usize,
    values: &mut dyn FnMut(usize, Range<usize>) -> Values,
) -> io::Result<()> {
    let mut out = Summed { out, written: 0, checksum: crc32fast::Hasher::new() };
    out.add(MAGIC)?;
    let mut chunks = Vec::new();
    for (first, count) in groups(rows) {
        for column in 0..layout.columns.len() {
            chunks.push(write_chunk(&mut out, first, count, &mut |rows| values(column, rows))?);
        }
    }
    let footer = metadata::footer(layout, rows, &chunks);
    out.finish(&footer, footer.len() - metadata::checksum_before_end(layout))
}

/// Writes one column of a group.
fn write_chunk(
    out: &mut Summed<'_>,
    mut first: usize,
    rows: usize,
    values: &mut dyn FnMut(Range<usize>) -> Values,
) -> io::Result<Chunk> {
    let mut chunk = Chunk { offset: out.written, rows, bytes: 0, unpacked_bytes: 0 };
    for rows in pages_of_group(rows) {
        chunk.unpacked_bytes += write_page(out, rows, &values(first..first + rows).encode())?;
        first += rows;
    }
    chunk.bytes = out.written - chunk.offset;
    Ok(chunk)
}

/// Writes a page and returns its uncompressed length, including the header.
fn write_page(out: &mut Summed<'_>, rows: usize, values: &[u8]) -> io::Result<u64> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(values)?;
    let page = packer.finish()?;
    let header = PageHeader {
        rows: rows as i32,
        bytes: length(&page)?,
        unpacked_bytes: length(values)?,
        checksum: crc32fast::hash(&page) as i32,
    };
    let header = header.encode();
    out.add(&header)?;
    out.add(&page)?;
    Ok((header.len() + values.len()) as u64)
}

fn length(bytes: &[u8]) -> io::Result<i32> {
    i32::try_from(bytes.len()).map_err(|_| io::Error::other("strings are too long for a Parquet page"))
}

/// A file being written, with its length and checksum so far.
struct Summed<'a> {
    out: &'a mut dyn Write,
    written: u64,
    checksum: crc32fast::Hasher,
}

impl Summed<'_> {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Writes the footer with the checksum of all other bytes of the file inserted.
    fn finish(mut self, footer: &[u8], place: usize) -> io::Result<()> {
        let after = place + NO_CHECKSUM.len();
        self.checksum.update(&footer[..place]);
        self.checksum.update(&footer[after..]);
        self.out.write_all(&footer[..place])?;
        write!(self.out, "{:08x}", self.checksum.finalize())?;
        self.out.write_all(&footer[after..])
    }
}
