//! Errors of topologies.

use crate::spelling::hint;
use crate::units::UnitError;
use std::path::PathBuf;

/// Why a text does not describe a topology.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    #[error("the topology has no hosts: name at least one in `hosts`")]
    NoHosts,
    #[error("host {host} is listed twice in `hosts`")]
    Repeated { host: String },
    #[error("host {host} has no link: add a [[topology.link]] with it, or remove it from `hosts`")]
    Unlinked { host: String },
    #[error("link {number} from {} to {}: both ends are the same", .ends[0], .ends[1])]
    Loop { number: usize, ends: [String; 2] },
    #[error(
        "link {number} ends at {end}, which is no host and has no other link{}",
        hint(.nearest.as_deref())
    )]
    UnknownEnd { number: usize, end: String, nearest: Option<String> },
    #[error("link {number} from {} to {}: {key} is {value}: {fix}", .ends[0], .ends[1])]
    Link { number: usize, ends: [String; 2], key: &'static str, value: String, fix: &'static str },
    #[error("link {number} from {} to {}: {key}: {fault}", .ends[0], .ends[1])]
    LinkUnit { number: usize, ends: [String; 2], key: &'static str, fault: Box<UnitError> },
    #[error("{from} and {to} are not connected: no links lead from one to the other")]
    NotConnected { from: String, to: String },
    #[error("the route from {from} to {to} has more than {limit} links")]
    TooLong { from: String, to: String, limit: usize },
    #[error("there is no link between {} and {}", .ends[0], .ends[1])]
    NoSuchLink { ends: [String; 2] },
    #[error(
        "the link between {} and {} cannot fail: routes of tori, meshes and dragonflies are fixed. Degrade it instead \
         (bandwidth = 0.01), or describe the links one by one",
        .ends[0],
        .ends[1]
    )]
    Unavoidable { ends: [String; 2] },
    #[error("the topology has {ports} ports, more than the {} that are supported", super::MOST_PORTS)]
    TooManyPorts { ports: u64 },
    #[error(
        "the routes of {vertices} switches and hosts with several links take {} GiB of memory: describe the topology \
         as `fat-tree:…` if it is one",
        .bytes >> 30
    )]
    TooLarge { vertices: usize, bytes: u64 },
    #[error("unknown topology `{name}`: give star:…, fat-tree:…, torus:…, mesh:…, dragonfly:… or a .toml file{}", hint(*.nearest))]
    UnknownName { name: String, nearest: Option<&'static str> },
    #[error("topology {shape}: `{text}` is not KEY=VALUE, like radix=64")]
    NotAPair { shape: &'static str, text: String },
    #[error("topology {shape}: unknown parameter `{key}` (known: {known}){}", hint(*.nearest))]
    UnknownKey { shape: &'static str, key: String, known: String, nearest: Option<&'static str> },
    #[error("topology {shape}: {key}={value}: {fault}")]
    Parameter { shape: &'static str, key: &'static str, value: String, fault: String },
    #[error("topology {shape}: {fault}")]
    Size { shape: &'static str, fault: String },
    #[error("the topology file has version {found}, but this program reads version 1")]
    Version { found: u32 },
    #[error("the topology file is invalid: {0}")]
    Toml(#[from] crate::toml_file::TomlError),
    #[error("{key} = \"{value}\": {fault}")]
    Key { key: &'static str, value: String, fault: String },
    #[error("{path}: {fault}")]
    InFile { path: PathBuf, fault: Box<TopologyError> },
    #[error("{path} cannot be read: {fault}")]
    Unreadable { path: PathBuf, fault: std::io::Error },
}

impl TopologyError {
    pub(super) fn in_file(self, path: &std::path::Path) -> TopologyError {
        TopologyError::InFile { path: path.into(), fault: Box::new(self) }
    }
}
