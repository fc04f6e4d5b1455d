//! 80 schedules with finish times known to the nanosecond, on both engines.

use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use straggler_model::{Link, Network, PerByte, Time};
use straggler_noise::{Detours, Injection, Phases, Source, Waveform, Who};
use straggler_schedule::goal;
use straggler_sim::{Acknowledgement, Control, EngineChoice, Simulation, Workload};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/conformance"))
}

struct Case {
    name: String,
    rendezvous: bool,
    workload: Workload,
    network: Network,
    noise: Option<Injection>,
    finish: Vec<Time>,
}

fn numbers(value: &Value) -> Vec<Time> {
    value.as_array().unwrap().iter().map(|n| Time::from_ns(n.as_u64().unwrap())).collect()
}

fn noise_of(case: &Value) -> Option<Injection> {
    let text = std::fs::read_to_string(folder().join(case["noise"].as_str()?)).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let detours: Vec<(Time, Time)> = rows
        .map(|row| {
            let (start, duration) = row.split_once('\t').unwrap();
            (Time::from_ns(start.parse().unwrap()), Time::from_ns(duration.parse().unwrap()))
        })
        .collect();
    Some(Injection {
        sources: vec![Source {
            name: "trace".into(),
            waveform: Waveform::Trace(Arc::new(Detours::new(&detours, None).unwrap())),
            who: Who::Everyone,
        }],
        phases: Phases::Given(numbers(&case["noise_offsets_ns"]).into()),
        wallclock: false,
        computation_only: false,
    })
}

fn network_of(params: &Value) -> Network {
    let time = |key: &str| Time::from_ns(params[key].as_u64().unwrap());
    let rate = |key: &str| PerByte::from_ps(params[key].as_u64().unwrap() as u32 * 1000);
    let link = Link {
        latency: time("L"),
        send_overhead: time("o"),
        recv_overhead: time("o"),
        gap: time("g"),
        gap_per_byte: rate("G"),
        overhead_per_byte: rate("O"),
        eager_limit: params["S"].as_u64().unwrap(),
        overlap_limit: u64::MAX,
    };
    Network::uniform("conformance", link)
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let list: Value = serde_json::from_str(&text).unwrap();
    let case = |case: &Value| {
        let name = case["name"].as_str().unwrap().to_string();
        let bytes = std::fs::read(folder().join(format!("{name}.goal"))).unwrap();
        Case {
            rendezvous: case["kind"] == "rendezvous",
            workload: goal::parse(&bytes).unwrap().into(),
            network: network_of(&case["params_ns"]),
            noise: noise_of(case),
            finish: numbers(&case["finish_ns"]),
            name,
        }
    };
    list.as_array().unwrap().iter().map(case).collect()
}

fn finish_times(
    case: &Case,
    engine: EngineChoice,
    acknowledgement: Acknowledgement,
    threads: usize,
) -> Vec<Time> {
    let mut simulation = Simulation::new(&case.network);
    simulation.noise = case.noise.as_ref();
    simulation.engine = engine;
    simulation.acknowledgement = acknowledgement;
    let mut control = Control::new(threads);
    control.block_shift = Some(1);
    let run = simulation.run(&case.workload, &mut control).unwrap();
    assert_eq!(run.outcome.stuck, None, "{}", case.name);
    run.outcome.finish
}

#[test]
fn reference_reproduces_all_cases() {
    let cases = cases();
    assert_eq!(cases.len(), 80);
    let zero = Acknowledgement::Fixed(Time::ZERO);
    let wrong: Vec<&str> = cases
        .iter()
        .filter(|case| finish_times(case, EngineChoice::Reference, zero, 1) != case.finish)
        .map(|case| case.name.as_str())
        .collect();
    assert!(wrong.is_empty(), "{} of 80 differ: {wrong:?}", wrong.len());
}

#[test]
fn windowed_reproduces_all_cases_without_rendezvous() {
    let cases: Vec<Case> = cases().into_iter().filter(|case| !case.rendezvous).collect();
    assert_eq!(cases.len(), 64);
    for case in &cases {
        for threads in [1, 2] {
            let finish = finish_times(case, EngineChoice::Windowed, Acknowledgement::Latency, threads);
            assert_eq!(finish, case.finish, "{} on {threads} threads", case.name);
        }
    }
}

/// With the physical acknowledgement, A = L, both engines agree on rendezvous.
#[test]
fn engines_agree_on_rendezvous() {
    for case in cases().iter().filter(|case| case.rendezvous) {
        let windowed = finish_times(case, EngineChoice::Windowed, Acknowledgement::Latency, 1);
        let reference = finish_times(case, EngineChoice::Reference, Acknowledgement::Latency, 1);
        assert_eq!(windowed, reference, "{}", case.name);
    }
}
