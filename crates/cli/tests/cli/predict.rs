//! Replayed traces: compared with the recorded time, as GOAL, in copies, with noise.

use crate::outside::program::{Folder, fixtures};
use straggler_trace::format::block::HEADER;
use straggler_trace::format::{directory, save};
use straggler_trace::trace::Usage;

#[test]
fn a_fitted_prediction_is_close_to_the_trace() {
    let folder = Folder::new();
    let answer =
        folder.run("predict fixtures/traces/halo --fit --save-network net.toml --json").good().json();
    assert!(answer["error"].as_f64().unwrap().abs() < 0.05, "{answer:#}");
    assert_eq!(answer["ranks"].as_array().unwrap().len(), 4);
    assert_eq!(answer["synthetic"], true);
    assert!(answer["fit"]["flights"].as_u64().unwrap() > 0);
    // The saved network is the one that was used.
    let again = folder.run("predict fixtures/traces/halo --network net.toml --json").good().json();
    assert_eq!(again["predicted_seconds"], answer["predicted_seconds"]);
    assert_eq!(again["fit"], serde_json::Value::Null);
    folder.run("predict fixtures/traces/halo --network fit --save-network again.toml").good();
    folder.run("predict fixtures/traces/halo --network chic --save-network net.toml").ends_with(2);
    // No sender waits in this trace, so nothing bounds the rendezvous threshold S.
    assert_eq!(answer["network"]["S"], "unlimited");
    let text = folder.run("predict fixtures/traces/halo --network net.toml").good().stdout();
    assert!(text.contains("S unlimited"), "{text}");
    let saved = std::fs::read_to_string(folder.path().join("net.toml")).unwrap();
    assert!(saved.contains("S = \"unlimited\""), "{saved}");
}

#[test]
fn copies_that_do_not_fit_into_memory_are_refused() {
    let folder = Folder::new();
    let text =
        folder.run("predict fixtures/traces/halo --network chic --copies 100000000").ends_with(2).stderr();
    assert!(text.contains("400,000,000 processes take about"), "{text}");
}

#[test]
fn three_ways_to_replay_a_trace_agree() {
    let folder = Folder::new();
    folder.run("trace convert fixtures/traces/halo -o halo.goal").good();
    let goal = folder.run("simulate halo.goal --network chic --json").good().json();
    let replayed = folder.run("simulate fixtures/traces/halo --network chic --json").good().json();
    let predicted = folder.run("predict fixtures/traces/halo --network chic --json").good().json();
    assert_eq!(goal["makespan_ps"], replayed["makespan_ps"]);
    assert_eq!(goal["messages"], replayed["messages"]);
    let seconds = replayed["makespan_ps"].as_u64().unwrap() as f64 * 1e-12;
    assert!((predicted["predicted_seconds"].as_f64().unwrap() - seconds).abs() < 1e-12);
}

#[test]
fn a_trace_survives_the_way_through_otf2() {
    let folder = Folder::new();
    folder.run("trace convert fixtures/traces/halo -o halo.otf2").good();
    let there = folder.run("trace info fixtures/traces/halo --json").good().json();
    let back = folder.run("trace info halo.otf2 --json").good().json();
    // Persistent operations come back as nonblocking ones: OTF2 does not record which were persistent.
    for function in ["MPI_Init", "MPI_Allreduce", "MPI_Waitall", "MPI_Comm_split"] {
        for rank in 0..4 {
            let calls =
                |answer: &serde_json::Value| answer["ranks"][rank]["functions"][function]["calls"].clone();
            assert_eq!(calls(&there), calls(&back), "{function} of rank {rank}");
        }
    }
}

#[test]
fn copies_and_kinds_of_communication() {
    let folder = Folder::new();
    let many = folder.run("predict fixtures/traces/halo --network chic --copies 64 --json").good().json();
    assert_eq!((many["processes"].as_u64(), many["copies"].as_u64()), (Some(256), Some(64)));
    assert_eq!(many["error"], serde_json::Value::Null);
    let messages = |only: &str| {
        let line = format!("simulate fixtures/traces/halo --network chic --only {only} --json");
        folder.run(&line).good().json()["messages"].as_u64().unwrap()
    };
    let all = folder.run("simulate fixtures/traces/halo --network chic --json").good().json();
    let (p2p, collectives) = (messages("p2p"), messages("collectives"));
    assert!(p2p > 0 && collectives > 0);
    assert_eq!(p2p + collectives, all["messages"].as_u64().unwrap());
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let folder = Folder::new();
    folder.run("predict nowhere --fit").ends_with(3).says("nowhere");
    folder.run("predict fixtures/traces/halo --fit --network chic").ends_with(2).says("--network");
    let goal = "simulate fixtures/conformance/eager-00.goal --network chic";
    folder.run(&format!("{goal} --copies 2")).ends_with(2).says("--copies");
    folder.run(&format!("{goal} --only p2p")).ends_with(2).says("--only");
}

/// Writes a trace whose rank 1 was killed: its last calls and the end of its stream are missing.
fn killed(folder: &Folder) {
    let (mut trace, _) = directory::open(&fixtures().join("traces/halo")).unwrap();
    let run = folder.path().join("run");
    save::save(&trace, &run).unwrap();
    let calls = &mut trace.ranks[1].calls;
    calls.truncate(calls.len() / 2);
    let bytes = save::stream(&trace, 1);
    let length =
        |at: usize| HEADER + u32::from_le_bytes(bytes[at + 16..at + 20].try_into().unwrap()) as usize;
    let mut last = 0;
    while last + length(last) < bytes.len() {
        last += length(last);
    }
    std::fs::write(run.join("rank-000001.trace"), &bytes[..last]).unwrap();
}

