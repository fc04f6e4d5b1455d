//! Messages between pairs: every process goes through its peers, one round after the other, again and again.
//!
//! A batch of passes is timed into a plain list. Then both ends of each pair tell each other their times: each records what it
//! saw, and the lower of the two what they saw on average, trial by trial.

use super::order;
use super::plan::Configuration;
use super::{Measured, Members};
use crate::args::Kernel;
use crate::session::Session;
use anyhow::Result;
use mpi::request::WaitGuard;
use mpi::topology::Rank;
use mpi::traits::*;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use straggler_measure::latency::Recorder;
use straggler_model::Time;
use straggler_model::latency::{Bins, Histogram, Kind, Labels, Pair, Process, Series};

pub struct Pairs<'a> {
    members: &'a Members,
    kernel: Kernel,
    clock: Recorder,
    peers: Vec<Peer>,
    classes: BTreeMap<Labels, Class>,
    sent: Vec<u8>,
    received: Vec<u8>,
    cycle_started_ns: u64,
}

/// One peer of this process.
struct Peer {
    /// In the communicator.
    rank: Rank,
    /// Whether this process is the lower of the two.
    leads: bool,
    /// Of the batch that runs, in ps.
    times: Vec<u64>,
    /// What this end sees, and of the lower end: what both see.
    own: Distribution,
    both: Option<Distribution>,
}

/// The distribution of one pair.
struct Distribution {
    cycle: Histogram,
    series: Series,
    /// Times of the batch, for the class.
    class: Labels,
}

/// All pairs that are alike, at full resolution.
struct Class {
    recorder: Recorder,
}

/// Times of one batch, of all peers together.
const BATCH: usize = 1 << 17;

impl<'a> Pairs<'a> {
    pub fn new(
        session: &'a Session,
        members: &'a Members,
        kernel: Kernel,
        configuration: &Configuration,
    ) -> Pairs<'a> {
        let count = members.ranks.len() as u32;
        let me = members.comm.rank() as u32;
        let rounds =
            if configuration.peers + 1 == count { order::rounds(count) } else { configuration.peers };
        let partners = (0..rounds).filter_map(|round| order::partner(count, round, me));
        let labels = Labels {
            kernel: kernel.name().into(),
            size: Some(configuration.size),
            peers: Some(configuration.peers),
            processes_per_node: Some(configuration.per_node),
            ..Labels::default()
        };
        let peers: Vec<Peer> =
            partners.map(|other| Peer::new(session, members, kernel, &labels, other, rounds)).collect();
        let mut classes = BTreeMap::new();
        for class in peers.iter().flat_map(Peer::distributions).map(|one| &one.class) {
            classes.entry(class.clone()).or_insert_with(|| Class {
                recorder: Recorder::new(&session.timer, class.clone(), Bins::default()),
            });
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

    /// Goes through all peers this often, and keeps the times.
    fn pass(&mut self, trials: usize) {
        let Pairs { clock, peers, kernel, members, sent, received, .. } = self;
        peers.iter_mut().for_each(|peer| peer.times.clear());
        for _ in 0..trials {
            for peer in peers.iter_mut() {
                let other = members.comm.process_at_rank(peer.rank);
                let begun = clock.begin();
                match kernel {
                    Kernel::PingPong if peer.leads => {
                        other.send(&sent[..]);
                        other.receive_into(&mut received[..]);
                    }
                    Kernel::PingPong => {
                        other.receive_into(&mut received[..]);
                        other.send(&sent[..]);
                    }
                    Kernel::Nonblocking => mpi::request::scope(|scope| {
                        let receive = WaitGuard::from(other.immediate_receive_into(scope, &mut received[..]));
                        let send = WaitGuard::from(other.immediate_send(scope, &sent[..]));
                        drop(receive);
                        drop(send);
                    }),
                    _ => {
                        mpi::point_to_point::send_receive_into(&sent[..], &other, &mut received[..], &other);
                    }
                }
                peer.times.push(clock.elapsed(begun).ps());
            }
        }
    }

    /// Records the times of a batch.
    fn record(&mut self) {
        for peer in &mut self.peers {
            let Peer { times, own, both, .. } = peer;
            if self.kernel != Kernel::PingPong {
                let other = self.members.comm.process_at_rank(peer.rank);
                let mut theirs = vec![0u64; times.len()];
                mpi::point_to_point::send_receive_into(&times[..], &other, &mut theirs[..], &other);
                let means = times
                    .iter()
                    .zip(&theirs)
                    .map(|(own, theirs)| Time((own / 2) + (theirs / 2) + (own & theirs & 1)));
                if let Some(both) = both {
                    both.record(means, &mut self.classes);
                }
            } else if !peer.leads {
                continue;
            }
            own.record(times.iter().map(|&time| Time(time)), &mut self.classes);
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
        let me = members.comm.rank() as u32;
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
            rank: other as Rank,
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

    fn record(&mut self, times: impl Iterator<Item = Time>, classes: &mut BTreeMap<Labels, Class>) {
        let class = classes.get_mut(&self.class);
        let mut recorder = class.map(|class| &mut class.recorder);
        for time in times {
            self.cycle.record(time);
            if let Some(recorder) = &mut recorder {
                recorder.record(time);
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
        Ok(())
    }

    fn batch(&self) -> u64 {
        (BATCH / self.peers.len().max(1)).clamp(16, 1000) as u64
    }

    fn end_cycle(&mut self) {
        for one in self.peers.iter_mut().flat_map(Peer::distributions_mut) {
            // The two have the same bins.
            let _ = one.series.add_cycle(&one.cycle, self.cycle_started_ns);
            one.cycle.clear();
        }
        self.members.comm.barrier();
        self.cycle_started_ns = now_ns();
    }

    /// Pairs, and classes with the minima and cycles of their pairs.
    fn series(&mut self) -> Vec<Series> {
        let mut classes: BTreeMap<Labels, Series> = BTreeMap::new();
        for (labels, class) in &mut self.classes {
            let all = class.recorder.so_far();
            classes.insert(labels.clone(), Series { minima: Vec::new(), cycles: Vec::new(), ..all });
        }
        let mut series: Vec<Series> = Vec::new();
        for one in self.peers.iter().flat_map(Peer::distributions).filter(|one| !one.series.trials.is_empty())
        {
            if let Some(class) = classes.get_mut(&one.class) {
                class.minima.extend(&one.series.minima);
                class.cycles.extend(&one.series.cycles);
            }
            series.push(one.series.clone());
        }
        for class in classes.values_mut() {
            class.minima.sort_unstable();
            class.cycles.sort_unstable();
        }
        series.extend(classes.into_values().filter(|class| !class.trials.is_empty()));
        series
    }

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Coarser for many pairs, so that a process needs megabytes and not gigabytes.
fn bins_of_pair(pairs: u32) -> Bins {
    let octave_bits = match pairs {
        0..=64 => return Bins::default(),
        65..=512 => 5,
        _ => 3,
    };
    Bins::HighDynamicRange { octave_bits }
}

/// What two processes have in common. Those that may be moved have only their node.
fn class(one: &Process, other: &Process, unbound: bool) -> &'static str {
    let differ =
        |of: fn(&Process) -> Option<u32>| matches!((of(one), of(other)), (Some(a), Some(b)) if a != b);
    if one.host != other.host {
        "between nodes"
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

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
