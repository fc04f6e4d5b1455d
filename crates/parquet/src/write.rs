//! Writing a table: pages as they are produced, then the footer with their locations.
//!
//! A page has [`PAGE_ROWS`] rows and a group [`GROUP_ROWS`], the last ones fewer, so the number of rows determines
//! where each page is.

mod chunk;
mod dictionary;
mod footer;

pub use footer::{CHECKSUM_KEY, NO_CHECKSUM, checksum_before_end, ending, schema};

use crate::MAGIC;
use crate::compression::Codec;
use crate::values::ColumnValues;
use std::io::{self, Write};
use std::ops::Range;

/// Rows of a page, and of a group of pages: both are part of sealed files.
pub(crate) const PAGE_ROWS: usize = 1 << 14;
const GROUP_ROWS: usize = 1 << 20;

/// The properties shared by all files of a table.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    pub columns: &'a [Field],
    pub codec: Codec,
    pub seal: Option<Seal>,
}

/// What a sealed file states at its end, before the checksum of the whole file.
#[derive(Clone, Copy, Debug)]
pub struct Seal {
    /// The name under which the footer states [`version`](Self::version).
    pub key: &'static str,
    pub version: &'static str,
}

/// A column to be written.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether values may be missing.
    pub nullable: bool,
    /// Whether each distinct value of a group is stored once: for integers and texts of which there are few.
    pub dictionary: bool,
}

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Text,
    Bool,
    I32,
    I64,
    U32,
    U64,
    F64,
}

impl Field {
    /// A column whose values are all there, and stored one by one.
    pub const fn new(name: &'static str, kind: Kind) -> Field {
        Field { name, kind, nullable: false, dictionary: false }
    }

    pub const fn nullable(self) -> Field {
        Field { nullable: true, ..self }
    }

    pub const fn with_dictionary(self) -> Field {
        Field { dictionary: true, ..self }
    }
}

/// Writes `rows` rows; calls `values` for some rows of a column at a time, in the order of the file.
///
/// # Errors
/// `out` cannot be written, or the values do not have the type of their column.
pub fn write(
    out: &mut dyn Write,
    layout: &Layout<'_>,
    rows: usize,
    values: &mut dyn FnMut(usize, Range<usize>) -> ColumnValues,
) -> io::Result<()> {
    let mut out = Output { out, written: 0, checksum: layout.seal.map(|_| crc32fast::Hasher::new()) };
    out.add(MAGIC)?;
    let mut chunks = Vec::new();
    for (first, count) in groups(rows) {
        for (place, field) in layout.columns.iter().enumerate() {
            let mut values = |rows: Range<usize>| values(place, first + rows.start..first + rows.end);
            chunks.push(chunk::write(&mut out, field, layout.codec, count, &mut values)?);
        }
    }
    let footer = footer::footer(layout, rows, &chunks);
    match layout.seal {
        Some(_) => out.finish(&footer, footer.len() - checksum_before_end(layout)),
        None => out.add(&footer),
    }
}

/// The rows of every page of a column, in the order of the file.
pub fn pages(rows: usize) -> impl Iterator<Item = Range<usize>> {
    groups(rows).flat_map(|(first, count)| {
        pages_of_group(count).map(move |page| first + page.start..first + page.end)
    })
}

/// The rows of each page of a group, counted from its first.
fn pages_of_group(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(PAGE_ROWS).map(move |first| first..rows.min(first + PAGE_ROWS))
}

/// The first row and the number of rows of every group.
fn groups(rows: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).step_by(GROUP_ROWS).map(move |first| (first, GROUP_ROWS.min(rows - first)))
}

/// A file being written, with its length and checksum so far.
struct Output<'a> {
    out: &'a mut dyn Write,
    written: u64,
    checksum: Option<crc32fast::Hasher>,
}

impl Output<'_> {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(checksum) = &mut self.checksum {
            checksum.update(bytes);
        }
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Writes the footer with the checksum of all other bytes of the file inserted.
    fn finish(mut self, footer: &[u8], place: usize) -> io::Result<()> {
        let after = place + NO_CHECKSUM.len();
        let mut checksum = self.checksum.take().unwrap_or_default();
        checksum.update(&footer[..place]);
        checksum.update(&footer[after..]);
        self.out.write_all(&footer[..place])?;
        write!(self.out, "{:08x}", checksum.finalize())?;
        self.out.write_all(&footer[after..])
    }
}
