//! Tables in Parquet, with any integer and floating-point types.

use super::{Fault, Raw, Table, TableError};
use crate::Kind;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use rayon::prelude::*;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The maximum number of rows per byte of the file. A larger number of rows is corrupt.
const ROWS_PER_BYTE: u64 = 1000;

pub fn read(file: File, path: &Path) -> Result<Table, TableError> {
    let io = |source| TableError::Io { path: path.into(), source };
    let length = file.metadata().map_err(io)?.len();
    let most = length.saturating_mul(ROWS_PER_BYTE);
    let mut readers = vec![open(file, path)?];
    let groups = readers[0].num_row_groups();
    // By row group: the number of rows before it; then the total.
    let mut before = vec![0usize];
    for group in readers[0].metadata().row_groups() {
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        before.push(before[before.len() - 1].saturating_add(rows));
    }
    // Row groups are read in parallel, each with its own handle: threads that share a handle share its file position.
    while readers.len() < rayon::current_num_threads().min(groups) {
        readers.push(open(File::open(path).map_err(io)?, path)?);
    }
    let read = |(reader, number): (&SerializedFileReader<File>, usize)| -> Result<Table, TableError> {
        let group = reader.get_row_group(number).map_err(|fault| {
            damaged(path, &format!("the footer lists row group {number}, which cannot be read"), &fault)
        })?;
        Group { reader: &*group, number, path }.table(before[number], most)
    };
    let mut whole = Table::default();
    // A failed reservation is ignored: there may be enough memory for the rows that really exist.
    let all = before[groups];
    drop(whole.rows.try_reserve_exact(if all as u64 <= most { all } else { 0 }));
    // Reads as many groups at a time as there are handles: reading a group takes more memory than keeping its rows.
    for first in (0..groups).step_by(readers.len()) {
        let numbers = first..groups.min(first + readers.len());
        let tables: Vec<_> = readers.par_iter().zip(numbers).map(read).collect();
        for table in tables {
            let table = table?;
            whole.rows.extend(table.rows);
            whole.faults.append(table.faults);
        }
    }
    Ok(whole)
}

fn open(mut file: File, path: &Path) -> Result<SerializedFileReader<File>, TableError> {
    let mut end = [0; 4];
    let read = file.seek(SeekFrom::End(-4)).and_then(|_| file.read_exact(&mut end));
    if read.is_err() || &end != b"PAR1" {
        let what =
            "the footer is missing: the file is truncated. Copy it again, or let its writer finish".into();
        return Err(TableError::Parquet { path: path.into(), what });
    }
    SerializedFileReader::new(file).map_err(|fault| damaged(path, "the footer is damaged", &fault))
}

/// An error that says what is damaged and what to do.
fn damaged(path: &Path, what: &str, fault: &ParquetError) -> TableError {
    let what = format!("{what} ({fault}). Copy the file again, or write it again");
    TableError::Parquet { path: path.into(), what }
}

struct Group<'a> {
    reader: &'a dyn RowGroupReader,
    number: usize,
    path: &'a Path,
}

