//! Jobs that are written as PyTorch profiler files and read again are the same jobs.

use proptest::prelude::*;
use std::path::Path;
use straggler_training::exact::{Answers, Cause, CauseKind, Replays, analyse};
use straggler_training::synthetic::{Defect, Fault, Synthetic, rows};
use straggler_training::{Job, Kind, Kineto, Row, derive, import};

fn write(rows: &[Row], folder: &Path) {
    let files = Kineto::new(rows, true);
    for rank in files.ranks() {
        let mut text = Vec::new();
        files.write(rank, &mut text).unwrap();
        std::fs::write(folder.join(format!("rank-{rank}.json")), text).unwrap();
    }
}

fn read_again(rows: &[Row]) -> Job {
    let folder = tempfile::tempdir().unwrap();
    write(rows, folder.path());
    import(&[folder.path().into()]).unwrap()
}

/// Step, rank, kind, number, start within the step and duration in picoseconds, and the rest.
type Flat = (i64, u32, Kind, u32, i64, i64, [i32; 5]);

/// Rows in a canonical order.
fn sorted(rows: &[Row]) -> Vec<Flat> {
    let first = |step: i64| {
        let of_step = rows.iter().filter(|row| row.step == step);
        of_step.map(|row| row.start).fold(f64::INFINITY, f64::min)
    };
    let ps = |seconds: f64| (seconds * 1e12).round() as i64;
    let firsts: std::collections::BTreeMap<i64, f64> =
        rows.iter().map(|row| (row.step, first(row.step))).collect();
    let mut list: Vec<Flat> = rows
        .iter()
        .map(|row| {
            let place = [row.dp_rank as i32, row.stage as i32, row.chunk, row.model_chunk, row.microbatch];
            (
                row.step,
                row.rank,
                row.kind,
                row.seq,
                ps(row.start - firsts[&row.step]),
                ps(row.duration),
                place,
            )
        })
        .collect();
    list.sort_unstable();
    list
}

fn answers(job: &Job) -> Answers {
    let mut answers = analyse(&Replays::new(job).unwrap(), None);
    answers.notes.clear();
    answers.remarks.clear();
    answers
}

fn fault() -> impl Strategy<Value = Defect> {
    prop_oneof![
        (1.1..4.0).prop_map(Defect::Slow),
        (2.0..60.0).prop_map(|times| Defect::Link { times, with: None }),
        (0.01..2.0).prop_map(Defect::Stall)
    ]
}

fn job() -> impl Strategy<Value = Synthetic> {
    let shape = (1u32..5, 1u32..5, 1u32..7, 1u32..4);
    let faults = proptest::collection::vec((fault(), any::<[u32; 3]>()), 0..3);
    let shares = (0.0..0.3, 0.0..0.4, 0.0..0.5);
    (shape, faults, shares, any::<u64>()).prop_map(|((dp, pp, microbatches, steps), faults, shares, seed)| {
        Synthetic {
            dp,
            pp,
            microbatches,
            steps,
            jitter: shares.0,
            lengths: shares.1,
            last_stage: shares.2,
            seed,
            faults: (faults.into_iter())
                .map(|(what, [a, b, c])| Fault { dp_rank: a % dp, stage: b % pp, from_step: c % steps, what })
                .collect(),
            ..Synthetic::default()
        }
    })
}

proptest! {
    #[test]
    fn jobs_that_are_written_are_read_again(of in job()) {
        let written = rows(&of);
        let read = read_again(&written);
        prop_assert!(read.synthetic);
        let table = derive::job(written.clone(), "").unwrap();
        prop_assert_eq!(sorted(&straggler_training::rows(&read)), sorted(&written), "{:?}", read.notes);
        prop_assert_eq!(&read.workers, &table.workers);
        prop_assert_eq!(&read.shapes, &table.shapes);
        prop_assert_eq!(format!("{:?}", answers(&read)), format!("{:?}", answers(&table)));
    }
}

fn small() -> Synthetic {
    Synthetic { dp: 2, pp: 3, microbatches: 4, steps: 2, ..Synthetic::default() }
}

