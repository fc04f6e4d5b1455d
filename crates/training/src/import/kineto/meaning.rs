//! The kinds of operations, and the channels on which they meet operations of other ranks.

use super::super::recorded::{Channel, Counter, Distinct, Meeting, communication};
use super::collectives::HostCommunications;
use super::events::{Communication, Events, Launch, Span};
use super::phases::PHASES;
use crate::exact::LAUNCH;
use crate::{Kind, KindInfo, Role};
use std::collections::HashMap;

#[derive(Debug)]
pub struct Meaning {
    kinds: Distinct<KindInfo>,
    channels: Distinct<Channel>,
    /// Counts meetings without a sequence number.
    meetings: Counter,
    runs: Counter,
    host: HostCommunications,
    /// Launches of communications, keyed by kernel.
    launches: HashMap<usize, Launch>,
    /// By stream: its index among the streams with communication.
    places: Vec<usize>,
}

impl Meaning {
    pub fn new(events: &Events, host: Vec<Span<Communication>>, launches: HashMap<usize, Launch>) -> Meaning {
        Meaning {
            kinds: Distinct::default(),
            channels: Distinct::default(),
            meetings: Counter::default(),
            runs: Counter::default(),
            host: HostCommunications::new(host),
            launches,
            places: places(events),
        }
    }

    pub fn lists(self) -> (Vec<KindInfo>, Vec<Channel>) {
        (self.kinds.items, self.channels.items)
    }

    /// The kind of the next run of a stream. Runs at the same position of the step are of the same kind.
    pub fn compute(&mut self, step: i64, phase: u8, stream: u32) -> u32 {
        let number = self.runs.next(step, stream * 4 + u32::from(phase));
        let class = PHASES[phase as usize];
        let name = format!("{class} {number} on stream {stream}");
        self.kinds.place(KindInfo::launched(name, class, Role::Compute))
    }

    /// The mark of a step. It has no class of its own in the results.
    pub fn step(&mut self) -> u32 {
        self.kinds.place(KindInfo::launched("the step", LAUNCH, Role::Other))
    }

    /// Work of the host itself.
    pub fn stall(&mut self, kind: Kind) -> u32 {
        self.kinds.place(KindInfo::launched(kind.name(), kind.class(), Role::Other))
    }

    /// What the kernel and the host recorded about a communication.
    pub fn known(&self, events: &Events, kernel: usize) -> Communication {
        let place = events.kernels[kernel].communication as usize;
        let known = events.communications.items.get(place).cloned().unwrap_or_default();
        match self.launches.get(&kernel) {
            Some(launch) => self.host.complete(&known, launch.thread, launch.at_ps),
            None => known,
        }
    }

    pub fn communication(
        &mut self,
        events: &Events,
        kernel: usize,
        step: i64,
        rank: Option<u32>,
    ) -> (u32, Option<Meeting>) {
        let of = &events.kernels[kernel];
        let known = self.known(events, kernel);
        let channel = self.channels.place(known.channel(rank, self.places[of.stream as usize]));
        let number = known.shared_number(rank).unwrap_or_else(|| self.meetings.next(step, channel));
        let kind =
            self.kinds.place(communication(known.collective(), &detail(&known, number), known.bytes()));
        (kind, Some(Meeting { channel, number }))
    }
}

/// Communications with the same group and size are of the same kind; without a size, those at the same position.
fn detail(known: &Communication, number: u64) -> String {
    let group = known.description.as_ref().or(known.group.as_ref());
    let group = group.map_or(String::new(), |group| format!("({group}) "));
    match known.bytes() {
        Some(bytes) => format!("{group}{bytes} bytes"),
        None if known.seq.is_none() => format!("{group}{number}"),
        None => group.trim_end().to_string(),
    }
}

fn places(events: &Events) -> Vec<usize> {
    let mut has = vec![false; events.streams.items.len()];
    let communications = events.kernels.iter().filter(|kernel| !kernel.is_compute());
    communications.for_each(|kernel| has[kernel.stream as usize] = true);
    let mut before = 0;
    let place = |has: bool| {
        let place = before;
        before += usize::from(has);
        place
    };
    has.into_iter().map(place).collect()
}
