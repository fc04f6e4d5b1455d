//! Jobs as traces of MPI calls.

use super::import::hosts::{Hosted, write};
use straggler_trace::Function;
use straggler_training::synthetic::{Synthetic, rows};
use straggler_training::{Job, Kind, Sizes, derive, import, trace};

/// The computing time of each rank in picoseconds, from the operations of the job.
fn computed(job: &Job) -> Vec<u64> {
    let mut sums = vec![0; job.workers.len()];
    for (place, step) in job.steps.iter().enumerate() {
        let ops = &job.shape(place).ops;
        for column in 0..step.columns as usize {
            for (number, op) in ops.iter().enumerate() {
                let instance = step.first + column * ops.len() + number;
                if Kind::ALL[op.kind as usize].is_compute() {
                    let rank = job.workers[job.worker(place, column, number)].rank as usize;
                    sums[rank] += job.duration[instance] as u64;
                }
            }
        }
    }
    sums
}

/// Receives are posted long before they are needed, and are pending while the GPU computes.
#[test]
fn computing_is_not_hidden_by_receives_that_are_pending() {
    for (pp, microbatches) in [(2, 4), (4, 8)] {
        let of = Synthetic { dp: 2, pp, microbatches, steps: 3, ..Synthetic::default() };
        let job = derive::job(rows(&of), "").unwrap();
        let trace = trace(&job, Sizes::new(&job)).unwrap();
        for (rank, computed) in trace.ranks.iter().zip(computed(&job)) {
            let between = rank.calls.windows(2).map(|pair| pair[1].enter.ps() - pair[0].exit.ps());
            let outside: u64 = between.sum();
            assert!(outside >= computed, "{outside} {computed}");
            assert!(outside - computed < computed / 50, "{outside} {computed}");
        }
    }
}

/// The seconds that a rank computes according to its trace: the time outside of calls.
fn outside_of_calls(trace: &straggler_trace::Trace, rank: usize) -> f64 {
    let calls = &trace.ranks[rank].calls;
    let gaps = calls.windows(2).map(|pair| pair[1].enter.ps().saturating_sub(pair[0].exit.ps()));
    gaps.sum::<u64>() as f64 / 1e12
}

/// A host that waits for a collective before it launches the next kernel leaves no trace of that wait but the idle GPU.
#[test]
fn waits_of_hosts_for_collectives_are_waits() {
    let folder = tempfile::tempdir().unwrap();
    let of = Hosted { synchronous: true, slow: Some((2, 1.5)), ..Hosted::default() };
    write(&of, folder.path());
    let job = import(&[folder.path().into()]).unwrap();
    let trace = trace(&job, Sizes::new(&job)).unwrap();
    for (rank, kernels) in [(0, 20.0), (2, 30.0)] {
        // The kernels of 1 ms, the optimizer, and some 50 µs that the host takes to launch each step.
        let computed = outside_of_calls(&trace, rank) / 8.0;
        assert!((computed - (kernels + 1.0) * 1e-3).abs() < 3e-4, "rank {rank}: {computed}");
    }
}

/// The collectives of a rank whose partners were not recorded are calls all the same.
#[test]
fn one_recorded_rank_has_its_collectives() {
    let folder = tempfile::tempdir().unwrap();
    write(&Hosted::default(), folder.path());
    let job = import(&[folder.path().join("rank1.json")]).unwrap();
    let trace = trace(&job, Sizes::new(&job)).unwrap();
    let calls = &trace.ranks[0].calls;
    let is = |function: Function| calls.iter().filter(|call| call.function == function).count();
    assert_eq!((is(Function::Iallreduce), is(Function::Waitall)), (8, 8));
    assert!((outside_of_calls(&trace, 0) / 8.0 - 0.021).abs() < 3e-4);
    assert!(trace.notes.iter().any(|note| note.contains("only one rank was recorded")), "{:?}", trace.notes);
}
