//! Tables in Parquet, with any integer and floating-point types.

use super::{Fault, Raw, Row, Table, TableError};
use crate::Kind;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use straggler_model::parallel;
use straggler_parquet::{
    ColumnType, ColumnValues, Error, Logical, Reader, Rows, Strings, Values, check_seal,
};

/// The maximum number of rows per byte of the file. A larger number of rows is corrupt.
const ROWS_PER_BYTE: u64 = 1000;
/// Rows that are decoded at a time: all their columns fit into the cache.
const BATCH: usize = 1 << 13;

/// Memory for as many rows of a group is reserved. A larger group may be a damaged number.
const LONGEST_USUAL: usize = 1 << 20;

/// The columns that are read, in the order in which [`Group::fill`] uses them.
const NAMES: [&str; 11] =
    ["dp_rank", "stage", "rank", "step", "seq_id", "mc", "gmc", "mb_id", "start_ts", "duration", "optype"];
const OPTYPE: usize = 10;

pub fn read(file: File, path: &Path) -> Result<Table, TableError> {
    let wrong = |error: Error| unreadable(path, error);
    let length = file.metadata().map_err(|error| wrong(error.into()))?.len();
    let most = length.saturating_mul(ROWS_PER_BYTE);
    let is_sealed = check_seal(&file).map_err(wrong)?;
    let reader = Reader::open(&file).map_err(wrong)?;
    let columns = columns(&reader, path)?;
    // By row group: the number of rows before it; then the total.
    let mut before = vec![0u64];
    for (number, group) in reader.groups().iter().enumerate() {
        if group.rows > most {
            let rows = group.rows;
            return Err(fault(
                path,
                format!(
                    "row group {number} cannot have {rows} rows in a file this small: the footer is damaged"
                ),
            ));
        }
        before.push(before[number].saturating_add(group.rows));
    }
    let groups = reader.groups().len();
    let read = |number: usize| -> Result<Table, TableError> {
        let rows = reader.rows(number, &columns.map(|(place, _)| place)).map_err(wrong)?;
        let kinds = columns.map(|(_, kind)| kind);
        Group { rows, kinds, path }.table(before[number] as usize, reader.groups()[number].rows as usize)
    };
    let mut whole = Table::default();
    // A failed reservation is ignored: there may be enough memory for the rows that really exist.
    let all = before[groups];
    drop(whole.rows.try_reserve_exact(if all <= most { all as usize } else { 0 }));
    // Reads as many groups at a time as there are threads, so that few rows are in memory twice.
    let at_once = rayon::current_num_threads().max(1);
    for first in (0..groups).step_by(at_once) {
        let numbers = first..groups.min(first + at_once);
        for table in parallel::map(numbers.len(), |number| read(first + number)) {
            let table = table?;
            reserve(&mut whole.rows, table.rows.len(), path)?;
            whole.rows.extend(table.rows);
            whole.faults.append(table.faults);
            whole.unchecked |= table.unchecked && !is_sealed;
        }
    }
    Ok(whole)
}

/// The places and types of the columns that are read.
fn columns(reader: &Reader<'_>, path: &Path) -> Result<[(usize, ColumnType); NAMES.len()], TableError> {
    let mut found = Vec::new();
    for name in NAMES {
        let place = reader.schema().find(name);
        let place = place.ok_or_else(|| TableError::NoColumn { path: path.into(), name })?;
        found.push((place, reader.schema().columns[place].kind));
    }
    found.try_into().map_err(|_| fault(path, "columns are missing".into()))
}

fn fault(path: &Path, what: String) -> TableError {
    TableError::Parquet { path: path.into(), what }
}

/// Makes room for more rows: a few bytes can stand for billions.
fn reserve(rows: &mut Vec<Row>, more: usize, path: &Path) -> Result<(), TableError> {
    let before = rows.len();
    rows.try_reserve(more)
        .map_err(|_| fault(path, format!("its rows, more than {before}, do not fit into memory")))
}

fn unreadable(path: &Path, error: Error) -> TableError {
    match error {
        Error::Io(source) => TableError::Io { path: path.into(), source },
        error => fault(path, error.to_string()),
    }
}

struct Group<'a> {
    rows: Rows<'a>,
    kinds: [ColumnType; NAMES.len()],
    path: &'a Path,
}

