use super::*;
use proptest::prelude::*;

const WORKER: i32 = 100;
const LOC: Activity<'static> = Activity::Vector(b"local_timer");
const RES: Activity<'static> = Activity::Vector(b"reschedule");
const TIMER: Activity<'static> = Activity::Softirq(b"TIMER");
const NET: Activity<'static> = Activity::Softirq(b"NET_RX");

fn event(at: u64, thread: i32, what: FtraceKind<'static>) -> Event<'static> {
    Event { at, core: 0, thread, name: b"", what }
}

fn switch(at: u64, from: i32, from_runnable: bool, to: i32, name: &'static str) -> Event<'static> {
    event(at, from, FtraceKind::Switch { from, from_runnable, to, name: name.as_bytes() })
}

/// Spans with their names as text.
fn spans(events: &[Event<'_>]) -> Vec<(u64, u64, String)> {
    let mut names = Names::default();
    let found = resolve(events, Some(WORKER), 1.0, &mut names);
    named(&found, &names)
}

fn named(found: &CoreSpans, names: &Names) -> Vec<(u64, u64, String)> {
    let name = |span: &Span| names.list()[span.name as usize].clone();
    found.spans.iter().map(|span| (span.start, span.end, name(span))).collect()
}

fn expect(list: &[(u64, u64, &str)]) -> Vec<(u64, u64, String)> {
    list.iter().map(|&(start, end, name)| (start, end, name.into())).collect()
}

#[test]
fn the_innermost_has_the_core() {
    let events = [
        event(10, WORKER, FtraceKind::Enter(LOC)),
        event(15, WORKER, FtraceKind::Leave(LOC)),
        event(16, WORKER, FtraceKind::Enter(TIMER)),
        event(18, WORKER, FtraceKind::Enter(RES)),
        event(19, WORKER, FtraceKind::Leave(RES)),
        event(30, WORKER, FtraceKind::Leave(TIMER)),
        switch(32, WORKER, true, 7, "kworker/0:1"),
        event(40, 7, FtraceKind::Enter(LOC)),
        event(44, 7, FtraceKind::Leave(LOC)),
        switch(50, 7, false, 8, "sshd"),
        event(60, 8, FtraceKind::PageFault),
        switch(70, 8, false, WORKER, "straggler"),
        event(80, WORKER, FtraceKind::PageFault),
    ];
    let expected = [
        (10, 15, "timer tick"),
        (16, 18, "softirq TIMER"),
        (18, 19, "reschedule interrupt"),
        (19, 30, "softirq TIMER"),
        (32, 40, "kworker"),
        (40, 44, "timer tick"),
        (44, 50, "kworker"),
        (50, 70, "sshd"),
    ];
    assert_eq!(spans(&events), expect(&expected));
    let found = resolve(&events, Some(WORKER), 1.0, &mut Names::default());
    assert_eq!(found.faults, [80]);
}

#[test]
fn an_idle_core_tells_why() {
    let throttled = [switch(5, WORKER, true, 0, "swapper/0"), switch(9, 0, true, WORKER, "w")];
    assert_eq!(spans(&throttled), expect(&[(5, 9, names::QUOTA)]));
    let asleep = [switch(5, WORKER, false, 0, "swapper/0"), switch(9, 0, true, WORKER, "w")];
    assert_eq!(spans(&asleep), expect(&[(5, 9, names::ASLEEP)]));
}

#[test]
fn an_nmi_is_told_at_its_end() {
    let took = FtraceKind::Took { activity: Activity::Nmi, start: None, nanoseconds: 4 };
    let events = [
        event(10, WORKER, FtraceKind::Enter(LOC)),
        event(20, WORKER, took),
        event(22, WORKER, FtraceKind::Leave(LOC)),
    ];
    let expected = [(10, 16, "timer tick"), (16, 20, "NMI"), (20, 22, "timer tick")];
    assert_eq!(spans(&events), expect(&expected));
}

/// A softirq whose thread loses the core goes on when the thread is back.
#[test]
fn softirqs_are_suspended_with_their_thread() {
    let events = [
        switch(1, WORKER, true, 7, "ksoftirqd/0"),
        event(2, 7, FtraceKind::Enter(NET)),
        switch(4, 7, true, WORKER, "w"),
        switch(8, WORKER, true, 7, "ksoftirqd/0"),
        event(9, 7, FtraceKind::Leave(NET)),
        switch(11, 7, false, WORKER, "w"),
    ];
    let expected =
        [(1, 2, "ksoftirqd"), (2, 4, "softirq NET_RX"), (8, 9, "softirq NET_RX"), (9, 11, "ksoftirqd")];
    assert_eq!(spans(&events), expect(&expected));
}

#[test]
fn lost_beginnings_ends_and_switches_do_no_harm() {
    let events = [
        event(3, WORKER, FtraceKind::Leave(LOC)),
        event(5, WORKER, FtraceKind::Enter(LOC)),
        event(9, WORKER, FtraceKind::Enter(LOC)),
        event(11, WORKER, FtraceKind::Leave(LOC)),
        // A thread runs without a switch to it, and its name is unknown.
        event(20, 8, FtraceKind::Enter(RES)),
        event(21, 8, FtraceKind::Leave(RES)),
        switch(30, 8, false, WORKER, "w"),
        event(25, WORKER, FtraceKind::Enter(LOC)),
    ];
    let expected = [(5, 11, "timer tick"), (20, 21, "reschedule interrupt")];
    assert_eq!(spans(&events), expect(&expected));
}

#[test]
fn a_thread_that_nobody_switched_to_is_called_as_at_its_events() {
    let named = |at, thread, name, what| Event { name, ..event(at, thread, what) };
    let events = [
        switch(1, WORKER, false, 0, "swapper/1"),
        named(4, 0, b"<idle>", FtraceKind::Enter(RES)),
        named(5, 0, b"<idle>", FtraceKind::Leave(RES)),
        named(7, 8, b"make", FtraceKind::PageFault),
        named(12, 8, b"other", FtraceKind::PageFault),
        switch(20, 8, false, 0, "swapper/1"),
    ];
    let asleep = names::ASLEEP;
    let expected = [(1, 4, asleep), (4, 5, "reschedule interrupt"), (5, 7, asleep), (7, 20, "make")];
    assert_eq!(spans(&events), expect(&expected));
}

#[test]
fn net_durations_are_laid_back_around_what_interrupted() {
    let took =
        |at, activity, nanoseconds| event(at, 0, FtraceKind::Took { activity, start: None, nanoseconds });
    let thread = |thread, name: &'static str| Activity::Thread { thread, name: name.as_bytes() };
    let events = [
        took(30, thread(WORKER, "w"), 20),
        took(44, LOC, 4),
        took(46, TIMER, 1),
        took(60, thread(7, "kworker/0:1"), 25),
        took(70, thread(8, "sshd"), 10),
    ];
    let mut names = Names::default();
    let found = resolve_net(&events, Some(WORKER), 1.0, &mut names);
    let expected = [
        (30, 40, "kworker"),
        (40, 44, "timer tick"),
        (44, 45, "kworker"),
        (45, 46, "softirq TIMER"),
        (46, 60, "kworker"),
        (60, 70, "sshd"),
    ];
    assert_eq!(named(&found, &names), expect(&expected));
}

/// Any event that can happen on a core, at any time.
fn any_event() -> impl Strategy<Value = (u64, FtraceKind<'static>)> {
    let activity = prop::sample::select(vec![LOC, RES, TIMER, NET]);
    let threads = || prop::sample::select(vec![WORKER, 7, 8, 0]);
    let what = prop_oneof![
        activity.clone().prop_map(FtraceKind::Enter),
        activity.clone().prop_map(FtraceKind::Leave),
        (activity, 0..20u64).prop_map(|(activity, nanoseconds)| FtraceKind::Took {
            activity,
            start: None,
            nanoseconds
        }),
        (threads(), any::<bool>(), threads()).prop_map(|(from, from_runnable, to)| FtraceKind::Switch {
            from,
            from_runnable,
            to,
            name: b"name"
        }),
    ];
    (0..1000u64, what)
}

/// The result by definition: for every unit of time, who has the core? Only for events that are in order and
/// nest.
fn by_units(nested: &[(u64, u64)], length: u64) -> Vec<Option<usize>> {
    (0..length)
        .map(|unit| {
            let open = nested.iter().enumerate().filter(|(_, span)| span.0 <= unit && unit < span.1);
            open.min_by_key(|(_, span)| span.1 - span.0).map(|(index, _)| index)
        })
        .collect()
}

/// Properly nested intervals: each is cut out of a free part of the one before.
fn nested() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..4usize, 1..40u64, 1..40u64), 1..5).prop_map(|shapes| {
        let mut list: Vec<(u64, u64)> = vec![(0, 400)];
        for (parent, skip, length) in shapes {
            let (start, end) = list[parent.min(list.len() - 1)];
            let child = (start + skip, start + skip + length);
            let apart = |other: &(u64, u64)| {
                let inside = other.0 < child.0 && child.1 < other.1;
                inside || other.1 < child.0 || child.1 < other.0
            };
            if child.1 < end && list.iter().all(apart) {
                list.push(child);
            }
        }
        list
    })
}

