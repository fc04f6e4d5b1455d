//! `straggler latency compare` and `straggler latency diagnose`, on synthetic measurements.

use crate::outside::program::Folder;
use serde_json::Value;

const BEFORE: &str = "fixtures/latency/before.lat";
const AFTER: &str = "fixtures/latency/after.lat";
const TAIL: &str = "fixtures/latency/tail.lat";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// `after.lat` is 0.3 µs slower at every quantile: a shift without a change of spread.
#[test]
fn a_shift_is_found_and_named() {
    let folder = Folder::new();
    let answer = folder.run(&format!("latency compare {BEFORE} {AFTER} --json")).good().json();
    let one = &answer["series"][0]["comparisons"][0];
    assert_eq!(one["change"]["shift"], "more");
    assert_eq!(one["change"]["spread"], Value::Null);
    assert_eq!((one["same_bins"].as_bool(), answer["synthetic"].as_bool()), (Some(true), Some(true)));
    let median = one["quantiles"].as_array().unwrap().iter().find(|level| level["q"] == 0.5).unwrap();
    let [low, high] = [0, 1].map(|end| number(&median["interval_ps"][end]));
    assert!(low < 3e5 && 3e5 < high && (number(&median["difference_ps"]) - 3e5).abs() < 3e4, "{median}");
    let text = folder.run(&format!("latency compare {BEFORE} {AFTER}")).good().stdout();
    assert!(text.starts_with("B is slower than A: its median is 6"), "{text}");
    assert!(text.contains("shifted alike") && text.contains("synthetic"), "{text}");
    let same = folder.run(&format!("latency compare {BEFORE} {BEFORE}")).good().stdout();
    assert!(same.starts_with("A and B are statistically indistinguishable"), "{same}");
}

#[test]
fn a_longer_tail_is_told_from_a_shift() {
    let folder = Folder::new();
    let text = folder.run(&format!("latency compare {BEFORE} {TAIL} {AFTER}")).good().stdout();
    assert!(text.contains("B differs from A only in the tail"), "{text}");
    assert!(text.contains("C is slower than A"), "{text}");
    assert!(text.contains("All files together (Anderson–Darling)"), "{text}");
}

#[test]
fn gates_set_the_exit_code() {
    let folder = Folder::new();
    let compare = |gates: &str| folder.run(&format!("latency compare {BEFORE} {AFTER} {gates}"));
    compare("--fail-if p99>+50% --fail-if median>+1us").good();
    let failed = compare("--fail-if median>+5% --fail-if max>+1s").ends_with(5);
    assert!(failed.stderr().contains("median>+5% of fixtures/latency/after.lat"), "{}", failed.stderr());
    assert!(failed.stdout().contains("B is slower than A"));
    compare("--fail-if p99>5us --json").ends_with(5);
    // The difference is 0.3 µs. Its confidence interval includes 0.299 µs.
    let undecided = compare("--fail-if median>+0.299us");
    assert!(undecided.good().stderr().contains("undecided"));
    compare("--fail-if p99>5%").ends_with(2).says("needs a sign, as in +5%");
    compare("--fail-if median>1.05x").ends_with(5);
    compare("--fail-if medain>+5%").ends_with(2).says("did you mean `median`?");
    compare("--fail-if p99.99999>+5%").ends_with(3);
}

/// A gate must not pass because a series is missing.
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
        let warned = folder.run(&format!("latency compare {files}")).good().stderr();
        assert!(
            warned.contains("32 peers") && warned.contains("not in less.lat, so it is skipped"),
            "{warned}"
        );
        let fault =
            folder.run(&format!("latency compare {files} --fail-if p50>+1000%")).ends_with(3).stderr();
        assert!(fault.contains("not in less.lat: measure the missing series"), "{fault}");
    }
}

#[test]
fn lists_of_times_are_compared_too() {
    let folder = Folder::new();
    let times = "fixtures/resampling/exchanges.txt";
    let answer = folder
        .run(&format!("latency compare {times} fixtures/resampling/uninterrupted.txt --json"))
        .good()
        .json();
    assert_eq!(answer["series"][0]["series"], "times");
    // Times in the same range as the other file's, but in other bins.
    folder.write("own.txt", &(0..400).map(|step| format!("{}ns\n", 4500 + 3 * step)).collect::<String>());
    let mixed = folder.run(&format!("latency compare own.txt {BEFORE}")).good();
    assert!(mixed.stderr().contains("different bins") && mixed.stderr().contains("differ in kind"));
    let found = folder.run(&format!("latency diagnose {times} --json")).good().json();
    assert_eq!(found["groups"][0]["stationarity"]["cycles"], 40);
}

