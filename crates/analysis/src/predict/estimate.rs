//! Estimates the parameters that best explain the evidence.
//!
//! Which event delayed a call depends on the unknown parameters, so [`settle`] iterates: parameters give evidence,
//! evidence gives better parameters. On real networks no single line fits all sizes, because protocols and caches
//! change in between. The aim is the time of the whole run: the line minimises relative errors, then G is set so that
//! all large messages together take the time they took.

use super::evidence::{Costs, Evidence};
use crate::regression::{Equation, least_squares};
use std::collections::BTreeMap;
use straggler_model::stats::median_in_place;

/// Below this size, the time for the bytes disappears in the noise.
pub(super) const SMALL: f64 = 512.0;

/// A call that took this many times as long as similar ones was disturbed.
const DISTURBED: f64 = 3.0;

/// Evidence from this many calls counts.
pub(super) const ENOUGH: f64 = 5.0;

/// The most that a byte may take, in picoseconds, if bytes and flights cannot be separated.
const ONE_BYTE: f64 = 1_000.0;

/// Iterate until costs change by at most this share, or this many times.
const SETTLED: f64 = 1e-6;
const TURNS: usize = 50;

/// Costs, their evidence, and which of them the evidence determines; the others keep the guess.
#[derive(Debug)]
pub(super) struct Settled {
    pub costs: Costs,
    pub evidence: Vec<Evidence>,
    pub tells_receive: bool,
    pub tells_flight: bool,
    /// All messages have about the same size, so L and G cannot be separated.
    pub one_size: bool,
    /// The extra time of disturbed messages, in picoseconds.
    pub disturbed: f64,
}

/// Iterates from a guess. If nothing determines o_s, it is a quarter of a flight.
pub(super) fn settle(guess: Costs, tells_send: bool, find: impl Fn(&Costs) -> Vec<Evidence>) -> Settled {
    let mut settled = Settled {
        costs: guess,
        evidence: find(&guess),
        tells_receive: false,
        tells_flight: false,
        one_size: false,
        disturbed: 0.0,
    };
    for _ in 0..TURNS {
        let before = settled.costs;
        let groups = groups(&settled.evidence, &before);
        settled.learn(&groups, tells_send);
        settled.evidence = find(&settled.costs);
        if settled.costs.is_about(&before, SETTLED) {
            break;
        }
    }
    settled
}

impl Settled {
    fn learn(&mut self, groups: &[Group], tells_send: bool) {
        let costs = &mut self.costs;
        let frequent = frequent(groups);
        let line = flight(&frequent, costs.receive);
        self.one_size = line.is_none();
        let told = line.or_else(|| flight_of_one_size(&frequent, costs.receive));
        self.tells_flight |= told.is_some();
        costs.flight = told.unwrap_or(costs.flight);
        if tells_send {
            costs.flight = costs.flight.max(costs.send);
        } else {
            costs.send = costs.flight / 4.0;
        }
        costs.byte = byte(groups, &frequent, costs);
        let told = receive(&frequent, costs);
        self.tells_receive = told.is_some();
        costs.receive = told.unwrap_or(costs.receive);
        // L cannot be negative: keep the parameter that more calls determine.
        if costs.flight < costs.send + costs.receive {
            let (there, flown) = calls(&frequent);
            if self.tells_receive && there > flown {
                costs.flight = costs.send + costs.receive;
            } else {
                costs.receive = (costs.flight - costs.send) / 2.0;
            }
        }
        self.disturbed = groups.iter().map(|group| group.disturbed).sum();
    }
}

/// How many calls with small messages found them already there, and how many waited for a flight.
fn calls(groups: &[Group]) -> (f64, f64) {
    let small = groups.iter().filter(|group| group.is_small());
    small.fold((0.0, 0.0), |(there, flown), group| {
        if group.sum.flights > 0.0 { (there, flown + group.count) } else { (there + group.count, flown) }
    })
}

/// The sum of evidence of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    sum: Evidence,
    count: f64,
    /// The extra time of messages that are left out.
    disturbed: f64,
}

impl Group {
    fn is_small(&self) -> bool {
        self.sum.size() < SMALL
    }
}