/// Writes a small job, changes the text of its files, and reads it.
fn read_changed(of: &Synthetic, change: impl Fn(u32, String) -> String) -> Job {
    let folder = tempfile::tempdir().unwrap();
    write(&rows(of), folder.path());
    for rank in 0..of.dp * of.pp {
        let path = folder.path().join(format!("rank-{rank}.json"));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, change(rank, text)).unwrap();
    }
    import(&[folder.path().into()]).unwrap()
}

/// Replaces `PP:1F3` by other names of passes.
fn passes(text: &str, named: impl Fn(&str, &str) -> String) -> String {
    let mut parts = text.split("\"PP:");
    let mut new = parts.next().unwrap().to_string();
    for part in parts {
        let (name, rest) = part.split_once('"').unwrap();
        let at = name.find(['F', 'B']).unwrap();
        let phase = if name.as_bytes()[at] == b'F' { "Forward" } else { "Backward" };
        new += &format!("\"{}\"{rest}", named(phase, &name[at + 1..]));
    }
    new
}

const DESCRIPTIONS: [&str; 4] = [
    "DATA_PARALLEL_GROUP",
    "PIPELINE_MODEL_PARALLEL_GROUP",
    "TENSOR_MODEL_PARALLEL_GROUP",
    "EMBEDDING_GROUP",
];

fn undescribed(text: String) -> String {
    DESCRIPTIONS.iter().fold(text, |text, description| text.replace(description, "undefined"))
}

#[test]
fn other_names_of_passes_and_groups_are_understood() {
    let of = small();
    let wanted = sorted(&rows(&of));
    let same = |job: Job| assert_eq!(sorted(&straggler_training::rows(&job)), wanted, "{:?}", job.notes);
    same(read_changed(&of, |_, text| passes(&text, |phase, number| format!("{phase} {number}"))));
    same(read_changed(&of, |_, text| passes(&text, |phase, number| format!("{phase}_microbatch {number}"))));
    let mesh = |_, text: String| {
        let text =
            text.replace("DATA_PARALLEL_GROUP", "mesh_dp").replace("TENSOR_MODEL_PARALLEL_GROUP", "mesh_tp");
        text.replace("PIPELINE_MODEL_PARALLEL_GROUP", "mesh_pp")
    };
    same(read_changed(&of, mesh));
    // Only the host has the metadata, as with profilers that do not write it for kernels.
    same(read_changed(&of, |_, text| {
        let line = |line: &str| match line.find(", \"Collective name\"") {
            Some(at) if line.contains("\"kernel\"") => format!("{}}}}},", &line[..at]),
            _ => line.to_string(),
        };
        text.lines().map(line).collect::<Vec<String>>().join("\n")
    }));
}

