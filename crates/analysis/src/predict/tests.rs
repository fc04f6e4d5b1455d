//! Traces as LogGOPS would make them, by programs that receive in different ways: their parameters come back.

use super::{FitError, fit};
use straggler_model::Time;
use straggler_model::network::{Link, PerByte};
use straggler_trace::call::special;
use straggler_trace::{
    Call, Class, Communicator, Completed, Details, Function, Matched, RankTrace, Rare, Repeated, RequestId,
    Trace,
};

/// How a program receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Probe,
    Mprobe,
    /// Loops.
    Iprobe,
    Improbe,
    Test,
    Testsome,
    /// A loop that asks for something else until its own message is there.
    TestOther,
    /// A loop that computes between its tests.
    TestAndWork,
}

pub(super) fn link() -> Link {
    Link {
        latency: Time::from_ns(2_500),
        send_overhead: Time::from_ns(700),
        recv_overhead: Time::from_ns(900),
        gap: Time::ZERO,
        gap_per_byte: PerByte::from_ps(250),
        overhead_per_byte: PerByte::from_ps(50),
        eager_limit: u64::MAX,
    }
}

/// What a program does between finding a message and receiving it.
const APART: Time = Time::from_ns(5_000);

/// What the model charges a receiver for a message: with its bytes, unless these were waited for.
fn cost(bytes: u64, was_there: bool) -> Time {
    let copied = if was_there { link().gap_per_byte.of_message(bytes) } else { Time::ZERO };
    link().recv_overhead + copied
}

/// A receiver, whose requests are numbered.
#[derive(Default)]
struct Receiver {
    trace: RankTrace,
    requests: RequestId,
}

impl Receiver {
    /// Receives a message: `ready` is when it has arrived, and o_r later the receive is over. Gives its end.
    fn receive(&mut self, way: Way, enter: Time, ready: Time, from: i32, bytes: u64) -> Time {
        let loops = |probe| (probe, if enter < ready { Some(Time(ready.ps() - 50_000)) } else { None });
        let ((probe, polled), receive) = match way {
            Way::Probe => ((Function::Probe, None), Function::Recv),
            Way::Mprobe => ((Function::Mprobe, None), Function::Mrecv),
            Way::Iprobe => (loops(Function::Iprobe), Function::Recv),
            Way::Improbe => (loops(Function::Improbe), Function::Mrecv),
            _ => return self.test(way, enter, ready, from, bytes),
        };
        let any = Call { comm: 0, peer: special::ANY, tag: special::ANY, ..Call::new(probe, enter, ready) };
        let mut enter = enter;
        if let Some(until) = polled {
            self.polls(Call { exit: until, ..any }, 50, Vec::new());
            enter = Time(ready.ps() - 10_000);
        }
        let matched = Some(Matched { peer: from, tag: 1 });
        let message = (receive == Function::Mrecv).then_some(self.requests);
        self.requests += 1;
        let exit = ready.max(enter + Time::from_ns(10));
        self.trace.push_with(
            Call { enter, exit, ..any },
            Details {
                found: true,
                matched,
                rare: Rare { message, ..Rare::default() }.into(),
                ..Details::default()
            },
        );
        // The probe that finds a message at once is a part of what receiving it takes.
        let probing = exit.since(ready.max(enter));
        let end = exit + APART + cost(bytes, enter > ready).since(probing);
        let mut call = Call::new(receive, exit + APART, end);
        call.received = bytes;
        if message.is_some() {
            self.trace.push_with(call, Details::from(Rare { message, ..Rare::default() }));
        } else {
            self.trace.push(Call { comm: 0, peer: from, tag: 1, ..call });
        }
        end
    }

    /// Unsuccessful calls, so many nanoseconds apart.
    fn polls(&mut self, call: Call, between: u64, requests: Vec<RequestId>) {
        let length = call.exit.since(call.enter);
        let calls = length.ps() / 1_000 / (2 * between) + 2;
        let inside = length.since(Time::from_ns(between * (calls - 1)));
        let repeated = Some(Repeated { calls, inside });
        self.trace.push_with(
            call,
            Details {
                requests: requests.into(),
                rare: Rare { repeated, ..Rare::default() }.into(),
                ..Details::default()
            },
        );
    }

