//! What begins at a step, what hides behind something else, and what cannot be told.

use straggler_training::exact::{Answers, Cause, CauseKind, Replays, analyse};
use straggler_training::synthetic::{Fault, Synthetic, What, rows};
use straggler_training::{Row, derive};

fn answers_of(rows: Vec<Row>) -> Answers {
    let job = derive::job(rows, "synthetic").unwrap();
    analyse(&Replays::new(&job).unwrap(), None)
}

fn answers(of: &Synthetic) -> Answers {
    answers_of(rows(of))
}

fn first(found: &Answers) -> &Cause {
    found.causes.first().unwrap_or_else(|| panic!("no cause: {found:?}"))
}

fn fault(dp_rank: u32, stage: u32, from_step: u32, what: What) -> Fault {
    Fault { dp_rank, stage, from_step, what }
}

/// Without sends and receives, the bubble of the pipeline is no delay of the host, and slow workers are still found.
#[test]
fn stages_without_transfers_are_not_put_down_to_the_host() {
    let of = Synthetic { dp: 4, pp: 4, steps: 12, ..Synthetic::default() };
    let without = |of: &Synthetic| -> Vec<Row> {
        rows(of).into_iter().filter(|row| !row.kind.is_send_or_recv()).collect()
    };
    let told = "there are 4 stages but no sends or receives";
    let healthy = answers_of(without(&of));
    assert!(healthy.notes.iter().any(|note| note.starts_with(told)), "{:?}", healthy.notes);
    assert!(healthy.causes.iter().all(|cause| cause.kind != CauseKind::LaunchDelay), "{:?}", healthy.causes);
    assert!(healthy.s < 1.05 && healthy.replay_error.abs() < 0.01, "{healthy:?}");
    let slow = Synthetic { faults: vec![fault(2, 1, 5, What::Slow(1.5))], ..of };
    let found = answers_of(without(&slow));
    let cause = first(&found);
    assert_eq!((cause.kind, &cause.ranks[..], cause.since_step), (CauseKind::Workers, &[6][..], Some(5)));
    // As much as is won where transfers were recorded.
    let with = answers(&slow);
    assert!((cause.gain - first(&with).gain).abs() < 0.01, "{cause:?} {:?}", first(&with));
}
