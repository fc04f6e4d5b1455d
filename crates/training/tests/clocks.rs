//! Tables whose clocks are off.

use super::{answers, answers_of_rows};
use straggler_training::exact::{Answers, CauseKind, Distrust};
use straggler_training::synthetic::{Defect, Fault, Synthetic, rows};
use straggler_training::{Kind, Row};

fn synthetic() -> Synthetic {
    let slow = Fault { dp_rank: 2, stage: 1, from_step: 0, what: Defect::Slow(1.5) };
    Synthetic { steps: 8, faults: vec![slow], ..Synthetic::default() }
}

/// Offsets of up to a minute, as large as many steps.
#[test]
fn clocks_that_are_off_are_aligned() {
    let good = rows(&synthetic());
    let expected = answers_of_rows(good.clone());
    let mut shifted = good;
    for row in &mut shifted {
        row.start +=
            [0.0, 3.0, -0.5, 0.02][row.dp_rank as usize] + [0.0, 0.25, -60.0, 0.0][row.stage as usize];
    }
    let found = answers_of_rows(shifted);
    let note = found.notes.iter().find(|note| note.starts_with("Clocks were aligned")).unwrap();
    assert!(note.contains("the largest offset is -60."), "{note}");
    assert!((found.s - expected.s).abs() < 0.01, "{} instead of {}", found.s, expected.s);
    assert!((found.step_seconds - expected.step_seconds).abs() < 0.01 * expected.step_seconds, "{found:?}");
    assert!(found.early_end_seconds < 1e-3, "{}", found.early_end_seconds);
    let first = &found.causes[0];
    assert_eq!((first.kind, &first.ranks[..]), (CauseKind::Workers, &[6][..]), "{first:?}");
}

/// Offsets that are shorter than a collective contradict nothing, but the ends of the collectives show them.
#[test]
fn offsets_shorter_than_a_collective_are_corrected() {
    let slow = Fault { dp_rank: 5, stage: 0, from_step: 0, what: Defect::Slow(1.05) };
    let of = Synthetic {
        dp: 16,
        pp: 1,
        microbatches: 4,
        gradients: 0.2,
        faults: vec![slow],
        ..Synthetic::default()
    };
    let good = rows(&of);
    let expected = answers_of_rows(good.clone());
    assert_eq!(expected.causes[0].ranks, [5], "{:?}", expected.causes);
    let mut shifted = good;
    for row in &mut shifted {
        row.start += 0.04 * f64::from((row.dp_rank * 7 + 3) % 16) / 15.0;
    }
    let found = answers_of_rows(shifted);
    assert!(found.notes[0].starts_with("Clocks were aligned on the ends"), "{:?}", found.notes);
    let known = |of: &Answers| -> Vec<(CauseKind, Vec<u32>)> {
        of.causes.iter().map(|cause| (cause.kind, cause.ranks.clone())).collect()
    };
    assert_eq!(known(&found), known(&expected));
    let gain = (found.causes[0].gain, expected.causes[0].gain);
    assert!((gain.0 - gain.1).abs() < 0.002, "{gain:?}");
}

/// A worker whose transfers end late, or that is late itself, has a good clock.
#[test]
fn clocks_that_are_good_are_left_alone() {
    for what in [Defect::Slow(3.0), Defect::Link { times: 200.0, with: None }, Defect::Stall(2.0)] {
        let fault = Fault { dp_rank: 2, stage: 1, from_step: 0, what };
        let found = answers_of_rows(rows(&Synthetic { faults: vec![fault], ..synthetic() }));
        assert!(found.notes.is_empty(), "{what:?}: {:?}", found.notes);
    }
}

/// Sends that return at once, long before their receives are posted, contradict nothing. A receive that ends before its send
/// begins does.
#[test]
fn a_send_may_end_before_its_receive_begins() {
    let mut all = rows(&Synthetic { transfer: 0.005, ..synthetic() });
    for row in &mut all {
        match row.kind {
            Kind::ForwardSend | Kind::BackwardSend => row.duration = 0.0001,
            Kind::ForwardRecv | Kind::BackwardRecv => {
                let end = row.start + row.duration;
                (row.start, row.duration) = (end - 0.001, 0.001);
            }
            _ => {}
        }
    }
    let found = answers_of_rows(all.clone());
    assert!(found.notes.is_empty() && found.early_ends == 0, "{:?} {}", found.notes, found.early_ends);
    assert!(found.replay_error.abs() < 0.02, "{}", found.replay_error);
    assert_eq!(found.causes[0].ranks, [6], "{:?}", found.causes[0]);
    all.iter_mut().filter(|row| row.stage == 1).for_each(|row| row.start += 0.2);
    assert!(answers_of_rows(all).notes[0].starts_with("Clocks were aligned"));
}

