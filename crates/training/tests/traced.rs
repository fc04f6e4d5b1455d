//! Jobs as traces of MPI calls.

use straggler_training::synthetic::{Synthetic, rows};
use straggler_training::{Job, Kind, Sizes, derive, trace};

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
        let trace = trace(&job, Sizes::of(&job)).unwrap();
        for (rank, computed) in trace.ranks.iter().zip(computed(&job)) {
            let between = rank.calls.windows(2).map(|pair| pair[1].enter.ps() - pair[0].exit.ps());
            let outside: u64 = between.sum();
            assert!(outside >= computed, "{outside} {computed}");
            assert!(outside - computed < computed / 50, "{outside} {computed}");
        }
    }
}
