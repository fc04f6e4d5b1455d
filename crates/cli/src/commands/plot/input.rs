//! Input of a figure: reads and joins files, draws from signatures, and drops cores that were not requested.

use crate::args::plot::PlotNoise;
use crate::exit::{Exit, Failure, Outcome};
use crate::inputs::noise_file;
use std::path::Path;
use straggler_analysis::noise::drawn;
use straggler_model::Time;
use straggler_model::noise::format::{FormatOptions, join};
use straggler_model::noise::generate::Extent;
use straggler_model::noise::{NoiseRecording, NoiseSpec, Shape, SignatureOrigin, SourceSpec};

/// Default length drawn from a signature.
const USUAL_LENGTH: Time = Time::from_ns(10_000_000_000);

pub struct Input {
    pub recording: NoiseRecording,
    /// As typed; for several, the first and their number.
    pub name: String,
    pub warnings: Vec<String>,
}

impl Input {
    pub fn of(typed: &PlotNoise, seed: u64) -> Outcome<Input> {
        let (mut recordings, mut warnings) = (Vec::new(), Vec::new());
        for (index, name) in typed.noise.iter().enumerate() {
            recordings.push(match noise_file::recording_named(name) {
                Some(path) => load(&path, index, typed, &mut warnings)?,
                None => described(name, typed.length, seed)?,
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

/// Detours of rank 0 under a description as given to `--noise`.
fn described(text: &str, length: Option<Time>, seed: u64) -> Outcome<NoiseRecording> {
    let spec = NoiseSpec::of_typed(text).map_err(|error| Failure::new(Exit::Usage, error))?;
    let length = length.unwrap_or(USUAL_LENGTH);
    if let [SourceSpec { shape: Shape::Signature(SignatureOrigin::BuiltIn(known)), .. }] = &spec.sources[..] {
        // A signature drawn by itself keeps the names of its sources.
        let drawn = known.signature().and_then(|signature| signature.recording(seed, Extent::Length(length)));
        return drawn.map_err(|error| Failure::new(Exit::Usage, error));
    }
    let loaded = spec.load(seed)?;
    Ok(drawn::recording(&loaded.sources, 0, length))
}

fn load(path: &Path, index: usize, typed: &PlotNoise, warnings: &mut Vec<String>) -> Outcome<NoiseRecording> {
    let options =
        FormatOptions { core: index as u32, ghz: typed.ghz, interval: typed.interval, ..Default::default() };
    let file = noise_file::read(path, None, &options)?;
    warnings.extend(file.warnings);
    Ok(file.recording)
}

fn keep_core(recording: &mut NoiseRecording, core: u32) -> Outcome<()> {
    let known: Vec<String> = recording.cores.iter().map(|known| known.core.to_string()).collect();
    recording.cores.retain(|known| known.core == core);
    if recording.cores.is_empty() {
        let known = known.join(", ");
        return Err(Failure::usage(format!("core {core} was not measured; give --core one of {known}")));
    }
    Ok(())
}

/// Detours that begin later are dropped.
fn cut(recording: &mut NoiseRecording, length: Time) {
    for core in &mut recording.cores {
        core.detours.retain(|detour| detour.start < length);
        core.phases.retain(|phase| phase.start < length);
        core.quanta.retain(|quantum| quantum.start < length);
        core.length = core.length.min(length);
    }
}
