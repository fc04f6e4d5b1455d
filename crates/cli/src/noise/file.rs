//! Noise files in all supported formats, including traces of rtla, and noise specs, validated.

use crate::kernel::exit::{Wanted, mistaken};
use crate::kernel::prelude::*;
use crate::noise::{NoiseCommand, compare, words};
use crate::{kernel::gates::refuse_unknown, simulate::plan::NoisePlan};
use std::sync::Arc;
use straggler_analysis::noise::drawn;
use straggler_measure::sources::rtla;
use straggler_model::path_text::path_of;
use straggler_noise::format::{self, Format, FormatOptions, Repairs};
use straggler_noise::signature::BuiltIn;
use straggler_noise::spec::Shape;
use straggler_noise::{Injection, NoiseRecording, NoiseSpec, Phases, Who, offsets};

/// A recording, its format (None for traces of rtla), and warnings about it.
#[derive(Debug)]
pub struct NoiseFile {
    pub recording: NoiseRecording,
    pub format: Option<Format>,
    pub repairs: Repairs,
    pub warnings: Vec<String>,
}

/// The recording that typed noise names: an existing file that is no signature.
pub fn recording_named(text: &str) -> Option<PathBuf> {
    Some(path_of(text)).filter(|path| !text.ends_with(".toml") && path.is_file())
}

/// Reads a file in the format `from`; None detects the format.
pub fn read(path: &Path, from: Option<Format>, options: &FormatOptions) -> Outcome<NoiseFile> {
    let name = path.display();
    let wrong = || mistaken(path, Wanted::Recording);
    let bytes = std::fs::read(path).map_err(|fault| {
        wrong().or_else(|| signature_named(path)).unwrap_or_else(|| unreadable(path, &fault))
    })?;
    if bytes.is_empty() {
        return Err(Failure::bad_input(format!(
            "{name}: the file is empty: record again, or use another file"
        )));
    }
    if from.is_none() && rtla::looks_like(&bytes) {
        let recording = rtla::read(&bytes).map_err(|fault| Failure::bad_input(format!("{name}: {fault}")))?;
        return Ok(NoiseFile { recording, format: None, repairs: Repairs::default(), warnings: Vec::new() });
    }
    let format = from.or_else(|| format::detect(&bytes));
    let (recording, repairs) = format::read(&bytes, format, options)
        .map_err(|fault| wrong().unwrap_or_else(|| Failure::bad_input(format!("{name}: {fault}"))))?;
    let warnings = repairs.warnings().iter().map(|warning| format!("{name}: {warning}")).collect();
    Ok(NoiseFile { recording, format: Some(format.unwrap_or(Format::Columns)), repairs, warnings })
}

/// The error for the name of a built-in signature where a file is needed.
fn signature_named(path: &Path) -> Option<Failure> {
    let known = BuiltIn::find(path.to_str()?).ok()?;
    Some(Failure::bad_input(format!(
        "{} is a built-in signature, not a recording: `straggler noise list {}` prints it",
        path.display(),
        known.name
    )))
}

/// A recording, with warnings about it.
pub struct Input {
    pub recording: NoiseRecording,
    pub warnings: Vec<String>,
}

