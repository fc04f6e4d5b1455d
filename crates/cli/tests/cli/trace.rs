//! Showing, checking, merging and converting traces, and the errors for bad ones.

use crate::outside::program::{Ended, Folder, fixtures};
use serde_json::Value;
use std::path::PathBuf;
use straggler_trace::Function;
use straggler_trace::format::{directory, save};

fn stream(rank: u32) -> PathBuf {
    fixtures().join(format!("traces/halo/rank-{rank:06}.trace"))
}

/// Copies the fixture, so that a test can damage it.
pub(crate) fn copy(folder: &Folder) -> PathBuf {
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    for rank in 0..4 {
        std::fs::copy(stream(rank), run.join(format!("rank-{rank:06}.trace"))).unwrap();
    }
    run
}

pub(crate) fn file(run: &std::path::Path, rank: u32) -> PathBuf {
    run.join(format!("rank-{rank:06}.trace"))
}

#[track_caller]
fn finds(ended: &Ended, severity: &str, rank: u32, text: &str) {
    let answer = ended.json();
    let findings = answer["findings"].as_array().unwrap();
    let found = findings.iter().any(|finding| {
        finding["severity"] == severity
            && finding["rank"] == rank
            && finding["text"].as_str().is_some_and(|what| what.contains(text))
    });
    assert!(found, "rank {rank}: {text}\n{answer:#}");
}

#[test]
fn waits_are_told_by_pattern_and_rank() {
    let folder = Folder::new();
    let answer = folder.run("trace waits fixtures/traces/halo --json").good().json();
    assert_eq!(answer["synthetic"], true);
    let names = [
        "late_sender",
        "late_sender_wrong_order",
        "late_receiver",
        "wait_at_barrier",
        "barrier_completion",
        "wait_at_nxn",
        "nxn_completion",
        "late_broadcast",
        "early_reduce",
        "early_scan",
    ];
    let seconds = |value: &Value, name: &str| value[name].as_f64().unwrap();
    let ranks = answer["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 4);
    for (place, name) in names.iter().enumerate() {
        let of_all = &answer["patterns"][place];
        assert_eq!(of_all["pattern"], *name);
        let counts = ranks.iter().map(|rank| rank["patterns"][place]["count"].as_u64().unwrap());
        assert_eq!(counts.sum::<u64>(), of_all["count"].as_u64().unwrap(), "{name}");
    }
    // 16 receives in Waitall, one in Sendrecv and one in Recv were posted before their sends.
    assert_eq!(answer["patterns"][0]["count"], 18);
    for rank in ranks {
        let parts = ["computation_seconds", "waiting_seconds", "communication_seconds"];
        let sum: f64 = parts.iter().map(|part| seconds(rank, part)).sum();
        assert!((sum - seconds(rank, "run_seconds")).abs() < 1e-12, "{rank:#}");
    }
    // Splitting the communicator takes more than 2 % of this short run.
    let warning = answer["warnings"][0].as_str().unwrap();
    assert!(warning.contains("whose waits are not analysed, most of it in MPI_Comm_split"), "{warning}");
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 1);
    let text = folder.run("trace waits fixtures/traces/halo").good().stdout();
    let first = "Ranks wait 13 % of their time (synthetic); 77 % of it because of rank 3, which computes too long from \
                 MPI_Allreduce to MPI_Irecv (30 %); another 2.4 % is in calls that are not analysed.";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn waits_are_charged_to_regions_and_causes() {
    let folder = Folder::new();
    let run = folder.run("trace waits fixtures/traces/regions --json --report waits.page").good();
    let answer = run.json();
    let seconds = |value: &Value, name: &str| value[name].as_f64().unwrap();
    let sum = |list: &Value, name: &str| -> f64 {
        list.as_array().unwrap().iter().map(|one| seconds(one, name)).sum()
    };
    let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-12, "{one} {other}\n{answer:#}");
    // Rank 1 computes 30 µs longer than rank 0, three times.
    let cause = &answer["causes"][0];
    assert_eq!((&cause["rank"], &cause["region"]), (&1.into(), &"solve".into()));
    assert_eq!((&cause["kind"], &cause["activity"]), (&"computation".into(), &"computation in solve".into()));
    near(seconds(cause, "direct_seconds"), 90e-6);
    near(sum(&answer["causes"], "indirect_seconds"), 0.0);
    near(sum(&answer["ranks"], "root_cause_seconds"), 90e-6);
    assert_eq!(answer["regions"][0]["region"], "solve");
    let part = &answer["regions"][0]["waits"][0];
    assert_eq!((&part["rank"], &part["function"]), (&0.into(), &"MPI_Allreduce".into()));
    assert_eq!((&part["pattern"], &part["count"]), (&"wait_at_nxn".into(), &3.into()));
    near(sum(&answer["regions"], "seconds"), seconds(&answer, "waiting_seconds"));
    let path = &answer["critical_path"];
    for parts in ["activities", "ranks", "parts"] {
        near(sum(&path[parts], "seconds"), seconds(path, "seconds"));
    }
    assert_eq!(path["ranks"].as_array().unwrap().len(), 1);
    // Transfer efficiency needs a simulation, so it is missing.
    assert_eq!(answer["efficiency"]["transfer"], Value::Null);
    assert!(folder.path().join("waits.page").exists());
    let text = folder.run("trace waits fixtures/traces/regions").good().stdout();
    assert!(text.contains("100 % of it because rank 1 computes too long in solve."), "{text}");
    assert!(text.contains("need a simulation"), "{text}");
}

