//! The noise that is assessed: measured here, read from a file, or described.

use super::jobs::{self, Jobs};
use crate::commands::measure::Batches;
use crate::commands::{measure, noise_file};
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::plan::assess::{Origin, Plan};
use serde::Serialize;
use std::path::Path;
use straggler_analysis::assess::{CauseName, Noise};
use straggler_analysis::noise::Explained;
use straggler_measure::sources::names::{OWN, SAMPLER};
use straggler_model::noise::format::{self, Format, FormatOptions};
use straggler_model::noise::recording::{Attribution, Machine, Recording, Timer};
use straggler_model::noise::{Loaded, NoiseSpec};

/// The noise, and the recording it comes from if it comes from one.
#[derive(Debug)]
pub struct Subject {
    /// "This node", or what was given.
    pub name: String,
    pub noise: Noise,
    pub recording: Option<Recording>,
    pub measured_here: bool,
    /// Of a measurement that was made here: they lie one behind the other, without the pauses between them.
    pub batches: Option<Batches>,
    /// Other jobs on the node.
    pub jobs: Jobs,
}

impl Subject {
    /// Measures, reads or draws the noise; also what the user should know about it. Of a measurement nothing is left out
    /// yet, so that it can be kept first.
    pub fn obtain(plan: &Plan, console: &Console) -> Outcome<(Subject, Vec<String>)> {
        match &plan.noise {
            Origin::Measured(request) => {
                let (recording, batches) = measure::record_in_batches(request, console)?;
                let subject = Subject::of_recording("This node".into(), recording, &[]);
                Ok((Subject { batches: Some(batches), measured_here: true, ..subject }, Vec::new()))
            }
            Origin::Given(text) if Path::new(text).is_file() && !text.ends_with(".toml") => {
                Subject::of_file(text, &plan.ignore)
            }
            Origin::Given(text) => Subject::of_description(text, plan.seed, &plan.ignore),
        }
    }

    /// A measurement without the sources that are to be ignored; also what the user should know about that.
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

    /// Without these sources, and without what the measurement did itself.
    fn of_recording(name: String, recording: Recording, left_out: &[String]) -> Subject {
        let left_out: Vec<String> =
            left_out.iter().cloned().chain([OWN, SAMPLER].map(String::from)).collect();
        let names: Vec<&str> = left_out.iter().map(String::as_str).collect();
        let mut noise = Noise::of_recording(&recording, &names);
        let jobs = Jobs::of(&recording, &left_out);
        noise.join(&jobs.sources, jobs::NAME.into());
        let (recording, measured_here, batches) = (Some(recording), false, None);
        Subject { name, noise, recording, measured_here, batches, jobs }
    }

    fn of_file(path: &str, ignore: &[String]) -> Outcome<(Subject, Vec<String>)> {
        let file = noise_file::read(Path::new(path), None, &FormatOptions::default())?;
        let left_out = ignored(&names_of(&file.recording), ignore)?;
        let subject = Subject::of_recording(path.to_string(), file.recording, &left_out.names);
        Ok((subject, file.warnings.into_iter().chain(left_out.said).collect()))
    }

    fn of_description(text: &str, seed: u64, ignore: &[String]) -> Outcome<(Subject, Vec<String>)> {
        let spec = NoiseSpec::of_typed(text).map_err(|fault| Failure::usage(fault.to_string()))?;
        let Loaded { mut sources, .. } = spec.load(seed)?;
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        let LeftOut { names, said: mut warnings } = ignored(&names, ignore)?;
        sources.retain(|source| !names.contains(&source.name));
        let noise = Noise::of_sources(&sources);
        if noise.streams.is_empty() && !sources.is_empty() {
            return Err(Failure::usage(format!(
                "{text}: a delay that happens once is no noise of a node, which is what is assessed; \
                 `straggler simulate --noise '{text}' --compare-quiet` tells what it does"
            )));
        }
        if noise.streams.len() < sources.len() {
            warnings.push("a delay that happens once is no noise of a node: left out".to_string());
        }
        let subject = Subject {
            name: text.to_string(),
            noise,
            recording: None,
            measured_here: false,
            batches: None,
            jobs: Jobs::default(),
        };
        Ok((subject, warnings))
    }

    pub fn json(&self) -> NoiseJson<'_> {
        let measured = self.recording.as_ref().map(Recording::noise_and_length);
        NoiseJson {
            name: &self.name,
            measured_here: self.measured_here,
            share: self.noise.share(),
            core_seconds: measured.map(|(_, length)| length.seconds()),
            detours: measured.map(|_| self.noise.streams.iter().map(|stream| stream.detours.len()).sum()),
            causes: &self.noise.causes,
            jobs: &self.jobs.names,
            jobs_share: self.jobs.share,
            explained: self.recording.as_ref().map(Explained::of),
            machine: self.recording.as_ref().map(|recording| &recording.machine),
            timer: self.recording.as_ref().map(|recording| &recording.timer),
            attribution: self.recording.as_ref().map(|recording| &recording.attribution),
        }
    }

    /// The recording as a file, to be assessed again.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let recording = self.recording.as_ref().filter(|_| self.measured_here)?;
        let written = format::write(recording, Format::Straggler).ok()?;
        written.files.into_iter().next().map(|file| file.bytes)
    }
}

/// What can be left out of a recording: what the measurement did itself is, in any case.
fn names_of(recording: &Recording) -> Vec<&str> {
    let all = recording.sources.iter().map(|source| source.name.as_str());
    all.filter(|name| ![OWN, SAMPLER].contains(name)).collect()
}

/// Sources that are to be left out, and what is said about it.
struct LeftOut {
    names: Vec<String>,
    said: Vec<String>,
}

/// Which of the sources are called as one of `ignore`; a name that none has is a mistake.
fn ignored(sources: &[&str], ignore: &[String]) -> Outcome<LeftOut> {
    let (mut names, mut said) = (Vec::new(), Vec::new());
    for name in ignore {
        let before = names.len();
        names.extend(
            sources.iter().filter(|source| source.eq_ignore_ascii_case(name)).map(|name| name.to_string()),
        );
        if names.len() == before {
            let all = if sources.is_empty() { "none".into() } else { sources.join(", ") };
            return Err(Failure::usage(format!(
                "--ignore {name}: there is no such source; there are: {all}"
            )));
        }
        said.push(format!("left out because of --ignore: {name}"));
    }
    Ok(LeftOut { names, said })
}

#[derive(Serialize)]
pub struct NoiseJson<'a> {
    name: &'a str,
    measured_here: bool,
    share: f64,
    /// Nothing of a description, which has no end.
    core_seconds: Option<f64>,
    detours: Option<usize>,
    causes: &'a [CauseName],
    /// Programs that took more than a hundredth of the time, and what they took together.
    jobs: &'a [String],
    jobs_share: f64,
    /// Shares of the noise time, by how sure their source is.
    explained: Option<Explained>,
    machine: Option<&'a Machine>,
    timer: Option<&'a Timer>,
    attribution: Option<&'a Attribution>,
}
