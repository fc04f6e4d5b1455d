//! A table as text: a line of names, then a line for every row. No value holds a comma. A last line that was cut off, as a killed
//! recorder leaves it, is left out.

use super::{Raw, Row, TableError};
use crate::Kind;
use std::io::BufRead;
use std::path::Path;

const NAMES: [&str; 11] =
    ["dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "gmc", "mb_id"];

pub fn read(input: impl BufRead, path: &Path) -> Result<Vec<Row>, TableError> {
    let io = |source| TableError::Io { path: path.into(), source };
    let mut input = input;
    let mut header = String::new();
    input.read_line(&mut header).map_err(io)?;
    let header: Vec<&str> = header.split(',').map(str::trim).collect();
    let mut places = [0; NAMES.len()];
    for (place, name) in places.iter_mut().zip(NAMES) {
        let found = header.iter().position(|known| *known == name);
        *place = found.ok_or_else(|| TableError::NoColumn { path: path.into(), name })?;
    }
    let mut rows = Vec::new();
    let mut line = String::new();
    for row in 1.. {
        line.clear();
        if input.read_line(&mut line).map_err(io)? == 0 {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if !line.ends_with('\n') && cells.len() < header.len() {
            break;
        }
        rows.push(row_of(&cells, &places, row, path)?);
    }
    Ok(rows)
}

fn row_of(cells: &[&str], places: &[usize], row: usize, path: &Path) -> Result<Row, TableError> {
    let cell = |column: usize| cells.get(places[column]).copied().unwrap_or_default();
    let wrong = |column: usize, why| TableError::Value {
        path: path.into(),
        row,
        column: NAMES[column],
        value: cell(column).into(),
        why,
    };
    let number = |column: usize| cell(column).parse::<i64>().map_err(|_| wrong(column, "is no whole number"));
    let seconds =
        |column: usize| cell(column).parse::<f64>().map_err(|_| wrong(column, "is no number of seconds"));
    let raw = Raw {
        dp_rank: number(0)?,
        stage: number(1)?,
        rank: number(2)?,
        step: number(3)?,
        start: seconds(5)?,
        duration: seconds(6)?,
        seq: number(7)?,
        chunk: number(8)?,
        model_chunk: number(9)?,
        microbatch: number(10)?,
    };
    raw.row(Kind::of_name(cell(4)), cell(4), row, path)
}
