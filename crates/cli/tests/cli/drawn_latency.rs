//! `--latency-distribution`.

use crate::outside::program::Folder;

const BARRIER: &str = "simulate --collective barrier --processes 300 --json --network";
const LEVELS: &str = "name = 'two levels'\nL = '5us'\no = '1us'\ng = '100ns'\nG = '1ns'\n\n[[level]]\nname = 'node'\n\
                      ranks_per_group = 4\nL = '1us'\no = '1us'\ng = '100ns'\nG = '1ns'\n";

#[test]
fn engines_threads_and_replicas() {
    let folder = Folder::new();
    let line = format!("{BARRIER} chic --latency-distribution fixtures/latency/synthetic.txt");
    let all = folder.run(&format!("{line} --replicas 5 --threads 2")).good().json();
    assert!(all["warnings"].as_array().unwrap().is_empty(), "{all}");
    let makespans: Vec<u64> =
        all["replicas"].as_array().unwrap().iter().map(|run| run["makespan_ps"].as_u64().unwrap()).collect();
    let one = folder.run(&format!("{line} --replica 3 --engine reference")).good().json();
    assert_eq!(one["makespan_ps"], makespans[3]);
    assert!(makespans.iter().any(|makespan| *makespan != makespans[0]));
    let other = folder.run(&format!("{line} --seed 9")).good().json();
    assert_ne!(other["makespan_ps"], makespans[0]);
}

#[test]
fn the_answer_tells_what_was_drawn_from() {
    let folder = Folder::new();
    folder.write("times.txt", "# unit: us\n9\n10\n12\n");
    let line = format!("{BARRIER} L=1us,o=2us,g=0ns,G=0ns --latency-distribution times.txt");
    let answer = folder.run(&line).good().json();
    let latency = &answer["latency"];
    assert_eq!((&latency["latency_is"], &latency["files"][0]["times"]), (&"total".into(), &3.into()));
    let base = &latency["classes"][0];
    assert_eq!((&base["name"], &base["L"]["smallest_ps"]), (&"base".into(), &5_000_000.into()));
    assert_eq!((&base["L"]["median_ps"], &base["L"]["largest_ps"]), (&6_000_000.into(), &8_000_000.into()));
    assert_eq!(latency["smallest_flight_ps"], 7_000_000);
    let text = folder.run(&line.replace(" --json", "")).good().stdout();
    assert!(text.contains("L 5 µs to 8 µs, median 6 µs, drawn for each message from times.txt"), "{text}");
    // A distribution of L with a single value gives the same result as a network with that L.
    folder.write("one.txt", "9us\n");
    let wire = line.replace("times.txt", "one.txt --latency-is wire");
    let plain = folder.run(&format!("{BARRIER} L=9us,o=2us,g=0ns,G=0ns")).good().json();
    assert_eq!(folder.run(&wire).good().json()["makespan_ps"], plain["makespan_ps"]);
    assert!(plain.get("latency").is_none());
}

#[test]
fn link_classes_have_their_own() {
    let folder = Folder::new();
    folder.write("net.toml", LEVELS);
    folder.write("near.txt", "3us\n4us\n");
    folder.write("far.txt", "10us\n");
    let line = format!(
        "{BARRIER} net.toml --latency-distribution node=near.txt --latency-distribution base=far.txt"
    );
    let answer = folder.run(&line).good().json();
    let classes = &answer["latency"]["classes"];
    assert_eq!((&classes[0]["name"], &classes[0]["L"]["largest_ps"]), (&"node".into(), &2_000_000.into()));
    assert_eq!((&classes[1]["name"], &classes[1]["L"]["largest_ps"]), (&"base".into(), &8_000_000.into()));
    let fault = folder.run(&line.replace("base=", "rack=")).ends_with(3).stderr();
    assert!(fault.contains("no link class `rack`; it has `node`, `base`"), "{fault}");
    let fault = folder.run(&line.replace("base=", "node=")).ends_with(3).stderr();
    assert!(fault.contains("given twice for link class `node`"), "{fault}");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new();
    let line = format!("{BARRIER} chic --latency-distribution");
    folder.write("empty.txt", "# nothing\n");
    folder.write("long.txt", "100000s\n");
    folder.write("bare.txt", "12\n");
    folder.write("short.txt", "1us\n1ns\n90us\n");
    for (file, told) in [
        ("empty.txt", "empty.txt: the file holds no times"),
        ("long.txt", "longer than a day"),
        ("bare.txt", "line 1, column 1: `12` has no unit"),
        ("absent.txt", "absent.txt"),
    ] {
        let fault = folder.run(&format!("{line} {file}")).ends_with(3).stderr();
        assert!(fault.contains(told), "{fault}");
    }
    let answer = folder.run(&format!("{line} short.txt")).good().json();
    assert!(answer["warnings"][0].as_str().unwrap().contains("--latency-is wire"), "{answer}");
    folder.run(&format!("{line} long.txt --network-scale 2")).ends_with(2);
    folder.run(&format!("{BARRIER} chic --latency-is wire")).ends_with(2);
}

