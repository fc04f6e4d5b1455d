//! Walks the critical path back from the end and splits every hop into its parts.

use super::parts::{Counts, Parts};
use serde::Serialize;
use straggler_model::network::Drawn;
use straggler_model::{Link, Network, Rank, Time};
use straggler_sim::observers::Recorder;
use straggler_sim::observers::recorder::{Bound, Event, EventId, EventKind};
use straggler_sim::{Acknowledgement, Simulation};

/// A stretch of the path on one rank. The transfer of a message to the next rank belongs to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Stretch {
    pub rank: Rank,
    #[serde(rename = "from_ps")]
    pub from: Time,
    #[serde(rename = "to_ps")]
    pub to: Time,
    #[serde(flatten)]
    pub parts: Parts,
}

/// Why a run took as long as it took.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CriticalPath {
    #[serde(rename = "makespan_ps")]
    pub makespan: Time,
    /// The rank that finishes last.
    pub last_rank: Rank,
    /// The composition of the makespan; adds up to it exactly.
    pub parts: Parts,
    /// How often each parameter is on the path: the derivative of the makespan with respect to it.
    pub derivatives: Counts,
    /// Whether the path is the only one: no event on it waited equally long for two things, and no other rank
    /// finishes at the same time.
    pub unique: bool,
    /// From the start of the run to its end.
    pub stretches: Vec<Stretch>,
    /// Noise on all processes, whether on the path or not.
    #[serde(rename = "noise_injected_ps")]
    pub noise_injected: u128,
    /// Noise that reached the end: the noise of all events without slack, which would extend the makespan if they
    /// took any longer. With several chains of equal length, it exceeds the noise on one of them.
    #[serde(rename = "noise_propagated_ps")]
    pub noise_propagated: u128,
    /// Noise of events with slack, absorbed by waiting.
    #[serde(rename = "noise_absorbed_ps")]
    pub noise_absorbed: u128,
}

/// The walk's view of a run.
struct Walk<'a> {
    recorders: &'a [Recorder],
    network: &'a Network,
    latency: Option<&'a Drawn>,
    acknowledgement: Acknowledgement,
    receive_overlap: bool,
}

impl CriticalPath {
    /// The critical path of a run of `simulation`; there is one recorder for each part of the run.
    pub fn new(recorders: &[Recorder], simulation: &Simulation<'_>) -> CriticalPath {
        let walk = Walk {
            recorders,
            network: simulation.network,
            latency: simulation.latency,
            acknowledgement: simulation.acknowledgement,
            receive_overlap: simulation.receive_overlap,
        };
        walk.path()
    }
}

