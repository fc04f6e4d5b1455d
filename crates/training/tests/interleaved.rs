//! Pipelines whose stages have several chunks of the model, which take turns.

use super::answers;
use straggler_training::exact::CauseKind;
use straggler_training::synthetic::{Defect, Fault, Synthetic, mean_step, rows};
use straggler_training::{Kineto, derive, import};

fn of_chunks(vpp: u32) -> Synthetic {
    Synthetic { vpp, steps: 6, ..Synthetic::default() }
}

/// The bubble of a stage is as long as (pp - 1) / vpp microbatches: Narayanan et al., section 2.2.
#[test]
fn more_chunks_make_a_smaller_bubble() {
    for vpp in [1, 2, 4] {
        let of = Synthetic { transfer: 0.0, gradients: 0.0, jitter: 0.0, ..of_chunks(vpp) };
        let waits = f64::from(of.pp - 1) / f64::from(vpp);
        let expected = (f64::from(of.microbatches) + waits) * 3.0 * of.forward;
        assert!((mean_step(&of) - expected).abs() < 1e-6, "vpp {vpp}: {} {expected}", mean_step(&of));
    }
}

#[test]
fn every_message_finds_its_partner() {
    for vpp in [2, 3] {
        let job = derive::job(rows(&of_chunks(vpp)), "").unwrap();
        assert!(job.notes.is_empty(), "{:?}", job.notes);
        let found = answers(&job);
        assert!(
            found.replay_error.abs() < 1e-6 && (found.s - 1.0).abs() < 0.02,
            "{} {}",
            found.replay_error,
            found.s
        );
        let slow = Fault { dp_rank: 2, stage: 1, from_step: 0, what: Defect::Slow(1.5) };
        let slowed = Synthetic { faults: vec![slow], ..of_chunks(vpp) };
        let job = derive::job(rows(&slowed), "").unwrap();
        let found = answers(&job);
        let first = &found.causes[0];
        assert_eq!((first.kind, &first.ranks[..]), (CauseKind::Workers, &[6][..]), "{first:?}");
        let lost = mean_step(&slowed) - mean_step(&of_chunks(vpp));
        assert!((first.seconds / lost - 1.0).abs() < 0.05, "{first:?} {lost}");
    }
}

/// Written as profiler files and read again, it is the same job. With two stages, the direction of messages would be
/// ambiguous.
#[test]
fn profiles_tell_chunks() {
    let of = Synthetic { dp: 2, pp: 3, microbatches: 6, steps: 3, ..of_chunks(2) };
    let made = rows(&of);
    let (files, folder) = (Kineto::new(&made, true), tempfile::tempdir().unwrap());
    for rank in files.ranks() {
        let mut text = Vec::new();
        files.write(rank, &mut text).unwrap();
        std::fs::write(folder.path().join(format!("rank-{rank}.json")), text).unwrap();
    }
    let read = import(&[folder.path().to_path_buf()]).unwrap();
    let table = derive::job(made, "").unwrap();
    assert!(read.is_table() && read.notes.is_empty(), "{:?}", read.notes);
    assert_eq!(read.operations(), table.operations());
    let [read, table] = [&read, &table].map(answers);
    assert!(read.replay_error.abs() < 1e-3, "{}", read.replay_error);
    assert!((read.s - table.s).abs() < 1e-6, "{} {}", read.s, table.s);
}

#[test]
fn chunks_that_cannot_take_turns_are_refused() {
    for refused in [
        Synthetic { pp: 1, ..of_chunks(2) },
        Synthetic { microbatches: 6, ..of_chunks(2) },
        Synthetic { microbatches: 1 << 20, vpp: 1 << 20, ..of_chunks(2) },
    ] {
        let error = refused.check().unwrap_err().to_string();
        assert!(error.contains("use a multiple of that instead of"), "{error}");
    }
    assert!(Synthetic { vpp: 0, ..of_chunks(1) }.check().is_err());
}
