//! The finish time of every rank, as a file: CSV or Parquet.
//!
//! Both have two columns, `rank` (u32) and `finish_ps` (u64), in the order of the ranks. Parquet files
//! state the version of this layout in their metadata.

mod columns;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use straggler_model::Time;
use straggler_model::replace::{ReplaceError, replace_file};

/// How finish times are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Csv,
    Parquet,
}

impl Format {
    /// Selects the format by the file extension: `.parquet`, anything else is CSV.
    pub fn for_path(path: &Path) -> Format {
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("parquet") => Format::Parquet,
            _ => Format::Csv,
        }
    }
}

/// Why finish times could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{}: cannot be read: {fault}", path.display())]
    Io { path: PathBuf, fault: io::Error },
    #[error("{}, line {line}: expected `RANK,PICOSECONDS`, ranks in order from 0, found `{found}`", path.display())]
    Row { path: PathBuf, line: usize, found: String },
    #[error("{}, line 1: expected the header `rank,finish_ps`", path.display())]
    Header { path: PathBuf },
    #[error("{}: not a Parquet file of finish times: {problem}", path.display())]
    Parquet { path: PathBuf, problem: String },
}

const HEADER: &str = "rank,finish_ps";

/// Writes the finish times of ranks 0, 1, … atomically.
pub fn write(path: &Path, finish: &[Time]) -> Result<(), ReplaceError> {
    replace_file(path, |out| match Format::for_path(path) {
        Format::Csv => write_csv(out, finish),
        Format::Parquet => columns::write(out, finish),
    })
}

/// Reads a file written by [`write()`].
pub fn read(path: &Path) -> Result<Vec<Time>, ReadError> {
    match Format::for_path(path) {
        Format::Csv => {
            let text =
                std::fs::read_to_string(path).map_err(|fault| ReadError::Io { path: path.into(), fault })?;
            parse_csv(path, &text)
        }
        Format::Parquet => columns::read(path),
    }
}

fn write_csv(out: &mut dyn Write, finish: &[Time]) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    write_lines(out, 0, finish)
}

/// The lines of ranks from `first` on.
fn write_lines(out: &mut dyn Write, first: u32, finish: &[Time]) -> io::Result<()> {
    for (rank, time) in (u64::from(first)..).zip(finish) {
        writeln!(out, "{rank},{}", time.ps())?;
    }
    Ok(())
}

/// The header line of a CSV file.
pub fn csv_header() -> String {
    format!("{HEADER}\n")
}

/// The lines of a CSV file for ranks from `first` on, for a file that several processes write together.
pub fn csv_lines(first: u32, finish: &[Time]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(finish.len() * 20);
    // Writing to memory cannot fail.
    let _ = write_lines(&mut lines, first, finish);
    lines
}

/// Writes finish times as Parquet while they are produced: calls `times` for each of [`pages`], in order.
pub fn write_parquet(
    path: &Path,
    processes: usize,
    times: &mut dyn FnMut(std::ops::Range<usize>) -> Vec<u64>,
) -> Result<(), ReplaceError> {
    replace_file(path, |out| columns::write_from(out, processes, times))
}

/// The ranks of each page of a Parquet file.
pub fn pages(processes: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    straggler_parquet::pages(processes)
}

fn parse_csv(path: &Path, text: &str) -> Result<Vec<Time>, ReadError> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(ReadError::Header { path: path.into() });
    }
    let row = |(rank, line): (usize, &str)| {
        let time = line.split_once(',').and_then(|(stated, time)| {
            (stated.parse() == Ok(rank)).then(|| time.parse().ok().map(Time)).flatten()
        });
        time.ok_or_else(|| ReadError::Row { path: path.into(), line: rank + 2, found: line.into() })
    };
    lines.enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(name: &str, count: u64) -> Vec<Time> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        let finish: Vec<Time> = (0..count).map(|rank| Time(rank * 1_000_003)).collect();
        write(&path, &finish).unwrap();
        assert_eq!(read(&path).unwrap(), finish, "{name}");
        finish
    }

    #[test]
    fn both_formats_read_back() {
        for count in [0, 1, 3, 70_000, 200_001] {
            round_trip("a.csv", count);
            round_trip("a.parquet", count);
        }
    }

    /// A file of an earlier version is read, and written with the same bytes. A new version of the compressor may change
    /// these: then copy a new file there.
    #[test]
    fn files_of_earlier_versions_stay_the_same() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/parquet/earlier");
        let finish = read(&folder.join("finish.parquet")).unwrap();
        let total: u64 = finish.iter().map(|time| time.ps()).sum();
        assert_eq!((finish.len(), total), (300, 17_330_135_170));
        let mut again = Vec::new();
        columns::write(&mut again, &finish).unwrap();
        assert!(again == std::fs::read(folder.join("finish.parquet")).unwrap());
    }

    #[test]
    fn broken_rows_are_named() {
        let fault = parse_csv(Path::new("f.csv"), "rank,finish_ps\n0,5\n2,6\n").unwrap_err();
        assert_eq!(
            fault.to_string(),
            "f.csv, line 3: expected `RANK,PICOSECONDS`, ranks in order from 0, found `2,6`"
        );
        assert!(parse_csv(Path::new("f.csv"), "0,5\n").is_err());
    }

    #[test]
    fn text_is_no_parquet() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        std::fs::write(&path, HEADER).unwrap();
        assert!(matches!(read(&path), Err(ReadError::Parquet { .. })));
    }
}
