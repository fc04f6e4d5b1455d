//! The assessed noise: measured here, read from a file, or described.

use crate::assess::jobs::{self, Jobs};
use crate::assess::plan::{Origin, Plan};
use crate::kernel::prelude::*;
use crate::noise::file;
use crate::noise::measure::work::{self, Batches};
use straggler_analysis::assess::{CauseName, Noise};
use straggler_analysis::noise::Explained;
use straggler_measure::sources::names::{OWN, SAMPLER};
use straggler_model::provenance::{Machine, Timer};
use straggler_model::spelling;
use straggler_noise::format::{self, Format, FormatOptions};
use straggler_noise::recording::{Attribution, NoiseRecording};
use straggler_noise::{DRAWN, Loaded, NoiseSpec, signature::SYNTHESISED};

/// The noise, and its recording if there is one.
#[derive(Debug)]
pub struct Subject {
    /// "This node", or the given name.
    pub name: String,
    pub noise: Noise,
    pub recording: Option<NoiseRecording>,
    pub measured_here: bool,
    /// Whether it was made from published numbers, as the built-in signatures are.
    pub synthesised: bool,
    /// Batches of a measurement made here; the pauses between them are omitted.
    pub batches: Option<Batches>,
    /// Other jobs on the node.
    pub jobs: Jobs,
    /// Sources that are not part of the noise: ignored ones, and the measurement itself.
    pub left_out: Vec<String>,
}

impl Subject {
    /// Measures, reads or draws the noise, with notes for the user. A measurement still has all its sources, so that
    /// it can be saved first.
    pub fn obtain(plan: &Plan, console: &Console) -> Outcome<(Subject, Vec<String>)> {
        match &plan.noise {
            Origin::Measured(request) => {
                let (recording, batches) = work::record_in_batches(request, console)?;
                let subject = Subject::of_recording("This node".into(), recording, &[]);
                Ok((Subject { batches: Some(batches), measured_here: true, ..subject }, Vec::new()))
            }
            Origin::Given(text) => match file::recording_named(text) {
                Some(path) => Subject::of_file(text, &path, &plan.ignore),
                None => Subject::of_description(text, plan.seed, &plan.ignore),
            },
        }
    }

    /// Removes the ignored sources from a measurement, with notes for the user.
    pub fn leave_out(self, ignore: &[String]) -> Outcome<(Subject, Vec<String>)> {
        match self {
            Subject { name, recording: Some(recording), measured_here: true, batches, .. } => {
                let left_out = ignored(&names_of(&recording), ignore)?;
                let subject = Subject::of_recording(name, recording, &left_out.names);
                Ok((Subject { measured_here: true, batches, ..subject }, left_out.said))
            }
            given => Ok((given, Vec::new())),
        }
    }

    /// The subject without these sources and without the noise of the measurement itself.
    fn of_recording(name: String, recording: NoiseRecording, left_out: &[String]) -> Subject {
        let left_out: Vec<String> =
            left_out.iter().cloned().chain([OWN, SAMPLER].map(String::from)).collect();
        let names: Vec<&str> = left_out.iter().map(String::as_str).collect();
        let mut noise = Noise::of_recording(&recording, &names);
        let jobs = Jobs::new(&recording, &left_out);
        noise.join(&jobs.sources, jobs::NAME.into());
        let (recording, measured_here, synthesised, batches) = (Some(recording), false, false, None);
        Subject { name, noise, recording, measured_here, synthesised, batches, jobs, left_out }
    }

    fn of_file(name: &str, path: &Path, ignore: &[String]) -> Outcome<(Subject, Vec<String>)> {
        let file = file::read(path, None, &FormatOptions::default())?;
        let left_out = ignored(&names_of(&file.recording), ignore)?;
        let subject = Subject::of_recording(name.to_string(), file.recording, &left_out.names);
        Ok((subject, file.warnings.into_iter().chain(left_out.said).collect()))
    }

