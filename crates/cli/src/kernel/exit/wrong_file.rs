//! Error messages for files that are missing or of the wrong kind, the same for every command.

use crate::kernel::prelude::*;
use std::io::{self, Read, Seek};
use straggler_formats::import;
use straggler_model::{path_text::path_of, spelling};
use straggler_noise::format::{self, Format};
use straggler_schedule::goal;
use straggler_trace::format::directory;

/// The first bytes of a file, enough to tell its kind.
const START: u64 = 4096;

/// The kind of file that a command takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    Trace,
    Schedule,
    Noise,
    /// A file, not a noise spec.
    Recording,
    Study,
    Latencies,
    Training,
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Wanted::Trace => "a trace",
            Wanted::Schedule => "a schedule",
            Wanted::Noise | Wanted::Recording => "a recording of noise",
            Wanted::Study => "a study",
            Wanted::Latencies => "a file of measured latencies",
            Wanted::Training => "a recording of a training job",
        }
    }

    /// Where to get one.
    fn source(self) -> &'static str {
        match self {
            Wanted::Trace => "give the folder DIR that `straggler trace record -o DIR -- mpirun …` recorded",
            Wanted::Schedule => "give a GOAL file, for example from `straggler schedule generate`",
            Wanted::Noise => {
                "give a file of `straggler noise measure -o FILE`, or a noise spec like periodic:…"
            }
            Wanted::Recording => "give a file of `straggler noise measure -o FILE`",
            Wanted::Study => "give a TOML file; see `straggler study --help` for an example",
            Wanted::Latencies => "give a .lat file, or measured times, one per line",
            Wanted::Training => "give a table of its operations, or files of the PyTorch profiler",
        }
    }
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Folder,
    Empty,
    Trace,
    Training,
    Schedule,
    Noise,
    /// A list of numbers without a heading: detours or times.
    Numbers,
    Latency,
    Toml,
    Csv,
    Results,
    CutOff,
    Report,
    /// Of no known format.
    Binary,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Folder => "a folder",
            Kind::Empty => "an empty file",
            Kind::Trace => "a trace",
            Kind::Training => "a table of a training job",
            Kind::Schedule => "a GOAL schedule",
            Kind::Noise => "a recording of noise",
            Kind::Numbers => "a list of numbers",
            Kind::Latency => "a latency measurement",
            Kind::Toml => "a TOML file",
            Kind::Csv => "a CSV table",
            Kind::Results => "a table of results",
            Kind::CutOff => "a truncated Parquet table",
            Kind::Report => "a report",
            Kind::Binary => "a binary file",
        }
    }

    /// The command or option that takes it; None if many do, or none.
    fn taken_by(self) -> Option<&'static str> {
        match self {
            Kind::Folder | Kind::Empty | Kind::Csv | Kind::Latency | Kind::Binary => None,
            Kind::Trace => {
                Some("use it as TRACE of `straggler predict`, `straggler whatif` or `straggler simulate`")
            }
            Kind::Training => Some("use it with `straggler training show`"),
            Kind::Schedule => Some(
                "use it as FILE of `straggler simulate`, as --goal of `straggler assess`, or as `goal` of a study",
            ),
            Kind::Noise => Some("use it with --noise, or as FILE of `straggler assess`"),
            Kind::Numbers => Some("use detours with --noise, and times with `straggler latency diagnose`"),
            Kind::Toml => Some("use a study with `straggler study run`, a network with --network"),
            Kind::Results => Some("use the results of a study with `straggler study show`"),
            Kind::CutOff => Some("copy it again, or record it again"),
            Kind::Report => Some("use it with `straggler report`, which combines reports"),
        }
    }

    /// Whether it may be of the wanted kind, with an error in it.
    fn may_be(self, wanted: Wanted) -> bool {
        match wanted {
            Wanted::Trace => matches!(self, Kind::Trace | Kind::Training),
            Wanted::Schedule => self == Kind::Schedule,
            // Signatures are TOML, and tables of detours CSV.
            Wanted::Noise | Wanted::Recording => {
                matches!(self, Kind::Noise | Kind::Numbers | Kind::Toml | Kind::Csv)
            }
            Wanted::Study => self == Kind::Toml,
            Wanted::Latencies => matches!(self, Kind::Numbers | Kind::Latency),
            Wanted::Training => matches!(
                self,
                Kind::Training
                    | Kind::Csv
                    | Kind::Results
                    | Kind::CutOff
                    | Kind::Binary
                    | Kind::Folder
                    | Kind::Empty
            ),
        }
    }

    /// Whether `straggler show` shows it.
    fn is_shown(self) -> bool {
        use Kind::{Latency, Noise, Numbers, Schedule, Trace, Training};
        matches!(self, Latency | Noise | Numbers | Schedule | Trace | Training)
    }

    pub fn detect(path: &Path) -> Option<Kind> {
        if path.is_dir() {
            let is_trace = directory::is_trace(path) || import::detect(path).is_some();
            return Some(if is_trace { Kind::Trace } else { Kind::Folder });
        }
        let mut start = Vec::new();
        std::fs::File::open(path).ok()?.take(START).read_to_end(&mut start).ok()?;
        match Kind::by_ending(path) {
            _ if start.is_empty() => Some(Kind::Empty),
            _ if is_training(&start) => Some(Kind::Training),
            Some(Kind::Results) if !ends_as_parquet(path) => Some(Kind::CutOff),
            kind => kind.or_else(|| Kind::by_start(path, &start)),
        }
    }

    fn by_ending(path: &Path) -> Option<Kind> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "toml" => Some(Kind::Toml),
            "parquet" => Some(Kind::Results),
            "html" | "page" => Some(Kind::Report),
            "csv" => Some(Kind::Csv),
            "lat" => Some(Kind::Latency),
            _ => None,
        }
    }

    fn by_start(path: &Path, start: &[u8]) -> Option<Kind> {
        if is_goal(start) {
            Some(Kind::Schedule)
        } else if directory::is_trace(path) || import::detect(path).is_some() {
            Some(Kind::Trace)
        } else if is_table(start) {
            Some(Kind::Csv)
        } else {
            match format::detect(start) {
                Some(format) if has_heading(format) => Some(Kind::Noise),
                _ if is_binary(start) => Some(Kind::Binary),
                format => format.filter(|_| is_measured(start)).map(|_| Kind::Numbers),
            }
        }
    }
}

