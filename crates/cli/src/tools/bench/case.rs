//! One case, measured in this process.

use crate::kernel::devices::{self, TypedDevice, threads};
use crate::kernel::prelude::*;
use crate::tools::bench::{BenchWorkload, Case};
use crate::{kernel::memory::peak_rss_bytes, simulate::collective::CollectivePlan};
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use straggler_model::{Network, philox::Stream};
use straggler_noise::{Injection, NoiseSpec, Phases};
use straggler_schedule::collectives::{Algorithm, Job, Name, Operation};
use straggler_schedule::goal::{Format, stream, text, text_write};
use straggler_schedule::script::materialise;
use straggler_schedule::workloads::{Only, choose_default};
use straggler_sim::resampling::{Model, Watch, exchanges};
use straggler_sim::{Accelerator, Control, Replicas, Run, Simulation, Workload};

pub const NETWORK: &str = "chic";

/// Synthetic noise: 100,000 detours, one per millisecond on average.
pub const NOISE: &str =
    "poisson:rate=1kHz,duration=lognormal(median=5us,sigma=1),events=100000,name=synthetic";

/// The same for people.
pub const NOISE_IN_WORDS: &str = "one detour per millisecond on average, with a median duration of 5 µs";

/// All-to-alls in a run of the resampling model.
const RESAMPLED: u32 = 20_000;

/// Short cases repeat until their total time reaches this.
const LEAST_SECONDS: f64 = 0.05;

