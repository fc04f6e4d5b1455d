//! The flights of a group in the order of their ports.

use super::super::calendar::{CHUNK, Chunk};
use super::{Flight, Group};
use crate::message::{Body, Stamp};
use crate::prefetch::prefetch_at;

/// Fewer flights than one for so many ports are sorted by comparison.
const SPARSE: usize = 8;

/// A flight: its port within the group, and its chunk and the place there.
#[inline(always)]
fn entry(port: usize, chunk: usize, place: usize) -> u64 {
    (port as u64) << 32 | (chunk * CHUNK + place) as u64
}

#[inline(always)]
pub(super) fn port_of(entry: u64) -> usize {
    (entry >> 32) as usize
}

#[inline(always)]
pub(super) fn flight_of<F>(entry: u64, flights: &[Chunk<F>]) -> &F {
    let place = entry as u32 as usize;
    &flights[place / CHUNK][place % CHUNK]
}

/// How many flights of a chunk are prefetched; more are foreseen by the processor.
const BEGINNING: usize = 6;

/// Lists flights by port.
#[inline(never)]
pub(super) fn line_up<B: Body, S: Stamp>(
    flights: &[Chunk<Flight<B, S>>],
    group: &Group,
    counts: &mut Vec<u32>,
    order: &mut Vec<u64>,
) {
    let count: usize = flights.iter().map(Vec::len).sum();
    let port = |flight: &Flight<B, S>| (flight.port - group.first) as usize;
    order.clear();
    if count * SPARSE < group.free.len() {
        for (number, chunk) in flights.iter().enumerate() {
            let entries = chunk.iter().enumerate();
            order.extend(entries.map(|(place, flight)| entry(port(flight), number, place)));
        }
        return order.sort_unstable();
    }
    counts.clear();
    counts.resize(group.free.len(), 0);
    for (number, chunk) in flights.iter().enumerate() {
        // Chunks lie anywhere, so the processor does not foresee the next one.
        if let Some(next) = flights.get(number + 1) {
            (0..next.len().min(BEGINNING)).for_each(|place| prefetch_at(next, place));
        }
        chunk.iter().for_each(|flight| counts[port(flight)] += 1);
    }
    let mut before = 0;
    for count in counts.iter_mut() {
        before += std::mem::replace(count, before);
    }
    order.resize(count, 0);
    for (number, chunk) in flights.iter().enumerate() {
        for (place, flight) in chunk.iter().enumerate() {
            let port = port(flight);
            order[counts[port] as usize] = entry(port, number, place);
            counts[port] += 1;
        }
    }
}
