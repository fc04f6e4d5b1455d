//! The redundant-exchange butterfly, compared with independent computations of the same numbers.

use crate::tests::literal_butterfly::Literal;
use proptest::prelude::*;
use std::sync::Arc;
use straggler_model::{Network, Time};
use straggler_noise::{Detours, Injection, Phases, Source, Waveform, Who};
use straggler_schedule::Cycles;
use straggler_schedule::collectives::Job;
use straggler_schedule::collectives::allreduce::RecursiveDoubling;
use straggler_sim::programs::{Butterfly, Redundancy};
use straggler_sim::{Control, EngineChoice, Nothing, Outcome, Program, Simulation, Workload};

const US: u64 = 1_000_000;

/// Chen and Suda's network: L = 1 µs, o = 1 ns, G = 1 ns a byte, g = O = 0.
fn network() -> Network {
    Network::parse("L=1us,o=1ns,g=0ns,G=1ns,O=0ns,S=65535").unwrap()
}

fn periodic(period: Time, duration: Time, seed: u64) -> Injection {
    let detours = Detours::new(&[(Time::ZERO, duration)], Some(period)).unwrap();
    let source =
        Source { name: "timer".into(), waveform: Waveform::Trace(Arc::new(detours)), who: Who::Everyone };
    Injection {
        sources: vec![source],
        phases: Phases::Drawn { seed, replica: 0 },
        wallclock: false,
        computation_only: false,
    }
}

fn run(program: &impl Program, noise: Option<&Injection>, engine: EngineChoice, threads: usize) -> Outcome {
    let network = network();
    let simulation = Simulation { noise, engine, ..Simulation::new(&network) };
    let mut control = Control::new(threads);
    let outcome = simulation.run_program(program, &mut control, |_, _| Nothing).unwrap().0.outcome;
    assert_eq!(outcome.stuck, None);
    outcome
}

fn windowed(program: &impl Program, noise: Option<&Injection>) -> Outcome {
    run(program, noise, EngineChoice::Windowed, 1)
}

fn scripted(workload: &Workload, noise: Option<&Injection>) -> Outcome {
    let network = network();
    let simulation = Simulation { noise, ..Simulation::new(&network) };
    simulation.run(workload, &mut Control::new(1)).unwrap().outcome
}

