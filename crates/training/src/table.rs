//! The table of operations: one row for every operation of every worker in every step.

mod csv;
mod kineto;
mod parquet;
mod write;

pub use kineto::Kineto;
pub use write::write_csv;

use crate::Kind;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

/// One operation of one worker in one step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    pub dp_rank: u32,
    pub stage: u32,
    pub rank: u32,
    pub step: i64,
    pub kind: Kind,
    /// Seconds since the first start of the step.
    pub start: f64,
    pub duration: f64,
    /// Counts the operations of a kind on a worker in a step.
    pub seq: u32,
    /// The chunk of the stage, or -1.
    pub chunk: i32,
    /// The chunk of the model, or -1.
    pub model_chunk: i32,
    /// The microbatch, or -1.
    pub microbatch: i32,
}

#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("{}: cannot be read: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: {what}", path.display())]
    Parquet { path: PathBuf, what: String },
    #[error("{}: there is no column `{name}`: a table of operations has {COLUMNS}", path.display())]
    NoColumn { path: PathBuf, name: &'static str },
    #[error("{}: row {row}: {column} is `{value}`, which {why}", path.display())]
    Value { path: PathBuf, row: usize, column: &'static str, value: String, why: &'static str },
}

/// The columns that are read, for people.
const COLUMNS: &str = "dp_rank, stage, rank, step, optype, start_ts, duration, seq_id, mc, gmc and mb_id";

/// Reads a table, Parquet or CSV, whichever it is.
pub fn read_table(path: &Path) -> Result<Vec<Row>, TableError> {
    let io = |source| TableError::Io { path: path.into(), source };
    let mut file = File::open(path).map_err(io)?;
    let mut magic = [0; 4];
    let is_parquet = file.read_exact(&mut magic).is_ok() && &magic == b"PAR1";
    file.rewind().map_err(io)?;
    if is_parquet { parquet::read(file, path) } else { csv::read(BufReader::new(file), path) }
}

/// A row while its columns are looked at.
#[derive(Clone, Debug, Default)]
struct Raw {
    dp_rank: i64,
    stage: i64,
    rank: i64,
    step: i64,
    seq: i64,
    chunk: i64,
    model_chunk: i64,
    microbatch: i64,
    start: f64,
    duration: f64,
}

impl Raw {
    /// Checks everything that a single row can say.
    fn row(&self, kind: Option<Kind>, name: &str, row: usize, path: &Path) -> Result<Row, TableError> {
        let value =
            |column, value: String, why| TableError::Value { path: path.into(), row, column, value, why };
        let index = |column, number: i64| {
            u32::try_from(number)
                .ok()
                .filter(|&number| number < 1 << 24)
                .ok_or_else(|| value(column, number.to_string(), "is no index from 0 on"))
        };
        let chunk = |column, number: i64| {
            i32::try_from(number).ok().filter(|&number| number >= -1).ok_or_else(|| {
                value(column, number.to_string(), "is neither an index nor -1, which stands for none")
            })
        };
        let seconds = |column, number: f64| match number.is_finite() {
            true => Ok(number),
            false => Err(value(column, number.to_string(), "is no time in seconds")),
        };
        let Some(kind) = kind else {
            return Err(value("optype", name.to_string(), "is no operation that is known"));
        };
        if self.duration < 0.0 {
            return Err(value("duration", self.duration.to_string(), "is negative"));
        }
        Ok(Row {
            dp_rank: index("dp_rank", self.dp_rank)?,
            stage: index("stage", self.stage)?,
            rank: index("rank", self.rank)?,
            step: self.step,
            kind,
            start: seconds("start_ts", self.start)?,
            duration: seconds("duration", self.duration)?,
            seq: index("seq_id", self.seq)?,
            chunk: chunk("mc", self.chunk)?,
            model_chunk: chunk("gmc", self.model_chunk)?,
            microbatch: chunk("mb_id", self.microbatch)?,
        })
    }
}
