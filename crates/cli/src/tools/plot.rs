//! `straggler tools plot`: draws a picture of a recording, of drawn noise, or of a chart of a report.

use crate::kernel::prelude::*;
use crate::kernel::typed::{path, text};
use crate::noise::{file, page as noise_page};
use crate::report::search::Search;
use straggler_analysis::{noise::drawn, noise::spectrum::Spectrum};
use straggler_model::{provenance::Origin, spelling};
use straggler_noise::format::{FormatOptions, join};
use straggler_noise::{NoiseRecording, NoiseSpec, Shape, SignatureOrigin, SourceSpec, generate::Extent};
use straggler_report::charts::{Heading, ImageFormat, save};
use straggler_report::page::Plot;

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
pub struct PlotArgs {
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

impl Check for PlotCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            PlotCommand::Noise(typed) => refuse_missing_folder(&typed.output),
            PlotCommand::Page(typed) => typed.output.iter().try_for_each(|path| refuse_missing_folder(path)),
        }
    }
}

pub fn run(command: &Valid<PlotCommand>, seed: u64, console: &Console) -> Outcome<()> {
    match &**command {
        PlotCommand::Noise(typed) => noise(typed, seed, console),
        PlotCommand::Page(typed) => chart_of_page(typed, seed, console),
    }
}

fn noise(typed: &PlotNoise, seed: u64, console: &Console) -> Outcome<()> {
    let Input { recording, name, warnings } = Input::new(typed, seed)?;
    let heading = heading(typed, &recording, &name);
    let (chart, peaks_hz) = chart(typed, &recording, &heading);
    let picture = chart.draw(&heading);
    save(&typed.output, &picture)?;
    let answer = PlotAnswer {
        picture: typed.output.display().to_string(),
        what: figure_name(typed.what),
        detours: recording.cores.iter().map(|core| core.detours.len() as u64).sum(),
        cores: recording.cores.len() as u64,
        synthetic: heading.synthetic,
        dots: picture.dots.map(|dots| dots as u64),
        peaks_hz,
        warnings,
    };
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&summary(&answer))
}

#[derive(Serialize)]
struct PlotAnswer {
    picture: String,
    what: &'static str,
    detours: u64,
    cores: u64,
    synthetic: bool,
    /// For a scatter plot: the number of dots that represent all detours.
    dots: Option<u64>,
    /// For a spectrum: the peak frequencies, strongest first.
    peaks_hz: Option<Vec<f64>>,
    warnings: Vec<String>,
}

/// The requested chart, and its peak frequencies.
fn chart(typed: &PlotNoise, recording: &NoiseRecording, heading: &Heading) -> (Chart, Option<Vec<f64>>) {
    let (plot, peaks): (Plot, _) = match typed.what {
        NoiseFigure::Scatter => (noise_page::scatter(recording).into(), None),
        NoiseFigure::Histogram => (noise_page::histogram(recording).into(), None),
        NoiseFigure::Spectrum => {
            let found = Spectrum::new(recording);
            let peaks = found.lines.iter().map(|line| line.frequency_hz).collect();
            (noise_page::spectrum(&found).into(), Some(peaks))
        }
    };
    (Chart::new(&heading.title, "", plot), peaks)
}

fn figure_name(what: NoiseFigure) -> &'static str {
    match what {
        NoiseFigure::Scatter => "scatter",
        NoiseFigure::Histogram => "histogram",
        NoiseFigure::Spectrum => "spectrum",
    }
}

fn heading(typed: &PlotNoise, recording: &NoiseRecording, name: &str) -> Heading {
    let whose = recording.machine.host.as_deref().unwrap_or(name);
    let title = typed.title.clone().unwrap_or_else(|| match typed.what {
        NoiseFigure::Scatter => format!("Noise of {whose}"),
        NoiseFigure::Histogram => format!("Durations of the detours of {whose}"),
        NoiseFigure::Spectrum => format!("Frequencies in the noise of {whose}"),
    });
    let machine = &recording.machine;
    let cores = match &recording.cores[..] {
        [core] => format!("core {}", core.core),
        cores => format!("{} cores", cores.len()),
    };
    let known = [machine.host.clone(), machine.processor.clone(), Some(cores)];
    let length = format!("{} long", noise_page::length(recording));
    let subtitle: Vec<String> = known.into_iter().flatten().chain([length]).collect();
    let footer = match &recording.origin {
        Origin::Measured { version, command, .. } => format!("{name} · straggler {version} · {command}"),
        Origin::Imported => format!("{name} · imported"),
        Origin::Synthetic { description } => format!("{name} · synthetic: {description}"),
    };
    let synthetic = matches!(recording.origin, Origin::Synthetic { .. });
    let mut subtitle = subtitle.join(" · ");
    if typed.what == NoiseFigure::Spectrum {
        subtitle = format!("{subtitle}\n{}", noise_page::SPECTRUM_NOTE);
    }
    Heading { title, subtitle, footer, synthetic }
}

