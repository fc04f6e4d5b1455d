//! Profiles of hosts that are far ahead of their GPUs, or behind them.

use super::answers;
use super::import::hosts::{Hosted, write};
use straggler_training::exact::{Answers, Cause, CauseKind, Evidence};
use straggler_training::{Job, import};

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