#[test]
fn places_follow_from_lists_of_ranks_where_groups_have_no_description() {
    let of = small();
    let job = read_changed(&of, |_, text| undescribed(text));
    let place = |rank: u32| {
        let worker = job.workers.iter().find(|worker| worker.rank == rank).unwrap();
        (worker.dp_rank, worker.stage)
    };
    assert_eq!((0..6).map(place).collect::<Vec<_>>(), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
    assert!(job.notes.iter().any(|note| note.contains("have no description")), "{:?}", job.notes);
    // All-reduces of embeddings and of layer norms cannot be told from others.
    let unknown = [Kind::EmbeddingGradsAllReduce, Kind::LayernormGradsAllReduce];
    let wanted: Vec<Row> = rows(&of).into_iter().filter(|row| !unknown.contains(&row.kind)).collect();
    assert_eq!(sorted(&straggler_training::rows(&job)), sorted(&wanted));
}

#[test]
fn clocks_of_files_are_aligned() {
    let of = Synthetic { jitter: 0.0, ..small() };
    let job = read_changed(&of, |rank, text| match rank {
        3 => text.replace("1700000000000000000", "1700000000007000000"),
        _ => text,
    });
    assert_eq!(sorted(&straggler_training::rows(&job)), sorted(&rows(&of)));
    assert!(
        job.notes.iter().any(|note| note.contains("the largest offset is 7000.0 µs (rank 3)")),
        "{:?}",
        job.notes
    );
}

/// A rank with a slow link ends late in some collectives, but its clock is not off and does not jump.
#[test]
fn a_slow_link_is_no_matter_of_clocks() {
    let fault = Fault { dp_rank: 1, stage: 2, from_step: 0, what: Defect::Link { times: 20.0, with: None } };
    let of = Synthetic { steps: 6, faults: vec![fault], ..small() };
    let job = read_again(&rows(&of));
    assert!(job.remarks.iter().any(|remark| remark.contains("Clocks agree")), "{:?}", job.remarks);
    assert!(!job.notes.iter().any(|note| note.contains("jump")), "{:?}", job.notes);
}

/// Without microbatches, kernels are analysed one by one. Messages still meet, although PyTorch counts them per rank.
#[test]
fn messages_meet_without_microbatches() {
    let of = small();
    let job = read_changed(&of, |_, text| passes(&text, |phase, _| phase.to_string()));
    let graph = &job.shape(0).graph;
    let ops = &job.shape(0).ops;
    let class = |op: u32| job.kinds[usize::from(ops[op as usize].kind)].class.as_str();
    let pairs: Vec<[&str; 2]> = (0..graph.groups.len())
        .map(|group| graph.groups.get(group))
        .filter(|members| matches!(class(members[0]), "send" | "recv"))
        .map(|members| {
            let mut both = [class(members[0]), class(members[1])];
            both.sort_unstable();
            assert_eq!(members.len(), 2);
            both
        })
        .collect();
    // Two directions, two edges between stages, two data-parallel ranks, four microbatches.
    assert_eq!(pairs, [["recv", "send"]; 32]);
    assert!(!job.notes.iter().any(|note| note.contains("lacks a partner")), "{:?}", job.notes);
}

#[test]
fn what_makes_no_table_is_said() {
    let says = |change: &dyn Fn(String) -> String, wanted: &str| {
        let job = read_changed(&small(), |_, text| change(text));
        assert!(job.notes.iter().any(|note| note.contains(wanted)), "{wanted}: {:?}", job.notes);
        assert!(job.kinds.iter().any(|kind| kind.class == "all_reduce"), "{:?}", job.kinds);
    };
    says(
        &|text| text.replace("\"send\"", "\"coalesced\"").replace("\"recv\"", "\"coalesced\""),
        "were batched",
    );
    says(
        &|text| text.replace("PP:1B2", "PP:1W2").replace("PP:0B2", "PP:0W2"),
        "Some computation belongs to no microbatch",
    );
    says(&|text| text.replace("Dst Rank", "x").replace("Src Rank", "y"), "do not name their destination");
    let no_groups = |text: String| text.replace("pg_config", "none").replace("Process Group Ranks", "none");
    says(&no_groups, "all are treated as stage 0 of data-parallel rank 0");
}

fn numbers(job: &Job) -> Vec<i64> {
    job.steps.iter().map(|step| step.number).collect()
}

/// Kernels after a step whose successor has no mark belong to neither.
#[test]
fn a_step_without_its_mark_is_left_out() {
    let of = slowed(4, 2, 1.6, 0);
    for (lost, left) in [(4, vec![0, 1, 2, 3, 5, 6, 7]), (7, vec![0, 1, 2, 3, 4, 5, 6])] {
        let mark = format!("ProfilerStep#{lost}\"");
        let unmarked =
            |text: &str| text.lines().filter(|line| !line.contains(&mark)).collect::<Vec<_>>().join("\n");
        let job = read_changed(&of, |rank, text| if rank == 3 { unmarked(&text) } else { text });
        assert_eq!((numbers(&job), job.steps_left_out, job.is_table()), (left, 1, true), "{:?}", job.notes);
        let notes = job.notes.join("\n");
        assert!(
            notes.contains(&format!("not all ranks recorded them: step {lost} (7 of 8 ranks)")),
            "{notes}"
        );
        assert_eq!(notes.contains("rank-3.json: it has no ProfilerStep#4. "), lost == 4, "{notes}");
        let found = answers(&job);
        assert_same(&found.causes[0], &answers(&derive::job(rows(&of), "").unwrap()).causes[0]);
    }
}

/// A kernel whose time is invalid costs its step; a file without any whole step is left out.
#[test]
fn kernels_without_a_valid_time_cost_their_step() {
    let of = slowed(4, 2, 1.6, 0);
    let spoiled = |text: String, steps: &[i64]| {
        let mut step = -1;
        let mut line = |line: &str| {
            let began = line.contains("ProfilerStep#");
            step += i64::from(began);
            let is_hit = steps.contains(&step) && line.contains("multi_tensor_apply_kernel");
            if is_hit { line.replace("\"dur\": ", "\"dur\": -") } else { line.to_string() }
        };
        text.lines().map(&mut line).collect::<Vec<String>>().join("\n")
    };
    let job = read_changed(&of, |rank, text| if rank == 3 { spoiled(text, &[2]) } else { text });
    assert_eq!((numbers(&job), job.is_table()), (vec![0, 1, 3, 4, 5, 6, 7], true), "{:?}", job.notes);
    let notes = job.notes.join("\n");
    assert!(notes.contains("Left out: step 2 (an event has an invalid time on rank 3)."), "{notes}");
    let all: Vec<i64> = (0..8).collect();
    let job = read_changed(&of, |rank, text| if rank == 3 { spoiled(text, &all) } else { text });
    assert_eq!(job.workers.iter().filter(|worker| worker.recorded).count(), 7);
    let notes = job.notes.join("\n");
    assert!(
        notes.contains(
            "rank-3.json: no step is completely recorded: 8 events have an invalid time. The file is left out"
        ),
        "{notes}"
    );
}

/// Ranks are also in the names of files, and groups in the arguments of communications.
#[test]
fn files_without_their_rank_are_read_and_named() {
    let of = small();
    let wanted = sorted(&rows(&of));
    let without = |text: &str| {
        text.lines().filter(|line| !line.contains("distributedInfo")).collect::<Vec<_>>().join("\n")
    };
    let one = read_changed(&of, |rank, text| if rank == 3 { without(&text) } else { text });
    assert_eq!(sorted(&straggler_training::rows(&one)), wanted, "{:?}", one.notes);
    assert_eq!(one.notes, ["rank-3.json does not contain its rank: it was taken from the file name."]);
    let all = read_changed(&of, |_, text| without(&text));
    assert_eq!(sorted(&straggler_training::rows(&all)), wanted, "{:?}", all.notes);
    assert!(
        all.notes[0].starts_with("rank-0.json, rank-1.json, rank-2.json, ")
            && all.notes[0].ends_with(" do not contain their ranks: they were taken from the file names."),
        "{:?}",
        all.notes
    );
}

/// The profiler writes microseconds.
#[test]
fn times_in_other_units_are_doubted() {
    let scaled = |factor: f64| {
        let number = |key: &str, text: String| {
            let mut parts = text.split(key);
            let mut new = parts.next().unwrap().to_string();
            for part in parts {
                let end = part.find([',', '}']).unwrap();
                let value: f64 = part[..end].parse().unwrap();
                new += &format!("{key}{:.6}{}", value * factor, &part[end..]);
            }
            new
        };
        read_changed(&small(), |_, text| number("\"dur\": ", number("\"ts\": ", text))).notes.join("\n")
    };
    assert!(scaled(1e-3).contains("which is implausibly fast: are the times in milliseconds?"));
    assert!(
        scaled(1e3)
            .contains("take 2000.0 µs or more, which is implausibly slow: are the times in nanoseconds?")
    );
    assert!(!scaled(1.0).contains("implausibly"));
}

/// Two ranks at each place: the first represents both.
#[test]
fn tensor_parallel_ranks_are_one_worker() {
    let of = Synthetic { dp: 2, pp: 1, microbatches: 2, steps: 1, ..Synthetic::default() };
    let folder = tempfile::tempdir().unwrap();
    write(&rows(&of), folder.path());
    let twice = std::fs::read_to_string(folder.path().join("rank-1.json")).unwrap();
    for rank in [0, 1] {
        let path = folder.path().join(format!("rank-{rank}.json"));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"world_size\": 2", "\"world_size\": 3")).unwrap();
    }
    let twice = twice.replace("\"rank\": 1, \"world_size\": 2", "\"rank\": 2, \"world_size\": 3");
    std::fs::write(folder.path().join("rank-2.json"), twice.replace("[0, 1]", "[0, 2]")).unwrap();
    let job = import(&[folder.path().into()]).unwrap();
    assert_eq!(job.workers.iter().map(|worker| worker.rank).collect::<Vec<_>>(), [0, 1]);
    assert!(job.notes.iter().any(|note| note.contains("1 rank was not analysed")), "{:?}", job.notes);
}

