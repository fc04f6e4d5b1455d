//! The network file of a measurement, as `--network` reads it, with its origin in comments.

use super::{LogGp, rate};
use std::fmt::Write as _;
use straggler_model::network::NetworkError;
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

impl LogGp {
    /// The text of a network file.
    pub fn to_file(&self, provenance: &Provenance) -> Result<String, NetworkError> {
        let mut text = String::new();
        for line in self.header(provenance) {
            // A line break in a host name or a command would end the comment.
            let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let _ = writeln!(text, "# {line}");
        }
        let table = self.network(&provenance.name).to_toml()?;
        let _ = write!(text, "\n{table}");
        Ok(text)
    }

    fn header(&self, provenance: &Provenance) -> Vec<String> {
        let mut lines = vec!["LogGP parameters, measured between two processes.".to_owned()];
        lines.push(format!("How:   {}", provenance.how));
        lines.push(format!("When:  {}", provenance.when));
        lines.extend(provenance.place.iter().map(|place| format!("Where: {place}")));
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
