//! LogGOPS parameters of a network, by link class; how networks are written, stored and scaled.

mod drawn;
mod error;
mod file;
mod parse;
mod presets;
mod scale;

pub use drawn::{BASE, Class, Distributions, Draw, Drawn, DrawnError, Meaning, Measured, Table, Weighted};
pub use error::NetworkError;
pub use parse::{DEFAULT_EAGER_LIMIT, MEASURED_FILE};
pub use presets::{Parameter, Preset, find_preset, presets};
pub use scale::Factor;

use crate::{Rank, Time};
use std::iter;

/// A time per byte in picoseconds, as fixed point with 32 fractional bits: a 900 GB/s link is
/// 1.1 ps a byte. A message's whole cost is rounded once, to the nearest picosecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PerByte(u64);

impl PerByte {
    pub const ZERO: PerByte = PerByte(0);
    pub const FRACTION_BITS: u32 = 32;

    /// Raw fixed-point value: picoseconds per byte times 2^32.
    pub const fn from_bits(bits: u64) -> PerByte {
        PerByte(bits)
    }

    pub const fn bits(self) -> u64 {
        self.0
    }

    pub const fn from_ps(ps: u32) -> PerByte {
        PerByte((ps as u64) << Self::FRACTION_BITS)
    }

    /// Converts a measured rate to fixed point; negative values and NaN become 0.
    pub fn from_picoseconds(ps: f64) -> PerByte {
        PerByte((ps.max(0.0) * (1u64 << Self::FRACTION_BITS) as f64) as u64)
    }

    pub fn picoseconds(self) -> f64 {
        self.0 as f64 / (1u64 << Self::FRACTION_BITS) as f64
    }

    /// The cost of a message of `size` bytes: the model charges max(size, 1) - 1 bytes.
    #[inline(always)]
    pub fn of_message(self, size: u64) -> Time {
        self.total(size.saturating_sub(1))
    }

    /// The cost of a part of a message, rounded down: parts never cost more than the whole.
    #[inline(always)]
    pub fn of_part(self, size: u64) -> Time {
        let exact = u128::from(size.saturating_sub(1)) * u128::from(self.0);
        Time(u64::try_from(exact >> Self::FRACTION_BITS).unwrap_or(u64::MAX))
    }

    /// The cost of `bytes` bytes, rounded once.
    #[inline(always)]
    pub fn total(self, bytes: u64) -> Time {
        if bytes == 0 || self.0 == 0 {
            return Time::ZERO;
        }
        let exact = u128::from(bytes) * u128::from(self.0);
        let rounded = (exact + (1 << (Self::FRACTION_BITS - 1))) >> Self::FRACTION_BITS;
        Time(u64::try_from(rounded).unwrap_or(u64::MAX))
    }
}

/// The LogGOPS parameters of one link class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// L: the time from the end of the sender's overhead to the arrival at the receiver.
    pub latency: Time,
    /// o_s: the CPU time of a send.
    pub send_overhead: Time,
    /// o_r: the CPU time of a receive.
    pub recv_overhead: Time,
    /// g: the least time between two messages on one NIC.
    pub gap: Time,
    /// G: the gap per byte.
    pub gap_per_byte: PerByte,
    /// O: the CPU overhead per byte.
    pub overhead_per_byte: PerByte,
    /// S: the largest message, in bytes, that is sent eagerly.
    pub eager_limit: u64,
    /// The bytes of larger messages arrive without using the receiver's CPU, which pays o_r + (k-1)·O.
    pub overlap_limit: u64,
}

impl Link {
    /// From the start of a send to the message's arrival: o_s + L.
    #[inline(always)]
    pub fn flight(&self) -> Time {
        self.send_overhead + self.latency
    }

    #[inline(always)]
    pub fn is_rendezvous(&self, size: u64) -> bool {
        size > self.eager_limit
    }

    /// Whether the bytes of a message arrive without using the receiver's CPU.
    #[inline(always)]
    pub fn is_overlapped(&self, size: u64) -> bool {
        size > self.overlap_limit
    }
}

/// How ranks are grouped for one link class, for example onto nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grouping {
    /// Consecutive ranks, this many per group.
    Consecutive(u32),
    /// The group of every rank; a rank beyond the list is alone.
    Map(Vec<u32>),
}