#[test]
fn pairs_are_explained_by_their_nodes() {
    let folder = Folder::new();
    let answer = folder.run("latency diagnose fixtures/latency/pairs.lat --json").good().json();
    assert_eq!(answer["hints"][0]["hint"], "modes-by-pair");
    let pairs = &answer["groups"][0]["pairs"];
    assert_eq!(pairs["explanations"][0]["property"], "node");
    assert_eq!((&pairs["clusters"][0]["pairs"], &pairs["clusters"][1]["pairs"]), (&12.into(), &16.into()));
    let text = folder.run("latency diagnose fixtures/latency/pairs.lat").good().stdout();
    assert!(
        text.starts_with("The pairs fall into two groups, by node: the cause is the topology."),
        "{text}"
    );
    assert!(text.contains("Grouped by node (same node: 12 pairs near 1.100 µs; different nodes: "), "{text}");
    assert!(text.contains("\ngrouped by node, the pairs form exactly these clusters\n"), "{text}");
    assert!(text.contains("weight₁ 0.43, median₁ 1.022 µs, sigma₁ 0.05, median₂ 2.320 µs"), "{text}");
}

#[test]
fn a_mode_above_sixteen_peers() {
    let text = Folder::new().run("latency diagnose fixtures/latency/peers.lat").good().stdout();
    assert!(text.contains("appears above 16 peers (seen with 24)"), "{text}");
    assert!(text.contains("With 24 peers it holds 33 % of the trials: 16 peers do not show it."), "{text}");
    assert!(text.contains("About 16 peers stay fast"), "{text}");
}

#[test]
fn noise_of_the_same_time_explains_the_tail() {
    let folder = Folder::new();
    let line = format!("latency diagnose {TAIL} --with-noise fixtures/latency/tail.noise --json");
    let noise = folder.run(&line).good().json()["groups"][0]["noise"].clone();
    assert!(number(&noise["explained_time"]) > 0.8, "{noise}");
    assert!((number(&noise["predicted"]) / number(&noise["measured"]) - 1.0).abs() < 0.2, "{noise}");
    let none =
        folder.run(&format!("latency diagnose {BEFORE} --with-noise fixtures/latency/tail.noise")).good();
    assert!(none.stderr().contains("no tail"), "{}", none.stderr());
}

#[test]
fn pictures_and_pages() {
    let folder = Folder::new();
    folder.run(&format!("latency compare {BEFORE} {AFTER} --report compared.page")).good();
    let page = std::fs::read(folder.path().join("compared.page")).unwrap();
    let page = straggler_report::page::Page::from_container(&page).unwrap();
    assert!(page.summary.iter().all(|line| !page.sections[0].text.contains(line)), "{:?}", page.summary);
    let charts = folder.run("tools plot page compared.page --list").good().stdout();
    for title in ["Probability density", "Cumulative distribution", "Tail"] {
        assert!(charts.contains(title), "{charts}");
    }
    let charts = folder.run("tools plot page fixtures/latency/pairs.lat --list").good().stdout();
    assert!(charts.contains("Pairs of processes"), "{charts}");
    folder.run("tools plot page fixtures/latency/pairs.lat --chart Pairs -o pairs.svg").good();
    folder.run("report fixtures/latency/peers.lat -o peers.html").good();
}

