//! The results of a study as a table: Parquet, CSV or JSON.
//!
//! Each row is a replica: the coordinates of its point, the makespan with and without noise, and T / T0 − 1.
//! Rows are sorted by point, in the order of the study, and then by replica. The Parquet file holds nothing
//! else: no date, no machine, and pages and groups of fixed sizes, so that the same results give the same
//! bytes.

mod columns;
mod text;

pub use text::csv_place;

use std::io;
use std::path::{Path, PathBuf};
use straggler_model::replace::{ReplaceError, replace_file};
use straggler_model::study::Results;

/// How results are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Parquet,
    Csv,
    Json,
}

impl Format {
    /// Selects the format by the file extension; `None` if it is another.
    pub fn for_path(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "parquet" => Some(Format::Parquet),
            "csv" => Some(Format::Csv),
            "json" => Some(Format::Json),
            _ => None,
        }
    }
}

/// Why results could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{} cannot be read: {fault}", path.display())]
    Io { path: PathBuf, fault: io::Error },
    #[error(
        "{} does not contain study results: {problem}; `straggler study run` writes them again if the journal of the study is \
         next to them",
        path.display()
    )]
    Wrong { path: PathBuf, problem: String },
}

/// The names of the columns, in their order.
pub const COLUMNS: [&str; 13] = [
    "sweep",
    "workload",
    "size",
    "processes",
    "network",
    "network_scale",
    "noise",
    "cosched",
    "seed",
    "replica",
    "makespan_ps",
    "quiet_ps",
    "slowdown",
];

/// Writes all replicas atomically.
pub fn write(path: &Path, format: Format, results: &Results) -> Result<(), ReplaceError> {
    replace_file(path, |out| match format {
        Format::Parquet => columns::write(out, results),
        Format::Csv => text::write_csv(out, results),
        Format::Json => text::write_json(out, results),
    })
}

/// Reads a Parquet file written by [`write()`].
pub fn read(path: &Path) -> Result<Results, ReadError> {
    columns::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_model::study::{Coordinates, PointResult};

    pub(super) fn sample(points: u32, replicas: u64) -> Results {
        let point = |number: u32| PointResult {
            point: Coordinates {
                sweep: if number < 2 { String::new() } else { "the \"second\"".into() },
                workload: "allreduce,odd".into(),
                size: (!number.is_multiple_of(3)).then_some(u64::from(number)),
                network: "chic".into(),
                network_scale: 0.1,
                noise: "none".into(),
                cosched: number % 2 == 1,
                seed: u64::MAX - 1,
                processes: 1 << (number % 20),
            },
            quiet: Time(1_000_003),
            makespans: (0..replicas)
                .map(|replica| Time(1_000_003 + replica * 77_777 + u64::from(number)))
                .collect(),
        };
        Results { points: (0..points).map(point).collect() }
    }

    #[test]
    fn parquet_reads_back_and_is_the_same_twice() {
        let folder = tempfile::tempdir().unwrap();
        for (points, replicas) in [(0, 0), (1, 1), (5, 3), (40, 5000)] {
            let results = sample(points, replicas);
            let (one, two) = (folder.path().join("a.parquet"), folder.path().join("b.parquet"));
            write(&one, Format::Parquet, &results).unwrap();
            write(&two, Format::Parquet, &results).unwrap();
            assert_eq!(read(&one).unwrap(), results, "{points} {replicas}");
            assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
        }
    }

    /// A file of an earlier version is read, and written with the same bytes. A new version of the compressor may change
    /// these: then copy a new file there.
    #[test]
    fn files_of_earlier_versions_stay_the_same() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/parquet/earlier");
        let results = read(&folder.join("results.parquet")).unwrap();
        let point = &results.points[4];
        assert_eq!((results.points.len(), point.makespans.len()), (6, 4));
        assert_eq!((point.point.sweep.as_str(), point.point.size), ("Altix", Some(1)));
        assert_eq!(point.point.processes, 16);
        let mut again = Vec::new();
        columns::write(&mut again, &results).unwrap();
        assert!(again == std::fs::read(folder.join("results.parquet")).unwrap());
    }

    /// Every byte of a small file changed, one at a time, and the file cut at every length: never other rows, never a
    /// panic.
    #[test]
    fn changed_and_cut_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        write(&path, Format::Parquet, &sample(4, 6)).unwrap();
        let file = std::fs::read(&path).unwrap();
        let refused = |bytes: &[u8], what: &str| {
            std::fs::write(&path, bytes).unwrap();
            let fault = read(&path).expect_err(what).to_string();
            assert!(fault.contains("a.parquet"), "{what}: {fault}");
        };
        for at in 0..file.len() {
            let mut changed = file.clone();
            changed[at] ^= 1 << (at % 8);
            refused(&changed, &format!("byte {at} of {} changed", file.len()));
            refused(&file[..at], &format!("cut after {at} of {} bytes", file.len()));
        }
    }

    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        assert!(matches!(read(&path), Err(ReadError::Io { .. })));
        std::fs::write(&path, "sweep,workload").unwrap();
        assert!(matches!(read(&path), Err(ReadError::Wrong { .. })));
        crate::finish_times::write(&path, &[Time(5)]).unwrap();
        let fault = read(&path).unwrap_err().to_string();
        assert!(fault.contains("does not contain study results"), "{fault}");
    }

    #[test]
    fn rows_as_text() {
        let mut csv = Vec::new();
        text::write_csv(&mut csv, &sample(3, 1)).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], COLUMNS.join(","));
        assert_eq!(
            lines[2],
            ",\"allreduce,odd\",1,2,chic,0.1,none,true,18446744073709551614,0,1000004,1000003,0.0000009999970000951208"
        );
        assert!(lines[3].starts_with("\"the \"\"second\"\"\","), "{}", lines[3]);
        let mut json = Vec::new();
        text::write_json(&mut json, &sample(3, 2)).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert!(
            json.starts_with("[\n{\"sweep\":\"\",\"workload\":\"allreduce,odd\",\"size\":null,"),
            "{json}"
        );
        assert!(json.contains("\"sweep\":\"the \\\"second\\\"\""), "{json}");
        assert!(json.ends_with("}\n]\n"), "{json}");
    }
}