impl Group<'_> {
    /// The rows of the group. `before` rows precede it.
    fn table(&mut self, before: usize, count: usize) -> Result<Table, TableError> {
        let mut table = Table { rows: Vec::with_capacity(count.min(LONGEST_USUAL)), ..Table::default() };
        let mut raw = vec![Raw::default(); BATCH.min(count)];
        let mut names = Names::default();
        let mut row = before;
        loop {
            let count = self.rows.next(BATCH).map_err(|error| unreadable(self.path, error))?;
            if count == 0 {
                table.unchecked = self.rows.are_unchecked();
                return Ok(table);
            }
            reserve(&mut table.rows, count, self.path)?;
            let raw = &mut raw[..count];
            self.fill(raw, row)?;
            let optypes = self.optypes(row)?;
            for (place, raw) in raw.iter().enumerate() {
                row += 1;
                let (kind, name) = names.get(optypes, place);
                match raw.row(kind, name) {
                    Ok(row) => table.rows.push(row),
                    Err(wrong) => {
                        let (step, rank) = (Some(raw.step), Some(raw.rank));
                        table.faults.add(Fault { path: self.path.into(), row, step, rank, wrong })?;
                    }
                }
            }
        }
    }

    fn fill(&self, rows: &mut [Raw], before: usize) -> Result<(), TableError> {
        self.integers(0, before, rows, |raw, number| raw.dp_rank = number)?;
        self.integers(1, before, rows, |raw, number| raw.stage = number)?;
        self.integers(2, before, rows, |raw, number| raw.rank = number)?;
        self.integers(3, before, rows, |raw, number| raw.step = number)?;
        self.integers(4, before, rows, |raw, number| raw.seq = number)?;
        self.integers(5, before, rows, |raw, number| raw.chunk = number)?;
        self.integers(6, before, rows, |raw, number| raw.model_chunk = number)?;
        self.integers(7, before, rows, |raw, number| raw.microbatch = number)?;
        self.seconds(8, before, rows, |raw, seconds| raw.start = seconds)?;
        self.seconds(9, before, rows, |raw, seconds| raw.duration = seconds)
    }

    fn integers(
        &self,
        place: usize,
        before: usize,
        rows: &mut [Raw],
        set: impl Fn(&mut Raw, i64),
    ) -> Result<(), TableError> {
        let is_unsigned = self.kinds[place].logical == Logical::Unsigned;
        match &self.complete(place, before)?.values {
            _ if self.kinds[place].logical == Logical::Decimal => return Err(self.other_type(place)),
            Values::I32(values) if is_unsigned => {
                rows.iter_mut().zip(values).for_each(|(row, &value)| set(row, (value as u32).into()));
            }
            Values::I32(values) => {
                rows.iter_mut().zip(values).for_each(|(row, &value)| set(row, value.into()))
            }
            Values::I64(values) => rows.iter_mut().zip(values).for_each(|(row, &value)| set(row, value)),
            _ => return Err(self.other_type(place)),
        }
        Ok(())
    }

    fn seconds(
        &self,
        place: usize,
        before: usize,
        rows: &mut [Raw],
        set: impl Fn(&mut Raw, f64),
    ) -> Result<(), TableError> {
        match &self.complete(place, before)?.values {
            Values::F32(values) => {
                rows.iter_mut().zip(values).for_each(|(row, &value)| set(row, value.into()))
            }
            Values::F64(values) => rows.iter_mut().zip(values).for_each(|(row, &value)| set(row, value)),
            _ => return Err(self.other_type(place)),
        }
        Ok(())
    }

    fn optypes(&self, before: usize) -> Result<&Strings, TableError> {
        match &self.complete(OPTYPE, before)?.values {
            Values::Bytes(strings) => Ok(strings),
            _ => Err(self.other_type(OPTYPE)),
        }
    }

    /// The values of a column. None may be missing.
    fn complete(&self, place: usize, before: usize) -> Result<&ColumnValues, TableError> {
        let column = self.rows.column(place);
        match column.first_missing() {
            None => Ok(column),
            Some(row) => {
                let (name, row) = (NAMES[place], before + row + 1);
                Err(fault(self.path, format!("column {name} has no value in row {row}: every row needs one")))
            }
        }
    }

    fn other_type(&self, place: usize) -> TableError {
        fault(self.path, format!("column {} has the unexpected type {}", NAMES[place], self.kinds[place]))
    }
}

/// The operations of a group, by name. Those of the column's dictionary are looked up once.
#[derive(Default)]
struct Names {
    of_dictionary: Vec<Option<usize>>,
    known: Vec<(Option<Kind>, String)>,
    places: HashMap<String, usize>,
    last: usize,
}

impl Names {
    /// The operation of a row, and its name.
    fn get(&mut self, strings: &Strings, row: usize) -> (Option<Kind>, &str) {
        let id = strings.ids()[row] as usize;
        if self.of_dictionary.len() < strings.dictionary_len() {
            self.of_dictionary.resize(strings.dictionary_len(), None);
        }
        let place = match self.of_dictionary.get(id) {
            Some(&Some(place)) => place,
            Some(None) => {
                let place = self.find(strings.get(row));
                self.of_dictionary[id] = Some(place);
                place
            }
            None => self.find(strings.get(row)),
        };
        let (kind, name) = &self.known[place];
        (*kind, name)
    }

    fn find(&mut self, name: &[u8]) -> usize {
        // Rows of the same kind are usually adjacent.
        if self.known.get(self.last).is_none_or(|(_, known)| known.as_bytes() != name) {
            let text = String::from_utf8_lossy(name);
            let next = self.known.len();
            self.last = *self.places.entry(text.into_owned()).or_insert(next);
            if self.last == next {
                let text = String::from_utf8_lossy(name).into_owned();
                self.known.push((Kind::of_name(&text), text));
            }
        }
        self.last
    }
}