impl Grouping {
    #[inline]
    fn together(&self, a: Rank, b: Rank) -> bool {
        match self {
            Grouping::Consecutive(size) => a / size == b / size,
            Grouping::Map(groups) => match (groups.get(a as usize), groups.get(b as usize)) {
                (Some(x), Some(y)) => x == y,
                _ => a == b,
            },
        }
    }
}

/// A link class used within the groups of a [`Grouping`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Level {
    pub name: String,
    pub grouping: Grouping,
    pub link: Link,
}

/// A network: the link between any two processes, and closer links for processes that share a
/// group. Levels go from the innermost (a node) outwards; the first that holds both ranks wins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// The name the user gave it, for reports.
    pub name: String,
    pub base: Link,
    pub levels: Vec<Level>,
}

impl Network {
    /// Whether the bytes of some messages arrive without using the receiver's CPU.
    pub fn overlaps(&self) -> bool {
        let mut links = iter::once(&self.base).chain(self.levels.iter().map(|level| &level.link));
        links.any(|link| link.overlap_limit < u64::MAX)
    }

    pub fn uniform(name: impl Into<String>, link: Link) -> Network {
        Network { name: name.into(), base: link, levels: Vec::new() }
    }

    /// The parameters between two processes.
    #[inline(always)]
    pub fn link(&self, from: Rank, to: Rank) -> &Link {
        if self.levels.is_empty() { &self.base } else { self.link_by_level(from, to) }
    }

    #[inline(never)]
    fn link_by_level(&self, from: Rank, to: Rank) -> &Link {
        self.levels
            .iter()
            .find(|level| level.grouping.together(from, to))
            .map_or(&self.base, |level| &level.link)
    }

    /// The index in [`Network::links`] of the link between two processes.
    #[inline(always)]
    pub fn class(&self, from: Rank, to: Rank) -> usize {
        if self.levels.is_empty() { 0 } else { self.class_by_level(from, to) }
    }

    #[inline(never)]
    fn class_by_level(&self, from: Rank, to: Rank) -> usize {
        let level = self.levels.iter().position(|level| level.grouping.together(from, to));
        level.unwrap_or(self.levels.len())
    }

    /// The parameters of a link class.
    pub fn link_of(&self, class: usize) -> &Link {
        self.levels.get(class).map_or(&self.base, |level| &level.link)
    }

    /// The names of the link classes, in the order of [`Network::links`].
    pub fn class_names(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().map(|level| level.name.as_str()).chain([BASE])
    }

    /// The link classes: levels from the innermost outwards, then the base.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.levels.iter().map(|level| &level.link).chain([&self.base])
    }

    /// The smallest o_s + L: no process can affect another sooner.
    pub fn lookahead(&self) -> Time {
        self.links().map(Link::flight).min().unwrap_or(Time::ZERO)
    }

    /// Whether a message of this size is sent by rendezvous on any of the links.
    pub fn may_rendezvous(&self, size: u64) -> bool {
        self.links().any(|link| link.is_rendezvous(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_once() {
        // 1.1 ps a byte: a thousand bytes cost 1.1 * 999 = 1098.9 ps.
        let rate = PerByte::from_bits((1.1 * (1u64 << 32) as f64) as u64);
        assert_eq!(rate.of_message(1000), Time(1099));
        assert_eq!(rate.of_message(1), Time(0));
        assert_eq!(rate.of_message(0), Time(0));
        assert_eq!(PerByte::from_ps(6000).of_message(u64::MAX), Time::NEVER);
    }

    #[test]
    fn the_innermost_level_wins() {
        let link = |latency| Link {
            latency: Time(latency),
            send_overhead: Time(1),
            recv_overhead: Time(1),
            gap: Time(0),
            gap_per_byte: PerByte::ZERO,
            overhead_per_byte: PerByte::ZERO,
            eager_limit: 10,
            overlap_limit: u64::MAX,
        };
        let mut network = Network::uniform("test", link(100));
        let level = |size, latency| Level {
            name: String::new(),
            grouping: Grouping::Consecutive(size),
            link: link(latency),
        };
        network.levels = vec![level(2, 1), level(4, 10)];
        assert_eq!(network.link(0, 1).latency, Time(1));
        assert_eq!(network.link(1, 2).latency, Time(10));
        assert_eq!(network.link(3, 4).latency, Time(100));
        assert_eq!(network.lookahead(), Time(2));
    }
}