#[test]
fn what_cannot_be_compared() {
    let folder = Folder::new();
    let fault = |line: &str, code: i32| folder.run(line).ends_with(code).stderr();
    assert!(fault(&format!("latency compare {BEFORE}"), 2).contains("at least two files"));
    assert!(fault(&format!("latency compare {BEFORE} no.lat"), 3).contains("no.lat cannot be read"));
    assert!(
        fault("latency compare fixtures/latency/peers.lat fixtures/latency/pairs.lat", 3)
            .contains("no series in common")
    );
    assert!(
        fault(&format!("latency diagnose {BEFORE} --series 1MiB"), 3)
            .contains("the series are: ping-pong, one way, 8 B")
    );
    folder.write("other.json", "{\"format\": \"other\", \"version\": 1}");
    assert!(fault("latency diagnose other.json", 3).contains("not a latency file of straggler"));
    // A run that ended early, and a file without series.
    let whole = std::fs::read_to_string(folder.path().join(BEFORE)).unwrap();
    folder.write(
        "cut.lat",
        &whole.replace("\"interruptions\":[]", "\"interruptions\":[\"the peer went away\"]"),
    );
    let cut = folder.run("latency diagnose cut.lat").good();
    assert!(cut.stderr().contains("not complete: the peer went away"), "{}", cut.stderr());
    let start = whole.find("\"series\":[").unwrap() + 10;
    let end = whole.find("],\"notes\"").unwrap();
    folder.write("empty.lat", &format!("{}{}", &whole[..start], &whole[end..]));
    assert!(fault("latency diagnose empty.lat", 3).contains("empty.lat has no trials"));
}

#[test]
fn files_are_merged_exactly() {
    let folder = Folder::new();
    let trials = |file: &str| {
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        file["measurement"]["series"][0]["trials"]["count"].as_u64().unwrap()
    };
    let answer = folder.run(&format!("latency merge {BEFORE} {AFTER} -o both.lat --json")).good().json();
    assert_eq!((trials("both.lat"), answer["series"].as_u64()), (trials(BEFORE) + trials(AFTER), Some(1)));
    folder.run("latency diagnose both.lat").good();
    let peers = "fixtures/latency/peers.lat";
    let fault = folder.run(&format!("latency merge {BEFORE} {peers} -o no.lat")).ends_with(3).stderr();
    assert!(
        fault.contains("peers.lat: cannot be merged with the files before it: one file is of the kernel"),
        "{fault}"
    );
    folder.run(&format!("latency merge {BEFORE} absent.lat -o no.lat")).ends_with(3).says("absent.lat");
    assert!(!folder.path().join("no.lat").exists());
}

/// Three runs a side at 9, 10, 11 and at 12, 13, 14 µs: no run of one side reaches the other. Lists of times become runs
/// by merging, and verdict, table and gate agree.
#[test]
fn merged_lists_are_runs() {
    let folder = Folder::new();
    for (side, levels) in [("a", [10, 11, 9]), ("b", [13, 14, 12])] {
        for (run, level) in (1..).zip(levels) {
            let times: String = (0..200).map(|trial| format!("{}\n", level * 1000 + trial % 20)).collect();
            folder.write(&format!("{side}{run}.txt"), &times);
        }
        let files: Vec<String> = (1..=3).map(|run| format!("{side}{run}.txt")).collect();
        let line = format!("latency merge {} --unit ns -o {side}.lat", files.join(" "));
        assert!(folder.run(&line).good().stdout().contains("600 trials"));
    }
    let text = folder.run("latency compare a.lat b.lat").good().stdout();
    assert!(text.starts_with("B is slower than A: its median is 30 % higher"), "{text}");
    assert!(!text.contains("variation between runs"), "{text}");
    let gated = folder.run("latency compare a.lat b.lat --fail-if median>+4% --json").ends_with(5).json();
    let one = &gated["series"][0]["comparisons"][0];
    assert_eq!((&one["variation"][0]["runs"], &one["change"]["shift"]), (&3.into(), &"more".into()));
    let median = one["quantiles"].as_array().unwrap().iter().find(|level| level["q"] == 0.5).unwrap();
    assert_eq!(
        (&gated["gates"][0]["interval"], &gated["gates"][0]["between_runs"]),
        (&median["share_interval"], &true.into())
    );
    folder.run("latency compare a.lat b.lat --fail-if median>+10%").good().says("undecided");
    // Their cycles follow each other, and a run is known again.
    let found = folder.run("latency diagnose a.lat --json").good().json();
    assert_eq!(found["groups"][0]["stationarity"]["cycles"], 60);
    folder.run("latency merge a.lat a2.txt --unit ns -o c.lat").ends_with(3).says("has the same run");
    folder.run("latency merge a1.txt a2.txt -o c.lat").ends_with(3).says("--unit");
}

