//! Latencies and overheads that are drawn for each message, from measured distributions.
//!
//! A draw is one block of the counter-based generator. Its key is the seed; its counter holds the number of
//! the message on its source, the source, the replica, and a number that no other stream uses. The first half
//! gives L, the other two words o_s and o_r. Tables and draws use integers only, so every machine draws the
//! same values.

mod error;
mod table;

pub use error::DrawnError;
pub use table::Table;

use super::Network;
use crate::philox::philox4x32;
use crate::{Rank, Time};
use std::sync::Arc;

/// Last word of the counter, where noise streams have their source. No noise stream has this value: sources
/// are small numbers.
const STREAM: u32 = u32::from_le_bytes(*b"late");

/// The name of the link class of processes that share no group.
pub const BASE: &str = "base";

/// A time, and how often it was measured.
pub type Weighted = (Time, u64);

/// The measured times of one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The link class, a level of the network or [`BASE`]. `None` applies to every class without times of its
    /// own.
    pub class: Option<String>,
    pub times: Vec<Weighted>,
}

/// How the measured latencies are to be understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Meaning {
    /// From the sender's call to the receiver's return, as half of a ping-pong: o_s + L + o_r. L is what
    /// remains after subtracting the overheads, at least 0.
    #[default]
    Total,
    /// L itself.
    Wire,
}

/// Measured distributions, not yet assigned to a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distributions {
    pub latencies: Vec<Measured>,
    pub meaning: Meaning,
    /// For both o_s and o_r, each drawn on its own.
    pub overheads: Vec<Measured>,
}

/// The parameters of the messages of one link class.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    pub name: String,
    pub latency: Table,
    pub send_overhead: Table,
    pub recv_overhead: Table,
    /// Whether anything of it was measured; otherwise it has the parameters of its link.
    pub is_measured: bool,
    /// The share of measured latencies below o_s + o_r, for which L is 0.
    pub below_overheads: f64,
}

impl Class {
    /// The smallest o_s + L.
    pub fn flight(&self) -> Time {
        self.send_overhead.smallest() + self.latency.smallest()
    }
}

/// The parameters drawn for one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draw {
    pub latency: Time,
    pub send_overhead: Time,
    pub recv_overhead: Time,
}

/// A distribution of L, and maybe of o, for each link class of a network. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    seed: u64,
    replica: u32,
    /// In the order of [`Network::class`].
    classes: Arc<[Class]>,
    draws_overheads: bool,
}

impl Drawn {
    /// Assigns distributions to the link classes of a network.
    pub fn new(network: &Network, measured: &Distributions, seed: u64) -> Result<Drawn, DrawnError> {
        if measured.latencies.is_empty() && measured.overheads.is_empty() {
            return Err(DrawnError::Nothing);
        }
        let names: Vec<&str> = network.class_names().collect();
        check_names(&measured.latencies, &names)?;
        check_names(&measured.overheads, &names)?;
        let classes = names.iter().zip(network.links());
        let classes =
            classes.map(|(name, link)| Class::new(name, link, measured)).collect::<Result<_, _>>()?;
        Ok(Drawn { seed, replica: 0, classes, draws_overheads: !measured.overheads.is_empty() })
    }

    /// The same distributions with the draws of another replica.
    pub fn of_replica(&self, replica: u32) -> Drawn {
        Drawn { replica, ..self.clone() }
    }

    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Whether o_s and o_r are drawn too.
    #[inline(always)]
    pub fn draws_overheads(&self) -> bool {
        self.draws_overheads
    }

    /// Draws the parameters of message number `number` of `source`, on a link of this class.
    #[inline(always)]
    pub fn draw(&self, class: usize, source: Rank, number: u32) -> Draw {
        let key = [self.seed as u32, (self.seed >> 32) as u32];
        let block = philox4x32([number, source, self.replica, STREAM], key);
        let class = &self.classes[class];
        let wide = |word: u32| u64::from(word) << 32;
        Draw {
            latency: class.latency.at(wide(block[0]) | u64::from(block[1])),
            send_overhead: class.send_overhead.at(wide(block[2])),
            recv_overhead: class.recv_overhead.at(wide(block[3])),
        }
    }

    /// The smallest o_s + L of any message: no process can affect another sooner.
    pub fn lookahead(&self) -> Time {
        self.classes.iter().map(Class::flight).min().unwrap_or(Time::ZERO)
    }
}

impl Class {
    fn new(name: &str, link: &super::Link, measured: &Distributions) -> Result<Class, DrawnError> {
        let table = |list, constant| match of_class(list, name) {
            Some(measured) => Table::of_measured(measured, name),
            None => Ok(Table::constant(constant)),
        };
        let send_overhead = table(&measured.overheads, link.send_overhead)?;
        let recv_overhead = table(&measured.overheads, link.recv_overhead)?;
        let (mut latency, mut below_overheads) = (table(&measured.latencies, link.latency)?, 0.0);
        let has_latency = of_class(&measured.latencies, name).is_some();
        if has_latency && measured.meaning == Meaning::Total {
            // A measured o is represented by its median.
            let overheads = send_overhead.median() + recv_overhead.median();
            below_overheads = latency.share_below(overheads);
            latency = latency.without(overheads);
        }
        let is_measured = has_latency || of_class(&measured.overheads, name).is_some();
        let name = name.to_owned();
        Ok(Class { name, latency, send_overhead, recv_overhead, is_measured, below_overheads })
    }
}

/// Finds the times measured for a class, else those for all classes.
fn of_class<'a>(measured: &'a [Measured], name: &str) -> Option<&'a Measured> {
    let own = measured.iter().find(|measured| measured.class.as_deref() == Some(name));
    own.or_else(|| measured.iter().find(|measured| measured.class.is_none()))
}

/// Refuses classes that the network does not have, and those that are given twice.
fn check_names(measured: &[Measured], names: &[&str]) -> Result<(), DrawnError> {
    for (place, Measured { class, .. }) in measured.iter().enumerate() {
        if measured[..place].iter().any(|earlier| earlier.class == *class) {
            return Err(DrawnError::Twice { class: class.clone() });
        }
        if let Some(class) = class
            && !names.contains(&class.as_str())
        {
            return Err(DrawnError::unknown_class(class, names));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
