//! `straggler trace convert` and `trace merge`: traces in other formats, and streams of one run collected unchanged.

use crate::kernel::prelude::*;
use crate::trace::file::{Opened, open_trace_with};
use crate::trace::traced::{self, TraceRequest};
use crate::trace::{Convert, Merge, Target};
use serde_json::json;
use std::io::{self, Write};
use straggler_formats::otf2::{self, WriteError};
use straggler_formats::{chrome, import, perfetto};
use straggler_model::words::list;
use straggler_report::{TemporaryFolder, replace_private_file};
use straggler_schedule::{goal, traced::Options};
use straggler_trace::format::merge::{Merged, Part, merge};
use straggler_trace::format::{directory, save};
use straggler_trace::{Class, RegionSpan, Timeline, Trace, private};

#[derive(Serialize)]
struct TraceConvertAnswer {
    output: String,
    format: &'static str,
    processes: u32,
    records: u64,
    bytes: Option<u64>,
}

pub fn run(typed: &Convert, console: &Console) -> Outcome<()> {
    let target = typed.target()?;
    let import = import::Options { shortest_region: typed.shortest_region, ..import::Options::default() };
    let mut opened = open_trace_with(&typed.trace, &import)?;
    if typed.no_command_line {
        // As the recorder stores it: the program name, without folder and arguments.
        let program = &mut opened.trace.meta.program;
        let path = program.split(' ').next().unwrap_or_default();
        *program = path.rsplit('/').next().unwrap_or_default().to_owned();
    }
    opened.warn_of_errors(&typed.trace, console);
    if target == Target::Otf2 {
        lost_in_otf2(&opened.trace).iter().for_each(|what| console.warn(what));
    }
    write(&opened, target, typed, console)?;
    // An archive consists of several files.
    let about = typed.output.metadata().ok().filter(|about| about.is_file() && target != Target::Otf2);
    let answer = TraceConvertAnswer {
        output: typed.output.display().to_string(),
        format: name(target),
        processes: opened.trace.processes(),
        records: opened.trace.calls(),
        bytes: about.map(|about| about.len()),
    };
    if console.json {
        return console.print_json(&answer);
    }
    let size = answer.bytes.map_or_else(String::new, |bytes| format!(", {}", Bytes(bytes)));
    console.print(&format!(
        "{}: {} of {}, {}{size}\n",
        answer.output,
        counted(answer.records, "record", "records"),
        counted(answer.processes.into(), "rank", "ranks"),
        answer.format
    ))
}

fn name(target: Target) -> &'static str {
    match target {
        Target::Straggler => "straggler's format",
        Target::Perfetto => "Perfetto",
        Target::Chrome => "Chrome's trace events",
        Target::Otf2 => "OTF2",
        Target::Goal => "GOAL",
    }
}

fn write(opened: &Opened, target: Target, typed: &Convert, console: &Console) -> Outcome<()> {
    let output = &typed.output;
    match target {
        Target::Straggler => write_own(&opened.trace, output),
        Target::Perfetto => Ok(replace_private_file(output, |out| perfetto::write(&opened.trace, out))?),
        Target::Chrome => write_chrome(opened, output),
        Target::Otf2 => write_otf2(&opened.trace, typed),
        Target::Goal => write_goal(&opened.trace, typed, console),
    }
}

/// All ranks in one file if the suffix selects a single-file format, else a new folder.
fn write_own(trace: &Trace, output: &Path) -> Outcome<()> {
    if output.extension().is_some_and(|ending| ending == directory::EXTENSION) {
        return Ok(replace_private_file(output, |out| {
            (0..trace.processes()).try_for_each(|rank| out.write_all(&save::stream(trace, rank)))
        })?);
    }
    save::save(trace, output).map_err(|fault| {
        Failure::bad_input(format!("{}: cannot be written: {fault}; use a new folder", output.display()))
    })
}

