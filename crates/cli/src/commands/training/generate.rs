//! `straggler training generate`: jobs with known faults.

use crate::args::training::Generate;
use crate::commands::refuse_unwritable;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::interrupt;
use serde::Serialize;
use straggler_report::numbers::{counted, grouped};
use straggler_report::replace_file;
use straggler_training::synthetic::{Synthetic, What, rows};
use straggler_training::write_csv;

#[derive(Serialize)]
struct Answer {
    file: String,
    rows: u64,
    workers: u32,
    steps: u32,
    synthetic: bool,
}

/// More rows than this are a mistake: a table of them would take 20 GB.
const MOST_ROWS: u64 = 200_000_000;

pub fn run(typed: &Generate, seed: u64, console: &Console) -> Outcome<()> {
    refuse_unwritable(&typed.output)?;
    let faults = (typed.slow.iter().map(|fault| fault.fault(What::Slow)))
        .chain(typed.link.iter().map(|fault| fault.fault(What::Link)))
        .chain(typed.stall.iter().map(|fault| fault.fault(What::Stall)))
        .collect();
    let of = Synthetic {
        dp: typed.dp,
        pp: typed.pp,
        microbatches: typed.microbatches,
        steps: typed.steps,
        last_stage: typed.last_stage,
        lengths: typed.lengths,
        jitter: typed.jitter,
        seed,
        faults,
        ..Synthetic::default()
    };
    let workers = u64::from(of.dp) * u64::from(of.pp);
    let expected = workers * u64::from(of.steps) * (6 * u64::from(of.microbatches) + 6);
    if expected > MOST_ROWS {
        return Err(Failure::usage(format!(
            "{} rows are too many: give fewer --steps, --dp, --pp or --microbatches",
            grouped(expected)
        )));
    }
    let lost = of.faults.iter().find(|fault| fault.dp_rank >= of.dp || fault.stage >= of.pp);
    if let Some(fault) = lost {
        return Err(Failure::usage(format!(
            "there is no worker {}/{}: data-parallel ranks are 0 to {}, stages 0 to {}",
            fault.dp_rank,
            fault.stage,
            of.dp - 1,
            of.pp - 1
        )));
    }
    let rows = rows(&of);
    interrupt::or_interrupted(replace_file(&typed.output, |mut out| write_csv(&rows, true, &mut out)))?;
    let answer = Answer {
        file: typed.output.display().to_string(),
        rows: rows.len() as u64,
        workers: of.dp * of.pp,
        steps: of.steps,
        synthetic: true,
    };
    if console.json {
        return console.print_json(&answer);
    }
    console.print(&format!(
        "{}: a synthetic job of {} and {}, {}.\nLook at it with: straggler training show {}\n",
        answer.file,
        counted(workers, "worker", "workers"),
        counted(u64::from(of.steps), "step", "steps"),
        counted(answer.rows, "operation", "operations"),
        answer.file
    ))
}
