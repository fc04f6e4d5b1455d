//! `straggler schedule`: converts, describes, checks and generates schedule files.

pub mod args;
pub mod catalogue;
pub mod prove;

use crate::kernel::memory::free_disk_bytes;
use crate::kernel::prelude::*;
use crate::schedule::args::{CheckSchedule, Convert, Generate, ScheduleCommand};
use crate::simulate::collective::{self, CollectiveRequest};
use crate::simulate::workload::{self, ApplicationRequest};
use straggler_schedule::goal::{Format, Loaded, Written, binary, read_path, stream, text_write};
use straggler_schedule::validate::{Finding, Severity, validate};
use straggler_schedule::{Graph, Script, summary::Summary};

impl Check for ScheduleCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            ScheduleCommand::Convert(typed) => refuse_missing_folder(&typed.output),
            ScheduleCommand::Generate(typed) => refuse_missing_folder(&typed.output),
            _ => Ok(()),
        }
    }
}

pub fn run(command: &Valid<ScheduleCommand>, console: &Console) -> Outcome<()> {
    match &**command {
        ScheduleCommand::Convert(typed) => convert(typed, console),
        ScheduleCommand::Info(typed) => info(&typed.file, console),
        ScheduleCommand::Check(typed) => findings(typed, console),
        ScheduleCommand::Generate(typed) => generate(typed, console),
        ScheduleCommand::Algorithms(typed) => catalogue::algorithms(typed.operation, console),
        ScheduleCommand::Workloads(typed) => catalogue::workloads(typed.name.as_deref(), console),
        ScheduleCommand::Selector(typed) => catalogue::selector(typed, console),
        ScheduleCommand::Prove(typed) => prove::run(typed, console),
    }
}

fn generate(typed: &Generate, console: &Console) -> Outcome<()> {
    if let Some(request) = CollectiveRequest::of_generate(typed)? {
        let chosen = collective::load(&request)?;
        chosen.warnings.iter().for_each(|warning| console.warn(warning));
        return stream(&chosen.plan.script(), &typed.output, console);
    }
    match ApplicationRequest::new(&typed.workload, Some(typed.processes), &typed.data)? {
        Some(request) => stream(&workload::load(&request)?, &typed.output, console),
        None => Err(Failure::usage("give --collective or --workload")),
    }
}

fn convert(typed: &Convert, console: &Console) -> Outcome<()> {
    let loaded = read_path(&typed.file)?;
    let written = write(&typed.output, &loaded.graph)?;
    let (processes, operations) = (loaded.graph.processes(), loaded.graph.operations());
    report_written(&typed.output, processes, operations, written, console)
}

/// Writes a schedule in the format given by the file name. An interruption leaves no file.
fn write(output: &Path, graph: &Graph) -> Outcome<Written> {
    Ok(replace_file(output, |out| match Format::for_path(output) {
        Format::Text => text_write::write(graph, out),
        Format::Binary => binary::write(graph, out),
    })?)
}

#[derive(Serialize)]
struct WrittenAnswer {
    output: String,
    format: &'static str,
    bytes: Option<u64>,
    processes: u32,
    operations: u64,
    /// Computations that were not a whole number of nanoseconds.
    rounded: u64,
}

fn report_written(
    path: &Path,
    processes: u32,
    operations: u64,
    written: Written,
    console: &Console,
) -> Outcome<()> {
    if written.rounded > 0 {
        let count = counted(written.rounded, "computation was", "computations were");
        console.warn(&format!("{count} rounded to whole nanoseconds, which is what GOAL has"));
    }
    let answer = WrittenAnswer {
        output: path.display().to_string(),
        format: name(Format::for_path(path)),
        bytes: path.metadata().ok().map(|metadata| metadata.len()),
        processes,
        operations,
        rounded: written.rounded,
    };
    if console.json {
        return console.print_json(&answer);
    }
    let size = answer.bytes.map_or_else(String::new, |bytes| format!(", {}", Bytes(bytes)));
    console.print(&format!(
        "{}: {} of {}, GOAL {}{size}\n",
        answer.output,
        counted(operations, "operation", "operations"),
        counted(processes.into(), "process", "processes"),
        answer.format
    ))
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Text => "text",
        Format::Binary => "binary",
    }
}

