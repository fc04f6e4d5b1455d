//! `straggler mpi assess`: every process measures its cores; the first one analyses, writes and prints.

use super::Process;
use crate::args::mpi::assess::AssessNodes;
use crate::commands::nodes;
use crate::exit::Outcome;
use crate::invocation::command_line;
use crate::plan::nodes::Plan;
use crate::threads::use_threads;
use straggler_analysis::nodes::Measurement;
use straggler_mpi::assess::{self, Options};

pub fn run(process: &Process<'_>, typed: AssessNodes) -> anyhow::Result<Outcome<()>> {
    let Process { session, console, common } = process;
    // Only the first process touches files; all end if it cannot go on.
    let prepared = Plan::new(typed, common).and_then(|plan| {
        let prepared = if session.is_first() { Some(nodes::prepare(&plan)?) } else { None };
        Ok((plan, prepared))
    });
    let failed = session.any(prepared.is_err());
    let (plan, prepared) = match prepared {
        Ok(prepared) if !failed => prepared,
        // The first process, or all of them, have printed why.
        Ok(_) => return Ok(Ok(())),
        Err(failure) => return Ok(Err(failure)),
    };
    use_threads(common);
    let measured = match &plan.from {
        Some(_) => None,
        None => assess::run(session, &options(&plan), &|text| process.tell(text))?,
    };
    Ok(match prepared {
        Some(prepared) => measured_or_read(&plan, measured)
            .and_then(|measured| nodes::conclude(&plan, prepared, measured, console)),
        None => Ok(()),
    })
}

/// The measurement, or an earlier one in a folder.
fn measured_or_read(plan: &Plan, measured: Option<Measurement>) -> Outcome<Measurement> {
    match (measured, &plan.from) {
        (Some(measured), _) => Ok(measured),
        (None, Some(folder)) => nodes::read(folder),
        (None, None) => Ok(Measurement::default()),
    }
}

fn options(plan: &Plan) -> Options {
    Options { kernel: plan.kernel, length: plan.length, sources: plan.sources, command: command_line() }
}
