//! `straggler report`: one page of all results that are found in files and folders.
//! They are recognised by their first bytes and their names, and read with the matching reader.

pub mod search;

use crate::kernel::prelude::*;
use crate::report::search::{Search, Skipped};
use crate::study::file::{PAGE, RESULTS};
use crate::{
    kernel::exit::Kind, kernel::typed::path, latency::diagnose::page as diagnose_page, noise::file,
    noise::page::Subject, simulate::page, study::page as study_page, trace, training,
};
use std::fs::File;
use std::io::{BufReader, Read};
use straggler_formats::chrome;
use straggler_noise::format::{self, FormatOptions};
use straggler_training::holds_job;

const EXAMPLES: &str = "\
EXAMPLES
  One page with all noise files of a folder:
  straggler report fixtures/noise -o noise.html

  Two recordings side by side:
  straggler report fixtures/noise/selfish.0 fixtures/noise/sysjitter.0 \\
      -o two.html --title 'Two kernels'

  A trace and a training job:
  straggler report fixtures/traces/halo fixtures/training/slow-worker.csv \\
      -o jobs.html

INPUT FORMATS
  NAME.page          written by `assess` and by --report NAME.page
  studies            folders of `study run`, or their results.parquet
  noise recordings   in any format that `noise show` reads
  latencies          .lat files
  traces             in any format that `trace show` reads, if named
  training jobs      in any format that `training show` reads, if named
  timelines          written by `simulate --timeline`
  finish times       written by `simulate --finish-times`, CSV or Parquet

The page is one self-contained file: open it in a browser or send it to
someone.";

/// Writes the results of a command as a page.
#[derive(Clone, Debug, Default, Args)]
pub struct ReportOption {
    /// Also write an HTML page with charts and tables; with the extension .page, only its data
    #[arg(long, value_name = "OUT.html|OUT.page", help_heading = "Output", value_parser = path(page_name))]
    pub report: Option<PathBuf>,
}

/// Rejects extensions of other formats, such as .svg: the file would hold a page anyway.
fn page_name(path: PathBuf) -> Result<PathBuf, String> {
    let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    match end.as_deref() {
        None | Some("html" | "htm" | "page") => Ok(path),
        Some(other) => Err(format!(
            "a report is written as .html or .page, not as .{other}; to draw a chart of a .page file as .svg, .png or .pdf, \
             use `straggler tools plot page`"
        )),
    }
}

/// Write results as one HTML page with charts, tables and timelines
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Report {
    /// Files of results, or folders that are searched for them
    #[arg(value_name = "FILE|FOLDER", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Output file; with the extension .page, only the data
    #[arg(short, long, value_name = "REPORT.html", default_value = "report.html", value_parser = path(page_name))]
    pub output: PathBuf,
    /// Title of the page [default: made from the file names]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

impl Check for Report {
    fn check(&self) -> Outcome<()> {
        refuse_unwritable(&self.output)
    }
}

pub fn run(typed: &Valid<Report>, seed: u64, console: &Console) -> Outcome<()> {
    let found = Search::new(&typed.inputs)?;
    let (page, skipped) = found.page(typed.title.as_deref(), seed)?;
    interrupt::check()?;
    let bytes = pages::write(&typed.output, &page)?;
    let answer = ReportAnswer {
        report: typed.output.display().to_string(),
        bytes,
        sections: page.bodies().iter().map(|body| body.sections.len() as u64).sum(),
        charts: page.charts().count() as u64,
        skipped,
        warnings: page.bodies().iter().flat_map(|body| named(body, &body.warnings, &page)).collect(),
        notes: page.bodies().iter().flat_map(|body| named(body, &body.notes, &page)).collect(),
    };
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    for skipped in &answer.skipped {
        console.note(&format!("skipped: {}: {}", skipped.file, skipped.why));
    }
    console.print(&summary(&answer))
}

#[derive(Serialize)]
struct ReportAnswer {
    report: String,
    bytes: u64,
    sections: u64,
    charts: u64,
    skipped: Vec<Skipped>,
    warnings: Vec<String>,
    /// Printed only as JSON: the page has them.
    notes: Vec<String>,
}

/// Texts of one body of a page, with its title if the page has several.
fn named(body: &Page, texts: &[String], whole: &Page) -> Vec<String> {
    let prefix = if whole.parts.is_empty() { String::new() } else { format!("{}: ", body.title) };
    texts.iter().map(|text| format!("{prefix}{text}")).collect()
}

fn summary(answer: &ReportAnswer) -> String {
    let (charts, sections) =
        (counted(answer.charts, "chart", "charts"), counted(answer.sections, "section", "sections"));
    format!("{}: {charts} in {sections}, {}. Open it in a browser.\n", answer.report, memory(answer.bytes))
}

/// A page, and its title or the name of its file.
#[derive(Debug)]
pub struct Found {
    pub name: String,
    pub path: PathBuf,
    pub page: Page,
}

/// The first bytes of a file, enough to recognise its format.
const BEGINNING: u64 = 4096;
const GZIP: &[u8] = b"\x1f\x8b";
const FINISH_TIMES: &[u8] = b"rank,finish_ps";
const PARQUET: &[u8] = b"PAR1";

/// The page of one file; None if no reader recognises it. A file `named` by the user is taken for noise if
/// it is nothing else.
pub fn page_of(path: &Path, named: bool, seed: u64) -> Outcome<Option<Found>> {
    let beginning = beginning(path)?;
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let page = match ending.as_deref() {
        Some("page") => Some(of_page(path)?),
        Some("lat") => Some(diagnose_page::page_of_file(path)?),
        _ if beginning.starts_with(GZIP) && !named => None,
        _ if beginning.starts_with(chrome::BEGINNING) => Some(of_timeline(path)?),
        _ if beginning.starts_with(FINISH_TIMES) => Some(of_finish_times(path)?),
        _ if named && Recording::detect(path).is_some() => return of_recording(path),
        _ if beginning.starts_with(PARQUET) => of_parquet(path, named)?,
        _ if is_noise(&beginning, ending.as_deref(), named) => Some(of_noise(path, seed)?),
        _ => None,
    };
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    // A page is called by its title: many share a file name such as `study.page`.
    let name = |page: &Page| match ending.as_deref() {
        Some("page") if !page.title.is_empty() => page.title.clone(),
        _ => file.clone(),
    };
    Ok(page.map(|page| Found { name: name(&page), path: path.into(), page }))
}

/// A recording whose analysis makes one page, however many files it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Recording {
    Trace,
    Job,
}

