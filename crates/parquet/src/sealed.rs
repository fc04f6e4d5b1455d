//! Files with a checksum of all their bytes. All files of a layout have a footer with the same last bytes, except for the
//! checksum in them. A reader can therefore find it without parsing anything, and decodes nothing before it has been
//! verified. The bytes from the checksum on are the same in all layouts: a program that changes such a file ends it with
//! its own name.

use crate::reader::{Input, Reader};
use crate::write::{self, Layout, NO_CHECKSUM, Seal};
use crate::{Codec, ColumnValues, Error, MAGIC};

/// Bytes after the footer: its length and the final magic.
const BEHIND: usize = 8;

/// Bytes that are read at once for a checksum.
const AT_ONCE: usize = 1 << 20;

/// Reads a file of exactly this layout, unless a byte of it was changed. Calls `page` for some rows at a time, with
/// their values by column. Errors are worded to follow "it holds no …: ".
pub fn read_sealed(
    file: &[u8],
    layout: &Layout<'_>,
    page: &mut dyn FnMut(&[&ColumnValues]) -> Result<(), String>,
) -> Result<(), String> {
    verify(file, layout)?;
    let input: &dyn Input = &file;
    let reader = Reader::open(input).map_err(|error| error.to_string())?;
    let columns: Vec<usize> = (0..layout.columns.len()).collect();
    for group in 0..reader.groups().len() {
        let mut rows = reader.rows(group, &columns).map_err(|error| error.to_string())?;
        while rows.next(write::PAGE_ROWS).map_err(|error| error.to_string())? > 0 {
            let values: Vec<_> = columns.iter().map(|&column| rows.column(column)).collect();
            page(&values)?;
        }
    }
    Ok(())
}

/// Checks the checksum of a file's bytes, if it ends with one. Returns whether it does.
///
/// # Errors
/// The file cannot be read, or was changed after it was written.
pub fn check_seal(input: &dyn Input) -> Result<bool, Error> {
    let layout = Layout { columns: &[], codec: Codec::None, seal: Some(Seal { key: "", version: "" }) };
    let ending = write::ending(&layout);
    let key =
        ending.windows(write::CHECKSUM_KEY.len()).position(|part| part == write::CHECKSUM_KEY.as_bytes());
    let tail = &ending[key.unwrap_or_default()..];
    let digits = tail.len() + BEHIND - write::checksum_before_end(&layout);
    let after = digits + NO_CHECKSUM.len();
    let length = input.length()?;
    let Some(begin) = length.checked_sub((tail.len() + BEHIND) as u64) else { return Ok(false) };
    let mut end = vec![0; tail.len()];
    input.read_at(begin, &mut end)?;
    if end[..digits] != tail[..digits] || end[after..] != tail[after..] {
        return Ok(false);
    }
    let mut sum = crc32fast::Hasher::new();
    let mut bytes = vec![0; AT_ONCE];
    for part in [0..begin + digits as u64, begin + after as u64..length] {
        let mut at = part.start;
        while at < part.end {
            let count = (part.end - at).min(AT_ONCE as u64) as usize;
            input.read_at(at, &mut bytes[..count])?;
            sum.update(&bytes[..count]);
            at += count as u64;
        }
    }
    match end[digits..after] == *format!("{:08x}", sum.finalize()).as_bytes() {
        true => Ok(true),
        false => Err(Error::Seal),
    }
}

/// Checks that a file has the layout, and that it is as it was written.
fn verify(file: &[u8], layout: &Layout<'_>) -> Result<(), String> {
    let seal = layout.seal.ok_or("its layout has no checksum")?;
    if !file.starts_with(MAGIC) {
        return Err("it does not start like a Parquet file".into());
    }
    let digits = find_checksum(file, layout).ok_or_else(|| {
        format!(
            "it does not end with {} = {}: it was written by another program, or is truncated",
            seal.key, seal.version
        )
    })?;
    if file[digits..digits + NO_CHECKSUM.len()] != *checksum(file, digits).as_bytes() {
        return Err("its checksum is wrong: it was changed or damaged after it was written".into());
    }
    let footer = footer(file).ok_or("its footer is longer than the file")?;
    match footer.starts_with(&write::schema(layout)) {
        true => Ok(()),
        false => Err("it has unexpected columns".into()),
    }
}

/// Finds the checksum, if the file ends like those of the layout.
fn find_checksum(file: &[u8], layout: &Layout<'_>) -> Option<usize> {
    let ending = write::ending(layout);
    let begin = file.len().checked_sub(ending.len() + BEHIND)?;
    let digits = file.len() - write::checksum_before_end(layout);
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

fn footer(file: &[u8]) -> Option<&[u8]> {
    let (rest, end) = file.split_last_chunk::<BEHIND>()?;
    let length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
    rest.get(rest.len().checked_sub(length as usize)?..)
}
