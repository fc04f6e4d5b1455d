//! Messages between pairs: every process goes through its peers round by round, many times.
//!
//! A batch of passes is timed into a plain list. Then the two ends of each pair exchange their times:
//! each records what it measured, and the lower one also records the mean of both, trial by trial.

use super::plan::Configuration;
use super::{Kernel, Measured, Members};
use crate::session::Session;
use anyhow::Result;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use straggler_measure::latency::Recorder;
use straggler_model::Time;
use straggler_model::latency::{Bins, Histogram, Kind, Labels, Pair, Process, Series, TimerCost};
use straggler_schedule::tournament;

pub struct Pairs<'a> {
    members: &'a Members,
    kernel: Kernel,
    clock: Recorder,
    peers: Vec<Peer>,
    /// Recorders of pairs that are alike, at full resolution.
    classes: BTreeMap<Labels, Recorder>,
    sent: Vec<u8>,
    received: Vec<u8>,
    cycle_started_ns: u64,
}

/// One peer of this process.
struct Peer {
    /// Its rank in the communicator.
    rank: u32,
    /// Whether this process has the lower rank of the two.
    leads: bool,
    /// Times of the current batch, in ps.
    times: Vec<u64>,
    /// What this end measures, and, on the lower end, the mean of both.
    own: Distribution,
    both: Option<Distribution>,
}

/// The distribution of one pair.
struct Distribution {
    cycle: Histogram,
    series: Series,
    /// The class of pairs that this one belongs to.
    class: Labels,
}

/// With more processes, a file with all pairs would take gigabytes.
const MOST_WITH_PAIRS: usize = 128;

/// With more processes, each keeps this many minima per class, since their total grows as the
/// square of the number of processes.
const MOST_MINIMA: usize = 64;

/// Stands for a time below the subtracted cost of the timer.
const UNDERFLOW: u64 = u64::MAX;

/// The mean of two times, where a time below the timer's cost counts as 0.
fn mean(own: u64, theirs: u64) -> u64 {
    match (own, theirs) {
        (UNDERFLOW, UNDERFLOW) => UNDERFLOW,
        (UNDERFLOW, time) | (time, UNDERFLOW) => time / 2,
        (own, theirs) => own / 2 + theirs / 2 + (own & theirs & 1),
    }
}

/// Number of times in a batch, over all peers.
const BATCH: usize = 1 << 17;

impl<'a> Pairs<'a> {
    pub fn new(
        session: &'a Session,
        members: &'a Members,
        kernel: Kernel,
        configuration: &Configuration,
    ) -> Pairs<'a> {
        let count = members.ranks.len() as u32;
        let me = members.comm.rank();
        let rounds =
            if configuration.peers + 1 == count { tournament::steps(count) } else { configuration.peers };
        let partners = (0..rounds).filter_map(|round| tournament::partner(count, me, round));
        let labels = Labels {
            kernel: kernel.name().into(),
            size: Some(configuration.size),
            peers: Some(configuration.peers),
            processes_per_node: Some(configuration.per_node),
            switches: configuration.switches,
            ..Labels::default()
        };
        let peers: Vec<Peer> =
            partners.map(|other| Peer::new(session, members, kernel, &labels, other, rounds)).collect();
        let mut classes = BTreeMap::new();
        for class in peers.iter().flat_map(Peer::distributions).map(|one| &one.class) {
            let recorder = || Recorder::new(&session.timer, class.clone(), Bins::default());
            classes.entry(class.clone()).or_insert_with(recorder);
        }
        let size = configuration.size as usize;
        Pairs {
            members,
            kernel,
            clock: Recorder::new(&session.timer, Labels::default(), Bins::default()),
            peers,
            classes,
            sent: vec![0; size],
            received: vec![0; size],
            cycle_started_ns: now_ns(),
        }
    }

    /// Goes through all peers `trials` times and keeps the times.
    fn pass(&mut self, trials: usize) {
        let Pairs { clock, peers, kernel, members, sent, received, .. } = self;
        peers.iter_mut().for_each(|peer| peer.times.clear());
        for _ in 0..trials {
            for peer in peers.iter_mut() {
                let (comm, other) = (&members.comm, peer.rank);
                let begun = clock.begin();
                match kernel {
                    Kernel::PingPong if peer.leads => {
                        comm.send(other, 0, sent);
                        comm.receive(other, 0, received);
                    }
                    Kernel::PingPong => {
                        comm.receive(other, 0, received);
                        comm.send(other, 0, sent);
                    }
                    Kernel::Nonblocking => comm.exchange_nonblocking(other, sent, received),
                    _ => comm.exchange(other, sent, received),
                }
                peer.times.push(clock.elapsed(begun).map_or(UNDERFLOW, Time::ps));
            }
        }
    }

    /// Records the times of a batch.
    fn record(&mut self) {
        for peer in &mut self.peers {
            let Peer { times, own, both, .. } = peer;
            if self.kernel != Kernel::PingPong {
                let mut theirs = vec![0u64; times.len()];
                let received = bytemuck::cast_slice_mut(&mut theirs);
                self.members.comm.exchange(peer.rank, bytemuck::cast_slice(times), received);
                let means = times.iter().zip(&theirs).map(|(&own, &theirs)| mean(own, theirs));
                if let Some(both) = both {
                    both.record(means, &mut self.classes);
                }
            } else if !peer.leads {
                continue;
            }
            own.record(times.iter().copied(), &mut self.classes);
        }
    }
}

