//! `straggler plot`: draws a picture of a recording, of drawn noise, or of a chart of a report.

mod input;
mod page;

use crate::args::plot::{NoiseFigure, PlotCommand, PlotNoise};
use crate::console::Console;
use crate::exit::Outcome;
use crate::pages::noise_charts;
use crate::plan::valid::Valid;
use input::Input;
use serde::Serialize;
use straggler_analysis::noise::spectrum::Spectrum;
use straggler_model::noise::NoiseRecording;
use straggler_model::noise::recording::Origin;
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
    let Input { recording, name, warnings } = Input::of(typed, seed)?;
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
    console.print(&say(&answer))
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
        NoiseFigure::Scatter => (noise_charts::scatter(recording).into(), None),
        NoiseFigure::Histogram => (noise_charts::histogram(recording).into(), None),
        NoiseFigure::Spectrum => {
            let found = Spectrum::of(recording);
            let peaks = found.lines.iter().map(|line| line.frequency_hz).collect();
            (noise_charts::spectrum(&found).into(), Some(peaks))
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
    let length = format!("{} long", noise_charts::length(recording));
    let subtitle: Vec<String> = known.into_iter().flatten().chain([length]).collect();
    let footer = match &recording.origin {
        Origin::Measured { version, command, .. } => format!("{name} · straggler {version} · {command}"),
        Origin::Imported => format!("{name} · imported"),
        Origin::Synthetic { description } => format!("{name} · synthetic: {description}"),
    };
    let synthetic = matches!(recording.origin, Origin::Synthetic { .. });
    let mut subtitle = subtitle.join(" · ");
    if typed.what == NoiseFigure::Spectrum {
        subtitle = format!("{subtitle}\n{}", noise_charts::SPECTRUM_NOTE);
    }
    Heading { title, subtitle, footer, synthetic }
}

fn say(answer: &PlotAnswer) -> String {
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
