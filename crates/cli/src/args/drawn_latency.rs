//! Latencies that every message draws, as typed.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;
use straggler_model::network::Meaning;

/// Measured times instead of the network's L and o.
#[derive(Clone, Debug, Default, Args)]
pub struct LatencyOptions {
    /// Draw the latency of each message from a measurement (FILE.lat), or from measured times, one a line; CLASS=FILE: of one
    /// link class of the network (a level, or base)
    #[arg(long, value_name = "[CLASS=]FILE")]
    pub latency_distribution: Vec<ClassFile>,
    /// What these times are: total, from the send to the end of the receive (o_s + L + o_r), which is the default; or wire,
    /// L alone
    #[arg(long, value_enum, value_name = "total|wire", requires = "latency_distribution")]
    pub latency_is: Option<TypedMeaning>,
    /// Draw o_s and o_r of each message from measured times too
    #[arg(long, value_name = "[CLASS=]FILE", requires = "latency_distribution")]
    pub overhead_distribution: Vec<ClassFile>,
}

impl LatencyOptions {
    pub fn is_given(&self) -> bool {
        !self.latency_distribution.is_empty()
    }

    pub fn meaning(&self) -> Meaning {
        match self.latency_is {
            Some(TypedMeaning::Wire) => Meaning::Wire,
            Some(TypedMeaning::Total) | None => Meaning::Total,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TypedMeaning {
    Total,
    Wire,
}

/// A file of measured times, and the link class that it holds for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFile {
    pub class: Option<String>,
    pub path: PathBuf,
}

impl FromStr for ClassFile {
    type Err = String;

    /// What stands before the first `=` is a class, unless it is a path.
    fn from_str(text: &str) -> Result<ClassFile, String> {
        let (class, path) = match text.split_once('=') {
            Some((class, path)) if !class.contains('/') => (Some(class), path),
            _ => (None, text),
        };
        if path.is_empty() || class == Some("") {
            return Err("write a FILE of measured times, or CLASS=FILE".into());
        }
        Ok(ClassFile { class: class.map(Into::into), path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_stands_before_its_file() {
        let parsed = |text: &str| text.parse::<ClassFile>().map(|file| (file.class, file.path));
        assert_eq!(parsed("a.txt"), Ok((None, "a.txt".into())));
        assert_eq!(parsed("node=a=b.txt"), Ok((Some("node".into()), "a=b.txt".into())));
        assert_eq!(parsed("./a=b.txt"), Ok((None, "./a=b.txt".into())));
        assert!(parsed("node=").is_err() && parsed("=a.txt").is_err() && parsed("").is_err());
    }
}
