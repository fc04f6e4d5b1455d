//! Reading a table back: the checksum first, then page by page.

use super::metadata::{self, NO_CHECKSUM, PageHeader};
use super::thrift::Cursor;
use super::{Layout, MAGIC, Values, groups, pages_of_group};
use flate2::bufread::GzDecoder;
use std::io::Read;

/// Bytes after the footer: its length and the final magic.
const BEHIND: usize = 8;

/// Checks that a file is unchanged. Errors are worded to follow "it holds no …: ".
pub fn read<'a>(file: &'a [u8], layout: &'a Layout) -> Result<Reader<'a>, String> {
    if !file.starts_with(MAGIC) {
        return Err("it does not start like a Parquet file".into());
    }
    let digits = find_checksum(file, layout).ok_or_else(|| {
        format!(
            "it does not end with {} = {}: it was written by another program, or is truncated",
            layout.key, layout.version
        )
    })?;
    if file[digits..digits + NO_CHECKSUM.len()] != *checksum(file, digits).as_bytes() {
        return Err("its checksum is wrong: it was changed or damaged after it was written".into());
    }
    let (pages, footer) = parts(file).ok_or("its footer is longer than the file")?;
    let mut footer = Cursor(footer);
    footer.expect(&metadata::schema(layout)).ok_or("it has unexpected columns")?;
    let rows = footer.i64().ok_or("it does not say how many rows it has")?;
    let rows = usize::try_from(rows).map_err(|_| "it has more rows than fit into memory")?;
    Reader::new(pages, layout, rows)
}

/// Finds the checksum, if the file ends like those of the layout.
fn find_checksum(file: &[u8], layout: &Layout) -> Option<usize> {
    let ending = metadata::ending(layout);
    let begin = file.len().checked_sub(ending.len() + BEHIND)?;
    let digits = file.len() - metadata::checksum_before_end(layout);
    let (before, after) = (digits - begin, digits - begin + NO_CHECKSUM.len());
    let same = file[begin..digits] == ending[..before]
        && file[digits + NO_CHECKSUM.len()..file.len() - BEHIND] == ending[after..]
        && file.ends_with(MAGIC);
    same.then_some(digits)
}

fn checksum(file: &[u8], digits: usize) -> String {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&file[..digits]);
    sum.update(&file[digits + NO_CHECKSUM.len()..]);
    format!("{:08x}", sum.finalize())
}

/// Splits a file into the pages and the footer.
fn parts(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, end) = file.split_last_chunk::<BEHIND>()?;
    let length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
    let (before, footer) = rest.split_at_checked(rest.len().checked_sub(length as usize)?)?;
    Some((before.strip_prefix(MAGIC)?, footer))
}

/// Iterates over the rows of a file: one page of every column at a time.
#[derive(Debug)]
pub struct Reader<'a> {
    layout: &'a Layout,
    /// Pages of the groups that are still to be read, by column.
    groups: std::vec::IntoIter<Vec<&'a [u8]>>,
    columns: Vec<&'a [u8]>,
}

impl<'a> Reader<'a> {
    /// Finds the beginning of every column.
    fn new(mut pages: &'a [u8], layout: &'a Layout, rows: usize) -> Result<Reader<'a>, String> {
        let mut all = Vec::new();
        for (_, rows) in groups(rows) {
            let mut group = Vec::new();
            for _ in layout.columns {
                let begin = pages;
                for rows in pages_of_group(rows) {
                    (_, pages) = split_page(pages)
                        .filter(|(header, _)| header.0.rows as usize == rows)
                        .ok_or("a page is damaged")?;
                }
                group.push(&begin[..begin.len() - pages.len()]);
            }
            all.push(group);
        }
        if !pages.is_empty() {
            return Err("it has more pages than its rows need".into());
        }
        Ok(Reader { layout, groups: all.into_iter(), columns: Vec::new() })
    }

    /// The next page of every column.
    fn page(&mut self) -> Option<Vec<Values>> {
        let kinds = self.layout.columns.iter().map(|column| column.kind);
        let mut page = Vec::with_capacity(self.columns.len());
        for (column, kind) in self.columns.iter_mut().zip(kinds) {
            let ((header, bytes), rest) = split_page(column)?;
            *column = rest;
            page.push(Values::decode(kind, header.rows as usize, &unpacked(&header, bytes)?)?);
        }
        Some(page)
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Vec<Values>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.columns.first().is_none_or(|column| column.is_empty()) {
            self.columns = self.groups.next()?;
        }
        Some(self.page().ok_or_else(|| {
            (self.groups, self.columns) = (Vec::new().into_iter(), Vec::new());
            "a page cannot be decompressed".into()
        }))
    }
}

/// A page with its header, and the rest.
type Split<'a> = ((PageHeader, &'a [u8]), &'a [u8]);

fn split_page(bytes: &[u8]) -> Option<Split<'_>> {
    let (header, rest) = PageHeader::decode(bytes)?;
    let (page, rest) = rest.split_at_checked(usize::try_from(header.bytes).ok()?)?;
    Some(((header, page), rest))
}

/// Decompresses a page, but never more than its header states.
fn unpacked(header: &PageHeader, page: &[u8]) -> Option<Vec<u8>> {
    let expected = u64::try_from(header.unpacked_bytes).ok()?;
    let mut values = Vec::new();
    GzDecoder::new(page).take(expected + 1).read_to_end(&mut values).ok()?;
    (values.len() as u64 == expected).then_some(values)
}

/// Corrects the checksum of a file.
#[cfg(test)]
pub fn seal(file: &mut [u8], layout: &Layout) {
    if let Some(digits) = find_checksum(file, layout) {
        let sum = checksum(file, digits);
        file[digits..digits + sum.len()].copy_from_slice(sum.as_bytes());
    }
}
