//! From a synthetic measurement to the files and the exit code.

use crate::assess::nodes::*;
use crate::kernel::prelude::*;
use straggler_analysis::nodes::{CoreClock, Part};
use straggler_model::philox::Stream;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::{Core, Detour, Evidence};

const MS: u64 = 1_000_000_000;
const LENGTH: u64 = 4000 * MS;

/// Four cores with interrupts of 1 to 5 µs, and a daemon that takes 200 µs at this rate.
fn part(host: &str, seed: u64, daemon_hz: u64, iteration_ps: f64) -> Part {
    let mut recording = NoiseRecording { sources: NoiseRecording::unnamed(), ..NoiseRecording::default() };
    let tick = recording.source_id("timer tick", Evidence::Traced);
    let daemon = recording.source_id("kworker", Evidence::Traced);
    for core in 0..4u32 {
        let mut stream = Stream::new(seed, 0, core, 3);
        let mut detours: Vec<Detour> = Vec::new();
        for (hz, least, more, source) in [(250, MS / 1000, MS / 250, tick), (daemon_hz, MS / 5, 1, daemon)] {
            detours.extend((0..hz * 4).map(|_| {
                let start = Time(stream.below(LENGTH));
                Detour { start, duration: Time(least + stream.below(more)), source }
            }));
        }
        detours.sort_by_key(|detour| detour.start);
        let mut free = Time::ZERO;
        detours.retain(|detour| {
            let kept = detour.start >= free;
            free = if kept { detour.end() } else { free };
            kept
        });
        recording.cores.push(Core { core, length: Time(LENGTH), detours, ..Core::default() });
    }
    let place = CoreClock { began_ps: seed * 1000, rate: 1.0, iteration_ps };
    Part { host: host.into(), recording, places: vec![place; 4], ..Part::default() }
}

/// Twelve nodes: one with a daemon, one that is slow.
fn measurement(seed: u64, daemon_hz: u64) -> Measurement {
    let one = |node: u64| {
        let daemon_hz = if node == 7 { daemon_hz } else { 0 };
        let iteration_ps = if node == 2 { 26_000.0 } else { 20_000.0 };
        part(&format!("n{node:04}"), seed + node, daemon_hz, iteration_ps)
    };
    Measurement { parts: (0..12).map(one).collect(), clock_error: Time(2_000_000), said: Vec::new() }
}

fn plan(output: &Path, baseline: Option<&Path>) -> Plan {
    Plan {
        kernel: straggler_measure::noise::Kernel::Detour {
            threshold: straggler_measure::kernels::Threshold::Factor(9.0),
        },
        length: Time(LENGTH),
        sources: straggler_measure::sources::Wish::Auto,
        from: None,
        scales: vec![1024],
        bytes: 8,
        network: "chic".into(),
        baseline: baseline.map(Path::to_path_buf),
        output: output.to_path_buf(),
        seed: 1,
        threads: Some(2),
    }
}

fn assess(plan: &Plan, measured: Measurement) -> Outcome<()> {
    conclude(plan, prepare(plan)?, measured, &Console::silent())
}

fn json(folder: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("assess.json")).unwrap()).unwrap()
}

/// If its noise has no name, the node that costs time comes before the statement that no source does.
#[test]
fn a_node_without_a_named_source_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut measured = measurement(1, 100);
    let cores = measured.parts.iter_mut().flat_map(|part| &mut part.recording.cores);
    cores.flat_map(|core| &mut core.detours).for_each(|detour| detour.source = 0);
    assess(&plan(folder.path(), None), measured).unwrap();
    let verdict = json(folder.path())["verdict"].clone();
    assert!(verdict[0].as_str().unwrap().contains("replacing the worst node (n0007)"), "{verdict}");
    assert!(verdict[1].as_str().unwrap().starts_with("No named source"), "{verdict}");
}

