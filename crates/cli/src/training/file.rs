//! The files of a training job.

use crate::kernel::exit::unreadable;
use crate::kernel::{Failure, Outcome};
use crate::training::plan::TableFormat;
use std::path::{Path, PathBuf};
use straggler_model::units::Bytes;
use straggler_report::numbers::counted;
use straggler_report::replace_file;
use straggler_trace::Trace;
use straggler_training::locations::Places;
use straggler_training::{
    Job, Meta, ReadError, Row, Sizes, Table, TableError, locations, read_job, read_tables, write_csv,
    write_parquet,
};

/// Reads a job in any supported format.
pub fn job(paths: &[PathBuf]) -> Outcome<Job> {
    read_job(paths).map_err(|error| match error {
        ReadError::Table(TableError::Io { path, source }) => unreadable(&path, &source),
        error => Failure::bad_input_of(error),
    })
}

/// Reads tables that must be complete: the published analysis needs every row.
pub fn whole(tables: &[PathBuf]) -> Outcome<Table> {
    let table = read_tables(tables).map_err(Failure::bad_input_of)?;
    match table.faults.notes().first() {
        Some(note) => Err(Failure::bad_input(format!(
            "{note}{} The published analysis needs complete tables: remove --method published",
            if note.ends_with('?') { "" } else { "." }
        ))),
        None => Ok(table),
    }
}

/// The tables among the given paths; None unless all are tables.
pub fn tables(paths: &[PathBuf]) -> Outcome<Option<Vec<PathBuf>>> {
    straggler_training::tables(paths).map_err(|error| match error {
        TableError::Io { path, source } => unreadable(&path, &source),
        error => Failure::bad_input_of(error),
    })
}

/// A job as a trace, with message sizes as recorded or guessed from transfer times.
pub fn job_as_trace(path: &Path) -> Outcome<Trace> {
    let job = job(&[path.to_path_buf()])?;
    let sizes = Sizes::new(&job);
    let mut trace = straggler_training::trace(&job, sizes)
        .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
    let guessed = [(sizes.activations, "per microbatch"), (sizes.gradients, "of gradients per stage")];
    let guessed = guessed.iter().filter(|(size, _)| size.is_guessed);
    let guessed: Vec<String> = guessed.map(|(size, what)| format!("{} {what}", Bytes(size.bytes))).collect();
    if !job.is_table() {
        trace.notes.push(GUESSED_IF_UNKNOWN.into());
    } else if !guessed.is_empty() {
        trace.notes.push(format!(
            "sizes are guessed from 25 GB/s: {}; `straggler training convert` can set others",
            guessed.join(" and ")
        ));
    }
    Ok(trace)
}

/// Note for jobs that consist of single kernels.
pub const GUESSED_IF_UNKNOWN: &str =
    "sizes of communications that the recording does not give are guessed from 25 GB/s";

/// Where the ranks of a job run: ranks per node, or a file.
pub fn places(typed: &Path, job: &Job) -> Outcome<Vec<Places>> {
    let count = typed.to_str().and_then(|text| text.parse::<u32>().ok());
    match count {
        Some(0) => Err(Failure::usage("--nodes: a node has at least one rank")),
        Some(count) => Ok(locations::consecutive(job, count)),
        None => {
            let text = std::fs::read_to_string(typed).map_err(|error| unreadable(typed, &error))?;
            locations::parse(&text)
                .map_err(|error| Failure::bad_input(format!("{}: {error}", typed.display())))
        }
    }
}

/// Writes a synthetic table, in the format of the file extension.
pub fn write(rows: &[Row], path: &Path) -> Outcome<()> {
    let format = TableFormat::from_path(path)?;
    Ok(replace_file(path, |mut out| match format {
        TableFormat::Csv => write_csv(rows, true, &mut out),
        TableFormat::Parquet => write_parquet(rows, true, &mut out),
    })?)
}

/// The metadata of a job: from the given file, or from meta.yaml beside the tables.
pub fn meta(path: Option<&Path>, tables: &[PathBuf]) -> Outcome<Option<Meta>> {
    let Some(path) = path else { return Ok(tables.first().and_then(|table| meta_beside(table))) };
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    let meta =
        Meta::parse(&text).map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
    Ok(Some(meta))
}

fn meta_beside(table: &Path) -> Option<Meta> {
    let folder = if table.is_dir() { table } else { table.parent()? };
    Meta::parse(&std::fs::read_to_string(folder.join("meta.yaml")).ok()?).ok()
}

/// Warns if the metadata and the recording differ in ranks or stages.
pub fn differs(meta: &Meta, dp_ranks: u32, stages: u32) -> Option<String> {
    if (meta.dp, meta.pp) == (dp_ranks, stages) {
        return None;
    }
    let lack = dp_ranks <= meta.dp && stages <= meta.pp;
    let ends = if lack { "What the others did is unknown" } else { "Do they belong together?" };
    Some(format!(
        "the description has {} and {}, the recording {dp_ranks} and {stages}. {ends}",
        counted(meta.dp.into(), "data-parallel rank", "data-parallel ranks"),
        counted(meta.pp.into(), "stage", "stages"),
    ))
}
