//! `straggler tools plot`: draws a picture of a recording, of drawn noise, or of a chart of a report.

pub mod args;
pub mod page;

use crate::kernel::console::Console;
use crate::kernel::exit::{Exit, Failure, Outcome};
use crate::kernel::valid::Valid;
use crate::noise::{file, page as noise_page};
use crate::tools::plot::args::{NoiseFigure, PlotCommand, PlotNoise};
use serde::Serialize;
use std::path::Path;
use straggler_analysis::noise::drawn;
use straggler_analysis::noise::spectrum::Spectrum;
use straggler_model::Time;
use straggler_noise::format::{FormatOptions, join};
use straggler_noise::generate::Extent;
use straggler_model::provenance::Origin;
use straggler_noise::{NoiseRecording, NoiseSpec, Shape, SignatureOrigin, SourceSpec};
use straggler_report::charts::{Heading, save};
use straggler_report::numbers::{counted, grouped};
use straggler_report::page::{Chart, Plot};

pub fn run(command: &Valid<PlotCommand>, seed: u64, console: &Console) -> Outcome<()> {
    match &**command {
        PlotCommand::Noise(typed) => noise(typed, seed, console),
        PlotCommand::Page(typed) => page::run(typed, seed, console),
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
        what: kind(typed.what),
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

fn kind(what: NoiseFigure) -> &'static str {
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