#[derive(Debug, Serialize, Deserialize)]
pub struct Measured {
    pub case: Case,
    pub threads: usize,
    pub messages: u64,
    pub makespan_ps: u64,
    /// Windows in which anything happened, and all windows in the simulated time.
    pub windows: u64,
    pub windows_in_all: u64,
    /// Time of the best run.
    pub seconds: f64,
    pub messages_per_second: f64,
    pub ns_per_message: f64,
    /// Peak resident set of the process: program, inputs and engine.
    pub peak_bytes: Option<u64>,
    pub bytes_per_process: Option<f64>,
    pub graph: Option<GraphSize>,
    /// Size of the generated GOAL binary.
    pub generated_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct GraphSize {
    pub operations: u64,
    /// Peak memory of the whole process.
    pub bytes_per_operation: Option<f64>,
    /// Memory of the schedule alone.
    pub schedule_bytes_per_operation: f64,
    /// Size of the same schedule as GOAL text.
    pub text_bytes: Option<u64>,
    pub text_bytes_per_second: Option<f64>,
}

pub fn measure(case: Case) -> Outcome<Measured> {
    let mut measured = match case.workload {
        BenchWorkload::Implicit { cycles, compute_ps, noise } => {
            implicit(case, cycles, Time(compute_ps), noise)?
        }
        BenchWorkload::OnGpu { replicas, noise } => on_gpu(case, replicas, noise)?,
        BenchWorkload::RecursiveDoubling => {
            let plan = collective(Name::RecursiveDoubling, case.processes, 1, Time::ZERO)?;
            simulate(case, &plan.workload(), None)?
        }
        BenchWorkload::Graph => graph(case)?,
        BenchWorkload::Text => parsing(case)?,
        BenchWorkload::Binary => generating(case)?,
        BenchWorkload::Pop => pop(case)?,
        BenchWorkload::Resampling => resampling(case)?,
    };
    measured.peak_bytes = peak_rss_bytes();
    let each = |count: f64| measured.peak_bytes.map(|bytes| bytes as f64 / count);
    measured.bytes_per_process = each(f64::from(measured.case.processes));
    if let Some(size) = &mut measured.graph {
        size.bytes_per_operation = each(size.operations as f64);
    }
    Ok(measured)
}

fn dissemination(processes: u32, cycles: u32, compute: Time) -> Outcome<CollectivePlan> {
    collective(Name::Dissemination, processes, cycles, compute)
}

/// An allreduce of one byte.
fn collective(name: Name, processes: u32, cycles: u32, compute: Time) -> Outcome<CollectivePlan> {
    let (operation, algorithm) = (Operation::Allreduce, Algorithm::from(name));
    let job = Job::new(processes, 1);
    let collective = algorithm.build(operation, &job)?;
    Ok(CollectivePlan { operation, algorithm, job, collective, cycles, compute })
}

fn implicit(case: Case, cycles: u32, compute: Time, noise: bool) -> Outcome<Measured> {
    let workload = dissemination(case.processes, cycles, compute)?.workload();
    let noise = if noise { Some(synthetic(case.seed)?) } else { None };
    simulate(case, &workload, noise.as_ref())
}

/// Replicas on a GPU that is already initialised. The makespan is that of the first replica.
fn on_gpu(case: Case, replicas: u32, noise: bool) -> Outcome<Measured> {
    let workload = dissemination(case.processes, 1, Time::ZERO)?.workload();
    let noise = if noise { Some(synthetic(case.seed)?) } else { None };
    let network = Network::parse(NETWORK)?;
    let gpus = devices::open(TypedDevice::Gpu, 0, &Console::silent())?;
    let runner = Replicas {
        accelerator: gpus.as_ref().map(|gpus| gpus as &dyn Accelerator),
        ..Replicas::new(Simulation { noise: noise.as_ref(), ..Simulation::new(&network) }, 1)
    };
    let (seconds, makespans) = best(case.repeat, || runner.makespans(&workload, 0..replicas))?;
    let faults = gpus.map(|gpus| gpus.faults()).unwrap_or_default();
    if !faults.is_empty() {
        return Err(Failure::new(Exit::CheckFailed, anyhow::Error::msg(faults.join("; "))));
    }
    let first = makespans.first().copied().unwrap_or(Time::ZERO);
    Ok(Measured::new(case, 1, seconds, workload.messages() * u64::from(replicas), first, 0))
}

fn synthetic(seed: u64) -> Outcome<Injection> {
    let spec: NoiseSpec =
        NOISE.parse().map_err(|error| Failure::new(Exit::CheckFailed, anyhow::Error::new(error)))?;
    Ok(Injection::new(spec.load(seed)?.sources, Phases::Drawn { seed, replica: 0 }, false)?)
}

fn graph(case: Case) -> Outcome<Measured> {
    let graph = materialise(&dissemination(case.processes, 1, Time::ZERO)?.script());
    let size = GraphSize {
        operations: graph.operations(),
        bytes_per_operation: None,
        schedule_bytes_per_operation: graph.memory_bytes() as f64 / graph.operations() as f64,
        text_bytes: None,
        text_bytes_per_second: None,
    };
    Ok(Measured { graph: Some(size), ..simulate(case, &graph.into(), None)? })
}

/// Reads a schedule as text; nothing is simulated.
fn parsing(case: Case) -> Outcome<Measured> {
    let graph = materialise(&dissemination(case.processes, 1, Time::ZERO)?.script());
    let mut bytes = Vec::new();
    text_write::write(&graph, &mut bytes).map_err(|error| Failure::new(Exit::CheckFailed, error))?;
    let (operations, memory) = (graph.operations(), graph.memory_bytes());
    drop(graph);
    let (count, pool) = pool(&case)?;
    let (seconds, read) = best(case.repeat, || pool.install(|| text::parse(&bytes)))
        .map_err(|error| Failure::new(Exit::CheckFailed, error))?;
    let size = GraphSize {
        operations: read.operations(),
        bytes_per_operation: None,
        schedule_bytes_per_operation: memory as f64 / operations as f64,
        text_bytes: Some(bytes.len() as u64),
        text_bytes_per_second: Some(bytes.len() as f64 / seconds),
    };
    Ok(Measured { graph: Some(size), ..Measured::new(case, count, seconds, 0, Time::ZERO, 0) })
}

fn pool(case: &Case) -> Outcome<(usize, rayon::ThreadPool)> {
    let count = threads(case.threads);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
    Ok((count, pool.map_err(|error| Failure::new(Exit::CheckFailed, error))?))
}

/// Counts the written bytes and discards them.
#[derive(Default)]
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Generates and discards the binary of a schedule; nothing is simulated.
fn generating(case: Case) -> Outcome<Measured> {
    let plan = dissemination(case.processes, 1, Time::ZERO)?;
    let (count, pool) = pool(&case)?;
    let (seconds, bytes) = best(case.repeat, || {
        let mut counter = Counter::default();
        let streamed = pool.install(|| stream::write(&plan.script(), Format::Binary, &mut counter));
        streamed.map(|_| counter.0)
    })
    .map_err(|error| Failure::new(Exit::CheckFailed, error))?;
    let measured = Measured::new(case, count, seconds, 0, Time::ZERO, 0);
    Ok(Measured { generated_bytes: Some(bytes), ..measured })
}

fn pop(case: Case) -> Outcome<Measured> {
    let workload: straggler_schedule::workloads::Workload = "pop".parse()?;
    let application = workload.build(case.processes, Only::All, &choose_default)?;
    simulate(case, &application.into(), None)
}

/// Resamples all-to-alls. The messages counted here are exchanges.
fn resampling(case: Case) -> Outcome<Measured> {
    let mut random = Stream::new(case.seed, 0, 0, 0);
    // Skewed to the right, like measured times.
    let mut time = || Time(120_000_000 + (-random.unit().ln() * 53e6) as u64);
    let times: Vec<Time> = (0..2_000).map(|_| time()).collect();
    let model = Model { times: &times, noise: None, seed: case.seed };
    let (count, pool) = pool(&case)?;
    let stop = AtomicBool::new(false);
    let watch = Watch { stop: &stop, progress: &|_| {} };
    let (seconds, samples) =
        best(case.repeat, || pool.install(|| model.all_to_all(case.processes, RESAMPLED, watch)))?;
    let all = exchanges(case.processes) * samples.total_ps().len() as u64;
    Ok(Measured::new(case, count, seconds, all, Time::ZERO, 0))
}

fn simulate(case: Case, workload: &Workload, noise: Option<&Injection>) -> Outcome<Measured> {
    let network = Network::parse(NETWORK)?;
    let mut simulation = Simulation::new(&network);
    simulation.noise = noise;
    let count = threads(case.threads);
    let (seconds, run): (f64, Run) =
        best(case.repeat, || simulation.run(workload, &mut Control::new(count)))?;
    let outcome = run.outcome;
    let makespan = outcome.makespan();
    let mut measured = Measured::new(case, count, seconds, outcome.messages, makespan, outcome.windows);
    measured.windows_in_all = makespan.ps() / network.lookahead().ps() + 1;
    Ok(measured)
}

impl Measured {
    fn new(
        case: Case,
        threads: usize,
        seconds: f64,
        messages: u64,
        makespan: Time,
        windows: u64,
    ) -> Measured {
        Measured {
            case,
            threads,
            messages,
            makespan_ps: makespan.ps(),
            windows,
            windows_in_all: windows,
            seconds,
            messages_per_second: messages as f64 / seconds,
            ns_per_message: if messages == 0 { 0.0 } else { seconds * 1e9 / messages as f64 },
            peak_bytes: None,
            bytes_per_process: None,
            graph: None,
            generated_bytes: None,
        }
    }
}

/// The shortest time of several runs, and the result of the last one.
fn best<T, E>(repeat: u32, mut run: impl FnMut() -> Result<T, E>) -> Result<(f64, T), E> {
    let mut shortest = f64::MAX;
    let mut total = 0.0;
    let mut done = 0;
    loop {
        let began = Instant::now();
        let value = run()?;
        let seconds = began.elapsed().as_secs_f64();
        shortest = shortest.min(seconds);
        total += seconds;
        done += 1;
        if done >= repeat && (total >= LEAST_SECONDS || done >= 100 * repeat) {
            return Ok((shortest, value));
        }
    }
}
