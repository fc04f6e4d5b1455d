//! The engine for collectives in rounds against the reference engine, rank by rank. Times are a few picoseconds,
//! so that events often coincide and only the order of the model tells them apart.

use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use straggler_model::network::PerByte;
use straggler_model::noise::{Detours, Injection, Phases, Source, Waveform, Who};
use straggler_model::{Network, Time};
use straggler_schedule::collectives::{Algorithm, Collective, Job, Operation};
use straggler_sim::{Control, Engine, EngineChoice, Outcome, RunError, Simulation, Workload};

const COLLECTIVES: [(Operation, &str); 4] = [
    (Operation::Allreduce, "dissemination"),
    (Operation::Allreduce, "recursive-doubling"),
    (Operation::Barrier, "dissemination"),
    (Operation::Bcast, "binomial"),
];

fn collective(which: usize, processes: u32, bytes: u64, root: u32, reduction: u32) -> Collective {
    let (operation, name) = COLLECTIVES[which];
    let root = if operation.has_root() { root % processes } else { 0 };
    let job = Job { root, reduction: PerByte::from_ps(reduction), ..Job::new(processes, bytes) };
    Algorithm::parse(operation, name).unwrap().build(operation, &job).unwrap()
}

fn run(
    simulation: &Simulation<'_>,
    collective: &Collective,
    engine: EngineChoice,
) -> Result<(Outcome, Engine), RunError> {
    let stop = AtomicBool::new(false);
    let mut progress = |_| {};
    let mut control = Control::new(1, &stop, &mut progress);
    let simulation = Simulation { engine, ..simulation.clone() };
    let run = simulation.run(&Workload::once(collective.clone()), &mut control)?;
    Ok((run.outcome, run.engine))
}

fn trace() -> impl Strategy<Value = Waveform> {
    let detours = prop::collection::vec((0u64..200, 0u64..60), 1..12);
    detours.prop_map(|mut detours| {
        detours.sort_unstable();
        let detours: Vec<_> =
            detours.into_iter().map(|(start, length)| (Time(start), Time(length))).collect();
        Waveform::Trace(Arc::new(Detours::new(&detours, Some(Time(200))).unwrap()))
    })
}

fn source() -> impl Strategy<Value = Source> {
    let once = (0u64..80, 1u64..90)
        .prop_map(|(at, duration)| Waveform::Once { at: Time(at), duration: Time(duration) });
    let who = prop_oneof![
        Just(Who::Everyone),
        (0u32..20, 0u32..20).prop_map(|(first, more)| Who::Ranks(first, first + more)),
        (2u32..5).prop_map(|modulus| Who::Residue { modulus, remainder: 1 }),
    ];
    (prop_oneof![trace(), once], who).prop_map(|(waveform, who)| Source { name: "n".into(), waveform, who })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn equals_the_reference(
        which in 0..COLLECTIVES.len(),
        processes in 1u32..200,
        bytes in 1u64..4,
        root in 0u32..70,
        reduction in 0u32..3,
        (latency, send, receive, gap) in (0u64..12, 0u64..6, 0u64..6, 0u64..9),
        (per_byte, overhead) in (0u64..3, 0u64..3),
        sources in prop::collection::vec(source(), 1..3),
        (seed, together, wallclock, computation_only) in (0u64..50, any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let network = Network::parse(&format!(
            "L={latency}ps,os={send}ps,or={receive}ps,g={gap}ps,G={per_byte}ps,O={overhead}ps,S=65535"
        )).unwrap();
        let phases = match together {
            true => Phases::Together { seed, replica: 3 },
            false => Phases::Drawn { seed, replica: 3 },
        };
        // A trace may be all noise; only without wall-clock noise does every interval close then.
        let busy = sources.iter().any(|source| matches!(&source.waveform, Waveform::Trace(t) if t.share() > 0.3));
        let noise = Injection { sources, phases, wallclock: wallclock && !busy, computation_only };
        let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
        let collective = collective(which, processes, bytes, root, reduction);
        let (fast, engine) = run(&simulation, &collective, EngineChoice::Auto).unwrap();
        let (reference, _) = run(&simulation, &collective, EngineChoice::Reference).unwrap();
        prop_assert_eq!(engine == Engine::Rounds, latency + send > 0);
        prop_assert_eq!(fast.messages, reference.messages);
        prop_assert_eq!(fast.finish, reference.finish);
    }
}

/// Larger than a window's worth of anything, with the noise of the field's papers.
#[test]
fn equals_the_windowed_engine_at_scale() {
    let network = Network::parse("cnl").unwrap();
    let detours = Detours::new(&[(Time::ZERO, Time(100_000_000))], Some(Time(1_000_000_000))).unwrap();
    let waveform = Waveform::Trace(Arc::new(detours));
    let sources = vec![Source { name: "tick".into(), waveform, who: Who::Everyone }];
    for (which, processes) in [(0, 20_000), (1, 5_001), (3, 70_000)] {
        let phases = Phases::Drawn { seed: 4, replica: 9 };
        let noise = Injection { sources: sources.clone(), phases, wallclock: false, computation_only: false };
        let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
        let collective = collective(which, processes, 1, 17, 0);
        let (fast, engine) = run(&simulation, &collective, EngineChoice::Auto).unwrap();
        let (windowed, _) = run(&simulation, &collective, EngineChoice::Windowed).unwrap();
        assert_eq!(engine, Engine::Rounds);
        assert!(fast.finish == windowed.finish, "{which} {processes}");
    }
}

/// What the engine does not do is done by the others.
#[test]
fn others_run_what_does_not_fit() {
    let sources = vec![Source {
        name: "late".into(),
        waveform: Waveform::Once { at: Time(5), duration: Time(100) },
        who: Who::Everyone,
    }];
    let phases = Phases::Drawn { seed: 4, replica: 9 };
    let noise = Injection { sources, phases, wallclock: false, computation_only: false };
    let engine = |network: &str, bytes| {
        let network = Network::parse(network).unwrap();
        let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
        run(&simulation, &collective(0, 9, bytes, 0, 0), EngineChoice::Auto).unwrap().1
    };
    assert_eq!(engine("L=5ns,o=1ns,g=0ns,G=1ns,O=0ns,S=100", 100), Engine::Rounds);
    assert_eq!(engine("L=5ns,o=1ns,g=0ns,G=1ns,O=0ns,S=100", 101), Engine::Windowed);
    assert_eq!(engine("L=0ns,o=0ns,g=0ns,G=1ns,O=0ns,S=100", 10), Engine::Reference);
}

/// A detour longer than time itself is an error, not a wrapped number.
#[test]
fn time_ends() {
    let network = Network::parse("chic").unwrap();
    let waveform = Waveform::Once { at: Time(0), duration: Time::NEVER };
    let sources = vec![Source { name: "end".into(), waveform, who: Who::Ranks(2, 2) }];
    let phases = Phases::Drawn { seed: 4, replica: 9 };
    let noise = Injection { sources, phases, wallclock: false, computation_only: false };
    let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
    let ended = run(&simulation, &collective(0, 9, 1, 0, 0), EngineChoice::Auto);
    assert_eq!(ended.unwrap_err(), RunError::TimeOverflow);
}
