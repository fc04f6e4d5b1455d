//! States of small runs, one for each engine, from which they resume.

use std::io::{self, Cursor, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use straggler_model::{Network, Time};
use straggler_noise::{Injection, NoiseSpec, Phases};
use straggler_schedule::collectives::{Algorithm, Job, Operation};
use straggler_schedule::goal;
use straggler_schedule::traced::{Building, Options, Playback, TracedRun};
use straggler_sim::checkpoint::{Checkpoints, Position, index};
use straggler_sim::programs::{Butterfly, Redundancy};
use straggler_sim::{Control, Simulation, Workload};
use straggler_trace::format::directory;

/// What a run left before one of its first windows, and another run resumes from.
#[derive(Default)]
struct Kept {
    /// Windows before it is written.
    wait: u32,
    asked: AtomicU32,
    written: Mutex<Option<(u64, Vec<u8>)>>,
    position: Option<Position>,
    complete: Mutex<Option<Position>>,
    state: Vec<u8>,
}

impl Checkpoints for Kept {
    fn is_due(&self) -> bool {
        self.position.is_none() && self.asked.fetch_add(1, Ordering::Relaxed) == self.wait
    }

    fn write(
        &self,
        window: u64,
        _: u32,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file = Vec::new();
        fill(&mut file)?;
        *self.written.lock().expect("no thread panics") = Some((window, file));
        Ok(())
    }

    fn complete(&self, position: &Position) -> io::Result<()> {
        *self.complete.lock().expect("no thread panics") = Some(*position);
        Ok(())
    }

    fn position(&self) -> Option<Position> {
        self.position
    }

    fn read(&self, _: u32) -> io::Result<Vec<u8>> {
        Ok(self.state.clone())
    }
}

const RUNS: u8 = 6;

/// A run of one engine.
fn run(which: u8, kept: &Kept) {
    let workload: Workload = match which {
        0 | 1 => {
            let (operation, job) = (Operation::Allreduce, Job::new(24, 100_000));
            let algorithm = Algorithm::parse(operation, "recursive-doubling").expect("it exists");
            let collective = algorithm.build(operation, &job).expect("it can be built");
            Workload::Collective { collective, cycles: 3, compute: Time(u64::from(which) * 1_000_000) }
        }
        2 => graph("irequires-00"),
        3 => graph("wildcard-01"),
        4 => Butterfly::new(16, 3, Time(1_000_000))
            .expect("a power of two")
            .with_redundancy(Redundancy::ALL)
            .into(),
        _ => {
            let (trace, _) =
                directory::open(&super::repository().join("fixtures/traces/halo")).expect("a trace");
            let run = TracedRun::from_trace(&trace, &Options::default()).expect("it can be replayed");
            Playback::new(Arc::new(run), 1, &Building::default()).expect("it can be played").into()
        }
    };
    let network = Network::parse("chic").expect("a preset");
    let noise = NoiseSpec::of_typed("periodic:period=10us,duration=2us").expect("a source");
    let sources = noise.load(1).expect("it needs no file").sources;
    let noise = Injection::new(sources, Phases::Drawn { seed: 1, replica: 0 }, false).expect("it is valid");
    let mut control = Control::new(1);
    control.checkpoints = Some(kept);
    let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
    drop(simulation.run(&workload, &mut control));
}

fn graph(name: &str) -> Workload {
    let path = super::repository().join(format!("fixtures/conformance/{name}.goal"));
    goal::read_path(path).expect("the fixture is valid").graph.into()
}

/// The position before the window of a state, and the state.
fn keep(which: u8, wait: u32) -> Option<(Position, Vec<u8>)> {
    let kept = Kept { wait, ..Kept::default() };
    run(which, &kept);
    let (position, written) = (kept.complete.into_inner().ok()??, kept.written.into_inner().ok()??);
    let record = *index(&mut Cursor::new(&written.1)).ok()?.first()?;
    Some((position, record.read(&mut Cursor::new(&written.1)).ok()?))
}

/// The engine, the number of windows before it, and the state.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let all = (0..RUNS).flat_map(|which| [1, 4].map(|wait| (which, wait)));
    let seed = |(which, wait): (u8, u8)| {
        let (_, state) = keep(which, wait.into())?;
        Some(("state", [&[which, wait], &state[..]].concat()))
    };
    all.filter_map(seed).collect()
}

pub fn read(bytes: &[u8]) {
    let [which, wait, state @ ..] = bytes else { return };
    let which = which % RUNS;
    if let Some((position, _)) = keep(which, u32::from(wait % 8)) {
        run(which, &Kept { position: Some(position), state: state.to_vec(), ..Kept::default() });
    }
}