/// A garbage collection while the GPU is busy delays nothing; data loading that the GPU waits for does.
#[test]
fn work_of_the_host_counts_where_the_gpu_waits() {
    let of = Synthetic { dp: 1, pp: 1, microbatches: 2, steps: 1, jitter: 0.0, ..Synthetic::default() };
    let event = |name: &str, at: f64, dur: f64| {
        format!(
            "{{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"{name}\", \"pid\": 1000, \"tid\": 1000, \
             \"ts\": {at}, \"dur\": {dur}, \"args\": {{}}}},\n"
        )
    };
    let job = read_changed(&of, |_, text| {
        let at = |name: &str| {
            let line = text.lines().find(|line| line.contains(name)).unwrap();
            let (_, rest) = line.split_once("\"ts\": ").unwrap();
            rest.split_once(',').unwrap().0.parse::<f64>().unwrap()
        };
        let (first, last) = (at("flash_fwd_kernel"), at("multi_tensor_apply"));
        let more = event("gc", first + 1000.0, 500.0)
            + &event("enumerate(DataLoader)#X.__next__", last + 11_000.0, 5.0);
        let more = more + &event("Python garbage collection", last - 2000.0, 1000.0);
        // The host loads data before it ends the step.
        let mark = text.lines().find(|line| line.contains("ProfilerStep#0")).unwrap();
        let (begin, rest) = mark.split_once("\"dur\": ").unwrap();
        let longer = format!("{begin}\"dur\": {}, {}", last + 20_000.0, rest.split_once(", ").unwrap().1);
        let text = text.replacen(mark, &longer, 1);
        text.replacen("\"traceEvents\": [\n", &format!("\"traceEvents\": [\n{more}"), 1)
    });
    let count = |kind: Kind| straggler_training::rows(&job).iter().filter(|row| row.kind == kind).count();
    // One of the collections is part of the synthetic job.
    assert_eq!((count(Kind::Gc), count(Kind::DataLoad)), (2, 1));
}