/// Returns a series with the given labels and times in ns, in bins of 1 µs up to 10 µs.
fn measured(labels: Value, times: &[u64]) -> Value {
    measured_in(labels, times, 1000)
}

/// Like [`measured`], with bins of the given width in ns.
fn measured_in(labels: Value, times: &[u64], width: u64) -> Value {
    let within = |ns: &&u64| **ns < 10_000;
    let mut counts: Vec<(u64, u64)> = Vec::new();
    for ns in times.iter().filter(within) {
        let low = ns / width * width * 1000;
        match counts.iter_mut().find(|(at, _)| *at == low) {
            Some((_, count)) => *count += 1,
            None => counts.push((low, 1)),
        }
    }
    counts.sort_unstable();
    let sum: u128 = times.iter().map(|&ns| u128::from(ns) * 1000).sum();
    let squares: u128 = times.iter().map(|&ns| (u128::from(ns) * 1000).pow(2)).sum();
    serde_json::json!({
        "labels": labels,
        "trials": {
            "bins": { "layout": "fixed-width", "width_ps": width * 1000, "count": 10_000 / width },
            "count": times.len(), "underflow": 0, "overflow": times.len() - times.iter().filter(within).count(),
            "sum_ps": sum.to_string(), "sum_of_squares_ps2": squares.to_string(), "counts": counts,
            "min_ps": times.iter().min().unwrap() * 1000, "max_ps": times.iter().max().unwrap() * 1000,
        },
        "minima_ps": [], "cycles": [],
    })
}

fn file(folder: &Folder, name: &str, series: &[Value]) {
    let text = std::fs::read_to_string(folder.path().join(BEFORE)).unwrap();
    let mut whole: Value = serde_json::from_str(&text).unwrap();
    let timer = whole["measurement"]["series"][0]["timer"].clone();
    let with_timer = |one: &Value| {
        let mut one = one.clone();
        one["timer"] = timer.clone();
        one
    };
    whole["measurement"]["series"] = series.iter().map(with_timer).collect();
    folder.write(name, &whole.to_string());
}

/// One trial in five takes 50 µs or more, and the bins end at 10 µs.
#[test]
fn quantiles_outside_the_bins_are_bounds() {
    let folder = Folder::new();
    let labels = serde_json::json!({ "kernel": "ping-pong", "kind": "one-way", "size": 8 });
    let good: Vec<u64> = (0..1000).map(|trial| 5000 + trial).collect();
    let bad: Vec<u64> =
        (0..1000).map(|trial| if trial < 200 { 50_000 + trial } else { 5000 + trial }).collect();
    file(&folder, "good.lat", &[measured(labels.clone(), &good)]);
    file(&folder, "bad.lat", &[measured(labels, &bad)]);
    let text = folder.run("latency diagnose bad.lat").good().stdout();
    let row = |text: &str, name: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("{name}: {text}")).to_string()
    };
    assert!(row(&text, "p95").contains("> 10 µs") && row(&text, "p75").contains("5."), "{text}");
    assert!(
        text.contains("skew and kurtosis are unknown, because 200 trials lie outside the bins"),
        "{text}"
    );
    let answer = folder.run("latency diagnose bad.lat --json").good().json();
    let levels = answer["groups"][0]["trials"]["quantiles"].as_array().unwrap();
    let level = levels.iter().find(|level| level["q"] == 0.95).unwrap();
    assert_eq!((&level["value_ps"], &level["outside"]["above_ps"]), (&Value::Null, &10_000_000.into()));
    let text = folder.run("latency compare good.lat bad.lat").good();
    assert!(row(&text.stdout(), "p95").contains("> 10 µs"), "{}", text.stdout());
    assert!(text.stderr().contains("some quantiles lie outside the bins"), "{}", text.stderr());
    // p95 is only known to be above 10 µs: surely a rise of 5 %, but a rise of 200 % cannot be
    // decided.
    let tripped = folder.run("latency compare good.lat bad.lat --fail-if p95>+5%").ends_with(5).stderr();
    assert!(tripped.contains("a bound: the quantile lies outside the bins"), "{tripped}");
    let fault = folder.run("latency compare good.lat bad.lat --fail-if p95>+200%").ends_with(3).stderr();
    assert!(fault.contains("cannot be decided") && fault.contains("(> 10 µs)"), "{fault}");
    folder.run("latency compare good.lat bad.lat --fail-if median>+50%").good();
    folder.run("latency diagnose bad.lat --report bad.html").good();
    // All trials lie beyond the bins.
    let labels = serde_json::json!({ "kernel": "ping-pong", "kind": "one-way", "size": 8 });
    file(
        &folder,
        "all.lat",
        &[measured(labels, &(0..1000).map(|trial| 50_000 + trial).collect::<Vec<u64>>())],
    );
    let text = folder.run("latency compare good.lat all.lat").good().stdout();
    assert!(text.starts_with("B is slower than A: its median is higher (> 10 µs instead of 5."), "{text}");
    folder.run("latency diagnose all.lat --report all.html").good();
    let text = folder.run("latency compare all.lat all.lat").good().stdout();
    let says = "Unknown whether B is faster or slower than A: the medians lie outside the bins (> 10 µs and > 10 µs).";
    assert!(text.starts_with(says), "{text}");
    let text = folder.run("latency compare bad.lat bad.lat").good().stdout();
    let says = "Unknown whether their spreads and tails differ: they lie outside the bins.";
    assert!(text.starts_with("The medians of A and B do not differ") && text.contains(says), "{text}");
}

