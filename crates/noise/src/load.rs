//! Turns a noise description into sources that can be simulated: reads files and draws traces.

use super::format::{self, FormatError, FormatOptions, Overlaps, Repairs};
use super::generate::GenerateError;
use super::signature::{BuiltIn, SYNTHESISED, Signature, SignatureError};
use super::spec::{NONE, NoiseSpec, RANK, Shape, SignatureOrigin, SourceSpec, SpecError};
use super::{Detours, DetoursError, Source, Waveform, Who};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use straggler_model::path_text::path_of;
use straggler_model::philox::Stream;
use straggler_model::spelling::{hint, nearest};
use straggler_model::{Rank, Time};

/// Ends the names of sources whose detours are drawn from a description.
pub const DRAWN: &str = " (drawn, not measured)";

/// The sources of a run, and the repairs made to their files.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Loaded {
    pub sources: Vec<Source>,
    pub files: Vec<(PathBuf, Repairs)>,
}

/// Why noise cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("noise trace {path}: {fault}")]
    File { path: PathBuf, fault: FormatError },
    #[error("noise trace {path} cannot be read: {fault}{}", meant(path, fault))]
    Unreadable { path: PathBuf, fault: io::Error },
    #[error(
        "noise trace {path}: a recording of {cores} cores assigns one to each rank in turn: remove {key}="
    )]
    SeveralCores { path: PathBuf, cores: usize, key: &'static str },
    #[error("noise source `{name}`: {fault}")]
    Generate { name: String, fault: GenerateError },
    #[error("noise source `{name}`: {fault}")]
    Detours { name: String, fault: DetoursError },
    #[error("noise signature {0}")]
    Signature(#[from] SignatureError),
}

fn meant(path: &Path, fault: &io::Error) -> String {
    hint(signature_meant(path, fault))
}

/// The built-in signature that was probably meant, if a missing file has a similar name.
pub fn signature_meant(path: &Path, fault: &io::Error) -> Option<&'static str> {
    let typed = path.to_str().filter(|_| fault.kind() == io::ErrorKind::NotFound)?;
    nearest(typed, BuiltIn::all().iter().map(|known| known.name))
}

type Read<'a> = &'a mut dyn FnMut(&Path) -> io::Result<Vec<u8>>;

impl NoiseSpec {
    /// Interprets user input: the name of an existing file, else a description.
    pub fn of_typed(text: &str) -> Result<NoiseSpec, SpecError> {
        if text != NONE && path_of(text).is_file() { Ok(NoiseSpec::of_file(text)) } else { text.parse() }
    }

    /// Reads the files and draws the traces. The draws depend only on the seed.
    pub fn load(&self, seed: u64) -> Result<Loaded, LoadError> {
        self.load_with(seed, &mut |path| std::fs::read(path))
    }

    /// As [`NoiseSpec::load`], with the caller's way of reading a file.
    pub fn load_with(&self, seed: u64, read: Read<'_>) -> Result<Loaded, LoadError> {
        let mut loaded = Loaded::default();
        for (index, source) in self.sources.iter().enumerate() {
            loaded.add(source, seed, index as u32, &mut *read)?;
        }
        Ok(loaded)
    }
}

impl Loaded {
    fn add(&mut self, spec: &SourceSpec, seed: u64, index: u32, read: Read<'_>) -> Result<(), LoadError> {
        match &spec.shape {
            Shape::Periodic { period, duration, phase } => {
                let detours = Detours::new(&[(*phase, *duration)], Some(*period))
                    .map_err(|fault| LoadError::Detours { name: spec.name.clone(), fault })?;
                self.push(spec, repeating(detours));
            }
            Shape::Poisson(poisson) => {
                // Phases are drawn from the streams of ranks and replicas; no run uses this one.
                let stream = Stream::new(seed, u32::MAX, Rank::MAX, index);
                let detours = poisson
                    .generate(stream)
                    .map_err(|fault| LoadError::Generate { name: spec.name.clone(), fault })?;
                let name = format!("{}{DRAWN}", spec.name);
                self.push(&SourceSpec { name, ..spec.clone() }, repeating(detours));
            }
            Shape::Delay { at, duration } => {
                self.push(spec, Waveform::Once { at: *at, duration: *duration });
            }
            Shape::Trace { path, length } => {
                let cores = self.file(path, *length, read)?;
                self.push_cores(spec, path, cores)?;
            }
            Shape::Traces { pattern, count, length } => {
                for remainder in 0..*count {
                    let path = pattern.replace(RANK, &remainder.to_string());
                    let detours = only(self.file(&path, *length, &mut *read)?, &path, "files")?;
                    let who = Who::Residue { modulus: *count, remainder };
                    self.sources.push(Source { name: path, waveform: repeating(detours), who });
                }
            }
            Shape::Signature(origin) => self.signature(&read_signature(origin, read)?, spec, seed, index)?,
        }
        Ok(())
    }

