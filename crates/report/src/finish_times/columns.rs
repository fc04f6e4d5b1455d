//! Finish times as Parquet: the only place that knows arrow.

use super::ReadError;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use straggler_model::Time;

const VERSION_KEY: &str = "straggler.finish_times.version";
const VERSION: &str = "1";

/// Rows that are in memory at a time beside the finish times themselves.
const ROWS: usize = 1 << 16;

pub(super) fn write(out: &mut (dyn Write + Send), finish: &[Time]) -> io::Result<()> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("rank", DataType::UInt32, false),
        Field::new("finish_ps", DataType::UInt64, false),
    ]));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).map_err(io::Error::other)?))
        .set_key_value_metadata(Some(vec![KeyValue::new(VERSION_KEY.into(), VERSION.to_string())]))
        .build();
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(io::Error::other)?;
    for (index, rows) in finish.chunks(ROWS).enumerate() {
        let batch = batch(&schema, (index * ROWS) as u32, rows).map_err(io::Error::other)?;
        writer.write(&batch).map_err(io::Error::other)?;
    }
    writer.close().map_err(io::Error::other)?;
    Ok(())
}

fn batch(schema: &Arc<Schema>, first: u32, rows: &[Time]) -> Result<RecordBatch, ArrowError> {
    let ranks = UInt32Array::from_iter_values((first..).take(rows.len()));
    let times = UInt64Array::from_iter_values(rows.iter().map(|time| time.ps()));
    let columns: Vec<ArrayRef> = vec![Arc::new(ranks), Arc::new(times)];
    RecordBatch::try_new(schema.clone(), columns)
}

pub(super) fn read(path: &Path) -> Result<Vec<Time>, ReadError> {
    let file = File::open(path).map_err(|fault| ReadError::Io { path: path.into(), fault })?;
    let parquet = |problem: String| ReadError::Parquet { path: path.into(), problem };
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.build())
        .map_err(|fault: ParquetError| parquet(fault.to_string()))?;
    let mut finish = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|fault| parquet(fault.to_string()))?;
        append(&batch, &mut finish).map_err(parquet)?;
    }
    Ok(finish)
}

fn append(batch: &RecordBatch, finish: &mut Vec<Time>) -> Result<(), String> {
    let column = |name: &str| batch.column_by_name(name).ok_or_else(|| format!("it lacks the column {name}"));
    let ranks = column("rank")?.as_primitive_opt::<UInt32Type>().ok_or("the ranks are no 32-bit numbers")?;
    let times =
        column("finish_ps")?.as_primitive_opt::<UInt64Type>().ok_or("the times are no 64-bit numbers")?;
    for (rank, time) in ranks.values().iter().zip(times.values()) {
        if *rank as usize != finish.len() {
            return Err(format!("rank {rank} stands where rank {} belongs", finish.len()));
        }
        finish.push(Time(*time));
    }
    Ok(())
}
