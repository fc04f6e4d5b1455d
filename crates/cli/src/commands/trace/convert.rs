//! `straggler trace convert`: a trace in another format.

use super::{Opened, open_trace};
use crate::args::trace::{Convert, Target};
use crate::commands::{command_line, refuse_unwritable};
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::interrupt::{Interruptible, Orderly, or_interrupted};
use serde::Serialize;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use straggler_model::units::Bytes;
use straggler_report::numbers::counted;
use straggler_report::replace_file;
use straggler_trace::format::{directory, save};
use straggler_trace::{Timeline, Trace, chrome, perfetto};

#[derive(Serialize)]
struct Answer {
    output: String,
    format: &'static str,
    processes: u32,
    records: u64,
    bytes: Option<u64>,
}

pub fn run(typed: &Convert, console: &Console) -> Outcome<()> {
    let target = typed.to.or_else(|| Target::of_ending(&typed.output)).ok_or_else(|| {
        Failure::usage(format!(
            "{}: the ending does not tell the format; give --to straggler, perfetto, chrome, otf2 or goal",
            typed.output.display()
        ))
    })?;
    refuse_unwritable(&typed.output)?;
    let opened = open_trace(&typed.trace)?;
    opened.warn_of_errors(&typed.trace, console);
    write(&opened, target, &typed.output)?;
    let about = typed.output.metadata().ok().filter(std::fs::Metadata::is_file);
    let answer = Answer {
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

fn write(opened: &Opened, target: Target, output: &Path) -> Outcome<()> {
    let _orderly = Orderly::begin();
    match target {
        Target::Straggler => write_own(&opened.trace, output),
        Target::Perfetto => {
            or_interrupted(replace_file(output, |out| perfetto::write(&opened.trace, Interruptible(out))))
        }
        Target::Chrome => write_chrome(opened, output),
        Target::Otf2 | Target::Goal => Err(Failure::usage(format!(
            "{}: this version cannot write {}; give another --to",
            output.display(),
            name(target)
        ))),
    }
}

/// All ranks in one file where the name says so, else a new folder.
fn write_own(trace: &Trace, output: &Path) -> Outcome<()> {
    if output.extension().is_some_and(|ending| ending == directory::EXTENSION) {
        return or_interrupted(replace_file(output, |out| {
            let mut out = Interruptible(out);
            (0..trace.processes()).try_for_each(|rank| out.write_all(&save::stream(trace, rank)))
        }));
    }
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.map_or(Ok(()), std::fs::create_dir_all).and_then(|()| save::save(trace, output)).map_err(|fault| {
        Failure::bad_input(format!("{}: cannot be written: {fault}; give a new folder", output.display()))
    })
}

fn write_chrome(opened: &Opened, output: &Path) -> Outcome<()> {
    let (timeline, _) = Timeline::of_trace(&opened.trace, usize::MAX);
    let about = json!({
        "command": command_line(),
        "workload": opened.trace.meta.program,
        "synthetic": opened.is_synthetic(),
    });
    or_interrupted(replace_file(output, |out| chrome::write(&timeline, &about, Interruptible(out))))
}
