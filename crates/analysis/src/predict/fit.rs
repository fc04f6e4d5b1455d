//! The parameters of the network, from the times of matching calls.
//!
//! - A send that does not wait for its receiver takes o_s + (k−1)·O.
//! - A receive whose message lies there already takes o_r; the model charges that when the message arrives.
//! - A receive that was waiting ends o_s + L + o_r + (k−1)·G after its send began. A loop of tests or probes waits too;
//!   what lies between a probe that found a message and its receive does not count.
//! - A sender that stays in its call until the receiver comes used rendezvous: its size is above S.
//!
//! Disturbances only lengthen calls, so quantiles below the middle are taken, and lines are those of Theil and Sen: the
//! median of slopes between sizes. g is left at 0: what a rank does between two messages takes longer.

use super::pairs::{Pair, pairs};
use super::unusual::unusual;
use std::collections::BTreeMap;
use straggler_model::network::{Link, PerByte};
use straggler_model::stats::{median_in_place, quantile_in_place};
use straggler_model::{Network, Time};
use straggler_trace::messages::Place;
use straggler_trace::{Call, Class, Collective, Start, Trace};

/// Which of its values stand for a size: rather the quick ones.
const QUANTILE: f64 = 0.3;

/// Farther apart than this, one call was surely before another, and a small message between them has arrived.
const CLEARLY: Time = Time::from_ns(2_000);

/// A size that was seen this often counts; where all are rarer, the most frequent do.
const ENOUGH: usize = 5;

/// Sizes that are closer together tell no slope: a few bytes more disappear in the noise.
const APART: f64 = 512.0;

/// A network as a trace shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    pub network: Network,
    /// Messages that told something about sends, about receives whose message was there, and about flights.
    pub sends: usize,
    pub receives: usize,
    pub flights: usize,
    /// Collectives that told something, where messages did not.
    pub collectives: usize,
    /// What could not be told and was assumed.
    pub assumed: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FitError {
    #[error(
        "the trace has too little communication to tell the network's parameters from ({messages} messages and \
         {collectives} collectives that say something): give them with --network"
    )]
    TooLittle { messages: usize, collectives: usize },
}

/// Finds the parameters of the network a trace was recorded on.
pub fn fit(trace: &Trace) -> Result<Fit, FitError> {
    let pairs = pairs(trace);
    let quick = pairs.iter().filter(|pair| is_quick_send(pair));
    let sends = Line::through(quick.map(|pair| (pair.bytes, length(pair.sent))));
    let there = pairs.iter().filter(|pair| was_there(pair));
    let receives = Line::through(there.map(|pair| (pair.bytes, length(pair.received))));
    let late = pairs.iter().filter(|pair| pair.last && pair.waited.since + pair.clocks < pair.sent.0);
    let mut flown: Vec<(u64, Time)> = late.map(|pair| (pair.bytes, flight(pair))).collect();
    let of_messages = flown.len();
    let mut assumed = Vec::new();
    // One large size alone does not tell L from G, and few messages tell nothing; collectives have other sizes.
    let first = flown.first().map_or(0, |&(bytes, _)| bytes);
    let one_size = flown.iter().all(|&(bytes, _)| bytes == first);
    if of_messages < ENOUGH || one_size && first as f64 >= APART {
        flown.extend(flights_of_collectives(trace));
        if flown.len() == of_messages && one_size {
            assumed.push(
                "all messages have one size, which does not tell L from G: do not use it for others".into(),
            );
        }
    }
    let flights = Line::through(flown.iter().copied());
    if flights.samples == 0 {
        return Err(FitError::TooLittle { messages: pairs.len(), collectives: flown.len() - of_messages });
    }
    if flown.len() > of_messages {
        assumed.push(
            "what messages do not tell is told by collectives, as if they took their usual rounds".into(),
        );
    }
    let send_overhead = if sends.samples > 0 {
        // Sends tell more about themselves than collectives do, whose algorithm is not known.
        if of_messages > 0 { sends.start.min(Time(flights.start.ps() / 2)) } else { sends.start }
    } else {
        assumed
            .push("a quarter of a flight is taken to be overhead at each end: no send was seen alone".into());
        Time(flights.start.ps() / 4)
    };
    let rest = flights.start.since(send_overhead);
    // A message that waits is copied out by the receive; one that is waited for ends with the same copy.
    let recv_overhead = if receives.samples >= ENOUGH {
        receives.start.min(rest)
    } else {
        assumed.push("o_r is taken to be o_s: too few receives found their message there".into());
        if of_messages > 0 { send_overhead.min(rest) } else { send_overhead }
    };
    if send_overhead + recv_overhead >= flights.start {
        assumed.push(
            "L is taken to be 1 ns: what sends and receives take by themselves is all that a flight takes"
                .into(),
        );
    }
    let eager_limit = eager_limit(&pairs).unwrap_or_else(|| {
        assumed.push(
            "S is taken to be unlimited: no receiver came late enough to tell whether sends wait for it"
                .into(),
        );
        u64::MAX
    });
    assumed.extend(unusual(trace));
    let link = Link {
        latency: rest.since(recv_overhead).max(Time::from_ns(1)),
        send_overhead,
        recv_overhead,
        gap: Time::ZERO,
        gap_per_byte: per_byte(flights.slope),
        overhead_per_byte: per_byte(sends.slope.min(flights.slope)),
        eager_limit,
    };
    Ok(Fit {
        network: Network::uniform("fitted", link),
        sends: sends.samples,
        receives: receives.samples,
        flights: of_messages,
        collectives: flown.len() - of_messages,
        assumed,
    })
}

