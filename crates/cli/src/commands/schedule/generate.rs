//! Collectives as files. Text goes out rank by rank; binary states the place of every rank at its
//! beginning, so the schedule is built in memory first.

use crate::console::Console;
use crate::exit::Outcome;
use crate::interrupt::{Interruptible, Orderly, or_interrupted};
use crate::plan::collective::CollectivePlan;
use std::io::{self, Write};
use std::path::Path;
use straggler_report::replace_file;
use straggler_schedule::goal::text_write::TextWriter;
use straggler_schedule::goal::{Format, Written};
use straggler_schedule::script::{materialise, materialise_rank};
use straggler_schedule::{GraphBuilder, RankBuilder};

pub fn run(plan: &CollectivePlan, output: &Path, console: &Console) -> Outcome<()> {
    let (written, operations) = match Format::for_path(output) {
        Format::Text => {
            let _orderly = Orderly::begin();
            or_interrupted(replace_file(output, |out| stream_text(plan, Interruptible(out))))?
        }
        Format::Binary => {
            let graph = materialise(&plan.script());
            (super::write(output, &graph)?, graph.operations())
        }
    };
    super::report_written(output, plan.processes(), operations, written, console)
}

fn stream_text(plan: &CollectivePlan, out: impl Write) -> io::Result<(Written, u64)> {
    let mut writer = TextWriter::new(out, plan.processes())?;
    let mut rank_operations = RankBuilder::default();
    let mut operations = 0;
    for rank in 0..plan.processes() {
        rank_operations.clear();
        materialise_rank(&plan.script(), rank, &mut rank_operations);
        operations += rank_operations.len() as u64;
        let mut alone = GraphBuilder::default();
        alone.push_rank(&rank_operations);
        writer.rank(rank, &alone.last_rank())?;
    }
    Ok((writer.finish()?, operations))
}
