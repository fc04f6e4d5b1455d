//! Noise from the command line as a recording: files are read, descriptions are drawn.

use crate::exit::Outcome;
use crate::inputs::noise_file::{self, NoiseFile};
use std::path::Path;
use straggler_analysis::noise::drawn;
use straggler_model::Time;
use straggler_model::noise::format::{self, FormatOptions};
use straggler_model::noise::spec::Shape;
use straggler_model::noise::{NoiseRecording, NoiseSpec, Who};
use straggler_model::path_text::path_of;

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
    let NoiseFile { recording, warnings, .. } = noise_file::read(path, None, &options)?;
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
