//! Hosts that are far ahead of their GPUs or behind them, that load data, or that collect garbage while workers wait.

use super::import::hosts::{Hosted, write};
use super::{answers, job_of};
use straggler_training::exact::{Answers, Cause, CauseKind, Evidence, Replays};
use straggler_training::synthetic::{Defect, Fault, Synthetic, mean_step, rows};
use straggler_training::whatif::copied;
use straggler_training::{Job, Kind, Row, derive, import};

fn read(of: &Hosted) -> (Job, f64) {
    let folder = tempfile::tempdir().unwrap();
    let step_us = write(of, folder.path());
    (import(&[folder.path().into()]).unwrap(), step_us)
}

fn host_bound(answers: &Answers) -> Option<&Cause> {
    answers.causes.iter().find(|cause| cause.kind == CauseKind::HostBound)
}

fn assert_close(value: f64, wanted: f64, within: f64) {
    assert!((value / wanted - 1.0).abs() < within, "{value} instead of {wanted}");
}

/// Kernels that were in the queue when the recording began were launched in earlier steps.
#[test]
fn queued_kernels_belong_to_no_step() {
    let plain = Hosted { slow: Some((2, 1.3)), ..Hosted::default() };
    let queued = Hosted { queued: 120, ..plain.clone() };
    for of in [plain, queued] {
        let (job, step_us) = read(&of);
        let found = answers(&job);
        assert_close(found.step_seconds * 1e6, step_us, 0.01);
        assert_eq!(job.steps.len(), 8);
        let first = &found.causes[0];
        assert_eq!((first.kind, &first.ranks[..]), (CauseKind::Workers, &[2][..]), "{:?}", found.causes);
        assert_close(first.seconds, 0.006, 0.02);
        assert_eq!(found.causes.len(), 1, "{:?}", found.causes);
        let said = "Left out: 120 kernels on each of 4 ranks launched before the recording began, which belong to no step.";
        assert_eq!(job.remarks.iter().any(|remark| remark == said), of.queued > 0, "{:?}", job.remarks);
    }
}

/// A host that needs 80 µs to launch a kernel of 8 µs.
#[test]
fn idle_time_between_kernels_counts() {
    for ranks in [1, 4] {
        let of =
            Hosted { ranks, kernels: 200, kernel: 8.0, all_reduce: 50.0, launch: 80.0, ..Hosted::default() };
        let (job, step_us) = read(&of);
        let found = answers(&job);
        assert_close(step_us, 202.0 * 80.0, 0.01);
        assert_close(found.step_seconds * 1e6, step_us, 0.01);
        let cause = host_bound(&found).unwrap_or_else(|| panic!("{:?}", found.causes));
        // Without it, 201 kernels of 8 µs and the all-reduce remain.
        assert_close(found.step_seconds - cause.seconds, 201.0 * 8e-6 + 50e-6, 0.1);
        assert_eq!(
            (found.causes[0].kind, found.causes.len()),
            (CauseKind::HostBound, 1),
            "{:?}",
            found.causes
        );
        let [Evidence::Idle { .. }, Evidence::Kernels { per_step: 201.0, mean_seconds, .. }, host] =
            &cause.evidence[..]
        else {
            panic!("{cause:?}")
        };
        assert_close(*mean_seconds, 8e-6, 1e-3);
        let Evidence::HostActivities { activities } = host else { panic!("{cause:?}") };
        assert_eq!(activities[0].name, "", "{cause:?}");
    }
}

/// A host that waits for its GPU at the end of each step launches the first kernels of the next one late.
#[test]
fn a_host_that_waits_for_the_gpu_is_told() {
    let of =
        Hosted { kernels: 4, kernel: 30.0, all_reduce: 20.0, launch: 60.0, waits: true, ..Hosted::default() };
    let (job, step_us) = read(&of);
    let found = answers(&job);
    assert_close(found.step_seconds * 1e6, step_us, 0.05);
    assert!(host_bound(&found).is_some(), "{:?}", found.causes);
    assert!(read(&Hosted { waits: false, launch: 5.0, ..of }).0.idle_ps.iter().sum::<i64>() < 1_000_000_000);
}

