//! The table of operations: one row for every operation of every worker in every step.

mod clock;
mod csv;
mod detect;
mod faults;
mod kineto;
mod magnitude;
mod parquet;
mod parts;
mod write;

pub use clock::Clock;
pub use detect::{hold_operations, is_synthetic, tables};
pub use faults::{Fault, Faults};
pub use kineto::Kineto;
pub use parts::read_tables;
pub use write::{write_csv, write_parquet};

use crate::derive::{self, JobError};
use crate::files::also_as;
use crate::{Job, Kind};
use detect::{ENCRYPTED_PARQUET, GZIP, PARQUET};
use faults::Wrong;
use flate2::read::MultiGzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
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
    /// The number of the operation among those of its kind on the worker in the step.
    pub seq: u32,
    /// The chunk of the stage, or -1.
    pub chunk: i32,
    /// The chunk of the model, or -1.
    pub model_chunk: i32,
    /// The microbatch, or -1.
    pub microbatch: i32,
}

/// The usable rows of a table, and what is wrong with the others.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    pub rows: Vec<Row>,
    pub faults: Faults,
    /// Whether changes of the bytes of a file may go unnoticed.
    pub unchecked: bool,
    /// The clock files that recorders wrote next to tables, by rank.
    pub clocks: BTreeMap<u32, Clock>,
}

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("{}: cannot be read: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: {what}", path.display())]
    Parquet { path: PathBuf, what: String },
    #[error("{}: the file is empty", path.display())]
    Empty { path: PathBuf },
    #[error("{}: the table has a header but no rows: was anything recorded?", path.display())]
    NoRows { path: PathBuf },
    #[error("{}: the text is UTF-16: save it as UTF-8", path.display())]
    Utf16 { path: PathBuf },
    #[error("{}: neither Parquet nor text: a Parquet file begins with `PAR1`. Is it damaged?", path.display())]
    NotATable { path: PathBuf },
    #[error("{}: column `{name}` is missing: a table of operations has {COLUMNS}", path.display())]
    NoColumn { path: PathBuf, name: &'static str },
    #[error("{0}: its step is unknown")]
    Row(Box<Fault>),
    #[error("{} is given twice{}: give it once", path.display(), also_as(path, other))]
    GivenTwice { path: PathBuf, other: PathBuf },
    #[error("{} is a copy of {}: give one of them", copy.display(), of.display())]
    Copied { copy: PathBuf, of: PathBuf },
    #[error("{} and {} belong to different jobs: {why}. Give the tables of one job", first.display(), second.display())]
    TwoJobs { first: PathBuf, second: PathBuf, why: String },
}

/// The columns that are read, for error messages.
const COLUMNS: &str = "dp_rank, stage, rank, step, optype, start_ts, duration, seq_id, mc, gmc and mb_id";

/// The longest duration, and the longest step: ten days, in seconds.
pub const LONGEST_SECONDS: f64 = 864_000.0;
/// The largest start in seconds. Starts may count from 1970 or any other moment; in milliseconds they exceed this.
const LATEST_SECONDS: f64 = 1e11;

const NO_CHECKSUMS: &str = "Parquet without checksums: damage to its bytes may go unnoticed (pyarrow writes them with \
                            write_page_checksum=True)";

const OTHER_UNIT: &str = "is not a time in seconds: are the times in milliseconds or microseconds?";

/// Reads a table. Detects whether it is Parquet or CSV; CSV may be compressed with gzip. Invalid rows are counted and left out.
pub fn read_table(path: &Path) -> Result<Table, TableError> {
    let io = |source| TableError::Io { path: path.into(), source };
    let mut file = File::open(path).map_err(io)?;
    let mut magic = [0; 4];
    let is_parquet = file.read_exact(&mut magic).is_ok() && (magic == PARQUET || magic == ENCRYPTED_PARQUET);
    if magic.starts_with(&[0xff, 0xfe]) || magic.starts_with(&[0xfe, 0xff]) {
        return Err(TableError::Utf16 { path: path.into() });
    }
    file.rewind().map_err(io)?;
    if is_parquet {
        return parquet::read(file, path);
    }
    let text: Box<dyn BufRead> = match magic.starts_with(&GZIP) {
        true => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        false => Box::new(BufReader::new(file)),
    };
    csv::read(text, path)
}

