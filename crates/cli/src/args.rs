//! The command line as typed. Every value is parsed into its type here, and nothing is looked up: no file,
//! no environment variable, no clock.

use crate::kernel::typed;
use clap::{ArgAction, Args, Parser, Subcommand};
use std::num::NonZeroUsize;
use straggler_model::units;

const EXAMPLES: &str = "\
EXAMPLES
  What does this node's noise cost at scale, and which source should go first?
  straggler assess

  An allreduce of 8 bytes on a million processes, each of which loses 10 % of
  its time to noise:
  straggler simulate --collective allreduce --processes 1048576 --size 8 \\
      --network chic --noise periodic:period=1ms,duration=100us --compare-quiet

  A schedule from a file, on a network with these parameters:
  straggler simulate fixtures/conformance/eager-00.goal \\
      --network L=2500ns,o=1500ns,g=1000ns,G=6ns,O=0ns,S=65535 --json

  One page with all results in a folder:
  straggler report fixtures/noise -o noise.html

  List the networks, inspect noise, measure the speed of the simulator on this
  machine:
  straggler network list
  straggler noise show 'poisson:rate=1kHz,duration=exponential(mean=5us)'
  straggler bench --quick

EXIT CODES
  0    success
  2    usage error: an unknown option or an invalid value
  3    bad input: a file cannot be read, written or parsed
  4    the schedule cannot finish, or leaves messages unreceived
  5    a check failed
  130  interrupted

Write values with their units: 5.33us, 1MiB, 10Hz, 25GB/s.
Tables and sentences fit the terminal, or the width in COLUMNS if that is set.
In files and pipes nothing is wrapped.
Examples read files in fixtures/ and examples/; `straggler examples DIR` writes
them.";

/// straggler measures the small delays of a machine, simulates what they do to a message-passing
/// program, and finds their causes
///
/// A delay of microseconds on one process delays all processes that wait for each other. straggler
/// measures such delays on this machine and asks the kernel for their sources. It runs the schedule of a
/// program on up to a hundred million simulated processes under the LogGOPS model, injects noise into each
/// of them, and reports when they finish.
#[derive(Debug, Parser)]
#[command(name = "straggler", version, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(subcommand_required = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Random seed; the same seed gives the same results
    #[arg(long, global = true, value_name = "N", default_value_t = 1, value_parser = typed::count::<u64>(..))]
    pub seed: u64,
    /// Number of threads; results do not depend on it [default: all available cores]
    #[arg(long, global = true, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,
    /// Print no progress and no warnings on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more detail on stderr
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Estimate what this node's noise costs at scale, and which source to remove first
    Assess(Box<crate::assess::plan::Assess>),
    /// Simulate a schedule, a collective, a workload or a trace, and report when its processes finish
    Simulate(Box<crate::simulate::args::Simulate>),
    /// Predict the run time of a traced program and compare it with the measured one
    Predict(Box<crate::predict::plan::Predict>),
    /// Simulate a traced run with changes: what would it gain, and who would wait?
    Whatif(Box<crate::whatif::args::WhatIf>),
    /// Measure how much of an allreduce's noise cost redundant exchanges recover
    Redundancy(Box<crate::papers::redundancy::args::Redundancy>),
    /// Resample measured exchange times to all-to-alls on more processors
    Resample(Box<crate::papers::resample::plan::Resample>),
    /// Run a parameter study: many simulations, defined in one file
    Study(crate::study::args::Study),
    /// Reproduce figures and tables of published papers and compare them with the published values
    Reproduce(crate::papers::reproduce::plan::Reproduce),
    /// Write a job script that runs straggler on the nodes of a Slurm cluster
    SlurmScript(crate::tools::slurm_script::args::SlurmScript),
    /// Convert, inspect, check and generate schedules
    Schedule(crate::schedule::args::Schedule),
    /// Measure this machine
    Measure(crate::noise::measure::plan::Measure),
    Mpi(Box<crate::mpi::args::Mpi>),
    /// Record the MPI calls of a program, and inspect, check and convert traces
    Trace(Box<crate::trace::plan::Trace>),
    /// Find the stragglers of a training job on many GPUs, their causes, and the gain from fixing them
    Training(Box<crate::training::args::Training>),
    /// Compare measured latencies: where they differ, by how much, and with what confidence
    Compare(Box<crate::latency::compare::Compare>),
    /// Find likely causes in the distribution of measured latencies, with the evidence
    Diagnose(Box<crate::latency::diagnose::Diagnose>),
    /// List and show network presets
    Network(crate::network::args::Network),
    /// Inspect, fit, compare and convert noise
    Noise(crate::noise::args::Noise),
    /// Draw figures for papers as SVG, PDF or PNG
    Plot(crate::tools::plot::args::Plot),
    /// Write results as one HTML page with charts, tables and timelines
    Report(crate::report::Report),
    /// Show results in a browser on this machine
    Serve(crate::report::Serve),
    /// Measure the speed and the memory use of the simulator on this machine
    Bench(crate::tools::bench::plan::Bench),
    /// One measurement of `bench`, in a process of its own
    #[command(hide = true)]
    BenchCase(crate::tools::bench::plan::BenchCase),
    /// Write the files that the examples of the help and the guide read
    Examples(crate::tools::generated::Examples),
    /// Print shell completions to stdout
    Completions(crate::tools::generated::Completions),
    /// Write the manual pages
    Man(crate::tools::generated::Man),
}

/// More threads than this never help.
const MOST_THREADS: usize = 1024;

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let number = units::count(text).and_then(|number| usize::try_from(number).ok());
    let number = number.filter(|&number| number <= MOST_THREADS).and_then(NonZeroUsize::new);
    number.ok_or_else(|| format!("give a number from 1 to {MOST_THREADS}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    /// The parser wraps descriptions, but not usage lines.
    #[test]
    fn usage_lines_fit_80_columns() {
        fn check(command: &mut clap::Command) {
            let usage = command.render_usage().to_string();
            assert!(usage.lines().all(|line| line.chars().count() <= 80), "{usage}");
            command.get_subcommands_mut().for_each(check);
        }
        let mut all = Cli::command();
        all.build();
        check(&mut all);
    }
}
