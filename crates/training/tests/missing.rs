//! Recordings that lack workers, steps or rows, and ranks with other operations than the rest. Each rank is replayed with
//! one ideal rank for each distinct order of operations, which gives exactly the result of replaying the whole step.

use super::{answers, job_of};
use straggler_training::exact::{
    Answers, CauseKind, Distrust, Finding, Replays, Scratch, TimedOp, analyse, mean, slowness,
};
use straggler_training::published::{Dense, DenseError};
use straggler_training::synthetic::{Defect, Fault, Synthetic, rows};
use straggler_training::{Job, Kind, Row, Sizes, derive, trace};

fn slowed(dp: u32, pp: u32, steps: u32) -> Synthetic {
    let slow = Fault { dp_rank: 1, stage: pp - 1, from_step: 0, what: Defect::Slow(1.5) };
    Synthetic { dp, pp, steps, faults: vec![slow], ..Synthetic::default() }
}

fn numbers(job: &Job) -> Vec<i64> {
    job.steps.iter().map(|step| step.number).collect()
}

/// A rank whose recording ends early or begins late is missing in the other steps, which are still analysed.
#[test]
fn a_rank_that_is_recorded_in_some_steps_costs_no_others() {
    let of = slowed(4, 2, 10);
    let whole = answers(&job_of(rows(&of)));
    // Rank 5 is the slow one, rank 2 another.
    for (rank, kept, says) in [
        (2, 0..4, "rank 2 up to step 3"),
        (2, 6..10, "rank 2 from step 6 on"),
        (5, 0..5, "rank 5 up to step 4"),
    ] {
        let mut all = rows(&of);
        all.retain(|row| row.rank != rank || kept.contains(&row.step));
        let job = job_of(all);
        assert_eq!(numbers(&job), (0..10).collect::<Vec<i64>>(), "{:?}", job.notes);
        assert!(job.notes[0].contains(says), "{:?}", job.notes);
        assert!(job.notes[0].contains("removing other causes may save more than stated"), "{:?}", job.notes);
        let slowness = slowness(&Replays::new(&job).unwrap());
        let place = job.workers.iter().position(|worker| worker.rank == rank).unwrap();
        let is_known = |step: i64| slowness[place][step as usize].is_finite();
        assert!((0..10).all(|step| is_known(step) == kept.contains(&step)), "{:?}", slowness[place]);
        let found = answers(&job);
        assert_eq!(found.workers_recorded, 8);
        let of_rank = |answers: &Answers| answers.workers.iter().find(|one| one.rank == 5).unwrap().s_w;
        assert!((of_rank(&found) - of_rank(&whole)).abs() < 0.02, "{} {}", of_rank(&found), of_rank(&whole));
        let slow = found.causes.iter().find(|cause| cause.kind == CauseKind::Workers).unwrap();
        assert_eq!(slow.ranks, [5], "{slow:?}");
        let Finding::Worker { period, .. } = &slow.finding else { panic!("{slow:?}") };
        let ends = (period.recording_ends, period.until_step);
        assert_eq!(ends, if rank == 5 { (true, Some(4)) } else { (false, None) }, "{slow:?}");
        if rank == 2 {
            assert!((found.s - whole.s).abs() < 0.02, "{} {}", found.s, whole.s);
        }
    }
    // A recording that ends within a step leaves that step out, and so does one that lacks only the last step.
    let mut all = rows(&of);
    all.retain(|row| row.rank != 2 || row.step < 4 || row.step == 4 && row.start < 0.5);
    assert_eq!(numbers(&job_of(all)), [0, 1, 2, 3, 5, 6, 7, 8, 9]);
    let mut all = rows(&of);
    all.retain(|row| row.rank != 2 || row.step < 9);
    assert_eq!(numbers(&job_of(all)), (0..9).collect::<Vec<i64>>());
}

#[test]
fn few_recorded_workers_are_analysed() {
    let mut all = rows(&slowed(16, 1, 6));
    all.retain(|row| [0, 1, 15].contains(&row.rank));
    let job = job_of(all);
    assert!(job.notes[0].starts_with("13 of 16 workers were not recorded"), "{:?}", job.notes);
    let found = answers(&job);
    assert_eq!(found.workers[0].rank, 1);
    assert_eq!(found.by_dp_rank.keys().collect::<Vec<_>>(), ["0", "1", "15"]);
    let slow = found.causes.iter().find(|cause| cause.kind == CauseKind::Workers).unwrap();
    assert_eq!(slow.ranks, [1]);
}