    fn test(&mut self, way: Way, enter: Time, ready: Time, from: i32, bytes: u64) -> Time {
        let request = self.requests;
        self.requests += 1;
        let mut post = Call::new(Function::Irecv, enter, enter);
        (post.comm, post.peer, post.tag, post.received, post.request) = (0, from, 1, bytes, request);
        self.trace.push(post);
        let function = if way == Way::Testsome { Function::Testsome } else { Function::Test };
        let asked = if way == Way::TestOther { RequestId::MAX - 1 } else { request };
        if enter < ready {
            let between = if way == Way::TestAndWork { 1_500 } else { 50 };
            let polls = Call::new(function, enter, Time(ready.ps() - 20_000));
            self.polls(polls, between, vec![asked]);
        }
        let start = ready.max(enter);
        let end = start + cost(bytes, enter > ready);
        let completed = match way {
            Way::Testsome => vec![Completed { request, matched: None, cancelled: false }],
            _ => Vec::new(),
        };
        let found = Details {
            found: true,
            requests: vec![request].into(),
            completed: completed.into(),
            ..Details::default()
        };
        self.trace.push_with(Call::new(function, start, end), found);
        end
    }
}

/// Two ranks send in turns; every other message is there before it is received.
fn played(way: Way) -> Trace {
    let mut ranks = [Receiver::default(), Receiver::default()];
    let mut now = Time::from_ns(1_000_000);
    for (turn, &bytes) in [1, 64, 1024, 8192, 32768].iter().cycle().take(200).enumerate() {
        let (from, to) = (turn / 2 % 2, 1 - turn / 2 % 2);
        let busy = link().send_overhead + link().overhead_per_byte.of_message(bytes);
        let ready = now + link().flight() + link().gap_per_byte.of_message(bytes);
        let mut send = Call::new(Function::Send, now, now + busy);
        (send.comm, send.peer, send.tag, send.sent) = (0, to as i32, 1, bytes);
        ranks[from].trace.push(send);
        let late = turn % 2 == 1;
        let enter = if late { ready + Time::from_ns(300_000) } else { Time(now.ps() - 500_000_000) };
        let end = ranks[to].receive(way, enter, ready, from as i32, bytes);
        now = end.max(now + busy) + Time::from_ns(2_000_000);
    }
    let ranks = ranks.into_iter().map(|rank| {
        let mut calls = rank.trace;
        calls.calls.sort_by_key(|call| call.enter);
        calls
    });
    Trace { ranks: ranks.collect(), communicators: vec![Communicator::world(2)], ..Trace::default() }
}

#[test]
fn messages_may_be_received_in_any_way() {
    for way in [Way::Probe, Way::Mprobe, Way::Iprobe, Way::Improbe, Way::Test, Way::Testsome] {
        let fit = fit(&played(way)).unwrap();
        let (found, link) = (fit.network.base, link());
        assert_eq!(found.send_overhead, link.send_overhead, "{way:?}");
        assert_eq!(found.recv_overhead, link.recv_overhead, "{way:?}");
        assert!(found.latency.ps().abs_diff(link.latency.ps()) < 2_000, "{way:?}: {:?}", found.latency);
        assert!((found.gap_per_byte.picoseconds() - 250.0).abs() < 0.1, "{way:?}: {:?}", found.gap_per_byte);
        assert!((found.overhead_per_byte.picoseconds() - 50.0).abs() < 0.1, "{way:?}");
        assert_eq!(found.eager_limit, u64::MAX, "{way:?}");
        assert_eq!((fit.flights, fit.assumed), (100, Vec::new()), "{way:?}");
    }
}

#[test]
fn loops_that_do_something_else_tell_nothing_about_flights() {
    for way in [Way::TestOther, Way::TestAndWork] {
        let nothing = FitError::TooLittle { messages: 200 };
        assert_eq!(fit(&played(way)), Err(nothing), "{way:?}");
    }
}

#[test]
fn exchanges_and_collectives_tell_flights_together() {
    let at = |us: u64| Time::from_ns(us * 1_000);
    let mut ranks = vec![RankTrace::default(), RankTrace::default()];
    for (rank, peer) in ranks.iter_mut().zip([1, 0]) {
        for round in 0..20 {
            let (start, first) = (round * 1_000, 2 * round as RequestId);
            let mut receive = Call::new(Function::Irecv, at(start), at(start + 1));
            (receive.comm, receive.peer, receive.tag, receive.received) = (0, peer, 1, 64);
            let send = Call { sent: 64, enter: at(start + 1), exit: at(start + 11), ..receive };
            rank.push(Call { request: first, ..receive });
            rank.push(Call { function: Function::Isend, request: first + 1, ..send });
            let requests = vec![first, first + 1];
            let wait = Call::new(Function::Waitall, at(start + 11), at(start + 20));
            rank.push_with(wait, Details { found: true, requests: requests.into(), ..Details::default() });
            let barrier = Call::new(Function::Barrier, at(start + 500), at(start + 508));
            rank.push(Call { comm: 0, ..barrier });
        }
    }
    let trace = Trace { ranks, communicators: vec![Communicator::world(2)], ..Trace::default() };
    let found = fit(&trace).unwrap();
    let link = found.network.base;
    assert_eq!((found.flights, found.collectives), (40, 19));
    assert_eq!(link.send_overhead, at(10));
    // A message takes 19 µs, a barrier 8.
    let flight = link.flight() + link.recv_overhead;
    assert!(flight.ps().abs_diff((40 * at(19).ps() + 19 * at(8).ps()) / 59) <= 1, "{flight}");
}