/// Files without annotations of microbatches, like those of an ordinary data-parallel job.
fn without_microbatches(of: &Synthetic) -> Job {
    let is_pass = |line: &&str| line.contains("\"name\": \"PP:");
    read_changed(of, |_, text| text.lines().filter(|line| !is_pass(line)).collect::<Vec<&str>>().join("\n"))
}

fn slowed(dp: u32, pp: u32, times: f64, from_step: u32) -> Synthetic {
    let fault = Fault { dp_rank: 1, stage: pp - 1, from_step, what: Defect::Slow(times) };
    Synthetic { dp, pp, microbatches: 4, steps: 8, faults: vec![fault], ..Synthetic::default() }
}

/// A kernel that waits for a collective on another stream is not launched late: the slow rank is blamed, with the
/// right gain.
#[test]
fn a_slow_rank_is_found_kernel_by_kernel() {
    for (dp, times, from_step) in [(8, 1.3, 0), (4, 2.0, 4)] {
        let of = slowed(dp, 1, times, from_step);
        let table = answers(&derive::job(rows(&of), "").unwrap());
        let job = without_microbatches(&of);
        assert!(job.remarks.iter().any(|remark| remark.contains("one by one")), "{:?}", job.remarks);
        let found = answers(&job);
        assert_eq!((found.distrust, found.workers[0].rank), (None, 1), "{:?}", found.causes);
        let (cause, known) = (&found.causes[0], &table.causes[0]);
        assert_same(cause, known);
        assert!((cause.gain - known.gain).abs() < 0.02, "{} for {}", cause.gain, known.gain);
        assert!((found.s - table.s).abs() < 0.03, "{} for {}", found.s, table.s);
    }
}