/// GPUs that are never idle do not wait for the host.
#[test]
fn hosts_that_are_ahead_bind_nobody() {
    let found = answers(&read(&Hosted::default()).0);
    assert!(found.causes.is_empty(), "{:?}", found.causes);
}

/// If only one host is slow, that is a delay on its rank.
#[test]
fn one_slow_host_is_a_launch_delay_of_its_rank() {
    let of =
        Hosted { kernels: 200, kernel: 100.0, launch: 90.0, busy: Some((1, 9000.0)), ..Hosted::default() };
    let (job, step_us) = read(&of);
    let found = answers(&job);
    // In the first step, the host is less far ahead.
    assert_close(found.step_seconds * 1e6, step_us, 0.03);
    let first = &found.causes[0];
    assert_eq!((first.kind, &first.ranks[..]), (CauseKind::LaunchDelay, &[1][..]), "{:?}", found.causes);
    // Otherwise the GPU is never idle: kernels, all-reduce and optimizer.
    assert_close(found.step_seconds - first.seconds, 0.0221, 0.01);
    // What the host delays is the host's in the breakdown, too.
    let host = |rank: usize| found.breakdown.by_rank[rank].1.host;
    assert!(host(1) > 0.5 * first.seconds && host(0) < 0.1 * host(1), "{:?}", found.breakdown);
}

fn quiet() -> Synthetic {
    Synthetic { dp: 4, pp: 4, microbatches: 8, steps: 6, jitter: 0.0, ..Synthetic::default() }
}

/// The job with stalls of the given seconds within an operation of rank 6 (stage 1) in every second step.
fn stalled(of: &Synthetic, kind: Kind, microbatch: i32, stalls: &[f64]) -> Vec<Row> {
    let job = job_of(rows(of));
    let replays = Replays::new(&job).unwrap();
    let place = job.workers.iter().position(|worker| worker.rank == 6).unwrap();
    let is_hit = |step: i64, rank_6: bool, own: Kind, number: i32| {
        step % 2 == 1 && rank_6 && own == kind && number == microbatch
    };
    let changed = replays.changed(|step, at| {
        let own = Kind::ALL[at.op.kind as usize];
        let hit = is_hit(job.steps[step].number, at.worker == place, own, at.op.microbatch);
        let longer = if hit { (1e12 * stalls.iter().sum::<f64>()) as i64 } else { 0 };
        (at.takes + longer, at.delay)
    });
    let mut all = derive::rows(&changed);
    let hit: Vec<Row> =
        all.iter().filter(|row| is_hit(row.step, row.rank == 6, row.kind, row.microbatch)).copied().collect();
    for row in hit {
        // Operations of a kind are numbered in the order of their starts: the collection at the end of the step comes after these.
        let own = |other: &&mut Row| (other.step, other.rank, other.kind) == (row.step, row.rank, Kind::Gc);
        all.iter_mut().filter(own).for_each(|last| last.seq += stalls.len() as u32);
        let mut start = row.start + 0.002;
        for (seq, &duration) in (0..).zip(stalls) {
            let none = Row { chunk: -1, model_chunk: -1, microbatch: -1, ..row };
            all.push(Row { kind: Kind::Gc, seq, start, duration, ..none });
            start += duration + 0.003;
        }
    }
    all
}

fn mean(rows: &[Row], steps: u32) -> f64 {
    let end = |step: u32| {
        let of_step = rows.iter().filter(|row| row.step == i64::from(step));
        of_step.map(|row| row.start + row.duration).fold(0.0, f64::max)
    };
    (0..steps).map(end).sum::<f64>() / f64::from(steps)
}

