//! A collective as tables that the kernel reads: what every process does in every stage of a cycle.
//!
//! Most collectives look the same from every rank: partners are at a fixed distance, or differ in fixed bits. Then a
//! table has one row for all processes, otherwise a row for each. Either way the rows come from the schedule itself,
//! so the kernel knows nothing about collectives.

use crate::Unfit;
use crate::layout::{END_OF_TIME, Entry, GOES_ON, MessageCost, NONE};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;
use straggler_model::{Link, Rank, Time};
use straggler_schedule::steps::Message;
use straggler_schedule::{Script, Step, Symmetry, Then};

/// How partners are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Way {
    /// Every process has rows of its own.
    Listed = 0,
    /// At a distance, modulo the number of processes.
    Distance = 1,
    /// The rank that differs in some bits.
    Bits = 2,
}

/// The schedule of one cycle, as the kernel reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tables {
    pub way: Way,
    /// The largest number of stages of any process.
    pub stages: u32,
    pub slots: u32,
    pub entries: Vec<Entry>,
    /// The stages of each process, if each has rows of its own.
    pub stages_of: Vec<u32>,
    pub slot_from: Vec<u32>,
    pub slot_tariff: Vec<u8>,
    pub tariffs: Vec<MessageCost>,
    /// The first entry means no computation.
    pub durations: Vec<u64>,
}

/// Indices of sizes and durations have eight bits, and one value means none.
const MOST_KINDS: usize = 254;

/// The kernel counts the receives that a process waits for in a byte.
const MOST_RECEIVES: usize = 255;

/// The most memory that tables with rows for every process may take.
const MOST_BYTES: u64 = 8 << 30;

impl Tables {
    /// The tables of the first phase of a script.
    pub fn new(script: &(impl Script + ?Sized), link: &Link) -> Result<Tables, Unfit> {
        // If all ranks do the same, the kinds of rank 0 are all there are.
        let kinds = Kinds::new(script, 0..script.processes().min(1))?;
        for way in [Way::Distance, Way::Bits] {
            if let Some(tables) = uniform(script, way, &kinds, link)? {
                return Ok(tables);
            }
        }
        listed(script, &Kinds::new(script, 0..script.processes())?, link)
    }

    /// Whether every process only sends one message and receives one in every stage, and all messages cost the same.
    pub fn is_plain(&self) -> bool {
        let is_plain = |entry: &Entry| entry.to != NONE && entry.recv_slot != NONE && entry.packed == 0;
        self.way != Way::Listed && self.tariffs.len() <= 1 && self.entries.iter().all(is_plain)
    }

    pub fn bytes(&self) -> u64 {
        let rows =
            size_of_val(&*self.entries) + size_of_val(&*self.stages_of) + size_of_val(&*self.slot_from);
        (rows + self.slot_tariff.len()) as u64
    }
}

/// The sizes of messages and the lengths of computations that occur.
struct Kinds {
    sizes: Vec<u64>,
    durations: Vec<u64>,
}

impl Kinds {
    fn new(script: &(impl Script + ?Sized), ranks: Range<Rank>) -> Result<Kinds, Unfit> {
        type Found = (BTreeSet<u64>, BTreeSet<u64>);
        let add = |mut found: Found, rank: Rank| {
            for step in steps(script, rank) {
                found.0.extend([step.send, step.recv].into_iter().flatten().map(|message| message.bytes));
                found.1.extend(step.calc.map(Time::ps));
                found.1.extend((step.after > Time::ZERO).then_some(step.after.ps()));
            }
            let few = found.0.len() <= MOST_KINDS && found.1.len() <= MOST_KINDS;
            if few { Ok(found) } else { Err(Unfit::ManyKinds) }
        };
        let join = |mut all: Found, mut more: Found| {
            all.0.append(&mut more.0);
            all.1.append(&mut more.1);
            Ok(all)
        };
        let (sizes, durations) =
            ranks.into_par_iter().try_fold(Found::default, add).try_reduce(Found::default, join)?;
        if sizes.len() > MOST_KINDS || durations.len() > MOST_KINDS {
            return Err(Unfit::ManyKinds);
        }
        if durations.iter().any(|&duration| duration >= END_OF_TIME) {
            return Err(Unfit::Long);
        }
        Ok(Kinds {
            sizes: sizes.into_iter().collect(),
            durations: std::iter::once(0).chain(durations).collect(),
        })
    }

    fn tariffs(&self, link: &Link) -> Result<Vec<MessageCost>, Unfit> {
        // If nothing is sent, the entry is never read.
        let sizes = if self.sizes.is_empty() { &[0][..] } else { &self.sizes };
        sizes.iter().map(|&bytes| tariff(link, bytes)).collect()
    }

