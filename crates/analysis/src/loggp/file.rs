//! The network file of a measurement, as `--network` reads it, with its origin in comments.

use super::{LogGp, rate};
use std::fmt::Write as _;
use straggler_model::network::{Grouping, Level, NetworkError};
use straggler_model::units::{Bytes, limit_in_words};

/// The origin of a measurement.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Provenance {
    /// The name of the network in reports.
    pub name: String,
    /// The command or program that did the measurement.
    pub how: String,
    pub when: String,
    /// Hosts, cores, library.
    pub place: Vec<String>,
}

/// A level of the network: the link of processes that share a part of the machine.
#[derive(Clone, PartialEq, Debug)]
pub struct MeasuredLevel {
    pub name: String,
    pub grouping: Grouping,
    pub measured: LogGp,
    pub place: Vec<String>,
}

impl LogGp {
    /// The text of a network file. `levels` go from the innermost outwards.
    pub fn to_file(&self, provenance: &Provenance, levels: &[MeasuredLevel]) -> Result<String, NetworkError> {
        let mut lines = vec!["LogGP parameters, measured between two processes.".to_owned()];
        lines.push(format!("How:   {}", provenance.how));
        lines.push(format!("When:  {}", provenance.when));
        lines.extend(self.values(&provenance.place));
        for level in levels {
            lines.push(format!("Level {}: the groups are those of the ranks of this job.", level.name));
            lines.extend(level.measured.values(&level.place));
        }
        let mut text = String::new();
        for line in lines {
            // A line break in a host name or a command would end the comment.
            let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let _ = writeln!(text, "# {line}");
        }
        let mut network = self.network(&provenance.name);
        network.levels = levels
            .iter()
            .map(|level| Level {
                name: level.name.clone(),
                grouping: level.grouping.clone(),
                link: level.measured.link(),
            })
            .collect();
        let _ = write!(text, "\n{}", network.to_toml()?);
        Ok(text)
    }

    fn values(&self, place: &[String]) -> Vec<String> {
        let mut lines: Vec<String> = place.iter().map(|place| format!("Where: {place}")).collect();
        lines.push("Values with their 95 % confidence intervals:".into());
        lines.extend(self.rows().into_iter().map(|(name, value)| format!("  {name:3} {value}")));
        lines
            .push("A message of k bytes takes, from the start of its send to the end of its receive:".into());
        lines.extend(self.protocols.iter().map(|protocol| {
            format!(
                "  {} to {}: {} + (k-1) * {}",
                Bytes(protocol.from_bytes),
                Bytes(protocol.to_bytes),
                super::words::time(protocol.at_zero.ps),
                rate(protocol.per_byte.ps)
            )
        }));
        lines.extend(self.doubts.iter().map(|doubt| format!("Note: {doubt}.")));
        lines
    }

    /// All parameters as text, in the usual order.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let limit = match self.eager_limit {
            Some(bytes) => format!("{bytes} bytes"),
            None => limit_in_words(u64::MAX),
        };
        vec![
            ("L", self.latency.as_time()),
            ("o_s", self.send_overhead.as_time()),
            ("o_r", self.recv_overhead.as_time()),
            ("g", self.gap.map_or_else(|| "hidden by o, assumed to be 0".into(), |gap| gap.as_time())),
            ("G", self.gap_per_byte.as_rate()),
            ("O", self.overhead_per_byte.as_rate()),
            ("S", limit),
        ]
    }
}
