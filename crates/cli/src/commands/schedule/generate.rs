//! Collectives as files. Text goes out rank by rank; binary states the place of every rank at its
//! beginning, so the schedule is built in memory first.

use crate::console::Console;
use crate::exit::Outcome;
use crate::interrupt::{self, Orderly};
use crate::plan::collective::CollectivePlan;
use std::io::{self, Write};
use std::path::Path;
use straggler_report::replace_file;
use straggler_schedule::goal::text_write::TextWriter;
use straggler_schedule::goal::{Format, Written, write_path};
use straggler_schedule::steps::{materialise, materialise_rank};
use straggler_schedule::{GraphBuilder, RankBuilder};

/// Ranks between two looks at the flag of an interruption.
const RANKS_BETWEEN_CHECKS: u32 = 1024;

pub fn run(plan: &CollectivePlan, output: &Path, console: &Console) -> Outcome<()> {
    let _orderly = Orderly::begin();
    let (written, operations) = match Format::for_path(output) {
        Format::Text => {
            let streamed = replace_file(output, |out| stream_text(plan, out));
            // An interruption shows as a failed write; it has its own exit code.
            interrupt::check()?;
            streamed?
        }
        Format::Binary => {
            let graph = materialise(&plan.collective, plan.cycles, plan.compute);
            interrupt::check()?;
            (write_path(output, &graph, Format::Binary)?, graph.operations())
        }
    };
    super::report_written(output, plan.processes, operations, written, console)
}

fn stream_text(plan: &CollectivePlan, out: &mut (dyn Write + Send)) -> io::Result<(Written, u64)> {
    let mut writer = TextWriter::new(out, plan.processes)?;
    let mut rank_operations = RankBuilder::default();
    let mut operations = 0;
    for rank in 0..plan.processes {
        rank_operations.clear();
        materialise_rank(&plan.collective, plan.cycles, plan.compute, rank, &mut rank_operations);
        operations += rank_operations.len() as u64;
        let mut alone = GraphBuilder::default();
        alone.push_rank(&rank_operations);
        writer.rank(rank, &alone.last_rank())?;
        if rank % RANKS_BETWEEN_CHECKS == 0 && interrupt::check().is_err() {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    Ok((writer.finish()?, operations))
}
