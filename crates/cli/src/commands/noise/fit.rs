//! `straggler noise fit`: measured noise as a short list of sources.

use super::input;
use crate::args::noise::Fit as Typed;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use serde::Serialize;
use std::path::Path;
use straggler_analysis::noise::fit::{self, Fit, FittedSource};
use straggler_analysis::noise::overhead;
use straggler_model::noise::generate::Extent;
use straggler_model::noise::{Recording, format};
use straggler_report::numbers::{counted, grouped, percent};
use straggler_report::{Table, replace_file};

pub fn run(typed: &Typed, seed: u64, console: &Console) -> Outcome<()> {
    let (recording, mut warnings) = read(typed)?;
    let first = typed.files.first().map_or("", String::as_str);
    let stem = || Path::new(first).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
    let name = typed.name.clone().unwrap_or_else(stem);
    let fit = Fit::of(&recording, &name, &made_from(typed, &recording)).map_err(Failure::bad_input_of)?;
    warnings.extend(fit.notes.iter().cloned());
    if recording.cores.len() > 1 {
        warnings.push(
            "the cores are taken together: a rhythm of one core may be lost among them; --core fits one"
                .into(),
        );
    }
    let toml = fit.signature.to_toml()?;
    let answer = Answer::new(&fit, &recording, seed, &toml, warnings)?;
    if let Some(path) = &typed.output {
        replace_file(path, |out| out.write_all(toml.as_bytes()))?;
    }
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    match &typed.output {
        Some(path) => {
            console.print(&say(&answer))?;
            console.note(&format!("wrote {}", path.display()));
            Ok(())
        }
        None => console.print(&format!("{}\n{toml}", commented(&say(&answer)))),
    }
}

fn read(typed: &Typed) -> Outcome<(Recording, Vec<String>)> {
    let (mut recordings, mut warnings) = (Vec::new(), Vec::new());
    for (position, path) in (0..).zip(&typed.files) {
        let input = input::file(Path::new(path), position, None)?;
        recordings.push(input.recording);
        warnings.extend(input.warnings);
    }
    let mut recording = format::join(recordings)?;
    if let Some(core) = typed.core {
        let there: Vec<String> = recording.cores.iter().map(|core| core.core.to_string()).collect();
        recording.cores.retain(|one| one.core == core);
        if recording.cores.is_empty() {
            let there = there.join(", ");
            return Err(Failure::usage(format!("core {core} is not in the recording; it has {there}")));
        }
    }
    Ok((recording, warnings))
}

fn made_from(typed: &Typed, recording: &Recording) -> String {
    let (noise, length) = recording.noise_and_length();
    let detours: usize = recording.cores.iter().map(|core| core.detours.len()).sum();
    let files = typed.files.join(", ");
    let core = typed.core.map_or_else(String::new, |core| format!(", core {core}"));
    format!("fitted to {files}{core}: {detours} detours, {noise} of {length}")
}

#[derive(Serialize)]
struct Answer<'a> {
    name: &'a str,
    made_from: &'a str,
    toml: &'a str,
    /// The share of time that noise takes: as measured, and as the signature has it.
    overhead: f64,
    fitted_overhead: f64,
    sources: &'a [FittedSource],
    /// Noise time in parts too small for a source of their own.
    left_out: f64,
    /// How far what the signature draws is from what was measured, each with its limit.
    durations: Distance,
    gaps: Distance,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Distance {
    distance: f64,
    limit: f64,
}

impl<'a> Answer<'a> {
    /// The fit is put to the test: noise is drawn from it and held against the recording.
    fn new(
        fit: &'a Fit,
        recording: &Recording,
        seed: u64,
        toml: &'a str,
        warnings: Vec<String>,
    ) -> Outcome<Answer<'a>> {
        let length = recording.noise_and_length().1;
        let drawn = fit.signature.recording(seed, Extent::Length(length))?;
        let [durations, gaps] =
            fit::distances(recording, &drawn).map(|(distance, limit)| Distance { distance, limit });
        Ok(Answer {
            name: &fit.signature.name,
            made_from: &fit.signature.made_from,
            toml,
            overhead: overhead::of_recording(recording, seed).share,
            fitted_overhead: fit.signature.share(),
            sources: &fit.sources,
            left_out: fit.left_out,
            durations,
            gaps,
            warnings,
        })
    }
}

fn say(answer: &Answer<'_>) -> String {
    let count = counted(answer.sources.len() as u64, "source", "sources");
    let (has, was) = (percent(answer.fitted_overhead), percent(answer.overhead));
    let mut text = format!("A signature of {count} takes {has} of the time; {was} was measured.\n");
    for (what, Distance { distance, limit }) in [("durations", &answer.durations), ("gaps", &answer.gaps)] {
        let verdict = if distance <= limit { "statistically indistinguishable" } else { "not the same" };
        text.push_str(&format!(
            "Drawn again, its {what} are {verdict}: they differ by {distance:.3}, chance by up to {limit:.3}.\n"
        ));
    }
    let mut table = Table::with_header(["source", "detours", "of the noise", "distance", "limit"]);
    for source in answer.sources {
        let numbers =
            [percent(source.share), format!("{:.3}", source.distance), format!("{:.3}", source.limit)];
        table.row([source.name.clone(), grouped(source.events)].into_iter().chain(numbers));
    }
    format!("{text}\n{table}")
}

/// As comments in front of the file.
fn commented(text: &str) -> String {
    text.lines().map(|line| format!("# {line}").trim_end().to_string() + "\n").collect()
}
