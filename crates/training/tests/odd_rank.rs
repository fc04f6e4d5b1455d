//! Data-parallel ranks with other operations than the rest. Each rank is replayed with one ideal rank for each
//! distinct order of operations, which gives exactly the result of replaying the whole step.

use straggler_training::exact::{Answers, Replays, Scratch, TimedOp, analyse, mean};
use straggler_training::synthetic::{Defect, Fault, Synthetic, rows};
use straggler_training::{Job, Kind, Row, derive};

fn recording() -> Vec<Row> {
    let faults = vec![
        Fault { dp_rank: 2, stage: 1, from_step: 0, what: Defect::Slow(1.5) },
        Fault { dp_rank: 5, stage: 0, from_step: 1, what: Defect::Slow(1.3) },
    ];
    rows(&Synthetic { dp: 24, pp: 2, microbatches: 4, steps: 4, faults, ..Synthetic::default() })
}

/// Adds all-reduces of the layer norm to a rank, right after the first.
fn odd(rows: &mut Vec<Row>, dp_rank: u32, times: u32) {
    let is_first =
        |row: &&Row| row.kind == Kind::LayernormGradsAllReduce && row.seq == 0 && row.dp_rank == dp_rank;
    let first: Vec<Row> = rows.iter().filter(is_first).copied().collect();
    rows.extend((1..=times).flat_map(|seq| first.iter().map(move |row| Row { seq, ..*row })));
}

/// Checks every worker and every data-parallel rank against replays of whole steps.
fn assert_as_whole_steps(job: &Job) -> Answers {
    let replays = Replays::new(job).unwrap();
    let answers = analyse(&replays, None);
    let mut room = Scratch::default();
    let mut alone = |takes_part: &dyn Fn(usize, usize) -> bool, real: &dyn Fn(usize) -> bool| {
        let there: Vec<usize> = (0..job.steps.len())
            .filter(|&step| {
                let part = job.takes_part(step);
                (0..part.len()).any(|worker| part[worker] && takes_part(step, worker))
            })
            .collect();
        let mut spans = |is_real: &dyn Fn(&TimedOp<'_>) -> bool| -> Vec<i64> {
            there
                .iter()
                .map(|&step| replays.step(step, &mut room, &|at: &TimedOp<'_>| at.real_if(is_real(at))))
                .collect()
        };
        mean(&spans(&|at| real(at.worker))) / mean(&spans(&|_| false))
    };
    for worker in &answers.workers {
        let place = job.workers.iter().position(|own| own.rank == worker.rank).unwrap();
        let whole = alone(&|_, of| of == place, &|of| of == place);
        assert_eq!(worker.s_w, whole, "rank {}", worker.rank);
    }
    for (rank, slowdown) in &answers.by_dp_rank {
        let is_it = |worker: usize| job.workers[worker].dp_rank.to_string() == *rank;
        assert_eq!(*slowdown, alone(&|_, of| is_it(of), &is_it), "data-parallel rank {rank}");
    }
    answers
}

#[test]
fn alike_ranks_give_what_whole_steps_give() {
    let job = derive::job(recording(), "").unwrap();
    assert!(job.steps.iter().all(|step| step.columns == 24));
    let answers = assert_as_whole_steps(&job);
    assert_eq!((answers.workers[0].dp_rank, answers.workers[0].stage), (2, 1));
}

#[test]
fn odd_ranks_give_what_whole_steps_give() {
    for odd_ranks in [&[(7, 1)][..], &[(2, 1)], &[(0, 1), (7, 2), (8, 1)]] {
        let mut rows = recording();
        odd_ranks.iter().for_each(|&(rank, times)| odd(&mut rows, rank, times));
        let job = derive::job(rows, "").unwrap();
        assert!(job.steps.iter().all(|step| step.columns == 1));
        let answers = assert_as_whole_steps(&job);
        assert_eq!((answers.workers[0].dp_rank, answers.workers[0].stage), (2, 1));
    }
}

#[test]
fn ranks_that_are_missing_in_a_part_of_the_steps_give_what_whole_steps_give() {
    let mut rows = recording();
    rows.retain(|row| !(row.dp_rank == 3 && row.stage == 1 && row.step >= 2));
    odd(&mut rows, 9, 1);
    assert_as_whole_steps(&derive::job(rows, "").unwrap());
}
