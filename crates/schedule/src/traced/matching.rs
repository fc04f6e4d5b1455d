//! Checks that every message of a recording has a sender and a receiver, and every collective all members.
//!
//! The trace has resolved wildcards, so the n-th send from one rank to another with a tag belongs
//! to the n-th receive.

use super::collective::Collectives;
use super::error::{TraceError, Unmatched};
use super::reading::ReadRank;
use super::recording::Instruction;
use std::collections::{BTreeMap, HashMap};
use straggler_model::{Rank, Tag};
use straggler_trace::Trace;

/// Where the order of instructions does not tell which receive takes a message, gives each message
/// of the route a tag of its own, starting at `tags`. Messages without a counterpart keep their
/// tags. Returns the original tag of each new one, except between threaded ranks.
///
/// This concerns routes between ranks with several threads: which thread sends first depends on timing in
/// MPI, which differs in a replay; in the trace, the n-th sending call belongs to the n-th receiving one. It
/// also concerns programs that take messages with matched probes and receive them in a different order.
pub(super) fn distinguish(ranks: &mut [ReadRank], tags: &mut u32) -> Result<HashMap<Tag, Tag>, TraceError> {
    let threaded: Vec<bool> = ranks.iter().map(|read| read.recorded.threads() > 1).collect();
    let has_threads = |from: Rank, to: Rank| {
        [from, to].iter().any(|&rank| threaded.get(rank as usize).copied().unwrap_or(false))
    };
    let reorders: Vec<bool> = ranks.iter().map(|read| !read.taken.is_empty()).collect();
    // Sorted, so that tags are reproducible.
    let mut routes: BTreeMap<Route, [Vec<(u32, u32)>; 2]> = BTreeMap::new();
    for (rank, read) in (0..).zip(&*ranks) {
        let by_call = read.recorded.origins.iter().copied().zip(0..);
        for (instruction, (call, number)) in read.recorded.instructions.iter().zip(by_call) {
            let (route, side, call) = match *instruction {
                Instruction::Send { to, tag, .. } => ((rank, to, tag), 0, call),
                Instruction::Recv { from, tag, .. } => ((from, rank, tag), 1, read.taken_at(call)),
                _ => continue,
            };
            if has_threads(route.0, route.1) || reorders.get(route.1 as usize) == Some(&true) {
                routes.entry(route).or_default()[side].push((call, number));
            }
        }
    }
    let mut stand_for = HashMap::new();
    for ((from, to, shared), [mut sends, mut receives]) in routes {
        let threads = has_threads(from, to);
        if !threads && receives.is_sorted() {
            continue;
        }
        sends.sort_unstable();
        receives.sort_unstable();
        for ((_, send), (_, receive)) in sends.into_iter().zip(receives) {
            let own = *tags;
            // The replies to synchronous sends need as many tags again.
            *tags = tags.checked_add(1).filter(|&tags| tags < u32::MAX / 4).ok_or(TraceError::TooManyTags)?;
            if !threads {
                stand_for.insert(own, shared);
            }
            for (rank, number) in [(from, send), (to, receive)] {
                let instructions = ranks.get_mut(rank as usize).map(|read| &mut read.recorded.instructions);
                if let Some(Instruction::Send { tag, .. } | Instruction::Recv { tag, .. }) =
                    instructions.and_then(|instructions| instructions.get_mut(number as usize))
                {
                    *tag = own;
                }
            }
        }
    }
    Ok(stand_for)
}

/// (from, to, tag)
type Route = (Rank, Rank, Tag);

/// The sends of a route, as (bytes, synchronous), and how many of them are received.
#[derive(Default)]
struct Traffic {
    sends: Vec<(u64, bool)>,
    received: usize,
}