/// The public jobs, if available: their clocks are good, and their answers are those of the guide.
#[test]
fn public_jobs_keep_their_answers() {
    let Some(folder) = super::public_jobs::folder() else { return };
    for (name, s) in [("AR", 2.140), ("SE", 1.540), ("ST", 1.191)] {
        let path = std::path::Path::new(&folder).join(format!("trace-{name}.parquet"));
        let job = straggler_training::read_table(&path).unwrap().job(name).unwrap();
        let found = answers(&job);
        assert!((found.s - s).abs() < 0.0005, "{name}: {}", found.s);
        assert!(found.notes.is_empty(), "{:?}", found.notes);
    }
}

fn assert_like(found: &Answers, expected: &Answers) {
    assert!((found.s - expected.s).abs() < 0.01, "{} instead of {}", found.s, expected.s);
    assert!(found.early_end_seconds < 1e-3, "{}", found.early_end_seconds);
    let first = &found.causes[0];
    assert_eq!((first.kind, &first.ranks[..]), (CauseKind::Workers, &[6][..]), "{first:?}");
}

/// A clock jumps between steps, permanently or for one step: rank and step are named, and the parts are aligned
/// separately.
#[test]
fn clocks_that_jump_are_named_and_aligned() {
    let good = rows(&synthetic());
    let expected = answers_of_rows(good.clone());
    for (from, until, jumps) in [(5, 8, vec![5]), (2, 8, vec![2]), (3, 4, vec![3, 4])] {
        let mut all = good.clone();
        let jumped = |row: &&mut Row| row.rank == 5 && (from..until).contains(&row.step);
        all.iter_mut().filter(jumped).for_each(|row| row.start += 2.0);
        let found = answers_of_rows(all);
        let note =
            found.notes.iter().find(|note| note.starts_with("Clocks jump during the recording: ")).unwrap();
        let named: Vec<&str> = note.split("rank ").skip(1).collect();
        assert_eq!(named.len(), jumps.len(), "{note}");
        for (named, step) in named.iter().zip(jumps) {
            assert!(named.starts_with("5 by ") && named.contains("2000."), "{note}");
            assert!(named.contains(&format!(" ms at step {step}")), "{note}");
        }
        assert_eq!(found.steps, 8);
        assert_like(&found, &expected);
    }
}

/// A clock that moves back and forth in every step is not said to jump: it may belong to another job.
#[test]
fn a_clock_that_moves_in_every_step_is_not_said_to_jump() {
    let mut all = rows(&synthetic());
    let moved = |row: &&mut Row| row.rank == 5 && row.step % 2 == 1;
    all.iter_mut().filter(moved).for_each(|row| row.start += 2.0);
    let found = answers_of_rows(all);
    assert!(found.notes.iter().all(|note| !note.contains("jump")), "{:?}", found.notes);
    let told = "The clock of rank 5 drifts relative to the others in 7 of 8 steps";
    assert!(found.notes.iter().any(|note| note.starts_with(told)), "{:?}", found.notes);
}

/// Ends of collectives differ by a millisecond or so; only the clock that has jumped is named, whichever it is.
#[test]
fn clocks_that_do_not_jump_are_not_named() {
    for (dp, pp) in [(4, 2), (2, 1), (4, 1)] {
        let slow = Fault { dp_rank: 1, stage: pp - 1, from_step: 5, what: Defect::Slow(1.4) };
        let good = rows(&Synthetic { dp, pp, faults: vec![slow], ..Synthetic::default() });
        for rank in [0, 1, dp * pp - 1] {
            let mut all = good.clone();
            all.iter_mut().filter(|row| row.rank == rank && row.step >= 9).for_each(|row| row.start += 3.0);
            let found = answers_of_rows(all);
            let note = found.notes.iter().find(|note| note.starts_with("Clocks jump")).unwrap();
            // Of two clocks, either may have jumped.
            let expected = if dp * pp == 2 { "rank " } else { &format!("rank {rank} by ") };
            let named: Vec<&str> = note.matches("rank ").collect();
            assert!(note.contains(expected) && named.len() == 1, "{dp} x {pp}, rank {rank}: {note}");
            assert!(note.contains("at step 9."), "{note}");
        }
    }
}