fn length((enter, exit): (Time, Time)) -> Time {
    exit.since(enter)
}

/// A send that did not wait for its receiver: it was over before anybody asked for the message, the receiver was there
/// before, or the message is too small.
fn is_quick_send(pair: &Pair) -> bool {
    pair.only_sends && (pair.sent.1 < pair.posted || pair.posted + CLEARLY < pair.sent.0 || pair.bytes <= 256)
}

/// Whether the message had arrived before the call that received it: a probe had found it, or it had time enough.
fn was_there(pair: &Pair) -> bool {
    let slack = if pair.waited.probed { Time::ZERO } else { CLEARLY };
    pair.alone && pair.sent.1 + slack < pair.received.0
}

/// From the beginning of a send to the end of its receive.
fn flight(pair: &Pair) -> Time {
    length((pair.sent.0, pair.received.1)).since(pair.waited.apart)
}

fn per_byte(ps: f64) -> PerByte {
    PerByte::from_bits((ps.max(0.0) * (1u64 << PerByte::FRACTION_BITS) as f64) as u64)
}

/// The largest size that was sent without waiting for its receiver, below those that did wait; none if the receivers of too
/// few came late.
fn eager_limit(pairs: &[Pair]) -> Option<u64> {
    let late = pairs.iter().filter(|pair| pair.only_sends && pair.posted > pair.sent.0 + CLEARLY);
    let (waited, went): (Vec<&Pair>, Vec<&Pair>) = late.partition(|pair| pair.sent.1 >= pair.posted);
    // A send may be held up by chance; a size counts as waiting when most of its sends did.
    let mut votes: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    waited.iter().for_each(|pair| votes.entry(pair.bytes).or_default().0 += 1);
    went.iter().for_each(|pair| votes.entry(pair.bytes).or_default().1 += 1);
    votes.retain(|_, (waited, went)| *waited + *went >= ENOUGH);
    votes.keys().next()?;
    let waiting = votes.iter().find(|(_, (waited, went))| waited > went).map(|(&bytes, _)| bytes);
    Some(match waiting {
        None => u64::MAX,
        Some(first) => votes.range(..first).next_back().map_or(first.saturating_sub(1), |(&bytes, _)| bytes),
    })
}

/// A line over sizes: what a message of one byte takes, and each byte more, in picoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Line {
    start: Time,
    slope: f64,
    samples: usize,
}