/// With one microbatch per step, of varying length, no worker is slow. A worker that really is slow is found.
#[test]
fn lengths_are_no_slow_ranks_kernel_by_kernel() {
    for seed in 1..=4 {
        let of = Synthetic { dp: 8, pp: 1, microbatches: 1, lengths: 0.25, seed, ..Synthetic::default() };
        let phases = |of: &Synthetic| read_changed(of, |_, text| passes(&text, |phase, _| phase.to_string()));
        let job = phases(&of);
        assert!(!job.is_table());
        let found = answers(&job);
        let first = &found.causes[0];
        assert_eq!(first.kind, CauseKind::SequenceLengths, "seed {seed}: {:?}", found.causes);
        let told = found.causes.iter().any(|cause| cause.kind == CauseKind::Workers);
        assert!(!told, "seed {seed}: {:?}", found.causes);
        let fault = Fault { dp_rank: 3, stage: 0, from_step: 0, what: Defect::Slow(2.0) };
        let found = answers(&phases(&Synthetic { faults: vec![fault], ..of }));
        assert_eq!(found.causes[0].ranks, [3], "seed {seed}: {:?}", found.causes);
    }
}

/// Data loading and collections that the GPU waits for are causes in the analysis of single kernels, too.
#[test]
fn hosts_are_told_kernel_by_kernel() {
    let stall = Fault { dp_rank: 2, stage: 0, from_step: 0, what: Defect::Stall(0.2) };
    let of =
        Synthetic { dp: 4, pp: 1, microbatches: 1, steps: 6, faults: vec![stall], ..Synthetic::default() };
    for (name, kind) in [
        ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", CauseKind::DataLoading),
        ("gc.collect", CauseKind::GarbageCollection),
    ] {
        let job = read_changed(&of, |rank, text| {
            let text = passes(&text, |phase, _| phase.to_string());
            let mut lines: Vec<String> = text.lines().map(String::from).collect();
            let forwards: Vec<f64> =
                lines.iter().filter(|line| line.contains("flash_fwd_kernel")).map(|line| at(line)).collect();
            let first = lines.iter().position(|line| line.contains("traceEvents")).unwrap() + 1;
            for start in forwards.into_iter().filter(|_| rank == 2) {
                lines.insert(first, format!(
                    "{{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"{name}\", \"pid\": 1000, \"tid\": 1000, \
                     \"ts\": {}, \"dur\": 190000.0, \"args\": {{}}}},", start - 195_000.0));
            }
            lines.join("\n")
        });
        assert!(!job.is_table());
        let found = answers(&job);
        let first = &found.causes[0];
        assert_eq!((first.kind, &first.ranks[..]), (kind, &[2][..]), "{:?}", found.causes);
        assert!((first.seconds - 0.19).abs() < 0.01, "{first:?}");
    }
}

/// Both name the same kind, ranks and steps.
fn assert_same(one: &Cause, other: &Cause) {
    let named = |of: &Cause| (of.kind, of.ranks.clone(), of.since_step, of.until_step);
    assert_eq!(named(one), named(other));
}

/// The start of an event, in microseconds.
fn at(line: &str) -> f64 {
    let (_, rest) = line.split_once("\"ts\": ").unwrap();
    rest.split_once(',').unwrap().0.parse().unwrap()
}

/// It is not always known which kernels of a pipeline wait for messages: then no rank is blamed.
#[test]
fn kernels_of_a_pipeline_blame_nobody_by_mistake() {
    for pp in [2, 4] {
        let found = answers(&without_microbatches(&slowed(4, pp, 1.5, 0)));
        let rank = found.workers[0].rank;
        let right = found.causes.first().is_none_or(|cause| cause.ranks == [rank]);
        assert!(right && (found.distrust.is_some() || found.s > 1.05), "{} {:?}", found.s, found.causes);
    }
}

