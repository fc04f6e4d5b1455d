//! Networks as written on a command line.
//!
//! Three forms: parameters (`L=2500ns,o=1500ns,g=1000ns,G=6ns`), a preset (`chic`), and a path to a network
//! file. Parameters after a preset or a file replace its own (`chic,L=1us`); for a file with several link
//! classes they change the base class.

use super::{Link, Network, NetworkError, presets};
use crate::path_text::path_of;
use crate::spelling::nearest;
use crate::units;
use crate::{PerByte, Time};
use std::path::Path;

const KEYS: &str = "L, o, os, or, g, G, O, S, overlap";
const KEY_LIST: [&str; 11] = ["L", "o", "os", "or", "o_s", "o_r", "g", "G", "O", "S", "overlap"];

/// The eager limit of a network that states none: the reference simulator's default.
pub const DEFAULT_EAGER_LIMIT: u64 = 65_535;

/// The name of the measured network, and the default file for measurements.
const MEASURED: &str = "measured";
/// The file that `straggler mpi loggp` writes and `--network measured` reads.
pub const MEASURED_FILE: &str = "measured.toml";

/// A longer parameter is a typing error. Sums of a few parameters within the limit stay representable.
const LONGEST: Time = Time(86_400_000_000_000_000);

/// Link parameters, possibly incomplete.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Parts {
    pub latency: Option<Time>,
    pub send_overhead: Option<Time>,
    pub recv_overhead: Option<Time>,
    pub gap: Option<Time>,
    pub gap_per_byte: Option<PerByte>,
    pub overhead_per_byte: Option<PerByte>,
    pub eager_limit: Option<u64>,
    pub overlap_limit: Option<u64>,
}

fn put<T>(slot: &mut Option<T>, key: &'static str, value: T) -> Result<(), NetworkError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(NetworkError::Repeated { key }),
    }
}

impl Parts {
    /// Takes one `KEY=VALUE`.
    fn take(&mut self, pair: &str) -> Result<(), NetworkError> {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(NetworkError::NotAPair { text: pair.trim().into() });
        };
        let key = key.trim();
        let unit = |fault| NetworkError::Unit { key: key.into(), fault };
        let time = || units::time(value).map_err(unit);
        let rate = || units::per_byte(value).map_err(unit);
        match key {
            "L" => put(&mut self.latency, "L", time()?),
            "o" => {
                put(&mut self.send_overhead, "o", time()?)?;
                put(&mut self.recv_overhead, "o", time()?)
            }
            "os" | "o_s" => put(&mut self.send_overhead, "os", time()?),
            "or" | "o_r" => put(&mut self.recv_overhead, "or", time()?),
            "g" => put(&mut self.gap, "g", time()?),
            "G" => put(&mut self.gap_per_byte, "G", rate()?),
            "O" => put(&mut self.overhead_per_byte, "O", rate()?),
            "S" => put(&mut self.eager_limit, "S", units::limit(value).map_err(unit)?),
            "overlap" => put(&mut self.overlap_limit, "overlap", units::limit(value).map_err(unit)?),
            _ => {
                let nearest = nearest(key, KEY_LIST);
                Err(NetworkError::UnknownKey { key: key.into(), known: KEYS, nearest })
            }
        }
    }

    fn from_list(list: &str) -> Result<Parts, NetworkError> {
        let mut parts = Parts::default();
        list.split(',').try_for_each(|pair| parts.take(pair))?;
        Ok(parts)
    }

    fn missing(&self) -> Vec<&'static str> {
        let overhead = match (self.send_overhead, self.recv_overhead) {
            (None, None) => Some("o"),
            (None, Some(_)) => Some("os"),
            (Some(_), None) => Some("or"),
            (Some(_), Some(_)) => None,
        };
        let latency = self.latency.is_none().then_some("L");
        let gap = self.gap.is_none().then_some("g");
        let per_byte = self.gap_per_byte.is_none().then_some("G");
        [latency, overhead, gap, per_byte].into_iter().flatten().collect()
    }

    /// Builds the link if all required parameters are present. `place` names it in the error.
    pub(super) fn finish(self, place: &str) -> Result<Link, NetworkError> {
        let complete = || {
            Some(Link {
                latency: self.latency?,
                send_overhead: self.send_overhead?,
                recv_overhead: self.recv_overhead?,
                gap: self.gap?,
                gap_per_byte: self.gap_per_byte?,
                overhead_per_byte: self.overhead_per_byte.unwrap_or(PerByte::ZERO),
                eager_limit: self.eager_limit.unwrap_or(DEFAULT_EAGER_LIMIT),
                overlap_limit: self.overlap_limit.unwrap_or(u64::MAX),
            })
        };
        let Some(link) = complete() else {
            return Err(NetworkError::Missing { place: place.into(), missing: self.missing().join(", ") });
        };
        link.check()?;
        Ok(link)
    }

    /// Replaces parameters of a link by those given here.
    fn over(self, link: Link) -> Result<Link, NetworkError> {
        let link = Link {
            latency: self.latency.unwrap_or(link.latency),
            send_overhead: self.send_overhead.unwrap_or(link.send_overhead),
            recv_overhead: self.recv_overhead.unwrap_or(link.recv_overhead),
            gap: self.gap.unwrap_or(link.gap),
            gap_per_byte: self.gap_per_byte.unwrap_or(link.gap_per_byte),
            overhead_per_byte: self.overhead_per_byte.unwrap_or(link.overhead_per_byte),
            eager_limit: self.eager_limit.unwrap_or(link.eager_limit),
            overlap_limit: self.overlap_limit.unwrap_or(link.overlap_limit),
        };
        link.check()?;
        Ok(link)
    }
}