/// Gives every receive the size of its message, and whether it must reply. Returns the instructions
/// without a counterpart, by rank.
pub(super) fn pair(ranks: &mut [ReadRank], collectives: &Collectives) -> Vec<Vec<u32>> {
    let mut routes: HashMap<Route, Traffic> = HashMap::new();
    for (rank, read) in (0..).zip(&*ranks) {
        for instruction in &read.recorded.instructions {
            if let Instruction::Send { bytes, to, tag, how } = *instruction {
                routes.entry((rank, to, tag)).or_default().sends.push((bytes, how.answered));
            }
        }
    }
    let mut lone: Vec<Vec<u32>> = vec![Vec::new(); ranks.len()];
    for ((rank, read), lone) in (0..).zip(&mut *ranks).zip(&mut lone) {
        for (number, instruction) in (0..).zip(&mut read.recorded.instructions) {
            let Instruction::Recv { bytes, from, tag, how } = instruction else { continue };
            let traffic = routes.entry((*from, rank, *tag)).or_default();
            match traffic.sends.get(traffic.received) {
                Some(&(sent, answered)) => {
                    *bytes = sent;
                    how.answered = answered;
                    traffic.received += 1;
                }
                None => lone.push(number),
            }
        }
    }
    if collectives.all_complete() && routes.values().all(|traffic| traffic.received == traffic.sends.len()) {
        return lone;
    }
    let mut sent: HashMap<Route, usize> = HashMap::new();
    for ((rank, read), lone) in (0..).zip(&*ranks).zip(&mut lone) {
        for (number, instruction) in (0..).zip(&read.recorded.instructions) {
            let alone = match *instruction {
                Instruction::Send { to, tag, .. } => {
                    let before = sent.entry((rank, to, tag)).or_default();
                    *before += 1;
                    routes.get(&(rank, to, tag)).is_none_or(|traffic| *before > traffic.received)
                }
                Instruction::Collective { call, .. } => collectives.missing(call) > 0,
                _ => false,
            };
            if alone {
                lone.push(number);
            }
        }
        lone.sort_unstable();
    }
    lone
}

/// Describes what is missing.
pub(super) fn describe(
    trace: &Trace,
    ranks: &[ReadRank],
    collectives: &Collectives,
    lone: &[Vec<u32>],
) -> Vec<Unmatched> {
    let mut all = Vec::new();
    for ((rank, read), lone) in (0..).zip(ranks).zip(lone) {
        for &number in lone {
            let call = read.recorded.origins[number as usize] as usize;
            let Some(traced) = trace.ranks.get(rank as usize).and_then(|rank| rank.calls.get(call)) else {
                continue;
            };
            let missing = match read.recorded.instructions[number as usize] {
                Instruction::Send { to, bytes, .. } => {
                    format!("rank {to} does not receive its {bytes} bytes")
                }
                Instruction::Recv { from, .. } => format!("rank {from} does not send this message"),
                Instruction::Collective { call, .. } => {
                    let missing = collectives.missing(call);
                    format!("{missing} members of communicator {} do not take part", traced.comm)
                }
                _ => continue,
            };
            all.push(Unmatched { rank, call, function: traced.function, missing });
        }
    }
    all
}

/// Removes instructions, including from the lists of those that wait for them.
pub(super) fn remove(read: &mut ReadRank, lone: &[u32]) {
    if lone.is_empty() {
        return;
    }
    let is_lone = |number: u32| lone.binary_search(&number).is_ok();
    let place = |number: u32| number - lone.partition_point(|&other| other < number) as u32;
    let recorded = &mut read.recorded;
    let mut waits = Vec::with_capacity(recorded.waits.len());
    let mut kept = Vec::with_capacity(recorded.instructions.len());
    let mut origins = Vec::with_capacity(recorded.origins.len());
    // Copies what remains of a list. Returns its new start and length.
    let mut relist = |list: &[u32]| {
        let start = waits.len() as u32;
        waits.extend(list.iter().copied().filter(|&awaited| !is_lone(awaited)).map(place));
        (start, waits.len() as u32 - start)
    };
    for ((number, instruction), &origin) in (0..).zip(&recorded.instructions).zip(&recorded.origins) {
        let instruction = match *instruction {
            _ if is_lone(number) => continue,
            Instruction::Wait { first, count, asked } => {
                let (first, count) = relist(recorded.awaited(first, count));
                Instruction::Wait { first, count, asked }
            }
            Instruction::Poll { first, count, all, calls, after } => {
                let (first, count) = relist(recorded.awaited(first, count));
                Instruction::Poll { first, count, all, calls, after }
            }
            Instruction::Choose { first, count, chosen, asked } => {
                let of = recorded.chosen(first, count, chosen);
                let (first, count) = relist(recorded.awaited(first, count));
                Instruction::Choose { first, count, chosen: relist(of).1, asked }
            }
            other => other,
        };
        kept.push(instruction);
        origins.push(origin);
    }
    read.wild.retain(|wild| !is_lone(wild.instruction));
    read.wild.iter_mut().for_each(|wild| wild.instruction = place(wild.instruction));
    recorded.thread_ends.iter_mut().for_each(|end| *end = place(*end));
    (recorded.instructions, recorded.origins, recorded.waits) = (kept, origins, waits);
}
