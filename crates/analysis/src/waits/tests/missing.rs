//! Traces in which calls of a rank are missing.

use super::{at, call, collective, of_calls, recv, send, trace, unanalysed, wait};
use crate::waits::{Explanation, Missing, MissingRank, WaitStates};
use straggler_trace::messages::CallPlace;
use straggler_trace::{Call, Function, RankTrace, RequestId, Trace};

/// Rank and activity of the largest root cause.
fn first_cause(trace: &Trace) -> (u32, String) {
    let found = Explanation::new(trace, &WaitStates::new(trace)).causes.swap_remove(0);
    (found.rank, found.activity.to_string())
}

fn finalize(when: u64) -> Call {
    call(Function::Finalize, when, when, 0)
}

/// Rank 2 waits for rank 0, which waited for rank 1.
fn chain(of_rank_1: Vec<Call>) -> Trace {
    trace(vec![
        of_calls([recv(10, 12, 1), recv(20, 400, 1), send(400, 401, 2), finalize(410)]),
        of_calls(of_rank_1),
        of_calls([recv(30, 401, 0), finalize(410)]),
    ])
}

#[test]
fn nobody_is_blamed_for_waiting_for_calls_that_are_missing() {
    let whole = chain(vec![send(9, 10, 0), send(395, 396, 0), finalize(410)]);
    assert_eq!(Missing::new(&whole), Missing::default());
    assert_eq!(first_cause(&whole), (1, "computation from MPI_Send to MPI_Send".into()));
    let cases = [(vec![send(9, 10, 0)], Some(at(1))), (Vec::new(), None)];
    for (calls, end) in cases {
        let cut = chain(calls);
        let missing = Missing::new(&cut);
        assert_eq!(missing.ranks, [MissingRank { rank: 1, end }]);
        assert!(missing.share() > 0.99, "{missing:?}");
        assert!(
            missing.holds(CallPlace { rank: 0, call: 1 }) && !missing.holds(CallPlace { rank: 2, call: 0 })
        );
        assert_eq!(first_cause(&cut), (0, "MPI_Recv, whose partner is missing".into()));
        // How long it waited is unknown.
        let listed = unanalysed(&cut, &missing);
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert!(listed[0].0 == Function::Recv && listed[0].1.time >= at(380), "{listed:?}");
    }
}

/// The third of three barriers on a rank that was cut before it, and a request that its partner never answers.
#[test]
fn collectives_and_requests_lack_partners_too() {
    let barriers = |ends: &[u64]| -> Vec<Call> {
        ends.iter().map(|&end| collective(Function::Barrier, end - 50, end, -1)).collect()
    };
    let rank = |ends: &[u64]| of_calls(barriers(ends).into_iter().chain([finalize(999)]));
    let cut = trace(vec![rank(&[100, 200, 900]), of_calls(barriers(&[100, 200])), rank(&[100, 200, 900])]);
    let missing = Missing::new(&cut);
    assert_eq!(missing.ranks, [MissingRank { rank: 1, end: Some(at(150)) }]);
    let held = |call| [0, 2].map(|rank| missing.holds(CallPlace { rank, call }));
    assert_eq!((held(1), held(2)), ([false, false], [true, true]));
    let mut receiver = RankTrace::default();
    receiver.push(Call { received: 8, request: RequestId(0), ..call(Function::Irecv, 0, 1, 1) });
    wait(&mut receiver, 10, 500, vec![RequestId(0)]);
    receiver.push(finalize(500));
    let missing = Missing::new(&trace(vec![receiver, of_calls([])]));
    assert!(missing.holds(CallPlace { rank: 0, call: 1 }));
}

/// A process that is killed loses its last calls, and in some formats no rank calls MPI_Finalize.
#[test]
fn little_is_not_listed() {
    let few = |sends: u64| {
        let all = (0..200).map(|nth| recv(10 * nth, 10 * nth + 8, 1));
        trace(vec![of_calls(all), of_calls((0..sends).map(|nth| send(10 * nth, 10 * nth + 2, 0)))])
    };
    assert_eq!(Missing::new(&few(200)).ranks, []);
    let missing = Missing::new(&few(199));
    assert!(missing.ranks.is_empty() && missing.holds(CallPlace { rank: 0, call: 199 }));
    assert_eq!(Missing::new(&few(100)).ranks, [MissingRank { rank: 1, end: Some(at(992)) }]);
}
