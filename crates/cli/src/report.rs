//! `straggler report` and `straggler serve` as typed.

pub mod readers;
pub mod search;

use crate::kernel::console::Console;
use crate::kernel::exit::Outcome;
use crate::kernel::typed::{count, path};
use crate::kernel::valid::Valid;
use crate::kernel::{interrupt, pages};
use crate::report::search::{Search, Skipped};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use straggler_report::numbers::{counted, memory};
use straggler_report::page::Page;

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

const SERVE_EXAMPLES: &str = "\
EXAMPLES
  straggler serve fixtures/noise
  straggler serve fixtures/noise --port 8642

Open the printed address: it holds a token, and requests without the token are
refused. Only this machine can connect. From another machine, forward the port:
ssh -L 8642:127.0.0.1:8642 HOST. The page is rebuilt when files change. Stop
with Ctrl-C.";

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

/// Show results in a browser on this machine
#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES, arg_required_else_help = true)]
pub struct Serve {
    /// Files of results, or folders that are searched for them
    #[arg(value_name = "FILE|FOLDER", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::<u16>(0..))]
    pub port: u16,
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
