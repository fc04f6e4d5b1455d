//! `straggler diagnose`: what the shape of measured latencies hints at.

mod noise_doubts;
mod switches;

use crate::answers::diagnosis::{DiagnosisAnswer, words};
use crate::args::diagnose::Diagnose;
use crate::console::Console;
use crate::exit::Outcome;
use crate::inputs::latency_file::{self};
use crate::inputs::noise_file;
use crate::pages;
use crate::pages::diagnosis as page;
use crate::plan::valid::Valid;
use straggler_analysis::latency::Diagnosis;
use straggler_model::noise::format::FormatOptions;

pub fn run(typed: &Valid<Diagnose>, console: &Console) -> Outcome<()> {
    let mut file = latency_file::read(&typed.file, typed.unit)?;
    if let Some(path) = &typed.topology {
        switches::lay_over(path, &mut file)?;
    }
    let groups = latency_file::groups(&file, typed.series.as_deref())?;
    let noise = match &typed.with_noise {
        Some(path) => Some(noise_file::read(path, None, &FormatOptions::default())?),
        None => None,
    };
    let diagnosis = Diagnosis::of(&file.measurement, &groups, noise.as_ref().map(|noise| &noise.recording));
    let mut answer = DiagnosisAnswer::of(&file, diagnosis, noise.is_some());
    answer.warnings.extend(noise.iter().flat_map(|noise| noise.warnings.clone()));
    let doubts = noise.iter().flat_map(|noise| noise_doubts::of(&file.measurement, &noise.recording));
    answer.warnings.extend(doubts.map(|doubt| format!("--with-noise: {doubt}")));
    let without: Vec<String> = answer.groups.iter().filter_map(words::no_noise).collect();
    answer.warnings.extend(without);
    pages::write_asked(typed.report.report.as_ref(), console, || page::page(&answer, &groups))?;
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&words::say(&answer))
}
