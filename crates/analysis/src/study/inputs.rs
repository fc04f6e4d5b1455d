//! Networks and noise of a study: each is read once and shared by all points that name it.

use std::collections::HashMap;
use std::path::Path;
use straggler_model::Network;
use straggler_model::network::{Factor, NetworkError};
use straggler_noise::spec::Shape;
use straggler_noise::{Injection, InjectionError, LoadError, NoiseSpec, Phases, Source, SpecError, Waveform};

/// A network and a hash of its contents, independent of its name.
#[derive(Debug)]
pub(super) struct LoadedNetwork {
    pub network: Network,
    pub mark: u64,
}

/// Sources of noise and a hash of their contents.
#[derive(Debug)]
pub(super) struct LoadedNoise {
    pub sources: Vec<Source>,
    pub mark: u64,
}

/// Why noise cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoiseError {
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Injection(#[from] InjectionError),
}

/// Everything read so far.
#[derive(Debug)]
pub(super) struct Inputs<'a> {
    /// The folder that paths are relative to.
    folder: &'a Path,
    pub networks: Vec<LoadedNetwork>,
    pub noises: Vec<LoadedNoise>,
    known_networks: HashMap<(String, String), usize>,
    known_noises: HashMap<(String, u64, bool), Option<usize>>,
    pub warnings: Vec<String>,
}

impl<'a> Inputs<'a> {
    pub fn new(folder: &'a Path) -> Inputs<'a> {
        Inputs {
            folder,
            networks: Vec::new(),
            noises: Vec::new(),
            known_networks: HashMap::new(),
            known_noises: HashMap::new(),
            warnings: Vec::new(),
        }
    }

    pub fn network(&mut self, text: &str, factor: Option<Factor>) -> Result<usize, NetworkError> {
        let folder = self.folder;
        self.network_by(text, factor, || Network::load_from(text, folder))
    }

    /// The network with this name; calls `load` if it is new.
    pub fn network_by<E: From<NetworkError>>(
        &mut self,
        text: &str,
        factor: Option<Factor>,
        load: impl FnOnce() -> Result<Network, E>,
    ) -> Result<usize, E> {
        let key = (text.to_string(), factor.map_or_else(String::new, |factor| factor.to_string()));
        if let Some(&known) = self.known_networks.get(&key) {
            return Ok(known);
        }
        let mut network = load()?;
        if let Some(factor) = factor {
            network = network.scaled(factor)?;
        }
        let mut mark = Mark::new();
        // The hash ignores the name.
        mark.text(&format!("{:?} {:?}", network.base, network.levels));
        self.networks.push(LoadedNetwork { network, mark: mark.0 });
        self.known_networks.insert(key, self.networks.len() - 1);
        Ok(self.networks.len() - 1)
    }

    /// The index of the noise; none for `none`.
    pub fn noise(&mut self, text: &str, seed: u64, wallclock: bool) -> Result<Option<usize>, NoiseError> {
        let spec = self.parse(text)?;
        // The seed only matters if something is drawn.
        let drawn =
            spec.sources.iter().any(|source| matches!(source.shape, Shape::Poisson(_) | Shape::Signature(_)));
        let key = (text.to_string(), if drawn { seed } else { 0 }, wallclock);
        if let Some(&known) = self.known_noises.get(&key) {
            return Ok(known);
        }
        let found = if spec.is_none() { None } else { Some(self.load(&spec, seed, wallclock)?) };
        self.known_noises.insert(key, found);
        Ok(found)
    }

    /// The name of an existing file, or a description.
    fn parse(&self, text: &str) -> Result<NoiseSpec, SpecError> {
        if text != "none" && self.folder.join(text).is_file() {
            return Ok(NoiseSpec::of_file(text));
        }
        text.parse()
    }

    fn load(&mut self, spec: &NoiseSpec, seed: u64, wallclock: bool) -> Result<usize, NoiseError> {
        let loaded = spec.load_with(seed, &mut |path| std::fs::read(self.folder.join(path)))?;
        for (path, repairs) in &loaded.files {
            let warnings = repairs.warnings();
            self.warnings.extend(warnings.iter().map(|warning| format!("{}: {warning}", path.display())));
        }
        let injection = Injection::new(loaded.sources, Phases::Drawn { seed, replica: 0 }, wallclock)?;
        let mut mark = Mark::new();
        injection.sources.iter().for_each(|source| mark.source(source));
        self.noises.push(LoadedNoise { sources: injection.sources, mark: mark.0 });
        Ok(self.noises.len() - 1)
    }
}

/// A hash that is the same on every machine and in every release: Fowler–Noll–Vo 1a with 64 bits. It only has to
/// detect accidental changes.
#[derive(Debug)]
pub(super) struct Mark(pub u64);

impl Mark {
    pub fn new() -> Mark {
        Mark(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    fn source(&mut self, source: &Source) {
        self.text(&format!("{:?}", source.who));
        match &source.waveform {
            Waveform::Trace(detours) => {
                self.number(detours.length().ps());
                for (start, duration) in detours.iter() {
                    self.number(start.ps());
                    self.number(duration.ps());
                }
            }
            Waveform::Once { at, duration } => self.text(&format!("{at:?} {duration:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published results of the algorithm for "" and "a".
    #[test]
    fn marks_are_the_published_ones() {
        assert_eq!(Mark::new().0, 0xcbf29ce484222325);
        let mut mark = Mark::new();
        mark.bytes(b"a");
        assert_eq!(mark.0, 0xaf63dc4c8601ec8c);
    }

    #[test]
    fn everything_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "0 5\n1000 5\n").unwrap();
        std::fs::write(folder.path().join("b.txt"), "0 5\n1000 6\n").unwrap();
        let mut inputs = Inputs::new(folder.path());
        let a = inputs.noise("a.txt", 1, false).unwrap().unwrap();
        assert_eq!(inputs.noise("a.txt", 2, false).unwrap(), Some(a), "a file does not depend on the seed");
        let b = inputs.noise("b.txt", 1, false).unwrap().unwrap();
        assert_ne!(inputs.noises[a].mark, inputs.noises[b].mark);
        assert_eq!(inputs.noise("none", 1, false).unwrap(), None);
        let one = inputs.noise("chic", 1, false).unwrap().unwrap();
        let two = inputs.noise("signature:name=chic", 1, false).unwrap().unwrap();
        let other = inputs.noise("chic", 2, false).unwrap().unwrap();
        assert_eq!(inputs.noises[one].mark, inputs.noises[two].mark);
        assert_ne!(inputs.noises[one].mark, inputs.noises[other].mark);
        assert!(inputs.noise("nosuch", 1, false).is_err());
        let net = inputs.network("chic", None).unwrap();
        assert_eq!(inputs.network("chic", None).unwrap(), net);
        let scaled = inputs.network("chic", "10".parse().ok()).unwrap();
        assert_ne!(inputs.networks[net].mark, inputs.networks[scaled].mark);
        let written = Network::load("chic").unwrap().to_toml().unwrap();
        std::fs::write(folder.path().join("own.toml"), written).unwrap();
        let own = inputs.network("own.toml", None).unwrap();
        assert_eq!(inputs.networks[net].mark, inputs.networks[own].mark);
    }
}
