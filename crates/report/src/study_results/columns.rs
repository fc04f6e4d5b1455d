//! Results as Parquet.

use super::ReadError;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use straggler_model::Time;
use straggler_model::stats::slowdown;
use straggler_model::study::{Coordinates, PointResult, Results};
use straggler_parquet::{Codec, ColumnValues, Field, Kind, Layout, Seal, Strings, Values, read_sealed};

const LAYOUT: Layout<'static> = Layout {
    columns: &[
        Field::new("sweep", Kind::Text),
        Field::new("workload", Kind::Text),
        Field::new("size", Kind::U64).nullable(),
        Field::new("processes", Kind::U32),
        Field::new("network", Kind::Text),
        Field::new("network_scale", Kind::F64),
        Field::new("noise", Kind::Text),
        Field::new("cosched", Kind::Bool),
        Field::new("seed", Kind::U64),
        Field::new("replica", Kind::U32),
        Field::new("makespan_ps", Kind::U64),
        Field::new("quiet_ps", Kind::U64),
        Field::new("slowdown", Kind::F64),
    ],
    codec: Codec::Gzip,
    seal: Some(Seal { key: "straggler.study_results.version", version: "2" }),
};

pub(super) fn write(out: &mut dyn Write, results: &Results) -> io::Result<()> {
    let rows = Rows::new(results);
    straggler_parquet::write(out, &LAYOUT, rows.count, &mut |column, range| rows.column(column, range))
}

/// The replicas of all points, in order.
struct Rows<'a> {
    points: &'a [PointResult],
    /// The first row of every point.
    firsts: Vec<usize>,
    count: usize,
}