impl Peer {
    fn new(
        session: &Session,
        members: &Members,
        kernel: Kernel,
        labels: &Labels,
        other: u32,
        rounds: u32,
    ) -> Peer {
        let me = members.comm.rank();
        let (own, theirs) = (members.ranks[me as usize], members.ranks[other as usize]);
        let class =
            class(&session.processes[own as usize], &session.processes[theirs as usize], session.unbound);
        let of_kind = |kind, from, to| {
            let class = Labels { kind, class: Some(class.into()), ..labels.clone() };
            Distribution::new(
                Labels { pair: Some(Pair { from, to }), ..class.clone() },
                class,
                bins_of_pair(rounds),
            )
        };
        let (kind, leads) =
            (if kernel == Kernel::PingPong { Kind::RoundTrip } else { Kind::OneSided }, me < other);
        Peer {
            rank: other,
            leads,
            times: Vec::new(),
            own: of_kind(kind, own, theirs),
            both: (kind == Kind::OneSided && leads).then(|| of_kind(Kind::Pairwise, own, theirs)),
        }
    }

    fn distributions(&self) -> impl Iterator<Item = &Distribution> {
        [Some(&self.own), self.both.as_ref()].into_iter().flatten()
    }

    fn distributions_mut(&mut self) -> impl Iterator<Item = &mut Distribution> {
        [Some(&mut self.own), self.both.as_mut()].into_iter().flatten()
    }
}

impl Distribution {
    fn new(labels: Labels, class: Labels, bins: Bins) -> Distribution {
        Distribution { cycle: Histogram::new(bins), series: Series::new(labels, bins), class }
    }

    fn record(&mut self, times: impl Iterator<Item = u64>, classes: &mut BTreeMap<Labels, Recorder>) {
        let Some(class) = classes.get_mut(&self.class) else { return };
        for time in times {
            if time == UNDERFLOW {
                self.cycle.record_underflow();
                class.record_underflow();
            } else {
                self.cycle.record(Time(time));
                class.record(Time(time));
            }
        }
    }
}

