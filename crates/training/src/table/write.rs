//! Tables as files: CSV or Parquet.

use crate::{Kind, Row};
use std::io::{self, Write};
use straggler_parquet::{Codec, Field, Kind as ColumnKind, Layout, Seal, Strings, Texts, Values};

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

/// Like [`write_csv`], in Parquet, with a checksum of the file.
pub fn write_parquet(rows: &[Row], synthetic: bool, out: &mut impl Write) -> io::Result<()> {
    let columns = &COLUMNS[..COLUMNS.len() - usize::from(!synthetic)];
    let seal = Some(Seal { key: "straggler.table.version", version: "1" });
    let layout = Layout { columns, codec: Codec::Snappy, seal };
    // The names of all operations, and the place of each among them.
    let names: Texts = Kind::ALL.into_iter().map(Kind::name).collect();
    straggler_parquet::write(out, &layout, rows.len(), &mut |column, range| {
        let rows = rows[range].iter();
        let values = match COLUMNS[column].name {
            "dp_rank" => Values::I32(rows.map(|row| row.dp_rank as i32).collect()),
            "stage" => Values::I32(rows.map(|row| row.stage as i32).collect()),
            "rank" => Values::I32(rows.map(|row| row.rank as i32).collect()),
            "step" => Values::I64(rows.map(|row| row.step).collect()),
            "optype" => Values::Bytes(Strings::new(names.clone(), rows.map(|row| row.kind as u32).collect())),
            "start_ts" => Values::F64(rows.map(|row| row.start).collect()),
            "duration" => Values::F64(rows.map(|row| row.duration).collect()),
            "seq_id" => Values::I32(rows.map(|row| row.seq as i32).collect()),
            "mc" => Values::I32(rows.map(|row| row.chunk).collect()),
            "gmc" => Values::I32(rows.map(|row| row.model_chunk).collect()),
            "mb_id" => Values::I32(rows.map(|row| row.microbatch).collect()),
            _ => Values::I32(rows.map(|_| 1).collect()),
        };
        values.into()
    })
}

/// The last one only in synthetic tables.
const COLUMNS: [Field; 12] = [
    Field::new("dp_rank", ColumnKind::I32).with_dictionary(),
    Field::new("stage", ColumnKind::I32).with_dictionary(),
    Field::new("rank", ColumnKind::I32).with_dictionary(),
    Field::new("step", ColumnKind::I64).with_dictionary(),
    Field::new("optype", ColumnKind::Text).with_dictionary(),
    Field::new("start_ts", ColumnKind::F64),
    Field::new("duration", ColumnKind::F64),
    Field::new("seq_id", ColumnKind::I32).with_dictionary(),
    Field::new("mc", ColumnKind::I32).with_dictionary(),
    Field::new("gmc", ColumnKind::I32).with_dictionary(),
    Field::new("mb_id", ColumnKind::I32).with_dictionary(),
    Field::new("synthetic", ColumnKind::I32).with_dictionary(),
];
