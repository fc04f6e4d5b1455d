//! Fits the network parameters to the times of matching calls.
//!
//! Receiving calls determine L, o_r and G, whether their messages were already there, were waited for, or queued
//! (`evidence.rs`, `estimate.rs`). In addition:
//! - A send that does not wait for its receiver takes o_s + (k−1)·O.
//! - A sender that stays in its call until the receiver arrives used rendezvous: the size is above S.
//!
//! Replays then adjust what calls show (`calibrate.rs`).
//!
//! g stays 0: ranks spend more time than g between two messages.

use super::calibrate::{Calibrated, calibrate};
use super::estimate::{ENOUGH, SMALL, Settled, settle};
use super::evidence::{Costs, Evidence, of_collectives, of_receipt, of_send};
use super::pairs::{Pair, pairs};
use super::unusual::{run, unusual};
use std::collections::BTreeMap;
use straggler_model::network::{Link, PerByte};
use straggler_model::{Network, Time};
use straggler_trace::Trace;

/// If two calls are further apart than this, their order is certain, and a small message sent in between has arrived.
const CLEARLY: Time = Time::from_ns(2_000);

/// The first guess of o_s, in picoseconds.
const SOME_OVERHEAD: f64 = 500_000.0;

/// The first guess of G, in picoseconds per byte: a slow network.
const SLOW_BYTE: f64 = 10_000.0;

/// If there are more calls than this, only every second, third, … is used.
const MANY: usize = 1 << 20;

/// A network fitted to a trace.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Fit {
    #[serde(skip)]
    pub network: Network,
    /// Sends that determined the cost of a send.
    pub sends: usize,
    /// Calls whose messages were there before they waited, and calls delayed by a flight.
    pub receives: usize,
    pub flights: usize,
    /// Collectives that determined the time of a flight, assuming their usual rounds.
    pub collectives: usize,
    /// Replays that adjusted the parameters.
    pub replays: usize,
    /// How far predictions for this program may be off, as a share of the time; none if too little of the trace can be
    /// replayed to tell.
    pub uncertainty: Option<f64>,
    /// What could not be determined and was assumed.
    pub assumed: Vec<String>,
}

/// Why no network can be fitted to a trace.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FitError {
    #[error(
        "the parameters of the network cannot be fitted: no rank waited for any of the {messages} messages, and no \
         collective helps; give them with --network"
    )]
    TooLittle { messages: usize },
    #[error(
        "the parameters of the network cannot be fitted: with {found} for a message one way, they contradict the trace, \
         in which a quarter of the messages take at most {quarter}; give them with --network"
    )]
    Contradicted { found: Time, quarter: Time },
}

/// No network takes longer for a small message. Beyond this, a fit is compared with what messages really took.
const LONGEST_ONE_WAY: Time = Time::from_ns(1_000_000);
/// A fitted time that is this many times as long as that of the fastest quarter of all messages is wrong.
const CONTRADICTED: u64 = 10;

/// Finds the parameters of the network a trace was recorded on.
pub fn fit(trace: &Trace) -> Result<Fit, FitError> {
    from_calls(trace, |shown| calibrate(trace, shown))
}

