//! How the members of a cluster run a command together: they compare their files, agree on failures, share a schedule,
//! time their communication, and write one file of finish times.
//!
//! Of a CSV file of finish times, each member writes its own lines in place. A Parquet file cannot be written in parts,
//! so the first member writes it page by page as the others send their times.

pub mod agreement;
pub mod sharing;

use crate::kernel::memory::peak_rss_bytes;
use crate::kernel::{Failure, Outcome};
pub use crate::mpi::cluster::agreement::{agreed, fingerprint, seen_by_all};
use crate::mpi::cluster::sharing::Crossing;
pub use crate::mpi::cluster::sharing::{Sharing, read as read_shared};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use straggler_model::replace::Temporary;
use straggler_model::{Rank, Time};
use straggler_report::finish_times::{self, Format};
use straggler_sim::cluster::{AGREED, Cluster, Shares};

/// Whether this process writes the output.
pub fn speaks(cluster: Option<&dyn Cluster>) -> bool {
    cluster.is_none_or(|cluster| cluster.rank() == 0)
}

/// The minimum and the median finish time of all processes, which are distributed over the members. For an even number
/// the median is the lower of the two middle values.
pub fn earliest_and_median(finish: &[Time], cluster: &dyn Cluster) -> Outcome<(Time, Time)> {
    let mut sorted: Vec<u64> = finish.iter().map(|time| time.ps()).collect();
    sorted.sort_unstable();
    let all = gathered(cluster, &(sorted.first().copied(), sorted.last().copied(), sorted.len() as u64))?;
    let processes: u64 = all.iter().map(|&(_, _, count)| count).sum();
    let (Some(earliest), Some(latest)) =
        (all.iter().filter_map(|one| one.0).min(), all.iter().filter_map(|one| one.1).max())
    else {
        return Ok((Time::ZERO, Time::ZERO));
    };
    // The least time by which half of the processes have finished.
    let half = processes.div_ceil(2);
    let (mut low, mut high) = (earliest, latest);
    while low < high {
        let middle = low + (high - low) / 2;
        let own = sorted.partition_point(|&time| time <= middle) as u64;
        let finished: u64 = gathered(cluster, &own)?.into_iter().sum();
        if finished >= half { high = middle } else { low = middle + 1 }
    }
    Ok((Time(earliest), Time(low)))
}

/// The values of all members.
pub fn gathered<T: serde::Serialize + serde::de::DeserializeOwned>(
    cluster: &dyn Cluster,
    own: &T,
) -> Outcome<Vec<T>> {
    cluster.gather_values(own).map_err(|_| Failure::from(straggler_sim::RunError::Garbled))
}

/// A cluster whose communication is counted and timed.
pub struct Metered<'a> {
    inner: &'a dyn Cluster,
    sharing: Option<&'a Sharing>,
    agreements: AtomicU64,
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

/// The communication of the members of a cluster in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exchange {
    pub ranks: u32,
    /// Number of collective exchanges.
    pub agreements: u64,
    /// Bytes sent by all members.
    pub bytes: u64,
    /// Share of the run in which a rank exchanged messages or waited for others: mean and maximum over the
    /// ranks.
    pub share: f64,
    pub largest_share: f64,
    /// Peak memory of the rank that used the most.
    pub peak_rss_bytes: Option<u64>,
    /// How a schedule was distributed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crossing: Option<Crossing>,
}

/// The values of one member.
#[derive(Serialize, Deserialize)]
struct Own {
    bytes: u64,
    share: f64,
    peak: Option<u64>,
}

impl<'a> Metered<'a> {
    /// `sharing` describes how the schedule is distributed, if it is.
    pub fn new(inner: &'a dyn Cluster, sharing: Option<&'a Sharing>) -> Metered<'a> {
        let zero = AtomicU64::default;
        Metered { inner, sharing, agreements: zero(), bytes: zero(), nanoseconds: zero() }
    }

    fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        self.nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }

    /// The communication of all members in a run of this length. All members call it.
    pub fn summary(&self, run: Duration) -> Outcome<Exchange> {
        let seconds = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)).as_secs_f64();
        let own = Own {
            bytes: self.bytes.load(Ordering::Relaxed),
            share: seconds / run.as_secs_f64().max(1e-9),
            peak: peak_rss_bytes(),
        };
        let all = gathered(self.inner, &own)?;
        Ok(Exchange {
            ranks: self.size(),
            agreements: self.agreements.load(Ordering::Relaxed),
            bytes: all.iter().map(|one| one.bytes).sum(),
            share: all.iter().map(|one| one.share).sum::<f64>() / all.len().max(1) as f64,
            largest_share: all.iter().map(|one| one.share).fold(0.0, f64::max),
            peak_rss_bytes: all.iter().filter_map(|one| one.peak).max(),
            crossing: self.sharing.map(|sharing| sharing.crossing.clone()),
        })
    }
}

impl Cluster for Metered<'_> {
    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn on_node(&self) -> u32 {
        self.inner.on_node()
    }

    fn name(&self, rank: u32) -> String {
        self.inner.name(rank)
    }

    fn send(&self, to: u32, bytes: Vec<u8>) {
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.timed(|| self.inner.send(to, bytes));
    }

    fn poll(&self, take: &mut dyn FnMut(u32, Vec<u8>)) {
        self.timed(|| self.inner.poll(take));
    }

    fn agree(&self, said: [u64; AGREED], take: &mut dyn FnMut(u32, Vec<u8>)) -> [u64; AGREED] {
        self.agreements.fetch_add(1, Ordering::Relaxed);
        self.timed(|| self.inner.agree(said, take))
    }

    fn shares(&self) -> Option<&Shares> {
        self.sharing.map(|sharing| &sharing.shares)
    }

    fn gather(&self, own: &[u8]) -> Vec<Vec<u8>> {
        self.inner.gather(own)
    }

    fn send_control(&self, to: u32, bytes: &[u8]) {
        self.inner.send_control(to, bytes);
    }

    fn receive_control(&self) -> Option<(u32, Vec<u8>)> {
        self.inner.receive_control()
    }
}

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

pub fn write_finish_times(path: &Path, share: &Share, cluster: &dyn Cluster) -> Outcome<()> {
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
    agreed(cluster, done, &[])?;
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
    agreed(cluster, done, &[])
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

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_sim::cluster::on_threads;

    #[test]
    fn what_is_sent_and_awaited_is_counted() {
        let pause = Duration::from_millis(20);
        let found = on_threads(2, |cluster| {
            let metered = Metered::new(cluster, None);
            let began = Instant::now();
            for _ in 0..3 {
                metered.send(1 - cluster.rank(), vec![0; 10]);
                // The second has work; the first waits for it.
                if cluster.rank() == 1 {
                    std::thread::sleep(pause);
                }
                metered.agree([0; AGREED], &mut |_, _| ());
            }
            metered.summary(began.elapsed()).unwrap_or_else(|failure| panic!("{}", failure.error))
        });
        assert_eq!(found[0], found[1]);
        let all = &found[0];
        assert_eq!((all.ranks, all.agreements, all.bytes), (2, 3, 60));
        assert!(all.share < all.largest_share && all.largest_share <= 1.0, "{all:?}");
    }
}
