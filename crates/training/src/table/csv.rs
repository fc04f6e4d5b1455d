//! A table as text: a line of names, then a line for every row. Values are separated by commas, or by semicolons or tabs where
//! the names are; then times may have decimal commas. No value holds a separator.
//!
//! A recorder that is killed leaves a last line that is cut off. One that does not end with a newline is taken for cut off if it
//! lacks fields, or if its last field could go on: only -1 could not.

use super::faults::Wrong;
use super::{Fault, Raw, Row, Table, TableError};
use crate::Kind;
use std::io::BufRead;
use std::path::Path;

const NAMES: [&str; 11] =
    ["dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "gmc", "mb_id"];
const RANK: usize = 2;
const STEP: usize = 3;

pub fn read(input: impl BufRead, path: &Path) -> Result<Table, TableError> {
    let io = |source| TableError::Io { path: path.into(), source };
    let mut input = input;
    let mut header = String::new();
    if input.read_line(&mut header).map_err(io)? == 0 {
        return Err(TableError::Empty { path: path.into() });
    }
    let separator = [',', ';', '\t'].into_iter().find(|&mark| header.contains(mark)).unwrap_or(',');
    let header: Vec<&str> = header.split(separator).map(str::trim).collect();
    let mut places = [0; NAMES.len()];
    for (place, name) in places.iter_mut().zip(NAMES) {
        let found = header.iter().position(|known| *known == name);
        *place = found.ok_or_else(|| TableError::NoColumn { path: path.into(), name })?;
    }
    let mut table = Table::default();
    let mut line = String::new();
    for row in 1.. {
        line.clear();
        if input.read_line(&mut line).map_err(io)? == 0 {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        let cells = Cells { cells: line.split(separator).map(str::trim).collect(), places: &places };
        if !line.ends_with('\n') && cells.may_go_on(header.len()) {
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

    /// Whether something may be missing of a line without an end.
    fn may_go_on(&self, fields: usize) -> bool {
        let is_read = self.places.contains(&(fields - 1));
        self.cells.len() < fields || is_read && self.cells[fields - 1] != "-1"
    }

    /// The step of such a line, if more follows it.
    fn whole_step(&self) -> Option<i64> {
        self.parsed(STEP).filter(|_| self.places[STEP] + 1 < self.cells.len())
    }

    fn row(&self) -> Result<Row, Wrong> {
        let wrong =
            |column: usize, why| Wrong { column: NAMES[column], value: self.cell(column).into(), why };
        let number = |column: usize| self.parsed(column).ok_or_else(|| wrong(column, "is no whole number"));
        let seconds = |column: usize| {
            let number = self.cell(column).replace(',', ".");
            number.parse::<f64>().map_err(|_| wrong(column, "is no number of seconds"))
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
