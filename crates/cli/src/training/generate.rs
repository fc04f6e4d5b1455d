//! `straggler training generate`: jobs with known faults.

use crate::kernel::{Console, Failure, Outcome};
use crate::training::args::{Generate, JobFormat};
use crate::training::file;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use straggler_report::TemporaryFolder;
use straggler_report::numbers::{counted, grouped};
use straggler_training::synthetic::{Synthetic, rows};
use straggler_training::{Kineto, Row};

#[derive(Serialize)]
struct GenerateAnswer {
    file: String,
    files: u32,
    rows: u64,
    workers: u32,
    steps: u32,
    synthetic: bool,
}

/// More rows than this take several gigabytes of memory.
const MOST_ROWS: u64 = 50_000_000;

pub fn run(typed: &Generate, seed: u64, console: &Console) -> Outcome<()> {
    let mut of = Synthetic {
        dp: typed.dp,
        pp: typed.pp,
        vpp: typed.vpp,
        microbatches: typed.microbatches,
        steps: typed.steps,
        last_stage: typed.last_stage,
        lengths: typed.lengths,
        jitter: typed.jitter,
        seed,
        ..Synthetic::default()
    };
    let rank = |dp_rank: u32, stage: u32| {
        (dp_rank < typed.dp && stage < typed.pp).then(|| stage * typed.dp + dp_rank)
    };
    for fault in typed.faults.iter() {
        let fault = fault.in_job(rank).map_err(Failure::usage)?;
        of.add(&fault).map_err(|error| Failure::usage(error.to_string()))?;
    }
    of.check().map_err(|error| Failure::usage(error.to_string()))?;
    let workers = u64::from(of.dp) * u64::from(of.pp);
    let a_worker = 6 * u64::from(of.vpp) * u64::from(of.microbatches) + 7;
    let expected = workers.saturating_mul(u64::from(of.steps)).saturating_mul(a_worker);
    if expected > MOST_ROWS {
        return Err(Failure::usage(format!(
            "{} operations are too many: reduce --steps, --dp, --pp or --microbatches, to {} at most",
            grouped(expected),
            grouped(MOST_ROWS)
        )));
    }
    let rows = rows(&of);
    let files = match typed.to {
        JobFormat::Table => {
            file::write(&rows, &typed.output)?;
            1
        }
        JobFormat::Kineto => kineto(&rows, &typed.output, false)?,
        JobFormat::KinetoGz => kineto(&rows, &typed.output, true)?,
    };
    let answer = GenerateAnswer {
        file: typed.output.display().to_string(),
        files,
        rows: rows.len() as u64,
        workers: of.dp * of.pp,
        steps: of.steps,
        synthetic: true,
    };
    if console.json {
        return console.print_json(&answer);
    }
    console.print(&format!(
        "{}: a synthetic job of {} and {}, {}.\nView it with: straggler training show {}\n",
        answer.file,
        counted(workers, "worker", "workers"),
        counted(u64::from(of.steps), "step", "steps"),
        counted(answer.rows, "operation", "operations"),
        answer.file
    ))
}

/// Writes one file per rank into a new folder, which appears when all are written, and returns their number. The folder
/// must not exist: other files in it would be read as ranks of the job.
fn kineto(rows: &[Row], folder: &Path, packed: bool) -> Outcome<u32> {
    if folder.exists() {
        let name = folder.display();
        return Err(Failure::bad_input(format!("{name} already exists: use another -o")));
    }
    let failed = |fault: std::io::Error| {
        Failure::bad_input(format!("{}: cannot be written: {fault}", folder.display()))
    };
    let unfinished = TemporaryFolder::beside(folder).map_err(failed)?;
    let job = Kineto::new(rows, true);
    let mut files = 0;
    for rank in job.ranks() {
        let end = if packed { ".gz" } else { "" };
        let file = File::create(unfinished.path().join(format!("rank-{rank}.json{end}"))).map_err(failed)?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        let written = if packed { job.write_packed(rank, &mut out) } else { job.write(rank, &mut out) };
        written.and_then(|()| out.flush()).map_err(failed)?;
        files += 1;
    }
    unfinished.persist(folder).map_err(failed)?;
    Ok(files)
}