fn redundancy() -> impl Strategy<Value = Redundancy> {
    prop_oneof![
        Just(Redundancy::Never),
        Just(Redundancy::ALL),
        any::<u32>().prop_map(Redundancy::Levels),
        (any::<u32>(), 0..4u8).prop_map(|(levels, patience)| Redundancy::WhenLate { levels, patience }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn engines_and_threads_agree(
        k in 0u32..10,
        cycles in 0u32..5,
        compute in prop::sample::select(vec![0, 3 * US, 90 * US]),
        redundancy in redundancy(),
        growth in 1u32..3,
        seed in any::<u64>(),
    ) {
        let program = Butterfly::new(1 << k, cycles, Time(compute)).unwrap();
        let program = program.with_redundancy(redundancy).with_messages(4, growth);
        let noise = periodic(Time(70 * US), Time(9 * US), seed);
        for noise in [None, Some(&noise)] {
            let reference = run(&program, noise, EngineChoice::Reference, 1);
            for threads in [1, 2, 7] {
                let windowed = run(&program, noise, EngineChoice::Windowed, threads);
                prop_assert_eq!(&windowed.finish, &reference.finish);
                prop_assert_eq!(windowed.messages, reference.messages);
            }
            prop_assert!(reference.messages <= program.messages());
            if redundancy == Redundancy::Never {
                prop_assert_eq!(reference.messages, program.messages());
            }
        }
    }

    /// The paper's algorithm, word for word.
    #[test]
    fn equals_the_printed_algorithm(
        k in 1u32..10,
        cycles in 1u32..6,
        compute in prop::sample::select(vec![0, 3 * US, 90 * US]),
        levels in prop_oneof![Just(0u32), Just(!1), any::<u32>()],
        seed in any::<u64>(),
    ) {
        let program = Butterfly::new(1 << k, cycles, Time(compute)).unwrap();
        let program = program.with_redundancy(Redundancy::Levels(levels)).with_messages(1, 1);
        // A level is handed over after the increment of `round`; level 0 never, as in the paper.
        let redundant_rounds = (1..k).filter(|level| levels >> level & 1 == 1).map(|level| level + 1).collect();
        let literal = Literal { k, cycles, compute: Time(compute), redundant_rounds };
        let noise = periodic(Time(70 * US), Time(9 * US), seed);
        for noise in [None, Some(&noise)] {
            let (ours, printed) = (windowed(&program, noise), windowed(&literal, noise));
            prop_assert_eq!(ours.finish, printed.finish);
            prop_assert_eq!(ours.messages, printed.messages);
        }
    }

    /// Without redundancy it is the recursive doubling of any message-passing library.
    #[test]
    fn conventional_is_recursive_doubling(
        k in 0u32..10,
        cycles in 1u32..6,
        compute in prop::sample::select(vec![0, 3 * US, 90 * US]),
        seed in any::<u64>(),
    ) {
        let butterfly = Butterfly::new(1 << k, cycles, Time(compute)).unwrap().with_messages(1, 1);
        let steps = RecursiveDoubling::new(&Job::new(1 << k, 1));
        let script = Cycles::new(steps, cycles, Time(compute));
        let doubling = Workload::script(script);
        let noise = periodic(Time(70 * US), Time(9 * US), seed);
        for noise in [None, Some(&noise)] {
            prop_assert_eq!(windowed(&butterfly, noise).finish, scripted(&doubling, noise).finish);
        }
    }
}

/// The three settings of the paper's figures 8 and 9: period, duration, work.
const SETTINGS: [(u64, u64, u64); 3] =
    [(10_000, 100, 0), (10_000, 100, 6_666_667), (100_000, 100, 66_666_667)];

/// T_cp of the paper: W + (W/P + 1)·D with probability (W % P)/P, else W + (W/P)·D. It ignores processes
/// that begin inside a detour, one in P/D, which also pay the rest of it.
#[test]
fn the_compute_phase_takes_what_the_paper_says() {
    let processes = 1 << 16;
    for (period, duration, work) in
        [(10_000, 100, 6_666_667), (10_000, 100, 26_666_667), (100_000, 100, 66_666_667)]
    {
        let (period, duration, work) = (period * US, duration * US, work * 1000u64);
        let noise = periodic(Time(period), Time(duration), 3);
        // Every rank computes alone: one cycle without rounds, in which no rank waits for another.
        let script = Cycles::new(Alone { processes }, 1, Time(work));
        let outcome = scripted(&Workload::script(script), Some(&noise));
        let few = work + work / period * duration;
        let counted = |time| outcome.finish.iter().filter(|finish| finish.ps() == time).count() as f64;
        let share = |time| counted(time) / f64::from(processes);
        let more = (work % period) as f64 / period as f64;
        let begins_inside = duration as f64 / period as f64;
        // Five standard deviations of a share among 65,536.
        let tolerance = 5.0 * (0.25f64 / f64::from(processes)).sqrt();
        assert!((share(few + duration) - more * (1.0 - begins_inside)).abs() < tolerance + begins_inside);
        assert!((share(few) - (1.0 - more) * (1.0 - begins_inside)).abs() < tolerance + begins_inside);
        let others = 1.0 - share(few) - share(few + duration);
        assert!(others < begins_inside + tolerance, "{others}");
    }
}

/// All ranks compute, and none sends.
struct Alone {
    processes: u32,
}

impl straggler_schedule::Steps for Alone {
    fn processes(&self) -> u32 {
        self.processes
    }
    fn stages(&self, _: u32) -> u32 {
        0
    }
    fn step(&self, _: u32, _: u32) -> straggler_schedule::Step {
        straggler_schedule::Step::calc(Time::ZERO)
    }
    fn largest_message(&self) -> u64 {
        0
    }
}

/// Without noise a round takes o + L + o. A redundant exchange costs its two overheads in every round but
/// the first and, at the end, is received after the result.
#[test]
fn without_noise_redundancy_costs_its_overheads() {
    let (o, latency) = (1_000, US);
    for (k, cycles) in [(1u32, 1), (5, 3), (12, 10)] {
        let base = Butterfly::new(1 << k, cycles, Time::ZERO).unwrap().with_messages(1, 1);
        let conventional = windowed(&base, None).makespan().ps();
        let rounds = u64::from(cycles * k);
        assert_eq!(conventional, rounds * (2 * o + latency));
        let redundant = windowed(&base.with_redundancy(Redundancy::ALL), None).makespan().ps();
        let extra = redundant - conventional;
        assert!(extra <= rounds * 2 * o, "{extra} ps in {rounds} rounds");
        assert!(k == 1 || extra > 0);
    }
}

/// A process that hears nothing from its neighbour for some rounds hands its level over. This takes fewer
/// messages than always doing so, and still recovers some of the loss. Without noise all neighbours are
/// silent, and some of the levels are handed over.
#[test]
fn a_late_neighbour_is_enough_reason() {
    let base = Butterfly::new(1 << 12, 10, Time::ZERO).unwrap().with_messages(1, 1);
    let noise = periodic(Time(10_000 * US), Time(100 * US), 1);
    let late = Redundancy::WhenLate { levels: !1, patience: 2 };
    let [never, always, late] = [Redundancy::Never, Redundancy::ALL, late]
        .map(|policy| windowed(&base.with_redundancy(policy), Some(&noise)));
    assert!(never.messages < late.messages && late.messages < always.messages);
    assert!(late.messages - never.messages < (always.messages - never.messages) * 2 / 3);
    assert!(late.makespan() < never.makespan());
    let silent = |patience| {
        let policy = Redundancy::WhenLate { levels: !1, patience };
        let run = windowed(&base.with_redundancy(policy), None);
        (run.messages - base.messages()) / (10 << 12)
    };
    // Those of levels 1 to 11 that are more than the patience above the last level heard, at first 0. What
    // was handed over with the previous level has not arrived yet: 2 to 11; 3, 4, 6, 7 and so on; 4, 5, 8
    // and 9; 6 and 7.
    assert_eq!([1, 2, 3, 5].map(silent), [10, 5, 4, 2]);
}

/// Messages double in size every round, so the last round takes longest.
#[test]
fn messages_may_grow() {
    let base = Butterfly::new(1 << 6, 1, Time::ZERO).unwrap();
    let grown = windowed(&base.with_messages(8, 2), None).makespan().ps();
    // o + L + o + (8·2^r - 1)·G for each round r.
    let expected: u64 = (0..6u64).map(|round| 2_000 + US + ((8 << round) - 1) * 1000).sum();
    assert_eq!(grown, expected);
}

#[test]
fn what_is_no_butterfly_says_so() {
    let message = Butterfly::new(12, 1, Time::ZERO).unwrap_err().to_string();
    assert!(message.ends_with("not 12; the nearest are 8 and 16"), "{message}");
    let message = Butterfly::new(1000, 1, Time::ZERO).unwrap_err().to_string();
    assert_eq!(
        message,
        "the number of processes must be a power of two, at most 2^31, not 1,000; the nearest are 512 and 1,024"
    );
    assert!(Butterfly::new(0, 1, Time::ZERO).is_err());
    assert!(Butterfly::new(u32::MAX, 1, Time::ZERO).is_err());
}

/// The mean recovery ratio of 20 draws for every setting of the paper's figure 8.
fn recovery(processes: u32) -> [f64; 3] {
    SETTINGS.map(|(period, duration, work)| {
        let base = Butterfly::new(processes, 10, Time(work * 1000)).unwrap().with_messages(1, 1);
        let mut ratios = Vec::new();
        for seed in 0..20 {
            let noise = periodic(Time(period * US), Time(duration * US), seed);
            let quiet = Injection { computation_only: true, ..noise.clone() };
            let conventional = windowed(&base, Some(&noise)).makespan().ps() as f64;
            let redundant =
                windowed(&base.with_redundancy(Redundancy::ALL), Some(&noise)).makespan().ps() as f64;
            let quiet = windowed(&base, Some(&quiet)).makespan().ps() as f64;
            ratios.push((conventional - redundant) / (conventional - quiet));
        }
        ratios.iter().sum::<f64>() / ratios.len() as f64
    })
}

/// On fewer processes less time is lost, and less of it is recovered.
#[test]
fn much_of_the_loss_is_recovered() {
    let recovered = recovery(1 << 10);
    assert!(recovered.iter().all(|ratio| (0.25..0.55).contains(ratio)), "{recovered:?}");
}

/// "The recovery ratio is nearly 0.4", for the sizes of the paper.
#[test]
#[ignore = "takes minutes"]
fn as_much_is_recovered_as_in_the_paper() {
    let recovered = recovery(1 << 16);
    assert!(recovered.iter().all(|ratio| (0.3..0.55).contains(ratio)), "{recovered:?}");
}
