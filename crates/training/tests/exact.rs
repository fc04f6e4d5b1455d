//! The analysis on jobs whose faults are known.

use super::{answers, answers_of, answers_of_rows, job, job_of};
use straggler_training::exact::{Answers, CauseKind, Evidence, Replays, analyse};
use straggler_training::synthetic::{Defect, Fault, Synthetic, mean_step, rows};
use straggler_training::{Kind, Row, derive, phrases, read_table, write_csv};

fn slow(factor: f64, from_step: u32) -> Fault {
    Fault { dp_rank: 2, stage: 1, from_step, what: Defect::Slow(factor) }
}

#[test]
fn a_healthy_job_is_as_fast_as_it_can_be() {
    let found = answers_of(&Synthetic { jitter: 0.0, ..Synthetic::default() });
    assert!((found.s - 1.0).abs() < 1e-9 && found.replay_error.abs() < 1e-9, "{found:?}");
    assert!(found.causes.is_empty(), "{:?}", found.causes);
    let found = answers_of(&Synthetic::default());
    assert!(
        found.s < 1.05 && found.causes.iter().all(|cause| cause.kind == CauseKind::Variation),
        "{found:?}"
    );
}

/// The slowdown that a slow worker causes is known from the same job without it. The published analysis estimates 1.16, 1.40 and
/// 2.03 as 1.21, 1.42 and 1.98 (Lin et al., section 6).
#[test]
fn injected_slowdowns_are_estimated_closely() {
    for (wanted, published) in [(1.16, 1.21f64), (1.40, 1.42), (2.03, 1.98)] {
        let healthy = Synthetic { dp: 4, pp: 4, microbatches: 16, steps: 10, ..Synthetic::default() };
        let with = |factor: f64| Synthetic { faults: vec![slow(factor, 0)], ..healthy.clone() };
        let quiet = mean_step(&healthy);
        let (mut low, mut high) = (1.0, 4.0);
        for _ in 0..20 {
            let middle = (low + high) / 2.0;
            if mean_step(&with(middle)) / quiet < wanted { low = middle } else { high = middle }
        }
        let slowed = with(low);
        let truth = mean_step(&slowed) / quiet;
        assert!((truth - wanted).abs() < 0.002, "{truth}");
        let found = answers_of(&slowed);
        let error = (found.s - truth).abs();
        assert!(error < (published - wanted).abs() && error < 0.03, "{wanted}: {} for {truth}", found.s);
        let first = &found.causes[0];
        assert_eq!((first.kind, &first.ranks[..]), (CauseKind::Workers, &[6][..]), "{first:?}");
        // Without the slow worker, the job is like the healthy one.
        assert!((first.seconds - (mean_step(&slowed) - quiet)).abs() < 0.02 * quiet, "{first:?}");
    }
}

#[test]
fn a_worker_that_becomes_slow_is_told_with_its_step() {
    let found = answers_of(&Synthetic { faults: vec![slow(1.5, 12)], ..Synthetic::default() });
    assert_eq!(found.causes[0].since_step, Some(12), "{:?}", found.causes);
    assert_eq!(found.workers[0].rank, 6);
    assert!(found.curve[0].share_saved.unwrap() > 0.8, "{:?}", found.curve);
}

#[test]
fn each_fault_is_called_by_its_name() {
    let base = Synthetic::default();
    let fault = |what| vec![Fault { dp_rank: 1, stage: 2, from_step: 0, what }];
    let cases = [
        (Synthetic { last_stage: 0.4, ..base.clone() }, CauseKind::Partition, vec![]),
        (Synthetic { lengths: 0.3, ..base.clone() }, CauseKind::SequenceLengths, vec![]),
        (Synthetic { faults: fault(Defect::Stall(0.6)), ..base.clone() }, CauseKind::LaunchDelay, vec![9]),
        (
            Synthetic { faults: fault(Defect::Link { times: 40.0, with: None }), ..base.clone() },
            CauseKind::Communication,
            vec![9],
        ),
    ];
    for (case, kind, ranks) in cases {
        let found = answers_of(&case);
        let first =
            found.causes.first().unwrap_or_else(|| panic!("{kind:?}: nothing found, S = {}", found.s));
        assert_eq!(first.kind, kind, "{:?}", found.causes);
        assert_eq!(first.ranks, ranks, "{first:?}");
    }
}

