//! `straggler tools plot` as typed.

use crate::kernel::typed::{path, text};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use straggler_model::Time;
use straggler_report::charts::ImageFormat;

const EXAMPLES: &str = "\
EXAMPLES
  Start and length of every detour in a measured trace:
  straggler tools plot noise fixtures/conformance/eager-noise-00.noise \\
      -o noise.svg

  Histogram of the detours of a published system, drawn from its signature:
  straggler tools plot noise chic --what histogram -o lengths.png

  Frequency spectrum of its first two seconds:
  straggler tools plot noise chic --what spectrum --length 2s \\
      -o spectrum.svg";

const PAGE_EXAMPLES: &str = "\
EXAMPLES
  List the charts of a page:
  straggler tools plot page fixtures/noise/selfish.0 --list

  One of them, for a paper:
  straggler tools plot page fixtures/noise/selfish.0 --chart 2 -o lengths.pdf
  straggler tools plot page fixtures/noise --chart 'How long' -o first.svg";

/// Draw figures for papers as SVG, PDF or PNG
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Plot {
    #[command(subcommand)]
    pub command: PlotCommand,
}

#[derive(Debug, Subcommand)]
pub enum PlotCommand {
    /// Draw a noise recording
    #[command(after_help = EXAMPLES)]
    Noise(PlotNoise),
    /// Draw a chart of a report
    #[command(after_help = PAGE_EXAMPLES)]
    Page(PlotPage),
}

#[derive(Debug, Args)]
pub struct PlotPage {
    /// A .page file, or any results that `report` reads
    #[arg(value_name = "FILE|FOLDER", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Chart to draw: its number in --list, or the beginning of its title
    #[arg(long, value_name = "N|TITLE", required_unless_present = "list", conflicts_with = "list")]
    pub chart: Option<String>,
    /// Output file: .svg, .pdf or .png
    #[arg(short, long, value_name = "PICTURE", value_parser = path(picture), required_unless_present = "list")]
    pub output: Option<PathBuf>,
    /// Only list the charts
    #[arg(long)]
    pub list: bool,
    /// Title, instead of that of the chart
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

#[derive(Debug, Args)]
pub struct PlotNoise {
    /// A noise file in any supported format, or a noise spec; several files are the cores of one node
    #[arg(value_name = "FILE|SPEC", required = true, value_parser = text())]
    pub noise: Vec<String>,
    /// Kind of figure
    #[arg(long, value_enum, default_value = "scatter")]
    pub what: NoiseFigure,
    /// Output file: .svg, .pdf or .png
    #[arg(short, long, value_name = "PICTURE", value_parser = path(picture))]
    pub output: PathBuf,
    /// Only this core
    #[arg(long, value_name = "N")]
    pub core: Option<u32>,
    /// Only this much from the start of the recording [default: all; 10s of a signature]
    #[arg(long, value_name = "TIME")]
    pub length: Option<Time>,
    /// Title, instead of the name of the host or file
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Clock rate in GHz, for files that count cycles without stating it
    #[arg(long, value_name = "N")]
    pub ghz: Option<f64>,
    /// Length of a fixed-time quantum, if the file does not state it
    #[arg(long, value_name = "TIME")]
    pub interval: Option<Time>,
}

/// The figures of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum NoiseFigure {
    /// Duration over time, one dot per detour, coloured by source
    Scatter,
    /// Number of detours by length
    Histogram,
    /// Frequency spectrum of the noise
    Spectrum,
}

fn picture(path: PathBuf) -> Result<PathBuf, String> {
    ImageFormat::from_path(&path).map_err(|error| error.to_string()).map(|_| path)
}
