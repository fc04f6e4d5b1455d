//! Detects which files are tables of operations.

use super::TableError;
use flate2::read::MultiGzDecoder;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Column names are searched for in this many bytes at the end of a Parquet file.
const LONGEST_FOOTER: u64 = 1 << 20;

/// The tables among the given paths; `None` unless all are tables. Files are detected by name or content, those in a folder by
/// name.
///
/// # Errors
/// A given path cannot be read.
pub fn tables(paths: &[PathBuf]) -> Result<Option<Vec<PathBuf>>, TableError> {
    let mut tables = Vec::new();
    for path in paths {
        let io = |source| TableError::Io { path: path.clone(), source };
        if path.is_dir() {
            let entries = fs::read_dir(path).map_err(io)?;
            let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            inside.retain(|path| is_called_a_table(path));
            inside.sort();
            tables.append(&mut inside);
            continue;
        }
        let begins = begin(&mut File::open(path).map_err(io)?).map_err(io)?;
        if !is_called_a_table(path) && !begins.starts_with(PARQUET) && !has(first_line(&begins), OPERATIONS) {
            return Ok(None);
        }
        tables.push(path.clone());
    }
    Ok(Some(tables).filter(|tables| !tables.is_empty()))
}

/// Whether one of the tables has a column of operations.
pub fn hold_operations(tables: &[PathBuf]) -> bool {
    tables.iter().any(|path| names(path).is_ok_and(|names| has(&names, OPERATIONS)))
}

/// Whether a file has the extension of a table.
fn is_called_a_table(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
    [".csv", ".csv.gz", ".parquet"].iter().any(|end| name.to_string_lossy().ends_with(end))
}

/// Whether straggler generated the table: synthetic tables have a column that says so.
pub fn is_synthetic(path: &Path) -> bool {
    names(path).is_ok_and(|names| has(&names, b"synthetic"))
}

fn has(text: &[u8], name: &[u8]) -> bool {
    text.windows(name.len()).any(|at| at == name)
}

/// The magic bytes of gzip.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The magic bytes of Parquet.
pub const PARQUET: &[u8] = b"PAR1";
/// The magic bytes of Parquet with an encrypted footer.
pub const ENCRYPTED_PARQUET: &[u8] = b"PARE";
/// The column that only tables of operations have.
const OPERATIONS: &[u8] = b"optype";

/// The bytes of a file needed to detect its format.
fn begin(file: &mut File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(4096).read_to_end(&mut text)?;
    Ok(text)
}

fn first_line(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == b'\n').next().unwrap_or_default()
}

/// The part of a file with the column names: the first line of CSV, the end of Parquet.
fn names(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut text = begin(&mut file)?;
    if text.starts_with(&GZIP) {
        file.rewind()?;
        text.clear();
        MultiGzDecoder::new(&mut file).take(4096).read_to_end(&mut text)?;
    }
    if text.starts_with(PARQUET) {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_FOOTER)))?;
        text.clear();
        file.read_to_end(&mut text)?;
    } else {
        text.truncate(first_line(&text).len());
    }
    Ok(text)
}
