//! Imports of synthetic recordings with known contents.

mod formats;
pub mod hosts;
mod real;
mod synthetic;

use std::path::PathBuf;
use straggler_trace::Function;
use straggler_training::whatif::{CopyError, copied};
use straggler_training::{ImportError, Job, Role, Sizes, import, trace};
use synthetic::{Rank, Wait, write};

const US: i64 = 1_000_000;

fn notes(job: &Job) -> String {
    job.notes.join("\n")
}

/// Instances of a class in a step on a rank: start and duration in µs, in order of start.
fn of_class(job: &Job, step: usize, rank: u32, class: &str) -> Vec<(i64, i64)> {
    let first = job.instances(step).start;
    let mut found: Vec<(i64, i64)> = (job.shape(step).ops.iter().enumerate())
        .filter(|(_, op)| job.kinds[usize::from(op.kind)].class == class)
        .filter(|(place, _)| job.workers[job.worker(step, 0, *place)].rank == rank)
        .map(|(place, _)| (job.start[first + place] / US, job.duration[first + place] / US))
        .collect();
    found.sort_unstable();
    found
}

/// By operation of a class on a rank: the classes of the operations that it waits for.
fn waits_for(job: &Job, rank: u32, class: &str) -> Vec<Vec<String>> {
    let shape = job.shape(0);
    let class_of = |op: usize| job.kinds[usize::from(shape.ops[op].kind)].class.clone();
    let mut ops: Vec<usize> = (0..shape.ops.len())
        .filter(|&op| class_of(op) == class && job.workers[job.worker(0, 0, op)].rank == rank)
        .collect();
    ops.sort_by_key(|&op| job.start[op]);
    ops.iter()
        .map(|&op| shape.graph.before.get(op).iter().map(|&before| class_of(before as usize)).collect())
        .collect()
}

#[test]
fn kernels_become_runs_and_collectives_meet() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[Rank::new(0, 2), Rank::new(1, 2)]);
    let job = import(&[folder.path().into()]).unwrap();
    assert!(job.synthetic);
    assert_eq!(job.workers.iter().map(|worker| worker.rank).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(job.steps.iter().map(|step| step.number).collect::<Vec<_>>(), [1, 2, 3]);
    // All steps do the same.
    assert_eq!(job.shapes.len(), 1);
    // Kernels at 10 to 40, 45 to 75 and 100 to 130 µs before the all-reduce, which starts at 140: 90 µs of work,
    // placed so that it ends at 130.
    assert_eq!(of_class(&job, 0, 0, "forward"), [(40, 90)]);
    assert_eq!(of_class(&job, 0, 0, "all_reduce"), [(140, 200)]);
    // Starts 5 µs after the all-reduce.
    assert_eq!(of_class(&job, 0, 0, "backward"), [(345, 50)]);
    // The first step begins with its mark, the others when the GPU has done the step before: 1605 µs before that.
    assert_eq!(of_class(&job, 0, 0, "launch-delay"), [(0, 0)]);
    assert_eq!(of_class(&job, 1, 0, "forward"), [(1645, 90)]);
    assert_eq!(waits_for(&job, 0, "forward"), [["launch-delay"]]);
    assert_eq!(waits_for(&job, 0, "all_reduce"), [["forward"]]);
    let mut backward = waits_for(&job, 0, "backward").remove(0);
    backward.sort();
    assert_eq!(backward, ["all_reduce", "forward"]);
    let graph = &job.shape(0).graph;
    assert_eq!((graph.groups.len(), graph.groups.get(0).len()), (1, 2));
    let kind = job.kinds.iter().find(|kind| kind.role == Role::Communication).unwrap();
    assert_eq!(kind.name, "all_reduce (dp) 4096 bytes");
    assert!(!notes(&job).contains("order within the step"), "{}", notes(&job));
}