/// A lost row is named, its step is left out, and the remaining steps become a trace.
#[test]
fn lost_rows_are_named() {
    let lost: [(Kind, u32, &str); 7] = [
        (Kind::ForwardCompute, 3, "forward-compute 3 (microbatch 3)"),
        (Kind::BackwardCompute, 3, "backward-compute 3 (microbatch 3)"),
        (Kind::ForwardRecv, 3, "forward-recv 3 (microbatch 3)"),
        (Kind::BackwardSend, 5, "backward-send 5 (microbatch 5)"),
        (Kind::GradsReduceScatter, 0, "grads-reduce-scatter 0"),
        (Kind::ParamsAllGather, 0, "params-all-gather 0"),
        (Kind::OptimizerClipMainGrad, 0, "optimizer-clip-main-grad 0"),
    ];
    for dp in [1, 3] {
        let of = slowed(dp.max(2), 2, 6);
        for (kind, seq, says) in lost {
            let wide = matches!(kind, Kind::GradsReduceScatter | Kind::ParamsAllGather);
            if wide && dp == 1 {
                continue;
            }
            let mut all = rows(&of);
            all.retain(|row| row.dp_rank < dp);
            let rank = of.dp;
            let before = all.len();
            all.retain(|row| (row.rank, row.step, row.kind, row.seq) != (rank, 2, kind, seq));
            assert_eq!(all.len() + 1, before);
            let job = job_of(all);
            assert_eq!(numbers(&job), [0, 1, 3, 4, 5]);
            let note = format!(
                "1 row is missing: {says} of rank {rank} in step 2. Left out for this reason: step 2"
            );
            assert_eq!(job.notes, [note]);
            trace(&job, Sizes::new(&job)).unwrap();
        }
    }
}

/// Neither steps nor ranks with fewer microbatches lack anything.
#[test]
fn fewer_microbatches_are_no_loss() {
    let fewer = |keep: &dyn Fn(&Row) -> bool| {
        let of = slowed(3, 2, 6);
        let short = rows(&Synthetic { microbatches: 5, ..of.clone() });
        let mut all = rows(&of);
        all.retain(|row| !keep(row));
        all.extend(short.into_iter().filter(keep));
        job_of(all)
    };
    for job in [fewer(&|row| row.step == 3), fewer(&|row| row.dp_rank == 1)] {
        assert_eq!(job.steps.len(), 6);
        assert!(job.notes.iter().all(|note| !note.contains("missing")), "{:?}", job.notes);
    }
}

/// If every step lacks rows, steps are analysed as they are, and the error of the trace names the missing operation.
#[test]
fn losses_in_all_steps_are_told() {
    let mut all = rows(&slowed(3, 2, 4));
    all.retain(|row| (row.rank, row.kind) != (4, Kind::GradsReduceScatter));
    let job = job_of(all);
    assert_eq!(job.steps.len(), 4);
    assert!(
        job.notes[0].starts_with("4 rows are missing: grads-reduce-scatter 0 of rank 4 in step 0, "),
        "{:?}",
        job.notes
    );
    let error = trace(&job, Sizes::new(&job)).unwrap_err().to_string();
    assert!(error.starts_with("step 0, rank 4: grads-reduce-scatter is missing"), "{error}");
}

/// Transfers with a worker that was not recorded include the wait for it: no link is to blame.
#[test]
fn links_are_not_blamed_for_workers_that_are_missing() {
    for (dp, pp, rank) in [(4, 4, 5), (4, 4, 9), (4, 1, 2), (1, 4, 2), (2, 2, 3)] {
        let fault = Fault { dp_rank: rank % dp, stage: rank / dp, from_step: 0, what: Defect::Slow(1.6) };
        let of = Synthetic { dp, pp, steps: 8, faults: vec![fault], ..Synthetic::default() };
        let mut all = rows(&of);
        all.retain(|row| row.rank != rank);
        let found = answers(&job_of(all));
        let blamed = found.causes.iter().find(|cause| cause.kind == CauseKind::Communication);
        assert!(blamed.is_none(), "{dp} x {pp} without rank {rank}: {blamed:?}");
    }
}

/// Without a tenth of the rows, sends and receives are matched wrongly. Clocks are not blamed for that.
#[test]
fn rows_that_are_missing_everywhere_say_nothing_of_clocks() {
    let mut all = rows(&Synthetic { steps: 12, ..Synthetic::default() });
    let mut random = 12345u64;
    all.retain(|_| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        !(random >> 33).is_multiple_of(10)
    });
    let found = answers(&job_of(all));
    assert!(found.notes.iter().all(|note| !note.contains("lock")), "{:?}", found.notes);
    let told = "No step has all its rows: steps are analysed without the missing rows";
    assert!(found.notes.iter().any(|note| note.contains(told)), "{:?}", found.notes);
    assert_eq!((found.distrust, found.causes.len()), (Some(Distrust::Rows), 0));
}