impl Measured for Pairs<'_> {
    fn warm_up(&mut self, trials: u64) -> Result<()> {
        self.pass(trials as usize);
        self.members.comm.barrier();
        self.cycle_started_ns = now_ns();
        Ok(())
    }

    fn run(&mut self, trials: u64) -> Result<()> {
        self.pass(trials as usize);
        self.record();
        self.classes.values_mut().for_each(Recorder::check_timer);
        Ok(())
    }

    fn batch(&self) -> u64 {
        (BATCH / self.peers.len().max(1)).clamp(16, 1000) as u64
    }

    fn end_cycle(&mut self) {
        for one in self.peers.iter_mut().flat_map(Peer::distributions_mut) {
            // Both histograms have the same bins.
            let _ = one.series.add_cycle(&one.cycle, self.cycle_started_ns);
            one.cycle.clear();
        }
        self.classes.values_mut().for_each(Recorder::end_cycle);
        self.members.comm.barrier();
        self.cycle_started_ns = now_ns();
    }

    /// The classes with the minima of their pairs, and the pairs themselves unless there are too many.
    fn series(&mut self) -> Vec<Series> {
        let of_class = |(labels, class): (&Labels, &mut Recorder)| {
            (labels.clone(), Series { minima: Vec::new(), ..class.so_far() })
        };
        let mut classes: BTreeMap<Labels, Series> = self.classes.iter_mut().map(of_class).collect();
        let mut series: Vec<Series> = Vec::new();
        for one in self.peers.iter().flat_map(Peer::distributions) {
            let Some(class) = classes.get_mut(&one.class).filter(|_| !one.series.trials.is_empty()) else {
                continue;
            };
            class.minima.extend(&one.series.minima);
            if self.members.ranks.len() <= MOST_WITH_PAIRS {
                let timer = TimerCost { subtracted: class.timer.subtracted, ..TimerCost::default() };
                series.push(Series { timer, ..one.series.clone() });
            }
        }
        for class in classes.values_mut() {
            class.minima.sort_unstable();
            if self.members.ranks.len() > MOST_WITH_PAIRS {
                class.minima = thinned(&class.minima, MOST_MINIMA);
            }
        }
        let rank = self.members.ranks[self.members.comm.rank() as usize];
        let filled = classes.into_values().filter(|class| !class.trials.is_empty());
        series.extend(filled.map(|class| class.recorded_by(rank)));
        series
    }

    fn notes(&self) -> Vec<String> {
        let count = self.members.ranks.len();
        let mut notes = Vec::new();
        if count > MOST_WITH_PAIRS {
            notes.push(format!(
                "{count} processes: distributions are kept by class of pairs, not by pair; each process keeps {MOST_MINIMA} \
                 minima of its pairs per class, evenly chosen."
            ));
        }
        if count % 2 == 1 {
            notes.push(format!(
                "{count} processes: one of them is idle in each round, and may have one peer fewer than others."
            ));
        }
        notes
    }
}

/// The bins of one pair, coarser if there are many pairs, so that a process needs megabytes and not gigabytes.
fn bins_of_pair(pairs: u32) -> Bins {
    let octave_bits = match pairs {
        0..=64 => return Bins::default(),
        65..=512 => 5,
        _ => 3,
    };
    Bins::HighDynamicRange { octave_bits }
}

/// What two processes share. For processes that may be moved between cores, only their node is known.
fn class(one: &Process, other: &Process, unbound: bool) -> &'static str {
    let differ =
        |of: fn(&Process) -> Option<u32>| matches!((of(one), of(other)), (Some(a), Some(b)) if a != b);
    if one.host != other.host {
        match (&one.switch, &other.switch) {
            (Some(one), Some(other)) if one != other => "between switches",
            _ => "between nodes",
        }
    } else if unbound {
        "same node"
    } else if differ(|process| process.socket) {
        "between sockets"
    } else if differ(|process| process.numa) {
        "between NUMA domains"
    } else {
        "same node"
    }
}

/// The given number of items of a sorted list, evenly spaced, including the first and the last.
fn thinned(sorted: &[Time], most: usize) -> Vec<Time> {
    if sorted.len() <= most {
        return sorted.to_vec();
    }
    (0..most).map(|place| sorted[place * (sorted.len() - 1) / (most - 1)]).collect()
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minima_are_thinned_evenly() {
        let times: Vec<Time> = (0..=1000).map(Time).collect();
        assert_eq!(thinned(&times, 5), [0, 250, 500, 750, 1000].map(Time));
        assert_eq!(thinned(&times[..3], 5), times[..3]);
        assert_eq!(thinned(&times, MOST_MINIMA).len(), MOST_MINIMA);
        assert_eq!(thinned(&[], 5), []);
    }
}