#[derive(Serialize)]
struct InfoAnswer {
    file: String,
    format: &'static str,
    file_bytes: u64,
    processes: u32,
    operations: u64,
    sends: u64,
    receives: u64,
    computations: u64,
    message_bytes: u128,
    message_bytes_min: Option<u64>,
    message_bytes_median: Option<u64>,
    message_bytes_max: Option<u64>,
    computation_ps: u128,
    requires: u64,
    irequires: u64,
    cpus: usize,
    nics: usize,
    any_source: u64,
    any_tag: u64,
    most_operations: u32,
    memory_bytes: u64,
}

impl InfoAnswer {
    fn new(file: &Path, loaded: &Loaded) -> InfoAnswer {
        let summary = Summary::new(&loaded.graph);
        InfoAnswer {
            file: file.display().to_string(),
            format: name(loaded.format),
            file_bytes: loaded.bytes,
            processes: summary.processes,
            operations: summary.operations(),
            sends: summary.sends,
            receives: summary.receives,
            computations: summary.computations,
            message_bytes: summary.message_bytes,
            message_bytes_min: summary.message_sizes.map(|sizes| sizes.min),
            message_bytes_median: summary.message_sizes.map(|sizes| sizes.median),
            message_bytes_max: summary.message_sizes.map(|sizes| sizes.max),
            computation_ps: summary.computation_ps,
            requires: summary.requires,
            irequires: summary.irequires,
            cpus: summary.cpus,
            nics: summary.nics,
            any_source: summary.any_source,
            any_tag: summary.any_tag,
            most_operations: summary.most_operations,
            memory_bytes: summary.memory_bytes,
        }
    }
}

fn info(file: &Path, console: &Console) -> Outcome<()> {
    let loaded = read_path(file)?;
    let answer = InfoAnswer::new(file, &loaded);
    if console.json {
        return console.print_json(&answer);
    }
    let headline = format!(
        "{}: {} exchange {} and compute for {} in all.",
        answer.file,
        counted(answer.processes.into(), "process", "processes"),
        counted(answer.sends, "message", "messages"),
        Time(u64::try_from(answer.computation_ps).unwrap_or(u64::MAX))
    );
    console.print(&format!("{headline}\n\n{}", info_table(&answer)))
}

fn info_table(answer: &InfoAnswer) -> Table {
    let mut table = Table::facts();
    let sizes = match (answer.message_bytes_min, answer.message_bytes_median, answer.message_bytes_max) {
        (Some(min), Some(median), Some(max)) => {
            format!(", {} to {}, median {}", Bytes(min), Bytes(max), Bytes(median))
        }
        _ => String::new(),
    };
    let total = Bytes(u64::try_from(answer.message_bytes).unwrap_or(u64::MAX));
    table.row(["file".to_string(), format!("GOAL {}, {}", answer.format, Bytes(answer.file_bytes))]);
    table.row([
        "operations".to_string(),
        format!("{}, at most {} per process", grouped(answer.operations), grouped(answer.most_operations)),
    ]);
    table.row(["sends".to_string(), format!("{}, {total}{sizes}", grouped(answer.sends))]);
    table.row([
        "receives".to_string(),
        format!(
            "{}, {} from any source, {} of any tag",
            grouped(answer.receives),
            grouped(answer.any_source),
            grouped(answer.any_tag)
        ),
    ]);
    table.row(["computations".to_string(), grouped(answer.computations)]);
    table.row([
        "dependencies".to_string(),
        format!("{} requires, {} irequires", grouped(answer.requires), grouped(answer.irequires)),
    ]);
    table.row([
        "lanes".to_string(),
        format!(
            "{}, {} per process",
            counted(answer.cpus as u64, "CPU", "CPUs"),
            counted(answer.nics as u64, "NIC", "NICs")
        ),
    ]);
    table.row(["memory".to_string(), memory(answer.memory_bytes)]);
    table
}