fn summary(answer: &PlotAnswer) -> String {
    let PlotAnswer { picture, what, detours, cores, .. } = answer;
    let (detours, cores) = (counted(*detours, "detour", "detours"), counted(*cores, "core", "cores"));
    let mut text = format!("{picture}: {what} of {detours} on {cores}");
    if let Some(dots) = answer.dots {
        text = format!("{text}, {} dots", grouped(dots));
    }
    if let Some(peaks) = &answer.peaks_hz {
        text = format!("{text}, {}", counted(peaks.len() as u64, "peak", "peaks"));
    }
    if answer.synthetic { format!("{text}. The noise is synthetic.\n") } else { format!("{text}.\n") }
}

/// Default length drawn from a signature.
const USUAL_LENGTH: Time = Time::from_ns(10_000_000_000);

pub struct Input {
    pub recording: NoiseRecording,
    /// As typed; for several, the first and their number.
    pub name: String,
    pub warnings: Vec<String>,
}

impl Input {
    pub fn new(typed: &PlotNoise, seed: u64) -> Outcome<Input> {
        let (mut recordings, mut warnings) = (Vec::new(), Vec::new());
        for (index, name) in typed.noise.iter().enumerate() {
            recordings.push(match file::recording_named(name) {
                Some(path) => load(&path, index, typed, &mut warnings)?,
                None => described(name, typed.length, seed)?,
            });
        }
        let mut recording = join(recordings).unwrap_or_default();
        if let Some(core) = typed.core {
            keep_core(&mut recording, core)?;
        }
        if let Some(length) = typed.length {
            cut(&mut recording, length);
        }
        let name = match &typed.noise[..] {
            [name, _, ..] => format!("{name} and {} more", typed.noise.len() - 1),
            names => names.concat(),
        };
        Ok(Input { recording, name, warnings })
    }
}

/// Detours of rank 0 under a description as given to `--noise`.
fn described(text: &str, length: Option<Time>, seed: u64) -> Outcome<NoiseRecording> {
    let spec = NoiseSpec::of_typed(text).map_err(|error| Failure::new(Exit::Usage, error))?;
    let length = length.unwrap_or(USUAL_LENGTH);
    if let [SourceSpec { shape: Shape::Signature(SignatureOrigin::BuiltIn(known)), .. }] = &spec.sources[..] {
        // A signature drawn by itself keeps the names of its sources.
        let drawn = known.signature().and_then(|signature| signature.recording(seed, Extent::Length(length)));
        return drawn.map_err(|error| Failure::new(Exit::Usage, error));
    }
    let loaded = spec.load(seed)?;
    Ok(drawn::recording(&loaded.sources, 0, length))
}

fn load(path: &Path, index: usize, typed: &PlotNoise, warnings: &mut Vec<String>) -> Outcome<NoiseRecording> {
    let options =
        FormatOptions { core: index as u32, ghz: typed.ghz, interval: typed.interval, ..Default::default() };
    let file = file::read(path, None, &options)?;
    warnings.extend(file.warnings);
    Ok(file.recording)
}

fn keep_core(recording: &mut NoiseRecording, core: u32) -> Outcome<()> {
    let known: Vec<String> = recording.cores.iter().map(|known| known.core.to_string()).collect();
    recording.cores.retain(|known| known.core == core);
    if recording.cores.is_empty() {
        let known = known.join(", ");
        return Err(Failure::usage(format!("core {core} was not measured; give --core one of {known}")));
    }
    Ok(())
}

