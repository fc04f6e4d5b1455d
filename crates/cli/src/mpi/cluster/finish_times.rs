//! Writes the finish times of a run on a cluster to one file. Each member writes its own lines of a CSV file in place.
//! A Parquet file cannot be written in parts, so the first member writes it page by page as the others send their
//! times.

use crate::kernel::exit::{Failure, Outcome};
use crate::mpi::cluster::gathered;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use straggler_model::replace::Temporary;
use straggler_model::{Rank, Time};
use straggler_report::finish_times;
use straggler_report::finish_times::Format;
use straggler_sim::cluster::{AGREED, Cluster};

/// The finish times of some ranks, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    pub ranks: Vec<Range<Rank>>,
    pub finish: Vec<Time>,
}

impl Share {
    /// Runs of consecutive ranks and their times.
    fn pieces(&self) -> impl Iterator<Item = (Rank, &[Time])> {
        let mut rest = &self.finish[..];
        self.ranks.iter().map(move |ranks| {
            let (own, later) = rest.split_at(ranks.len());
            rest = later;
            (ranks.start, own)
        })
    }
}

pub fn write(path: &Path, share: &Share, cluster: &dyn Cluster) -> Outcome<()> {
    match Format::for_path(path) {
        Format::Csv => write_csv(path, share, cluster),
        Format::Parquet => write_parquet(path, share, cluster),
    }
}

fn write_csv(path: &Path, share: &Share, cluster: &dyn Cluster) -> Outcome<()> {
    let pieces: Vec<(Rank, Vec<u8>)> =
        share.pieces().map(|(first, finish)| (first, finish_times::csv_lines(first, finish))).collect();
    let lengths: Vec<(Rank, u64)> =
        pieces.iter().map(|(first, lines)| (*first, lines.len() as u64)).collect();
    let all = gathered(cluster, &lengths)?.concat();
    let header = finish_times::csv_header();
    let begin = |first: Rank| {
        let before: u64 = all.iter().filter(|piece| piece.0 < first).map(|piece| piece.1).sum();
        before + header.len() as u64
    };
    let temporary = if cluster.rank() == 0 { Some(Temporary::beside(path)) } else { None };
    let told = temporary
        .as_ref()
        .map(|made| made.as_ref().map(|file| file.path().to_path_buf()).map_err(ToString::to_string));
    let told = gathered(cluster, &told)?.into_iter().next().flatten();
    let shared: PathBuf = match told {
        Some(Ok(shared)) => shared,
        Some(Err(error)) => return Err(Failure::bad_input(error)),
        None => return Err(Failure::from(straggler_sim::RunError::Garbled)),
    };
    let write = || {
        let file = File::options().write(true).open(&shared)?;
        if cluster.rank() == 0 {
            file.write_all_at(header.as_bytes(), 0)?;
        }
        pieces.iter().try_for_each(|(first, lines)| file.write_all_at(lines, begin(*first)))?;
        file.sync_data()
    };
    let done = write().map_err(|fault| {
        Failure::bad_input(format!(
            "{}: cannot be written: {fault}; use a folder that all nodes share",
            path.display()
        ))
    });
    crate::mpi::cluster::agreed(cluster, done, &[])?;
    match temporary {
        Some(Ok(temporary)) => Ok(temporary.persist()?),
        _ => Ok(()),
    }
}

fn write_parquet(path: &Path, share: &Share, cluster: &dyn Cluster) -> Outcome<()> {
    let processes = gathered(cluster, &(share.finish.len() as u64))?.into_iter().sum::<u64>() as usize;
    let mut pages = 0;
    let mut page = |rows: Range<usize>| {
        pages += 1;
        send_page(share, rows, cluster)
    };
    let done = match cluster.rank() {
        0 => finish_times::write_parquet(path, processes, &mut page).map_err(Failure::from),
        _ => Ok(()),
    };
    // All members send all pages, even if the first member could not write them.
    finish_times::pages(processes).skip(pages).for_each(|rows| drop(send_page(share, rows, cluster)));
    crate::mpi::cluster::agreed(cluster, done, &[])
}

/// Sends the times of this member's ranks to the first member, which receives those of all.
fn send_page(share: &Share, rows: Range<usize>, cluster: &dyn Cluster) -> Vec<u64> {
    let mut times = if cluster.rank() == 0 { vec![0; rows.len()] } else { Vec::new() };
    for (first, finish) in share.pieces() {
        let first = first as usize;
        let (from, to) = (rows.start.max(first), rows.end.min(first + finish.len()));
        if from >= to {
            continue;
        }
        let finish = &finish[from - first..to - first];
        if cluster.rank() == 0 {
            times[from - rows.start..to - rows.start]
                .iter_mut()
                .zip(finish)
                .for_each(|(to, time)| *to = time.ps());
        } else {
            let mut bytes = (from as u64).to_le_bytes().to_vec();
            finish.iter().for_each(|time| bytes.extend(time.ps().to_le_bytes()));
            cluster.send(0, bytes);
        }
    }
    cluster.agree([0; AGREED], &mut |_, bytes| {
        let mut numbers =
            bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
        let from = numbers.next().unwrap_or_default() as usize;
        let places = times.iter_mut().skip(from.saturating_sub(rows.start));
        places.zip(numbers).for_each(|(place, time)| *place = time);
    });
    times
}
