//! The network file: TOML, version 1.
//!
//! ```toml
//! version = 1
//! name = "cluster"
//! L = "1.2us"
//! o = "300ns"          # or os and or
//! g = "200ns"
//! G = "25GB/s"         # or "40ps"
//! S = "64KiB"          # or "unlimited"; O and S may be left out
//!
//! [[level]]            # link classes inside groups of ranks, innermost first
//! name = "node"
//! ranks_per_group = 8  # or groups = [0, 0, 1, 1], the group of every rank
//! L = "200ns"
//! o = "100ns"
//! g = "50ns"
//! G = "50ps"
//! ```

use super::parse::Parts;
use super::{Grouping, Level, Link, Network, NetworkError};
use crate::units::{self, UnitError};
use crate::{PerByte, Time, toml_file};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

const VERSION: u32 = 1;

/// A quantity with a textual form that includes a unit.
trait Written: Sized {
    const EXPECTED: &'static str;
    fn read(text: &str) -> Result<Self, UnitError>;
    fn write(&self) -> String;
}

impl Written for Time {
    const EXPECTED: &'static str = "a time such as \"2500ns\"";
    fn read(text: &str) -> Result<Time, UnitError> {
        units::time(text)
    }
    fn write(&self) -> String {
        units::write_time(*self)
    }
}

impl Written for PerByte {
    const EXPECTED: &'static str = "a time per byte or a bandwidth such as \"6ns\" or \"25GB/s\"";
    fn read(text: &str) -> Result<PerByte, UnitError> {
        units::per_byte(text)
    }
    fn write(&self) -> String {
        units::write_per_byte(*self)
    }
}

impl Written for u64 {
    const EXPECTED: &'static str = "a size such as \"64KiB\" or 65535, or \"unlimited\"";
    fn read(text: &str) -> Result<u64, UnitError> {
        units::limit(text)
    }
    fn write(&self) -> String {
        units::write_limit(*self)
    }
}

/// A quantity in the file: a string with its unit, or an integer where that needs none.
#[derive(Clone, Copy, Debug)]
struct Quantity<T>(T);

impl<T: Written> Serialize for Quantity<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.write())
    }
}

struct QuantityVisitor<T>(PhantomData<T>);

impl<T: Written> Visitor<'_> for QuantityVisitor<T> {
    type Value = Quantity<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity<T>, E> {
        T::read(text).map(Quantity).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Quantity<T>, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Quantity<T>, E> {
        self.visit_str(&value.to_string())
    }
}

impl<'de, T: Written> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Quantity<T>, D::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}

/// A struct with link parameters and fields of its own. serde's `flatten` would give up
/// `deny_unknown_fields`, and with it the line of a misspelt key.
macro_rules! with_link_parameters {
    ($name:ident { $($own:tt)* }) => {
        #[derive(Debug, Default, Deserialize, Serialize)]
        #[serde(deny_unknown_fields)]
        struct $name {
            $($own)*
            #[serde(rename = "L", skip_serializing_if = "Option::is_none")]
            latency: Option<Quantity<Time>>,
            #[serde(rename = "o", skip_serializing_if = "Option::is_none")]
            overhead: Option<Quantity<Time>>,
            #[serde(rename = "os", alias = "o_s", skip_serializing_if = "Option::is_none")]
            send_overhead: Option<Quantity<Time>>,
            #[serde(rename = "or", alias = "o_r", skip_serializing_if = "Option::is_none")]
            recv_overhead: Option<Quantity<Time>>,
            #[serde(rename = "g", skip_serializing_if = "Option::is_none")]
            gap: Option<Quantity<Time>>,
            #[serde(rename = "G", skip_serializing_if = "Option::is_none")]
            gap_per_byte: Option<Quantity<PerByte>>,
            #[serde(rename = "O", skip_serializing_if = "Option::is_none")]
            overhead_per_byte: Option<Quantity<PerByte>>,
            #[serde(rename = "S", skip_serializing_if = "Option::is_none")]
            eager_limit: Option<Quantity<u64>>,
            #[serde(rename = "overlap", skip_serializing_if = "Option::is_none")]
            overlap_limit: Option<Quantity<u64>>,
        }

        impl $name {
            fn parts(&self) -> Result<Parts, NetworkError> {
                if self.overhead.is_some() && (self.send_overhead.is_some() || self.recv_overhead.is_some()) {
                    return Err(NetworkError::Repeated { key: "o" });
                }
                Ok(Parts {
                    latency: self.latency.map(|q| q.0),
                    send_overhead: self.send_overhead.or(self.overhead).map(|q| q.0),
                    recv_overhead: self.recv_overhead.or(self.overhead).map(|q| q.0),
                    gap: self.gap.map(|q| q.0),
                    gap_per_byte: self.gap_per_byte.map(|q| q.0),
                    overhead_per_byte: self.overhead_per_byte.map(|q| q.0),
                    eager_limit: self.eager_limit.map(|q| q.0),
                    overlap_limit: self.overlap_limit.map(|q| q.0),
                })
            }

            fn set_link(&mut self, link: &Link) {
                let same = link.send_overhead == link.recv_overhead;
                self.latency = Some(Quantity(link.latency));
                self.overhead = same.then_some(Quantity(link.send_overhead));
                self.send_overhead = (!same).then_some(Quantity(link.send_overhead));
                self.recv_overhead = (!same).then_some(Quantity(link.recv_overhead));
                self.gap = Some(Quantity(link.gap));
                self.gap_per_byte = Some(Quantity(link.gap_per_byte));
                self.overhead_per_byte = Some(Quantity(link.overhead_per_byte));
                self.eager_limit = Some(Quantity(link.eager_limit));
                self.overlap_limit = (link.overlap_limit < u64::MAX).then_some(Quantity(link.overlap_limit));
            }
        }
    };
}