/// Detours that begin later are dropped.
fn cut(recording: &mut NoiseRecording, length: Time) {
    for core in &mut recording.cores {
        core.detours.retain(|detour| detour.start < length);
        core.phases.retain(|phase| phase.start < length);
        core.quanta.retain(|quantum| quantum.start < length);
        core.length = core.length.min(length);
    }
}

fn chart_of_page(typed: &PlotPage, seed: u64, console: &Console) -> Outcome<()> {
    let (page, _) = Search::new(&typed.inputs)?.page(None, seed)?;
    let (Some(wanted), Some(output)) = (&typed.chart, &typed.output) else { return list(&page, console) };
    let (number, chart) = find(&page, wanted)?;
    let own = chart.heading();
    let heading = Heading { title: typed.title.clone().unwrap_or(own.title), ..own };
    save(output, &chart.draw(&heading))?;
    let answer = Drawn {
        picture: output.display().to_string(),
        number,
        title: chart.title.clone(),
        plot: kind(chart),
        synthetic: chart.synthetic,
    };
    if console.json {
        return console.print_json(&answer);
    }
    let synthetic = if answer.synthetic { " The data is synthetic." } else { "" };
    console.print(&format!("{}: {}, {}.{synthetic}\n", answer.picture, answer.title, answer.plot))
}

#[derive(Serialize)]
struct Drawn {
    picture: String,
    number: usize,
    title: String,
    plot: &'static str,
    synthetic: bool,
}

#[derive(Serialize)]
struct Listed {
    /// Counted from 1.
    number: usize,
    section: String,
    title: String,
    plot: &'static str,
}

/// Every chart with its number and its section.
fn listed(page: &Page) -> Vec<Listed> {
    let sections = page.bodies().into_iter();
    let sections = sections.flat_map(|body| body.sections.iter().map(move |section| (body, section)));
    let charts =
        sections.flat_map(|(body, section)| section.charts().map(move |chart| (body, section, chart)));
    let listed = |(index, (body, section, chart)): (usize, (&Page, &Section, &Chart))| Listed {
        number: index + 1,
        section: match page.parts.is_empty() {
            true => section.title.clone(),
            false => format!("{}: {}", body.title, section.title),
        },
        title: chart.title.clone(),
        plot: kind(chart),
    };
    charts.enumerate().map(listed).collect()
}

fn list(page: &Page, console: &Console) -> Outcome<()> {
    let charts = listed(page);
    if console.json {
        return console.print_json(&charts);
    }
    let table = Columns::over(&charts)
        .number("chart", |row| Cell::id(row.number))
        .text("title", |row| &row.title)
        .text("kind", |row| row.plot)
        .text("section", |row| &row.section)
        .build();
    console.print(&table.to_string())
}

/// Finds a chart by its number, or the first whose title begins with the text.
fn find<'a>(page: &'a Page, wanted: &str) -> Outcome<(usize, &'a Chart)> {
    let begins = |title: &str| title.to_lowercase().starts_with(&wanted.to_lowercase());
    let found = match wanted.parse::<usize>() {
        Ok(number) => {
            number.checked_sub(1).and_then(|index| page.charts().nth(index)).map(|chart| (number, chart))
        }
        Err(_) => (1..).zip(page.charts()).find(|(_, chart)| begins(&chart.title)),
    };
    found.ok_or_else(|| {
        let known: Vec<String> =
            listed(page).iter().map(|chart| format!("{} {}", chart.number, chart.title)).collect();
        // The beginning of a title is enough to find it, so it is what may be misspelt.
        let length = wanted.chars().count() + 1;
        let starts: Vec<String> =
            page.charts().map(|chart| chart.title.chars().take(length).collect()).collect();
        let hint = spelling::hint(spelling::nearest(wanted, starts.iter().map(|start| start.trim_end())));
        Failure::usage(format!("--chart {wanted}: no such chart; the charts are: {}{hint}", known.join("; ")))
    })
}

fn kind(chart: &Chart) -> &'static str {
    match chart.plot {
        Plot::Boxes(_) => "box plots",
        Plot::Lines(_) => "lines",
        Plot::Distribution(_) => "distribution",
        Plot::Histogram(_) => "histogram",
        Plot::Scatter(_) => "scatter",
        Plot::Bars(_) => "bars",
        Plot::Heat(_) => "heat map",
        Plot::Timeline(_) => "timeline",
    }
}
