//! Imports of real recordings from the folder in `STRAGGLER_TRACES`, and of unpacked archives from the folder in
//! `STRAGGLER_TRACES_UNPACKED`. Without these variables, the tests are skipped.

use std::io::Write;
use std::path::PathBuf;
use straggler_training::{Job, Role, import};

fn folder(variable: &str, path: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    let why = match &folder {
        None => format!("{variable} does not name the folder of {path}"),
        Some(folder) if !folder.join(path).exists() => {
            format!("{} is not there", folder.join(path).display())
        }
        Some(folder) => return Some(folder.join(path)),
    };
    // Not with `eprintln!`, whose output is captured for tests that pass.
    let name = std::thread::current().name().unwrap_or("a test").to_string();
    let _ = writeln!(std::io::stderr(), "skipped: {name}, as {why}");
    None
}

fn traces(path: &str) -> Option<PathBuf> {
    folder("STRAGGLER_TRACES", path)
}

fn unpacked(path: &str) -> Option<PathBuf> {
    folder("STRAGGLER_TRACES_UNPACKED", path)
}

fn show(job: &Job) {
    eprintln!(
        "{}: {} workers, {} steps, {} kinds",
        job.source,
        job.workers.len(),
        job.steps.len(),
        job.kinds.len()
    );
    for step in 0..job.steps.len() {
        let graph = &job.shape(step).graph;
        eprintln!(
            "  step {}: {} ops, {} edges, {} groups, shape {}",
            job.steps[step].number,
            graph.ops(),
            graph.before.items(),
            graph.groups.len(),
            job.steps[step].shape
        );
    }
    job.notes.iter().for_each(|note| eprintln!("  - {note}"));
}

fn says(job: &Job, words: &str) -> bool {
    job.notes.iter().any(|note| note.contains(words))
}

/// By group of a step, in order of their first start: starts and ends by worker, in µs.
fn meetings(job: &Job, step: usize) -> Vec<Vec<(u32, f64, f64)>> {
    let shape = job.shape(step);
    let first = job.instances(step).start;
    let mut meetings: Vec<Vec<(u32, f64, f64)>> = (0..shape.graph.groups.len())
        .map(|group| {
            let of = |&op: &u32| {
                let start = job.start[first + op as usize] as f64 / 1e6;
                let rank = job.workers[job.worker(step, 0, op as usize)].rank;
                (rank, start, start + job.duration[first + op as usize] as f64 / 1e6)
            };
            shape.graph.groups.get(group).iter().map(of).collect()
        })
        .collect();
    let begin = |of: &[(u32, f64, f64)]| of.iter().map(|&(_, start, _)| start).fold(f64::INFINITY, f64::min);
    meetings.sort_by(|a, b| begin(a).total_cmp(&begin(b)));
    meetings
}

fn spread(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().fold(f64::NEG_INFINITY, f64::max) - values.fold(f64::INFINITY, f64::min)
}

/// Starts and ends are those of the trace's own events; clocks are shifted by a few µs.
#[test]
fn dlrm_ranks_meet_in_eight_collectives() {
    let Some(path) = unpacked("dlrm_kineto") else { return };
    let job = import(&[path]).unwrap();
    show(&job);
    assert_eq!(job.workers.iter().map(|worker| worker.rank).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert_eq!((job.steps.len(), job.steps[0].number), (1, 10));
    let meetings = meetings(&job, 0);
    assert_eq!(meetings.len(), 8);
    let expected = [7624.0, 1101.0, 168.0, 125.0, 223.0, 534.0, 584.0, 885.0];
    for (meeting, expected) in meetings.iter().zip(expected) {
        assert_eq!(meeting.len(), 8);
        let starts = spread(meeting.iter().map(|&(_, start, _)| start));
        let ends = spread(meeting.iter().map(|&(_, _, end)| end));
        assert!((starts - expected).abs() < 8.0, "{starts} {expected}");
        assert!(ends <= 7.0, "{ends}");
    }
    let mut last: Vec<u32> =
        meetings.iter().map(|meeting| meeting.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0).collect();
    last.sort_unstable();
    last.dedup();
    assert_eq!(last, [4, 5, 7]);
    // All ranks are on one host.
    assert!(job.remarks.iter().any(|remark| remark.contains("Clocks agree")), "{:?}", job.remarks);
    assert!(says(&job, "by their order within the step"));
    assert!(job.kinds.iter().any(|kind| kind.class == "all_to_all"), "{:?}", job.kinds);
}

#[test]
fn a_rank_of_two_is_named_missing() {
    let Some(path) = traces("kineto/nccl_data.json.gz") else { return };
    let job = import(&[path]).unwrap();
    show(&job);
    assert!(says(&job, "The job has 2 ranks, of which 1 was recorded: rank 1 is missing"));
    assert_eq!(job.steps.iter().map(|step| step.number).collect::<Vec<_>>(), [4, 5, 6]);
    let communications = |step: usize| {
        let is = |op: &straggler_training::Op| job.kinds[usize::from(op.kind)].role == Role::Communication;
        job.shape(step).ops.iter().filter(|op| is(op)).count()
    };
    assert!((0..3).all(|step| communications(step) == communications(0)));
    // Steps that do the same have the same shape, whatever their times.
    assert_eq!(job.shapes.len(), 1, "{:?}", job.steps);
    assert!(
        job.kinds.iter().any(|kind| kind.name == "all_reduce (default_pg) 8196000 bytes"),
        "{:?}",
        job.kinds
    );
}

#[test]
fn chakra_graphs_are_kept() {
    let Some(path) = unpacked("tests/data/chakra.0.et") else { return };
    let job = import(&[path]).unwrap();
    show(&job);
    assert_eq!(job.shape(0).ops.len(), 3664);
    assert!(says(&job, "3664 nodes, 21 of them collectives"), "{:?}", job.notes);
    assert!(says(&job, "no start times"));
}

#[test]
fn chakra_messages_connect_ranks() {
    let Some(folder) = traces("chakra") else { return };
    let files: Vec<PathBuf> = (0..8).map(|rank| folder.join(format!("custom_allreduce.{rank}.et"))).collect();
    let job = import(&files).unwrap();
    show(&job);
    assert_eq!((job.workers.len(), job.shape(0).ops.len()), (8, 8 * 35));
    // Each of the 14 messages of a rank has its receiver; each node but the first waits for the previous one.
    assert_eq!(job.shape(0).graph.before.items(), 8 * (34 + 14));
    assert!(says(&job, "communications have no durations"));
    // Seven sums of 7 µs, one after the other.
    let end = |instance: usize| job.start[instance] + job.duration[instance];
    assert_eq!(job.instances(0).map(end).max(), Some(49_000_000));
}

#[test]
fn execution_traces_have_order_but_no_times() {
    if let Some(path) = unpacked("dlrm_pytorch_et") {
        let job = import(&[path]).unwrap();
        show(&job);
        assert_eq!(job.workers.len(), 8);
        assert_eq!(job.shape(0).graph.groups.len(), 8);
        assert!(says(&job, "have no times"));
    }
    if let Some(path) = traces("chakra/resnet_2gpu_et.json.gz") {
        let job = import(&[path]).unwrap();
        show(&job);
        assert_eq!(job.steps.iter().map(|step| step.number).collect::<Vec<_>>(), [4, 5, 6]);
    }
}