impl Table {
    /// Derives the job, without steps that have invalid rows.
    pub fn job(mut self, source: &str) -> Result<Job, JobError> {
        if self.faults.leaves_any_out() {
            self.rows.retain(|row| !self.faults.leaves_out(row.step));
        }
        if self.rows.is_empty()
            && let Some(fault) = self.faults.why_nothing_is_left()
        {
            return Err(JobError::AllFaulty { fault });
        }
        let magnitude = magnitude::note(&self.rows);
        let mut job = derive::job(self.rows, source)?;
        job.steps_left_out += self.faults.left_out();
        job.unknown_operations = self.faults.has_unknown();
        job.notes.splice(0..0, magnitude.into_iter().chain(self.faults.notes()));
        job.notes.extend(self.unchecked.then(|| NO_CHECKSUMS.to_string()));
        for worker in job.workers.iter_mut().filter(|worker| worker.recorded) {
            worker.host = self.clocks.get(&worker.rank).map(|clock| clock.host.clone());
        }
        let caveat = clock::caveat(&self.clocks);
        job.waits_in_computing = caveat.is_some();
        job.notes.extend(caveat);
        job.notes.extend(clock::note(&self.clocks));
        Ok(job)
    }
}

impl Table {
    /// Doubts about units and clocks, for an analysis that uses rows as recorded.
    pub fn doubts(&self) -> Vec<String> {
        let notes = [magnitude::note(&self.rows), derive::clocks_note(&self.rows), clock::note(&self.clocks)];
        notes.into_iter().flatten().collect()
    }
}

/// Formats a number, with an exponent if it has many digits.
fn written(number: f64) -> String {
    if number.abs() < 1e15 { number.to_string() } else { format!("{number:e}") }
}

/// A row before it is validated.
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
    /// Checks everything that can be checked in a single row.
    fn row(&self, kind: Option<Kind>, name: &str) -> Result<Row, Wrong> {
        let wrong = |column, value: String, why| Wrong { column, value, why };
        let index = |column, number: i64| {
            u32::try_from(number)
                .ok()
                .filter(|&number| number < 1 << 24)
                .ok_or_else(|| wrong(column, number.to_string(), "is not an index (0 to 16,777,215)"))
        };
        let chunk = |column, number: i64| {
            i32::try_from(number)
                .ok()
                .filter(|&number| (-1..1 << 24).contains(&number))
                .ok_or_else(|| wrong(column, number.to_string(), "is neither an index nor -1 (none)"))
        };
        let seconds = |column, number: f64, most: f64| match number.abs() <= most {
            true => Ok(number),
            false if number.is_finite() => Err(wrong(column, written(number), OTHER_UNIT)),
            false => Err(wrong(column, number.to_string(), "is not a time in seconds")),
        };
        if self.duration < 0.0 {
            return Err(wrong("duration", self.duration.to_string(), "is negative"));
        }
        let kind = kind.ok_or_else(|| wrong("optype", name.to_string(), Wrong::UNKNOWN))?;
        Ok(Row {
            dp_rank: index("dp_rank", self.dp_rank)?,
            stage: index("stage", self.stage)?,
            rank: index("rank", self.rank)?,
            step: self.step,
            kind,
            start: seconds("start_ts", self.start, LATEST_SECONDS)?,
            duration: seconds("duration", self.duration, LONGEST_SECONDS)?,
            seq: index("seq_id", self.seq)?,
            chunk: chunk("mc", self.chunk)?,
            model_chunk: chunk("gmc", self.model_chunk)?,
            microbatch: chunk("mb_id", self.microbatch)?,
        })
    }
}
