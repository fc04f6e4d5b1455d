//! Noise files in all supported formats, including traces of rtla.

use crate::exit::{Failure, Outcome, Wanted, mistaken, unreadable};
use std::path::{Path, PathBuf};
use straggler_measure::sources::rtla;
use straggler_model::noise::NoiseRecording;
use straggler_model::noise::format::{self, Format, FormatOptions, Repairs};
use straggler_model::noise::signature::BuiltIn;
use straggler_model::path_text::path_of;

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