    fn size(&self, bytes: u64) -> u8 {
        self.sizes.binary_search(&bytes).unwrap_or(0) as u8
    }

    fn duration(&self, time: Time) -> u32 {
        self.durations[1..].binary_search(&time.ps()).map_or(0, |index| index as u32 + 1)
    }

    fn packed(&self, step: &Step) -> u32 {
        let tariff = step.send.map_or(0, |message| u32::from(self.size(message.bytes)));
        let calc = step.calc.map_or(0, |time| self.duration(time));
        let after = if step.after > Time::ZERO { self.duration(step.after) } else { 0 };
        let goes_on = if step.then == Then::Go { GOES_ON } else { 0 };
        tariff | calc << 8 | after << 16 | goes_on
    }
}

fn tariff(link: &Link, bytes: u64) -> Result<MessageCost, Unfit> {
    let costs = straggler_sim::rules::MessageCost::new(link, bytes);
    let tariff = MessageCost {
        send_overhead: costs.send_overhead.ps(),
        send_cpu: costs.send_cpu.ps(),
        recv_overhead: costs.recv_overhead.ps(),
        message_cpu: costs.message_cpu.ps(),
        nic: costs.nic.ps(),
    };
    let longest = tariff.send_cpu.max(tariff.message_cpu).max(tariff.nic);
    if longest < END_OF_TIME { Ok(tariff) } else { Err(Unfit::Long) }
}

fn steps(script: &(impl Script + ?Sized), rank: Rank) -> impl Iterator<Item = Step> {
    (0..script.stages(rank, 0)).map(move |stage| script.step(rank, 0, stage))
}

/// Whether a process never waits for more than [`MOST_RECEIVES`] receives at once.
fn narrow(script: &(impl Script + ?Sized), rank: Rank) -> bool {
    let mut waiting = 0;
    steps(script, rank).all(|step| {
        waiting += usize::from(step.recv.is_some());
        let few = waiting <= MOST_RECEIVES;
        if step.then == Then::Wait {
            waiting = 0;
        }
        few
    })
}

/// The rank that is `way` away from `rank`.
fn partner(kind: Way, rank: Rank, way: u32, processes: u32) -> Rank {
    match kind {
        Way::Bits => rank ^ way,
        _ => ((u64::from(rank) + u64::from(way)) % u64::from(processes)) as Rank,
    }
}

/// Builds tables with one row for all processes, if all do what rank 0 does.
fn uniform(
    script: &(impl Script + ?Sized),
    way: Way,
    kinds: &Kinds,
    link: &Link,
) -> Result<Option<Tables>, Unfit> {
    let processes = script.processes();
    if way == Way::Bits && !processes.is_power_of_two() {
        return Ok(None);
    }
    let first: Vec<Step> = steps(script, 0).collect();
    // A process that sends in a stage also receives in it, and the message it receives is its counterpart's.
    let pairs = |step: &Step| match (step.send, step.recv) {
        (None, None) => true,
        (Some(send), Some(recv)) => {
            let back = partner(way, recv.peer, send.peer, processes);
            send.tag == recv.tag && send.bytes == recv.bytes && back == 0
        }
        _ => false,
    };
    if !first.iter().all(pairs) {
        return Ok(None);
    }
    let seen_from = |rank: Rank, step: Step| {
        let moved =
            |message: Message| Message { peer: partner(way, rank, message.peer, processes), ..message };
        Step { send: step.send.map(moved), recv: step.recv.map(moved), ..step }
    };
    let alike = |rank: Rank| {
        script.stages(rank, 0) as usize == first.len()
            && steps(script, rank).zip(&first).all(|(step, &of_first)| step == seen_from(rank, of_first))
    };
    let is_known = matches!(
        (way, script.symmetry()),
        (Way::Distance, Symmetry::Shifted) | (Way::Bits, Symmetry::Flipped)
    );
    if !is_known && !(0..processes).into_par_iter().all(alike) {
        return Ok(None);
    }
    if processes > 0 && !narrow(script, 0) {
        return Err(Unfit::Wide);
    }
    let (mut entries, mut slot_from, mut slot_tariff) = (Vec::new(), Vec::new(), Vec::new());
    for step in &first {
        let slot = slot_from.len() as u32;
        let (to, slot) = step.send.map_or((NONE, NONE), |message| (message.peer, slot));
        entries.push(Entry { to, send_slot: slot, recv_slot: slot, packed: kinds.packed(step) });
        if let Some(recv) = step.recv {
            slot_from.push(recv.peer);
            slot_tariff.push(kinds.size(recv.bytes));
        }
    }
    Ok(Some(Tables {
        way,
        stages: first.len() as u32,
        slots: slot_from.len() as u32,
        entries,
        stages_of: Vec::new(),
        slot_from,
        slot_tariff,
        tariffs: kinds.tariffs(link)?,
        durations: kinds.durations.clone(),
    }))
}

