//! A table as Parquet, with whatever integer and floating-point types its writer chose.

use super::{Fault, Raw, Table, TableError};
use crate::Kind;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

/// No table has more rows than this for a byte of its file: a number of rows beyond is corrupt.
const ROWS_PER_BYTE: u64 = 1000;

pub fn read(file: File, path: &Path) -> Result<Table, TableError> {
    let fault = |fault: parquet::errors::ParquetError| TableError::Parquet {
        path: path.into(),
        what: fault.to_string(),
    };
    let length = file.metadata().map_err(|source| TableError::Io { path: path.into(), source })?.len();
    let reader = SerializedFileReader::new(file).map_err(fault)?;
    let (mut table, mut before) = (Table::default(), 0);
    for number in 0..reader.num_row_groups() {
        let group = Group { reader: &*reader.get_row_group(number).map_err(fault)?, path };
        before += group.append_to(&mut table, before, length.saturating_mul(ROWS_PER_BYTE))?;
    }
    Ok(table)
}

struct Group<'a> {
    reader: &'a dyn RowGroupReader,
    path: &'a Path,
}

impl Group<'_> {
    /// Appends the rows of the group, which follow `before` others. Returns their number.
    fn append_to(&self, table: &mut Table, before: usize, most: u64) -> Result<usize, TableError> {
        let rows = self.reader.metadata().num_rows();
        let count = usize::try_from(rows).ok().filter(|&count| count as u64 <= most);
        let count = count.ok_or_else(|| self.fault(&format!("it cannot have {rows} rows: it is corrupt")))?;
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
        let mut kinds: HashMap<&[u8], (Option<Kind>, String)> = HashMap::new();
        for (row, (raw, name)) in (before + 1..).zip(raw.iter().zip(&names)) {
            let (kind, text) = kinds.entry(name).or_insert_with(|| {
                let text = String::from_utf8_lossy(name).into_owned();
                (Kind::of_name(&text), text)
            });
            match raw.row(*kind, text) {
                Ok(row) => table.rows.push(row),
                Err(wrong) => {
                    let (step, rank) = (Some(raw.step), Some(raw.rank));
                    table.faults.add(Fault { path: self.path.into(), row, step, rank, wrong })?;
                }
            }
        }
        Ok(count)
    }

    fn column(&self, name: &'static str) -> Result<(ColumnReader, Type), TableError> {
        let columns = self.reader.metadata().columns();
        let place = columns.iter().position(|column| column.column_path().string() == name);
        let place = place.ok_or_else(|| TableError::NoColumn { path: self.path.into(), name })?;
        let reader = self.reader.get_column_reader(place).map_err(|fault| self.fault(&fault.to_string()))?;
        Ok((reader, columns[place].column_type()))
    }

    fn fault(&self, what: &str) -> TableError {
        TableError::Parquet { path: self.path.into(), what: what.into() }
    }

    fn other_type(&self, name: &str, kind: Type) -> TableError {
        self.fault(&format!("column {name} has type {kind}, which it cannot have"))
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

    fn names(&self, name: &'static str, count: usize) -> Result<Vec<Vec<u8>>, TableError> {
        match self.column(name)? {
            (ColumnReader::ByteArrayColumnReader(mut column), _) => {
                let values = self.values(name, &mut column, count)?;
                Ok(values.iter().map(|value| value.data().to_vec()).collect())
            }
            (_, kind) => Err(self.other_type(name, kind)),
        }
    }

    /// All values of a column, of which none is missing.
    fn values<T: DataType>(
        &self,
        name: &str,
        column: &mut ColumnReaderImpl<T>,
        count: usize,
    ) -> Result<Vec<T::T>, TableError> {
        let (mut values, mut levels) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (_, read, _) = column
            .read_records(count, Some(&mut levels), None, &mut values)
            .map_err(|fault| self.fault(&format!("column {name}: {fault}")))?;
        if read != count {
            return Err(
                self.fault(&format!("column {name} has {read} values for {count} rows: none may be missing"))
            );
        }
        Ok(values)
    }
}