impl Walk<'_> {
    fn event(&self, id: EventId) -> Option<&Event> {
        let (part, place) = id.part_and_place()?;
        self.recorders.get(part)?.events.get(place)
    }

    /// The rank that finishes last (the first of several), its finish time and event, and whether it is the only one.
    fn end(&self) -> (Rank, Time, EventId, bool) {
        let mut end = (0, Time::ZERO, EventId::default(), true);
        for recorder in self.recorders {
            for (rank, finish) in (recorder.first_rank()..).zip(&recorder.finish) {
                if finish.until > end.1 {
                    end = (rank, finish.until, finish.by, true);
                } else if finish.until == end.1 && end.1 > Time::ZERO {
                    end.3 = false;
                }
            }
        }
        end
    }

    fn path(&self) -> CriticalPath {
        let (last_rank, makespan, last, alone) = self.end();
        let injected: u128 = self.recorders.iter().map(|recorder| recorder.injected).sum();
        let mut path = CriticalPath {
            makespan,
            last_rank,
            parts: Parts::default(),
            derivatives: Counts::default(),
            unique: alone,
            stretches: Vec::new(),
            noise_injected: injected,
            noise_propagated: 0,
            noise_absorbed: injected,
        };
        let mut id = last;
        let mut to = makespan;
        let mut bound = Bound::Completion;
        while let Some(event) = self.event(id) {
            let (parts, counts) = self.hop(event, bound, to);
            debug_assert_eq!(event.t + parts.total(), to, "{event:?} {bound:?}");
            path.add(event, to, parts, counts);
            (to, bound, id) = (event.t, event.bound, event.cause);
        }
        path.stretches.reverse();
        path.noise_propagated = self.propagated(makespan);
        path.noise_absorbed = injected - path.noise_propagated;
        path
    }

    /// The noise of every event without slack. Such an event lies on a chain, tight from event to event, that leads
    /// to a rank that finishes last, and its hop on this chain contains its noise.
    fn propagated(&self, makespan: Time) -> u128 {
        let mut reached: Vec<Vec<u8>> =
            self.recorders.iter().map(|recorder| vec![0; recorder.events.len()]).collect();
        const SEEN: u8 = 1;
        const COUNTED: u8 = 2;
        let finishes = self.recorders.iter().flat_map(|recorder| &recorder.finish);
        let mut hops: Vec<(EventId, Bound, Time)> = finishes
            .filter(|finish| finish.until == makespan)
            .map(|finish| (finish.by, Bound::Completion, makespan))
            .collect();
        let mut noise = 0;
        while let Some((id, bound, to)) = hops.pop() {
            let (Some(event), Some((part, place))) = (self.event(id), id.part_and_place()) else { continue };
            let mark = &mut reached[part][place];
            if *mark & COUNTED == 0 {
                let carried = self.hop(event, bound, to).0.noise;
                if carried > 0 {
                    *mark |= COUNTED;
                    noise += u128::from(carried);
                }
            }
            if *mark & SEEN == 0 {
                *mark |= SEEN;
                hops.push((event.cause, event.bound, event.t));
                let ties = if event.tie { self.recorders[part].ties_of(place) } else { &[] };
                hops.extend(ties.iter().map(|tie| (tie.cause, tie.bound, event.t)));
            }
        }
        noise
    }

    /// The parts of the time from the start of `event` until `to`, when it released what was waiting for it.
    fn hop(&self, event: &Event, bound: Bound, to: Time) -> (Parts, Counts) {
        match (bound, event.kind) {
            (Bound::Start | Bound::Started, _) => Default::default(),
            (Bound::Flight, _) => flight(&self.link(event.rank, event.peer, event), event, to),
            (Bound::Acknowledgement, _) => self.acknowledged(event, to),
            (Bound::Nic, EventKind::Send) => gap(&self.link(event.rank, event.peer, event), event),
            (Bound::Nic, EventKind::Message) => gap(&self.link(event.peer, event.rank, event), event),
            (Bound::Cpu | Bound::Completion, EventKind::Send) => {
                sending(&self.link(event.rank, event.peer, event), event)
            }
            (Bound::Cpu | Bound::Completion, EventKind::Message) => {
                self.receiving(&self.link(event.peer, event.rank, event), event, to)
            }
            (Bound::Cpu | Bound::Completion, EventKind::Calc) => (
                Parts { compute: event.amount, noise: event.noise.ps(), ..Parts::default() },
                Counts::default(),
            ),
            // Receives and acknowledgements take no time themselves.
            (_, EventKind::Recv | EventKind::Acknowledgement | EventKind::Calc) => Default::default(),
        }
    }

    /// The link parameters of an event's message, including those drawn for it.
    fn link(&self, from: Rank, to: Rank, event: &Event) -> Link {
        let link = *self.network.link(from, to);
        let Some(drawn) = self.latency else { return link };
        let draw = drawn.draw(self.network.class(from, to), from, event.number);
        let (send_overhead, recv_overhead) = (draw.send_overhead, draw.recv_overhead);
        Link { latency: draw.latency, send_overhead, recv_overhead, ..link }
    }

    fn acknowledged(&self, event: &Event, to: Time) -> (Parts, Counts) {
        let parts = Parts { rendezvous: to.since(event.t).ps(), ..Parts::default() };
        let latency = u64::from(self.acknowledgement == Acknowledgement::Latency);
        (parts, Counts { acknowledgements: 1, latency, ..Counts::default() })
    }

    fn receiving(&self, link: &Link, event: &Event, to: Time) -> (Parts, Counts) {
        let bytes = event.amount.max(1) - 1;
        let (gap, overhead) =
            (link.gap_per_byte.of_message(event.amount), link.overhead_per_byte.of_message(event.amount));
        let mut parts = Parts { recv_overhead: link.recv_overhead.ps(), ..Parts::default() };
        let mut counts = Counts { recv_overhead: 1, ..Counts::default() };
        let arrived = event.t + link.recv_overhead + gap;
        let on_cpu = event.t + link.recv_overhead + overhead + event.noise;
        let overlaps = self.receive_overlap || link.is_overlapped(event.amount);
        let by_bytes = if overlaps { to == arrived && to != on_cpu } else { gap > overhead };
        if by_bytes {
            (parts.gap_bytes, counts.gap_bytes) = (gap.ps(), bytes);
        } else {
            (parts.overhead_bytes, counts.overhead_bytes) = (overhead.ps(), bytes);
        }
        if !overlaps || !by_bytes {
            parts.noise = event.noise.ps();
        }
        (parts, counts)
    }
}

impl CriticalPath {
    fn add(&mut self, event: &Event, to: Time, parts: Parts, counts: Counts) {
        self.parts += parts;
        self.derivatives += counts;
        self.unique &= !event.tie;
        match self.stretches.last_mut() {
            Some(stretch) if stretch.rank == event.rank => {
                stretch.from = event.t;
                stretch.parts += parts;
            }
            _ => self.stretches.push(Stretch { rank: event.rank, from: event.t, to, parts }),
        }
    }
}

/// If a message waits behind an earlier one with a longer drawn latency, the wait counts as latency.
fn flight(link: &Link, event: &Event, to: Time) -> (Parts, Counts) {
    let latency = to.since(event.t + link.send_overhead);
    let parts = Parts { send_overhead: link.send_overhead.ps(), latency: latency.ps(), ..Parts::default() };
    (parts, Counts { send_overhead: 1, latency: 1, ..Counts::default() })
}

fn gap(link: &Link, event: &Event) -> (Parts, Counts) {
    let parts = Parts {
        gap: link.gap.ps(),
        gap_bytes: link.gap_per_byte.of_message(event.amount).ps(),
        ..Parts::default()
    };
    (parts, Counts { gap: 1, gap_bytes: event.amount.max(1) - 1, ..Counts::default() })
}

fn sending(link: &Link, event: &Event) -> (Parts, Counts) {
    let parts = Parts {
        send_overhead: link.send_overhead.ps(),
        overhead_bytes: link.overhead_per_byte.of_message(event.amount).ps(),
        noise: event.noise.ps(),
        ..Parts::default()
    };
    (parts, Counts { send_overhead: 1, overhead_bytes: event.amount.max(1) - 1, ..Counts::default() })
}