/// A call that sends or receives a message.
fn message(
    function: Function,
    (enter, exit): (Time, Time),
    peer: i32,
    bytes: u64,
    request: RequestId,
) -> Call {
    let call = Call { comm: 0, peer, tag: 1, request, ..Call::new(function, enter, exit) };
    let sends = matches!(function.class(), Class::Send(..));
    if sends { Call { sent: bytes, ..call } } else { Call { received: bytes, ..call } }
}

fn wait(rank: &mut RankTrace, (enter, exit): (Time, Time), requests: Vec<RequestId>) {
    let function = if requests.len() == 1 { Function::Wait } else { Function::Waitall };
    rank.push_with(
        Call::new(function, enter, exit),
        Details { found: true, requests: requests.into(), ..Details::default() },
    );
}

/// Windows of sends, each answered by four bytes: what bandwidth tests do.
fn windows(sizes: &[u64]) -> Trace {
    const WINDOW: RequestId = 16;
    let (link, tick) = (link(), Time::from_ns(100));
    let mut ranks = vec![RankTrace::default(), RankTrace::default()];
    let mut now = Time::from_ns(1_000_000);
    let [sender, receiver] = &mut ranks[..] else { unreachable!() };
    for (round, &bytes) in sizes.iter().cycle().take(100).enumerate() {
        let first = round as RequestId * WINDOW;
        let requests: Vec<RequestId> = (first..first + WINDOW).collect();
        for &request in &requests {
            receiver.push(message(Function::Irecv, (Time(now.ps() - 50_000_000), now), 0, bytes, request));
        }
        let (mut sending, mut receiving) = (now, now);
        for &request in &requests {
            let over = sending + link.send_overhead + link.overhead_per_byte.of_message(bytes);
            sender.push(message(Function::Isend, (sending, over), 1, bytes, request));
            receiving = receiving.max(sending + link.flight())
                + link.recv_overhead
                + link.gap_per_byte.of_message(bytes);
            sending = over;
        }
        wait(receiver, (now, receiving), requests.clone());
        wait(sender, (sending, sending + tick), requests);
        let answered = receiving + link.flight() + link.recv_overhead + link.gap_per_byte.of_message(4);
        let busy = link.send_overhead + link.overhead_per_byte.of_message(4);
        receiver.push(message(Function::Send, (receiving, receiving + busy), 0, 4, Call::NO_REQUEST));
        sender.push(message(Function::Recv, (sending + tick, answered), 1, 4, Call::NO_REQUEST));
        now = answered + Time::from_ns(100_000);
    }
    Trace { ranks, communicators: vec![Communicator::world(2)], ..Trace::default() }
}

#[test]
fn messages_of_a_window_queue_and_do_not_fly_longer() {
    let fit = fit(&windows(&[1, 512, 8 << 10, 256 << 10, 4 << 20])).unwrap();
    let (found, link) = (fit.network.base, link());
    assert!((found.gap_per_byte.picoseconds() - 250.0).abs() < 0.5, "{fit:?}");
    let flight = |link: &Link| link.flight() + link.recv_overhead;
    assert!(flight(&found).ps().abs_diff(flight(&link).ps()) < 40_000, "{found:?}");
    assert!(found.send_overhead.ps().abs_diff(link.send_overhead.ps()) < 1_000, "{found:?}");
}

/// Both ranks send at once, by a call that stays until its message was taken, and then find theirs there.
fn exchanges(sizes: &[u64]) -> Trace {
    let (link, tick) = (link(), Time::from_ns(100));
    let mut ranks = vec![RankTrace::default(), RankTrace::default()];
    let mut now = Time::from_ns(1_000_000);
    for (round, &bytes) in sizes.iter().cycle().take(100).enumerate() {
        let request = round as RequestId;
        let over = now + link.flight() + link.recv_overhead + link.gap_per_byte.of_message(bytes);
        let sent = if bytes > 4096 {
            over
        } else {
            now + link.send_overhead + link.overhead_per_byte.of_message(bytes)
        };
        for (rank, peer) in ranks.iter_mut().zip([1, 0]) {
            rank.push(message(Function::Irecv, (Time(now.ps() - 5_000_000), now), peer, bytes, request));
            rank.push(message(Function::Send, (now, sent), peer, bytes, Call::NO_REQUEST));
            wait(rank, (sent, over.max(sent + tick)), vec![request]);
        }
        now = over + Time::from_ns(100_000);
    }
    Trace { ranks, communicators: vec![Communicator::world(2)], ..Trace::default() }
}