#[derive(Serialize)]
struct FindingAnswer {
    severity: &'static str,
    rank: u32,
    text: String,
}

fn findings(typed: &CheckSchedule, console: &Console) -> Outcome<()> {
    let loaded = read_path(&typed.file)?;
    let findings = validate(&loaded.graph);
    let errors = findings.iter().filter(|finding| finding.severity() == Severity::Error).count();
    if console.json {
        #[derive(Serialize)]
        struct ValidationAnswer {
            file: String,
            errors: usize,
            warnings: usize,
            /// Whether it was simulated: only a simulation finds deadlocks.
            simulated: bool,
            findings: Vec<FindingAnswer>,
        }
        console.print_json(&ValidationAnswer {
            file: typed.file.display().to_string(),
            errors,
            warnings: findings.len() - errors,
            simulated: false,
            findings: findings.iter().take(typed.show).map(finding_answer).collect(),
        })?;
    } else {
        console.print(&findings_text(typed, &findings))?;
    }
    match errors {
        0 => Ok(()),
        _ => Err(Failure::new(Exit::Stuck, anyhow::Error::msg(errors_text(&typed.file, errors)))),
    }
}

fn errors_text(file: &Path, errors: usize) -> String {
    format!("{}: {}: the schedule cannot finish", file.display(), counted(errors as u64, "error", "errors"))
}

fn severity(finding: &Finding) -> &'static str {
    match finding.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn finding_answer(finding: &Finding) -> FindingAnswer {
    FindingAnswer { severity: severity(finding), rank: finding.rank(), text: finding.to_string() }
}

fn findings_text(typed: &CheckSchedule, findings: &[Finding]) -> String {
    if findings.is_empty() {
        return format!(
            "{}: no errors found. The schedule was not simulated: `straggler simulate {} --network chic` also finds deadlocks.\n",
            typed.file.display(),
            quoted(&typed.file.display().to_string())
        );
    }
    let lines = findings.iter().take(typed.show).map(|finding| format!("{}: {finding}\n", severity(finding)));
    let mut text: String = lines.collect();
    if findings.len() > typed.show {
        text += &format!("… {} in all; --show N shows more\n", grouped(findings.len() as u64));
    }
    text
}

/// Minimum size of an operation with its dependency: a line of text, or a binary record.
fn bytes_an_operation(format: Format) -> u64 {
    match format {
        Format::Text => 24,
        Format::Binary => 39,
    }
}

/// Fails before anything is written if the file would not fit on the disk.
fn refuse_too_large(operations: u64, format: Format, free: Option<u64>) -> Outcome<()> {
    let needed = operations.saturating_mul(bytes_an_operation(format));
    match free.filter(|&free| needed > free) {
        Some(free) => Err(Failure::bad_input(format!(
            "the file takes at least {} ({}), but {} are free: use fewer processes, or another disk with -o",
            memory(needed),
            counted(operations, "operation", "operations"),
            memory(free)
        ))),
        None => Ok(()),
    }
}

fn stream(script: &dyn Script, output: &Path, console: &Console) -> Outcome<()> {
    let format = Format::for_path(output);
    let folder = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A pipe or a device has no size limit.
    let is_file = std::fs::metadata(output).map_or(true, |there| there.is_file());
    refuse_too_large(script.operations(), format, free_disk_bytes(folder).filter(|_| is_file))?;
    let streamed = replace_file(output, |out| stream::write(script, format, out))?;
    report_written(output, script.processes(), streamed.operations, streamed.written, console)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_on_the_disk_is_refused() {
        let text =
            refuse_too_large(1_000_000_000, Format::Text, Some(1 << 30)).unwrap_err().error.to_string();
        assert!(text.contains("22.4 GiB") && text.contains("1.00 GiB are free"), "{text}");
        assert!(refuse_too_large(1_000_000, Format::Binary, Some(1 << 30)).is_ok());
        assert!(refuse_too_large(u64::MAX, Format::Text, None).is_ok());
    }
}
