//! The cost of communication between the members of a cluster.

use crate::kernel::exit::Outcome;
use crate::kernel::memory::peak_rss_bytes;
use crate::mpi::cluster::gathered;
use crate::mpi::cluster::sharing::{Crossing, Sharing};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use straggler_sim::cluster::{AGREED, Cluster, Shares};

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
