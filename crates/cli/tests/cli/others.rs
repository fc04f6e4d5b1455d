//! Commands other than `simulate`.

use crate::outside::program::Folder;

#[test]
fn networks_are_listed_and_read_back() {
    let folder = Folder::new();
    let list = folder.run("network list --json").good().json();
    let names: Vec<&str> =
        list["networks"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"chic"));
    for name in names {
        folder.run(&format!("network show {name} -o net.toml")).good();
        let shown = folder.run("network show net.toml --json").good().json();
        let preset = folder.run(&format!("network show {name} --json")).good().json();
        assert_eq!(shown, preset);
    }
    assert!(folder.run("network show chic").good().stdout().contains("# L, o, g, G: "));
    let fast = folder.run("network show chic --network-scale 10 --json").good().json();
    assert_eq!(fast["L"], "533ns");
}

#[test]
fn noise_is_described() {
    let folder = Folder::new();
    let text = folder.run("noise show periodic:period=1ms,duration=100us").good().stdout();
    assert!(
        text.starts_with("Noise takes 10 % of rank 0's time. 100 µs every 1 ms (10 %) on every rank.\n"),
        "{text}"
    );
    let line = "noise show periodic:period=1ms,duration=100us delay:rank=4,at=1us,duration=5us --json";
    let answer = folder.run(line).good().json();
    assert_eq!(answer["sources"].as_array().unwrap().len(), 2);
    assert_eq!(answer["sources"][0]["share"], 0.1);
    assert_eq!(answer["sources"][1]["ranks"], "rank 4");
    folder.write("overlap.txt", "0 100\n50 10\n200 5\n");
    folder.run("noise show overlap.txt").good().says("1 detour starts before the previous one ended");
    assert_eq!(folder.run("noise show none").good().stdout(), "No noise.\n");
}

/// Five detours do not tell whether a fit is good.
#[test]
fn a_fit_of_few_detours_is_not_called_good() {
    let folder = Folder::new();
    folder.write("few.txt", "1000 5000\n4001000 6000\n9001000 5500\n17001000 7000\n30001000 5200\n");
    let text = folder.run("noise fit few.txt -o few.toml").good().stdout();
    assert!(text.contains("cannot be tested: there are too few detours"), "{text}");
    assert!(!text.contains("critical value 1.") && !text.contains("same durations"), "{text}");
}

#[test]
fn measured_noise_is_analysed() {
    let folder = Folder::new();
    // 5 µs every 4 ms, and 7 µs once in a while.
    let ticks = (0..1000).map(|tick| (tick * 4_000_000 + 1000, 5000));
    let scattered = |index: u64| (index * index * index * 2_654_435_761 + 7) % 3_990_000_000;
    let others = (0..60).map(|index| (scattered(index), 7000));
    let mut detours: Vec<(u64, u64)> = ticks.chain(others).collect();
    detours.sort_unstable();
    let text: String = detours.iter().map(|(start, duration)| format!("{start} {duration}\n")).collect();
    folder.write("tick.txt", &text);
    let text = folder.run("noise show tick.txt").good().stdout();
    assert!(text.starts_with("Noise takes 0.1"), "{text}");
    assert!(text.contains("\nWith -v: each core, frequencies") && !text.contains(" 250.0 Hz"), "{text}");
    assert!(folder.run("noise show tick.txt -v").good().stdout().contains(" 250.0 Hz"));
    let answer = folder.run("noise show tick.txt --json").good().json();
    let line = &answer["analysis"]["spectrum"]["lines"][0];
    assert!((line["frequency_hz"].as_f64().unwrap() - 250.0).abs() < 0.01, "{line}");

    folder.run("noise fit tick.txt -o tick.toml").good();
    let toml = std::fs::read_to_string(folder.path().join("tick.toml")).unwrap();
    assert!(toml.contains("period = \"4") && toml.contains("fitted to tick.txt"), "{toml}");
    let printed = folder.run("noise fit tick.txt").good().stdout();
    assert!(printed.ends_with(&toml), "{printed}");
    folder.run("noise show tick.toml").good();

    // Five detours: no interval, no slow phase, and no more digits than a share of five needs.
    let few = folder.run("noise show fixtures/noise/selfish.0 -v").good().stdout();
    assert!(
        few.starts_with("Too little to tell how much time noise takes: 5 detours in 24 ms on 1 core, "),
        "{few}"
    );
    assert!(few.contains("\n  core  detours     noise  overhead\n"), "{few}");
    let fitted = folder.run("noise fit fixtures/noise/selfish.0").good().stdout();
    assert!(fitted.contains("\nmean_gap = \"4.8ms\"\n") && fitted.contains(",0.7998=2.21085us,"), "{fitted}");

    let same = "noise compare tick.txt tick.txt --fail-if different";
    assert!(folder.run(same).good().stdout().starts_with("They are statistically indistinguishable"));
    let other = "noise compare tick.txt periodic:period=1ms,duration=20us";
    assert_eq!(folder.run(&format!("{other} --json")).good().json()["equal"], false);
    folder.run(&format!("{other} --fail-if different")).ends_with(5).says("They differ in");
    // The former name of the limit.
    folder.run(&format!("{other} --fail-if-different")).ends_with(5).says("is now `--fail-if different`");
    folder.write("quiet.txt", "# start duration\n");
    folder.run("noise fit quiet.txt").ends_with(3);
    folder.run("noise fit tick.txt --core 7").ends_with(2).says("core 7 is not in the recording");
}