#[test]
fn both_schemes_of_kernel_names_and_gzip_give_the_same_job() {
    let read = |rank: &dyn Fn(u32) -> Rank| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &[rank(0), rank(1)]);
        let mut job = import(&[folder.path().into()]).unwrap();
        job.source.clear();
        job
    };
    let plain = read(&|rank| Rank::new(rank, 2));
    assert_eq!(read(&|rank| Rank { old_names: true, ..Rank::new(rank, 2) }), plain);
    assert_eq!(read(&|rank| Rank { gzip: true, ..Rank::new(rank, 2) }), plain);
}

#[test]
fn clocks_are_aligned_by_the_ends_of_collectives() {
    let folder = tempfile::tempdir().unwrap();
    // Rank 1's clock is 5 ms ahead, and it comes 60 µs late to the all-reduce.
    let late = Rank { clock_us: 5000.0, late_us: 60.0, ..Rank::new(1, 3) };
    write(folder.path(), &[Rank::new(0, 3), late, Rank::new(2, 3)]);
    let job = import(&[folder.path().into()]).unwrap();
    assert_eq!(of_class(&job, 0, 1, "all_reduce"), [(200, 140)]);
    assert_eq!(of_class(&job, 0, 0, "all_reduce"), [(140, 200)]);
    let notes = notes(&job);
    assert!(notes.contains("largest offset is 5000.0 µs (rank 1)"), "{notes}");
    assert!(notes.contains("by 0 s (median) and 0 s (maximum)"), "{notes}");
}

/// A rank that has sent all of a broadcast leaves it before the others have received it.
#[test]
fn broadcasts_say_nothing_of_clocks() {
    for clock_us in [0.0, 5000.0] {
        let folder = tempfile::tempdir().unwrap();
        let of = |rank| Rank { broadcast_us: Some(20.0), ..Rank::new(rank, 3) };
        write(folder.path(), &[of(0), Rank { clock_us, ..of(1) }, of(2)]);
        let job = import(&[folder.path().into()]).unwrap();
        let notes = notes(&job);
        assert_eq!(notes.contains("largest offset is 5000.0 µs (rank 1)"), clock_us > 0.0, "{notes}");
        assert!(!notes.contains("could not be compared"), "{notes}");
        for rank in 1..3 {
            let [one, other] = [0, rank].map(|rank| of_class(&job, 0, rank, "all_reduce"));
            assert_eq!(one, other, "rank {rank}: {notes}");
        }
    }
}

#[test]
fn clocks_that_jump_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let jumps = Rank { jump_us: 30_000.0, ..Rank::new(1, 3) };
    write(folder.path(), &[Rank::new(0, 3), jumps, Rank::new(2, 3)]);
    let notes = notes(&import(&[folder.path().into()]).unwrap());
    assert!(notes.contains("Clocks jump during the recording: rank 1 by 30.0 ms at step 2."), "{notes}");
    assert!(!notes.contains("rank 0 by"), "{notes}");
}

/// A clock jumps at an unknown moment between two collectives: their steps are left out, and the others are aligned.
#[test]
fn parts_before_and_after_a_jump_are_aligned_apart() {
    let folder = tempfile::tempdir().unwrap();
    let of = |rank| Rank { steps: (1..9).collect(), ..Rank::new(rank, 3) };
    let jumps = Rank { jump_us: 30_000.0, jump_at: 5, clock_us: 5000.0, ..of(1) };
    write(folder.path(), &[of(0), jumps, of(2)]);
    let job = import(&[folder.path().into()]).unwrap();
    assert_eq!(job.steps.iter().map(|step| step.number).collect::<Vec<_>>(), [1, 2, 3, 6, 7, 8]);
    assert_eq!(job.steps_left_out, 2);
    for step in 0..6 {
        assert_eq!(of_class(&job, step, 1, "all_reduce"), of_class(&job, step, 0, "all_reduce"));
        assert_eq!(of_class(&job, step, 1, "forward"), of_class(&job, step, 0, "forward"));
    }
    let notes = notes(&job);
    assert!(
        notes.contains("rank 1 by 30.0 ms at step 5. Steps before and after a jump were aligned separately"),
        "{notes}"
    );
    assert!(notes.contains("a clock may jump within them: steps 4 and 5."), "{notes}");
}

