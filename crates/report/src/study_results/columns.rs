//! Results as Parquet.

use super::{COLUMNS, ReadError};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
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
use straggler_model::stats::slowdown;
use straggler_model::study::{Coordinates, PointResult, Results};

const VERSION_KEY: &str = "straggler.study_results.version";
const VERSION: &str = "1";
const MADE_BY: &str = "straggler";

/// Rows that are in memory at a time beside the results themselves, and rows of a group.
const ROWS: usize = 1 << 14;
const GROUP: usize = 1 << 20;

/// A replica of a point.
type Row<'a> = (&'a PointResult, u32, Time);

fn schema() -> Schema {
    let types = [
        DataType::Utf8,
        DataType::Utf8,
        DataType::UInt64,
        DataType::UInt32,
        DataType::Utf8,
        DataType::Float64,
        DataType::Utf8,
        DataType::Boolean,
        DataType::UInt64,
        DataType::UInt32,
        DataType::UInt64,
        DataType::UInt64,
        DataType::Float64,
    ];
    let field = |(&name, kind): (&&str, DataType)| Field::new(name, kind, name == "size");
    Schema::new(COLUMNS.iter().zip(types).map(field).collect::<Vec<_>>())
}

pub(super) fn write(out: &mut (dyn Write + Send), results: &Results) -> io::Result<()> {
    let schema = Arc::new(schema());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).map_err(io::Error::other)?))
        .set_created_by(MADE_BY.into())
        .set_max_row_group_row_count(Some(GROUP))
        .set_key_value_metadata(Some(vec![KeyValue::new(VERSION_KEY.into(), VERSION.to_string())]))
        .build();
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(io::Error::other)?;
    let mut rows: Vec<Row<'_>> = Vec::with_capacity(ROWS);
    for point in &results.points {
        for (replica, &makespan) in (0..).zip(&point.makespans) {
            rows.push((point, replica, makespan));
            if rows.len() == ROWS {
                writer.write(&batch(&schema, &rows).map_err(io::Error::other)?).map_err(io::Error::other)?;
                rows.clear();
            }
        }
    }
    writer.write(&batch(&schema, &rows).map_err(io::Error::other)?).map_err(io::Error::other)?;
    writer.close().map_err(io::Error::other)?;
    Ok(())
}

fn batch(schema: &Arc<Schema>, rows: &[Row<'_>]) -> Result<RecordBatch, ArrowError> {
    fn texts<'a>(rows: &[Row<'a>], of: impl Fn(&'a Coordinates) -> &'a str) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| of(&row.0.point))))
    }
    fn longs(rows: &[Row<'_>], of: impl Fn(&Row<'_>) -> u64) -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(of)))
    }
    fn shorts(rows: &[Row<'_>], of: impl Fn(&Row<'_>) -> u32) -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(of)))
    }
    fn floats(rows: &[Row<'_>], of: impl Fn(&Row<'_>) -> f64) -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(rows.iter().map(of)))
    }
    let columns: Vec<ArrayRef> = vec![
        texts(rows, |at| &at.sweep),
        texts(rows, |at| &at.workload),
        Arc::new(rows.iter().map(|row| row.0.point.size).collect::<UInt64Array>()),
        shorts(rows, |row| row.0.point.processes),
        texts(rows, |at| &at.network),
        floats(rows, |row| row.0.point.network_scale),
        texts(rows, |at| &at.noise),
        Arc::new(rows.iter().map(|row| Some(row.0.point.cosched)).collect::<BooleanArray>()),
        longs(rows, |row| row.0.point.seed),
        shorts(rows, |row| row.1),
        longs(rows, |row| row.2.ps()),
        longs(rows, |row| row.0.quiet.ps()),
        floats(rows, |row| slowdown(row.2, row.0.quiet)),
    ];
    RecordBatch::try_new(schema.clone(), columns)
}

