//! The fixtures' finish times, through the command line.

use crate::outside::program::{Folder, fixtures};
use serde_json::Value;
use straggler_model::Time;
use straggler_report::finish_times;

fn line(folder: &Folder, case: &Value) -> String {
    let name = case["name"].as_str().unwrap();
    let of = |key: &str| case["params_ns"][key].as_u64().unwrap();
    let times = ["L", "o", "g", "G", "O"].map(|key| format!("{key}={}ns", of(key))).join(",");
    let mut line = format!(
        "simulate fixtures/conformance/{name}.goal --network {times},S={} --rendezvous-ack 0 --finish-times out.csv --quiet",
        of("S")
    );
    if let Some(noise) = case["noise"].as_str() {
        let offsets: Vec<String> =
            case["noise_offsets_ns"].as_array().unwrap().iter().map(Value::to_string).collect();
        folder.write("offsets.txt", &offsets.join("\n"));
        line += &format!(" --noise fixtures/conformance/{noise} --noise-offsets offsets.txt");
    }
    line
}

#[test]
fn all_finish_times_to_the_nanosecond() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(fixtures().join("conformance/expected.json")).unwrap();
    let cases: Value = serde_json::from_str(&text).unwrap();
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 80);
    for case in cases {
        folder.run(&line(&folder, case)).good();
        let expected: Vec<Time> = case["finish_ns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|time| Time::from_ns(time.as_u64().unwrap()))
            .collect();
        let found = finish_times::read(&folder.path().join("out.csv")).unwrap();
        assert_eq!(found, expected, "{}", case["name"]);
    }
}