#[test]
fn info_counts_calls_of_each_rank_and_function() {
    let folder = Folder::new();
    let answer = folder.run("trace info fixtures/traces/halo --json").good().json();
    assert_eq!(answer["processes"], 4);
    assert_eq!(answer["synthetic"], true);
    assert_eq!(answer["ranks"].as_array().unwrap().len(), 4);
    let functions = &answer["ranks"][3]["functions"];
    // Six halo exchanges with two neighbours, of 1, 2, 4, 1, 2 and 4 KiB.
    assert_eq!(functions["MPI_Isend"]["calls"], 12);
    assert_eq!(functions["MPI_Isend"]["bytes_sent"], 2 * 14 * 1024);
    assert_eq!(functions["MPI_Isend"]["bytes_received"], 0);
    assert_eq!(functions["MPI_Irecv"]["bytes_received"], 2 * 14 * 1024);
    assert_eq!(functions["MPI_Isend"]["seconds"].as_f64(), Some(12.0 * 300e-9));
    // Two records that stand for 40 unsuccessful tests each, which took 8 µs.
    assert_eq!(functions["MPI_Test"]["calls"], 80);
    assert_eq!(functions["MPI_Test"]["seconds"].as_f64(), Some(16e-6));
    // Preparing a persistent send moves no bytes; starting it does.
    assert_eq!(answer["ranks"][2]["functions"]["MPI_Send_init"]["bytes_sent"], 0);
    assert_eq!(answer["ranks"][2]["functions"]["MPI_Start"]["bytes_sent"], 2 * 4096);
    assert_eq!(answer["ranks"][1]["unknown"], serde_json::json!({}));
    assert_eq!(answer["communicators"][2]["members"], serde_json::json!([2, 3]));
    assert_eq!(answer["clock_error_seconds"].as_f64(), Some(0.0));
    let text = folder.run("trace info fixtures/traces/halo").good().stdout();
    for part in ["halo (synthetic)", "node0, node1", "bytes per call", "Comm_split"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn show_begins_with_a_sentence_and_adds_up() {
    let folder = Folder::new();
    let text = folder.run("trace show fixtures/traces/halo").good().stdout();
    assert!(text.lines().next().unwrap().contains("% of the run is spent in MPI, most by rank"), "{text}");
    for part in [
        "MPI_Waitall",
        "of MPI",
        "communicator",
        "bytes/message",
        "because of rank 3",
        "straggler trace waits",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let answer = folder.run("trace show fixtures/traces/halo --json").good().json();
    let number = |value: &Value| value.as_f64().unwrap();
    let shares: f64 =
        answer["functions"].as_array().unwrap().iter().filter_map(|one| one["share_of_mpi"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    let ranks: f64 = answer["ranks"].as_array().unwrap().iter().map(|one| number(&one["mpi_seconds"])).sum();
    assert!((ranks - number(&answer["mpi_seconds"])).abs() < 1e-12);
    // Neighbours on a ring send 12 messages of 28 KiB to each other; others come on top.
    let csv = answer["matrix_csv"].as_str().unwrap();
    assert!(csv.starts_with("from,to,messages,bytes\n0,1,7,14848\n"), "{csv}");
    let messages: u64 =
        csv.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse::<u64>().unwrap()).sum();
    // 6 exchanges of 8, 3 to rank 0, 2 persistent ones, 2 of a swap.
    assert_eq!(messages, 48 + 3 + 2 + 2);
    // 6 allreduces in each row, 3 of all, a barrier.
    let dots = answer["pattern"]["collectives"].as_array().unwrap();
    assert_eq!(dots.len(), 16);
    assert!(dots.iter().all(|dot| (0.0..=1.0).contains(&number(&dot["at"]))));
    assert_eq!(dots.iter().filter(|dot| dot["ranks"] == 4).count(), 4);
}

/// Three steps on two ranks, with an exchange and a solution nested in each.
#[test]
fn regions_have_a_table() {
    let folder = Folder::new();
    let shown = folder.run("trace show fixtures/traces/regions").good();
    let text = shown.stdout();
    let row = |name: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name}\n{text}"));
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(String::from).collect()
    };
    assert_eq!(
        row("step "),
        ["step", "6", "696 µs", "228 µs", "33 %", "12", "48.0 KiB", "48.0 KiB", "0", "348 µs"]
    );
    assert_eq!(row("exchange ")[..3], ["exchange", "6", "60.0 µs"]);
    shown
        .says("1 entry of a region was never closed and is counted up to the end of the run; first: output on rank 1")
        .says("1 exit of a region was not preceded by an entry and is ignored; first: setup on rank 0");
    let answer = folder.run("trace show fixtures/traces/regions --json").good().json();
    let regions = answer["regions"].as_array().unwrap();
    let names: Vec<&str> = regions.iter().map(|region| region["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["step", "pcontrol 1", "solve", "exchange", "output", "setup"]);
    assert_eq!((&regions[0]["kind"], &regions[1]["kind"]), (&"region".into(), &"pcontrol".into()));
    for region in regions {
        let sum = |key: &str| -> f64 {
            region["ranks"].as_array().unwrap().iter().map(|rank| rank[key].as_f64().unwrap()).sum()
        };
        for key in ["entries", "seconds", "mpi_seconds", "calls", "bytes_sent", "bytes_received"] {
            assert!((sum(key) - region[key].as_f64().unwrap()).abs() < 1e-12, "{key} of {}", region["name"]);
        }
    }
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 2);
    // A program that marks no regions gets no table.
    let none = folder.run("trace show fixtures/traces/halo").good();
    assert!(!none.stdout().contains("region"), "{}", none.stdout());
}

#[test]
fn nothing_is_sent_to_nobody() {
    let folder = Folder::new();
    let answer = folder.run("trace info fixtures/traces/halo --json").good().json();
    // Rank 1 sends 64 bytes to rank 0, and 512 bytes to MPI_PROC_NULL.
    let sends = &answer["ranks"][1]["functions"]["MPI_Send"];
    assert_eq!((sends["calls"].as_u64(), sends["bytes_sent"].as_u64()), (Some(2), Some(64)));
}

#[test]
fn further_runs_are_named_in_order() {
    let folder = Folder::new();
    let run = copy(&folder);
    assert!(!folder.run("trace info run").good().stdout().contains("further"));
    for number in [2, 10] {
        let further = run.join(format!("run-{number}"));
        std::fs::create_dir(&further).unwrap();
        std::fs::copy(stream(0), file(&further, 0)).unwrap();
    }
    std::fs::create_dir(run.join("notes")).unwrap();
    let text = folder.run("trace info run").good().stdout();
    let named = "2 further runs in this folder:\n  straggler trace info run/run-2\n  \
                 straggler trace info run/run-10\n";
    assert!(text.ends_with(named), "{text}");
    let answer = folder.run("trace info run --json").good().json();
    assert_eq!(answer["further_runs"], serde_json::json!(["run/run-2", "run/run-10"]));
    // Each is a complete run of its own.
    assert_eq!(
        folder.run("trace info run/run-2 --json").good().json()["further_runs"],
        serde_json::json!([])
    );
}

#[test]
fn pictures_and_pages_are_written() {
    let folder = Folder::new();
    folder.run("trace show fixtures/traces/halo --report halo.page -o pattern.svg").good();
    for what in ["pattern", "messages", "matrix", "timeline"] {
        folder.run(&format!("trace show fixtures/traces/halo --what {what} -o {what}.png")).good();
    }
    let svg = std::fs::read_to_string(folder.path().join("pattern.svg")).unwrap();
    assert!(svg.contains("Collectives over time") && svg.contains("SYNTHETIC DATA"), "{svg}");
    assert!(svg.contains("16 collectives") && svg.contains("share a point"), "{svg}");
    let list = folder.run("tools plot page halo.page --list").good().stdout();
    for chart in ["Time in MPI by function", "heat map", "timeline", "histogram", "scatter"] {
        assert!(list.contains(chart), "{chart}\n{list}");
    }
    folder.run("trace show fixtures/traces/halo --report halo.html").good();
    let html = std::fs::read_to_string(folder.path().join("halo.html")).unwrap();
    let page = straggler_report::page::Page::from_html(&html).unwrap().unwrap();
    assert!(page.summary.iter().any(|line| line.contains("of it because of rank 3")), "{:?}", page.summary);
    folder.run("trace show fixtures/traces/halo --report none/such/x.html -o none/x.svg").ends_with(3);
}

#[test]
fn a_good_trace_has_no_findings() {
    let folder = Folder::new();
    let text = folder.run("trace check fixtures/traces/halo").good().stdout();
    assert!(text.contains("no errors in"), "{text}");
    assert_eq!(folder.run("trace check fixtures/traces/halo --json").good().json()["errors"], 0);
}

#[test]
fn a_missing_rank_is_named_and_the_rest_is_checked() {
    let folder = Folder::new();
    let run = copy(&folder);
    std::fs::remove_file(file(&run, 2)).unwrap();
    let ended = folder.run("trace check run --json").ends_with(5);
    finds(&ended, "error", 2, "there is no stream of this rank");
    finds(&ended, "warning", 2, "messages have no partner");
    assert_eq!(ended.json()["errors"], 1);
    folder.run("trace info run").good().says("there is no stream of this rank");
}

#[test]
fn a_truncated_stream_is_named_with_its_byte() {
    let folder = Folder::new();
    let run = copy(&folder);
    let bytes = std::fs::read(file(&run, 1)).unwrap();
    std::fs::write(file(&run, 1), &bytes[..bytes.len() - 100]).unwrap();
    let ended = folder.run("trace check run --json").ends_with(5);
    finds(&ended, "error", 1, "truncated");
    finds(&ended, "warning", 1, "is incomplete");
    let answer = ended.json();
    let cut = answer["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["text"].as_str().unwrap().contains("truncated"));
    assert!(cut.unwrap()["offset"].as_u64().unwrap() < bytes.len() as u64);
    let text = folder.run("trace check run").ends_with(5).stdout();
    assert!(text.contains("error: rank 1, byte "), "{text}");
}

/// The calls of rank 1 end in the middle of the run, or its stream is empty: how long others waited for it is unknown.
#[test]
fn what_is_missing_comes_before_waits_and_gains() {
    let folder = Folder::new();
    let (mut trace, _) = directory::open(&fixtures().join("traces/halo")).unwrap();
    let half = trace.ranks[1].calls.len() / 2;
    trace.ranks[1].calls.truncate(half);
    save::save(&trace, &folder.path().join("run")).unwrap();
    let run = folder.path().join("run");
    let first = |command: &str, begins: &str| {
        let text = folder.run(command).good().stdout();
        assert!(text.starts_with(begins), "{text}");
        text
    };
    let cut = "the calls of rank 1 end at ";
    let text = first("trace waits run", &format!("Waits cannot be analysed fully, because {cut}"));
    assert!(!text.lines().next().unwrap().contains("because of rank 1"), "{text}");
    let shown = folder.run("trace show run").good().stdout();
    assert!(shown.contains(&format!("\nWaits cannot be analysed fully, because {cut}")), "{shown}");
    let answer = folder.run("trace waits run --json").good().json();
    assert!(answer["missing"][0]["rank"] == 1 && answer["missing"][0]["end_seconds"].is_f64(), "{answer:#}");
    for command in ["whatif run --scale all=0.5", "whatif run --search", "simulate run"] {
        folder.run(command).ends_with(3).says(cut).says("--drop-unmatched");
    }
    let text = first("whatif run --scale all=0.5 --drop-unmatched", &format!("warning: {cut}"));
    assert!(
        text.find("neither the times nor the gains").unwrap() < text.find("the run would take").unwrap(),
        "{text}"
    );
    std::fs::write(file(&run, 1), "").unwrap();
    let text = first(
        "trace waits run",
        "Waits cannot be analysed fully, because rank 1 has no calls in the trace. ",
    );
    assert!(text.contains("MPI_Waitall, whose partner is missing"), "{text}");
    folder.run("whatif run --search").ends_with(3).says("rank 1 has no calls in the trace");
}

#[test]
fn ranks_of_two_runs_are_told_apart() {
    let folder = Folder::new();
    let run = copy(&folder);
    let (mut other, _) = directory::open(&fixtures().join("traces/halo")).unwrap();
    other.meta.more.insert("run".into(), "0badcafe".into());
    std::fs::write(file(&run, 3), save::stream(&other, 3)).unwrap();
    let ended = folder.run("trace check run --json").ends_with(5);
    finds(&ended, "error", 3, "belongs to another run");
    finds(&ended, "error", 3, "there is no stream of this rank");
    let refused = folder.run("trace merge run -o merged").ends_with(3);
    assert!(
        refused
            .stderr()
            .contains("rank-000003.trace (rank 3) and run/rank-000000.trace are of different runs")
    );
    assert!(!folder.path().join("merged").exists());
}

#[test]
fn a_message_without_partner_is_named_on_both_sides() {
    let folder = Folder::new();
    let (mut trace, _) = directory::open(&fixtures().join("traces/halo")).unwrap();
    let calls = &mut trace.ranks[1].calls;
    let number = calls.iter().position(|call| call.function == Function::Send && call.tag == 9).unwrap();
    calls[number].tag = 8;
    save::save(&trace, &folder.path().join("run")).unwrap();
    let ended = folder.run("trace check run --json").ends_with(5);
    finds(&ended, "error", 1, &format!("call {number}, MPI_Send sends 64 bytes with tag 8 to rank 0"));
    finds(&ended, "error", 0, "MPI_Recv receives a message with tag 9 from rank 1");
    assert_eq!(ended.json()["errors"], 2);
}

#[test]
fn a_version_from_the_future_is_named() {
    let folder = Folder::new();
    let run = copy(&folder);
    let mut bytes = std::fs::read(file(&run, 0)).unwrap();
    bytes[4..6].copy_from_slice(&99u16.to_le_bytes());
    std::fs::write(file(&run, 0), &bytes).unwrap();
    let ended = folder.run("trace check run --json").ends_with(5);
    finds(&ended, "error", 0, "the format has version 99");
    // If there is no other stream, nothing can be read.
    for rank in 1..4 {
        std::fs::remove_file(file(&run, rank)).unwrap();
    }
    folder.run("trace check run").ends_with(3).says("the format has version 99");
}

#[test]
fn what_is_no_trace_is_refused() {
    let folder = Folder::new();
    folder.write("text.trace", "hello");
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    for command in ["info", "show", "check"] {
        folder.run(&format!("trace {command} text.trace")).ends_with(3);
        folder.run(&format!("trace {command} empty")).ends_with(3).says("no trace streams here");
        folder.run(&format!("trace {command} missing")).ends_with(3);
    }
    folder.run("trace convert text.trace -o x.json").ends_with(3);
    folder.run("trace merge text.trace -o x").ends_with(3).says("text.trace, byte 0");
}

#[test]
fn streams_are_merged_into_a_folder_or_a_file() {
    let folder = Folder::new();
    for (node, ranks) in [("a", [0, 1]), ("b", [2, 3])] {
        std::fs::create_dir(folder.path().join(node)).unwrap();
        for rank in ranks {
            std::fs::copy(stream(rank), file(&folder.path().join(node), rank)).unwrap();
        }
    }
    folder.run("trace merge a b -o whole").good();
    for rank in 0..4 {
        let merged = std::fs::read(file(&folder.path().join("whole"), rank)).unwrap();
        assert_eq!(merged, std::fs::read(stream(rank)).unwrap());
    }
    folder.run("trace merge b a -o whole.trace").good();
    let mut info = folder.run("trace info whole.trace --json").good().json();
    let mut expected = folder.run("trace info fixtures/traces/halo --json").good().json();
    for answer in [&mut info, &mut expected] {
        answer["trace"] = Value::Null;
    }
    assert_eq!(info, expected);
    // A merged file can be merged again.
    folder.run("trace merge whole.trace -o again").good();
    folder.run("trace check again").good();
    folder.run("trace merge a -o half").good().says("2 ranks are still missing, first rank 2");
    folder.run("trace merge a whole -o twice").ends_with(3).says("are both the stream of rank 0");
    folder.run("trace merge a b -o whole").ends_with(3).says("use a new folder");
}

#[test]
fn traces_are_converted() {
    let folder = Folder::new();
    folder.run("trace convert fixtures/traces/halo -o halo.pftrace").good();
    folder.run("trace convert fixtures/traces/halo -o halo.json").good();
    folder.run("trace convert fixtures/traces/halo -o one.trace").good();
    folder.run("trace convert one.trace -o x/y/folder").good();
    for rank in 0..4 {
        let copied = std::fs::read(file(&folder.path().join("x/y/folder"), rank)).unwrap();
        assert_eq!(copied, std::fs::read(stream(rank)).unwrap());
    }
    folder.run("report halo.json -o halo.html").good();
    let events = std::fs::read_to_string(folder.path().join("halo.json")).unwrap();
    let events: Value = serde_json::from_str(&events).unwrap();
    let named = |name: &str| {
        let events = events["traceEvents"].as_array().unwrap().iter();
        events.filter(|event| event["name"] == name).cloned().collect::<Vec<Value>>()
    };
    // Six exchanges of four ranks.
    assert_eq!(named("MPI_Isend").len(), 48);
    assert!(named("MPI_Isend").iter().all(|event| event["args"]["peer"].as_u64().unwrap() < 4));
    assert_eq!(named("MPI_Waitall").len(), 24);
    assert!(named("MPI_Waitall").iter().all(|event| event["args"].get("peer").is_none()));
    folder.run("trace convert fixtures/traces/halo -o halo.xyz").ends_with(2).says("--to");
}

/// Like recorded traces, since they contain the program's command line.
#[test]
fn converted_traces_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
    for (output, files) in [
        ("-o copy", &["copy/rank-000000.trace"][..]),
        ("-o all.trace", &["all.trace"]),
        ("-o a.pftrace", &["a.pftrace"]),
        ("-o a.json", &["a.json"]),
        ("-o o/halo.otf2", &["o/halo.otf2", "o/halo.def", "o/halo/0.evt", "o/halo/0.def"]),
    ] {
        folder.run(&format!("trace convert fixtures/traces/halo {output}")).good();
        for file in files {
            assert_eq!(mode(file), 0o600, "{file}");
        }
    }
    for (output, file) in [("m", "m/rank-000000.trace"), ("m.trace", "m.trace")] {
        folder.run(&format!("trace merge fixtures/traces/halo -o {output}")).good();
        assert_eq!(mode(file), 0o600, "{file}");
    }
}

#[test]
fn conversion_leaves_out_the_command_line() {
    let folder = Folder::new();
    let (mut trace, _) = directory::open(&fixtures().join("traces/halo")).unwrap();
    trace.meta.program = "./app --token secret".into();
    save::save(&trace, &folder.path().join("run")).unwrap();
    for output in ["copy.trace", "a.json", "a.pftrace", "a.otf2"] {
        let written = |option: &str| {
            folder.run(&format!("trace convert run -o {output} {option}")).good();
            let name = if output == "a.otf2" { "a.def" } else { output };
            String::from_utf8_lossy(&std::fs::read(folder.path().join(name)).unwrap()).into_owned()
        };
        assert!(output == "a.pftrace" || written("").contains("--token secret"), "{output}");
        assert!(!written("--no-command-line").contains("secret"), "{output}");
    }
    let program = folder.run("trace info copy.trace --json").good().json()["program"].clone();
    assert_eq!(program, "app");
}

#[test]
fn what_is_given_in_place_of_a_trace_is_named() {
    let folder = Folder::new();
    folder.write("times.csv", "rank,finish_ps\n0,12\n1,13\n");
    for (line, text) in [
        (
            "trace show fixtures/conformance/eager-00.goal",
            "is a GOAL schedule, not a trace: use it as FILE of `straggler simulate`",
        ),
        ("assess none --trace fixtures/conformance/eager-00.goal", "as --goal of `straggler assess`"),
        ("simulate times.csv", "times.csv is a CSV table, not a schedule"),
        ("simulate fixtures/noise/selfish.0", "is a recording of noise, not a schedule: use it with --noise"),
        ("trace show examples/studies/allreduce.toml", "is a TOML file, not a trace"),
        (
            "predict fixtures/traces/halo/rank-000001.trace",
            "is the stream of one rank of 4: give the folder with all of them, fixtures/traces/halo",
        ),
    ] {
        folder.run(line).ends_with(3).says(text);
    }
    // An arbitrary text file is not taken for noise.
    folder.write("passwd", "root:x:0:0:root:/root:/bin/bash\n");
    let said = folder.run("trace show passwd").ends_with(3).stderr();
    assert!(!said.contains("noise"), "{said}");
}