    /// Adds every source of a signature separately, so that one can be left out; `index` is the position of
    /// the signature among the sources of the description.
    fn signature(
        &mut self,
        signature: &Signature,
        spec: &SourceSpec,
        seed: u64,
        index: u32,
    ) -> Result<(), LoadError> {
        for (source, detours) in signature.sources.iter().zip(signature.traces(seed, index)?) {
            let name = format!("{}: {} {SYNTHESISED}", signature.name, source.name);
            self.sources.push(Source { name, waveform: repeating(detours), who: spec.who.clone() });
        }
        Ok(())
    }

    fn push(&mut self, spec: &SourceSpec, waveform: Waveform) {
        self.sources.push(Source { name: spec.name.clone(), waveform, who: spec.who.clone() });
    }

    /// Adds the traces of cores. A single core applies to all ranks; several take turns: process r gets core
    /// r mod n.
    fn push_cores(&mut self, spec: &SourceSpec, path: &str, cores: Vec<Trace>) -> Result<(), LoadError> {
        if cores.len() == 1 || spec.who != Who::Everyone {
            self.push(spec, repeating(only(cores, path, "ranks")?));
            return Ok(());
        }
        let modulus = cores.len() as u32;
        for (remainder, (core, detours)) in (0..modulus).zip(cores) {
            let name = format!("{} core {core}", spec.name);
            let who = Who::Residue { modulus, remainder };
            self.sources.push(Source { name, waveform: repeating(detours), who });
        }
        Ok(())
    }

    /// The traces of the cores in a file of any format.
    fn file(&mut self, path: &str, length: Option<Time>, read: Read<'_>) -> Result<Vec<Trace>, LoadError> {
        let path = path_of(path);
        let bytes = read(&path).map_err(|fault| LoadError::Unreadable { path: path.clone(), fault })?;
        let wrong = |fault| LoadError::File { path: path.clone(), fault };
        // Overlapping detours are kept: an interval suffers each one that starts in it.
        let options = FormatOptions { length, overlaps: Overlaps::Keep, ..FormatOptions::default() };
        let (recording, repairs) = format::read(&bytes, None, &options).map_err(wrong)?;
        if recording.cores.iter().all(|core| core.detours.is_empty()) {
            return Err(wrong(FormatError::Empty));
        }
        let traces = recording.cores.iter().map(|core| Ok((core.core, core.trace()?)));
        let traces = traces.collect::<Result<_, DetoursError>>().map_err(|fault| wrong(fault.into()))?;
        self.files.push((path, repairs));
        Ok(traces)
    }
}

/// A core and its trace.
type Trace = (u32, Detours);

/// The trace of a file that must hold a single core because `key` was given.
fn only(mut cores: Vec<Trace>, path: &str, key: &'static str) -> Result<Detours, LoadError> {
    match (cores.pop(), cores.len()) {
        (Some((_, detours)), 0) => Ok(detours),
        (_, rest) => Err(LoadError::SeveralCores { path: path.into(), cores: rest + 1, key }),
    }
}

fn read_signature(origin: &SignatureOrigin, read: Read<'_>) -> Result<Signature, SignatureError> {
    match origin {
        SignatureOrigin::BuiltIn(built_in) => built_in.signature(),
        SignatureOrigin::File(path) => {
            let path = path_of(path);
            let bytes = read(&path).map_err(|fault| SignatureError::unreadable(&path, fault))?;
            Signature::from_bytes(&bytes).map_err(|fault| fault.in_file(&path))
        }
    }
}

