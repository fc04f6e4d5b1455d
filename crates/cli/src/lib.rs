//! straggler tells what small local delays cost a message-passing program at scale, and where they come from.
//!
//! Most people use the program (`straggler --help`). This library is for other programs: it re-exports the crates that the
//! program is made of. Without the program's own dependencies: `straggler = { version = "…", default-features = false }`.
//!
//! | module | what it has |
//! |---|---|
//! | [`model`] | time, networks, histograms, statistics, random numbers |
//! | [`noise`] | recordings of noise, signatures, injection |
//! | [`measure`] | noise and latencies of this machine |
//! | [`trace`] | traces of MPI programs, their checks, profiles and timelines |
//! | [`formats`] | traces in formats of other programs |
//! | [`schedule`] | collectives, workloads, GOAL files, replayed traces |
//! | [`sim`] | the simulation of all these under LogGOPS, with noise |
//! | [`analysis`] | wait states, what-ifs, statistics of noise and latency, studies |
//! | [`training`] | recordings of training jobs, and the causes of their delays |
//! | [`report`] | tables, charts and pages |
//!
//! # What noise costs an allreduce
//! Results are exact and deterministic: they depend on the inputs and the seed, not on the number of threads.
//! ```
//! use straggler::model::Network;
//! use straggler::noise::{Injection, NoiseSpec, Phases};
//! use straggler::schedule::collectives::{Job, Operation};
//! use straggler::schedule::workloads::choose_default;
//! use straggler::sim::{Control, Simulation, Workload};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let network = Network::load("chic")?;
//! let job = Job::new(1024, 8); // 1024 processes, 8 bytes
//! let allreduce = choose_default(Operation::Allreduce, &job).build(Operation::Allreduce, &job)?;
//! let workload = Workload::once(allreduce);
//! let quiet = Simulation::new(&network).run(&workload, &mut Control::new(1))?;
//!
//! let noise: NoiseSpec = "periodic:period=1ms,duration=100us".parse()?;
//! let noise = Injection::new(noise.load(1)?.sources, Phases::Drawn { seed: 1, replica: 0 }, false)?;
//! let noisy = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
//! let noisy = noisy.run(&workload, &mut Control::new(1))?;
//! assert!(noisy.outcome.makespan() > quiet.outcome.makespan());
//! # Ok(())
//! # }
//! ```
//!
//! # Which ranks of a traced program wait
//! ```no_run
//! use straggler::analysis::waits::WaitStates;
//! use straggler::trace::format::directory;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (trace, _) = directory::open("run".as_ref())?;
//! let states = WaitStates::new(&trace);
//! for (rank, times) in states.ranks.iter().enumerate() {
//!     println!("rank {rank} waits {} of {}", times.waiting, times.run);
//! }
//! # Ok(())
//! # }
//! ```

pub use straggler_analysis as analysis;
pub use straggler_formats as formats;
pub use straggler_measure as measure;
pub use straggler_model as model;
pub use straggler_noise as noise;
pub use straggler_report as report;
pub use straggler_schedule as schedule;
pub use straggler_sim as sim;
pub use straggler_trace as trace;
pub use straggler_training as training;
