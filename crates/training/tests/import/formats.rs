//! Imports of small synthetic files of every format, whole and damaged.

use super::synthetic::{Rank, Wait};
use std::path::{Path, PathBuf};
use straggler_training::{Job, import};

fn says(job: &Job, words: &str) -> bool {
    job.notes.iter().any(|note| note.contains(words))
}

/// A line of NCCL Inspector, verbose or not. Its times are in µs.
fn inspector_line(rank: u32, number: u32, start: f64, duration: f64, verbose: bool) -> String {
    let events = match verbose {
        true => format!(
            ", \"event_trace_ts\": {{\"coll_start_ts\": {}, \"kernel_events\": [{{\"channel_id\": 0, \"kernel_start_ts\": \
             {start}, \"kernel_stop_ts\": {}}}]}}",
            start - 7.0,
            start + duration
        ),
        false => String::new(),
    };
    format!(
        "{{\"header\": {{\"id\": \"0x7f\", \"rank\": {rank}, \"n_ranks\": 2, \"nnodes\": 1}}, \"metadata\": \
         {{\"inspector_output_format_version\": \"v4.0\", \"git_rev\": \"synthetic\", \"rec_mechanism\": \
         \"nccl_profiler_interface\", \"dump_timestamp_us\": {}, \"hostname\": \"node{rank}\", \"pid\": 1}}, \"coll_perf\": \
         {{\"coll\": \"AllReduce\", \"coll_sn\": {number}, \"coll_msg_size_bytes\": 4096, \"coll_exec_time_us\": {duration}, \
         \"coll_timing_source\": \"kernel_gpu\", \"coll_algobw_gbs\": 1.5, \"coll_busbw_gbs\": 1.5{events}}}}}\n",
        start + duration
    )
}

/// Rank 1 comes 100 µs late to each of three collectives.
fn inspector(rank: u32, verbose: bool) -> String {
    let late = f64::from(rank) * 100.0;
    (0..3)
        .map(|number| {
            let start = 1_752_867_229_235_000.0 + f64::from(number) * 1000.0;
            inspector_line(rank, number, start + late, 300.0 - late, verbose)
        })
        .collect()
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

/// A Chakra file of three nodes: 5 µs of computation, a collective of 7 µs after it, and one more after that.
fn chakra() -> Vec<u8> {
    let attribute =
        |name: &str, value: u8| field(10, &[field(1, name.as_bytes()), vec![9 << 3, value]].concat());
    let node = |id: u8, name: &str, kind: u8, duration: u8, after: &[u8]| {
        let mut node =
            [vec![1 << 3, id], field(2, name.as_bytes()), vec![3 << 3, kind], field(5, after)].concat();
        node.extend([7 << 3, duration]);
        node.extend(if kind == 7 { attribute("comm_type", 0) } else { Vec::new() });
        node
    };
    let messages = [
        field(1, b"0.0.4"),
        node(1, "gemm", 4, 5, &[]),
        node(2, "x", 7, 7, &[1]),
        node(3, "gemm", 4, 9, &[2]),
    ];
    messages.iter().flat_map(|message| [&[message.len() as u8], &message[..]].concat()).collect()
}

const EXECUTION: &str = r#"{"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": [
  {"id": 1, "name": "ProfilerStep#4", "ctrl_deps": 0, "inputs": {"values": []}, "attrs": []},
  {"id": 2, "name": "record_param_comms", "ctrl_deps": 1, "inputs": {"values": [[1, 2], 33, "allreduce"]},
   "attrs": [{"name": "collective_name", "type": "string", "value": "allreduce"},
             {"name": "in_msg_nelems", "type": "uint64", "value": 12}, {"name": "pg_name", "value": "0"}]},
  {"id": 3, "name": "record_param_comms", "ctrl_deps": 1, "inputs": {"values": [5, "wait"]}, "attrs": []}],
  "finish_ts": 2}"#;