#[test]
fn ranks_of_a_collective_are_one_series() {
    let folder = Folder::new();
    let of = |rank: Option<u64>, ns: u64| {
        let mut labels = serde_json::json!({ "kernel": "barrier", "kind": "per-rank" });
        if let Some(rank) = rank {
            labels["rank"] = rank.into();
        }
        measured(labels, &(0..100).map(|trial| ns + trial).collect::<Vec<u64>>())
    };
    file(
        &folder,
        "ranks.lat",
        &[of(Some(0), 3100), of(Some(1), 3100), of(Some(2), 7100), of(Some(10), 3100)],
    );
    let text = folder.run("latency diagnose ranks.lat").good().stdout();
    assert!(text.contains("of 4 ranks, rank 2 is slowest: its median is 7."), "{text}");
    assert_eq!(text.matches("barrier, per rank").count(), 1, "{text}");
    let answer = folder.run("latency diagnose ranks.lat --json").good().json();
    assert_eq!(answer["groups"][0]["ranks"]["slowest"]["rank"], 2);
    assert_eq!(
        (&answer["groups"][0]["trials"]["count"], answer["groups"].as_array().unwrap().len()),
        (&400.into(), 1)
    );
    // All ranks together, then one of them.
    folder.run("latency compare ranks.lat ranks.lat").good();
    let one = folder.run("latency compare ranks.lat ranks.lat --series rank1 --json").good().json();
    assert_eq!(one["series"][0]["series"], "barrier, per rank, rank 1");
}

#[test]
fn series_are_chosen_as_they_are_typed() {
    let folder = Folder::new();
    let pairs = "fixtures/latency/pairs.lat";
    for name in ["0-1", "0–1", "pair0-1", "1B,0-1"] {
        let answer =
            folder.run(&format!("latency compare {pairs} {pairs} --series {name} --json")).good().json();
        assert_eq!(answer["series"][0]["series"], "sendrecv, pairwise, 1 B, pair 0–1", "{name}");
        assert_eq!(answer["series"].as_array().unwrap().len(), 1);
    }
}

/// Lists of times with a warm-up, a burst, alternating levels, and none of these.
#[test]
fn bursts_and_warm_up_of_lists_are_told() {
    let folder = Folder::new();
    let list = |level: &dyn Fn(usize) -> usize| -> String {
        (0..2000).map(|place| format!("{}ns\n", level(place) * 1000 + (place * 7919) % 97)).collect()
    };
    folder.write("warm.txt", &list(&|place| if place < 50 { 8 } else { 5 }));
    folder.write("burst.txt", &list(&|place| if (900..1050).contains(&place) { 9 } else { 5 }));
    folder.write("swing.txt", &list(&|place| if (place / 50) % 2 == 0 { 5 } else { 6 }));
    folder.write("calm.txt", &list(&|_| 5));
    for (name, says) in [
        ("warm.txt", "steady over 39 cycles after a warm-up: the first cycle takes 59 %"),
        ("burst.txt", "has bursts, over 40 cycles: 3 cycles take"),
        ("swing.txt", "alternates between levels from cycle to cycle, over 40 cycles"),
        ("calm.txt", "steady over 40 cycles"),
    ] {
        let text = folder.run(&format!("latency diagnose {name}")).good().stdout();
        assert!(text.contains(says), "{name}: {text}");
    }
}