pub(super) fn read(path: &Path) -> Result<Results, ReadError> {
    let file = File::open(path).map_err(|fault| ReadError::Io { path: path.into(), fault })?;
    let wrong = |problem: String| ReadError::Wrong { path: path.into(), problem };
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.with_batch_size(ROWS).build())
        .map_err(|fault: ParquetError| wrong(fault.to_string()))?;
    let mut results = Results::default();
    for batch in reader {
        let batch = batch.map_err(|fault| wrong(fault.to_string()))?;
        append(&batch, &mut results).map_err(wrong)?;
    }
    Ok(results)
}

/// The columns of some rows.
struct Columns<'a> {
    texts: [&'a StringArray; 4],
    size: &'a UInt64Array,
    cosched: &'a BooleanArray,
    processes: &'a UInt32Array,
    replica: &'a UInt32Array,
    network_scale: &'a Float64Array,
    longs: [&'a UInt64Array; 3],
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Columns<'a>, String> {
        let column =
            |name: &str| batch.column_by_name(name).ok_or_else(|| format!("it lacks the column {name}"));
        let kind = |name: &str| format!("the column {name} is of another kind");
        let text = |name| column(name)?.as_string_opt::<i32>().ok_or_else(|| kind(name));
        let long = |name| column(name)?.as_primitive_opt::<UInt64Type>().ok_or_else(|| kind(name));
        let short = |name| column(name)?.as_primitive_opt::<UInt32Type>().ok_or_else(|| kind(name));
        let float = |name| column(name)?.as_primitive_opt::<Float64Type>().ok_or_else(|| kind(name));
        let columns = Columns {
            texts: [text("sweep")?, text("workload")?, text("network")?, text("noise")?],
            size: long("size")?,
            cosched: column("cosched")?.as_boolean_opt().ok_or_else(|| kind("cosched"))?,
            processes: short("processes")?,
            replica: short("replica")?,
            network_scale: float("network_scale")?,
            longs: [long("seed")?, long("makespan_ps")?, long("quiet_ps")?],
        };
        match batch
            .columns()
            .iter()
            .zip(COLUMNS)
            .find(|(column, name)| column.null_count() > 0 && *name != "size")
        {
            Some((_, name)) => Err(format!("the column {name} has gaps")),
            None => Ok(columns),
        }
    }

    /// Whether a row belongs to the point: compared without making anything.
    fn belongs(&self, row: usize, point: &PointResult) -> bool {
        let at = &point.point;
        self.replica.value(row) > 0
            && self.processes.value(row) == at.processes
            && self.longs[0].value(row) == at.seed
            && self.cosched.value(row) == at.cosched
            && [&at.sweep, &at.workload, &at.network, &at.noise]
                .iter()
                .zip(self.texts)
                .all(|(text, column)| column.value(row) == text.as_str())
    }

    fn coordinates(&self, row: usize) -> Coordinates {
        let [sweep, workload, network, noise] = self.texts.map(|column| column.value(row).to_string());
        Coordinates {
            sweep,
            workload,
            size: self.size.is_valid(row).then(|| self.size.value(row)),
            network,
            network_scale: self.network_scale.value(row),
            noise,
            cosched: self.cosched.value(row),
            seed: self.longs[0].value(row),
            processes: self.processes.value(row),
        }
    }
}

fn append(batch: &RecordBatch, results: &mut Results) -> Result<(), String> {
    let columns = Columns::of(batch)?;
    for row in 0..batch.num_rows() {
        let (replica, quiet) = (columns.replica.value(row), Time(columns.longs[2].value(row)));
        if !results.points.last().is_some_and(|point| columns.belongs(row, point)) {
            results.points.push(PointResult {
                point: columns.coordinates(row),
                quiet,
                makespans: Vec::new(),
            });
        }
        let Some(point) = results.points.last_mut() else { continue };
        if replica as usize != point.makespans.len() {
            return Err(format!("replica {replica} stands where replica {} belongs", point.makespans.len()));
        }
        point.makespans.push(Time(columns.longs[1].value(row)));
    }
    Ok(())
}