/// Operations that depend on the computation wait for the collection, too, and a step ends after a collection within
/// the optimizer. S and the gain are those that were injected.
#[test]
fn a_collection_within_a_computation_delays_what_is_sent() {
    let of = quiet();
    // After its third forward, stage 1 waits for the first backward: two more forwards and two backwards of other stages, and what
    // lies between them. A collection takes that time first.
    let idle = 2.0 * of.forward + 2.0 * 2.0 * of.forward - 2.0 * of.forward + 4.0 * of.transfer;
    for (kind, microbatch, slack) in [
        (Kind::ForwardCompute, 2, idle),
        (Kind::BackwardCompute, 3, 0.0),
        (Kind::BackwardCompute, 7, 0.0),
        (Kind::Optimizer, -1, 0.0),
    ] {
        let all = stalled(&of, kind, microbatch, &[0.5, 0.3]);
        let (with, without) = (mean(&all, of.steps), mean_step(&of));
        let longer = (0.8 - slack) / 2.0;
        assert!((with - without - longer).abs() < 1e-9, "{} instead of {longer}", with - without);
        let job = job_of(all.clone());
        assert!(job.steps.iter().all(|step| step.columns == 4));
        let apart = answers(&job);
        // One more operation on one rank, which takes no time, joins all columns into one.
        let mut more = all;
        let last: Vec<Row> = more
            .iter()
            .filter(|row| row.rank == 5 && row.kind == Kind::LayernormGradsAllReduce)
            .copied()
            .collect();
        more.extend(last.iter().map(|row| Row { seq: 1, ..*row }));
        let job = job_of(more);
        assert!(job.steps.iter().all(|step| step.columns == 1));
        for found in [apart, answers(&job)] {
            assert!(found.replay_error.abs() < 1e-9, "{}", found.replay_error);
            assert!((found.s - with / without).abs() < 1e-6, "{} for {}", found.s, with / without);
            assert!((found.by_type["gc"] - found.s).abs() < 1e-6, "{:?}", found.by_type);
            let first = &found.causes[0];
            assert_eq!((first.kind, &first.ranks[..]), (CauseKind::GarbageCollection, &[6][..]), "{first:?}");
            assert!((first.seconds - (with - without)).abs() < 1e-6, "{first:?}");
            // 0.8 s in every second step.
            let [Evidence::TimePerStep { rank: Some(6), seconds, typical_seconds: 0.0 }] = first.evidence[..]
            else {
                panic!("{first:?}")
            };
            assert!((seconds - 0.4).abs() < 1e-9, "{first:?}");
        }
    }
}

/// A receive is posted long before it is needed: a collection while it is pending stops the host all the same.
#[test]
fn a_collection_while_a_receive_is_pending_counts() {
    let stall = Fault { dp_rank: 1, stage: 0, from_step: 0, what: Defect::Stall(0.3) };
    let of = Synthetic { dp: 4, pp: 2, ..quiet() };
    let with = Synthetic { faults: vec![stall], ..of.clone() };
    let mut all = rows(&with);
    for step in 0..i64::from(of.steps) {
        let own = |row: &&Row| (row.step, row.rank) == (step, 1);
        let forward = all.iter().filter(own).find(|row| row.kind == Kind::ForwardCompute && row.seq == 0);
        let forward = *forward.unwrap();
        let receive = |row: &&mut Row| own(&&**row) && row.kind == Kind::BackwardRecv && row.seq == 0;
        for row in all.iter_mut().filter(receive) {
            row.duration += row.start - (forward.start - 0.3);
            row.start = forward.start - 0.3;
        }
        all.iter_mut().filter(|row| own(&&**row) && row.kind == Kind::Gc).for_each(|row| row.seq += 1);
        let none = Row { chunk: -1, model_chunk: -1, microbatch: -1, ..forward };
        all.push(Row { kind: Kind::Gc, seq: 0, start: forward.start - 0.299, duration: 0.298, ..none });
    }
    let found = answers(&job_of(all));
    let first = &found.causes[0];
    assert_eq!(
        (first.kind, &first.ranks[..]),
        (CauseKind::GarbageCollection, &[1][..]),
        "{:?}",
        found.causes
    );
    let truth = mean_step(&with) - mean_step(&of);
    assert!((first.seconds - truth).abs() < 0.01, "{} for {truth}", first.seconds);
}