impl Link {
    /// Refuses implausibly long times.
    pub fn check(&self) -> Result<(), NetworkError> {
        let times =
            [("L", self.latency), ("os", self.send_overhead), ("or", self.recv_overhead), ("g", self.gap)];
        match times.into_iter().find(|(_, time)| *time > LONGEST) {
            Some((key, value)) => Err(NetworkError::TooLong { key, value }),
            None => Ok(()),
        }
    }
}

/// Splits off the name in front from the parameters after it.
fn split(text: &str) -> Result<(Option<&str>, Option<&str>), NetworkError> {
    let text = text.trim();
    let (first, rest) = match text.split_once(',') {
        Some((first, rest)) => (first.trim(), Some(rest)),
        None => (text, None),
    };
    match first {
        "" => Err(NetworkError::Empty),
        _ if first.contains('=') => Ok((None, Some(text))),
        _ => Ok((Some(first), rest)),
    }
}

impl Network {
    /// A network from its parameters or from a preset with optional replacements. Reads no file.
    pub fn parse(text: &str) -> Result<Network, NetworkError> {
        match split(text)? {
            (Some(name), changes) => {
                let preset = presets::find_preset(name).ok_or_else(|| unknown_name(name))?;
                Network::uniform(preset.name, preset.link).changed(changes)
            }
            (None, list) => {
                let link = Parts::from_list(list.unwrap_or_default())?.finish("")?;
                Ok(Network::uniform(text.trim(), link))
            }
        }
    }

    /// Like [`Network::parse`], but a name that ends in `.toml` is the path of a network file, and `measured`
    /// means [`MEASURED_FILE`].
    pub fn load(text: &str) -> Result<Network, NetworkError> {
        Network::load_from(text, Path::new(""))
    }

    /// Like [`Network::load`], with file paths relative to a folder.
    pub fn load_from(text: &str, folder: &Path) -> Result<Network, NetworkError> {
        match split(text)? {
            (Some(name), changes) if name.ends_with(".toml") => {
                Network::read(&folder.join(path_of(name)))?.changed(changes)
            }
            (Some(MEASURED), changes) => {
                let path = folder.join(MEASURED_FILE);
                if !path.is_file() {
                    return Err(NetworkError::NotMeasured { path });
                }
                Network::read(&path)?.changed(changes)
            }
            _ => Network::parse(text),
        }
    }

    /// Reads a network file.
    pub fn read(path: &Path) -> Result<Network, NetworkError> {
        let text = std::fs::read_to_string(path)
            .map_err(|fault| NetworkError::Unreadable { path: path.into(), fault })?;
        Network::from_toml(&text).map_err(|fault| fault.in_file(path))
    }

    fn changed(mut self, changes: Option<&str>) -> Result<Network, NetworkError> {
        if let Some(list) = changes {
            self.base = Parts::from_list(list)?.over(self.base)?;
            self.name = format!("{},{}", self.name, list.trim());
        }
        Ok(self)
    }
}

fn unknown_name(name: &str) -> NetworkError {
    let names: Vec<&'static str> = presets().iter().map(|preset| preset.name).collect();
    let nearest = nearest(name, names.iter().copied());
    NetworkError::UnknownName { name: name.into(), known: names.join(", "), nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_of_the_command_line() {
        let network = Network::parse("L=2500ns,o=1500ns,g=1000ns,G=6ns,O=0ns,S=65535").unwrap();
        let link = Link {
            latency: Time::from_ns(2500),
            send_overhead: Time::from_ns(1500),
            recv_overhead: Time::from_ns(1500),
            gap: Time::from_ns(1000),
            gap_per_byte: PerByte::from_ps(6000),
            overhead_per_byte: PerByte::ZERO,
            eager_limit: 65535,
            overlap_limit: u64::MAX,
        };
        assert_eq!(network.base, link);
        assert_eq!(Network::parse(" L = 2500ns, o=1.5us ,g=1us,G=6ns").unwrap().base, link);
    }

    #[test]
    fn overheads_may_differ() {
        let network = Network::parse("L=1us,os=2us,o_r=3us,g=0,G=25GB/s,S=1MiB").unwrap();
        assert_eq!(network.base.send_overhead, Time::from_ns(2000));
        assert_eq!(network.base.recv_overhead, Time::from_ns(3000));
        assert_eq!(network.base.gap_per_byte, PerByte::from_ps(40));
        assert_eq!(network.base.eager_limit, 1 << 20);
        let network = Network::parse("chic,S=unlimited").unwrap();
        assert_eq!(network.base.eager_limit, u64::MAX);
    }

    #[test]
    fn a_measured_network_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Network::load_from("measured", folder.path()).unwrap_err();
        assert!(missing.to_string().contains("straggler mpi loggp"), "{missing}");
        let chic = Network::parse("chic").unwrap();
        std::fs::write(folder.path().join(MEASURED_FILE), chic.to_toml().unwrap()).unwrap();
        assert_eq!(Network::load_from("measured", folder.path()).unwrap(), chic);
        let changed = Network::load_from("measured,L=1us", folder.path()).unwrap();
        assert_eq!(changed.base.latency, Time::from_ns(1000));
    }

    #[test]
    fn presets_may_be_changed() {
        let plain = Network::parse("chic").unwrap();
        let changed = Network::parse("CHiC,L=1us,S=8").unwrap();
        assert_eq!(plain.base.latency, Time::from_ns(5330));
        assert_eq!(changed.base, Link { latency: Time::from_ns(1000), eager_limit: 8, ..plain.base });
        assert_eq!(changed.name, "chic,L=1us,S=8");
    }
}
