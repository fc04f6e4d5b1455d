//! Hoefler et al. (SC10), section IV-B3: large messages absorb noise, which can overlap with the transfer of
//! their bytes. Small ones do not.

use std::sync::Arc;
use straggler_model::{Network, Time};
use straggler_noise::{Detours, Injection, Phases, Source, Waveform, Who};
use straggler_schedule::Cycles;
use straggler_schedule::collectives::Job;
use straggler_schedule::collectives::allreduce::Dissemination;
use straggler_sim::{Control, Simulation, Workload};

/// The paper's artificial noise: 1,000 Hz, 100 µs, unsynchronised.
fn noise(seed: u64) -> Injection {
    let detours = Detours::new(&[(Time::ZERO, Time(100_000_000))], Some(Time(1_000_000_000))).unwrap();
    let waveform = Waveform::Trace(Arc::new(detours));
    Injection {
        sources: vec![Source { name: "artificial".into(), waveform, who: Who::Everyone }],
        phases: Phases::Drawn { seed, replica: 0 },
        wallclock: false,
        computation_only: false,
    }
}

fn makespan(bytes: u64, noise: Option<&Injection>) -> f64 {
    let network = Network::parse("cnl").unwrap();
    let steps = Dissemination::new(&Job::new(4096, bytes));
    let workload = Workload::script(Cycles::once(steps));
    let mut control = Control::new(1);
    let simulation = Simulation { noise, ..Simulation::new(&network) };
    simulation.run(&workload, &mut control).unwrap().outcome.makespan().ps() as f64
}

fn slowdown(bytes: u64) -> f64 {
    let quiet = makespan(bytes, None);
    let noisy: f64 = (0..5).map(|seed| makespan(bytes, Some(&noise(seed)))).sum::<f64>() / 5.0;
    noisy / quiet
}

#[test]
fn a_mebibyte_absorbs_what_slows_a_byte_down() {
    let (small, large) = (slowdown(1), slowdown(1 << 20));
    // One byte takes 12 rounds of 10.5 µs, and most chains of 12 rounds meet several detours of 100 µs. A
    // mebibyte takes 2.8 ms a round: a detour in each of the 12 would be a slowdown of 1.036 or less.
    assert!((5.0..12.0).contains(&small), "{small}");
    assert!((1.0..1.04).contains(&large), "{large}");
}
