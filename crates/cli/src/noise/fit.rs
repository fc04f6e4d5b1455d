//! `straggler noise fit`: fits a short list of sources to measured noise.

use crate::kernel::prelude::*;
use crate::noise::{Fit as Typed, file};
use straggler_analysis::noise::fit::{self, Fit, FittedSource};
use straggler_analysis::noise::overhead;
use straggler_model::path_text::path_of;
use straggler_noise::{NoiseRecording, format, generate::Extent};

pub fn run(typed: &Typed, seed: u64, console: &Console) -> Outcome<()> {
    let (recording, mut warnings) = read(typed)?;
    let first = typed.files.first().map_or("", String::as_str);
    let stem = || path_of(first).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
    let name = typed.name.clone().unwrap_or_else(stem);
    let fit = Fit::new(&recording, &name, &made_from(typed, &recording)).map_err(Failure::bad_input_of)?;
    warnings.extend(fit.notes.iter().cloned());
    if recording.cores.len() > 1 {
        warnings.push(
            "all cores are fitted together, which may hide a period of one core; --core fits one".into(),
        );
    }
    let toml = fit.signature.to_toml()?;
    let answer = FitNoiseAnswer::new(&fit, &recording, seed, &toml, warnings)?;
    if let Some(path) = &typed.output {
        replace_file(path, |out| out.write_all(toml.as_bytes()))?;
    }
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    match &typed.output {
        Some(path) => {
            console.print(&summary(&answer))?;
            console.note(&format!("wrote {}", path.display()));
            Ok(())
        }
        None => console.print_verbatim(&format!("{}\n{toml}", commented(&summary(&answer)))),
    }
}

fn read(typed: &Typed) -> Outcome<(NoiseRecording, Vec<String>)> {
    let (mut recordings, mut warnings) = (Vec::new(), Vec::new());
    for (position, path) in (0..).zip(&typed.files) {
        let input = file::file(&path_of(path), position, None)?;
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

fn made_from(typed: &Typed, recording: &NoiseRecording) -> String {
    let (noise, length) = recording.noise_and_length();
    let detours: usize = recording.cores.iter().map(|core| core.detours.len()).sum();
    let files = typed.files.join(", ");
    let core = typed.core.map_or_else(String::new, |core| format!(", core {core}"));
    let detours = counted(detours as u64, "detour", "detours");
    format!("fitted to {files}{core}: {detours}, {noise} of {length}")
}

#[derive(Serialize)]
struct FitNoiseAnswer<'a> {
    name: &'a str,
    made_from: &'a str,
    toml: &'a str,
    /// The share of time lost to noise: measured, and by the signature.
    overhead: f64,
    fitted_overhead: f64,
    sources: &'a [FittedSource],
    /// Noise time in parts too small for a separate source.
    left_out: f64,
    /// Distances between drawn and measured noise, each with its limit.
    durations: Distance,
    gaps: Distance,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Distance {
    distance: f64,
    limit: f64,
}

impl<'a> FitNoiseAnswer<'a> {
    /// Tests the fit: draws noise from it and compares that with the recording.
    fn new(
        fit: &'a Fit,
        recording: &NoiseRecording,
        seed: u64,
        toml: &'a str,
        warnings: Vec<String>,
    ) -> Outcome<FitNoiseAnswer<'a>> {
        let length = recording.noise_and_length().1;
        let drawn = fit.signature.recording(seed, Extent::Length(length))?;
        let [durations, gaps] =
            fit::distances(recording, &drawn).map(|(distance, limit)| Distance { distance, limit });
        Ok(FitNoiseAnswer {
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

fn summary(answer: &FitNoiseAnswer<'_>) -> String {
    let count = counted(answer.sources.len() as u64, "source", "sources");
    let events = answer.sources.iter().map(|source| source.events).sum();
    let (has, was) = (percent(answer.fitted_overhead), percent(answer.overhead));
    let mut text = format!(
        "The signature has {count}. Its noise takes {has} of the time; the measured noise takes {was}.\n"
    );
    for (what, Distance { distance, limit }) in [("durations", &answer.durations), ("gaps", &answer.gaps)] {
        text.push_str(&match (*distance, *limit) {
            // No distance exceeds 1.
            (_, 1.0..) => format!("Its {what} cannot be tested: there are too few detours.\n"),
            (distance, limit) if distance <= limit => format!(
                "Noise drawn from it has the same {what} as the measured noise, as far as {count} tell: the \
                 distance is {distance:.3}, the critical value {limit:.3}.\n",
                count = counted(events, "detour", "detours")
            ),
            (distance, limit) => format!(
                "Noise drawn from it has other {what} than the measured noise: the distance is {distance:.3}, the \
                 critical value {limit:.3}.\n"
            ),
        });
    }
    let table = Columns::over(answer.sources)
        .text("source", |row| &row.name)
        .number("detours", |row| Cell::count(row.events))
        .number("of the noise", |row| Cell::share(row.share))
        .number("distance", |row| format!("{:.3}", row.distance))
        .number("critical value", |row| (row.limit < 1.0).then(|| format!("{:.3}", row.limit)))
        .build();
    format!("{text}\n{table}")
}

/// The text as comments at the top of the file.
fn commented(text: &str) -> String {
    text.lines().map(|line| format!("# {line}").trim_end().to_string() + "\n").collect()
}
