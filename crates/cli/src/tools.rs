//! `straggler tools`: benchmarks, pictures, job scripts, generated texts.

pub mod bench;
pub mod examples;
pub mod generated;
pub mod plot;
pub mod slurm_script;

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
EXAMPLES
  straggler tools bench --quick --repeat 1
  straggler tools examples demo";

/// Benchmarks, figures, job scripts, examples, completions and manual pages
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Tools {
    #[command(subcommand)]
    pub command: ToolsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// Measure the speed and the memory use of the simulator on this machine
    Bench(bench::plan::Bench),
    /// One measurement of `bench`, in a process of its own
    #[command(hide = true)]
    BenchCase(bench::plan::BenchCase),
    /// Draw figures for papers as SVG, PDF or PNG
    Plot(plot::args::Plot),
    /// Write a job script that runs straggler on the nodes of a Slurm cluster
    SlurmScript(slurm_script::args::SlurmScript),
    /// Write the files that the examples of the help and the guide read
    Examples(generated::Examples),
    /// Print shell completions to stdout
    Completions(generated::Completions),
    /// Write the manual pages
    Man(generated::Man),
}
