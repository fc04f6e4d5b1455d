//! Properties that two processes share.

use serde::Serialize;
use std::fmt;
use straggler_model::latency::{Measurement, Process};
use straggler_model::{Rank, switches};

/// A property of a pair that follows from where its processes ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    Node,
    Switch,
    Socket,
    Numa,
    /// How many levels above their own switches the nearest common switch is.
    SwitchLevel,
    /// The closest part of the machine that they share.
    Place,
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Property::Node => "node",
            Property::Switch => "switch",
            Property::Socket => "socket",
            Property::Numa => "NUMA domain",
            Property::SwitchLevel => "level of the nearest common switch",
            Property::Place => "place",
        })
    }
}

impl Property {
    /// From the simplest to the most complex.
    pub const ALL: [Property; 6] = [
        Property::Node,
        Property::Switch,
        Property::Socket,
        Property::Numa,
        Property::SwitchLevel,
        Property::Place,
    ];

    /// The value for a pair; none if it is unknown for one of the processes.
    pub fn between(self, measurement: &Measurement, from: Rank, to: Rank) -> Option<&'static str> {
        let (one, other) = (measurement.process(from)?, measurement.process(to)?);
        let choose = |same: bool, yes, no| Some(if same { yes } else { no });
        match self {
            Property::Node => choose(same_node(one, other)?, "same node", "different nodes"),
            Property::Switch => choose(same_switch(one, other)?, "same switch", "different switches"),
            Property::Socket => choose(same_socket(one, other)?, "same socket", "different sockets"),
            Property::Numa => choose(same_numa(one, other)?, "same NUMA domain", "different NUMA domains"),
            Property::SwitchLevel => switch_level(one, other),
            Property::Place => Some(place(one, other)),
        }
    }
}

/// Compares node numbers, or host names if there are none.
fn same_node(one: &Process, other: &Process) -> Option<bool> {
    let by_number = one.node.zip(other.node).map(|(a, b)| a == b);
    by_number.or_else(|| one.host.as_ref().zip(other.host.as_ref()).map(|(a, b)| a == b))
}

/// Processes of one node share its switch.
fn same_switch(one: &Process, other: &Process) -> Option<bool> {
    one.switch.as_ref().zip(other.switch.as_ref()).map(|(a, b)| a == b)
}

fn switch_level(one: &Process, other: &Process) -> Option<&'static str> {
    let (one, other) = one.switch.as_ref().zip(other.switch.as_ref())?;
    Some(match switches::levels_apart(one, other) {
        Some(0) => "same switch",
        Some(1) => "one level up",
        Some(2) => "two levels up",
        Some(_) => "three levels up or more",
        None => "no switch in common",
    })
}

/// Sockets are numbered per node. If no nodes are known, there is only one.
fn same_socket(one: &Process, other: &Process) -> Option<bool> {
    one.socket.zip(other.socket).map(|(a, b)| a == b && same_node(one, other).unwrap_or(true))
}

fn same_numa(one: &Process, other: &Process) -> Option<bool> {
    one.numa.zip(other.numa).map(|(a, b)| a == b && same_node(one, other).unwrap_or(true))
}

fn place(one: &Process, other: &Process) -> &'static str {
    let has = |same: Option<bool>| same == Some(true);
    match () {
        () if has(same_numa(one, other)) => "same NUMA domain",
        () if has(same_socket(one, other)) => "same socket",
        () if has(same_node(one, other)) => "same node",
        () if has(same_switch(one, other)) => "same switch",
        () => "nothing in common",
    }
}
