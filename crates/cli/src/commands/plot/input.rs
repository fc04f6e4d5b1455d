//! What is to be drawn: files are read and joined, signatures drawn from, and what was not asked for is left
//! out.

use crate::args::plot::PlotNoise;
use crate::commands::noise_file;
use crate::exit::{Exit, Failure, Outcome};
use std::path::Path;
use straggler_analysis::noise::drawn;
use straggler_model::Time;
use straggler_model::noise::format::{FormatOptions, join};
use straggler_model::noise::generate::Extent;
use straggler_model::noise::{NoiseSpec, Recording, Shape, SignatureOrigin, SourceSpec};

/// How much of a signature is drawn unless the user says it.
const USUAL_LENGTH: Time = Time::from_ns(10_000_000_000);

pub struct Input {
    pub recording: Recording,
    /// As typed; of several, the first and how many there are.
    pub name: String,
    pub warnings: Vec<String>,
}

impl Input {
    pub fn of(typed: &PlotNoise, seed: u64) -> Outcome<Input> {
        let (mut recordings, mut warnings) = (Vec::new(), Vec::new());
        for (index, name) in typed.noise.iter().enumerate() {
            recordings.push(match is_recording(name) {
                true => load(name, index, typed, &mut warnings)?,
                false => described(name, typed.length, seed)?,
            });
        }
        let mut recording = join(recordings).unwrap_or_default();
        if let Some(core) = typed.core {
            keep_core(&mut recording, core)?;
        }
        if let Some(length) = typed.length {
            cut(&mut recording, length);
        }
        let name = match &typed.noise[..] {
            [name, _, ..] => format!("{name} and {} more", typed.noise.len() - 1),
            names => names.concat(),
        };
        Ok(Input { recording, name, warnings })
    }
}

/// A file, but not the file of a signature.
fn is_recording(name: &str) -> bool {
    Path::new(name).is_file() && !name.ends_with(".toml")
}

/// What a description as `--noise` takes it does to rank 0.
fn described(text: &str, length: Option<Time>, seed: u64) -> Outcome<Recording> {
    let spec = NoiseSpec::of_typed(text).map_err(|error| Failure::new(Exit::Usage, error))?;
    let length = length.unwrap_or(USUAL_LENGTH);
    if let [SourceSpec { shape: Shape::Signature(SignatureOrigin::BuiltIn(known)), .. }] = &spec.sources[..] {
        // Drawn by itself, a signature keeps the names of its sources.
        let drawn = known.signature().and_then(|signature| signature.recording(seed, Extent::Length(length)));
        return drawn.map_err(|error| Failure::new(Exit::Usage, error));
    }
    let loaded = spec.load(seed)?;
    Ok(drawn::recording(&loaded.sources, 0, length))
}

fn load(name: &str, index: usize, typed: &PlotNoise, warnings: &mut Vec<String>) -> Outcome<Recording> {
    let options =
        FormatOptions { core: index as u32, ghz: typed.ghz, interval: typed.interval, ..Default::default() };
    let file = noise_file::read(Path::new(name), None, &options)?;
    warnings.extend(file.warnings);
    Ok(file.recording)
}

fn keep_core(recording: &mut Recording, core: u32) -> Outcome<()> {
    let known: Vec<String> = recording.cores.iter().map(|known| known.core.to_string()).collect();
    recording.cores.retain(|known| known.core == core);
    if recording.cores.is_empty() {
        let known = known.join(", ");
        return Err(Failure::usage(format!("core {core} was not measured; give --core one of {known}")));
    }
    Ok(())
}

/// Detours that begin later are left out.
fn cut(recording: &mut Recording, length: Time) {
    for core in &mut recording.cores {
        core.detours.retain(|detour| detour.start < length);
        core.phases.retain(|phase| phase.start < length);
        core.quanta.retain(|quantum| quantum.start < length);
        core.length = core.length.min(length);
    }
}
