//! `straggler mpi`: commands that the processes of an MPI job run together.
//!
//! Every process runs the same code with the same arguments. The first one prints and writes files; all exit with the same
//! code, but only the first judges limits.

pub mod assess;
pub mod cluster;
pub mod latency;
pub mod loggp;
pub mod replay;
pub mod validate;

use crate::args::Common;
use crate::kernel::console::eprint_line;
use crate::kernel::devices::{TypedDevice, use_threads};
use crate::kernel::{Console, Exit, Failure, Orderly, Outcome, interrupt};
use crate::mpi::cluster::agreed;
use crate::papers::redundancy::RedundancyArgs;
use crate::simulate::args::Simulate;
use crate::study::{Run, Run as Study};
use crate::{papers, simulate, study};
use clap::{Args, Subcommand};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;
use straggler_mpi::communicator::Communicator;
use straggler_mpi::{Alone, Job, Launcher, Mpi, Session};
use straggler_sim::EngineChoice;
use straggler_sim::cluster::Cluster;

const EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler mpi latency -o four.lat
  straggler latency diagnose four.lat

  mpirun -n 2 straggler mpi loggp
  mpirun straggler mpi assess

WHICH MPI
  The library is looked for when the job starts, so the same program works under
  Open MPI, MPICH, Intel MPI, MVAPICH, Cray MPICH, and any MPI with the
  standard's binary interface (libmpi_abi.so). It looks
    1. where STRAGGLER_MPI says: a library, or a folder with one,
    2. in the installation of the launcher that started this process,
    3. in the installation of the mpirun in PATH,
    4. where the dynamic linker looks (LD_LIBRARY_PATH and the system's folders).";

/// Measure networks and nodes from within an MPI job, and simulate, study and replay on many nodes
///
/// Start it with the launcher of your MPI. All processes of the job work together; the first one prints and writes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true, subcommand_required = true)]
pub struct MpiArgs {
    #[command(subcommand)]
    pub command: MpiCommand,
}

#[derive(Debug, Subcommand)]
pub enum MpiCommand {
    Assess(Box<assess::AssessNodes>),
    Latency(latency::Latency),
    #[command(name = "loggp")]
    LogGp(loggp::LogGpArgs),
    Replay(Box<replay::Replay>),
    Validate(validate::Validate),
    /// Simulate a schedule, a collective or a workload, with the simulated processes divided among the ranks
    ///
    /// Takes the options of `straggler simulate` and gives the same finish times, whatever the number of ranks. Each rank
    /// holds its share of the processes, so a job can simulate more than fits into the memory of one node.
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(Box<Simulate>),
    /// Measure how much of the cost of noise redundant exchanges recover, with the simulated processes divided among the
    /// ranks
    ///
    /// Takes the options of `straggler papers redundancy` and gives the same numbers, whatever the number of ranks.
    #[command(after_help = REDUNDANCY_EXAMPLES)]
    Redundancy(Box<RedundancyArgs>),
    /// Run a parameter study, with its simulations divided among the ranks
    ///
    /// Takes the options of `straggler study run`, saves results as they arrive, resumes after an interruption, and writes
    /// the same bytes to results.parquet.
    #[command(after_help = STUDY_EXAMPLES)]
    Study(Run),
}

const SIMULATE_EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler mpi simulate --collective allreduce \\
      --processes 4194304 --network chic --threads 1

  mpirun -n 2 straggler mpi simulate big.bin --network chic \\
      --finish-times finish.csv";

const REDUNDANCY_EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler mpi redundancy --processes 1048576 --network chic \\
      --compute 100us --noise poisson:rate=1kHz,duration=50us";

const STUDY_EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler mpi study examples/studies/allreduce.toml \\
      -o allreduce";

/// Whether this process says what all processes of its job would say. Launchers end all when one has failed, so the one
/// that speaks gets a head start.
pub fn speaks(launcher: &Launcher) -> bool {
    if !launcher.speaks() {
        std::thread::sleep(Duration::from_millis(500));
    }
    launcher.speaks()
}

/// A command, from MPI_Init to MPI_Finalize.
pub fn run(command: MpiCommand, common: &Common) -> ExitCode {
    interrupt::listen();
    let launcher = Launcher::of_this_process();
    let console = Console::new(common);
    // Until MPI can be asked, the launcher's variables say who is the first.
    let early = if launcher.speaks_for_its_node() { console } else { muted(console) };
    let mpi = match Mpi::start(&launcher) {
        Ok(mpi) => mpi,
        Err(error) => {
            return early.fail(&Failure::bad_input(match launcher.rank {
                Some(rank) if !speaks(&launcher) => format!("rank {rank}: {error}"),
                _ => error.to_string(),
            }));
        }
    };
    let session = match Session::new(&mpi, interrupt::flag()) {
        Ok(session) => session,
        Err(error) => abort(&mpi, &error),
    };
    let process =
        Process { console: if session.is_first() { console } else { muted(console) }, session, common };
    match process.run(command) {
        Ok(code) => code,
        Err(error) if error.is::<Alone>() => abort(&mpi, &error),
        // All processes have it.
        Err(error) => process.console.fail(&Failure::bad_input(format!("{error:#}"))),
    }
}

/// Ends the job because of an error of this process that the others do not know of.
fn abort(mpi: &Rc<Mpi>, error: &anyhow::Error) -> ! {
    eprint_line(&format!("error: rank {}: {error:#}", Communicator::world(mpi).rank()));
    mpi.abort(Exit::BadInput as i32)
}

/// A console for a process that prints nothing, not even after a signal.
fn muted(console: Console) -> Console {
    interrupt::silence();
    console.muted()
}

/// What a process of the job has.
pub struct Process<'a> {
    session: Session,
    console: Console,
    common: &'a Common,
}

