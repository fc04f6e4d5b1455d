//! Assessments: measured, read and described noise.

use crate::program::Folder;

#[test]
fn noise_that_is_described_is_assessed() {
    let folder = Folder::new();
    let noise = "periodic:rate=250Hz,duration=4us,name=tick+periodic:period=50ms,duration=2ms,name=daemon";
    let line = format!("assess {noise} --network chic --processes 4096 -o out --json");
    let answer = folder.run(&line).good().json();
    let curves = answer["curves"].as_array().unwrap();
    assert_eq!(curves[0]["operation"], "allreduce");
    assert_eq!(curves[1]["same_as"], "allreduce");
    assert_eq!(curves[0]["points"].as_array().unwrap().len(), 12);
    let ranking = answer["rankings"].as_array().unwrap().last().unwrap();
    assert_eq!(ranking["removals"][0]["cause"], "daemon");
    let verdict = answer["verdict"].to_string();
    assert!(verdict.contains("Remove first: daemon"), "{verdict}");
    // The same numbers again, whatever the number of threads.
    let again = folder.run(&format!("{line} --threads 1")).good().json();
    assert_eq!((&again["curves"], &again["rankings"]), (&answer["curves"], &answer["rankings"]));
    let written = std::fs::read_to_string(folder.path().join("out/assess.json")).unwrap();
    assert!(written.contains("\"inflection\""));
    for name in ["slowdown.svg", "slowdown.png", "sources.svg", "sources.png"] {
        assert!(folder.path().join("out").join(name).metadata().unwrap().len() > 1000, "{name}");
    }
}

#[test]
fn this_machine_is_assessed_and_its_recording_again() {
    let folder = Folder::new();
    let text = folder.run("assess --time 100ms --processes 64 --sources none -o a").good().stdout();
    assert!(text.starts_with("This node loses"), "{text}");
    assert!(text.contains("process r gets") || text.contains("every process gets"), "{text}");
    let first = std::fs::read_to_string(folder.path().join("a/assess.json")).unwrap();
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    let again = folder.run("assess a/node.noise --processes 64 -o b --json").good().json();
    assert_eq!(first["curves"], again["curves"]);
}

#[test]
fn quiet_nodes_and_mistakes() {
    let folder = Folder::new();
    let text = folder.run("assess none --processes 16").good().stdout();
    assert!(text.contains("no bottleneck") && text.contains("no source to remove"), "{text}");
    for (line, code, text) in [
        ("assess none --network nowhere", 2, "nowhere"),
        ("assess none --processes 1", 2, "1 is not in"),
        ("assess none --threshold 0", 2, "above 0"),
        ("assess none --time 1s", 2, "cannot be used with"),
        ("assess nothing.noise", 3, "nothing.noise"),
        ("assess none --processes 4 -o fixtures/noise/columns.txt/x", 3, "is no folder"),
    ] {
        folder.run(line).ends_with(code).says(text);
    }
}

#[test]
fn a_traced_program_is_assessed_in_copies() {
    let folder = Folder::new();
    let noise = "periodic:period=10ms,duration=1ms,name=daemon";
    let line = format!("assess {noise} --trace fixtures/traces/halo --copies 16,1,4 -o out");
    let answer = folder.run(&format!("{line} --json")).good().json();
    let points = answer["curves"][0]["points"].as_array().unwrap();
    let processes: Vec<u64> = points.iter().map(|point| point["processes"].as_u64().unwrap()).collect();
    assert_eq!(processes, [4, 16, 64]);
    assert_eq!(answer["program"]["copies"], serde_json::json!([1, 4, 16]));
    assert_eq!(
        (answer["program"]["kind"].as_str(), answer["program"]["fitted"].as_bool()),
        (Some("trace"), Some(true))
    );
    assert_eq!(answer["bytes"], serde_json::Value::Null);
    // The same replay without noise as `predict` makes.
    for (point, copies) in points.iter().zip([1, 4, 16]) {
        let line = format!("predict fixtures/traces/halo --fit --copies {copies} --json");
        let predicted = folder.run(&line).good().json()["predicted_seconds"].as_f64().unwrap();
        let quiet = point["quiet_ps"].as_u64().unwrap() as f64 * 1e-12;
        assert!((quiet - predicted).abs() < 1e-12, "{copies} copies: {quiet} {predicted}");
    }
    // Half of the runs of four processes meet no detour; sixteen and more processes nearly always do.
    let medians: Vec<f64> =
        points.iter().map(|point| point["slowdown"]["median"].as_f64().unwrap()).collect();
    assert!(medians[0] >= 0.0 && medians[1] > 1.0 && medians[2] > medians[1], "{medians:?}");
    let text = folder.run(&format!("{line} --network chic")).good().stdout();
    for part in [
        "On chic, noise",
        "the traced program fixtures/traces/halo",
        "copies",
        "Remove first: daemon",
        "comes on top",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    folder.run("report out -o all.html").good();
}

#[test]
fn schedules_are_assessed() {
    let folder = Folder::new();
    for processes in [4, 16] {
        let line = format!(
            "schedule generate --collective allreduce:ring --processes {processes} -o {processes}.goal"
        );
        folder.run(&line).good();
    }
    let noise = "periodic:period=1ms,duration=100us";
    let line = format!("assess {noise} --goal 16.goal --goal 4.goal --network chic -o out --json");
    let answer = folder.run(&line).good().json();
    let points = answer["curves"][0]["points"].as_array().unwrap();
    assert_eq!((points[0]["processes"].as_u64(), points[1]["processes"].as_u64()), (Some(4), Some(16)));
    let simulated = folder.run("simulate 16.goal --network chic --json").good().json();
    assert_eq!(points[1]["quiet_ps"], simulated["makespan_ps"]);
    assert_eq!(answer["program"]["name"], "4.goal, 16.goal");
}

#[test]
fn programs_that_cannot_be_assessed() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("stuck.goal", "num_ranks 2\nrank 0 {\nrecv 1b from 1\n}\nrank 1 {\nrecv 1b from 0\n}");
    write("nothing.goal", "num_ranks 2\nrank 0 {\n}\nrank 1 {\n}");
    write("bad.goal", "num_ranks 2\nrank 0 {\ncalk 1\n}");
    let halo = "--trace fixtures/traces/halo";
    for (line, code, text) in [
        (format!("{halo} --goal stuck.goal"), 2, "cannot be used with"),
        (format!("{halo} --processes 4"), 2, "cannot be used with"),
        (format!("{halo} --size 4"), 2, "cannot be used with"),
        (format!("{halo} --copies 0"), 2, "0 is not in"),
        (format!("{halo} --copies 1,x"), 2, "invalid"),
        (format!("{halo} --copies 1,4294967295"), 2, "take fewer"),
        ("--copies 4".into(), 2, "--trace"),
        ("--drop-unmatched".into(), 2, "belong to --trace"),
        ("--trace nowhere".into(), 3, "nowhere"),
        ("--trace bad.goal".into(), 3, "bad.goal"),
        ("--goal nowhere.goal".into(), 3, "nowhere.goal"),
        ("--goal bad.goal".into(), 3, "line 3"),
        ("--goal nothing.goal".into(), 3, "does nothing"),
        ("--goal stuck.goal".into(), 4, "wait"),
        ("--goal stuck.goal --goal nothing.goal".into(), 3, "does nothing"),
        ("--goal stuck.goal --goal stuck.goal".into(), 2, "both have 2 processes"),
    ] {
        folder.run(&format!("assess none {line}")).ends_with(code).says(text);
    }
}