impl Recording {
    fn detect(path: &Path) -> Option<Recording> {
        if holds_job(path) {
            return Some(Recording::Job);
        }
        match Kind::detect(path) {
            Some(Kind::Training) => Some(Recording::Job),
            Some(Kind::Trace) => Some(Recording::Trace),
            _ => None,
        }
    }
}

/// The page of a trace or of a training job: a file that the user names, or a folder without other results. Others are
/// not analysed, as that may take long.
pub fn of_recording(path: &Path) -> Outcome<Option<Found>> {
    let page = match Recording::detect(path) {
        Some(Recording::Trace) => trace::waits::page_of_trace(path)?,
        Some(Recording::Job) => training::page_of_files(&[path.to_path_buf()])?,
        None => return Ok(None),
    };
    Ok(Some(Found { name: page.title.clone(), path: path.into(), page }))
}

fn beginning(path: &Path) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
    read.map_err(|fault| unreadable(path, &fault))?;
    Ok(bytes)
}

fn of_page(path: &Path) -> Outcome<Page> {
    let bytes = std::fs::read(path).map_err(|fault| unreadable(path, &fault))?;
    Page::from_container(&bytes)
        .map_err(|fault| Failure::bad_input(format!("{} is not a page: {fault}", path.display())))
}

fn of_timeline(path: &Path) -> Outcome<Page> {
    let file = File::open(path).map_err(|fault| unreadable(path, &fault))?;
    let run = chrome::read(BufReader::new(file))
        .map_err(|fault| Failure::bad_input(format!("{}: {fault}", path.display())))?;
    Ok(page::timeline_page(&run, &path.display().to_string()))
}

fn of_finish_times(path: &Path) -> Outcome<Page> {
    let finish = straggler_report::finish_times::read(path).map_err(Failure::bad_input_of)?;
    let name = path.display().to_string();
    let mut section = page::finish_times(&format!("Finish times: {name}"), &finish, &command_line(), false);
    let summary = std::mem::take(&mut section.text);
    Ok(pages::page(format!("Finish times of {name}"), summary, vec![section]))
}

/// The page of finish times, or of study results unless their own page is beside them; else None.
fn of_parquet(path: &Path, named: bool) -> Outcome<Option<Page>> {
    if !named && path.with_file_name(PAGE).exists() {
        return Ok(None);
    }
    let no_results = match study_page::page_of_results(path) {
        Ok(page) => return Ok(Some(page)),
        Err(failure) => failure,
    };
    match of_finish_times(path) {
        Ok(page) => Ok(Some(page)),
        Err(_) if path.ends_with(RESULTS) => Err(no_results),
        Err(failure) if named => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Any text with two columns could be noise, so a file found in a folder must have the extension or
/// a known format.
fn is_noise(beginning: &[u8], ending: Option<&str>, named: bool) -> bool {
    const OTHERS: [&str; 12] =
        ["json", "html", "svg", "png", "pdf", "toml", "md", "goal", "bin", "rs", "csv", "gz"];
    if ending.is_some_and(|ending| OTHERS.contains(&ending)) {
        return false;
    }
    named || ending == Some("noise") || format::detect(beginning).is_some()
}

fn of_noise(path: &Path, seed: u64) -> Outcome<Page> {
    let file = file::read(path, None, &FormatOptions::default())?;
    let name = path.display().to_string();
    let (recording, headline, note) = (&file.recording, Vec::new(), String::new());
    let mut page = Subject { recording, name: &name, seed, headline, note }.page();
    page.warnings.extend(file.warnings);
    Ok(page)
}
