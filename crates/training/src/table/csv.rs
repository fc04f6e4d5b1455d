//! Tables in CSV: a header line, then a line for every row. The separator is a comma, or a semicolon or tab if the header uses
//! it; then times may have decimal commas. Values may be in double quotes, and the file may begin with a byte order mark.
//!
//! A killed recorder leaves a truncated last line. A last line without a newline counts as truncated if it lacks fields, or if
//! its last field may be incomplete. It is complete if it is -1, in quotes, or an index that the same operation has in another
//! step.

use super::faults::Wrong;
use super::{Fault, Raw, Row, Table, TableError};
use crate::Kind;
use crate::lines::next_line;
use std::io::{BufRead, ErrorKind};
use std::path::Path;

const NAMES: [&str; 11] =
    ["dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "gmc", "mb_id"];
const RANK: usize = 2;
const STEP: usize = 3;
/// The columns that are the same in all steps: `mc`, `gmc` and `mb_id`.
const CHUNKS: [usize; 3] = [8, 9, 10];

pub fn read(input: impl BufRead, path: &Path) -> Result<Table, TableError> {
    let io = |source| TableError::Io { path: path.into(), source };
    let mut input = input;
    let mut bytes = Vec::new();
    if next_line(&mut input, 1, &mut bytes).map_err(io)? == 0 {
        return Err(TableError::Empty { path: path.into() });
    }
    let header = String::from_utf8_lossy(&bytes).into_owned();
    let is_binary = header.contains(['\0', char::REPLACEMENT_CHARACTER]);
    let separator = [',', ';', '\t'].into_iter().find(|&mark| header.contains(mark)).unwrap_or(',');
    let header = cells(header.trim_start_matches('\u{feff}'), separator);
    let mut places = [0; NAMES.len()];
    for (place, name) in places.iter_mut().zip(NAMES) {
        let found = header.iter().position(|known| *known == name);
        *place = found.ok_or_else(|| match is_binary {
            true => TableError::NotATable { path: path.into() },
            false => TableError::NoColumn { path: path.into(), name },
        })?;
    }
    let mut table = Table::default();
    for row in 1.. {
        let read = next_line(&mut input, row as u64 + 1, &mut bytes);
        // A byte that is not UTF-8 makes its value invalid, and so costs only its row or step.
        let line = String::from_utf8_lossy(&bytes);
        match read {
            Ok(0) => break,
            Ok(_) => {}
            // The compressed file is truncated.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && row > 1 => {
                let cells = Cells { cells: self::cells(&line, separator), places: &places };
                let step = cells.whole_step().or(table.rows.last().map(|row| row.step));
                table.faults.cut(path.into(), step);
                break;
            }
            Err(error) => return Err(io(error)),
        }
        if line.trim().is_empty() {
            continue;
        }
        let cells = Cells { cells: self::cells(&line, separator), places: &places };
        let is_open =
            !line.ends_with('\n') && !line.trim_end().ends_with('"') && cells.may_go_on(header.len());
        if is_open && !cells.is_known(header.len(), &table.rows) {
            let step = cells.whole_step().or(table.rows.last().map(|row| row.step));
            table.faults.cut(path.into(), step);
            break;
        }
        match cells.row() {
            Ok(row) => table.rows.push(row),
            Err(wrong) => {
                let (step, rank) = (cells.parsed(STEP), cells.parsed(RANK));
                table.faults.add(Fault { path: path.into(), row, step, rank, wrong })?;
            }
        }
    }
    Ok(table)
}

/// The values of a line, without the quotes around them.
fn cells(line: &str, separator: char) -> Vec<&str> {
    if !line.contains('"') {
        return line.split(separator).map(str::trim).collect();
    }
    let mut quoted = false;
    let ends = |mark: char| {
        quoted ^= mark == '"';
        mark == separator && !quoted
    };
    line.split(ends).map(|cell| cell.trim().trim_matches('"').trim()).collect()
}

struct Cells<'a> {
    cells: Vec<&'a str>,
    places: &'a [usize; NAMES.len()],
}

impl Cells<'_> {
    fn cell(&self, column: usize) -> &str {
        self.cells.get(self.places[column]).copied().unwrap_or_default()
    }

    fn parsed(&self, column: usize) -> Option<i64> {
        self.cell(column).parse().ok()
    }

    /// Whether a line without a newline may be truncated.
    fn may_go_on(&self, fields: usize) -> bool {
        let is_read = self.places.contains(&(fields - 1));
        self.cells.len() < fields || is_read && self.cells[fields - 1] != "-1"
    }

    /// Whether the last field of a line without a newline is an index that the same operation of the same rank has in
    /// another step.
    fn is_known(&self, fields: usize, rows: &[Row]) -> bool {
        let is_index = CHUNKS.iter().any(|&column| self.places[column] + 1 == fields);
        let Some(own) = self.row().ok().filter(|_| is_index && self.cells.len() == fields) else {
            return false;
        };
        rows.iter().any(|row| {
            row.step != own.step
                && (row.rank, row.kind, row.seq) == (own.rank, own.kind, own.seq)
                && (row.chunk, row.model_chunk, row.microbatch)
                    == (own.chunk, own.model_chunk, own.microbatch)
        })
    }

    /// The step of a truncated line, if more fields follow it.
    fn whole_step(&self) -> Option<i64> {
        self.parsed(STEP).filter(|_| self.places[STEP] + 1 < self.cells.len())
    }

    fn row(&self) -> Result<Row, Wrong> {
        let wrong =
            |column: usize, why| Wrong { column: NAMES[column], value: self.cell(column).into(), why };
        let number =
            |column: usize| self.parsed(column).ok_or_else(|| wrong(column, "is not a whole number"));
        let seconds = |column: usize| {
            let number = self.cell(column).replace(',', ".");
            number.parse::<f64>().map_err(|_| wrong(column, "is not a number of seconds"))
        };
        let raw = Raw {
            dp_rank: number(0)?,
            stage: number(1)?,
            rank: number(RANK)?,
            step: number(STEP)?,
            start: seconds(5)?,
            duration: seconds(6)?,
            seq: number(7)?,
            chunk: number(8)?,
            model_chunk: number(9)?,
            microbatch: number(10)?,
        };
        raw.row(Kind::of_name(self.cell(4)), self.cell(4))
    }
}
