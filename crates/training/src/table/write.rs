//! Tables as files: CSV or Parquet.

use crate::Row;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::{self, Write};
use std::sync::Arc;

/// The number of rows in a row group.
const ROW_GROUP: usize = 1 << 20;

/// Writes rows as a CSV table that [`crate::read_table`] reads. Times have twelve digits. A synthetic table has an additional
/// column that says so.
pub fn write_csv(rows: &[Row], synthetic: bool, out: &mut impl Write) -> io::Result<()> {
    let (name, value) = if synthetic { (",synthetic", ",1") } else { ("", "") };
    writeln!(out, "step,rank,dp_rank,stage,optype,start_ts,duration,seq_id,mc,gmc,mb_id{name}")?;
    for row in rows {
        writeln!(
            out,
            "{},{},{},{},{},{:.12},{:.12},{},{},{},{}{value}",
            row.step,
            row.rank,
            row.dp_rank,
            row.stage,
            row.kind.name(),
            row.start,
            row.duration,
            row.seq,
            row.chunk,
            row.model_chunk,
            row.microbatch
        )?;
    }
    Ok(())
}

/// Like [`write_csv`], in Parquet.
pub fn write_parquet(rows: &[Row], synthetic: bool, out: &mut (impl Write + Send)) -> io::Result<()> {
    parquet(rows, synthetic, out).map_err(|error| match error {
        ParquetError::External(error) => io::Error::other(error),
        error => io::Error::other(error.to_string()),
    })
}

fn parquet(rows: &[Row], synthetic: bool, out: &mut (impl Write + Send)) -> Result<(), ParquetError> {
    let last = if synthetic { "REQUIRED INT32 synthetic;" } else { "" };
    let schema = parse_message_type(&format!(
        "message operations {{
            REQUIRED INT32 dp_rank; REQUIRED INT32 stage; REQUIRED INT32 rank; REQUIRED INT64 step;
            REQUIRED BYTE_ARRAY optype (UTF8); REQUIRED DOUBLE start_ts; REQUIRED DOUBLE duration;
            REQUIRED INT32 seq_id; REQUIRED INT32 mc; REQUIRED INT32 gmc; REQUIRED INT32 mb_id; {last}
        }}"
    ))?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), properties)?;
    for rows in rows.chunks(ROW_GROUP) {
        let mut group = file.next_row_group()?;
        integers(&mut group, rows, |row| row.dp_rank as i32)?;
        integers(&mut group, rows, |row| row.stage as i32)?;
        integers(&mut group, rows, |row| row.rank as i32)?;
        column::<Int64Type, _>(&mut group, rows, |row| row.step)?;
        column::<ByteArrayType, _>(&mut group, rows, |row| ByteArray::from(row.kind.name()))?;
        column::<DoubleType, _>(&mut group, rows, |row| row.start)?;
        column::<DoubleType, _>(&mut group, rows, |row| row.duration)?;
        integers(&mut group, rows, |row| row.seq as i32)?;
        integers(&mut group, rows, |row| row.chunk)?;
        integers(&mut group, rows, |row| row.model_chunk)?;
        integers(&mut group, rows, |row| row.microbatch)?;
        if synthetic {
            integers(&mut group, rows, |_| 1)?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn integers<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row],
    value: impl Fn(&Row) -> i32,
) -> Result<(), ParquetError> {
    column::<Int32Type, W>(group, rows, value)
}

/// Writes the next column.
fn column<T: parquet::data_type::DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row],
    value: impl Fn(&Row) -> T::T,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let values: Vec<T::T> = rows.iter().map(value).collect();
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()
}