/// Series with different names can be selected for each file.
#[test]
fn one_series_of_each_file_is_compared() {
    let folder = Folder::new();
    let of = |kernel: &str, ns: u64| {
        let labels = serde_json::json!({ "kernel": kernel, "kind": "operation" });
        measured(labels, &(0..1000).map(|trial| ns + trial % 100).collect::<Vec<u64>>())
    };
    file(&folder, "calls.lat", &[of("getpid", 3000), of("read", 4000)]);
    let twice = "latency compare calls.lat calls.lat";
    let answer = folder.run(&format!("{twice} --series getpid --series read --json")).good().json();
    assert_eq!(answer["series"][0]["series"], "getpid / read");
    assert!(answer["verdict"].as_str().unwrap().starts_with("B is slower than A"), "{answer}");
    folder
        .run(&format!("{twice} calls.lat --series getpid --series read"))
        .ends_with(2)
        .says("once for each");
    folder.run(&format!("{twice} --series getpid --series e")).ends_with(3).says("several series match `e`");
}

/// Pairs of nodes on two leaf switches, described by a Slurm topology file.
#[test]
fn switches_are_compared_with_clusters() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(folder.path().join("fixtures/latency/pairs.lat")).unwrap();
    let mut whole: Value = serde_json::from_str(&text).unwrap();
    let processes = whole["measurement"]["processes"].as_array_mut().unwrap();
    for process in processes.iter_mut() {
        // Puts each rank on a node of its own; the two former nodes become two switches.
        let (rank, node) = (process["rank"].as_u64().unwrap(), process["node"].as_u64().unwrap());
        *process = serde_json::json!({ "rank": rank, "host": format!("n{node}{rank:02}"), "node": rank });
    }
    folder.write("pairs.lat", &whole.to_string());
    folder.write(
        "topology.conf",
        "SwitchName=a Nodes=n0[00-99]\nSwitchName=b Nodes=n1[00-99]\nSwitchName=c Switches=a,b\n",
    );
    let line = "latency diagnose pairs.lat --json --topology";
    let answer = folder.run(&format!("{line} topology.conf")).good().json();
    let best = &answer["groups"][0]["pairs"]["explanations"][0];
    assert_eq!((&best["property"], number(&best["agreement"]) > 0.99), (&"switch".into(), true), "{best}");
    folder.write("part.conf", "SwitchName=a Nodes=n0[00-99]");
    folder.run(&format!("{line} part.conf")).good();
    folder.write("other.conf", "SwitchName=a Nodes=m[00-99]");
    folder.run(&format!("{line} other.conf")).ends_with(3).says("does it describe another machine?");
    folder.write("bad.conf", "SwitchName=a Nodes=n[1");
    folder.run(&format!("{line} bad.conf")).ends_with(3).says("line 1: `n[1` is not a list of hosts");
    folder.run(&format!("{line} no.conf")).ends_with(3).says("cannot be read");
}

/// A hint that applies to several series is printed once, with a line for each series.
#[test]
fn hints_that_say_the_same_are_told_once() {
    let folder = Folder::new();
    let times: Vec<u64> = (0..200).map(|trial| if trial % 2 == 0 { 2_500 } else { 7_500 }).collect();
    let labels = |size: u64| serde_json::json!({ "kernel": "tcp", "kind": "round-trip", "size": size });
    file(&folder, "two.lat", &[measured_in(labels(1), &times, 50), measured_in(labels(8), &times, 50)]);
    let text = folder.run("latency diagnose two.lat").good().stdout();
    let says = text.lines().filter(|line| line.contains("The times have several modes.")).count();
    // Once in the first sentence, once as the hint.
    assert_eq!(says, 2, "{text}");
    assert!(text.contains("several modes. (2 series)\n   tcp, round trip, 1 B: Modes: "), "{text}");
    assert_eq!(
        folder.run("latency diagnose two.lat --json").good().json()["hints"].as_array().unwrap().len(),
        2
    );
}