#[test]
fn the_verdict_names_node_source_and_gain() {
    let folder = tempfile::tempdir().unwrap();
    assess(&plan(folder.path(), None), measurement(1, 100)).unwrap();
    let json = json(folder.path());
    let verdict: Vec<&str> =
        json["verdict"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    // 100 × 200 µs a second.
    assert!(verdict[0].starts_with("Node n0007 loses 19."), "{}", verdict[0]);
    assert!(verdict[0].contains("per second to kworker; without it an allreduce over 1,024 processes is"));
    assert!(
        verdict[1].starts_with("Over 1,024 processes, replacing the worst node (n0007) by"),
        "{verdict:?}"
    );
    assert!(verdict[2].contains("Of 12 nodes, 1 node noisier than the others: n0007. 72 tests were made"));
    assert!(verdict[2].ends_with("0.05 false alarms are expected."), "{}", verdict[2]);
    assert!(
        verdict[3].starts_with("Node n0002 is slow, not noisy: it runs at 77 % of the speed"),
        "{verdict:?}"
    );
    assert!(
        verdict[4].starts_with("No correlation is found between the noise of the nodes"),
        "{}",
        verdict[4]
    );
    assert!(verdict[5].starts_with("48 cores of 12 nodes were measured at the same time for 4.00 s"));
    for name in ["report.html", "assess.page", "measurement.json", "nodes/n0007.noise"] {
        assert!(folder.path().join(name).is_file(), "{name}");
    }
}

#[test]
fn a_kept_measurement_gives_the_same_assessment() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assess(&plan(first.path(), None), measurement(1, 100)).unwrap();
    let again = Plan { from: Some(first.path().to_path_buf()), ..plan(second.path(), None) };
    assess(&again, read(first.path()).unwrap()).unwrap();
    assert_eq!(json(first.path())["scales"], json(second.path())["scales"]);
    assert!(!second.path().join("measurement.json").exists());
}

#[test]
fn what_has_become_worse_ends_with_5() {
    let (before, now) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assess(&plan(before.path(), None), measurement(1, 0)).unwrap();
    let baseline = before.path().join("assess.json");
    assess(&plan(now.path(), Some(&baseline)), measurement(50, 0)).unwrap();
    let failure = assess(&plan(now.path(), Some(&baseline)), measurement(50, 100)).unwrap_err();
    assert_eq!(failure.exit, Exit::CheckFailed);
    assert!(failure.error.to_string().ends_with("assess.json: n0007"), "{}", failure.error);
    assert!(json(now.path())["verdict"][5].as_str().unwrap().contains("node n0007 is noisier ("));
}

#[test]
fn a_baseline_of_something_else_is_refused() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = other.path().join("assess.json");
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let failure = prepare(&plan(folder.path(), Some(&path))).err().unwrap();
        assert_eq!(failure.exit, Exit::BadInput);
        failure.error.to_string()
    };
    assert!(refused("{}").contains("not an assess.json"));
    assert!(refused("[1").contains("not an assess.json"));
    assert!(
        refused(r#"{"format": "straggler cluster assessment", "version": 9}"#).contains("its version is not")
    );
    let one = r#"{"format": "straggler cluster assessment", "version": 1, "nodes": [{"name": "a"}]}"#;
    assert!(refused(one).contains("a node cannot be read"));
    // Other nodes, and a single node against several.
    let mut others = measurement(1, 0);
    others.parts.iter_mut().for_each(|part| part.host.push('x'));
    assess(&plan(other.path(), None), others).unwrap();
    let failure = assess(&plan(folder.path(), Some(&path)), measurement(1, 0)).unwrap_err();
    assert!(failure.error.to_string().contains("none of its nodes"), "{}", failure.error);
    let mut single = measurement(1, 0);
    single.parts.truncate(1);
    let failure = assess(&plan(folder.path(), Some(&path)), single).unwrap_err();
    assert!(failure.error.to_string().contains("of a single node"), "{}", failure.error);
}

#[test]
fn one_node_is_compared_core_by_core() {
    let folder = tempfile::tempdir().unwrap();
    let mut single = measurement(1, 100);
    single.parts.swap(0, 7);
    single.parts.truncate(1);
    // Three cores without the daemon.
    for core in single.parts[0].recording.cores.iter_mut().skip(1) {
        core.detours.retain(|detour| detour.source == 1);
    }
    assess(&plan(folder.path(), None), single).unwrap();
    let json = json(folder.path());
    assert_eq!(json["unit"], "core");
    assert!(json["verdict"][0].as_str().unwrap().starts_with("Core 0 loses 19."), "{}", json["verdict"]);
    assert!(
        json["verdict"][2]
            .as_str()
            .unwrap()
            .starts_with("Only one node took part, so its cores are compared")
    );
}

#[test]
fn nothing_measured_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let failure = assess(&plan(folder.path(), None), Measurement::default()).unwrap_err();
    assert_eq!(failure.exit, Exit::BadInput);
}