fn write(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn inspector_records_meet_by_communicator_and_number() {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..2 {
        write(folder.path(), &format!("node{rank}-pid1.log"), inspector(rank, true).as_bytes());
    }
    let job = import(&[folder.path().into()]).unwrap();
    assert_eq!(job.workers.iter().map(|worker| worker.rank).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(job.workers[1].host.as_deref(), Some("node1"));
    // Nothing shows which ranks are stages of a pipeline.
    assert_eq!(job.workers.iter().map(|worker| worker.dp_rank).collect::<Vec<_>>(), [0, 1]);
    let graph = &job.shape(0).graph;
    assert_eq!((graph.ops(), graph.groups.len(), graph.before.items()), (6, 3, 4));
    let start = |op: u32| job.start[op as usize] / 1_000_000;
    let of_group: Vec<i64> = graph.groups.get(1).iter().map(|&op| start(op)).collect();
    assert_eq!(of_group, [1000, 1100]);
    assert!(says(&job, "Only communication can be judged"));
    assert!(!says(&job, "wrote no event times"));
}

#[test]
fn inspector_without_event_times_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let text = inspector(0, false) + "{\"header\": 1}\n";
    let job = import(&[write(folder.path(), "log", text.as_bytes())]).unwrap();
    assert_eq!(job.start, [0, 1_000_000_000, 2_000_000_000]);
    assert!(says(&job, "wrote no event times"));
    assert!(says(&job, "log: line 4 was left out"), "{:?}", job.notes);
    assert!(says(&job, "rank 1 is missing. What it did is unknown"), "{:?}", job.notes);
}

#[test]
fn chakra_starts_follow_from_the_graph() {
    let folder = tempfile::tempdir().unwrap();
    let job = import(&[write(folder.path(), "x.0.et", &chakra())]).unwrap();
    assert_eq!(job.start, [0, 5_000_000, 12_000_000]);
    assert_eq!(job.duration, [5_000_000, 7_000_000, 9_000_000]);
    let classes: Vec<&str> = job.kinds.iter().map(|kind| kind.class.as_str()).collect();
    assert_eq!(classes, ["compute", "all_reduce"]);
    assert!(says(&job, "no start times"));
}

#[test]
fn execution_traces_give_way_to_those_of_the_profiler() {
    let folder = tempfile::tempdir().unwrap();
    let execution = write(folder.path(), "et_0.json", EXECUTION.as_bytes());
    let alone = import(std::slice::from_ref(&execution)).unwrap();
    assert_eq!((alone.steps[0].number, alone.start.len()), (4, 1));
    assert!(says(&alone, "have no times"));
    let kineto = write(folder.path(), "rank0.json", Rank::new(0, 1).json().as_bytes());
    let both = import(&[execution, kineto.clone()]).unwrap();
    assert_eq!((both.steps.len(), both.workers.len()), (3, 1));
    assert!(says(&both, "1 PyTorch execution trace was not read"), "{:?}", both.notes);
    let mixed = import(&[kineto, write(folder.path(), "x.0.et", &chakra())]).unwrap_err().to_string();
    assert!(
        mixed.contains("is a PyTorch profiler trace and") && mixed.contains("is a Chakra trace"),
        "{mixed}"
    );
}

/// Files with a cut or a change anywhere are either read or refused: nothing panics, and what is read is consistent.
#[test]
fn damaged_files_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let short = Rank { steps: vec![1], wait: Wait::Recorded, ..Rank::new(0, 2) };
    let files: [(&str, Vec<u8>); 4] = [
        ("a.json", short.json().into_bytes()),
        ("b.0.et", chakra()),
        ("c.json", EXECUTION.as_bytes().to_vec()),
        ("d.log", inspector(0, true).into_bytes()),
    ];
    let partner =
        write(folder.path(), "partner.json", Rank { steps: vec![1], ..Rank::new(1, 2) }.json().as_bytes());
    for (name, whole) in files {
        let check = |damaged: &[u8]| {
            let path = write(folder.path(), name, damaged);
            let mut paths = vec![path];
            paths.extend((name == "a.json").then(|| partner.clone()));
            if let Ok(job) = import(&paths) {
                assert!(!job.steps.is_empty());
                assert!(job.duration.iter().all(|&duration| duration >= 0));
                assert_eq!(job.start.len(), job.instances(job.steps.len() - 1).end);
            }
        };
        (0..whole.len()).step_by(11).for_each(|cut| check(&whole[..cut]));
        for place in (0..whole.len()).step_by(7) {
            let mut damaged = whole.clone();
            damaged[place] ^= if place % 2 == 0 { 0x04 } else { 0x80 };
            check(&damaged);
        }
    }
}
