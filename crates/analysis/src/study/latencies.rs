//! Measured latencies of a study: each file is read once per network and shared by all points that name it.

use super::inputs::{LoadedNetwork, Mark};
use crate::latency::messages::{self, ClassFile, MessagesError, SizeOption};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use straggler_model::latency::{self, Fault};
use straggler_model::network::{Distributions, Drawn, DrawnError, Meaning, Measured};
use straggler_model::samples::{self, SamplesError};

/// A distribution of latencies, and a hash of its contents, independent of its name.
#[derive(Debug)]
pub(super) struct LoadedLatency {
    pub drawn: Drawn,
    pub mark: u64,
}

/// What a point requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// `FILE` or `CLASS=FILE`.
    pub text: &'a str,
    pub meaning: Meaning,
    pub size: Option<u64>,
    pub seed: u64,
}

/// Why latencies cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum LatencyError {
    #[error("latency-distribution `{text}`: {fault}")]
    Text { text: String, fault: String },
    #[error("{}: cannot be read: {fault}", path.display())]
    Unreadable { path: PathBuf, fault: std::io::Error },
    #[error("{}: {fault}", path.display())]
    File { path: PathBuf, fault: Fault },
    #[error("{}: {fault}", path.display())]
    Messages { path: PathBuf, fault: MessagesError },
    #[error("{}: {fault}", path.display())]
    Times { path: PathBuf, fault: SamplesError },
    #[error("{}: {fault}", path.display())]
    Drawn { path: PathBuf, fault: DrawnError },
}

/// Everything read so far.
#[derive(Debug)]
pub(super) struct Latencies<'a> {
    folder: &'a Path,
    pub all: Vec<LoadedLatency>,
    known: HashMap<(String, Option<u64>, bool, usize, u64), usize>,
    pub warnings: Vec<String>,
}

impl<'a> Latencies<'a> {
    pub fn new(folder: &'a Path) -> Latencies<'a> {
        Latencies { folder, all: Vec::new(), known: HashMap::new(), warnings: Vec::new() }
    }

    pub fn drawn(
        &mut self,
        wanted: Wanted<'_>,
        number: usize,
        network: &LoadedNetwork,
    ) -> Result<usize, LatencyError> {
        let Wanted { text, meaning, size, seed } = wanted;
        let key = (text.to_string(), size, meaning == Meaning::Wire, number, seed);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let ClassFile { class, path } =
            text.parse().map_err(|fault| LatencyError::Text { text: text.into(), fault })?;
        let latencies = self.read(&path, class.as_deref(), network, size)?;
        let mut mark = Mark::new();
        mark.number(u64::from(meaning == Meaning::Wire));
        for Measured { class, times } in &latencies {
            mark.text(class.as_deref().unwrap_or(""));
            times.iter().flat_map(|(time, count)| [time.ps(), *count]).for_each(|value| mark.number(value));
        }
        let distributions = Distributions { latencies, meaning, overheads: Vec::new() };
        let drawn = Drawn::new(&network.network, &distributions, seed)
            .map_err(|fault| LatencyError::Drawn { path: path.clone(), fault })?;
        let too_short = |class| messages::too_short(class, SizeOption::Key);
        self.warn(&path, drawn.classes().iter().filter_map(too_short).collect());
        self.all.push(LoadedLatency { drawn, mark: mark.0 });
        self.known.insert(key, self.all.len() - 1);
        Ok(self.all.len() - 1)
    }

    /// Reads a measurement, which begins with a brace, or a list of times, which never does.
    fn read(
        &mut self,
        path: &Path,
        class: Option<&str>,
        network: &LoadedNetwork,
        size: Option<u64>,
    ) -> Result<Vec<Measured>, LatencyError> {
        let bytes = std::fs::read(self.folder.join(path))
            .map_err(|fault| LatencyError::Unreadable { path: path.into(), fault })?;
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
            let measurement = latency::from_bytes(&bytes)
                .map_err(|fault| LatencyError::File { path: path.into(), fault })?;
            let messages = |fault| LatencyError::Messages { path: path.into(), fault };
            let mut known = measurement.doubts();
            known.extend(
                messages::notes(&measurement, &network.network, class, size, SizeOption::Key)
                    .map_err(messages)?,
            );
            known.extend(
                measurement.is_synthetic().then(|| "its latencies are synthetic, not measured".into()),
            );
            self.warn(path, known);
            return messages::classes(&measurement, &network.network, class, size, SizeOption::Key)
                .map_err(messages);
        }
        let times =
            samples::parse(&bytes, None).map_err(|fault| LatencyError::Times { path: path.into(), fault })?;
        let times = times.into_iter().map(|time| (time, 1)).collect();
        Ok(vec![Measured { class: class.map(Into::into), times }])
    }

    /// Adds warnings about a file, without duplicates.
    fn warn(&mut self, path: &Path, known: Vec<String>) {
        for text in known {
            let warning = format!("{}: {text}", path.display());
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}