/// No rank is blamed if the replay is far off the recorded steps: something that was not recorded determines their
/// duration.
#[test]
fn a_replay_that_is_far_off_blames_nobody() {
    for (wait, distrust) in [(0.1, None), (2.0, Some(Distrust::Replay))] {
        let mut all = rows(&slowed(4, 2, 10));
        let waits = |row: &&mut Row| {
            row.step % 2 == 1 && matches!(row.kind, Kind::OptimizerClipMainGrad | Kind::Optimizer)
        };
        all.iter_mut().filter(waits).for_each(|row| row.start += wait);
        let found = answers(&job_of(all));
        assert_eq!(
            (found.distrust, found.causes.is_empty()),
            (distrust, wait > 1.0),
            "{}",
            found.replay_error
        );
    }
}

/// Recordings that have no step in common belong to two jobs.
#[test]
fn ranks_without_a_common_step_are_refused() {
    let mut all = rows(&slowed(4, 2, 10));
    all.iter_mut().filter(|row| row.dp_rank >= 2).for_each(|row| row.step += 100);
    let error = derive::job(all, "synthetic").unwrap_err().to_string();
    let says = "rank 0 (step 0) and rank 2 (step 100) have no step in common: are these two jobs? Give the rows of one job";
    assert_eq!(error, says);
}

#[test]
fn a_rank_at_two_places_is_refused() {
    let mut all = rows(&slowed(4, 2, 2));
    all.iter_mut().filter(|row| row.rank == 6).for_each(|row| row.rank = 1);
    let error = derive::job(all, "synthetic").unwrap_err().to_string();
    assert!(
        error.starts_with("rank 1 is data-parallel rank 1 of stage 0, and data-parallel rank 2 of stage 1: "),
        "{error}"
    );
}

/// The row that represents lost ones is chosen deterministically.
#[test]
fn lost_rows_are_named_alike_every_time() {
    // Some workers run their microbatches in another order, so that a microbatch has different sequence numbers.
    let mut all = rows(&slowed(4, 1, 6));
    for row in all.iter_mut().filter(|row| row.kind.is_compute()) {
        row.microbatch = (row.microbatch + (row.dp_rank / 2) as i32) % 8;
    }
    all.retain(|row| (row.rank, row.step, row.kind, row.microbatch) != (1, 2, Kind::ForwardCompute, 3));
    let first = job_of(all.clone()).notes;
    assert!(first[0].starts_with("1 row is missing: forward-compute "), "{first:?}");
    for _ in 0..20 {
        assert_eq!(job_of(all.clone()).notes, first);
    }
}

/// Singular and plural in messages.
#[test]
fn one_worker_was_not_recorded() {
    let mut all = rows(&slowed(4, 2, 4));
    all.retain(|row| row.rank != 2);
    let one = job_of(all.clone());
    assert!(one.notes[0].starts_with("1 of 8 workers was not recorded: "), "{:?}", one.notes);
    assert!(one.notes[0].ends_with(
        "Delays that it caused show up as waiting time of the others and cannot be attributed to it"
    ));
    let error = trace(&one, Sizes::new(&one)).unwrap_err().to_string();
    let says =
        "1 worker was not recorded, among them data-parallel rank 2 of stage 0: a trace needs all of them";
    assert!(error.starts_with(says), "{error}");
    all.retain(|row| row.rank != 3);
    assert!(job_of(all).notes[0].starts_with("2 of 8 workers were not recorded: "));
}

#[test]
fn without_durations_nobody_is_blamed() {
    let mut all = rows(&slowed(4, 2, 6));
    all.iter_mut().for_each(|row| row.duration = 0.0);
    assert_eq!(Dense::new(&all).unwrap_err(), DenseError::NoDurations);
    let found = answers(&job_of(all));
    assert_eq!((found.distrust, found.causes.len()), (Some(Distrust::Durations), 0));
}

/// A job with only one end of its transfers is analysed as if it had none: the slow worker is found, and no other is
/// blamed.
#[test]
fn one_end_of_transfers_is_not_used() {
    let of = slowed(4, 4, 10);
    let slow = answers(&job_of(rows(&of)));
    for gone in [[Kind::ForwardSend, Kind::BackwardSend], [Kind::ForwardRecv, Kind::BackwardRecv]] {
        let mut all = rows(&of);
        all.retain(|row| !gone.contains(&row.kind));
        let found = answers(&job_of(all));
        let told = format!("but no {}: with one end of a transfer", gone[0].name());
        assert!(found.notes[0].contains(&told), "{:?}", found.notes);
        assert_eq!(found.causes[0].ranks, slow.causes[0].ranks, "{:?}", found.causes);
        assert!((found.causes[0].gain - slow.causes[0].gain).abs() < 0.01, "{:?}", found.causes[0]);
        assert!(found.s < slow.s + 0.02 && found.replay_error.abs() < 0.01, "{} {}", found.s, slow.s);
    }
}

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
