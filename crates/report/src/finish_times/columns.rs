//! Finish times as Parquet.

use super::ReadError;
use crate::parquet::{self, Column, Kind, Layout, Values};
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use straggler_model::Time;

const LAYOUT: Layout = Layout {
    key: "straggler.finish_times.version",
    version: "2",
    columns: &[Column { name: "rank", kind: Kind::U32 }, Column { name: "finish_ps", kind: Kind::U64 }],
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
    parquet::write(out, &LAYOUT, processes, &mut |column, rows| match column {
        0 => Values::U32(rows.map(|rank| rank as u32).collect()),
        _ => Values::U64(times(rows)),
    })
}

pub(super) fn read(path: &Path) -> Result<Vec<Time>, ReadError> {
    let file = std::fs::read(path).map_err(|fault| ReadError::Io { path: path.into(), fault })?;
    decode(&file).map_err(|problem| ReadError::Parquet { path: path.into(), problem })
}

fn decode(file: &[u8]) -> Result<Vec<Time>, String> {
    let mut finish = Vec::new();
    for page in parquet::read(file, &LAYOUT)? {
        let page = page?;
        let [Values::U32(ranks), Values::U64(times)] = &page[..] else {
            return Err("it has unexpected columns".into());
        };
        for (&rank, &time) in ranks.iter().zip(times) {
            if rank as usize != finish.len() {
                return Err(format!("rank {rank} found where rank {} was expected", finish.len()));
            }
            finish.push(Time(time));
        }
    }
    Ok(finish)
}