#[test]
fn bytes_that_come_during_a_send_count() {
    let fit = fit(&exchanges(&[8, 300_000])).unwrap();
    let (found, link) = (fit.network.base, link());
    assert!((found.gap_per_byte.picoseconds() / 250.0 - 1.0).abs() < 0.01, "{found:?}");
    let flight = |link: &Link| link.flight() + link.recv_overhead;
    assert!(flight(&found).ps().abs_diff(flight(&link).ps()) < 40_000, "{found:?}");
}

#[test]
fn calls_that_were_disturbed_do_not_count() {
    let mut trace = windows(&[1, 512, 8 << 10, 256 << 10]);
    let calm = fit(&trace).unwrap();
    // From a call on, everything is 20 ms later.
    for begin in [500, 900, 1300] {
        for rank in &mut trace.ranks {
            let from = rank.calls[begin.min(rank.calls.len() - 1)].exit;
            let shifted = |time: Time| if time >= from { time + Time::from_ns(20_000_000) } else { time };
            rank.calls
                .iter_mut()
                .for_each(|call| (call.enter, call.exit) = (shifted(call.enter), shifted(call.exit)));
        }
    }
    let disturbed = fit(&trace).unwrap();
    let byte = |fit: &super::Fit| fit.network.base.gap_per_byte.picoseconds();
    assert!((byte(&calm) - byte(&disturbed)).abs() < 2.5, "{disturbed:?}");
}

/// Exchanges of eight bytes by one call, over when the other side's message has come.
fn sendrecvs(flight: Time) -> Trace {
    let mut ranks = vec![RankTrace::default(), RankTrace::default()];
    for round in 0..500 {
        let enter = Time::from_ns(1_000_000 + 10_000 * round);
        for (rank, peer) in ranks.iter_mut().zip([1, 0]) {
            let call = message(Function::Sendrecv, (enter, enter + flight), peer, 8, Call::NO_REQUEST);
            let receive = Some(Matched { peer, tag: 1 });
            rank.push_with(Call { sent: 8, ..call }, Details { receive, ..Details::default() });
        }
    }
    Trace { ranks, communicators: vec![Communicator::world(2)], ..Trace::default() }
}

#[test]
fn flights_of_any_length_are_found_without_a_send_alone() {
    for nanoseconds in [50, 100, 300, 490, 510, 1_000, 20_000, 1_000_000] {
        let flight = Time::from_ns(nanoseconds);
        let fit = fit(&sendrecvs(flight)).unwrap();
        let link = fit.network.base;
        let found = link.flight() + link.recv_overhead;
        assert!(found.ps().abs_diff(flight.ps()) < flight.ps() / 20, "{nanoseconds}: {fit:?}");
    }
}

/// A large send waits 10 ms for its receiver, and a small message that came meanwhile is received after it.
#[test]
fn waiting_for_a_late_receiver_is_not_receiving() {
    let link = link();
    let mut trace = windows(&[1, 8 << 10, 256 << 10]);
    let mut now = trace.ranks[0].calls.last().unwrap().exit + Time::from_ns(1_000_000);
    let large = 1 << 20;
    for _ in 0..300 {
        let (posted, tick) = (now + Time::from_ns(10_000_000), Time::from_ns(100));
        let over = posted + link.flight() + link.recv_overhead + link.gap_per_byte.of_message(large);
        let [first, second] = &mut trace.ranks[..] else { unreachable!() };
        let small = (now + tick, now + tick + link.send_overhead);
        second.push(message(Function::Send, small, 0, 8, Call::NO_REQUEST));
        second.push(message(Function::Recv, (posted, over), 0, large, Call::NO_REQUEST));
        first.push(message(Function::Send, (now, over), 1, large, Call::NO_REQUEST));
        first.push(message(Function::Recv, (over, over + link.recv_overhead), 1, 8, Call::NO_REQUEST));
        now = over + Time::from_ns(100_000);
    }
    let found = fit(&trace).unwrap().network.base;
    assert!(found.recv_overhead < Time::from_ns(100_000), "{found:?}");
    assert!(found.latency < Time::from_ns(100_000), "{found:?}");
}

#[test]
fn few_large_messages_tell_what_bytes_take() {
    let sizes: Vec<u64> = (0..100).map(|round| if round % 50 == 49 { 64 << 20 } else { 8 }).collect();
    let found = fit(&windows(&sizes)).unwrap().network.base;
    assert!((found.gap_per_byte.picoseconds() / 250.0 - 1.0).abs() < 0.01, "{found:?}");
}
