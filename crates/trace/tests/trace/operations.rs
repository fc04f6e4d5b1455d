//! What calls do, checked against cases worked out by hand.

use straggler_model::Time;
use straggler_trace::call::special;
use straggler_trace::operations::{Fate, Given, Kind, Operations};
use straggler_trace::{Call, CommId, Completed, Details, Function, Matched, RankTrace, Rare, RequestId};

fn call(function: Function, peer: i32, request: RequestId) -> Call {
    Call { comm: CommId(0), peer, tag: 3, request, ..Call::new(function, Time(0), Time(1)) }
}

fn plain(function: Function, peer: i32) -> Call {
    call(function, peer, Call::NO_REQUEST)
}

fn naming(requests: &[RequestId]) -> Details {
    Details { requests: requests.into(), found: true, ..Details::default() }
}

fn completed(request: RequestId, peer: Option<i32>, cancelled: bool) -> Completed {
    Completed { request, matched: peer.map(|peer| Matched { peer, tag: 3 }), cancelled }
}

fn rank(calls: Vec<(Call, Details)>) -> RankTrace {
    let mut rank = RankTrace::default();
    calls.into_iter().for_each(|(call, details)| rank.push_with(call, details));
    rank
}

fn fates(operations: &Operations<'_>) -> Vec<(u32, Fate, Option<u32>)> {
    operations.rows().iter().map(|row| (row.begun, row.fate, row.completed())).collect()
}

#[test]
fn waits_complete_what_they_say() {
    let any = special::ANY;
    let calls = rank(vec![
        (call(Function::Irecv, any, RequestId(0)), Details::default()),
        (call(Function::Irecv, any, RequestId(1)), Details::default()),
        (call(Function::Isend, 1, RequestId(2)), Details::default()),
        (
            plain(Function::Testall, 0),
            Details { found: false, ..naming(&[RequestId(0), RequestId(1), RequestId(2)]) },
        ),
        // In the order of completion, not of the list.
        (
            plain(Function::Waitsome, 0),
            Details {
                completed: vec![
                    completed(RequestId(2), None, false),
                    completed(RequestId(0), Some(7), false),
                ]
                .into(),
                ..naming(&[RequestId(0), RequestId(1), RequestId(2)])
            },
        ),
        // One is complete, one was cancelled, one was never made, and one is named twice.
        (
            plain(Function::Waitall, 0),
            Details {
                completed: vec![completed(RequestId(1), None, true)].into(),
                ..naming(&[RequestId(2), RequestId(1), RequestId(99), RequestId(1)])
            },
        ),
    ]);
    let operations = Operations::new(&calls);
    let done = [(0, Fate::Completed, Some(4)), (1, Fate::Cancelled, Some(5)), (2, Fate::Completed, Some(4))];
    assert_eq!(fates(&operations), done);
    assert_eq!(operations.rows()[0].source, Matched { peer: 7, tag: 3 });
    assert_eq!(operations.rows()[1].source.peer, any);
    let acted: Vec<_> = operations.walk().collect();
    let [one, two, three] = [0, 1, 2].map(Given::Operation);
    let given = |place: usize| acted[place].given().collect::<Vec<_>>();
    let finished = |place: usize| acted[place].finished().collect::<Vec<_>>();
    assert_eq!((given(3), finished(3)), (vec![one, two, three], vec![]));
    assert_eq!((given(4), finished(4)), (vec![one, two, three], vec![three, one]));
    assert_eq!(given(5), [Given::Over(2), two, Given::Unknown, Given::Over(1)]);
    assert!(acted[5].finishes_all() && finished(5) == given(5));
}

#[test]
fn persistent_requests_are_begun_again_and_again() {
    let calls = rank(vec![
        (call(Function::Send_init, 1, RequestId(0)), Details::default()),
        (call(Function::Recv_init, special::ANY, RequestId(1)), Details::default()),
        (call(Function::Startall, 0, RequestId(2)), naming(&[RequestId(0), RequestId(1), RequestId(50)])),
        (
            plain(Function::Waitall, 0),
            Details {
                completed: vec![completed(RequestId(3), Some(4), false)].into(),
                ..naming(&[RequestId(2), RequestId(3)])
            },
        ),
        // Some traces name the persistent request instead of the started one, or give no new number.
        (call(Function::Start, 0, RequestId(5)), naming(&[RequestId(0)])),
        (plain(Function::Wait, 0), naming(&[RequestId(0)])),
        (plain(Function::Start, 0), naming(&[RequestId(0)])),
        (plain(Function::Request_free, 0), naming(&[RequestId(0)])),
        (plain(Function::Wait, 0), naming(&[RequestId(1)])),
    ]);
    let operations = Operations::new(&calls);
    let rows: Vec<_> = operations.rows().iter().map(|row| (row.kind, row.described, row.begun)).collect();
    let expected = [(Kind::Send, 0, 2), (Kind::Receive, 1, 2), (Kind::Other, 2, 2), (Kind::Send, 0, 4)];
    assert_eq!(rows, [&expected[..], &[(Kind::Send, 0, 6)]].concat());
    let ends: Vec<_> = fates(&operations).into_iter().map(|(_, fate, by)| (fate, by)).collect();
    let waited = (Fate::Completed, Some(3));
    assert_eq!(ends[..3], [waited, waited, (Fate::Open, None)]);
    assert_eq!(ends[3..], [(Fate::Completed, Some(5)), (Fate::Freed, None)]);
    assert_eq!(operations.rows()[1].source.peer, 4);
    let given: Vec<Vec<Given>> = operations.walk().map(|acted| acted.given().collect()).collect();
    assert_eq!(given[2], [Given::Operation(0), Given::Operation(1), Given::Unknown]);
    assert_eq!((&given[5][..], &given[8][..]), (&[Given::Operation(3)][..], &[Given::Idle][..]));
}

#[test]
fn receives_take_what_probes_found() {
    let found = |message| Details {
        matched: Some(Matched { peer: 5, tag: 3 }),
        found: true,
        rare: Rare { message, ..Rare::default() }.into(),
        ..Details::default()
    };
    let nobody = Call { comm: CommId(u32::MAX), tag: special::NONE, ..plain(Function::Mrecv, special::NONE) };
    let kept = |message| Details::from(Rare { message: Some(message), ..Rare::default() });
    let calls = rank(vec![
        (plain(Function::Probe, special::ANY), found(None)),
        (plain(Function::Recv, 5), Details::default()),
        (plain(Function::Mprobe, special::ANY), found(Some(8))),
        (plain(Function::Mprobe, special::ANY), found(Some(9))),
        // The message of the probe before the last one.
        (nobody, kept(8)),
        (plain(Function::Iprobe, special::ANY), found(None)),
        // From another rank.
        (plain(Function::Recv, 6), Details::default()),
    ]);
    let operations = Operations::new(&calls);
    let rows: Vec<_> =
        operations.rows().iter().map(|row| (row.begun, row.probe(), row.just_probed)).collect();
    assert_eq!(rows, [(1, Some(0), true), (4, Some(2), false), (6, None, false)]);
    let taken = &operations.rows()[1];
    assert_eq!(
        (taken.source.peer, operations.comm(taken), operations.posted(taken)),
        (5, Some(CommId(0)), 2)
    );
    assert_eq!(operations.kept(), [3]);
    assert_eq!([0, 2, 5].map(|probe| operations.received_after(probe)), [Some(0), None, None]);
}