/// What calls show, adjusted by replays if they can be made.
pub(super) fn from_calls(
    trace: &Trace,
    adjust: impl FnOnce(&Link) -> Option<Calibrated>,
) -> Result<Fit, FitError> {
    let pairs = pairs(trace);
    let limit = eager_limit(&pairs);
    let sends = sends(&pairs, limit.unwrap_or(u64::MAX));
    let received = received(&pairs, &of_collectives(trace), &sends);
    let count = |test: fn(&Evidence) -> bool| received.evidence.iter().filter(|one| test(one)).count();
    let flights = count(|one| one.collective.is_none() && one.flights > 0.0);
    let collectives = count(|one| one.collective.is_some());
    if flights + collectives == 0 {
        return Err(FitError::TooLittle { messages: pairs.len() });
    }
    let mut assumed = Vec::new();
    if ((flights + collectives) as f64) < ENOUGH {
        assumed
            .push(format!("L and G are based on only {} calls: they are unreliable", flights + collectives));
    } else if (flights as f64) < ENOUGH {
        assumed.push("L and G are derived from collectives, assuming their usual algorithms".to_owned());
    }
    let mut guesses = Vec::new();
    let shown = Link { eager_limit: limit.unwrap_or(u64::MAX), ..link(&received, &sends, &mut guesses) };
    refuse_contradicted(&pairs, &shown)?;
    let calibrated = adjust(&shown).filter(|found| refuse_contradicted(&pairs, &found.link).is_ok());
    let link = calibrated.map_or(shown, |calibrated| calibrated.link);
    // Replays have determined what they changed.
    guesses.retain(|(parameter, _)| parameter(&link) == parameter(&shown));
    assumed.extend(guesses.into_iter().map(|(_, guess)| guess));
    if calibrated.is_some_and(|calibrated| calibrated.is_usual) {
        assumed.push(
            "L, o_s and o_r are those between the cores of a usual node: the replay comes closer to the trace with them than \
             with those of its calls"
                .to_owned(),
        );
    }
    if received.evidence.iter().all(|one| one.size() < SMALL) {
        assumed.push(
            "there are no large messages, so G is unknown: do not use this network for large ones".to_owned(),
        );
    }
    if received.one_size {
        assumed.push(
            "all messages that show L and G have the same size, so the two cannot be separated: do not use this network for \
             other sizes".to_owned(),
        );
    }
    if limit.is_none() {
        assumed.push(
            "S is assumed to be unlimited: no receiver was late enough to show whether sends wait for it"
                .to_owned(),
        );
    }
    assumed.extend(disturbed(trace, &received));
    assumed.extend(unusual(trace));
    Ok(Fit {
        network: Network::uniform("fitted", link),
        sends: sends.evidence.len(),
        receives: count(|one| one.flights == 0.0),
        flights,
        collectives,
        replays: calibrated.map_or(0, |calibrated| calibrated.replays),
        uncertainty: calibrated.and_then(|calibrated| calibrated.uncertainty),
        assumed,
    })
}

/// Refuses parameters with which small messages take far longer than messages do in the trace: calls that waited for
/// something else look like long flights if there are few others.
fn refuse_contradicted(pairs: &[Pair], link: &Link) -> Result<(), FitError> {
    let found = link.flight() + link.recv_overhead;
    if found <= LONGEST_ONE_WAY || pairs.is_empty() {
        return Ok(());
    }
    // From when both sides were ready.
    let time = |pair: &Pair| pair.received.1.since(pair.sent.0.max(pair.posted));
    let mut times: Vec<Time> = pairs.iter().map(time).collect();
    let (_, &mut quarter, _) = times.select_nth_unstable(pairs.len() / 4);
    match found.ps() / CONTRADICTED > quarter.ps() {
        true => Err(FitError::Contradicted { found, quarter }),
        false => Ok(()),
    }
}

/// The note on messages that took much longer than similar ones.
fn disturbed(trace: &Trace, received: &Settled) -> Option<String> {
    let each = Time((received.disturbed / trace.ranks.len().max(1) as f64) as u64);
    (each > Time(run(trace).ps() / 100)).then(|| {
        format!(
            "receives that took more than 3 times as long as similar ones are modelled as usual ones: {each} per \
             rank are missing"
        )
    })
}

/// The cost of sends alone: o_s as a flight, and O as its bytes.
fn sends(pairs: &[Pair], limit: u64) -> Settled {
    let alone = |pair: &&Pair| is_quick_send(pair) && (!pair.mixed || pair.bytes < SMALL as u64);
    let eager = || pairs.iter().filter(|pair| pair.bytes <= limit).filter(alone);
    let evidence: Vec<Evidence> = eager().step_by(eager().count() / MANY + 1).map(of_send).collect();
    let guess = Costs { send: 0.0, sent_byte: 0.0, flight: SOME_OVERHEAD, receive: 0.0, byte: 0.0 };
    let mut settled = settle(guess, true, |_| evidence.clone());
    settled.tells_flight &= evidence.len() as f64 >= ENOUGH;
    // The model charges O for every send. A send that waits for its receiver only waits, and messages that arrive
    // meanwhile are accounted for by their receives.
    let bytes = |pairs: &mut dyn Iterator<Item = &Pair>| pairs.map(|pair| pair.bytes as f64).sum::<f64>();
    let all = bytes(&mut pairs.iter().filter(|pair| pair.only_sends));
    settled.costs.byte *= bytes(&mut eager()) / all.max(1.0);
    settled
}

