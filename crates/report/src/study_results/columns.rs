//! Results as Parquet.

use super::ReadError;
use crate::parquet::{self, Column, Kind, Layout, Texts, Values};
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use straggler_model::Time;
use straggler_model::stats::slowdown;
use straggler_model::study::{Coordinates, PointResult, Results};

const LAYOUT: Layout = Layout {
    key: "straggler.study_results.version",
    version: "2",
    columns: &[
        Column { name: "sweep", kind: Kind::Text },
        Column { name: "workload", kind: Kind::Text },
        Column { name: "size", kind: Kind::OptionalU64 },
        Column { name: "processes", kind: Kind::U32 },
        Column { name: "network", kind: Kind::Text },
        Column { name: "network_scale", kind: Kind::F64 },
        Column { name: "noise", kind: Kind::Text },
        Column { name: "cosched", kind: Kind::Bool },
        Column { name: "seed", kind: Kind::U64 },
        Column { name: "replica", kind: Kind::U32 },
        Column { name: "makespan_ps", kind: Kind::U64 },
        Column { name: "quiet_ps", kind: Kind::U64 },
        Column { name: "slowdown", kind: Kind::F64 },
    ],
};

pub(super) fn write(out: &mut dyn Write, results: &Results) -> io::Result<()> {
    let rows = Rows::of(results);
    parquet::write(out, &LAYOUT, rows.count, &mut |column, range| rows.column(column, range))
}

/// The replicas of all points, in order.
struct Rows<'a> {
    points: &'a [PointResult],
    /// The first row of every point.
    firsts: Vec<usize>,
    count: usize,
}

impl<'a> Rows<'a> {
    fn of(results: &'a Results) -> Rows<'a> {
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

    fn column(&self, column: usize, range: Range<usize>) -> Values {
        let rows = self.range(range);
        match LAYOUT.columns[column].name {
            "sweep" => Values::Text(rows.map(|(point, _)| &point.point.sweep).collect()),
            "workload" => Values::Text(rows.map(|(point, _)| &point.point.workload).collect()),
            "size" => Values::OptionalU64(rows.map(|(point, _)| point.point.size).collect()),
            "processes" => Values::U32(rows.map(|(point, _)| point.point.processes).collect()),
            "network" => Values::Text(rows.map(|(point, _)| &point.point.network).collect()),
            "network_scale" => Values::F64(rows.map(|(point, _)| point.point.network_scale).collect()),
            "noise" => Values::Text(rows.map(|(point, _)| &point.point.noise).collect()),
            "cosched" => Values::Bool(rows.map(|(point, _)| point.point.cosched).collect()),
            "seed" => Values::U64(rows.map(|(point, _)| point.point.seed).collect()),
            "replica" => Values::U32(rows.map(|(_, replica)| replica as u32).collect()),
            "makespan_ps" => {
                Values::U64(rows.map(|(point, replica)| point.makespans[replica].ps()).collect())
            }
            "quiet_ps" => Values::U64(rows.map(|(point, _)| point.quiet.ps()).collect()),
            _ => Values::F64(
                rows.map(|(point, replica)| slowdown(point.makespans[replica], point.quiet)).collect(),
            ),
        }
    }
}

pub(super) fn read(path: &Path) -> Result<Results, ReadError> {
    let file = std::fs::read(path).map_err(|fault| ReadError::Io { path: path.into(), fault })?;
    decode(&file).map_err(|problem| ReadError::Wrong { path: path.into(), problem })
}

fn decode(file: &[u8]) -> Result<Results, String> {
    let mut results = Results::default();
    for page in parquet::read(file, &LAYOUT)? {
        append(&page?, &mut results)?;
    }
    Ok(results)
}

/// The columns of a page that was read.
struct Columns<'a> {
    texts: [&'a Texts; 4],
    size: &'a [Option<u64>],
    processes: &'a [u32],
    network_scale: &'a [f64],
    cosched: &'a [bool],
    seed: &'a [u64],
    replica: &'a [u32],
    makespan: &'a [u64],
    quiet: &'a [u64],
}

impl<'a> Columns<'a> {
    #[rustfmt::skip]
    fn of(page: &'a [Values]) -> Option<Columns<'a>> {
        let [
            Values::Text(sweep), Values::Text(workload), Values::OptionalU64(size), Values::U32(processes),
            Values::Text(network), Values::F64(network_scale), Values::Text(noise), Values::Bool(cosched),
            Values::U64(seed), Values::U32(replica), Values::U64(makespan), Values::U64(quiet), Values::F64(_),
        ] = page else { return None };
        let texts = [sweep, workload, network, noise];
        Some(Columns { texts, size, processes, network_scale, cosched, seed, replica, makespan, quiet })
    }

    /// Whether a row belongs to the point, without allocating.
    fn belongs(&self, row: usize, point: &PointResult) -> bool {
        let at = &point.point;
        self.replica[row] > 0
            && self.processes[row] == at.processes
            && self.size[row] == at.size
            && self.network_scale[row].to_bits() == at.network_scale.to_bits()
            && self.seed[row] == at.seed
            && self.cosched[row] == at.cosched
            && self.quiet[row] == point.quiet.ps()
            && [&at.sweep, &at.workload, &at.network, &at.noise]
                .iter()
                .zip(self.texts)
                .all(|(text, column)| column.get(row) == text.as_str())
    }

    fn coordinates(&self, row: usize) -> Coordinates {
        let [sweep, workload, network, noise] = self.texts.map(|column| column.get(row).to_string());
        Coordinates {
            sweep,
            workload,
            size: self.size[row],
            network,
            network_scale: self.network_scale[row],
            noise,
            cosched: self.cosched[row],
            seed: self.seed[row],
            processes: self.processes[row],
        }
    }
}

fn append(page: &[Values], results: &mut Results) -> Result<(), String> {
    let columns = Columns::of(page).ok_or("it has unexpected columns")?;
    for (row, &replica) in columns.replica.iter().enumerate() {
        if !results.points.last().is_some_and(|point| columns.belongs(row, point)) {
            let (point, quiet) = (columns.coordinates(row), Time(columns.quiet[row]));
            results.points.push(PointResult { point, quiet, makespans: Vec::new() });
        }
        let Some(point) = results.points.last_mut() else { continue };
        if replica as usize != point.makespans.len() {
            return Err(format!(
                "replica {replica} found where replica {} was expected",
                point.makespans.len()
            ));
        }
        point.makespans.push(Time(columns.makespan[row]));
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