/// The recording, if the files are the cores of one node; none if a source is not a file that applies to all ranks.
pub fn files(spec: &NoiseSpec) -> Outcome<Option<Input>> {
    let mut files = Vec::new();
    for source in &spec.sources {
        match &source.shape {
            Shape::Trace { path, length } if source.who == Who::Everyone => files.push((path, *length)),
            _ => return Ok(None),
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    let (mut recordings, mut warnings) = (Vec::new(), Vec::new());
    for (position, (path, length)) in (0..).zip(files) {
        let input = file(&path_of(path), position, length)?;
        recordings.push(input.recording);
        warnings.extend(input.warnings);
    }
    Ok(Some(Input { recording: format::join(recordings)?, warnings }))
}

/// The recording in one file; `core` is used if the file has no core number.
pub fn file(path: &Path, core: u32, length: Option<Time>) -> Outcome<Input> {
    let options = FormatOptions { core, length, ..FormatOptions::default() };
    let NoiseFile { recording, warnings, .. } = read(path, None, &options)?;
    Ok(Input { recording, warnings })
}

/// The detours of rank 0 under a description, within this length.
pub fn drawn(spec: &NoiseSpec, seed: u64, length: Time) -> Outcome<Input> {
    let loaded = spec.load(seed)?;
    Ok(Input { recording: drawn::recording(&loaded.sources, 0, length), warnings: Vec::new() })
}

/// The name for the user: the files, or the names of the sources.
pub fn name(spec: &NoiseSpec, seed: u64) -> Outcome<String> {
    let path = |shape: &Shape| match shape {
        Shape::Trace { path, .. } => Some(path.clone()),
        _ => None,
    };
    let files: Option<Vec<String>> = spec.sources.iter().map(|source| path(&source.shape)).collect();
    let names = match files {
        Some(files) => files,
        None => spec.load(seed)?.sources.iter().map(|source| source.name.clone()).collect(),
    };
    Ok(names.join(", "))
}

impl Check for NoiseCommand {
    fn check(&self) -> Outcome<()> {
        let report = match self {
            NoiseCommand::Show(typed) => {
                refuse_unknown(&typed.checks, words::KINDS)?;
                &typed.report.report
            }
            NoiseCommand::Compare(typed) => {
                compare::refuse_unknown(typed)?;
                &typed.report.report
            }
            NoiseCommand::Fit(typed) => &typed.output,
            NoiseCommand::Convert(_) | NoiseCommand::List(_) | NoiseCommand::Measure(_) => &None,
        };
        report.iter().try_for_each(|path| refuse_missing_folder(path))
    }
}

/// Noise with the phases of replica 0.
#[derive(Debug)]
pub struct LoadedNoise {
    injection: Injection,
}

impl LoadedNoise {
    pub fn load(
        plan: &NoisePlan,
        seed: u64,
        processes: u32,
        warnings: &mut Vec<String>,
    ) -> Outcome<LoadedNoise> {
        let loaded = plan.spec.load(seed)?;
        for (path, noticed) in &loaded.files {
            warnings.extend(what_was_noticed(path, noticed));
        }
        for source in &loaded.sources {
            if let Who::Ranks(first, _) = source.who
                && first >= processes
            {
                let last = processes.saturating_sub(1);
                warnings.push(format!("noise `{}` disturbs no rank: ranks are 0 to {last}", source.name));
            }
        }
        let phases = match &plan.offsets {
            Some(path) => Phases::Given(load_offsets(path, processes, warnings)?),
            None if plan.cosched => Phases::Together { seed, replica: 0 },
            None => Phases::Drawn { seed, replica: 0 },
        };
        Ok(LoadedNoise { injection: Injection::new(loaded.sources, phases, plan.wallclock)? })
    }

    pub fn injection(&self) -> &Injection {
        &self.injection
    }

    pub fn describe(&self) -> String {
        self.injection.to_string()
    }
}

/// Reads one offset per process. Too few are an error: the other processes would silently start at 0.
fn load_offsets(path: &Path, processes: u32, warnings: &mut Vec<String>) -> Outcome<Arc<[Time]>> {
    let offsets = offsets::read(path)?;
    let (found, wanted) = (offsets.len() as u64, u64::from(processes));
    if found < wanted {
        let (found, wanted) = (counted(found, "offset", "offsets"), counted(wanted, "process", "processes"));
        return Err(Failure::bad_input(format!(
            "{}: {found} for {wanted}: write one number of nanoseconds per line, one line per rank",
            path.display()
        )));
    }
    if found > wanted {
        let extra = grouped(found - wanted);
        warnings.push(format!("{}: the last {extra} offsets belong to no process", path.display()));
    }
    Ok(offsets.into())
}

/// Warnings about repairs made while a noise trace was read.
pub fn what_was_noticed(path: &Path, repairs: &Repairs) -> Vec<String> {
    repairs.warnings().iter().map(|warning| format!("{}: {warning}", path.display())).collect()
}

/// Whether any source is drawn from parameters or a signature instead of read from a trace.
pub fn has_drawn_source(noise: &NoiseSpec) -> bool {
    let measured = |shape: &Shape| matches!(shape, Shape::Trace { .. } | Shape::Traces { .. });
    noise.sources.iter().any(|source| !measured(&source.shape))
}