#[test]
fn a_killed_run_is_replayed_without_the_calls_that_lack_partners() {
    let folder = Folder::new();
    killed(&folder);
    let checked = folder.run("trace check run").good().stdout();
    assert!(checked.contains("its last recorded call is call "), "{checked}");
    folder
        .run("predict run --network chic")
        .ends_with(3)
        .says("simulate what there is with --drop-unmatched");
    let said = folder.run("predict run --network chic --drop-unmatched").good();
    said.says("the calls of rank 1 end at ");
    folder.run("trace info run").good().says("names the last recorded call of each");
}

#[test]
fn of_several_runs_the_first_is_taken_and_that_is_said() {
    let folder = Folder::new();
    let (trace, _) = directory::open(&fixtures().join("traces/halo")).unwrap();
    save::save(&trace, &folder.path().join("run")).unwrap();
    save::save(&trace, &folder.path().join("run/run-2")).unwrap();
    let said = folder.run("predict run --network chic").good();
    said.says("run: this is the first run; 1 further run is in the folder: use run/run-2 for the next");
}

#[test]
fn a_simulation_fits_the_network_as_a_prediction_does() {
    let folder = Folder::new();
    let predicted = folder.run("predict fixtures/traces/halo --fit --json").good().json();
    let simulated = folder.run("simulate fixtures/traces/halo --fit --json").good().json();
    let seconds = simulated["makespan_ps"].as_u64().unwrap() as f64 * 1e-12;
    assert!((predicted["predicted_seconds"].as_f64().unwrap() - seconds).abs() < 1e-12);
    folder.run("simulate --collective barrier --processes 4 --fit").ends_with(2).says("give --network");
}

#[test]
fn ranks_that_lost_their_cores_are_told() {
    let folder = Folder::new();
    let (mut trace, _) = directory::open(&fixtures().join("traces/halo")).unwrap();
    trace.ranks[2].usage = Some(Usage::from_nanoseconds(1_000_000, 500_000, 70, Some(450_000)));
    trace.ranks[3].host = "node\x1b[2J\nerror: nothing".into();
    save::save(&trace, &folder.path().join("run")).unwrap();
    let text = folder.run("predict run --network chic").good().stdout();
    assert!(text.contains("1 rank lost its core to other work, rank 2 for 45 % of the run"), "{text}");
    let answer = folder.run("predict run --network chic --json").good().json();
    assert_eq!((&answer["disturbed"]["ranks"], &answer["disturbed"]["worst_rank"]), (&1.into(), &2.into()));
    let checked = folder.run("trace check run").good().stdout();
    assert!(checked.contains("warning: 1 rank lost its core to other work"), "{checked}");
    // Every page shows the warning, too.
    folder.run("trace show run --report show.html").good();
    folder.run("assess none --trace run --copies 1 --network chic -o a").good();
    for page in ["show.html", "a/report.html"] {
        let html = std::fs::read_to_string(folder.path().join(page)).unwrap();
        let page = straggler_report::page::Page::from_html(&html).unwrap().unwrap();
        let mut lines = page.warnings.iter().chain(&page.notes);
        assert!(lines.any(|line| line.starts_with("1 rank lost its core to other work")), "{page:?}");
    }
    // Control characters in a name are escaped on the terminal.
    let info =
        folder.run("trace info run").good().says("rank 2 for 45 % of the run (70 preemptions)").stdout();
    assert!(info.contains("node\\u{1b}[2J\\nerror: nothing") && !info.contains('\x1b'), "{info}");
}

/// `--network fit` works with every command that reads a trace; elsewhere the error says what it needs.
#[test]
fn fit_is_a_network_where_there_is_a_trace() {
    let folder = Folder::new();
    let by = |option: &str| {
        let answer = folder.run(&format!("predict fixtures/traces/halo {option} --json")).good().json();
        answer["predicted_seconds"].clone()
    };
    assert_eq!(by("--network fit"), by("--fit"));
    folder.run("simulate fixtures/traces/halo --network fit").good();
    for line in [
        "simulate --collective barrier --processes 4 --network fit",
        "simulate fixtures/conformance/eager-00.goal --network fit",
        "assess none --network fit -o a",
        "network show fit",
    ] {
        folder.run(line).ends_with(2).says("fits the network to a trace, but there is no trace here");
    }
}

/// The result names the missing stream as the cause, not the calls that lack a partner because of it.
#[test]
fn a_missing_stream_is_named_with_the_result() {
    let folder = Folder::new();
    for rank in [0, 1, 3] {
        let name = format!("rank-00000{rank}.trace");
        let bytes =
            std::fs::read(crate::outside::program::fixtures().join("traces/halo").join(&name)).unwrap();
        std::fs::create_dir_all(folder.path().join("run")).unwrap();
        std::fs::write(folder.path().join("run").join(&name), bytes).unwrap();
    }
    folder
        .run("predict run --fit")
        .ends_with(3)
        .says("error: run: there is no stream of rank 2: add the missing streams, or use --drop-unmatched");
    let text = folder.run("predict run --fit --drop-unmatched").good().stdout();
    assert!(text.contains("In the trace there is no stream of rank 2: calls of other ranks"), "{text}");
    let json = folder.run("predict run --fit --drop-unmatched --json").good().json();
    assert_eq!(json["ranks_without_a_stream"], serde_json::json!([2]));
}

/// Copies cannot be compared with the recorded run, but its time is known.
#[test]
fn copies_name_the_time_of_the_recorded_run() {
    let folder = Folder::new();
    let alone = folder.run("simulate fixtures/traces/halo --network chic --json").good().json();
    let copies = folder.run("simulate fixtures/traces/halo --network chic --copies 2 --json").good().json();
    assert!(alone["traced_seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(copies["traced_seconds"], alone["traced_seconds"]);
}
