//! `straggler papers`: experiments of published papers.

pub mod published;
pub mod redundancy;
pub mod reproduce;
pub mod resample;

use crate::kernel::prelude::*;
use crate::{papers::redundancy::RedundancyArgs, papers::reproduce::Reproduce};

const EXAMPLES: &str = "\
EXAMPLES
  straggler papers list
  straggler papers run sc10-fig4 --quick";

/// Repeat the experiments of published papers
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Papers {
    #[command(subcommand)]
    pub command: PapersCommand,
}

#[derive(Debug, Subcommand)]
pub enum PapersCommand {
    /// List the figures and tables, with the work each takes
    #[command(after_help = "EXAMPLES\n  straggler papers list\n  straggler papers list --json")]
    List,
    /// Reproduce figures and tables of published papers and compare them with the published values
    Run(Reproduce),
    /// Measure how much of an allreduce's noise cost redundant exchanges recover
    Redundancy(Box<RedundancyArgs>),
}