impl<'a> Rows<'a> {
    fn new(results: &'a Results) -> Rows<'a> {
        let mut count = 0;
        let firsts = (results.points.iter())
            .map(|point| {
                let first = count;
                count += point.makespans.len();
                first
            })
            .collect();
        Rows { points: &results.points, firsts, count }
    }

    /// The points and replicas of a range of rows.
    fn range(&self, rows: Range<usize>) -> impl Iterator<Item = (&'a PointResult, usize)> {
        let mut index = self.firsts.partition_point(|&first| first <= rows.start).saturating_sub(1);
        rows.map(move |row| {
            while row - self.firsts[index] >= self.points[index].makespans.len() {
                index += 1;
            }
            (&self.points[index], row - self.firsts[index])
        })
    }

    fn column(&self, column: usize, range: Range<usize>) -> ColumnValues {
        let rows = self.range(range);
        let values = match LAYOUT.columns[column].name {
            "sweep" => Values::Bytes(rows.map(|(point, _)| &point.point.sweep).collect()),
            "workload" => Values::Bytes(rows.map(|(point, _)| &point.point.workload).collect()),
            "size" => {
                let sizes: Vec<Option<u64>> = rows.map(|(point, _)| point.point.size).collect();
                let values = sizes.iter().map(|size| size.unwrap_or(0) as i64).collect();
                let present = sizes.iter().map(Option::is_some).collect();
                return ColumnValues { values: Values::I64(values), present };
            }
            "processes" => Values::I32(rows.map(|(point, _)| point.point.processes as i32).collect()),
            "network" => Values::Bytes(rows.map(|(point, _)| &point.point.network).collect()),
            "network_scale" => Values::F64(rows.map(|(point, _)| point.point.network_scale).collect()),
            "noise" => Values::Bytes(rows.map(|(point, _)| &point.point.noise).collect()),
            "cosched" => Values::Bool(rows.map(|(point, _)| point.point.cosched).collect()),
            "seed" => Values::I64(rows.map(|(point, _)| point.point.seed as i64).collect()),
            "replica" => Values::I32(rows.map(|(_, replica)| replica as i32).collect()),
            "makespan_ps" => {
                Values::I64(rows.map(|(point, replica)| point.makespans[replica].ps() as i64).collect())
            }
            "quiet_ps" => Values::I64(rows.map(|(point, _)| point.quiet.ps() as i64).collect()),
            _ => Values::F64(
                rows.map(|(point, replica)| slowdown(point.makespans[replica], point.quiet)).collect(),
            ),
        };
        values.into()
    }
}

pub(super) fn read(path: &Path) -> Result<Results, ReadError> {
    let file = std::fs::read(path).map_err(|fault| ReadError::Io { path: path.into(), fault })?;
    decode(&file).map_err(|problem| ReadError::Wrong { path: path.into(), problem })
}

fn decode(file: &[u8]) -> Result<Results, String> {
    let mut results = Results::default();
    read_sealed(file, &LAYOUT, &mut |page| append(page, &mut results))?;
    Ok(results)
}

/// The columns of a page that was read.
struct Columns<'a> {
    texts: [&'a Strings; 4],
    sizes: &'a ColumnValues,
    size: &'a [i64],
    processes: &'a [i32],
    network_scale: &'a [f64],
    cosched: &'a [bool],
    seed: &'a [i64],
    replica: &'a [i32],
    makespan: &'a [i64],
    quiet: &'a [i64],
}

impl<'a> Columns<'a> {
    #[rustfmt::skip]
    fn new(page: &[&'a ColumnValues]) -> Option<Columns<'a>> {
        let sizes = *page.get(2)?;
        let page: Vec<&Values> = page.iter().map(|column| &column.values).collect();
        let [
            Values::Bytes(sweep), Values::Bytes(workload), Values::I64(size), Values::I32(processes),
            Values::Bytes(network), Values::F64(network_scale), Values::Bytes(noise), Values::Bool(cosched),
            Values::I64(seed), Values::I32(replica), Values::I64(makespan), Values::I64(quiet), Values::F64(_),
        ] = page[..] else { return None };
        let texts = [sweep, workload, network, noise];
        let is_text = |column: &&Strings| (0..column.pool().len()).all(|place| {
            std::str::from_utf8(column.pool().get(place)).is_ok()
        });
        if !texts.iter().all(is_text) {
            return None;
        }
        Some(Columns { texts, sizes, size, processes, network_scale, cosched, seed, replica, makespan, quiet })
    }

    fn size(&self, row: usize) -> Option<u64> {
        self.sizes.is_present(row).then(|| self.size[row] as u64)
    }

    /// Whether a row belongs to the point, without allocating.
    fn belongs(&self, row: usize, point: &PointResult) -> bool {
        let at = &point.point;
        self.replica[row] != 0
            && self.processes[row] as u32 == at.processes
            && self.size(row) == at.size
            && self.network_scale[row].to_bits() == at.network_scale.to_bits()
            && self.seed[row] as u64 == at.seed
            && self.cosched[row] == at.cosched
            && self.quiet[row] as u64 == point.quiet.ps()
            && [&at.sweep, &at.workload, &at.network, &at.noise]
                .iter()
                .zip(self.texts)
                .all(|(text, column)| column.get(row) == text.as_bytes())
    }

    fn coordinates(&self, row: usize) -> Coordinates {
        let text = |column: &Strings| String::from_utf8_lossy(column.get(row)).into_owned();
        let [sweep, workload, network, noise] = self.texts.map(text);
        Coordinates {
            sweep,
            workload,
            size: self.size(row),
            network,
            network_scale: self.network_scale[row],
            noise,
            cosched: self.cosched[row],
            seed: self.seed[row] as u64,
            processes: self.processes[row] as u32,
        }
    }
}

fn append(page: &[&ColumnValues], results: &mut Results) -> Result<(), String> {
    let columns = Columns::new(page).ok_or("it has unexpected columns")?;
    for (row, &replica) in columns.replica.iter().enumerate() {
        let replica = replica as u32;
        if !results.points.last().is_some_and(|point| columns.belongs(row, point)) {
            let (point, quiet) = (columns.coordinates(row), Time(columns.quiet[row] as u64));
            results.points.push(PointResult { point, quiet, makespans: Vec::new() });
        }
        let Some(point) = results.points.last_mut() else { continue };
        if replica as usize != point.makespans.len() {
            return Err(format!(
                "replica {replica} found where replica {} was expected",
                point.makespans.len()
            ));
        }
        point.makespans.push(Time(columns.makespan[row] as u64));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{COLUMNS, tests::sample};
    use super::*;

    #[test]
    fn columns_are_those_of_the_text_formats() {
        assert_eq!(LAYOUT.columns.iter().map(|column| column.name).collect::<Vec<_>>(), COLUMNS);
    }

    /// A flipped bit gives an error, never other rows.
    #[test]
    fn a_changed_byte_is_never_other_rows() {
        let mut file = Vec::new();
        write(&mut file, &sample(7, 9)).unwrap();
        assert_eq!(decode(&file), Ok(sample(7, 9)));
        for at in 0..file.len() {
            for bit in 0..8 {
                file[at] ^= 1 << bit;
                assert!(decode(&file).is_err(), "bit {bit} of byte {at} of {}", file.len());
                file[at] ^= 1 << bit;
            }
        }
    }
}