impl Line {
    fn through(values: impl Iterator<Item = (u64, Time)>) -> Line {
        let mut by_size: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (bytes, time) in values {
            by_size.entry(bytes.max(1)).or_default().push(time.ps());
        }
        let samples = by_size.values().map(Vec::len).sum();
        // Sizes seen once or twice say little where others were seen often.
        let often = by_size.values().map(Vec::len).max().unwrap_or(0).min(ENOUGH);
        let points: Vec<(f64, f64)> = by_size
            .into_iter()
            .filter(|(_, times)| times.len() >= often)
            .filter_map(|(bytes, mut times)| {
                Some((bytes as f64, quantile_in_place(&mut times, QUANTILE)? as f64))
            })
            .collect();
        let slope = theil_sen(&points).max(0.0);
        let mut starts: Vec<u64> =
            points.iter().map(|(bytes, time)| (time - slope * (bytes - 1.0)).max(0.0) as u64).collect();
        Line { start: Time(median_in_place(&mut starts).unwrap_or(0)), slope, samples }
    }
}

/// The median of the slopes between any two points.
fn theil_sen(points: &[(f64, f64)]) -> f64 {
    let mut slopes: Vec<f64> = Vec::new();
    // Some hundred sizes are enough to tell a line.
    let points = &points[..points.len().min(300)];
    for (place, first) in points.iter().enumerate() {
        let apart = points[place + 1..].iter().filter(|second| second.0 - first.0 >= APART);
        slopes.extend(apart.map(|second| (second.1 - first.1) / (second.0 - first.0)));
    }
    slopes.sort_by(f64::total_cmp);
    slopes.get(slopes.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// What a flight takes in collectives in which everybody waits for everybody: from the last to enter to the last to leave go
/// as many, one after the other, as the usual algorithm has rounds. The first on a communicator sets up connections and
/// does not count.
fn flights_of_collectives(trace: &Trace) -> Vec<(u64, Time)> {
    let mut found = Vec::new();
    for (comm, sequence) in straggler_trace::collectives::sequences(trace) {
        let members = trace.communicators.get(comm as usize).map_or(0, |comm| comm.members.len());
        if members < 2 || sequence.len() != members {
            continue;
        }
        let common = sequence.values().map(Vec::len).min().unwrap_or(0);
        for nth in usize::from(common > 1)..common {
            let joined = sequence.iter().map(|(&rank, calls)| Place { rank, call: calls[nth] });
            let calls: Vec<&Call> = joined.filter_map(|place| call(trace, place)).collect();
            found.extend(flight_of(&calls));
        }
    }
    found
}

/// The bytes and the time of a flight in one collective, by all its calls.
fn flight_of(calls: &[&Call]) -> Option<(u64, Time)> {
    let members = u32::try_from(calls.len()).ok()?;
    let function = calls.first()?.function;
    let rounds = match function.class() {
        Class::Collective(
            Collective::Barrier | Collective::Allreduce | Collective::Allgather,
            Start::Blocking,
        ) => u32::BITS - (members - 1).leading_zeros(),
        Class::Collective(Collective::Alltoall | Collective::Alltoallv, Start::Blocking) => members - 1,
        _ => return None,
    };
    // With sizes of their own, a call tells the sum of its blocks.
    let blocks = match function.class() {
        Class::Collective(Collective::Alltoallv, _) => u64::from(members),
        _ => 1,
    };
    let entered = calls.iter().map(|call| call.enter).max()?;
    let left = calls.iter().map(|call| call.exit).max()?;
    let bytes = calls.iter().map(|call| call.sent / blocks).max()?;
    let same = calls.iter().all(|call| call.function == function);
    same.then(|| (bytes, Time(left.since(entered).ps() / u64::from(rounds.max(1)))))
}

fn call(trace: &Trace, place: Place) -> Option<&Call> {
    trace.ranks.get(place.rank as usize)?.calls.get(place.call as usize)
}

#[cfg(test)]
mod tests {
    use super::super::waiting::Waited;
    use super::*;
    use straggler_trace::{Communicator, Function, RankTrace};

    /// A ping-pong as LogGOPS has it, every other message late at its receiver.
    fn ping_pong(link: &Link, sizes: &[u64]) -> Trace {
        let mut ranks = [RankTrace::default(), RankTrace::default()];
        let mut now = Time::from_ns(1_000_000);
        for (turn, &bytes) in sizes.iter().cycle().take(200).enumerate() {
            let (from, to) = (turn / 2 % 2, 1 - turn / 2 % 2);
            let busy = link.send_overhead + link.overhead_per_byte.of_message(bytes);
            let arrival = now + link.flight() + link.recv_overhead + link.gap_per_byte.of_message(bytes);
            let mut send = Call::new(Function::Send, now, now + busy);
            (send.comm, send.peer, send.tag, send.sent) = (0, to as i32, 1, bytes);
            let (enter, exit) = if turn % 2 == 0 {
                (Time(now.ps() - 500_000_000), arrival)
            } else {
                let there = arrival + Time::from_ns(300_000);
                (there, there + link.recv_overhead)
            };
            let mut recv = Call::new(Function::Recv, enter, exit);
            (recv.comm, recv.peer, recv.tag, recv.received) = (0, from as i32, 1, bytes);
            ranks[from].push(send);
            ranks[to].push(recv);
            now = exit.max(now + busy) + Time::from_ns(2_000_000);
        }
        for rank in &mut ranks {
            rank.calls.sort_by_key(|call| call.enter);
        }
        Trace { ranks: ranks.into(), communicators: vec![Communicator::world(2)], ..Trace::default() }
    }

    #[test]
    fn the_parameters_of_a_known_network_come_back() {
        let link = super::super::tests::link();
        let fit = fit(&ping_pong(&link, &[1, 64, 1024, 8192, 32768])).unwrap();
        let found = fit.network.base;
        assert_eq!(found.send_overhead, link.send_overhead);
        assert_eq!(found.recv_overhead, link.recv_overhead);
        assert!(found.latency.ps().abs_diff(link.latency.ps()) < 2_000, "{:?}", found.latency);
        assert!((found.gap_per_byte.picoseconds() - 250.0).abs() < 0.1, "{:?}", found.gap_per_byte);
        assert!((found.overhead_per_byte.picoseconds() - 50.0).abs() < 0.1);
        assert_eq!(fit.assumed, [] as [&str; 0]);
    }

    #[test]
    fn senders_that_wait_show_the_eager_limit() {
        let pair = |bytes, waits: bool| {
            let exit = if waits { 60_000 } else { 11_000 };
            Pair {
                bytes,
                sent: (Time::from_ns(10_000), Time::from_ns(exit)),
                only_sends: true,
                posted: Time::from_ns(50_000),
                received: (Time::from_ns(50_000), Time::from_ns(61_000)),
                waited: Waited { since: Time::from_ns(50_000), apart: Time::ZERO, probed: false },
                alone: true,
                last: true,
                clocks: Time::ZERO,
            }
        };
        let often = |bytes, waits: [bool; 5]| waits.map(|waits| pair(bytes, waits));
        let [small, middle, large] = [
            often(100, [false; 5]),
            often(4096, [false, false, true, false, true]),
            often(9000, [true, true, false, true, true]),
        ];
        assert_eq!(eager_limit(&[small, middle, large].concat()), Some(4096));
        assert_eq!(eager_limit(&[small, middle].concat()), Some(u64::MAX));
        assert_eq!(eager_limit(&large), Some(8999));
        // A few may be held up by chance.
        assert_eq!(eager_limit(&large[..4]), None);
    }

    #[test]
    fn a_trace_without_communication_is_refused() {
        let trace = Trace { communicators: vec![Communicator::world(1)], ..Trace::default() };
        assert_eq!(fit(&trace), Err(FitError::TooLittle { messages: 0, collectives: 0 }));
    }
}