/// The analysis replays a worker next to one column that represents all others. Here all columns are replayed.
#[test]
fn one_column_stands_for_all_that_are_alike() {
    let of = Synthetic { faults: vec![slow(1.7, 3)], lengths: 0.2, dp: 3, pp: 2, ..Synthetic::default() };
    let job = job(&of);
    let replays = Replays::new(&job).unwrap();
    assert_eq!(job.steps[0].columns, 3);
    let found = analyse(&replays, None);
    let mean = |steps: Vec<i64>| steps.iter().sum::<i64>() as f64 / steps.len() as f64;
    let ideal = mean(replays.all(|_, at| at.ideal()));
    for worker in &found.workers {
        let place = job.workers.iter().position(|one| one.rank == worker.rank).unwrap();
        let whole = mean(replays.all(|_, at| at.real_if(at.worker == place)));
        assert!((worker.s_w - whole / ideal).abs() < 1e-12, "{worker:?}");
    }
    for (rank, slowdown) in &found.by_dp_rank {
        let rank: u32 = rank.parse().unwrap();
        let whole = mean(replays.all(|_, at| at.real_if(job.workers[at.worker].dp_rank == rank)));
        assert!((slowdown - whole / ideal).abs() < 1e-12);
    }
}

/// A rank with different operations joins all columns into one, and nothing else changes.
#[test]
fn columns_that_differ_are_joined() {
    let of = Synthetic { steps: 3, ..Synthetic::default() };
    let whole = answers_of(&of);
    let mut rows = rows(&of);
    // One more operation on one rank, which takes no time.
    let is_it = |row: &&Row| row.kind == Kind::LayernormGradsAllReduce && row.rank == 5 && row.step == 1;
    let last = *rows.iter().find(is_it).unwrap();
    rows.push(Row { seq: 1, ..last });
    let job = job_of(rows);
    assert_eq!(job.steps.iter().map(|step| step.columns).collect::<Vec<u32>>(), [4, 1, 4]);
    let joined = answers(&job);
    assert!((joined.s - whole.s).abs() < 1e-9, "{} {}", joined.s, whole.s);
    let workers = joined.workers.iter().zip(&whole.workers);
    assert!(workers.clone().all(|(a, b)| (a.s_w - b.s_w).abs() < 1e-9 && a.rank == b.rank));
    assert_eq!(joined.notes.len(), 1, "{:?}", joined.notes);
}

#[test]
fn what_is_missing_is_left_out_and_said() {
    let of = Synthetic { steps: 4, ..Synthetic::default() };
    let all = rows(&of);
    let without = all.iter().filter(|row| !(row.step == 2 && row.rank == 3)).copied().collect();
    let job = job_of(without);
    assert_eq!(job.steps.iter().map(|step| step.number).collect::<Vec<i64>>(), [0, 1, 3]);
    assert!(job.notes[0].contains("step 2 lacks everything of rank 3"), "{:?}", job.notes);
    let without = all.iter().filter(|row| row.rank != 3).copied().collect();
    let job = job_of(without);
    assert!(job.notes[0].contains("data-parallel rank 3 of stage 0"), "{:?}", job.notes);
    let found = answers(&job);
    assert_eq!((found.workers_recorded, found.workers.len()), (15, 15));
    // Shares are of the recorded workers.
    assert_eq!(found.repaired_workers.share, 1.0 / 15.0);
    let without: Vec<Row> = all.iter().filter(|row| row.kind != Kind::Optimizer).copied().collect();
    let job = job_of(without);
    assert!(job.notes[0].starts_with("no optimizer was recorded"), "{:?}", job.notes);
    let mut twice: Vec<_> = all.iter().chain(&all).copied().collect();
    twice[..all.len()].iter_mut().for_each(|row| row.duration += 1.0);
    assert!(derive::job(twice, "").unwrap_err().to_string().contains("appears twice, with different values"));
    let mut two = all;
    two[0].rank = 99;
    assert!(derive::job(two, "").unwrap_err().to_string().contains("are these two jobs?"));
}

/// If some workers end clipping before others begin, they do not wait for each other.
#[test]
fn clipping_may_be_of_each_worker_alone() {
    let of = Synthetic { steps: 4, pp: 1, ..Synthetic::default() };
    let groups =
        |rows: Vec<straggler_training::Row>| derive::job(rows, "").unwrap().shapes[0].graph.groups.len();
    let mut rows = rows(&of);
    let meeting = groups(rows.clone());
    for row in rows.iter_mut().filter(|row| row.kind == Kind::OptimizerClipMainGrad && row.dp_rank == 0) {
        row.duration = 0.0;
        row.start -= 0.001;
    }
    assert_eq!(groups(rows), meeting - 1);
}

#[test]
fn tables_that_are_written_are_read_again() {
    let rows = rows(&Synthetic { steps: 2, ..Synthetic::default() });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.csv");
    let mut text = Vec::new();
    write_csv(&rows, true, &mut text).unwrap();
    std::fs::write(&path, text).unwrap();
    assert_eq!(read_table(&path).unwrap().job("").unwrap(), derive::job(rows, "").unwrap());
}