#[test]
fn traces_take_it_too() {
    let folder = Folder::new();
    let latency = "--latency-distribution fixtures/latency/synthetic.txt";
    let predicted =
        folder.run(&format!("predict fixtures/traces/halo --network chic --json {latency}")).good().json();
    assert_eq!(predicted["latency"]["classes"][0]["measured"], true);
    let plain = folder.run("predict fixtures/traces/halo --network chic --json").good().json();
    assert_ne!(predicted["predicted_seconds"], plain["predicted_seconds"]);
    let simulated =
        folder.run(&format!("simulate fixtures/traces/halo --network chic --json --explain {latency}"));
    let parts = simulated.good().json()["critical_path"]["parts"].clone();
    assert!(parts["latency_ps"].as_u64().unwrap() > 0);
    folder.run(&format!("whatif fixtures/traces/halo --base-network chic --json {latency}")).good();
}

/// With a measurement of two sizes, the output names the size used, and `--latency-size` selects it. Warnings and
/// origin are kept.
#[test]
fn the_size_of_measured_messages_is_said_and_chosen() {
    let folder = Folder::new();
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(folder.path().join(name)).unwrap()).unwrap()
    };
    let mut whole = read("fixtures/latency/before.lat");
    let mut other = read("fixtures/latency/after.lat")["measurement"]["series"][0].clone();
    other["labels"]["size"] = 4096.into();
    whole["measurement"]["series"].as_array_mut().unwrap().push(other);
    whole["measurement"]["interruptions"] = serde_json::json!(["the power failed"]);
    folder.write("two.lat", &whole.to_string());
    let line = format!("{BARRIER} chic --latency-distribution two.lat");
    let answer = folder.run(&line).good().json();
    let warnings = answer["warnings"].to_string();
    assert!(warnings.contains("the smallest, are used; --latency-size selects others: 4 KiB"), "{warnings}");
    assert!(warnings.contains("the measurement is not complete: the power failed"), "{warnings}");
    let file = &answer["latency"]["files"][0];
    assert_eq!((&file["synthetic"], file["bytes"].as_u64() < Some(4096)), (&true.into(), true), "{file}");
    let large = folder.run(&format!("{line} --latency-size 4KiB")).good().json();
    assert_eq!(large["latency"]["files"][0]["bytes"], 4096);
    assert!(!large["warnings"].to_string().contains("the smallest"), "{large}");
    folder
        .run(&format!("{line} --latency-size 7B"))
        .ends_with(3)
        .says("choose one of these with --latency-size");
    folder.write("plain.txt", "173\n");
    let fault = folder.run(&line.replace("two.lat", "plain.txt")).ends_with(3).stderr();
    assert!(fault.contains("`173` has no unit") && !fault.contains("--unit"), "{fault}");
    let resampled = folder.run("latency resample two.lat --processes 4 --samples 10 --json").good().json();
    assert_eq!(resampled["synthetic"], true);
    assert!(resampled["warnings"].to_string().contains("the power failed"), "{resampled}");
}

/// A hypothesis in a file takes the same settings as the command line.
#[test]
fn hypotheses_in_files_draw_overheads() {
    let folder = Folder::new();
    folder.write("total.txt", "9us\n");
    folder.write("o.txt", "2us\n");
    let file = |more: &str| format!("[[hypothesis]]\nname = \"slow\"\n{more}\n");
    folder.write("a.toml", &file("latency-distribution = [\"total.txt\"]"));
    folder.write(
        "b.toml",
        &file("latency-distribution = [\"total.txt\"]\noverhead-distribution = [\"o.txt\"]"),
    );
    let line = "whatif fixtures/traces/halo --base-network chic --json";
    let [plain, with_overheads] = ["a", "b"].map(|name| {
        folder.run(&format!("{line} --file {name}.toml")).good().json()["hypotheses"].to_string()
    });
    assert_ne!(plain, with_overheads);
    let typed = "--latency-distribution total.txt --overhead-distribution o.txt";
    let typed = folder.run(&format!("{line} {typed}")).good().json();
    let makespan = |answer: &serde_json::Value| answer["hypotheses"][0]["hypothesis_ps"].clone();
    let from_file = folder.run(&format!("{line} --file b.toml")).good().json();
    assert!(makespan(&from_file).as_u64().is_some());
    assert_eq!(makespan(&typed), makespan(&from_file), "{typed}");
    folder.write("c.toml", &file("scale = [\"all=2\"]\noverhead-distribution = [\"o.txt\"]"));
    let fault = folder.run(&format!("{line} --file c.toml")).ends_with(3);
    fault.says("overhead-distribution needs latency-distribution as well");
    folder.write("d.toml", &file("latency-distribution = [\"total.txt\"]\nlatency-size = \"big\""));
    folder.run(&format!("{line} --file d.toml")).ends_with(3).says("latency-size = \"big\"");
}

/// Measured latencies hold the noise of their node already.
#[test]
fn noise_that_counts_twice_is_told() {
    let folder = Folder::new();
    let line = "simulate --collective barrier --processes 64 --network chic \
                --latency-distribution fixtures/latency/synthetic.txt";
    assert!(!folder.run(line).good().stderr().contains("counts twice"));
    folder.run(&format!("{line} --noise chic")).good().says("noise counts twice");
}
