//! `straggler plot`: a recording is read or drawn, or a chart of a report is chosen, and becomes a picture.

mod input;
mod page;
mod spectrum;

use crate::args::plot::{PlotCommand, PlotNoise, What};
use crate::console::Console;
use crate::exit::Outcome;
use input::Input;
use serde::Serialize;
use straggler_model::noise::Recording;
use straggler_report::charts::{Heading, Histogram, Scatter, save};
use straggler_report::numbers::{counted, grouped};

pub fn run(command: &PlotCommand, seed: u64, console: &Console) -> Outcome<()> {
    match command {
        PlotCommand::Noise(typed) => noise(typed, seed, console),
        PlotCommand::Page(typed) => page::run(typed, seed, console),
    }
}

fn noise(typed: &PlotNoise, seed: u64, console: &Console) -> Outcome<()> {
    let Input { recording, name, warnings } = Input::of(typed, seed)?;
    let heading = heading(typed, &recording, &name);
    let picture = Picture::of(typed.what, &recording, &heading);
    save(&typed.output, &picture.svg)?;
    let answer = PlotAnswer {
        picture: typed.output.display().to_string(),
        what: picture.what,
        detours: recording.cores.iter().map(|core| core.detours.len() as u64).sum(),
        cores: recording.cores.len() as u64,
        synthetic: heading.synthetic,
        dots: picture.dots,
        peaks_hz: picture.peaks_hz,
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
    /// Of a scatter: dots that stand for all detours.
    dots: Option<u64>,
    /// Of a spectrum: the frequencies that stand out, strongest first.
    peaks_hz: Option<Vec<f64>>,
    warnings: Vec<String>,
}

struct Picture {
    svg: String,
    what: &'static str,
    dots: Option<u64>,
    peaks_hz: Option<Vec<f64>>,
}

impl Picture {
    fn of(what: What, recording: &Recording, heading: &Heading) -> Picture {
        match what {
            What::Scatter => {
                let picture = Scatter::of_recording(recording).draw(heading);
                Picture {
                    svg: picture.svg,
                    what: "scatter",
                    dots: Some(picture.drawn as u64),
                    peaks_hz: None,
                }
            }
            What::Histogram => {
                let svg = Histogram::of_recording(recording).draw(heading);
                Picture { svg, what: "histogram", dots: None, peaks_hz: None }
            }
            What::Spectrum => {
                let chart = spectrum::chart(recording);
                let peaks = chart.peaks.iter().map(|peak| peak.frequency).collect();
                Picture { svg: chart.draw(heading), what: "spectrum", dots: None, peaks_hz: Some(peaks) }
            }
        }
    }
}

fn heading(typed: &PlotNoise, recording: &Recording, name: &str) -> Heading {
    let whose = recording.machine.host.as_deref().unwrap_or(name);
    let title = typed.title.clone().unwrap_or_else(|| match typed.what {
        What::Scatter => format!("Noise of {whose}"),
        What::Histogram => format!("How long the detours of {whose} are"),
        What::Spectrum => format!("Frequencies in the noise of {whose}"),
    });
    Heading::of_recording(&title, recording, name)
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