/// One worker takes longer to update its parameters, in every step: it ends late, begins the next step late, and the
/// others wait for it there. This is one delay per step, of the optimizer, not two.
#[test]
fn a_late_end_is_not_charged_again_when_the_next_step_begins() {
    let of = Synthetic { dp: 4, pp: 1, jitter: 0.0, ..Synthetic::default() };
    let base = mean_step(&of);
    let late = 0.5;
    let mut all = rows(&of);
    for row in all.iter_mut().filter(|row| row.rank == 2 && row.kind == Kind::Optimizer) {
        row.duration += late;
    }
    // From the second step on, all transfers wait for rank 2, which begins late; the others wait in their all-gather.
    for row in all.iter_mut().filter(|row| row.step > 0) {
        match (row.kind, row.rank) {
            (Kind::ParamsAllGather, rank) if rank != 2 => row.duration += late,
            _ => row.start += late,
        }
    }
    let found = answers_of_rows(all.clone());
    assert!((found.step_seconds - (base + late)).abs() < 1e-6, "{} {base}", found.step_seconds);
    assert!((found.s - (base + late) / base).abs() < 1e-6, "{} {}", found.s, (base + late) / base);
    assert!((found.by_type["optimizer"] - found.s).abs() < 1e-6, "{:?}", found.by_type);
    assert!((found.by_type["launch-delay"] - 1.0).abs() < 1e-6, "{:?}", found.by_type);
    assert!(
        (found.workers[0].s_w - found.s).abs() < 1e-6 && found.workers[0].rank == 2,
        "{:?}",
        found.workers
    );
    assert!(found.causes.iter().all(|cause| cause.kind != CauseKind::LaunchDelay), "{:?}", found.causes);
    // Steps that do not follow each other say nothing about why a worker begins late.
    all.iter_mut().for_each(|row| row.step *= 2);
    let found = answers_of_rows(all.clone());
    assert!(found.by_type["launch-delay"] > 1.1, "{:?}", found.by_type);
}

/// Garbage collections of some ranks, anywhere in the step, keep the columns separate, and the answers are those of
/// joined columns.
#[test]
fn collections_of_some_ranks_keep_columns_apart() {
    let of = Synthetic { steps: 6, pp: 2, dp: 4, ..Synthetic::default() };
    let mut all = rows(&of);
    let collection = |row: &Row, seq: u32, start: f64, duration: f64| Row {
        kind: Kind::Gc,
        seq,
        start,
        duration,
        chunk: -1,
        model_chunk: -1,
        microbatch: -1,
        ..*row
    };
    let computes: Vec<Row> =
        all.iter().filter(|row| row.kind.is_compute() && row.step % 2 == 1).copied().collect();
    for (rank, seq, kind) in
        [(1, 1, Kind::BackwardCompute), (6, 3, Kind::ForwardCompute), (6, 4, Kind::BackwardCompute)]
    {
        let is_it = |row: &&Row| (row.rank, row.seq, row.kind) == (rank, seq, kind);
        for row in computes.iter().filter(is_it) {
            all.push(collection(row, seq, row.start + 0.01, 0.05));
        }
    }
    // Between two computations.
    for row in computes.iter().filter(|row| (row.rank, row.seq, row.kind) == (2, 0, Kind::ForwardCompute)) {
        all.push(collection(row, 1, row.start - 1e-4, 1e-4));
    }
    let job = job_of(all.clone());
    assert_eq!(job.steps.iter().map(|step| step.columns).collect::<Vec<u32>>(), [4; 6]);
    let apart = answers(&job);
    // Another additional operation of one rank, so that columns are joined.
    let more: Vec<Row> = all
        .iter()
        .filter(|row| row.kind == Kind::LayernormGradsAllReduce && row.rank == 5)
        .map(|row| Row { seq: 1, ..*row })
        .collect();
    all.extend(more);
    let job = job_of(all);
    assert_eq!(job.steps.iter().map(|step| step.columns).collect::<Vec<u32>>(), [1; 6]);
    let joined = answers(&job);
    assert!((apart.s - joined.s).abs() < 1e-9, "{} {}", apart.s, joined.s);
    assert!((apart.replay_error - joined.replay_error).abs() < 1e-9);
    for (one, other) in apart.workers.iter().zip(&joined.workers) {
        assert!(one.rank == other.rank && (one.s_w - other.s_w).abs() < 1e-9, "{one:?} {other:?}");
    }
    for (name, slowdown) in &apart.by_type {
        assert!((slowdown - joined.by_type[name]).abs() < 1e-9, "{name}");
    }
    let told = |answers: &Answers| -> Vec<(CauseKind, Vec<String>)> {
        answers.causes.iter().map(|cause| (cause.kind, phrases::evidence(cause))).collect()
    };
    assert_eq!(told(&apart), told(&joined));
    assert!(apart.by_type["gc"] > 1.0, "{:?}", apart.by_type);
}