#[test]
fn a_noise_file_may_have_any_name() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("c++")).unwrap();
    for name in ["c++/n.txt", "c++/(n.txt", "a+none"] {
        folder.write(name, "0 100\n200 5\n");
        let answer = folder.run(&format!("noise show {name} --json")).good().json();
        assert_eq!(answer["sources"][0]["detours"], 2, "{name}");
    }
    let line = "simulate --collective barrier --processes 4 --network chic --noise";
    folder.run(&format!("{line} c++/n.txt")).good();
    folder.run(&format!("{line} trace:file=c++/n.txt")).good();
    folder.run(&format!("{line} c++/n.txt+trace:file=c++/n.txt")).good();
}

#[test]
fn schedules_are_counted() {
    let folder = Folder::new();
    let answer = folder.run("schedule info fixtures/conformance/eager-00.goal --json").good().json();
    assert_eq!(answer["processes"], 4);
    assert_eq!(answer["sends"], answer["receives"]);
    let text = folder.run("schedule info fixtures/conformance/eager-00.goal").good().stdout();
    assert!(
        text.starts_with("fixtures/conformance/eager-00.goal: 4 processes exchange 75 messages"),
        "{text}"
    );
    let answer = folder.run("schedule check fixtures/conformance/eager-00.goal --json").good().json();
    assert_eq!(answer["errors"], 0);
}

#[test]
fn a_small_benchmark_is_small_and_says_what_it_measures() {
    let ended = Folder::new().run("tools bench --processes 64 --repeat 1 -v --json").good();
    let report = ended.json();
    let cases = report["cases"].as_array().unwrap();
    assert!(cases.iter().all(|measured| measured["case"]["processes"].as_u64() <= Some(64)), "{cases:?}");
    ended.says("case 1 of ").says(": allreduce, no noise, 64 processes, all threads\n");
}

#[test]
fn a_benchmark_measures_every_case() {
    let folder = Folder::new();
    let line = "tools bench --quick --processes 8192 --repeat 1 -o bench.json --json";
    let report = folder.run(line).good().json();
    let cases = report["cases"].as_array().unwrap();
    for group in ["main", "graph", "threads", "scale", "computation"] {
        assert!(cases.iter().any(|measured| measured["case"]["group"] == group), "{group}");
    }
    let main = &cases[0];
    assert_eq!(main["messages"], 13 * 8192);
    assert!(main["peak_bytes"].as_u64().unwrap() > 0);
    // Bytes per process and per operation are the peak divided by their number.
    let whole = main["peak_bytes"].as_f64().unwrap();
    // Numbers may differ in the last bit after a round trip through JSON.
    let same = |a: f64, b: f64| assert!((a - b).abs() < b * 1e-12, "{a} {b}");
    same(main["bytes_per_process"].as_f64().unwrap(), whole / 8192.0);
    let graph = cases.iter().find(|measured| measured["case"]["workload"] == "graph").unwrap();
    let each = |key: &str| graph["graph"][key].as_f64().unwrap();
    same(each("bytes_per_operation"), graph["peak_bytes"].as_f64().unwrap() / each("operations"));
    assert!(each("bytes_per_operation") > each("schedule_bytes_per_operation"));
    // Computation adds simulated time, but hardly any windows that have to run.
    let long: Vec<&serde_json::Value> =
        cases.iter().filter(|measured| measured["case"]["group"] == "computation").collect();
    let windows = |index: usize| long[index]["windows"].as_u64().unwrap();
    assert!(windows(2) < 3 * windows(0), "{} {}", windows(2), windows(0));
    assert!(long[2]["windows_in_all"].as_u64().unwrap() > 100 * windows(2));
    assert!(folder.names().contains(&"bench.json".to_string()));
}

#[test]
fn pages_and_completions_are_generated() {
    let folder = Folder::new();
    folder.run("tools man pages").good();
    for page in ["straggler.1", "straggler-simulate.1", "straggler-schedule-generate.1"] {
        assert!(folder.path().join("pages").join(page).is_file(), "{page}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(folder.run(&format!("tools completions {shell}")).good().stdout().contains("straggler"));
    }
}

#[test]
fn what_others_wrote_is_not_replaced() {
    let folder = Folder::new();
    for name in ["x.otf2/photo", "results/report.html", "s/results.csv", "t/study.toml"] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "mine").unwrap();
    }
    folder.write(
        "s.toml",
        "name = 'a'\nprocesses = 4\ncollective = 'barrier'\nnetwork = 'chic'\nnoise = 'chic'",
    );
    for (line, says) in [
        (
            "trace convert fixtures/traces/halo -o x.otf2",
            "x.otf2 already exists and was not written by straggler",
        ),
        ("assess none --processes 4 -o results", "results: there is a file report.html but no assess.json"),
        ("study run s.toml -o s", "s: there is a file results.csv but no journal"),
        ("study run s.toml -o t", "t: there is a file study.toml but no journal"),
    ] {
        folder.run(line).ends_with(3).says(says);
    }
    for name in ["x.otf2/photo", "results/report.html", "s/results.csv", "t/study.toml"] {
        assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), b"mine", "{name}");
    }
    // What it has written, it replaces.
    for line in ["assess none --processes 4 -o own", "trace convert fixtures/traces/halo -o halo.otf2"] {
        folder.run(line).good();
        folder.run(line).good();
    }
}

#[test]
fn examples_are_written_once_and_never_over_other_files() {
    let folder = Folder::new();
    let answer = folder.run("tools examples demo --json").good().json();
    assert!(answer["files"].as_u64().unwrap() > 20);
    folder.run("noise show demo/fixtures/noise/selfish.0").good();
    folder.run("study check demo/examples/studies/allreduce.toml").good();
    let text = folder.run("tools examples demo").good().stdout();
    assert!(text.contains(", in `demo`: change to that folder"), "{text}");
    folder.write("demo/fixtures/noise/selfish.0", "mine");
    folder
        .run("tools examples demo")
        .ends_with(3)
        .says("demo/fixtures/noise/selfish.0 already exists with different content");
}
