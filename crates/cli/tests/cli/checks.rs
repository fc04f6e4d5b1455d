//! Limits on results (`--fail-if`) and metrics for Prometheus.

use crate::outside::program::{Folder, fixtures};

const NOISE: &str = "periodic:period=1ms,duration=100us";

#[test]
fn noise_beyond_a_limit_ends_with_5() {
    let folder = Folder::new();
    let show = format!("noise show {NOISE}");
    folder
        .run(&format!("{show} --fail-if overhead>5%"))
        .ends_with(5)
        .says("overhead>5%: limit exceeded, overhead is 10 %");
    folder.run(&format!("{show} --fail-if overhead>15%")).good();
    folder
        .run(&format!("{show} --fail-if longest>99us --fail-if overhead>15%"))
        .ends_with(5)
        .says("longest>99us: limit exceeded");
    let answer = folder.run(&format!("{show} --fail-if overhead>5% --json")).ends_with(5).json();
    assert_eq!(answer["limits"][0]["outcome"], "tripped");
    assert!((answer["limits"][0]["value"].as_f64().unwrap() - 0.1).abs() < 1e-9);
}

#[test]
fn limits_that_make_no_sense_are_refused_before_the_work() {
    let folder = Folder::new();
    let before = folder.names();
    for (limit, says) in [
        ("overhaed>5%", "did you mean `overhead`?"),
        ("overhead>5us", "is a ratio"),
        ("longest>5", "give the limit a unit"),
        ("overhead", "there is no > or <"),
    ] {
        folder.run(&format!("noise show {NOISE} --fail-if {limit}")).ends_with(2).says(says);
    }
    let assess = "assess --quick altix --network altix --processes 16 -o out --fail-if";
    folder.run(&format!("{assess} slowdwon>1x")).ends_with(2).says("did you mean `slowdown`?");
    folder.run(&format!("{assess} slowdown>2")).ends_with(2).says("write 200% or 2x");
    let compare = "noise compare altix chic --fail-if";
    folder.run(&format!("{compare} equal")).ends_with(2).says("the metrics of this command are different");
    folder.run(&format!("{compare} different>5%")).ends_with(2).says("write it alone");
    folder.run(&format!("noise show {NOISE} --prometheus noise.txt")).ends_with(2).says(".prom");
    folder.run(&format!("noise show {NOISE} --prometheus none/noise.prom")).ends_with(3);
    assert_eq!(folder.names(), before);
}

#[test]
fn an_assessment_is_judged_where_it_was_simulated() {
    let folder = Folder::new();
    let assess = format!("assess --quick {NOISE} --network chic --processes 16 -o out");
    let answer =
        folder.run(&format!("{assess} --json --fail-if slowdown[allreduce]@16>0.01%")).ends_with(5).json();
    let limit = &answer["limits"][0];
    assert_eq!(limit["metric"], "slowdown of allreduce on 16 processes");
    // The limit reports the same number as the curve.
    let points = answer["curves"][0]["points"].as_array().unwrap();
    let point = points.iter().find(|point| point["processes"] == 16).unwrap();
    assert_eq!(point["slowdown"]["median"], limit["value"]);
    folder.run(&format!("{assess} --fail-if slowdown@17>1x")).ends_with(3).says("2, 4, 8, 16 processes");
    folder.run(&format!("{assess} --fail-if slowdown>1e6x --fail-if noise_share<0.1%")).good();
}

#[test]
fn studies_and_predictions_have_limits_too() {
    let folder = Folder::new();
    folder.write(
        "s.toml",
        "name = 's'\nreplicas = 9\nprocesses = [4, 16]\ncollective = 'barrier'\nnetwork = 'chic'\nnoise = ['none', 'altix']\n",
    );
    folder.run("study run s.toml -o out --fail-if slowdown@16>1e9x --prometheus s.prom").good();
    folder
        .run("study show out --fail-if slowdown@16<1e9x")
        .ends_with(5)
        .says("slowdown@16<1000000000x: condition met");
    folder.run("study show out --fail-if slowdown@5>1x").ends_with(3).says("4, 16 processes");
    let text = std::fs::read_to_string(folder.path().join("s.prom")).unwrap();
    assert!(text.contains("# TYPE straggler_slowdown_ratio gauge"), "{text}");
    assert!(text.contains("straggler_slowdown_ratio{processes=\"16\",workload="), "{text}");
    let halo = fixtures().join("traces/halo");
    let halo = halo.display();
    folder.run(&format!("predict {halo} --fit --fail-if error>1000%")).good();
    folder
        .run(&format!("predict {halo} --fit --fail-if predicted>1ps"))
        .ends_with(5)
        .says("predicted>1ps: limit exceeded");
}

#[test]
fn simulations_have_limits_too() {
    let folder = Folder::new();
    let simulate = format!("simulate --collective allreduce --processes 16 --network chic --noise {NOISE}");
    folder
        .run(&format!("{simulate} --fail-if makespan>1ps"))
        .ends_with(5)
        .says("makespan>1ps: limit exceeded, makespan of an allreduce of 8 B");
    folder.run(&format!("{simulate} --fail-if slowdown>0%")).ends_with(2).says("add --compare-quiet");
    let compared = format!("{simulate} --compare-quiet --replicas 9");
    let line = format!("{compared} --fail-if slowdown<1000x --prometheus s.prom --json");
    let answer = folder.run(&line).ends_with(5).says("condition met").json();
    let limit = &answer["limits"][0];
    assert_eq!((&limit["value"], limit["outcome"].as_str()), (&answer["slowdown"], Some("tripped")));
    assert!(limit["interval"][0].as_f64() <= limit["value"].as_f64(), "{limit}");
    let text = std::fs::read_to_string(folder.path().join("s.prom")).unwrap();
    for family in ["straggler_makespan_seconds", "straggler_slowdown_ratio"] {
        assert!(text.contains(&format!("# TYPE {family} gauge")), "{text}");
    }
    folder.run(&format!("{compared} --fail-if slowdown>1000x")).good().says("limit not exceeded");
    folder.run(&format!("{simulate} --fail-if makespan@17>1ps")).ends_with(3).says("16 processes");
}

#[test]
fn a_measurement_is_written_for_prometheus() {
    let folder = Folder::new();
    folder.run("noise measure --time 20ms --cores 0 --sources none --prometheus n.prom").good();
    let text = std::fs::read_to_string(folder.path().join("n.prom")).unwrap();
    for family in ["straggler_overhead_ratio", "straggler_detours_per_second", "straggler_longest_seconds"] {
        assert!(text.contains(&format!("# TYPE {family} gauge")), "{text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let value = line.rsplit(' ').next().unwrap();
        assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
    }
}