proptest! {
    /// For any input, spans do not overlap and lie within the observed time.
    #[test]
    fn spans_never_overlap(mut events in prop::collection::vec(any_event(), 0..60), sorted in any::<bool>()) {
        if sorted {
            events.sort_by_key(|event| event.0);
        }
        let events: Vec<_> = events.into_iter().map(|(at, what)| event(at, WORKER, what)).collect();
        let latest = events.iter().map(|event| event.at).max().unwrap_or(0);
        for how in [resolve, resolve_net] {
            let found = how(&events, Some(WORKER), 1.0, &mut Names::default()).spans;
            prop_assert!(found.iter().all(|span| span.start < span.end && span.end <= latest));
            prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start), "{found:?}");
        }
    }

    /// The stack and the net durations both agree with the definition, unit by unit; so the net times add up
    /// to the union.
    #[test]
    fn both_ways_agree_with_the_definition(nested in nested()) {
        let activities = [LOC, RES, TIMER, NET, Activity::Vector(b"irq_work"), Activity::Nmi];
        let mut entered: Vec<_> = Vec::new();
        let mut ended: Vec<_> = Vec::new();
        let owners = by_units(&nested, 500);
        for (index, &(start, end)) in nested.iter().enumerate() {
            entered.push(event(start, WORKER, FtraceKind::Enter(activities[index])));
            entered.push(event(end, WORKER, FtraceKind::Leave(activities[index])));
            let nanoseconds = owners.iter().filter(|&&owner| owner == Some(index)).count() as u64;
            let took = FtraceKind::Took { activity: activities[index], start: None, nanoseconds };
            ended.push(event(end, WORKER, took));
        }
        entered.sort_by_key(|event| event.at);
        ended.sort_by_key(|event| event.at);
        let mut names = Names::default();
        let number = |name: u32, names: &Names| {
            let named = |activity: &Activity<'_>| names::activity(activity) == names.list()[name as usize];
            activities.iter().position(named)
        };
        for found in [
            resolve(&entered, Some(WORKER), 1.0, &mut names).spans,
            resolve_net(&ended, Some(WORKER), 1.0, &mut names).spans,
        ] {
            let mut units = vec![None; 500];
            for span in &found {
                let owner = number(span.name, &names);
                units[span.start as usize..span.end as usize].fill(owner);
            }
            prop_assert_eq!(&units, &owners);
        }
    }
}