fn repeating(detours: Detours) -> Waveform {
    Waveform::Trace(Arc::new(detours))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Core, Detour, NoiseRecording};

    fn load(text: &str) -> Result<Loaded, LoadError> {
        let spec: NoiseSpec = text.parse().unwrap();
        spec.load_with(1, &mut |path| match path.to_str() {
            Some("n.0") => Ok(b"0 1\n100 5".to_vec()),
            Some("n.1") => Ok(b"7 2\n".to_vec()),
            Some("two.noise") => Ok(two_cores()),
            Some("bad") => Ok(b"7 x\n".to_vec()),
            Some("s.toml") => Ok(SIGNATURE.into()),
            _ => Err(io::ErrorKind::NotFound.into()),
        })
    }

    const SIGNATURE: &str = "name = 's'\nmade_from = 'a test'\n\
        [[source]]\nname = 'tick'\nperiod = '4ms'\nduration = '5us'\n\
        [[source]]\nname = 'daemon'\nrate = '1Hz'\nduration = 'exponential(mean=1ms)'\n";

    #[test]
    fn every_source_of_a_signature_stands_alone() {
        let loaded = load("signature:file=s.toml,ranks=0-3").unwrap();
        let names: Vec<_> = loaded.sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(names, ["s: tick (synthesised, not measured)", "s: daemon (synthesised, not measured)"]);
        let Waveform::Trace(tick) = &loaded.sources[0].waveform else { panic!() };
        assert_eq!((tick.len(), tick.length()), (1, Time::from_ns(4_000_000)));
        assert!((loaded.sources[1].share() / 1e-3 - 1.0).abs() < 0.05);
        assert!(loaded.sources.iter().all(|source| source.who == Who::Ranks(0, 3)));
        // The same signature twice gets different draws.
        let twice = load("s.toml + signature:file=s.toml").unwrap().sources;
        assert_eq!(twice[0].waveform, twice[2].waveform);
        assert_ne!(twice[1].waveform, twice[3].waveform);
    }

    #[test]
    fn one_file_for_each_rank_in_turn() {
        let loaded = load("trace:files=n.{rank},count=2").unwrap();
        assert_eq!(loaded.sources.len(), 2);
        assert_eq!(loaded.sources[1].who, Who::Residue { modulus: 2, remainder: 1 });
        assert_eq!(loaded.sources[1].name, "n.1");
        assert_eq!(loaded.files.len(), 2);
    }

    /// Core 3 has two detours, core 5 none.
    fn two_cores() -> Vec<u8> {
        let detour = |start| Detour { start: Time(start), duration: Time(7), source: 0 };
        let noisy =
            Core { core: 3, length: Time(100), detours: vec![detour(10), detour(20)], ..Core::default() };
        let quiet = Core { core: 5, length: Time(100), ..Core::default() };
        let cores = vec![noisy, quiet];
        let recording =
            NoiseRecording { sources: NoiseRecording::unnamed(), cores, ..NoiseRecording::default() };
        format::straggler::write(&recording).unwrap()
    }

    #[test]
    fn cores_of_a_recording_take_turns() {
        let loaded = load("two.noise").unwrap();
        let who = |remainder| Who::Residue { modulus: 2, remainder };
        assert_eq!(
            loaded.sources.iter().map(|source| source.who.clone()).collect::<Vec<_>>(),
            [who(0), who(1)]
        );
        assert_eq!(loaded.sources[0].name, "two.noise core 3");
        assert_eq!((loaded.sources[0].share(), loaded.sources[1].share()), (0.14, 0.0));
        let fault = load("trace:file=two.noise,ranks=0-7").unwrap_err().to_string();
        assert!(
            fault.ends_with("a recording of 2 cores assigns one to each rank in turn: remove ranks="),
            "{fault}"
        );
        assert_eq!(load("n.0").unwrap().sources[0].who, Who::Everyone);
    }

    #[test]
    fn what_overlaps_is_simulated_as_written() {
        let spec: NoiseSpec = "t".parse().unwrap();
        let text = b"5 10 # first\r\n 7\t\t1\n100 1e1\n7.5 0.5\n-1 5".to_vec();
        let loaded = spec.load_with(1, &mut |_| Ok(text.clone())).unwrap();
        let repairs = Repairs { sorted: 1, overlaps_kept: 2, negative_dropped: 1, ..Repairs::default() };
        assert_eq!(loaded.files[0].1, repairs);
        let Waveform::Trace(detours) = &loaded.sources[0].waveform else { panic!() };
        assert_eq!((detours.len(), detours.length()), (4, Time(110_000)));
    }

    #[test]
    fn superposed_sources_in_order() {
        let loaded =
            load("n.0 + periodic:rate=1kHz,duration=100us + delay:rank=4,at=1us,duration=2us").unwrap();
        let Waveform::Trace(periodic) = &loaded.sources[1].waveform else { panic!() };
        assert_eq!(periodic.length(), Time(1_000_000_000));
        assert_eq!(periodic.share(), 0.1);
        let once = Waveform::Once { at: Time(1_000_000), duration: Time(2_000_000) };
        assert_eq!(loaded.sources[2].waveform, once);
        assert_eq!(loaded.sources[2].who, Who::Ranks(4, 4));
    }

    #[test]
    fn drawn_by_the_seed_alone() {
        let spec: NoiseSpec = "poisson:rate=1kHz,duration=exponential(mean=5us),events=50".parse().unwrap();
        assert_eq!(spec.load(3).unwrap(), spec.load(3).unwrap());
        assert_ne!(spec.load(3).unwrap(), spec.load(4).unwrap());
    }

    #[test]
    fn errors_name_the_file() {
        let fault = load("bad").unwrap_err().to_string();
        assert_eq!(fault, "noise trace bad: line 1, column 3: `x` is not a number of nanoseconds");
        let fault = load("absent").unwrap_err().to_string();
        assert_eq!(fault, "noise trace absent cannot be read: entity not found");
    }
}
