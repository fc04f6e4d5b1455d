//! Finish times as Parquet.

use super::ReadError;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use straggler_model::Time;
use straggler_parquet::{Codec, Field, Kind, Layout, Seal, Values, read_sealed};

const LAYOUT: Layout<'static> = Layout {
    columns: &[Field::new("rank", Kind::U32), Field::new("finish_ps", Kind::U64)],
    codec: Codec::Gzip,
    seal: Some(Seal { key: "straggler.finish_times.version", version: "2" }),
};

pub(super) fn write(out: &mut dyn Write, finish: &[Time]) -> io::Result<()> {
    write_from(out, finish.len(), &mut |rows| finish[rows].iter().map(|time| time.ps()).collect())
}

/// Asks for the times of each page once, in order.
pub(super) fn write_from(
    out: &mut dyn Write,
    processes: usize,
    times: &mut dyn FnMut(Range<usize>) -> Vec<u64>,
) -> io::Result<()> {
    straggler_parquet::write(out, &LAYOUT, processes, &mut |column, rows| {
        let values = match column {
            0 => Values::I32(rows.map(|rank| rank as i32).collect()),
            _ => Values::I64(times(rows).into_iter().map(|time| time as i64).collect()),
        };
        values.into()
    })
}

pub(super) fn read(path: &Path) -> Result<Vec<Time>, ReadError> {
    let file = std::fs::read(path).map_err(|fault| ReadError::Io { path: path.into(), fault })?;
    decode(&file).map_err(|problem| ReadError::Parquet { path: path.into(), problem })
}

fn decode(file: &[u8]) -> Result<Vec<Time>, String> {
    let mut finish = Vec::new();
    read_sealed(file, &LAYOUT, &mut |page| {
        let [Values::I32(ranks), Values::I64(times)] = [&page[0].values, &page[1].values] else {
            return Err("it has unexpected columns".into());
        };
        for (&rank, &time) in ranks.iter().zip(times) {
            if rank as u32 as usize != finish.len() {
                return Err(format!("rank {} found where rank {} was expected", rank as u32, finish.len()));
            }
            finish.push(Time(time as u64));
        }
        Ok(())
    })?;
    Ok(finish)
}
