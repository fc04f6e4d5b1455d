//! Files of training jobs: read, converted to traces, and generated with known faults.

use crate::kernel::exit::{Wanted, mistaken};
use crate::kernel::prelude::*;
use crate::training::{Convert, Generate, JobFormat, TableFormat};
use std::fs::File;
use std::io::{BufWriter, Write};
use straggler_report::TemporaryFolder;
use straggler_trace::Trace;
use straggler_training::locations::{self, Places};
use straggler_training::synthetic::{Synthetic, rows};
use straggler_training::{
    Job, Kineto, Meta, ReadError, Row, Size, Sizes, Table, TableError, read_job, read_tables, trace,
    write_csv, write_parquet,
};

/// Reads a job in any supported format.
pub fn job(paths: &[PathBuf]) -> Outcome<Job> {
    read_job(paths).map_err(|error| match error {
        ReadError::Table(TableError::Io { path, source }) => unreadable(&path, &source),
        error => {
            let mistaken = paths.iter().find_map(|path| mistaken(path, Wanted::Training));
            mistaken.unwrap_or_else(|| Failure::bad_input_of(error))
        }
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
const GUESSED_IF_UNKNOWN: &str =
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

#[derive(Serialize)]
struct TrainingConvertAnswer {
    output: String,
    ranks: u64,
    calls: u64,
    seconds: f64,
    /// None for jobs that consist of single kernels, each with its own size.
    activations_bytes: Option<u64>,
    gradients_bytes: Option<u64>,
    /// Whether either size was estimated from transfer times, and which.
    guessed: bool,
    activations_guessed: bool,
    gradients_guessed: bool,
    synthetic: bool,
    warnings: Vec<String>,
}

pub fn convert(typed: &Convert, console: &Console) -> Outcome<()> {
    let job = job(&typed.files)?;
    if !job.is_table() && (typed.activations.is_some() || typed.gradients.is_some()) {
        return Err(Failure::bad_input(
            "the job consists of single kernels, each with its own size: remove --activations and --gradients",
        ));
    }
    let known = Sizes::new(&job);
    let sizes = Sizes {
        activations: typed.activations.map_or(known.activations, Size::known),
        gradients: typed.gradients.map_or(known.gradients, Size::known),
    };
    let trace = trace(&job, sizes).map_err(Failure::bad_input_of)?;
    straggler_trace::format::save::save(&trace, &typed.output).map_err(|fault| {
        Failure::bad_input(format!("{} cannot be written: {fault}; use another -o", typed.output.display()))
    })?;
    let calls = || trace.ranks.iter().flat_map(|rank| &rank.calls);
    let answer = TrainingConvertAnswer {
        output: typed.output.display().to_string(),
        ranks: trace.ranks.len() as u64,
        calls: calls().count() as u64,
        seconds: calls().map(|call| call.exit.seconds()).fold(0.0, f64::max),
        activations_bytes: job.is_table().then_some(sizes.activations.bytes),
        gradients_bytes: job.is_table().then_some(sizes.gradients.bytes),
        guessed: sizes.activations.is_guessed || sizes.gradients.is_guessed,
        activations_guessed: sizes.activations.is_guessed,
        gradients_guessed: sizes.gradients.is_guessed,
        synthetic: job.synthetic,
        warnings: job.notes.clone(),
    };
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    let size = |size: Size| {
        format!("{}{}", Bytes(size.bytes), if size.is_guessed { " (guessed at 25 GB/s)" } else { "" })
    };
    let sent = match job.is_table() {
        true => format!(
            "A microbatch sends {} from stage to stage; a stage has {} of gradients.",
            size(sizes.activations),
            size(sizes.gradients)
        ),
        false => format!("Note: {}.", GUESSED_IF_UNKNOWN),
    };
    console.print(&format!(
        "{}: a trace of {}, {} and {}. {sent}\nSimulate it with: straggler simulate {} --copies 16 --network slingshot-11\n",
        answer.output,
        counted(answer.ranks, "rank", "ranks"),
        counted(answer.calls, "call", "calls"),
        seconds(answer.seconds),
        answer.output
    ))
}

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

pub fn generate(typed: &Generate, seed: u64, console: &Console) -> Outcome<()> {
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
            write(&rows, &typed.output)?;
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