impl Process<'_> {
    fn run(&self, command: MpiCommand) -> anyhow::Result<ExitCode> {
        match command {
            MpiCommand::Assess(typed) => self.measure(|| assess::run(self, *typed)),
            MpiCommand::Latency(typed) => self.measure(|| latency::run(self, typed)),
            MpiCommand::LogGp(typed) => self.measure(|| loggp::run(self, typed)),
            MpiCommand::Validate(typed) => self.measure(|| validate::run(self, typed)),
            MpiCommand::Replay(typed) => {
                Ok(self
                    .together(|job, console| replay::run(&typed, self.common, job, &self.session, console)))
            }
            MpiCommand::Simulate(typed) => {
                Ok(self.together(|job, console| simulate(*typed, self.common, job, console)))
            }
            MpiCommand::Redundancy(typed) => {
                Ok(self.together(|job, console| redundancy(*typed, self.common, job, console)))
            }
            MpiCommand::Study(typed) => {
                Ok(self.together(|job, console| study(&typed, self.common, job, console)))
            }
        }
    }

    /// Runs a measurement, whose result the first process writes and prints. The first signal only ends the measurement.
    fn measure(&self, run: impl FnOnce() -> anyhow::Result<Outcome<()>>) -> anyhow::Result<ExitCode> {
        let _orderly = Orderly::begin();
        // Processes with different options would wait for each other.
        let alike = agreed(&Job::new(&self.session), Ok(()), &[]);
        let done = match alike {
            Ok(()) => run()?,
            Err(failure) => Err(failure),
        };
        let own = match done {
            Ok(()) => 0,
            Err(failure) => {
                self.console.fail(&failure);
                failure.exit as u8
            }
        };
        // The others sleep until the first process has printed.
        Ok(ExitCode::from(self.session.largest_of(own, !self.session.is_first())))
    }

    /// Runs a command whose work is divided among the processes.
    fn together(&self, run: impl FnOnce(&Job, &Console) -> Outcome<()>) -> ExitCode {
        let done = run(&Job::new(&self.session), &self.console);
        // A launcher kills the other ranks as soon as one exits; they have nothing left to do.
        interrupt::silence();
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => self.console.fail(&failure),
        }
    }

    /// Prints a line of progress.
    fn note(&self, text: &str) {
        self.console.note(text);
    }
}

/// `straggler simulate`, with the processes divided over the members of a cluster.
fn simulate(typed: Simulate, common: &Common, cluster: &dyn Cluster, console: &Console) -> Outcome<()> {
    use_threads(common);
    let plan = simulate::plan::Plan::new(typed, common).and_then(|plan| match plan.engine {
        EngineChoice::Reference => Err(Failure::usage(
            "the reference engine runs in one process: remove --engine, or use straggler simulate",
        )),
        _ if plan.device == TypedDevice::Gpu => Err(no_gpu("simulate")),
        _ => Ok(plan),
    });
    let plan = agreed(cluster, plan, &[])?;
    simulate::run(&plan, console, Some(cluster))
}

/// `straggler papers redundancy`, with the processes divided over the members of a cluster.
fn redundancy(
    typed: RedundancyArgs,
    common: &Common,
    cluster: &dyn Cluster,
    console: &Console,
) -> Outcome<()> {
    use_threads(common);
    let plan = agreed(cluster, papers::redundancy::Plan::new(typed, common), &[])?;
    papers::redundancy::run(&plan, console, Some(cluster))
}

/// `straggler study run` with the runs spread over the members of a cluster.
fn study(typed: &Study, common: &Common, cluster: &dyn Cluster, console: &Console) -> Outcome<()> {
    let wanted = if typed.device.device == TypedDevice::Gpu { Err(no_gpu("study run")) } else { Ok(()) };
    agreed(cluster, wanted, &[])?;
    study::run_study(typed, common, console, Some(cluster))
}

/// The ranks of a job use no GPUs: they divide the processes of a run, or its replicas, among CPUs.
fn no_gpu(command: &str) -> Failure {
    Failure::usage(format!("the ranks of a job run on CPUs: remove --device, or use straggler {command}"))
}