/// The cost of receiving calls and of collectives.
fn received(pairs: &[Pair], collectives: &[Evidence], sends: &Settled) -> Settled {
    let receipts = || pairs.chunk_by(|one, next| one.done == next.done);
    let every = receipts().count() / MANY + 1;
    let send = if sends.tells_flight { sends.costs.flight } else { SOME_OVERHEAD };
    // Start too high: with too low a guess, messages of a window seem to wait for their own flights instead of each
    // other.
    let guess =
        Costs { send, sent_byte: sends.costs.byte, flight: 4.0 * send, receive: 2.0 * send, byte: SLOW_BYTE };
    settle(guess, sends.tells_flight, |costs| {
        let received = receipts().step_by(every).filter_map(|messages| of_receipt(messages, costs));
        received.chain(collectives.iter().copied()).collect()
    })
}

/// A parameter of a link, in picoseconds.
type Parameter = fn(&Link) -> f64;

const LATENCY: Parameter = |link| link.latency.ps() as f64;
const SEND: Parameter = |link| link.send_overhead.ps() as f64;
const RECEIVE: Parameter = |link| link.recv_overhead.ps() as f64;

/// Splits a flight into o_s, L and o_r, and records what had to be assumed, and about which parameter.
fn link(received: &Settled, sends: &Settled, assumed: &mut Vec<(Parameter, String)>) -> Link {
    let Costs { flight, byte, .. } = received.costs;
    let send = if sends.tells_flight {
        sends.costs.flight
    } else {
        assumed.push((
            SEND,
            "o_s is assumed to be a quarter of a one-way time: too few sends returned without waiting"
                .to_owned(),
        ));
        received.costs.send
    };
    let rest = (flight - send).max(0.0);
    let receive = if received.tells_receive {
        received.costs.receive
    } else {
        assumed.push((
            RECEIVE,
            "o_r = o_s, because too few messages had arrived before their receive".to_owned(),
        ));
        // Messages determine this better than collectives, whose algorithm is unknown.
        let by_messages = received.evidence.iter().any(|one| one.collective.is_none() && one.flights > 0.0);
        if by_messages { send.min(rest / 2.0) } else { send }
    };
    if rest <= receive {
        assumed.push((
            LATENCY,
            "L is assumed to be 1 ns: o_s and o_r together already make up the one-way time".to_owned(),
        ));
    }
    let time = |ps: f64| Time(ps.round() as u64);
    Link {
        latency: time(rest - receive).max(Time::from_ns(1)),
        send_overhead: time(send),
        recv_overhead: time(receive),
        gap: Time::ZERO,
        gap_per_byte: PerByte::from_picoseconds(byte),
        overhead_per_byte: PerByte::from_picoseconds(sends.costs.byte.min(byte)),
        eager_limit: u64::MAX,
        overlap_limit: u64::MAX,
    }
}

/// Whether a send did not wait for its receiver: it ended before the receive was posted, the receive had been posted
/// before, or the message is small.
fn is_quick_send(pair: &Pair) -> bool {
    pair.only_sends && (pair.sent.1 < pair.posted || pair.posted + CLEARLY < pair.sent.0 || pair.bytes <= 256)
}

