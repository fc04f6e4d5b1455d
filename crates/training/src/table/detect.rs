//! Which files are tables of operations.

use flate2::read::MultiGzDecoder;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The names of the columns are in that much of the end of a Parquet file.
const LONGEST_FOOTER: u64 = 1 << 20;

/// Whether a file is a table of operations, or a folder holds such tables and no others.
pub fn holds_tables(path: &Path) -> bool {
    if !path.is_dir() {
        return names_operations(path).unwrap_or(false);
    }
    let Ok(entries) = fs::read_dir(path) else { return false };
    let mut tables =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_called_a_table(path)).peekable();
    tables.peek().is_some() && tables.all(|path| names_operations(&path).unwrap_or(false))
}

/// Whether the name of a file ends as that of a table does.
pub fn is_called_a_table(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
    [".csv", ".csv.gz", ".parquet"].iter().any(|end| name.to_string_lossy().ends_with(end))
}

/// Whether a file has a column of operations.
fn names_operations(path: &Path) -> io::Result<bool> {
    Ok(has(&names(path)?, b"optype"))
}

/// Whether straggler has made a table up: it has a column that says so.
pub fn is_synthetic(path: &Path) -> bool {
    names(path).is_ok_and(|names| has(&names, b"synthetic"))
}

fn has(text: &[u8], name: &[u8]) -> bool {
    text.windows(name.len()).any(|at| at == name)
}

/// How a file begins that is compressed with gzip.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The part of a file that has the names of its columns: of CSV the first line, of Parquet the end.
fn names(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut text = Vec::new();
    file.by_ref().take(4096).read_to_end(&mut text)?;
    if text.starts_with(&GZIP) {
        file.rewind()?;
        text.clear();
        MultiGzDecoder::new(&mut file).take(4096).read_to_end(&mut text)?;
    }
    if text.starts_with(b"PAR1") {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_FOOTER)))?;
        text.clear();
        file.read_to_end(&mut text)?;
    } else {
        text.truncate(text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len()));
    }
    Ok(text)
}
