//! From noise as written to sources that can be simulated: files are read, traces drawn.

use super::file::{Noticed, TraceFile, TraceFileError};
use super::generate::GenerateError;
use super::signature::{SYNTHESISED, Signature, SignatureError};
use super::spec::{NONE, NoiseSpec, RANK, Shape, SignatureOrigin, SourceSpec, SpecError};
use super::{Detours, DetoursError, Source, Waveform, Who};
use crate::philox::Stream;
use crate::{Rank, Time};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The sources of a run, and what was noticed about the files they came from.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Loaded {
    pub sources: Vec<Source>,
    pub files: Vec<(PathBuf, Noticed)>,
}

/// Why noise cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("noise trace {0}")]
    File(#[from] TraceFileError),
    #[error("noise source `{name}`: {fault}")]
    Generate { name: String, fault: GenerateError },
    #[error("noise source `{name}`: {fault}")]
    Detours { name: String, fault: DetoursError },
    #[error("noise signature {0}")]
    Signature(#[from] SignatureError),
}

type Read<'a> = &'a mut dyn FnMut(&Path) -> io::Result<Vec<u8>>;

impl NoiseSpec {
    /// What was typed: the name of a file that is there, else a description.
    pub fn of_typed(text: &str) -> Result<NoiseSpec, SpecError> {
        if text != NONE && Path::new(text).is_file() { Ok(NoiseSpec::of_file(text)) } else { text.parse() }
    }

    /// Reads the files and draws the traces. The seed alone decides what is drawn.
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
                // Phases are drawn from streams of ranks and replicas; this one belongs to neither.
                let stream = Stream::new(seed, u32::MAX, Rank::MAX, index);
                let detours = poisson
                    .generate(stream)
                    .map_err(|fault| LoadError::Generate { name: spec.name.clone(), fault })?;
                let name = format!("{} (drawn, not measured)", spec.name);
                self.push(&SourceSpec { name, ..spec.clone() }, repeating(detours));
            }
            Shape::Delay { at, duration } => {
                self.push(spec, Waveform::Once { at: *at, duration: *duration });
            }
            Shape::Trace { path, length } => {
                let detours = self.file(path, *length, read)?;
                self.push(spec, repeating(detours));
            }
            Shape::Traces { pattern, count, length } => {
                for remainder in 0..*count {
                    let path = pattern.replace(RANK, &remainder.to_string());
                    let detours = self.file(&path, *length, &mut *read)?;
                    let who = Who::Residue { modulus: *count, remainder };
                    self.sources.push(Source { name: path, waveform: repeating(detours), who });
                }
            }
            Shape::Signature(origin) => self.signature(&read_signature(origin, read)?, spec, seed, index)?,
        }
        Ok(())
    }

    /// Every source of a signature by itself, so that one can be left out; `index` is the place of the
    /// signature among the sources that were written.
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

    fn file(&mut self, path: &str, length: Option<Time>, read: Read<'_>) -> Result<Detours, LoadError> {
        let path = PathBuf::from(path);
        let bytes = read(&path).map_err(|fault| TraceFileError::Unreadable { path: path.clone(), fault })?;
        let file = TraceFile::parse(&bytes, length)
            .map_err(|fault| TraceFileError::InFile { path: path.clone(), fault: Box::new(fault) })?;
        self.files.push((path, file.noticed));
        Ok(file.detours)
    }
}

fn read_signature(origin: &SignatureOrigin, read: Read<'_>) -> Result<Signature, SignatureError> {
    match origin {
        SignatureOrigin::BuiltIn(built_in) => built_in.signature(),
        SignatureOrigin::File(path) => {
            let path = PathBuf::from(path);
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

    fn load(text: &str) -> Result<Loaded, LoadError> {
        let spec: NoiseSpec = text.parse().unwrap();
        spec.load_with(1, &mut |path| match path.to_str() {
            Some("n.0") => Ok(b"0 1\n100 5".to_vec()),
            Some("n.1") => Ok(b"7 2\n".to_vec()),
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
        // The same signature twice: other draws.
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