/// Groups similar evidence: the same collective or messages, delayed by a flight or not, of similar size.
fn groups(evidence: &[Evidence], costs: &Costs) -> Vec<Group> {
    let mut kinds: BTreeMap<_, Vec<&Evidence>> = BTreeMap::new();
    for one in evidence {
        let kind = (one.collective, one.flights > 0.0, (one.size() as u64).max(1).ilog2());
        kinds.entry(kind).or_default().push(one);
    }
    let groups = kinds.into_values().map(|alike| usual(&alike, costs));
    groups.filter(|group| group.sum.time > 0.0).collect()
}

/// Evidence seen once or twice says little if other evidence is frequent.
fn frequent(groups: &[Group]) -> Vec<Group> {
    let often = groups.iter().fold(0.0, |most: f64, group| most.max(group.count)).min(ENOUGH);
    groups.iter().filter(|group| group.count >= often).copied().collect()
}

/// Removes calls that took much longer than similar ones.
fn usual(alike: &[&Evidence], costs: &Costs) -> Group {
    // In thousandths, because floats have no total order.
    let ratio = |one: &Evidence| (1_000.0 * one.time / costs.cost(one).max(1.0)) as u64;
    let mut ratios: Vec<u64> = alike.iter().map(|one| ratio(one)).collect();
    let limit = DISTURBED * median_in_place(&mut ratios).unwrap_or(0) as f64;
    let mut group = Group::default();
    for one in alike {
        if ratio(one) as f64 > limit {
            let message = one.collective.is_none();
            group.disturbed += if message { (one.time - costs.cost(one)).max(0.0) } else { 0.0 };
            continue;
        }
        group.count += 1.0;
        group.sum.flights += one.flights;
        group.sum.receives += one.receives;
        group.sum.bytes += one.bytes;
        group.sum.time += one.time;
    }
    group
}

/// o_r, given the other parameters: from small messages that were already there, or arrived right after another.
fn receive(groups: &[Group], costs: &Costs) -> Option<f64> {
    let small = groups.iter().filter(|group| group.is_small());
    let (time, receives) = small.fold((0.0, 0.0), |(time, count), Group { sum, .. }| {
        let known = sum.flights * costs.flight + sum.bytes * costs.byte;
        if sum.others() > 0.0 { (time + sum.time - known, count + sum.others()) } else { (time, count) }
    });
    (receives >= ENOUGH).then(|| (time / receives).max(0.0))
}

/// The time of a flight without its bytes; none if there is only one size.
fn flight(groups: &[Group], receive: f64) -> Option<f64> {
    if groups.iter().all(Group::is_small) {
        return flight_with(groups, receive, 0.0);
    }
    let equations = groups.iter().map(|Group { sum, count, .. }| Equation {
        weight: count / (sum.time * sum.time),
        first: sum.flights,
        second: sum.bytes,
        value: sum.time - sum.others() * receive,
    });
    least_squares(equations).map(|(flight, _)| flight)
}

/// The same for a single size: bytes dominate large messages and are negligible in small ones.
fn flight_of_one_size(groups: &[Group], receive: f64) -> Option<f64> {
    flight_with(groups, receive, ONE_BYTE)
}

/// The time of a flight, given the time of a byte.
fn flight_with(groups: &[Group], receive: f64, byte: f64) -> Option<f64> {
    let flown = groups.iter().filter(|group| group.sum.flights > 0.0);
    let (time, flights) = flown.fold((0.0, 0.0), |(time, count), Group { sum, .. }| {
        (time + sum.time - sum.others() * receive - sum.bytes * byte, count + sum.flights)
    });
    (flights > 0.0).then(|| (time / flights).max(0.0))
}

/// G, set so that the large messages together take their measured time. Rare ones count if they hold most of the bytes.
fn byte(groups: &[Group], frequent: &[Group], costs: &Costs) -> f64 {
    let bytes = |groups: &[Group]| groups.iter().map(|group| group.sum.bytes).sum::<f64>();
    let groups = if 2.0 * bytes(frequent) < bytes(groups) { groups } else { frequent };
    let large = groups.iter().filter(|group| !group.is_small());
    let (time, bytes) = large.fold((0.0, 0.0), |(time, bytes), Group { sum, .. }| {
        let known = sum.others() * costs.receive + sum.flights * costs.flight;
        (time + sum.time - known, bytes + sum.bytes)
    });
    if bytes > 0.0 { (time / bytes).max(0.0) } else { 0.0 }
}
