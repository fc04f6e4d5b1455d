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
