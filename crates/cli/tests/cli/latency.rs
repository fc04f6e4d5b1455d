//! `straggler compare` and `straggler diagnose`, on synthetic measurements.

use crate::program::Folder;
use serde_json::Value;

const BEFORE: &str = "fixtures/latency/before.lat";
const AFTER: &str = "fixtures/latency/after.lat";
const TAIL: &str = "fixtures/latency/tail.lat";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// `after.lat` is 0.3 µs slower at every quantile, and so it is found.
#[test]
fn a_shift_is_found_and_named() {
    let folder = Folder::new();
    let answer = folder.run(&format!("compare {BEFORE} {AFTER} --json")).good().json();
    let one = &answer["series"][0]["comparisons"][0];
    assert_eq!(one["change"]["shift"], "more");
    assert_eq!(one["change"]["spread"], Value::Null);
    assert_eq!((one["same_bins"].as_bool(), answer["synthetic"].as_bool()), (Some(true), Some(true)));
    let median = one["quantiles"].as_array().unwrap().iter().find(|level| level["q"] == 0.5).unwrap();
    let [low, high] = [0, 1].map(|end| number(&median["interval_ps"][end]));
    assert!(low < 3e5 && 3e5 < high && (number(&median["difference_ps"]) - 3e5).abs() < 3e4, "{median}");
    let text = folder.run(&format!("compare {BEFORE} {AFTER}")).good().stdout();
    assert!(text.starts_with("B is slower than A: its median is 6"), "{text}");
    assert!(text.contains("shifted as a whole") && text.contains("synthetic"), "{text}");
    let same = folder.run(&format!("compare {BEFORE} {BEFORE}")).good().stdout();
    assert!(same.starts_with("No difference between A and B beyond chance"), "{same}");
}

#[test]
fn a_longer_tail_is_told_from_a_shift() {
    let folder = Folder::new();
    let text = folder.run(&format!("compare {BEFORE} {TAIL} {AFTER}")).good().stdout();
    assert!(text.contains("B differs from A only in the tail"), "{text}");
    assert!(text.contains("C is slower than A"), "{text}");
    assert!(text.contains("All files together, by Anderson and Darling"), "{text}");
}

#[test]
fn gates_set_the_exit_code() {
    let folder = Folder::new();
    let compare = |gates: &str| folder.run(&format!("compare {BEFORE} {AFTER} {gates}"));
    compare("--fail-if p99>+50% --fail-if median>+1us").good();
    let failed = compare("--fail-if median>+5% --fail-if max>+1s").ends_with(5);
    assert!(failed.stderr().contains("median>+5% of fixtures/latency/after.lat"), "{}", failed.stderr());
    assert!(failed.stdout().contains("B is slower than A"));
    compare("--fail-if p99>5us --json").ends_with(5);
    // The difference is 0.3 µs: beyond 0.299 µs, but not surely.
    let undecided = compare("--fail-if median>+0.299us");
    assert!(undecided.good().stderr().contains("undecided"));
    compare("--fail-if p99>5%").ends_with(2);
    compare("--fail-if p99.99999>+5%").ends_with(3);
}

/// A gate must not pass because what it should judge was not measured.
#[test]
fn gates_need_every_series_in_every_file() {
    let folder = Folder::new();
    let peers = "fixtures/latency/peers.lat";
    let whole: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join(peers)).unwrap()).unwrap();
    let mut less = whole.clone();
    let series = less["measurement"]["series"].as_array_mut().unwrap();
    assert!(series.len() > 2);
    series.pop();
    folder.write("less.lat", &less.to_string());
    for files in [format!("{peers} less.lat"), format!("less.lat {peers}")] {
        let warned = folder.run(&format!("compare {files}")).good().stderr();
        assert!(warned.contains("32 peers") && warned.contains("not in less.lat, and left out"), "{warned}");
        let fault = folder.run(&format!("compare {files} --fail-if p50>+1000%")).ends_with(3).stderr();
        assert!(fault.contains("not in less.lat: measure what is missing"), "{fault}");
    }
}

#[test]
fn lists_of_times_are_compared_too() {
    let folder = Folder::new();
    let times = "fixtures/resampling/exchanges.txt";
    let answer =
        folder.run(&format!("compare {times} fixtures/resampling/uninterrupted.txt --json")).good().json();
    assert_eq!(answer["series"][0]["series"], "times");
    // Times as long as those of the other file, but in other bins.
    folder.write("own.txt", &(0..400).map(|step| format!("{}ns\n", 4500 + 3 * step)).collect::<String>());
    let mixed = folder.run(&format!("compare own.txt {BEFORE}")).good();
    assert!(mixed.stderr().contains("different bins") && mixed.stderr().contains("different things"));
    let found = folder.run(&format!("diagnose {times} --json")).good().json();
    assert_eq!(found["groups"][0]["stationarity"]["cycles"], 20);
}

