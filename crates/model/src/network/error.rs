//! Errors of networks.

use crate::spelling::hint;
use crate::units::UnitError;
use std::path::PathBuf;

/// Why a text does not describe a network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error("network parameter {key}: {fault}")]
    Unit { key: String, fault: UnitError },
    #[error("unknown network parameter `{key}` (known: {known}){}", hint(*.nearest))]
    UnknownKey { key: String, known: &'static str, nearest: Option<&'static str> },
    #[error(
        "unknown network `{name}` (presets: {known}; otherwise give L=…,o=…,g=…,G=… or a .toml file){}",
        hint(*.nearest)
    )]
    UnknownName { name: String, known: String, nearest: Option<&'static str> },
    #[error(
        "there is no measured network {path}: create it with `mpirun -n 2 straggler mpi loggp -o {path}`, or give \
         another network (`straggler network list`)"
    )]
    NotMeasured { path: PathBuf },
    #[error("`{text}` is not KEY=VALUE, like L=2500ns")]
    NotAPair { text: String },
    #[error("network parameter {key} is given twice")]
    Repeated { key: &'static str },
    #[error("the network{place} lacks {missing}: L, o (or os and or), g and G are required")]
    Missing { place: String, missing: String },
    #[error("the network is empty: give a preset, L=…,o=…,g=…,G=… or a .toml file")]
    Empty,
    #[error("network parameter {key} is {value}, longer than a day: check the unit")]
    TooLong { key: &'static str, value: crate::Time },
    #[error(
        "level `{level}`: ranks_per_group is 0; it is the number of ranks that share this link, at least 1"
    )]
    EmptyGroup { level: String },
    #[error("level `{level}`: give either ranks_per_group = 8 or groups = [0, 0, 1, 1]")]
    Grouping { level: String },
    #[error("the network file has version {found}, but this program reads version 1")]
    Version { found: u32 },
    #[error("the network file is invalid: {0}")]
    Toml(#[from] crate::toml_file::TomlError),
    #[error("the network cannot be written: {0}")]
    Write(#[from] toml::ser::Error),
    #[error("{path}: {fault}")]
    InFile { path: PathBuf, fault: Box<NetworkError> },
    #[error("{path} cannot be read: {fault}")]
    Unreadable { path: PathBuf, fault: std::io::Error },
    #[error(
        "`{text}` is not a scale factor: write a positive number, 10 for ten times faster, 0.1 for ten times slower"
    )]
    Factor { text: String },
    #[error("with a network scaled by {factor}, {key} exceeds the range of simulated time")]
    ScaledTooFar { factor: String, key: &'static str },
}

impl NetworkError {
    pub(super) fn in_file(self, path: &std::path::Path) -> NetworkError {
        NetworkError::InFile { path: path.into(), fault: Box::new(self) }
    }
}