/// A path that cannot be read.
pub fn unreadable(path: &Path, fault: &io::Error) -> Failure {
    unreadable_or(path, fault, None)
}

/// The same for a value that may not be meant as a file.
pub fn unreadable_or(path: &Path, fault: &io::Error, other: Option<&str>) -> Failure {
    let hint = if fault.kind() == io::ErrorKind::NotFound { neighbour(path) } else { None };
    let hint = spelling::hint(hint.as_deref().or(other));
    Failure::bad_input(format!("{} cannot be read: {fault}{hint}", path.display()))
}

/// The name in the same folder that is most similar to a missing one.
fn neighbour(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .take(MOST_NEIGHBOURS)
        .collect();
    let nearest = spelling::nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(nearest).display().to_string())
}

/// Only this many files of a folder are searched.
const MOST_NEIGHBOURS: usize = 1000;

/// The error for a file of another kind, with the command that takes it. None if the kind may be right or is unknown.
pub fn mistaken(path: &Path, wanted: Wanted) -> Option<Failure> {
    let kind = Kind::detect(path).filter(|kind| !kind.may_be(wanted))?;
    let advice = kind.taken_by().unwrap_or(wanted.source());
    Some(Failure::bad_input(format!(
        "{}: {advice}{}",
        not_a(path, kind, wanted.name()),
        shown_by(path, kind)
    )))
}

/// "x.goal is a GOAL schedule, not a trace".
fn not_a(path: &Path, kind: Kind, wanted: &str) -> String {
    format!("{} is {}, not {wanted}", path.display(), kind.name())
}

/// "; `straggler show x.goal` shows it".
fn shown_by(path: &Path, kind: Kind) -> String {
    let file = quoted(&path.display().to_string());
    if kind.is_shown() { format!("; `straggler show {file}` shows it") } else { String::new() }
}

/// A file of unknown kind.
pub fn unknown(path: &Path, wanted: Wanted) -> Failure {
    Failure::bad_input(format!("{} is not {}: {}", path.display(), wanted.name(), wanted.source()))
}

/// Whether a file ends like Parquet. A file that cannot be read counts as complete.
fn ends_as_parquet(path: &Path) -> bool {
    let mut end = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| {
        file.seek(io::SeekFrom::End(-4))?;
        file.read_exact(&mut end)
    });
    read.is_err() || &end == b"PAR1"
}

/// The error for a name that is no network, but a file or a folder.
pub fn misnamed_network(name: &str) -> Option<Failure> {
    let path = path_of(name);
    if !path.exists() {
        return None;
    }
    let advice = "give a .toml file, or a preset of `straggler network list`";
    Some(Failure::bad_input(match Kind::detect(&path) {
        Some(kind) => format!("{}: {advice}{}", not_a(&path, kind, "a network"), shown_by(&path, kind)),
        None => format!("{} is not a network: {advice}", path.display()),
    }))
}

/// Whether only files with the heading of their program are taken for this format.
fn has_heading(format: Format) -> bool {
    !matches!(format, Format::Columns | Format::LlnlFwq | Format::Sysjitter)
}

/// Whether it holds bytes that no text has.
fn is_binary(start: &[u8]) -> bool {
    start.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

/// Whether it begins with the column names of a training job.
fn is_training(start: &[u8]) -> bool {
    let first = String::from_utf8_lossy(start);
    let columns: Vec<&str> = first.lines().next().unwrap_or("").split(',').map(str::trim).collect();
    ["dp_rank", "optype"].iter().all(|name| columns.contains(name))
}

/// Whether it begins like a list of numbers: with a comment, numbers, or bytes that are not text.
fn is_measured(start: &[u8]) -> bool {
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    first.is_some_and(|first| *first == b'#' || first.is_ascii_digit() || !first.is_ascii())
        || std::str::from_utf8(start).is_err()
}

fn is_goal(start: &[u8]) -> bool {
    let first_words =
        || String::from_utf8_lossy(start).lines().any(|line| line.trim_start().starts_with("num_ranks"));
    goal::Format::detect(start) == Some(goal::Format::Binary) || first_words()
}

/// Whether two lines have the same number of commas, at least one.
fn is_table(start: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(start) else { return false };
    let mut commas = text.lines().map(|line| line.matches(',').count());
    matches!((commas.next(), commas.next()), (Some(first), Some(second)) if first > 0 && first == second)
}
