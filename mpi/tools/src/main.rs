//! `straggler-mpi`: the commands that run as several processes of an MPI job.
//!
//! ```text
//! Session (who runs where) ─┬─► latency: Plan ─► rounds of pairs, or collectives ─► Series of each process
//!                           │                                                        │ merged up a tree
//!                           │                                                        ▼
//!                           │                                            rank 0: Measurement ─► FILE.lat
//!                           ├─► assess: clocks, noise on all cores ─► rank 0: Measurement ─► `straggler::on_cluster::assess`
//!                           ├─► loggp: two processes ─► experiments ─► rank 0: LogGp ─► network file
//!                           ├─► replay: TracedRun ─► Player on each process ─► rank 0: a new trace, compared by `straggler`
//!                           ├─► validate: collectives with injected detours ─► rank 0: the same, simulated, beside the measured
//!                           └─► simulate: Job (a cluster of the engine) ─► the command of `straggler`, on all processes
//! ```
//! All processes run the same code and take the same decisions: what only one of them knows (a
//! signal, the time left) is agreed on before any process acts on it. Only rank 0 prints and writes.

mod args;
mod assess;
mod clock;
mod cluster;
mod latency;
mod loggp;
mod partition;
mod replay;
mod session;
mod validate;
mod wire;

use args::{Arguments, Command};
use clap::Parser;
use mpi::Threading;
use mpi::traits::Communicator;
use session::Session;
use std::process::ExitCode;
use straggler::on_cluster::Members;

fn main() -> ExitCode {
    // Every process of the job would print the same, and MPI cannot be asked yet which is the first.
    let first = session::is_first();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = error.exit_code();
            if first {
                let _ = error.print();
            }
            return ExitCode::from(u8::try_from(code).unwrap_or(2));
        }
    };
    let Some((universe, level)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("error: MPI cannot be initialised: start it with mpirun");
        return ExitCode::from(3);
    };
    if level < Threading::Funneled {
        eprintln!("error: this MPI library does not support threads (MPI_THREAD_FUNNELED)");
        return ExitCode::from(3);
    }
    let world = universe.world();
    let Arguments { common, command } = arguments;
    let run = Session::new(universe.world()).and_then(|session| match command {
        Command::Assess(typed) => assess::run(&session, *typed, &common),
        Command::Latency(options) => {
            session.listen()?;
            latency::run(&session, &options, &common)
        }
        Command::LogGp(options) => {
            session.listen()?;
            loggp::run(&session, &options, &common)
        }
        Command::Replay(typed) => {
            let job = cluster::Job::new(&session);
            Ok(straggler::on_cluster::replay(&typed, &common, &job, &session))
        }
        Command::Validate(options) => {
            session.listen()?;
            validate::run(&session, &options, &common)
        }
        Command::Simulate(typed) => {
            let job = cluster::Job::new(&session);
            let members = Members { cluster: &job, partition: partition::by_metis };
            Ok(straggler::on_cluster::simulate(*typed, &common, members))
        }
        Command::Redundancy(typed) => {
            let job = cluster::Job::new(&session);
            Ok(straggler::on_cluster::redundancy(*typed, &common, &job))
        }
        Command::Study(typed) => {
            let job = cluster::Job::new(&session);
            Ok(straggler::on_cluster::study(&typed, &common, &job))
        }
    });
    match run {
        Ok(code) => code,
        Err(error) if error.is::<session::Alone>() => {
            eprintln!("error: rank {}: {error:#}", world.rank());
            world.abort(3)
        }
        Err(error) => {
            if first {
                eprintln!("error: {error:#}");
            }
            ExitCode::from(3)
        }
    }
}