/// What an archive cannot store.
fn lost_in_otf2(trace: &Trace) -> Option<String> {
    let has = |class: fn(Class) -> bool| {
        trace.ranks.iter().flat_map(|rank| &rank.calls).any(|call| class(call.function.class()))
    };
    let mut lost = Vec::new();
    if has(|class| matches!(class, Class::Partitioned { .. })) {
        lost.push("messages in partitions");
    }
    if has(|class| matches!(class, Class::Epoch { collective: false })) {
        lost.push("locks and groups of one-sided communication");
    }
    if !trace.call_sites.is_empty() {
        lost.push("call sites");
    }
    if trace.ranks.iter().any(|rank| rank.usage.is_some()) {
        lost.push("the share of the processor that ranks got");
    }
    (!lost.is_empty()).then(|| format!("OTF2 does not store {}: keep the trace", list(&lost)))
}

/// An archive consists of an anchor file, definitions and a folder: OUT is the anchor's name, or the folder for all.
fn write_otf2(trace: &Trace, typed: &Convert) -> Outcome<()> {
    let output = &typed.output;
    let anchor = output.extension().is_some_and(|ending| ending == "otf2");
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let stem = output.file_stem().map_or_else(|| "traces".into(), |stem| stem.to_string_lossy().into_owned());
    let (folder, name) = if anchor { (parent, stem.as_str()) } else { (output.as_path(), "traces") };
    otf2::write(trace, folder, name).map_err(|error| match error {
        error @ (WriteError::Io { .. } | WriteError::Exists(_) | WriteError::Name(_)) => {
            Failure::bad_input_of(error)
        }
        of_trace => Failure::bad_input(format!("{}: {of_trace}", typed.trace.display())),
    })
}

/// Writes the schedule that `straggler predict` and `simulate` replay.
fn write_goal(trace: &Trace, typed: &Convert, console: &Console) -> Outcome<()> {
    let output = &typed.output;
    let options = Options { drop_unmatched: typed.drop_unmatched, ..Options::default() };
    let request = TraceRequest::plain(typed.trace.clone(), options);
    let playback = traced::replayable(trace, &request, console)?;
    let graph = playback.materialise().map_err(Failure::bad_input_of)?;
    let binary = output.extension().is_some_and(|ending| ending == "bin");
    let format = if binary { goal::Format::Binary } else { goal::Format::Text };
    goal::write_path(output, &graph, format).map_err(Failure::bad_input_of)?;
    Ok(())
}

fn write_chrome(opened: &Opened, output: &Path) -> Outcome<()> {
    let (timeline, _) = Timeline::of_trace(&opened.trace, usize::MAX);
    let about = json!({
        "command": command_line(),
        "workload": opened.trace.meta.program,
        "synthetic": opened.is_synthetic(),
    });
    let regions: Vec<Vec<RegionSpan<'_>>> = opened.trace.ranks.iter().map(RegionSpan::new).collect();
    Ok(replace_private_file(output, |out| chrome::write_with_regions(&timeline, &regions, &about, out))?)
}

#[derive(Serialize)]
struct TraceMergeAnswer {
    output: String,
    streams: usize,
    processes: u32,
    missing: Vec<u32>,
}

pub fn collect(typed: &Merge, console: &Console) -> Outcome<()> {
    let mut parts = Vec::new();
    for path in &typed.traces {
        for file in directory::files(path)? {
            parts.push(read_part(file)?);
        }
    }
    let merged = merge(&parts).map_err(Failure::bad_input_of)?;
    write_streams(&merged, &typed.output)?;
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

fn read_part(file: PathBuf) -> Outcome<Part> {
    let bytes = std::fs::read(&file).map_err(|fault| unreadable(&file, &fault))?;
    Ok(Part { name: file.display().to_string(), bytes })
}

fn write_streams(merged: &Merged<'_>, output: &Path) -> Outcome<()> {
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