    fn of_description(text: &str, seed: u64, ignore: &[String]) -> Outcome<(Subject, Vec<String>)> {
        let spec = NoiseSpec::of_typed(text).map_err(|fault| Failure::usage(fault.to_string()))?;
        let Loaded { mut sources, .. } = spec.load(seed)?;
        let synthesised = sources.iter().any(|source| source.name.ends_with(SYNTHESISED));
        // Said once, about all of them.
        for source in &mut sources {
            for label in [SYNTHESISED, DRAWN] {
                if let Some(name) = source.name.strip_suffix(label) {
                    source.name = name.trim_end().into();
                }
            }
        }
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        let LeftOut { names, said: mut warnings } = ignored(&names, ignore)?;
        sources.retain(|source| !names.contains(&source.name));
        let noise = Noise::of_sources(&sources);
        if noise.streams.is_empty() && !sources.is_empty() {
            return Err(Failure::usage(format!(
                "{text}: a one-time delay is not noise of a node, so it cannot be assessed; `straggler \
                 simulate --noise '{text}' --compare-quiet` shows its effect"
            )));
        }
        if noise.streams.len() < sources.len() {
            warnings.push("a one-time delay is not noise of a node: ignored".to_string());
        }
        let subject = Subject {
            name: text.to_string(),
            noise,
            recording: None,
            measured_here: false,
            synthesised,
            batches: None,
            jobs: Jobs::default(),
            left_out: Vec::new(),
        };
        Ok((subject, warnings))
    }

    pub fn json(&self) -> NoiseJson<'_> {
        let measured = self.recording.as_ref().map(NoiseRecording::noise_and_length);
        NoiseJson {
            name: &self.name,
            measured_here: self.measured_here,
            share: self.noise.share(),
            core_seconds: measured.map(|(_, length)| length.seconds()),
            detours: measured.map(|_| self.noise.streams.iter().map(|stream| stream.detours.len()).sum()),
            causes: &self.noise.causes,
            jobs: &self.jobs.names,
            jobs_share: self.jobs.share,
            explained: self.explained(),
            machine: self.recording.as_ref().map(|recording| &recording.machine),
            timer: self.recording.as_ref().map(|recording| &recording.timer),
            attribution: self.recording.as_ref().map(|recording| &recording.attribution),
        }
    }

    /// What is known about the sources of the noise that is simulated.
    pub fn explained(&self) -> Option<Explained> {
        self.recording.as_ref().map(|recording| Explained::without(recording, &self.left_out))
    }

    /// The recording as a file for a later assessment.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let recording = self.recording.as_ref().filter(|_| self.measured_here)?;
        let written = format::write(recording, Format::Straggler).ok()?;
        written.files.into_iter().next().map(|file| file.bytes)
    }
}

/// Sources that can be ignored. The noise of the measurement itself is always removed.
fn names_of(recording: &NoiseRecording) -> Vec<&str> {
    let all = recording.sources.iter().map(|source| source.name.as_str());
    all.filter(|name| ![OWN, SAMPLER].contains(name)).collect()
}

/// Ignored sources, and the notes about them.
struct LeftOut {
    names: Vec<String>,
    said: Vec<String>,
}

/// The sources named in `ignore`; a name that matches none is an error.
fn ignored(sources: &[&str], ignore: &[String]) -> Outcome<LeftOut> {
    let (mut names, mut said) = (Vec::new(), Vec::new());
    for name in ignore {
        let before = names.len();
        let is_named = |source: &&&str| source.eq_ignore_ascii_case(name);
        names.extend(sources.iter().filter(is_named).map(|name| name.to_string()));
        if names.len() == before {
            let all = if sources.is_empty() { "none".into() } else { sources.join(", ") };
            return Err(Failure::usage(format!(
                "--ignore {name}: no such source; the sources are: {all}{}",
                spelling::hint(spelling::nearest(name, sources.iter().copied()))
            )));
        }
        said.push(format!("ignored because of --ignore: {name}"));
    }
    Ok(LeftOut { names, said })
}

#[derive(Serialize)]
pub struct NoiseJson<'a> {
    name: &'a str,
    measured_here: bool,
    share: f64,
    /// None for a description, which has no end.
    core_seconds: Option<f64>,
    detours: Option<usize>,
    causes: &'a [CauseName],
    /// Programs that took more than 1 % of the time, and their total.
    jobs: &'a [String],
    jobs_share: f64,
    /// Shares of the noise time, by the evidence for their source.
    explained: Option<Explained>,
    machine: Option<&'a Machine>,
    timer: Option<&'a Timer>,
    attribution: Option<&'a Attribution>,
}