/// A truncated file: its rank counts as not recorded from there on, and the others are analysed to the end.
#[test]
fn a_file_that_breaks_off_does_not_hide_later_steps() {
    let of = Synthetic { dp: 8, pp: 1, microbatches: 2, steps: 12, ..slowed(8, 1, 1.5, 7) };
    let cut = |rank: u32, text: String| match rank {
        6 => text[..text.len() / 2].to_string(),
        _ => text,
    };
    let no_passes = |text: String| passes(&text, |phase, _| phase.to_string());
    for (job, steps) in
        [(read_changed(&of, cut), 11), (read_changed(&of, |rank, text| cut(rank, no_passes(text))), 11)]
    {
        assert_eq!((job.steps.len(), job.steps_left_out), (steps, 12 - steps), "{:?}", job.notes);
        let found = answers(&job);
        let first = &found.causes[0];
        assert_eq!((first.kind, &first.ranks[..], first.since_step), (CauseKind::Workers, &[1][..], Some(7)));
        let says = |words: &str| job.notes.iter().any(|note| note.contains(words));
        assert!(
            says("only some of the steps: rank 6") && says("the file is truncated on rank 6"),
            "{:?}",
            job.notes
        );
    }
}

/// Times divided by a thousand, with the resulting rounding, give the same verdict and a note about the unit.
#[test]
fn times_in_another_unit_give_the_same_verdict() {
    let of = slowed(4, 2, 1.5, 0);
    let divided = |key: &str, line: &str| {
        let Some((before, rest)) = line.split_once(&format!("\"{key}\": ")) else { return line.to_string() };
        let (number, after) = rest.split_at(rest.find([',', '}']).unwrap());
        format!("{before}\"{key}\": {}{after}", number.parse::<f64>().unwrap() / 1000.0)
    };
    let job = read_changed(&of, |_, text| {
        text.lines().map(|line| divided("dur", &divided("ts", line))).collect::<Vec<String>>().join("\n")
    });
    assert!(job.is_table(), "{:?}", job.notes);
    assert!(job.notes.iter().any(|note| note.contains("are the times in milliseconds?")), "{:?}", job.notes);
    let (found, known) = (answers(&job), answers(&read_again(&rows(&of))));
    assert_same(&found.causes[0], &known.causes[0]);
    assert!((found.s - known.s).abs() < 1e-3, "{} for {}", found.s, known.s);
}

/// Clocks that agree are not worth a warning.
#[test]
fn clocks_that_agree_are_a_remark() {
    let job = read_again(&rows(&small()));
    assert!(job.notes.is_empty(), "{:?}", job.notes);
    assert!(job.remarks[0].starts_with("Clocks agree "), "{:?}", job.remarks);
}

#[test]
fn a_folder_of_folders_names_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("job")).unwrap();
    let error = import(&[folder.path().into()]).unwrap_err().to_string();
    assert!(error.contains("no files, only folders: did you mean") && error.ends_with("job?"), "{error}");
}

/// A file that is not JSON is not said to have events.
#[test]
fn a_file_that_is_no_json_is_named() {
    let job = read_changed(&small(), |rank, text| match rank {
        1 => "{\"schemaVersion\": 1, \"traceEvents\": [ {]}".into(),
        _ => text,
    });
    let told = "rank-1.json: it is not valid JSON from byte 38 on, before the first event";
    assert!(job.notes.iter().any(|note| note.contains(told)), "{:?}", job.notes);
}

/// With one file of six, the missing ranks are named once and counted correctly.
#[test]
fn missing_ranks_are_counted_once() {
    let of = small();
    let folder = tempfile::tempdir().unwrap();
    write(&rows(&of), folder.path());
    let job = import(&[folder.path().join("rank-1.json")]).unwrap();
    assert!(job.is_table(), "{:?}", job.notes);
    let missing = job.workers.iter().filter(|worker| !worker.recorded).count();
    let told: Vec<&String> = job.notes.iter().filter(|note| note.contains("recorded: ")).collect();
    assert!(told.len() == 1 && told[0].starts_with("5 of 6 workers were not recorded"), "{:?}", job.notes);
    assert_eq!((job.workers.len(), missing), (6, 5));
}
