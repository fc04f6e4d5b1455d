//! Critical paths with known answers, and properties of all paths.

use super::causes::shifted;
use super::{at, call, of_calls, recv, rings, send, trace};
use crate::waits::{Activities, CriticalPath, PathActivity, Regions, Stretch, WaitStates};
use proptest::prelude::*;
use straggler_model::Time;
use straggler_trace::{Function, Trace};

fn path(trace: &Trace) -> CriticalPath {
    let states = WaitStates::new(trace);
    CriticalPath::new(trace, &states, &Activities::new(trace, &states, &Regions::new(trace)))
}

/// Rank 0 computes until 50; rank 1 waits for it, computes until 90, and rank 0 waits for rank 1.
#[test]
fn the_path_goes_to_whom_a_rank_waited_for() {
    let ranks = vec![
        of_calls([call(Function::Init, 0, 1, -1), send(50, 52, 1), recv(53, 95, 1)]),
        of_calls([call(Function::Init, 0, 2, -1), recv(10, 53, 0), send(90, 91, 0)]),
    ];
    let path = path(&trace(ranks));
    let stretch = |rank, start, end| Stretch { rank, start: at(start), end: at(end) };
    assert_eq!(path.stretches, [stretch(0, 0, 50), stretch(1, 50, 90), stretch(0, 90, 95)]);
    assert_eq!(path.ranks(), [(0, at(55)), (1, at(40))]);
    let told: Vec<(String, Time)> =
        path.activities.iter().map(|one| (one.activity.to_string(), one.time)).collect();
    let expected = [
        ("computation from MPI_Init to MPI_Send", 49),
        ("computation from MPI_Recv to MPI_Send", 37),
        ("MPI_Recv", 8),
        ("MPI_Init", 1),
    ];
    assert_eq!(told, expected.map(|(name, time)| (name.to_owned(), at(time))));
    // One of the two ranks does it.
    let PathActivity { mean, .. } = path.activities[0];
    assert!((mean - 24.5e-6).abs() < 1e-12, "{mean}");
    assert!((path.activities[0].imbalance() - 24.5e-6).abs() < 1e-12);
}

#[test]
fn who_comes_last_to_the_end_decides() {
    let rank =
        |enter, exit| of_calls([call(Function::Init, 0, 1, -1), call(Function::Finalize, enter, exit, -1)]);
    let path = path(&trace(vec![rank(10, 101), rank(90, 100)]));
    assert_eq!(path.stretches, [Stretch { rank: 1, start: at(0), end: at(101) }]);
    assert_eq!(path.parts.iter().map(|part| part.time).collect::<Vec<_>>(), [at(89), at(11), at(1)]);
}

#[test]
fn an_empty_trace_has_none() {
    assert_eq!(path(&Trace::default()), CriticalPath::default());
}

proptest! {
    /// The parts add up to the run, its stretches follow each other, and it never waits.
    #[test]
    fn parts_add_up_to_the_run(trace in rings(), shift in prop::collection::vec(0u64..30, 6)) {
        for trace in [shifted(&trace, &shift), trace] {
            let path = path(&trace);
            let sum = |times: &mut dyn Iterator<Item = Time>| times.fold(Time::ZERO, |sum, time| sum + time);
            prop_assert_eq!(path.length, trace.length());
            prop_assert_eq!(sum(&mut path.parts.iter().map(|part| part.time)), path.length);
            prop_assert_eq!(sum(&mut path.activities.iter().map(|one| one.time)), path.length);
            prop_assert_eq!(sum(&mut path.ranks().into_iter().map(|(_, time)| time)), path.length);
            prop_assert!(path.stretches.windows(2).all(|two| two[0].end == two[1].start));
        }
    }

    /// If clocks agree, it never waits: on each rank it takes no longer than the activities of the rank.
    #[test]
    fn the_path_does_not_wait(trace in rings()) {
        let states = WaitStates::new(&trace);
        for stretch in path(&trace).stretches {
            for wait in states.waits.iter().filter(|wait| wait.cause.is_some() && wait.place.rank == stretch.rank) {
                let enter = trace.call(wait.place).unwrap().enter;
                prop_assert!(stretch.end <= enter || stretch.start >= enter + wait.time, "{stretch:?} {wait:?}");
            }
        }
    }
}
