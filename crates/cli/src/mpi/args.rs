//! `straggler mpi` as typed.

use crate::mpi::{assess, latency, loggp, replay, validate};
use crate::papers::redundancy::RedundancyArgs;
use crate::simulate::args::Simulate;
use crate::study::args::Run;
use clap::{Args, Subcommand};

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
pub struct Mpi {
    #[command(subcommand)]
    pub command: MpiCommand,
}

#[derive(Debug, Subcommand)]
pub enum MpiCommand {
    Assess(Box<assess::AssessNodes>),
    Latency(latency::Latency),
    #[command(name = "loggp")]
    LogGp(loggp::LogGp),
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