with_link_parameters!(FileLevel {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks_per_group: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<u32>>,
});

impl FileLevel {
    /// Builds a level. O, S and overlap default to those of the base class.
    fn level(self, base: &Link) -> Result<Level, NetworkError> {
        let grouping = match (self.ranks_per_group, &self.groups) {
            (Some(0), None) => return Err(NetworkError::EmptyGroup { level: self.name }),
            (Some(size), None) => Grouping::Consecutive(size),
            (None, Some(groups)) => Grouping::Map(groups.clone()),
            _ => return Err(NetworkError::Grouping { level: self.name }),
        };
        let mut parts = self.parts()?;
        parts.overhead_per_byte.get_or_insert(base.overhead_per_byte);
        parts.eager_limit.get_or_insert(base.eager_limit);
        parts.overlap_limit.get_or_insert(base.overlap_limit);
        let link = parts.finish(&format!("'s level `{}`", self.name))?;
        Ok(Level { name: self.name, grouping, link })
    }

    fn from_level(level: &Level, base: &Link) -> FileLevel {
        let mut file = FileLevel { name: level.name.clone(), ..FileLevel::default() };
        match &level.grouping {
            Grouping::Consecutive(size) => file.ranks_per_group = Some(*size),
            Grouping::Map(groups) => file.groups = Some(groups.clone()),
        }
        file.set_link(&level.link);
        if level.link.overlap_limit != base.overlap_limit {
            file.overlap_limit = Some(Quantity(level.link.overlap_limit));
        }
        file
    }
}

with_link_parameters!(FileNetwork {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    name: String,
    #[serde(default, rename = "level", skip_serializing_if = "Vec::is_empty")]
    levels: Vec<FileLevel>,
});

impl Network {
    /// Parses the text of a network file.
    pub fn from_toml(text: &str) -> Result<Network, NetworkError> {
        let file: FileNetwork = toml_file::read(text)?;
        match file.version {
            None | Some(VERSION) => {}
            Some(found) => return Err(NetworkError::Version { found }),
        }
        let base = file.parts()?.finish("")?;
        let levels = file.levels.into_iter().map(|level| level.level(&base)).collect::<Result<_, _>>()?;
        Ok(Network { name: file.name, base, levels })
    }

    /// Writes a network file that parses back to this network.
    pub fn to_toml(&self) -> Result<String, NetworkError> {
        let mut file =
            FileNetwork { version: Some(VERSION), name: self.name.clone(), ..FileNetwork::default() };
        file.set_link(&self.base);
        file.levels = self.levels.iter().map(|level| FileLevel::from_level(level, &self.base)).collect();
        Ok(toml::to_string(&file)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: &str = r#"
name = "cluster"
L = "1.2us"
os = "300ns"
or = "350ns"
g = "200ns"
G = "12.5GiB/s"
S = 65000

[[level]]
name = "socket"
groups = [0, 0, 1, 1]
L = "100ns"
o = 0
g = "0ns"
G = "10ps"

[[level]]
name = "node"
ranks_per_group = 4
L = "200ns"
o = "100ns"
g = "50ns"
G = "1.1ps"
O = "0.1ps"
S = "1MiB"
"#;

    #[test]
    fn reads_link_classes() {
        let network = Network::from_toml(CLUSTER).unwrap();
        assert_eq!(network.base.recv_overhead, Time::from_ns(350));
        assert_eq!(network.link(0, 1).latency, Time::from_ns(100));
        assert_eq!(network.link(1, 2).latency, Time::from_ns(200));
        assert_eq!(network.link(3, 4).latency, Time::from_ns(1200));
        assert_eq!(network.link(0, 1).eager_limit, 65000);
        assert_eq!(network.link(1, 2).eager_limit, 1 << 20);
        assert_eq!(network.lookahead(), Time::from_ns(100));
    }

    #[test]
    fn writes_what_it_reads() {
        let network = Network::from_toml(CLUSTER).unwrap();
        let written = network.to_toml().unwrap();
        assert_eq!(Network::from_toml(&written).unwrap(), network, "{written}");
    }

    #[test]
    fn a_limit_that_nothing_reaches_has_a_word() {
        let network = Network::from_toml(&CLUSTER.replace("65000", "\"unlimited\"")).unwrap();
        assert_eq!(network.base.eager_limit, u64::MAX);
        assert!(!network.base.is_rendezvous(u64::MAX));
        let written = network.to_toml().unwrap();
        assert!(written.contains("S = \"unlimited\""), "{written}");
        assert_eq!(Network::from_toml(&written).unwrap(), network);
    }
}