#[test]
fn ranks_of_another_run_are_named_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let other = Rank { numbers_ahead: 1000, ..Rank::new(1, 3) };
    let files = write(folder.path(), &[Rank::new(0, 3), other, Rank::new(2, 3)]);
    let job = import(&files).unwrap();
    assert_eq!(job.workers.iter().map(|worker| worker.rank).collect::<Vec<_>>(), [0, 2]);
    assert_eq!((job.steps.len(), job.shape(0).graph.groups.get(0).len()), (3, 2));
    let notes = notes(&job);
    assert!(
        notes.contains("Left out: rank 1 (rank1.json). No collective there has the sequence number"),
        "{notes}"
    );
    // Of two ranks, either may be the stranger.
    let error = import(&files[..2]).unwrap_err().to_string();
    assert!(error.contains("no sequence number in common"), "{error}");
}

#[test]
fn steps_are_renumbered_by_the_numbers_of_collectives() {
    let read = |ahead: [i64; 3]| {
        let folder = tempfile::tempdir().unwrap();
        let of = |rank: u32| Rank { steps_ahead: ahead[rank as usize], ..Rank::new(rank, 3) };
        write(folder.path(), &[of(0), of(1), of(2)]);
        import(&[folder.path().into()]).unwrap()
    };
    let (plain, off) = (read([0, 0, 0]), read([0, 1, 0]));
    assert_eq!((&off.steps, &off.shapes, &off.start), (&plain.steps, &plain.shapes, &plain.start));
    assert!(notes(&off).contains("are in steps with different numbers: rank 1 by -1."), "{}", notes(&off));
    assert!(!notes(&plain).contains("Step numbers were shifted"), "{}", notes(&plain));
    // The first rank is not always right.
    let off = read([-2, 0, 0]);
    assert_eq!((&off.steps, &off.start), (&plain.steps, &plain.start));
    assert!(notes(&off).contains("rank 0 by 2."), "{}", notes(&off));
}

/// If all groups contain all ranks, the job is plainly data parallel.
#[test]
fn ranks_that_are_all_alike_are_data_parallel() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[Rank::new(0, 3), Rank::new(1, 3), Rank::new(2, 3)]);
    let job = import(&[folder.path().into()]).unwrap();
    assert!(job.workers.iter().all(|worker| (worker.dp_rank, worker.stage) == (worker.rank, 0)));
    assert_eq!((job.dp_ranks(), job.stages()), (3, 1));
    assert!(!notes(&job).contains("stage"), "{}", notes(&job));
    assert!(job.remarks.iter().any(|remark| remark.contains("each is treated as a data-parallel rank")));
}

#[test]
fn events_that_are_no_json_are_named_and_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[Rank::new(0, 1)]);
    let text = std::fs::read_to_string(&files[0]).unwrap();
    // The launch of the first kernel: without it, the kernel was launched before the recording.
    let at = text.find("{\"ph\": \"X\", \"cat\": \"cuda_runtime\"").unwrap();
    let (before, event) = text.split_at(at);
    std::fs::write(&files[0], format!("{before}{}", event.replacen("\"dur\": 1.500", "\"dur\": oops", 1)))
        .unwrap();
    let job = import(&files).unwrap();
    assert_eq!(job.steps.iter().map(|step| step.number).collect::<Vec<_>>(), [1, 2, 3]);
    let wanted = format!(
        "rank0.json: one place is not valid JSON, the first at byte {at}: the event there is left out"
    );
    assert!(notes(&job).contains(&wanted), "{}", notes(&job));
}