/// Writes a file of all pairs of `ranks` processes, one per node, whose trials take `median` ns.
fn of_pairs(folder: &Folder, name: &str, ranks: u64, median: impl Fn(u64, u64) -> u64) {
    let text = std::fs::read_to_string(folder.path().join("fixtures/latency/pairs.lat")).unwrap();
    let mut whole: Value = serde_json::from_str(&text).unwrap();
    let timer = whole["measurement"]["series"][0]["timer"].clone();
    let process = |rank: u64| serde_json::json!({ "rank": rank, "host": format!("n{rank}"), "node": rank });
    whole["measurement"]["processes"] = (0..ranks).map(process).collect();
    let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
    let series = pairs.filter(|(from, to)| from != to).map(|(from, to)| {
        let pair = serde_json::json!({ "from": from, "to": to });
        let labels = serde_json::json!({ "kernel": "tcp", "kind": "round-trip", "size": 1, "pair": pair });
        let mut one = measured_in(labels, &[median(from, to); 100], 50);
        one["timer"] = timer.clone();
        one
    });
    whole["measurement"]["series"] = series.collect();
    folder.write(name, &whole.to_string());
}

#[test]
fn a_slow_process_explains_the_slow_mode() {
    let folder = Folder::new();
    of_pairs(&folder, "slow.lat", 6, |from, to| if from == 2 || to == 2 { 7_500 } else { 2_500 });
    let text = folder.run("latency diagnose slow.lat").good().stdout();
    assert!(text.starts_with("Process 2 is slow with every peer"), "{text}");
    assert!(text.contains("the slow pairs are those of the slow process or pair above"), "{text}");
    assert!(text.contains("is the same for all pairs: different nodes"), "{text}");
}

#[test]
fn three_modes_of_pairs_are_counted() {
    let folder = Folder::new();
    let median = |from: u64, to: u64| [1_500, 4_500, 8_500][(from.abs_diff(to) as usize - 1) / 2];
    of_pairs(&folder, "three.lat", 6, median);
    let text = folder.run("latency diagnose three.lat").good().stdout();
    assert!(text.starts_with("Three modes split by pair"), "{text}");
    // 5 + 4 pairs lie 1 or 2 apart, 3 + 2 lie 3 or 4, and 1 lies 5 apart, each in both directions.
    assert!(text.contains("18 pairs are near 1.5") && text.contains(", 10 near 4.5"), "{text}");
    assert!(text.contains(", 2 near 8.5"), "{text}");
}

/// Eight processes on four nodes of two leaf switches, which the file does not name: nodes explain only the fastest pairs.
#[test]
fn unknown_switches_are_suggested() {
    let folder = Folder::new();
    let pairs: Vec<Value> = (0..8u64)
        .flat_map(|from| (from + 1..8).map(move |to| (from, to)))
        .map(|(from, to)| {
            let ns = if from / 2 == to / 2 { 1000 } else { 2000 + 1000 * u64::from(from / 4 != to / 4) };
            let times: Vec<u64> = (0..200).map(|trial| ns + trial % 40).collect();
            let pair = serde_json::json!({ "from": from, "to": to });
            let labels = serde_json::json!({ "kernel": "p", "kind": "one-way", "size": 8, "pair": pair });
            measured_in(labels, &times, 10)
        })
        .collect();
    file(&folder, "leaves.lat", &pairs);
    let text = std::fs::read_to_string(folder.path().join("leaves.lat")).unwrap();
    let mut whole: Value = serde_json::from_str(&text).unwrap();
    let process =
        |rank: u64| serde_json::json!({ "rank": rank, "host": format!("n{}", rank / 2), "node": rank / 2 });
    whole["measurement"]["processes"] = (0..8).map(process).collect();
    folder.write("leaves.lat", &whole.to_string());
    let told = folder.run("latency diagnose leaves.lat").good().stdout();
    assert!(told.contains("the switches of the nodes are unknown: name them with --topology."), "{told}");
    assert!(told.contains("The node explains which pairs are near 1.0"), "{told}");
    folder.write("topology.conf", "SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n[2-3]\n");
    let known = folder.run("latency diagnose leaves.lat --topology topology.conf").good().stdout();
    assert!(!known.contains("--topology"), "{known}");
}

