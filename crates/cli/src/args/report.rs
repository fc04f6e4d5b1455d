//! `straggler report` and `straggler serve` as typed.

use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
EXAMPLES
  Every noise file of a folder, on one page:
  straggler report fixtures/noise -o noise.html

  Two recordings beside each other:
  straggler report fixtures/noise/selfish.0 fixtures/noise/sysjitter.0 \\
      -o two.html --title 'Two kernels'

WHAT IS UNDERSTOOD
  NAME.page          what assess and --report NAME.page write
  studies            folders of `study run`, or their results.parquet
  noise recordings   in any format that `noise show` reads
  latencies          .lat files, as `diagnose` reads them
  timelines          as `simulate --timeline` writes them
  finish times       as `simulate --finish-times` writes them, CSV or Parquet

The page is one file that needs no network: open it in a browser, send it to somebody.";

const SERVE_EXAMPLES: &str = "\
EXAMPLES
  straggler serve fixtures/noise
  straggler serve fixtures/noise --port 8642

The address that is printed holds a token; without it nothing is shown. Only this machine can connect.
On another machine, let ssh forward the port: ssh -L 8642:127.0.0.1:8642 HOST. The page is made anew
when files have changed. Ctrl-C ends it.";

/// A page of a command's results.
#[derive(Clone, Debug, Default, Args)]
pub struct ReportOption {
    /// Also write a page with charts and tables that opens in a browser; only its data for .page
    #[arg(long, value_name = "OUT.html|OUT.page", help_heading = "Output", value_parser = page_name)]
    pub report: Option<PathBuf>,
}

/// A page has an ending of its own, or none: a name of another format would get a page all the same.
fn page_name(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    match end.as_deref() {
        None | Some("html" | "htm" | "page") => Ok(path),
        Some(other) => Err(format!(
            "a report is written as .html or .page, not as .{other}; `straggler plot page` draws a chart of a .page file \
             as .svg, .png or .pdf"
        )),
    }
}

/// Make one page of results: charts, tables and timelines that open in a browser
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Report {
    /// Files of results, or folders that are searched for them
    #[arg(value_name = "FILE|FOLDER", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Where the page goes; a name that ends with .page keeps only the data
    #[arg(short, long, value_name = "REPORT.html", default_value = "report.html", value_parser = page_name)]
    pub output: PathBuf,
    /// The title, instead of one made of the names
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// Show results in the browser, to this machine only
#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES, arg_required_else_help = true)]
pub struct Serve {
    /// Files of results, or folders that are searched for them
    #[arg(value_name = "FILE|FOLDER", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Listen on this port; on a free one unless given
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
}
