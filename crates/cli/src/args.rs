//! What was typed. Every value is parsed into its type here, and nothing is looked up: no file, no
//! variable, no clock.

pub mod assess;
pub mod bench;
pub mod collective;
pub mod compare;
pub mod count;
pub mod device;
pub mod diagnose;
pub mod drawn_latency;
pub mod generated;
pub mod latency;
pub mod measure;
pub mod network;
pub mod nodes;
pub mod noise;
pub mod plot;
pub mod predict;
pub mod ranges;
pub mod redundancy;
pub mod replay;
pub mod report;
pub mod reproduce;
pub mod resample;
pub mod schedule;
pub mod simulate;
pub mod slurm_script;
pub mod study;
pub mod trace;
pub mod training;
pub mod whatif;
pub mod workload;

use clap::{ArgAction, Args, Parser, Subcommand};
use std::num::NonZeroUsize;

const EXAMPLES: &str = "\
EXAMPLES
  What will this node's noise cost at scale, and what should be removed first?
  straggler assess

  A million processes add up 8 bytes while every one of them loses 10 % of its time:
  straggler simulate --collective allreduce --processes 1048576 --size 8 \\
      --network chic --noise periodic:period=1ms,duration=100us --compare-quiet

  A schedule from a file, on a network given by its parameters:
  straggler simulate fixtures/conformance/eager-00.goal \\
      --network L=2500ns,o=1500ns,g=1000ns,G=6ns,O=0ns,S=65535 --json

  All results of a folder on one page:
  straggler report fixtures/noise -o noise.html

  What networks and noise there are, and how fast this machine simulates:
  straggler network list
  straggler noise show 'poisson:rate=1kHz,duration=exponential(mean=5us)'
  straggler bench --quick

EXIT CODES
  0    good
  2    usage: an option or its value makes no sense
  3    bad input: a file cannot be read, written or understood
  4    the schedule cannot finish, or leaves messages behind
  5    a check failed
  130  interrupted

Units are written: 5.33us, 1MiB, 10Hz, 25GB/s.";

/// straggler measures the small delays of a machine, simulates what they do to a message-passing
/// program, and explains whose fault it is
///
/// A delay of microseconds on one process becomes a delay of all when everybody waits for everybody.
/// straggler measures such delays on this machine, asks the kernel where they come from, executes a
/// program's schedule on up to a hundred million simulated processes under the LogGOPS model, with noise
/// injected into each of them, and tells when they finish.
#[derive(Debug, Parser)]
#[command(name = "straggler", version, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(subcommand_required = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command understands.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Random seed; the same seed gives the same numbers
    #[arg(long, global = true, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Threads to use; as many as the machine offers unless given. The results do not depend on it
    #[arg(long, global = true, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,
    /// No progress, no warnings on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on stderr
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// What this node's noise costs at scale, and which source of it to remove first
    Assess(Box<assess::Assess>),
    /// Run a schedule, a collective or a workload on simulated processes and tell when they finish
    Simulate(Box<simulate::Simulate>),
    /// How long the model says that a traced program runs, against how long it ran
    Predict(Box<predict::Predict>),
    /// What a traced run would gain from a change, and who would wait then
    Whatif(Box<whatif::WhatIf>),
    /// What redundant exchanges win back of the time that noise costs an allreduce
    Redundancy(Box<redundancy::Redundancy>),
    /// What the spread of one exchange does to an all-to-all of many processors
    Resample(Box<resample::Resample>),
    /// Run many simulations of many settings, from one file
    Study(study::Study),
    /// Simulate the figures and tables of published papers, beside what the papers say
    Reproduce(reproduce::Reproduce),
    /// Write a job script that runs straggler on the nodes of a Slurm cluster
    SlurmScript(slurm_script::SlurmScript),
    /// Convert, inspect, check and generate schedules
    Schedule(schedule::Schedule),
    /// Measure this machine
    Measure(measure::Measure),
    /// Record the calls of MPI that a program makes, and look at them
    Trace(Box<trace::Trace>),
    /// Who holds up a training job on many GPUs, and what mending it would win
    Training(Box<training::Training>),
    /// Whether measured latencies differ, where, by how much, and how surely
    Compare(Box<compare::Compare>),
    /// What the shape of measured latencies hints at, with the evidence
    Diagnose(Box<diagnose::Diagnose>),
    /// The networks that are known by name
    Network(network::Network),
    /// What a description of noise means
    Noise(noise::Noise),
    /// Pictures for papers, as SVG, PDF or PNG
    Plot(plot::Plot),
    /// Make one page of results: charts, tables and timelines that open in a browser
    Report(report::Report),
    /// Show results in the browser, to this machine only
    Serve(report::Serve),
    /// How fast this machine simulates, and in how much memory
    Bench(bench::Bench),
    /// One measurement of `bench`, in a process of its own
    #[command(hide = true)]
    BenchCase(bench::BenchCase),
    /// Completions for a shell, on stdout
    Completions(generated::Completions),
    /// Write the manual pages
    Man(generated::Man),
}

/// No machine gains from more threads than this.
const MOST_THREADS: usize = 1024;

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(count) if count.get() <= MOST_THREADS => Ok(count),
        _ => Err(format!("give a number from 1 to {MOST_THREADS}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
