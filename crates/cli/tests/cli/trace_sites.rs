//! Call sites, message sizes and pauses in `trace show`.

use crate::outside::program::{Folder, fixtures};
use serde_json::Value;
use straggler_trace::format::{directory, save};
use straggler_trace::sites::{Module, NO_SITE, Unifier};
use straggler_trace::{Call, Details, Function, Rare, Trace};

fn halo() -> Trace {
    directory::open(&fixtures().join("traces/halo")).unwrap().0
}

fn list<'a>(answer: &'a Value, name: &str) -> &'a Vec<Value> {
    answer[name].as_array().unwrap()
}

#[test]
fn messages_are_counted_by_size() {
    let folder = Folder::new();
    let answer = folder.run("trace show fixtures/traces/halo --json").good().json();
    let sizes = list(&answer, "message_sizes").iter().filter(|one| one["kind"] == "point-to-point");
    let sum = |name: &str| sizes.clone().map(|one| one[name].as_u64().unwrap()).sum::<u64>();
    let pairs =
        |name: &str| list(&answer, "matrix").iter().map(|one| one[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("messages"), sum("bytes")), (pairs("messages"), pairs("bytes")));
    // On each of 4 ranks, 6 allreduces of 8 bytes in its row and 3 of 64 bytes.
    let reduced = list(&answer, "message_sizes").iter().filter(|one| one["kind"] == "MPI_Allreduce");
    let reduced: Vec<_> =
        reduced.map(|one| (one["least_bytes"].as_u64(), one["messages"].as_u64())).collect();
    assert_eq!(reduced, [(Some(8), Some(24)), (Some(64), Some(12))]);
    let text = folder.run("trace show fixtures/traces/halo").good().stdout();
    assert!(text.contains("point-to-point") && text.contains("8 B up to 16 B"), "{text}");
}

/// If the program's file is missing, call sites are shown as offsets.
#[test]
fn call_sites_have_a_table() {
    let folder = Folder::new();
    let answer = folder.run("trace show fixtures/traces/halo --json").good().json();
    assert!(list(&answer, "call_sites").is_empty());
    let mut trace = halo();
    let mut unifier = Unifier::default();
    let module = Module { path: "/no/such/solve".into(), build_id: vec![1, 2], function: None };
    for rank in &mut trace.ranks {
        let site = |call: &Call| match call.function {
            Function::Waitall => unifier.site(&module, 0x40),
            Function::Isend => unifier.site(&module, 0x80),
            _ => NO_SITE,
        };
        rank.sites = rank.calls.iter().map(site).collect();
    }
    trace.call_sites = unifier.finish();
    save::save(&trace, &folder.path().join("run")).unwrap();
    let answer = folder.run("trace show run --json").good().json();
    let sites = list(&answer, "call_sites");
    let waits = list(&answer, "functions").iter().find(|one| one["function"] == "MPI_Waitall").unwrap();
    let site = sites.iter().find(|one| one["function"] == "MPI_Waitall").unwrap();
    assert_eq!(sites.len(), 2);
    assert_eq!((&site["site"], &site["offset"]), (&"solve+0x40".into(), &"0x40".into()));
    for same in
        ["calls", "seconds", "longest_seconds", "mean_seconds", "share_of_mpi", "share_of_application"]
    {
        assert_eq!(site[same], waits[same], "{same}");
    }
    assert_eq!(site["ranks"], 4);
    let shown = folder.run("trace show run --report page.html").good();
    assert!(
        shown.stdout().contains("solve+0x40") && shown.stdout().contains("variation"),
        "{}",
        shown.stdout()
    );
    shown.says("/no/such/solve cannot be read here");
    let info = folder.run("trace info run").good().stdout();
    assert!(info.contains("2 in 1 module"), "{info}");
    // Ranks wait in MPI_Waitall, which is called from one place.
    let waits = folder.run("trace waits run --json").good().json();
    let site = &waits["call_sites"][0];
    assert_eq!((&site["site"], &site["function"]), (&"solve+0x40".into(), &"MPI_Waitall".into()));
    let of_waitall = list(&waits, "functions").iter().filter(|one| one["function"] == "MPI_Waitall");
    let sum = |list: &mut dyn Iterator<Item = &Value>| {
        list.map(|one| one["seconds"].as_f64().unwrap()).sum::<f64>()
    };
    assert_eq!(sum(&mut list(&waits, "call_sites").iter()), sum(&mut of_waitall.clone()));
    let late = list(&waits, "causes").iter().find(|one| one["activity"] == "MPI_Waitall").unwrap();
    assert_eq!(late["sites"], serde_json::json!(["solve+0x40"]));
    let text = folder.run("trace waits run").good().stdout();
    assert!(text.contains("longest in MPI_Waitall at solve+0x40.") && text.contains("waits at"), "{text}");
    // A converted trace keeps the call sites.
    folder.run("trace convert run -o copy.trace").good();
    let copy = folder.run("trace show copy.trace --json").good().json();
    assert_eq!(copy["call_sites"], answer["call_sites"]);
}

#[test]
fn call_sites_are_asked_for_by_a_variable() {
    let folder = Folder::new();
    folder.write("fake.so", "");
    let said = |option: &str| {
        let mut command = folder.command(&format!("trace record -o out --force {option} -- sh -c"));
        command.arg("echo [$STRAGGLER_CALL_SITES]").env("STRAGGLER_TRACER", "fake.so");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!((said("--call-sites"), said("")), ("[1]\n".into(), "[]\n".into()));
    folder.run("trace record --call-sites info run").ends_with(2);
}

/// The last tenth of the run is a pause, which no table counts.
#[test]
fn pauses_are_left_out_of_the_tables() {
    let folder = Folder::new();
    let mut trace = halo();
    let whole = folder.run("trace show fixtures/traces/halo --json").good().json();
    for rank in &mut trace.ranks {
        let end = rank.calls.last().unwrap().enter;
        let at = straggler_model::Time(end.ps() / 10 * 9);
        let rare = Rare { text: Some("0".into()), recording: Some(false), ..Rare::default() };
        rank.push_with(Call::new(Function::Pcontrol, at, at), Details::from(rare));
        rank.calls.sort_by_key(|call| call.enter);
    }
    save::save(&trace, &folder.path().join("run")).unwrap();
    let answer = folder.run("trace show run --json").good().json();
    let seconds = |answer: &Value, name: &str| answer[name].as_f64().unwrap();
    assert!(seconds(&answer, "paused_seconds") > 0.0);
    let both = seconds(&answer, "application_seconds") + seconds(&answer, "paused_seconds");
    assert!((both - seconds(&whole, "application_seconds")).abs() < 1e-9);
    assert!(seconds(&answer, "mpi_seconds") < seconds(&whole, "mpi_seconds"));
    let text = folder.run("trace show run").good().stdout();
    assert!(text.contains("paused recording"), "{text}");
}