#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let no_third = Rank { steps: vec![1, 2], ..Rank::new(0, 4) };
    let open = Rank { open_step: Some(1), ..Rank::new(2, 4) };
    write(folder.path(), &[no_third, open]);
    let job = import(&[folder.path().into()]).unwrap();
    assert_eq!(job.steps.iter().map(|step| step.number).collect::<Vec<_>>(), [2]);
    let notes = notes(&job);
    assert!(
        notes.contains("The job has 4 ranks, of which 2 were recorded: ranks 1 and 3 are missing"),
        "{notes}"
    );
    assert!(notes.contains("step 1 (it has no end on rank 2)"), "{notes}");
    assert!(notes.contains("not all ranks recorded them: step 3 (1 of 2 ranks)"), "{notes}");
}

#[test]
fn collectives_without_a_partner_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let without = Rank { without_collective: Some(2), ..Rank::new(1, 2) };
    write(folder.path(), &[Rank::new(0, 2), without]);
    let job = import(&[folder.path().into()]).unwrap();
    let groups: Vec<usize> = (0..3).map(|step| job.shape(step).graph.groups.len()).collect();
    assert_eq!(groups, [1, 0, 1]);
    let notes = notes(&job);
    assert!(
        notes.contains("1 communication lacks a partner: number 2 of group 0 (dp) in step 2 (1 of 2 ranks)"),
        "{notes}"
    );
}

#[test]
fn without_numbers_or_steps_order_counts() {
    let folder = tempfile::tempdir().unwrap();
    let rank = |rank| Rank { seq: false, profiler_steps: false, ..Rank::new(rank, 2) };
    write(folder.path(), &[rank(0), rank(1)]);
    let job = import(&[folder.path().into()]).unwrap();
    assert_eq!((job.steps.len(), job.steps[0].number), (1, 0));
    assert_eq!(job.shape(0).graph.groups.len(), 3);
    let notes = notes(&job);
    assert!(notes.contains("matched across ranks by their order"), "{notes}");
    assert!(notes.contains("No ProfilerStep was recorded"), "{notes}");
}

#[test]
fn recorded_waits_count_instead_of_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    // The only recorded wait is that of the backward pass for the all-reduce.
    let rank = Rank { wait: Wait::Recorded, ..Rank::new(0, 1) };
    write(folder.path(), &[rank]);
    let job = import(&[folder.path().into()]).unwrap();
    assert_eq!(waits_for(&job, 0, "all_reduce"), [Vec::<String>::new()]);
    let mut backward = waits_for(&job, 0, "backward").remove(0);
    backward.sort();
    assert_eq!(backward, ["all_reduce", "forward"]);
}

#[test]
fn ranks_of_two_jobs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[Rank::new(0, 2), Rank::new(1, 4)]);
    let error = import(&files).unwrap_err();
    assert!(
        matches!(&error, ImportError::TwoJobs { first, second, .. } if *first == files[0] && *second == files[1])
    );
    assert!(error.to_string().contains("one has 2 ranks, the other 4"), "{error}");
    let says = |files: &[PathBuf], wanted: &str| {
        let error = import(files).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    };
    says(&[files[0].clone(), files[0].clone()], "rank0.json is given twice: give it once");
    let copy = folder.path().join("copy.json");
    std::fs::copy(&files[0], &copy).unwrap();
    says(&[files[0].clone(), copy.clone()], "copy.json is a copy of ");
    std::fs::write(&copy, Rank { late_us: 1.0, ..Rank::new(0, 2) }.json()).unwrap();
    says(&[files[0].clone(), copy], "both have rank 0");
}