impl Group<'_> {
    /// The rows of the group. `before` rows precede it.
    fn table(&self, before: usize, most: u64) -> Result<Table, TableError> {
        let rows = self.reader.metadata().num_rows();
        let count = usize::try_from(rows).ok().filter(|&count| count as u64 <= most);
        let count = count.ok_or_else(|| {
            self.fault(&format!(
                "row group {} cannot have {rows} rows in a file this small: the footer is damaged",
                self.number
            ))
        })?;
        let mut raw = vec![Raw::default(); count];
        self.integers("dp_rank", &mut raw, |raw, number| raw.dp_rank = number)?;
        self.integers("stage", &mut raw, |raw, number| raw.stage = number)?;
        self.integers("rank", &mut raw, |raw, number| raw.rank = number)?;
        self.integers("step", &mut raw, |raw, number| raw.step = number)?;
        self.integers("seq_id", &mut raw, |raw, number| raw.seq = number)?;
        self.integers("mc", &mut raw, |raw, number| raw.chunk = number)?;
        self.integers("gmc", &mut raw, |raw, number| raw.model_chunk = number)?;
        self.integers("mb_id", &mut raw, |raw, number| raw.microbatch = number)?;
        self.seconds("start_ts", &mut raw, |raw, seconds| raw.start = seconds)?;
        self.seconds("duration", &mut raw, |raw, seconds| raw.duration = seconds)?;
        let names = self.names("optype", count)?;
        let mut kinds: Vec<(ByteArray, Option<Kind>, String)> = Vec::new();
        let mut table = Table { rows: Vec::with_capacity(count), ..Table::default() };
        for (row, (raw, name)) in (before.saturating_add(1)..).zip(raw.iter().zip(&names)) {
            let known = kinds.iter().position(|(known, _, _)| known.data() == name.data());
            let place = known.unwrap_or_else(|| {
                let text = String::from_utf8_lossy(name.data()).into_owned();
                kinds.push((name.clone(), Kind::of_name(&text), text));
                kinds.len() - 1
            });
            // Rows of the same kind are usually adjacent, so the next lookup succeeds at once.
            kinds.swap(0, place);
            let (_, kind, text) = &kinds[0];
            match raw.row(*kind, text) {
                Ok(row) => table.rows.push(row),
                Err(wrong) => {
                    let (step, rank) = (Some(raw.step), Some(raw.rank));
                    table.faults.add(Fault { path: self.path.into(), row, step, rank, wrong })?;
                }
            }
        }
        Ok(table)
    }

    fn column(&self, name: &'static str) -> Result<(ColumnReader, Type), TableError> {
        let columns = self.reader.metadata().columns();
        let place = columns.iter().position(|column| column.column_path().string() == name);
        let place = place.ok_or_else(|| TableError::NoColumn { path: self.path.into(), name })?;
        let reader = self.reader.get_column_reader(place).map_err(|fault| self.page(name, &fault))?;
        Ok((reader, columns[place].column_type()))
    }

    fn fault(&self, what: &str) -> TableError {
        TableError::Parquet { path: self.path.into(), what: what.into() }
    }

    /// The error for an unreadable page of a column.
    fn page(&self, name: &str, fault: &ParquetError) -> TableError {
        damaged(self.path, &format!("a page of column {name} in row group {} is damaged", self.number), fault)
    }

    fn other_type(&self, name: &str, kind: Type) -> TableError {
        self.fault(&format!("column {name} has the unexpected type {kind}"))
    }

    fn integers(
        &self,
        name: &'static str,
        rows: &mut [Raw],
        set: impl Fn(&mut Raw, i64),
    ) -> Result<(), TableError> {
        match self.column(name)? {
            (ColumnReader::Int32ColumnReader(mut column), _) => {
                let values = self.values(name, &mut column, rows.len())?;
                rows.iter_mut().zip(values).for_each(|(row, value)| set(row, value.into()));
            }
            (ColumnReader::Int64ColumnReader(mut column), _) => {
                let values = self.values(name, &mut column, rows.len())?;
                rows.iter_mut().zip(values).for_each(|(row, value)| set(row, value));
            }
            (_, kind) => return Err(self.other_type(name, kind)),
        }
        Ok(())
    }

    fn seconds(
        &self,
        name: &'static str,
        rows: &mut [Raw],
        set: impl Fn(&mut Raw, f64),
    ) -> Result<(), TableError> {
        match self.column(name)? {
            (ColumnReader::FloatColumnReader(mut column), _) => {
                let values = self.values(name, &mut column, rows.len())?;
                rows.iter_mut().zip(values).for_each(|(row, value)| set(row, value.into()));
            }
            (ColumnReader::DoubleColumnReader(mut column), _) => {
                let values = self.values(name, &mut column, rows.len())?;
                rows.iter_mut().zip(values).for_each(|(row, value)| set(row, value));
            }
            (_, kind) => return Err(self.other_type(name, kind)),
        }
        Ok(())
    }

    fn names(&self, name: &'static str, count: usize) -> Result<Vec<ByteArray>, TableError> {
        match self.column(name)? {
            (ColumnReader::ByteArrayColumnReader(mut column), _) => self.values(name, &mut column, count),
            (_, kind) => Err(self.other_type(name, kind)),
        }
    }

    /// All values of a column. None may be missing.
    fn values<T: DataType>(
        &self,
        name: &str,
        column: &mut ColumnReaderImpl<T>,
        count: usize,
    ) -> Result<Vec<T::T>, TableError> {
        let (mut values, mut levels) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (_, read, _) = column
            .read_records(count, Some(&mut levels), None, &mut values)
            .map_err(|fault| self.page(name, &fault))?;
        if read != count {
            return Err(
                self.fault(&format!("column {name} has {read} values for {count} rows: every row needs one"))
            );
        }
        Ok(values)
    }
}
