//! Implicit steps on the windowed engine, compared with the reference engine rank by rank. Times are a few
//! picoseconds, so that events often coincide and only the model's order decides.

use proptest::prelude::*;
use std::sync::Arc;
use straggler_model::network::PerByte;
use straggler_model::{Network, Time};
use straggler_noise::{Detours, Injection, Phases, Source, Waveform, Who};
use straggler_schedule::collectives::{Algorithm, Collective, Job, Operation};
use straggler_sim::{Control, Engine, EngineChoice, Outcome, RunError, Simulation, Workload};

/// The first four have engines of their own, for one cycle without computation.
pub const COLLECTIVES: [(Operation, &str); 7] = [
    (Operation::Allreduce, "dissemination"),
    (Operation::Allreduce, "recursive-doubling"),
    (Operation::Bcast, "binomial"),
    (Operation::Barrier, "dissemination"),
    (Operation::Allreduce, "ring"),
    (Operation::Alltoall, "pairwise"),
    (Operation::Gather, "linear"),
];

pub fn collective(which: usize, processes: u32, bytes: u64, root: u32, reduction: u32) -> Collective {
    let (operation, name) = COLLECTIVES[which];
    let root = if operation.has_root() { root % processes } else { 0 };
    let job = Job { root, reduction: PerByte::from_ps(reduction), ..Job::new(processes, bytes) };
    Algorithm::parse(operation, name).unwrap().build(operation, &job).unwrap()
}

/// Cycles, and how a run is divided. Only `cycles` and `compute` change its result.
#[derive(Clone, Copy, Debug)]
struct Setting {
    cycles: u32,
    compute: Time,
    threads: usize,
    block_shift: u32,
}

const ONCE: Setting = Setting { cycles: 1, compute: Time::ZERO, threads: 1, block_shift: 12 };

fn run(
    simulation: &Simulation<'_>,
    collective: &Collective,
    engine: EngineChoice,
    setting: Setting,
) -> Result<(Outcome, Engine), RunError> {
    let mut control = Control::new(setting.threads);
    control.block_shift = Some(setting.block_shift);
    let simulation = Simulation { engine, ..simulation.clone() };
    let Setting { cycles, compute, .. } = setting;
    let workload = Workload::Collective { collective: collective.clone(), cycles, compute };
    let run = simulation.run(&workload, &mut control)?;
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
    #[test]
    fn equals_the_reference(
        which in 0..COLLECTIVES.len(),
        processes in 1u32..120,
        (bytes, eager) in (1u64..4, 0u64..8),
        (root, reduction) in (0u32..70, 0u32..3),
        (latency, send, receive, gap) in (0u64..12, 0u64..6, 0u64..6, 0u64..9),
        (per_byte, overhead) in (0u64..3, 0u64..3),
        sources in prop::collection::vec(source(), 0..3),
        (seed, together, wallclock, computation_only) in (0u64..50, any::<bool>(), any::<bool>(), any::<bool>()),
        (cycles, compute, threads, block_shift) in (1u32..4, 0u64..9, 1usize..4, 0u32..6),
    ) {
        let network = Network::parse(&format!(
            "L={latency}ps,os={send}ps,or={receive}ps,g={gap}ps,G={per_byte}ps,O={overhead}ps,S={}",
            if eager < 4 { eager } else { 65535 }
        )).unwrap();
        let phases = match together {
            true => Phases::Together { seed, replica: 3 },
            false => Phases::Drawn { seed, replica: 3 },
        };
        // A trace may be all noise; then intervals end only without wall-clock noise.
        let busy = sources.iter().any(|source| matches!(&source.waveform, Waveform::Trace(t) if t.share() > 0.3));
        let noise = Injection { sources, phases, wallclock: wallclock && !busy, computation_only };
        let noise = (!noise.sources.is_empty()).then_some(&noise);
        let simulation = Simulation { noise, ..Simulation::new(&network) };
        let collective = collective(which, processes, bytes, root, reduction);
        let setting = Setting { cycles, compute: Time(compute), threads, block_shift };
        let (fast, engine) = run(&simulation, &collective, EngineChoice::Auto, setting).unwrap();
        let (reference, _) = run(&simulation, &collective, EngineChoice::Reference, setting).unwrap();
        // Acknowledgements take L; without any, o_s is enough lookahead.
        if latency > 0 || eager >= 4 {
            prop_assert_eq!(engine == Engine::Windowed, latency + send > 0);
        }
        prop_assert_eq!(fast.stuck, reference.stuck);
        prop_assert_eq!(fast.messages, reference.messages);
        prop_assert_eq!(fast.finish, reference.finish);
    }
}

/// Many blocks on several threads, with noise as in published papers.
#[test]
fn equals_the_reference_at_scale() {
    let network = Network::parse("cnl").unwrap();
    let detours = Detours::new(&[(Time::ZERO, Time(100_000_000))], Some(Time(1_000_000_000))).unwrap();
    let waveform = Waveform::Trace(Arc::new(detours));
    let sources = vec![Source { name: "tick".into(), waveform, who: Who::Everyone }];
    for (which, processes) in [(0, 9_000), (1, 5_001), (2, 20_000), (6, 3_000)] {
        let phases = Phases::Drawn { seed: 4, replica: 9 };
        let noise = Injection { sources: sources.clone(), phases, wallclock: false, computation_only: false };
        let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
        let collective = collective(which, processes, 1, 17, 0);
        let (reference, _) = run(&simulation, &collective, EngineChoice::Reference, ONCE).unwrap();
        for threads in [1, 3] {
            let setting = Setting { threads, block_shift: 9, ..ONCE };
            let (fast, _) = run(&simulation, &collective, EngineChoice::Windowed, setting).unwrap();
            assert!(fast.finish == reference.finish, "{which} {processes}");
        }
    }
}

/// A detour beyond the range of time is an error, not a wrapped number.
#[test]
fn time_ends() {
    let network = Network::parse("chic").unwrap();
    let waveform = Waveform::Once { at: Time(0), duration: Time::NEVER };
    let sources = vec![Source { name: "end".into(), waveform, who: Who::Ranks(2, 2) }];
    let phases = Phases::Drawn { seed: 4, replica: 9 };
    let noise = Injection { sources, phases, wallclock: false, computation_only: false };
    let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
    let ended = run(&simulation, &collective(0, 9, 1, 0, 0), EngineChoice::Auto, ONCE);
    assert_eq!(ended.unwrap_err(), RunError::TimeOverflow);
}
