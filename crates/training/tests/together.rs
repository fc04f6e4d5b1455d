//! Several causes at once: unequal lengths beside a worker that becomes slow, three faults that hide each other, and delays of a
//! single step.

use super::{answers, fault, job};
use straggler_training::exact::{Answers, Cause, CauseKind, Replays};
use straggler_training::synthetic::{Defect, Synthetic, mean_step};

fn of_kind(found: &Answers, kind: CauseKind) -> &Cause {
    let cause = found.causes.iter().find(|cause| cause.kind == kind);
    cause.unwrap_or_else(|| panic!("no {kind:?}: {:?}", found.causes))
}

/// Lengths are evened out before the worker became slow and after it separately, so both gains are those of jobs without them.
#[test]
fn lengths_are_told_from_a_worker_that_becomes_slow() {
    for seed in 1..=4 {
        let slow = vec![fault(1, 2, 40, Defect::Slow(1.4))];
        let even = Synthetic { jitter: 0.0, steps: 80, seed, ..Synthetic::default() };
        let of = Synthetic { lengths: 0.3, faults: slow.clone(), ..even.clone() };
        let found = answers(&job(&of));
        let left = |saved: f64| (found.replayed_seconds - saved) / mean_step(&even);
        let lengths = of_kind(&found, CauseKind::SequenceLengths);
        let only_slow = mean_step(&Synthetic { faults: slow, ..even.clone() }) / mean_step(&even);
        // The mean length of a worker varies by chance, by up to 5 %.
        let ratio = left(lengths.seconds) / only_slow;
        assert!((ratio - 1.0).abs() < 0.05, "{seed}: {ratio} {lengths:?}");
        let worker = of_kind(&found, CauseKind::Workers);
        let (_, both) = worker.with_others.unwrap_or_else(|| panic!("{seed}: {worker:?}"));
        assert!((left(both) - 1.0).abs() < 0.05, "{seed}: {worker:?}");
    }
}

/// Once the slow worker is gone, a late host and a slow link hide each other: removing one of them saves next to nothing.
#[test]
fn causes_behind_another_may_hide_each_other() {
    // In long jobs, a sample of the steps selects the causes.
    for steps in [20, 80] {
        let even = Synthetic { jitter: 0.0, steps, ..Synthetic::default() };
        let link = Defect::Link { times: 20.0, with: Some((2, 2)) };
        let faults = vec![
            fault(2, 1, steps / 4, Defect::Slow(1.6)),
            fault(2, 1, 0, link),
            fault(0, 1, 0, Defect::Stall(0.2)),
        ];
        let found = answers(&job(&Synthetic { faults, ..even.clone() }));
        assert_eq!((found.causes[0].kind, &found.causes[0].ranks[..]), (CauseKind::Workers, &[6][..]));
        for kind in [CauseKind::LaunchDelay, CauseKind::Communication] {
            let cause = of_kind(&found, kind);
            let (_, all) = cause.with_others.unwrap_or_else(|| panic!("{cause:?}"));
            let behind: Vec<&Cause> = cause.hidden_behind.iter().map(|&place| &found.causes[place]).collect();
            assert!(behind.len() == 2 && behind[0].kind == CauseKind::Workers, "{cause:?}");
            assert!(behind[1].with_others == cause.with_others && behind[1] != cause, "{cause:?}");
            let left = (found.replayed_seconds - all) / mean_step(&even);
            assert!((left - 1.0).abs() < 0.02, "{left} {cause:?}");
        }
    }
}

/// A host that is late once is late in that step, not from then on, and a late first step is no start-up as well.
#[test]
fn a_delay_of_one_step_is_told_as_such() {
    let of = Synthetic { dp: 4, pp: 1, jitter: 0.0, ..Synthetic::default() };
    for late in [0, 7] {
        let job = job(&of);
        let replays = Replays::new(&job).unwrap();
        let changed = replays.changed(|step, at| {
            let begins = at.worker == 3 && job.shape(step).begins(&job.kinds, at.place);
            (at.takes, at.delay + if step == late && begins { 2_000_000_000_000 } else { 0 })
        });
        let found = answers(&changed);
        let cause = of_kind(&found, CauseKind::LaunchDelay);
        assert_eq!(cause.ranks, [3], "{cause:?}");
        assert_eq!((cause.since_step, cause.until_step), (Some(late as i64), Some(late as i64)));
        assert!(found.causes.iter().all(|cause| cause.kind != CauseKind::StartUp), "{:?}", found.causes);
    }
}