/// Placeholders are neither counted nor written, and reading the written table gives the same job.
#[test]
fn tables_go_there_and_back() {
    let mut of = quiet();
    (of.steps, of.jitter) = (4, 0.02);
    let mut all = stalled(&of, Kind::ForwardCompute, 2, &[0.25, 0.125]);
    // Two chunks on every stage.
    for row in all.iter_mut().filter(|row| row.kind != Kind::Gc) {
        let second = row.kind == Kind::ParamsAllGather || row.kind.is_compute() && row.microbatch % 2 == 1;
        if second {
            row.chunk = 1;
        }
        if row.kind.is_compute() {
            row.model_chunk = row.chunk * 4 + row.stage as i32;
        }
    }
    let job = job_of(all.clone());
    assert!(job.steps.iter().all(|step| step.columns == 4) && !job.fillers.is_empty());
    let written = derive::rows(&job);
    assert_eq!((written.len(), answers(&job).operations), (all.len(), all.len()));
    let same = |row: &Row| {
        let times = (1e12 * row.duration).round() as i64;
        (row.step, row.rank, row.kind, row.seq, row.chunk, row.model_chunk, row.microbatch, times)
    };
    let sorted = |rows: &[Row]| {
        let mut keys: Vec<_> = rows.iter().map(same).collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(sorted(&written), sorted(&all));
    // The same holds for copies.
    let wide = copied(&job, 3).unwrap();
    assert_eq!((wide.operations(), derive::rows(&wide).len()), (3 * all.len(), 3 * all.len()));
    let known = |answers: Answers| (answers.s, answers.causes[0].gain);
    assert_eq!(known(answers(&wide)), known(answers(&job)));
    assert_eq!(job_of(written), job);
}

/// Rank 2 loads data, or collects garbage, before it takes part in the first all-gather; all others wait for it
/// there.
#[test]
fn an_all_gather_waits_for_the_host() {
    let of = Synthetic { pp: 1, ..quiet() };
    for (kind, cause) in [(Kind::DataLoad, CauseKind::DataLoading), (Kind::Gc, CauseKind::GarbageCollection)]
    {
        let takes = |rank: u32| if rank == 2 { 0.5 } else { 0.01 };
        let mut all = rows(&of);
        for row in &mut all {
            row.start += 0.5;
            if row.kind == Kind::ParamsAllGather {
                row.start = takes(row.rank);
                row.duration += 0.5 - takes(row.rank);
            }
            if row.kind == kind {
                row.seq += 1;
            }
        }
        let gathers: Vec<Row> = all.iter().filter(|row| row.kind == Kind::ParamsAllGather).copied().collect();
        all.extend(gathers.iter().map(|gather| Row {
            kind,
            start: 0.0,
            duration: takes(gather.rank),
            chunk: -1,
            ..*gather
        }));
        let found = answers(&job_of(all));
        assert!(found.replay_error.abs() < 1e-9, "{}", found.replay_error);
        let first = found.causes.first().unwrap_or_else(|| panic!("S = {}", found.s));
        assert_eq!((first.kind, &first.ranks[..]), (cause, &[2][..]), "{first:?}");
        // Without collections nothing is left, but loading takes 10 ms on all other ranks.
        let gain = if kind == Kind::Gc { 0.5 } else { 0.49 };
        assert!((first.seconds - gain).abs() < 1e-9, "{first:?}");
    }
}