/// S: the limit that contradicts the fewest sends whose receivers were late: those above it waited, those below did not.
/// None if too few receivers were late.
fn eager_limit(pairs: &[Pair]) -> Option<u64> {
    // By size: how many sends waited, and how many did not.
    let mut votes: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    for (bytes, waited) in pairs.iter().filter_map(|pair| Some((pair.bytes, waited_for_receiver(pair)?))) {
        let vote = votes.entry(bytes).or_default();
        *if waited { &mut vote.0 } else { &mut vote.1 } += 1;
    }
    let late: usize = votes.values().map(|(waited, went)| waited + went).sum();
    // From the largest size down: what a limit right below it contradicts, compared with no limit.
    let (mut waited_above, mut went_above, mut best) = (0, 0, None);
    for (&bytes, &(waited, went)) in votes.iter().rev() {
        (waited_above, went_above) = (waited_above + waited, went_above + went);
        let fewer = waited_above as i64 - went_above as i64;
        if fewer > 0
            && (waited_above + went_above) as f64 >= ENOUGH
            && best.is_none_or(|(most, _)| fewer >= most)
        {
            best = Some((fewer, bytes));
        }
    }
    match best {
        Some((_, first)) => {
            let below = votes.range(..first).next_back();
            Some(below.map_or(first.saturating_sub(1), |(&bytes, _)| bytes))
        }
        None => (late as f64 >= ENOUGH).then_some(u64::MAX),
    }
}

