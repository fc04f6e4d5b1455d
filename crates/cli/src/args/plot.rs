//! `straggler plot` as typed.

use clap::{Args, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};
use straggler_model::Time;
use straggler_report::charts::ImageFormat;

const EXAMPLES: &str = "\
EXAMPLES
  Every detour of a measured trace, when it came and how long it was:
  straggler plot noise fixtures/conformance/eager-noise-00.noise -o noise.svg

  How long the detours of a published system are, as drawn from its signature:
  straggler plot noise chic --what histogram -o lengths.png

  Which frequencies are in its first two seconds:
  straggler plot noise chic --what spectrum --length 2s \\
      -o spectrum.svg";

const PAGE_EXAMPLES: &str = "\
EXAMPLES
  Which charts a page of these results has:
  straggler plot page fixtures/noise/selfish.0 --list

  One of them, for a paper:
  straggler plot page fixtures/noise/selfish.0 --chart 2 -o lengths.pdf
  straggler plot page fixtures/noise --chart 'How long' -o first.svg";

/// Pictures for papers, as SVG, PDF or PNG
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Plot {
    #[command(subcommand)]
    pub command: PlotCommand,
}

#[derive(Debug, Subcommand)]
pub enum PlotCommand {
    /// Draw a recording of noise
    #[command(after_help = EXAMPLES)]
    Noise(PlotNoise),
    /// Draw a chart of a report
    #[command(after_help = PAGE_EXAMPLES)]
    Page(PlotPage),
}

#[derive(Debug, Args)]
pub struct PlotPage {
    /// A .page file, or any results that `report` understands
    #[arg(value_name = "FILE|FOLDER", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Which chart: its number as --list shows it, or how its title begins
    #[arg(long, value_name = "N|TITLE", required_unless_present = "list", conflicts_with = "list")]
    pub chart: Option<String>,
    /// Where the picture goes; the name ends with .svg, .pdf or .png
    #[arg(short, long, value_name = "PICTURE", value_parser = picture, required_unless_present = "list")]
    pub output: Option<PathBuf>,
    /// Only say which charts there are
    #[arg(long)]
    pub list: bool,
    /// The title, instead of the chart's own
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

#[derive(Debug, Args)]
pub struct PlotNoise {
    /// A file of noise in any format that is understood, or a description as --noise takes it;
    /// several are taken as cores of one node
    #[arg(value_name = "FILE|SPEC", required = true)]
    pub noise: Vec<String>,
    /// What is to be seen
    #[arg(long, value_enum, default_value = "scatter")]
    pub what: What,
    /// Where the picture goes; the name ends with .svg, .pdf or .png
    #[arg(short, long, value_name = "PICTURE", value_parser = picture)]
    pub output: PathBuf,
    /// Only this core
    #[arg(long, value_name = "N")]
    pub core: Option<u32>,
    /// Only the first part of the recording; of a signature, 10s unless given
    #[arg(long, value_name = "TIME")]
    pub length: Option<Time>,
    /// The title, instead of the name of the host or file
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Cycles in a nanosecond, for files that count cycles and do not say how many there are in a second
    #[arg(long, value_name = "N")]
    pub ghz: Option<f64>,
    /// The length of quanta, for files of fixed time that do not say it
    #[arg(long, value_name = "TIME")]
    pub interval: Option<Time>,
}

/// The pictures there are of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum What {
    /// Time against duration, every detour a dot, coloured by source
    Scatter,
    /// How many detours there are of which length
    Histogram,
    /// Which frequencies are in the noise
    Spectrum,
}

fn picture(text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text);
    ImageFormat::of(path).map(|_| path.into()).map_err(|error| error.to_string())
}