/// One of two workers of a stage is slow: that is no uneven partition.
#[test]
fn a_slow_worker_of_two_is_no_partition() {
    let fault = Fault { dp_rank: 0, stage: 1, from_step: 0, what: Defect::Slow(1.5) };
    let found = answers_of(&Synthetic { dp: 2, pp: 2, faults: vec![fault], ..Synthetic::default() });
    let kinds: Vec<CauseKind> = found.causes.iter().map(|cause| cause.kind).collect();
    assert!(kinds.contains(&CauseKind::Workers) && !kinds.contains(&CauseKind::Partition), "{kinds:?}");
}

/// A wait before an operation that the host does not launch is not blamed on anyone; the operation is named.
#[test]
fn waits_that_nothing_explains_are_named() {
    let mut all = rows(&Synthetic { steps: 6, ..Synthetic::default() });
    let is_late = |row: &&mut Row| row.step % 2 == 0 && matches!(row.kind, Kind::Optimizer);
    all.iter_mut().filter(is_late).for_each(|row| row.start += 0.4);
    let found = answers_of_rows(all.clone());
    assert!((found.unexplained_seconds - 0.2).abs() < 0.01, "{}", found.unexplained_seconds);
    assert_eq!(found.unexplained_before.as_deref(), Some("optimizer"));
}

/// If parameters are gathered before every microbatch, each microbatch waits for its own gather, and nothing
/// overlaps.
#[test]
fn every_gather_belongs_to_the_forward_behind_it() {
    let of = Synthetic { dp: 2, pp: 1, microbatches: 4, steps: 5, jitter: 0.0, ..Synthetic::default() };
    let mut all = Vec::new();
    for step in 0..5 {
        for rank in 0..2 {
            let mut now = 0.0;
            let mut add = |kind: Kind, seq: u32, duration: f64| {
                let computes = kind.is_compute();
                let (chunk, model_chunk) =
                    (if kind == Kind::Optimizer { -1 } else { 0 }, if computes { 0 } else { -1 });
                let microbatch = if computes { seq as i32 } else { -1 };
                let place = Row {
                    dp_rank: rank,
                    stage: 0,
                    rank,
                    step,
                    kind,
                    start: now,
                    duration,
                    seq,
                    chunk,
                    model_chunk,
                    microbatch,
                };
                all.push(place);
                now += duration;
            };
            for microbatch in 0..of.microbatches {
                add(Kind::ParamsAllGather, microbatch, 0.05);
                add(Kind::ForwardCompute, microbatch, 0.1);
                add(Kind::BackwardCompute, microbatch, 0.2);
            }
            add(Kind::GradsReduceScatter, 0, 0.05);
            add(Kind::Optimizer, 0, 0.01);
        }
    }
    let found = answers_of_rows(all.clone());
    assert!(found.replay_error.abs() < 1e-9 && found.overlaps == 0 && found.early_ends == 0, "{found:?}");
    assert!((found.step_seconds - 1.46).abs() < 1e-9, "{}", found.step_seconds);
}

/// A stage that computes two chunks of a model takes the time of both for a microbatch.
#[test]
fn work_of_a_stage_is_that_of_all_its_chunks() {
    let of = Synthetic {
        dp: 2,
        pp: 2,
        microbatches: 8,
        steps: 3,
        jitter: 0.0,
        last_stage: 0.5,
        ..Synthetic::default()
    };
    let work = |chunks: i32| {
        let mut all = rows(&of);
        for row in all.iter_mut().filter(|row| row.kind.is_compute()) {
            row.chunk = row.microbatch % chunks;
            row.model_chunk = row.chunk * 2 + row.stage as i32;
            row.microbatch /= chunks;
        }
        let job = job_of(all);
        let causes = answers(&job).causes;
        let partition = causes.iter().find(|cause| cause.kind == CauseKind::Partition).unwrap();
        let Evidence::WorkOfStages { seconds } = &partition.evidence[0] else { panic!("{partition:?}") };
        seconds.iter().map(|seconds| (1e6 * seconds).round()).collect::<Vec<f64>>()
    };
    assert_eq!((work(1), work(2)), (vec![300e3, 450e3], vec![600e3, 900e3]));
}

/// Tables need not contain the chunk of the model if each stage has only one.
#[test]
fn stages_without_a_chunk_have_one() {
    let slow = Fault { dp_rank: 2, stage: 1, from_step: 2, what: Defect::Slow(1.6) };
    let all = rows(&Synthetic { steps: 5, faults: vec![slow], ..Synthetic::default() });
    let found = |rows: Vec<Row>| {
        let job = derive::job(rows, "").unwrap();
        assert!(job.notes.is_empty(), "{:?}", job.notes);
        answers(&job)
    };
    let without = all.iter().map(|row| Row { model_chunk: -1, ..*row }).collect();
    let (with, without) = (found(all), found(without));
    assert_eq!((with.s, &with.causes), (without.s, &without.causes));
}