#[test]
fn merging_refuses_what_would_count_twice() {
    let folder = Folder::new();
    folder
        .run(&format!("latency merge {BEFORE} fixtures/latency/../latency/before.lat -o a.lat"))
        .ends_with(2)
        .says("given twice");
    std::fs::copy(folder.path().join(BEFORE), folder.path().join("b.lat")).unwrap();
    folder.run(&format!("latency merge b.lat {AFTER} -o ./b.lat")).ends_with(2).says("written over");
    let same = std::fs::read(folder.path().join(BEFORE)).unwrap();
    assert_eq!(std::fs::read(folder.path().join("b.lat")).unwrap(), same);
    folder.run(&format!("latency merge {BEFORE} -o a.lat")).ends_with(2).says("<FILE>");
    // Merging a file with one that is already part of it.
    for (kernel, file) in [("pipe", "c.lat"), ("pipe", "d.lat")] {
        let line = format!("latency measure --kernel {kernel} --trials 20 --cycles 2 -o {file}");
        folder.run(&line).good();
    }
    folder.run("latency merge c.lat d.lat -o e.lat").good();
    folder.run("latency merge e.lat d.lat -o f.lat").ends_with(3).says("would count twice");
    // Files with different processes cannot be merged.
    let text = std::fs::read_to_string(folder.path().join("d.lat")).unwrap();
    let mut whole: Value = serde_json::from_str(&text).unwrap();
    whole["measurement"]["processes"].as_array_mut().unwrap().pop();
    folder.write("g.lat", &whole.to_string());
    folder.run("latency merge c.lat g.lat -o f.lat").ends_with(3).says("rank 1 is in only one of them");
}

#[test]
fn files_that_are_no_measurements() {
    let folder = Folder::new();
    folder.write("empty.lat", "");
    folder.write("text.lat", "hello\n");
    folder.write("plain.txt", "173\n");
    folder.run("latency diagnose empty.lat").ends_with(3).says("empty.lat: the file is empty");
    let empty = "--with-noise empty.lat";
    folder
        .run(&format!("latency diagnose {BEFORE} {empty}"))
        .ends_with(3)
        .says("empty.lat: the file is empty");
    let whole = std::fs::read_to_string(folder.path().join(BEFORE)).unwrap();
    folder.write("cut.lat", &whole[..2000]);
    folder.run("latency diagnose cut.lat").ends_with(3).says("cut.lat: the file is truncated");
    folder
        .run("latency diagnose text.lat")
        .ends_with(3)
        .says("text.lat: this is not a latency file of straggler");
    folder.run("latency diagnose plain.txt").ends_with(3).says("or set it with --unit");
    folder
        .run(&format!("latency diagnose {BEFORE} --with-noise {AFTER}"))
        .ends_with(3)
        .says("straggler noise measure -o FILE");
}

/// The example in the guide is a complete file.
#[test]
fn the_file_in_the_guide_can_be_read() {
    let folder = Folder::new();
    let guide = include_str!("../../../../docs/guide/latency.md");
    let example = guide.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    folder.write("guide.lat", example);
    let answer = folder.run("latency diagnose guide.lat --json").good().json();
    assert_eq!(answer["groups"][0]["trials"]["count"], 3, "{answer}");
}

/// One line per series is enough to see which differ; -v has all about each.
#[test]
fn several_series_are_diagnosed_in_brief() {
    let folder = Folder::new();
    let line = "latency diagnose fixtures/latency/peers.lat";
    let [brief, all] = ["", " -v"].map(|option| folder.run(&format!("{line}{option}")).good().stdout());
    assert!(brief.lines().count() <= 40 && brief.contains("With -v: quantiles, modes"), "{brief}");
    assert!(all.lines().count() > 100 && all.contains("standard deviation"), "{all}");
    let answer = folder.run(&format!("{line} --json")).good().json();
    let groups = answer["groups"].as_array().unwrap();
    assert!(
        groups.len() > 1 && groups.iter().all(|group| brief.contains(group["name"].as_str().unwrap())),
        "{brief}"
    );
}