/// A receive of a process: the source and tag it takes, and its number among the receives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Taker {
    from: Rank,
    tag: u32,
    slot: u32,
}

/// Builds tables with rows for every process.
fn listed(script: &(impl Script + ?Sized), kinds: &Kinds, link: &Link) -> Result<Tables, Unfit> {
    let processes = script.processes() as usize;
    let ranks = 0..script.processes();
    let stages_of: Vec<u32> = ranks.clone().into_par_iter().map(|rank| script.stages(rank, 0)).collect();
    let stages = stages_of.iter().copied().max().unwrap_or(0);
    // 33 bytes: an entry, a slot, and a receive during matching.
    if (u64::from(stages) * processes as u64).saturating_mul(33) > MOST_BYTES {
        return Err(Unfit::Large);
    }
    if !ranks.clone().into_par_iter().all(|rank| narrow(script, rank)) {
        return Err(Unfit::Wide);
    }
    let takers: Vec<Vec<Taker>> = ranks.clone().into_par_iter().map(|rank| takers(script, rank)).collect();
    let slots = takers.iter().map(Vec::len).max().unwrap_or(0);
    let rows: Vec<Vec<Entry>> = ranks
        .into_par_iter()
        .map(|rank| rows(script, rank, kinds, &takers))
        .collect::<Option<_>>()
        .ok_or(Unfit::Unmatched)?;
    let sent: usize = rows.iter().flatten().filter(|entry| entry.to != NONE).count();
    if sent != takers.iter().map(Vec::len).sum::<usize>() {
        return Err(Unfit::Unmatched);
    }
    let nothing = Entry { to: NONE, send_slot: NONE, recv_slot: NONE, packed: 0 };
    let mut tables = Tables {
        way: Way::Listed,
        stages,
        slots: slots as u32,
        entries: vec![nothing; stages as usize * processes],
        stages_of,
        slot_from: vec![NONE; slots * processes],
        slot_tariff: vec![0; slots * processes],
        tariffs: kinds.tariffs(link)?,
        durations: kinds.durations.clone(),
    };
    for (rank, entries) in rows.into_iter().enumerate() {
        for (stage, entry) in entries.into_iter().enumerate() {
            tables.entries[stage * processes + rank] = entry;
        }
        let received = steps(script, rank as Rank).filter_map(|step| step.recv);
        for (slot, message) in received.enumerate() {
            tables.slot_from[slot * processes + rank] = message.peer;
            tables.slot_tariff[slot * processes + rank] = kinds.size(message.bytes);
        }
    }
    Ok(tables)
}

/// The receives of a process, sorted.
fn takers(script: &(impl Script + ?Sized), rank: Rank) -> Vec<Taker> {
    let received = steps(script, rank).filter_map(|step| step.recv);
    let mut list: Vec<Taker> = (0..)
        .zip(received)
        .map(|(slot, message)| Taker { from: message.peer, tag: message.tag, slot })
        .collect();
    list.sort_unstable();
    list
}

/// Returns the rows of a process, or None if a message of it has no receive. Messages and receives with the same
/// sender and tag match in order.
fn rows(
    script: &(impl Script + ?Sized),
    rank: Rank,
    kinds: &Kinds,
    takers: &[Vec<Taker>],
) -> Option<Vec<Entry>> {
    let mut sends: Vec<(Rank, u32, usize)> = Vec::new();
    let mut received = 0;
    let mut entries: Vec<Entry> = steps(script, rank)
        .enumerate()
        .map(|(stage, step)| {
            sends.extend(step.send.map(|message| (message.peer, message.tag, stage)));
            let recv_slot = step.recv.map_or(NONE, |_| {
                received += 1;
                received - 1
            });
            let to = step.send.map_or(NONE, |message| message.peer);
            Entry { to, send_slot: NONE, recv_slot, packed: kinds.packed(&step) }
        })
        .collect();
    sends.sort_unstable();
    let mut earlier = 0;
    for (index, &(to, tag, stage)) in sends.iter().enumerate() {
        let again = index > 0 && (sends[index - 1].0, sends[index - 1].1) == (to, tag);
        earlier = if again { earlier + 1 } else { 0 };
        let there = takers.get(to as usize)?;
        let first = there.partition_point(|taker| (taker.from, taker.tag) < (rank, tag));
        let taker = there.get(first + earlier).filter(|taker| (taker.from, taker.tag) == (rank, tag))?;
        entries[stage].send_slot = taker.slot;
    }
    Some(entries)
}
