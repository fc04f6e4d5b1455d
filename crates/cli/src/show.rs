//! `straggler show`: recognises a file, and shows it as the command for its kind does.

use crate::args::{Cli, Common, definition};
use crate::commands::{Ready, validate};
use crate::kernel::exit::Kind;
use crate::kernel::prelude::*;
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;
use straggler_model::{Network, samples};
use straggler_training::holds_job;

const EXAMPLES: &str = "\
EXAMPLES
  straggler show fixtures/noise/selfish.0
  straggler show fixtures/latency/before.lat
  straggler show fixtures/traces/halo
  straggler show fixtures/training/slow-worker.csv
  straggler show fixtures/conformance/eager-00.goal --json

Each is shown as by the command for its kind, which a note names and which has
more options: noise show, latency show, trace show, training show, schedule
info, network show, study show, study check.";

/// Show what is in files: noise, latencies, traces, jobs, schedules
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Show {
    /// Files or folders, all of one kind
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

pub fn ready(typed: Show, common: Common) -> Outcome<Ready> {
    Ok(Box::new(move |console| {
        let command = command(&typed.files)?;
        let line: Vec<String> = typed.files.iter().map(|file| quoted(&file.to_string_lossy())).collect();
        console.note(&format!("straggler {} {}", command.join(" "), line.join(" ")));
        let words = ["straggler"].into_iter().chain(command).map(OsString::from);
        let words = words.chain(["--".into()]).chain(typed.files.into_iter().map(OsString::from));
        let matches = definition().try_get_matches_from(words).map_err(refused)?;
        let cli = Cli::from_arg_matches(&matches).map_err(refused)?;
        validate(Cli { common, ..cli })?(console)
    }))
}

/// Adds the command that shows a file to the error about a file where a subcommand is missing.
pub fn with_command(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    if Path::new(word).exists() {
        let command = of_file(Path::new(word)).map_or("show".into(), |command| command.join(" "));
        let meant = format!("did you mean `straggler {command} {}`?", quoted(word));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![meant.into()]));
    }
    error
}

fn refused(error: clap::Error) -> Failure {
    let text = error.to_string();
    Failure::usage(text.strip_prefix("error: ").unwrap_or(&text).to_owned())
}

/// The command that shows all these files.
fn command(files: &[PathBuf]) -> Outcome<[&'static str; 2]> {
    let mut found: Option<(&Path, [&'static str; 2])> = None;
    for file in files {
        let command = of_file(file)?;
        match found {
            Some((first, known)) if known != command => {
                return Err(Failure::usage(format!(
                    "{} is for `straggler {}`, {} for `straggler {}`: show one kind at a time, or put all on one page \
                     with `straggler report`",
                    first.display(),
                    known.join(" "),
                    file.display(),
                    command.join(" ")
                )));
            }
            _ => found = Some((file, command)),
        }
    }
    found.map(|(_, command)| command).ok_or_else(|| Failure::usage("give a file to show"))
}

fn of_file(path: &Path) -> Outcome<[&'static str; 2]> {
    std::fs::metadata(path).map_err(|fault| unreadable(path, &fault))?;
    // A folder of profiles would pass for a folder of results.
    let kind = if holds_job(path) { Some(Kind::Training) } else { Kind::detect(path) };
    match kind {
        Some(Kind::Trace) => Ok(["trace", "show"]),
        Some(Kind::Training) => Ok(["training", "show"]),
        Some(Kind::Schedule) => Ok(["schedule", "info"]),
        Some(Kind::Noise | Kind::Csv) => Ok(["noise", "show"]),
        Some(Kind::Latency) => Ok(["latency", "show"]),
        Some(Kind::Numbers) if samples::read(path, None).is_ok() => Ok(["latency", "show"]),
        Some(Kind::Numbers) => Ok(["noise", "show"]),
        Some(Kind::Results) => Ok(["study", "show"]),
        Some(Kind::Folder) if path.join(crate::study::file::RESULTS).exists() => Ok(["study", "show"]),
        Some(Kind::Report) => Err(Failure::usage(format!(
            "{0} is a page: open it in a browser, or use `straggler serve {0}`",
            path.display()
        ))),
        Some(Kind::Folder) if path.join("report.html").exists() => Err(Failure::usage(format!(
            "{0} has results: open {0}/report.html in a browser, or use `straggler serve {0}`",
            path.display()
        ))),
        Some(Kind::Folder) => Err(Failure::bad_input(format!(
            "{} has no files that straggler knows; the guide lists the formats",
            path.display()
        ))),
        Some(Kind::Toml) if is_of_hypotheses(path) => Err(Failure::usage(format!(
            "{0} has hypotheses about a trace: use `straggler whatif TRACE --file {0}`",
            path.display()
        ))),
        Some(Kind::Toml) => Ok(of_toml(path)),
        Some(Kind::Empty | Kind::CutOff | Kind::Binary) | None => Err(Failure::bad_input(format!(
            "{}: straggler does not know this kind of file; the guide lists the formats",
            path.display()
        ))),
    }
}

fn is_of_hypotheses(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().any(|line| line.trim_start().starts_with("[[hypothesis]]"))
}

/// A signature of noise, a network, or a study.
fn of_toml(path: &Path) -> [&'static str; 2] {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    if text.lines().any(|line| line.trim_start().starts_with("[[source]]")) {
        ["noise", "show"]
    } else if path.to_str().is_some_and(|name| Network::load(name).is_ok()) {
        ["network", "show"]
    } else {
        ["study", "check"]
    }
}