#[test]
fn half_a_trace_is_used_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let files = write(folder.path(), &[Rank::new(0, 1)]);
    let text = std::fs::read(&files[0]).unwrap();
    // The last events are those of step 3.
    let cut = text.len() - 300;
    std::fs::write(&files[0], &text[..cut]).unwrap();
    let job = import(&files).unwrap();
    assert_eq!((job.steps.len(), job.steps_left_out), (2, 1));
    assert!(notes(&job).contains("rank0.json: the JSON is truncated or damaged at byte"), "{}", notes(&job));
    std::fs::write(&files[0], &text[..400]).unwrap();
    let error = import(&files).unwrap_err().to_string();
    assert!(error.contains("rank0.json: it has") && error.contains("no GPU kernel before byte"), "{error}");
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(import(&[]), Err(ImportError::NoFiles)));
    assert!(matches!(import(&[folder.path().into()]), Err(ImportError::EmptyFolder { .. })));
    assert!(matches!(import(&[folder.path().join("none")]), Err(ImportError::Io { .. })));
    let other: PathBuf = folder.path().join("other.txt");
    for text in ["", "{}", "[1, 2]", "rank,step\n0,1\n", "\u{1}\u{2}\u{3}", "\u{1f}\u{8b}"] {
        std::fs::write(&other, text).unwrap();
        assert!(import(std::slice::from_ref(&other)).is_err(), "{text:?}");
    }
    std::fs::write(&other, "").unwrap();
    assert!(matches!(import(&[other]), Err(ImportError::EmptyFile { .. })));
    write(folder.path(), &[Rank::new(0, 1)]);
    let job = import(&[folder.path().into()]).unwrap();
    assert!(notes(&job).contains("skipped, not recordings: other.txt (empty)"), "{}", notes(&job));
}

/// Kernels as calls: a collective begins when its kernel starts, and is awaited when nothing is left to compute without it.
#[test]
fn kernels_become_calls() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[Rank::new(0, 2), Rank { late_us: 60.0, ..Rank::new(1, 2) }]);
    let job = import(&[folder.path().into()]).unwrap();
    let trace = trace(&job, Sizes::new(&job)).unwrap();
    for (rank, waited) in trace.ranks.iter().zip([200, 140]) {
        let of = |wanted: Function| rank.calls.iter().filter(move |call| call.function == wanted);
        let begun: Vec<(u64, u64)> =
            of(Function::Iallreduce).map(|call| (call.sent, call.received)).collect();
        assert_eq!(begun, [(4096, 4096); 3]);
        let waits: Vec<u64> =
            of(Function::Waitall).map(|call| (call.exit.ps() - call.enter.ps()) / US as u64).collect();
        assert_eq!(waits, [waited; 3]);
    }
    // Both end a step together, 55 µs after the collective.
    let ends = |rank: usize| trace.ranks[rank].calls.last().unwrap().exit;
    assert_eq!(ends(0), ends(1));
    assert_eq!(trace.communicators.len(), 2);
    assert!(trace.communicators[1].name.starts_with("data parallel"), "{:?}", trace.communicators);
}

/// If all ranks communicate with each other, so do their copies.
#[test]
fn copies_of_kernels_meet_in_the_same_collectives() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[Rank::new(0, 2), Rank::new(1, 2)]);
    let job = import(&[folder.path().into()]).unwrap();
    let wide = copied(&job, 3).unwrap();
    assert_eq!(wide.workers.iter().map(|worker| worker.rank).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    let groups = &wide.shape(0).graph.groups;
    assert_eq!((groups.len(), groups.get(0).len()), (1, 6));
    for rank in 0..6 {
        assert_eq!(of_class(&wide, 1, rank, "all_reduce"), of_class(&job, 1, rank % 2, "all_reduce"));
    }
    assert_eq!(trace(&wide, Sizes::new(&wide)).unwrap().communicators[1].members.len(), 6);
    // Two groups of two ranks each, of unknown purpose.
    let folder = tempfile::tempdir().unwrap();
    let of = |rank: u32| Rank { group: Some([rank / 2 * 2, rank / 2 * 2 + 1]), ..Rank::new(rank, 4) };
    write(folder.path(), &[of(0), of(1), of(2), of(3)]);
    assert_eq!(copied(&import(&[folder.path().into()]).unwrap(), 2).unwrap_err(), CopyError::Unknown);
}
