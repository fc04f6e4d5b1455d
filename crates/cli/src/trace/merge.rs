//! `straggler trace merge`: collects the streams of one run unchanged.

use crate::kernel::exit::unreadable;
use crate::kernel::{Console, Failure, Outcome};
use crate::trace::plan::Merge;
use serde::Serialize;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use straggler_report::numbers::counted;
use straggler_report::{TemporaryFolder, replace_private_file};
use straggler_trace::format::directory;
use straggler_trace::format::merge::{Merged, Part, merge};
use straggler_trace::private;

#[derive(Serialize)]
struct TraceMergeAnswer {
    output: String,
    streams: usize,
    processes: u32,
    missing: Vec<u32>,
}

pub fn run(typed: &Merge, console: &Console) -> Outcome<()> {
    let mut parts = Vec::new();
    for path in &typed.traces {
        for file in directory::files(path)? {
            parts.push(read(file)?);
        }
    }
    let merged = merge(&parts).map_err(Failure::bad_input_of)?;
    write(&merged, &typed.output)?;
    let answer = TraceMergeAnswer {
        output: typed.output.display().to_string(),
        streams: merged.streams.len(),
        processes: merged.processes,
        missing: merged.missing(),
    };
    if console.json {
        return console.print_json(&answer);
    }
    if let Some(first) = answer.missing.first() {
        let count = counted(answer.missing.len() as u64, "rank is", "ranks are");
        console.warn(&format!("{count} still missing, first rank {first}"));
    }
    console.print(&format!(
        "{}: {} of a run of {}\n",
        answer.output,
        counted(answer.streams as u64, "stream", "streams"),
        counted(answer.processes.into(), "process", "processes")
    ))
}

fn read(file: PathBuf) -> Outcome<Part> {
    let bytes = std::fs::read(&file).map_err(|fault| unreadable(&file, &fault))?;
    Ok(Part { name: file.display().to_string(), bytes })
}

fn write(merged: &Merged<'_>, output: &Path) -> Outcome<()> {
    if output.extension().is_some_and(|ending| ending == directory::EXTENSION) {
        let write =
            |out: &mut (dyn Write + Send)| merged.streams.values().try_for_each(|bytes| out.write_all(bytes));
        return Ok(replace_private_file(output, write)?);
    }
    write_folder(merged, output).map_err(|fault| {
        Failure::bad_input(format!("{}: cannot be written: {fault}; use a new folder", output.display()))
    })
}

/// The folder gets its final name when it is complete.
fn write_folder(merged: &Merged<'_>, output: &Path) -> io::Result<()> {
    let unfinished = TemporaryFolder::beside(output)?;
    for (&rank, bytes) in &merged.streams {
        private::write(&unfinished.path().join(directory::file_name(rank)), bytes)?;
    }
    unfinished.persist(output)
}