#[test]
fn pairs_are_explained_by_their_nodes() {
    let folder = Folder::new();
    let answer = folder.run("diagnose fixtures/latency/pairs.lat --json").good().json();
    assert_eq!(answer["hints"][0]["hint"], "modes-by-pair");
    let pairs = &answer["groups"][0]["pairs"];
    assert_eq!(pairs["explanations"][0]["property"], "node");
    assert_eq!((&pairs["clusters"][0]["pairs"], &pairs["clusters"][1]["pairs"]), (&12.into(), &16.into()));
    let text = folder.run("diagnose fixtures/latency/pairs.lat").good().stdout();
    assert!(text.starts_with("Two modes split by pair, and the node explains which"), "{text}");
}

#[test]
fn a_mode_above_sixteen_peers() {
    let text = Folder::new().run("diagnose fixtures/latency/peers.lat").good().stdout();
    assert!(text.contains("appears above 16 peers (seen with 24)"), "{text}");
    assert!(text.contains("About 16"), "{text}");
}

#[test]
fn noise_of_the_same_time_explains_the_tail() {
    let folder = Folder::new();
    let line = format!("diagnose {TAIL} --with-noise fixtures/latency/tail.noise --json");
    let noise = folder.run(&line).good().json()["groups"][0]["noise"].clone();
    assert!(number(&noise["explained_time"]) > 0.8, "{noise}");
    assert!((number(&noise["predicted"]) / number(&noise["measured"]) - 1.0).abs() < 0.2, "{noise}");
    let none = folder.run(&format!("diagnose {BEFORE} --with-noise fixtures/latency/tail.noise")).good();
    assert!(none.stderr().contains("no tail"), "{}", none.stderr());
}

#[test]
fn pictures_and_pages() {
    let folder = Folder::new();
    folder.run(&format!("compare {BEFORE} {AFTER} --report compared.page")).good();
    let charts = folder.run("plot page compared.page --list").good().stdout();
    for title in ["Probability density", "Cumulative distribution", "Tail"] {
        assert!(charts.contains(title), "{charts}");
    }
    let charts = folder.run("plot page fixtures/latency/pairs.lat --list").good().stdout();
    assert!(charts.contains("Pairs of processes"), "{charts}");
    folder.run("plot page fixtures/latency/pairs.lat --chart Pairs -o pairs.svg").good();
    folder.run("report fixtures/latency/peers.lat -o peers.html").good();
}

#[test]
fn what_cannot_be_compared() {
    let folder = Folder::new();
    let fault = |line: &str, code: i32| folder.run(line).ends_with(code).stderr();
    assert!(fault(&format!("compare {BEFORE}"), 2).contains("at least two files"));
    assert!(fault(&format!("compare {BEFORE} no.lat"), 3).contains("no.lat cannot be read"));
    assert!(
        fault("compare fixtures/latency/peers.lat fixtures/latency/pairs.lat", 3)
            .contains("no series in common")
    );
    assert!(
        fault(&format!("diagnose {BEFORE} --series 1MiB"), 3).contains("there are: ping-pong, one way, 8 B")
    );
    folder.write("other.json", "{\"format\": \"other\", \"version\": 1}");
    assert!(fault("diagnose other.json", 3).contains("no latency file of straggler"));
    // Nothing in it, and a run that ended early.
    let whole = std::fs::read_to_string(folder.path().join(BEFORE)).unwrap();
    folder.write(
        "cut.lat",
        &whole.replace("\"interruptions\":[]", "\"interruptions\":[\"the peer went away\"]"),
    );
    let cut = folder.run("diagnose cut.lat").good();
    assert!(cut.stderr().contains("not complete: the peer went away"), "{}", cut.stderr());
    let start = whole.find("\"series\":[").unwrap() + 10;
    let end = whole.find("],\"notes\"").unwrap();
    folder.write("empty.lat", &format!("{}{}", &whole[..start], &whole[end..]));
    assert!(fault("diagnose empty.lat", 3).contains("not a single trial"));
}

#[test]
fn files_are_merged_exactly() {
    let folder = Folder::new();
    let trials = |file: &str| {
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        file["measurement"]["series"][0]["trials"]["count"].as_u64().unwrap()
    };
    let answer = folder.run(&format!("measure merge {BEFORE} {AFTER} -o both.lat --json")).good().json();
    assert_eq!((trials("both.lat"), answer["series"].as_u64()), (trials(BEFORE) + trials(AFTER), Some(1)));
    folder.run("diagnose both.lat").good();
    let peers = "fixtures/latency/peers.lat";
    let fault = folder.run(&format!("measure merge {BEFORE} {peers} -o no.lat")).ends_with(3).stderr();
    assert!(
        fault.contains("peers.lat: cannot be merged with the files before it: one is of the kernel"),
        "{fault}"
    );
    folder.run(&format!("measure merge {BEFORE} absent.lat -o no.lat")).ends_with(3).says("absent.lat");
    assert!(!folder.path().join("no.lat").exists());
}