/// Whether a send whose receive was posted late waited for it; none if the trace does not show that.
fn waited_for_receiver(pair: &Pair) -> Option<bool> {
    let sender = &pair.sender_waited;
    if !pair.only_sends || pair.posted <= pair.sent.0 + CLEARLY {
        None
    } else if sender.exit < pair.posted {
        Some(false)
    } else {
        (sender.for_sends_only && pair.posted > sender.enter + CLEARLY).then_some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pairs::SenderWaited;
    use super::super::waiting::Waited;
    use super::*;
    use straggler_trace::messages::CallPlace;
    use straggler_trace::{Call, Communicator, Function, RankTrace, WORLD};

    /// A ping-pong by the LogGOPS rules, in which every other message is received late.
    fn ping_pong(link: &Link, sizes: &[u64]) -> Trace {
        let mut ranks = [RankTrace::default(), RankTrace::default()];
        let mut now = Time::from_ns(1_000_000);
        for (turn, &bytes) in sizes.iter().cycle().take(200).enumerate() {
            let (from, to) = (turn / 2 % 2, 1 - turn / 2 % 2);
            let busy = link.send_overhead + link.overhead_per_byte.of_message(bytes);
            let arrival = now + link.flight() + link.recv_overhead + link.gap_per_byte.of_message(bytes);
            let mut send = Call::new(Function::Send, now, now + busy);
            (send.comm, send.peer, send.tag, send.sent) = (WORLD, to as i32, 1, bytes);
            let (enter, exit) = if turn % 2 == 0 {
                (Time(now.ps() - 500_000_000), arrival)
            } else {
                let there = arrival + Time::from_ns(300_000);
                (there, there + link.recv_overhead + link.gap_per_byte.of_message(bytes))
            };
            let mut recv = Call::new(Function::Recv, enter, exit);
            (recv.comm, recv.peer, recv.tag, recv.received) = (WORLD, from as i32, 1, bytes);
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
            let sent = (Time::from_ns(10_000), Time::from_ns(exit));
            Pair {
                bytes,
                sent,
                sender_waited: SenderWaited { enter: sent.0, exit: sent.1, for_sends_only: true },
                only_sends: true,
                mixed: false,
                posted: Time::from_ns(50_000),
                received: (Time::from_ns(50_000), Time::from_ns(61_000)),
                waited: Waited::since(Time::from_ns(50_000)),
                done: CallPlace { rank: 0, call: 0 },
                served: 1,
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
        // A few may be delayed by chance.
        assert_eq!(eager_limit(&large[..4]), None);
        // Many sizes, each sent once: what waited begins at 60,000 bytes.
        let sizes = (1..=20).map(|nth| pair(6_000 * nth, nth >= 10 && nth != 13));
        assert_eq!(eager_limit(&sizes.collect::<Vec<_>>()), Some(54_000));
    }

    /// A nonblocking send returns at once, whatever its size: the call that completes it shows whether it waited.
    #[test]
    fn nonblocking_sends_wait_where_they_are_completed() {
        let run = |bytes: u64, waited: u64, with_receive: bool| {
            let mut ranks = [RankTrace::default(), RankTrace::default()];
            for round in 0..8 {
                let start = 1_000_000 * (round + 1);
                let on = |function, enter: u64, exit: u64, peer| {
                    let call = Call::new(function, Time::from_ns(start + enter), Time::from_ns(start + exit));
                    Call { comm: WORLD, peer, tag: 1, ..call }
                };
                let request = |number: u32| straggler_trace::RequestId(2 * round as u32 + number);
                let sent = on(Function::Isend, 0, 1_000, 1);
                ranks[0].push(Call { sent: bytes, request: request(0), ..sent });
                let mut requests = vec![request(0)];
                if with_receive {
                    let back = on(Function::Irecv, 1_000, 1_500, 1);
                    ranks[0].push(Call { received: 1, request: request(1), ..back });
                    requests.push(request(1));
                    ranks[1].push(Call { sent: 1, ..on(Function::Send, 390_000, 391_000, 0) });
                }
                let requests = requests.into();
                let details = straggler_trace::Details { requests, found: true, ..Default::default() };
                ranks[0].push_with(on(Function::Waitall, 2_000, waited, 0), details);
                ranks[1].push(Call { received: bytes, ..on(Function::Recv, 400_000, 420_000, 0) });
            }
            let trace = Trace {
                ranks: ranks.into(),
                communicators: vec![Communicator::world(2)],
                ..Trace::default()
            };
            eager_limit(&super::super::pairs::pairs(&trace))
        };
        assert_eq!(run(100_000, 420_000, false), Some(99_999));
        assert_eq!(run(100_000, 3_000, false), Some(u64::MAX));
        // It may have waited for the message of the other rank.
        assert_eq!(run(100_000, 420_000, true), None);
        assert_eq!(run(100_000, 395_000, true), Some(u64::MAX));
    }

    /// Each of four calls completes a small receive and a large send, whose receiver comes 100 ms later.
    #[test]
    fn a_flight_longer_than_messages_take_is_refused() {
        let mut ranks = [RankTrace::default(), RankTrace::default()];
        let large = 4 << 20;
        for round in 0..4 {
            let start = Time::from_ns(1_000_000 + 200_000_000 * u64::from(round));
            let on = |function, enter, exit, tag, bytes| {
                let call = Call::new(function, start + Time::from_ns(enter), start + Time::from_ns(exit));
                let peer = if matches!(function, Function::Send | Function::Recv) { 1 } else { 0 };
                Call { comm: WORLD, peer, tag, sent: bytes, received: bytes, ..call }
            };
            ranks[0].push(on(Function::Send, 5_000, 6_000, 1, 8));
            ranks[0].push(on(Function::Recv, 100_000_000, 101_000_000, 2, large));
            let requests = [0, 1].map(|place| straggler_trace::RequestId(2 * round + place));
            ranks[1].push(Call { request: requests[0], ..on(Function::Irecv, 0, 1, 1, 8) });
            ranks[1].push(Call { request: requests[1], ..on(Function::Isend, 1, 2, 2, large) });
            let details = straggler_trace::Details {
                requests: requests.to_vec().into(),
                found: true,
                ..straggler_trace::Details::default()
            };
            let wait =
                Call::new(Function::Waitall, start + Time::from_ns(2), start + Time::from_ns(101_000_000));
            ranks[1].push_with(wait, details);
        }
        let communicators = vec![Communicator::world(2)];
        let error = fit(&Trace { ranks: ranks.into(), communicators, ..Trace::default() }).unwrap_err();
        assert!(error.to_string().contains("they contradict the trace"), "{error}");
    }

    #[test]
    fn a_trace_without_communication_is_refused() {
        let trace = Trace { communicators: vec![Communicator::world(1)], ..Trace::default() };
        assert_eq!(fit(&trace), Err(FitError::TooLittle { messages: 0 }));
    }
}