/// A clock jumps within a step: that step is left out, and the rest is aligned.
#[test]
fn a_step_with_a_jump_within_is_left_out() {
    let good = rows(&synthetic());
    let expected = answers_of_rows(good.clone());
    let mut all = good;
    let is_late = |row: &&mut Row| row.rank == 5 && (row.step > 4 || row.step == 4 && row.start > 1.0);
    all.iter_mut().filter(is_late).for_each(|row| row.start += 2.0);
    let found = answers_of_rows(all);
    let left_out = "left out, because a clock jumps within them: step 4 (rank 5)";
    assert!(found.notes.iter().any(|note| note == left_out), "{:?}", found.notes);
    assert!(
        found.notes.iter().any(|note| note.contains("rank 5 by 2000.0 ms at step 5")),
        "{:?}",
        found.notes
    );
    assert!(!found.by_step.contains_key(&4) && (found.steps, found.steps_left_out) == (7, 1));
    assert_like(&found, &expected);
}

/// No cause is given if clocks contradict each other in all steps.
#[test]
fn there_are_no_causes_without_a_verdict() {
    let mut all = rows(&synthetic());
    let is_late = |row: &&mut Row| row.rank == 5 && row.start > 0.4 * (1.0 + row.step as f64 / 10.0);
    all.iter_mut().filter(is_late).for_each(|row| row.start += 2.0);
    let found = answers_of_rows(all);
    assert!(
        found.distrust == Some(Distrust::Clocks) && found.causes.is_empty(),
        "{} {:?}",
        found.early_end_seconds,
        found.causes
    );
}

/// Some ranks of one job and some of another: no clock is said to jump, and the named ranks come from both jobs.
#[test]
fn ranks_of_two_jobs_are_no_jumps() {
    let one = rows(&Synthetic { steps: 12, ..Synthetic::default() });
    let other = rows(&Synthetic { steps: 12, seed: 9, forward: 0.13, ..Synthetic::default() });
    for moves in [0.0, 3.3] {
        let mut all: Vec<Row> = one.iter().filter(|row| row.dp_rank < 2).copied().collect();
        let late = |row: &Row| Row { start: row.start + moves * row.step as f64, ..*row };
        all.extend(other.iter().filter(|row| row.dp_rank >= 2).map(late));
        let found = answers_of_rows(all);
        assert_eq!((found.notes.len(), found.causes.len()), (1, 0), "{:?}", found.notes);
        let note = &found.notes[0];
        assert!(note.starts_with("The times of ranks contradict each other in 1"), "{note}");
        assert!(note.ends_with("Are these ranks of two jobs?"), "{note}");
        let rank = |after: &str| note.split_once(after).unwrap().1.split(' ').next().unwrap().parse::<u32>();
        let ranks = [rank(", rank ").unwrap() % 4, rank("before rank ").unwrap() % 4];
        assert!(ranks[0] < 2 && ranks[1] >= 2, "{note}");
    }
}

/// The first stages of one job and the last of another, which takes longer: messages arrive before they are sent.
#[test]
fn stages_of_two_jobs_are_no_jumps() {
    let one = rows(&Synthetic { steps: 12, ..Synthetic::default() });
    for (seed, forward) in [(9, 0.13), (3, 0.2)] {
        let other = rows(&Synthetic { steps: 12, seed, forward, ..Synthetic::default() });
        let mut all: Vec<Row> = one.iter().filter(|row| row.stage < 2).copied().collect();
        all.extend(other.iter().filter(|row| row.stage >= 2));
        let found = answers_of_rows(all);
        assert_eq!((found.notes.len(), found.causes.len()), (1, 0), "{:?}", found.notes);
        let note = &found.notes[0];
        assert!(note.starts_with("The times of ranks contradict each other in 12 of 12 steps"), "{note}");
        assert!(note.ends_with("Are these ranks of two jobs?"), "{note}");
        assert_eq!(found.distrust, Some(Distrust::Clocks));
    }
}
