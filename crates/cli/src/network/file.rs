//! Networks: by name, by parameters, from a file, or fitted from a trace; and their parameters as they are written.

use crate::kernel::exit::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use straggler_analysis::predict::{Fit, fit};
use straggler_analysis::study::FIT;
use straggler_model::network::{Factor, Level, PerByte};
use straggler_model::units::{limit_in_words, per_byte, write_limit, write_per_byte, write_time};
use straggler_model::{Link, Network};
use straggler_report::numbers::counted;
use straggler_trace::Trace;

/// The path of a network, if it is a file.
pub fn network_file(text: &str) -> PathBuf {
    text.split(',').next().unwrap_or(text).into()
}

/// A network by name, parameters or file.
pub fn load_network(text: &str, scale: Option<Factor>) -> Outcome<Network> {
    if text == FIT {
        return Err(Failure::usage(format!(
            "--network {FIT} fits the network to a trace, but there is no trace here: give a preset, \
             parameters or a file (`straggler network list`)"
        )));
    }
    scaled(Network::load(text)?, scale)
}

/// Fits a network to a trace.
pub fn fitted(trace: &Trace) -> Outcome<Fit> {
    fit(trace).map_err(|fault| Failure::bad_input(format!("{fault}; or set the network with --network")))
}

pub fn scaled(network: Network, scale: Option<Factor>) -> Outcome<Network> {
    match scale {
        Some(factor) => Ok(network.scaled(factor)?),
        None => Ok(network),
    }
}

/// A network and its parameters, written so that `--network` reads them.
#[derive(Debug, Serialize, Deserialize)]
pub struct NetworkAnswer {
    pub name: String,
    #[serde(flatten)]
    pub base: LinkAnswer,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelAnswer>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct LevelAnswer {
    pub name: String,
    #[serde(flatten)]
    pub link: LinkAnswer,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct LinkAnswer {
    #[serde(rename = "L")]
    pub latency: String,
    #[serde(rename = "os")]
    pub send_overhead: String,
    #[serde(rename = "or")]
    pub recv_overhead: String,
    #[serde(rename = "g")]
    pub gap: String,
    #[serde(rename = "G")]
    pub gap_per_byte: String,
    #[serde(rename = "O")]
    pub overhead_per_byte: String,
    #[serde(rename = "S")]
    pub eager_limit: String,
    /// Larger messages arrive without using the receiver's CPU.
    #[serde(rename = "overlap", default, skip_serializing_if = "Option::is_none")]
    pub overlap_limit: Option<String>,
}

impl NetworkAnswer {
    pub fn new(network: &Network) -> NetworkAnswer {
        let level =
            |level: &Level| LevelAnswer { name: level.name.clone(), link: LinkAnswer::new(&level.link) };
        NetworkAnswer {
            name: network.name.clone(),
            base: LinkAnswer::new(&network.base),
            levels: network.levels.iter().map(level).collect(),
        }
    }

    /// As `--network` takes them: "L=5330ns,os=770ns,…".
    pub fn parameters(&self) -> String {
        let link = &self.base;
        let overlap =
            link.overlap_limit.as_ref().map_or_else(String::new, |limit| format!(",overlap={limit}"));
        format!(
            "L={},os={},or={},g={},G={},O={},S={}{overlap}",
            link.latency,
            link.send_overhead,
            link.recv_overhead,
            link.gap,
            link.gap_per_byte,
            link.overhead_per_byte,
            link.eager_limit
        )
    }
}

impl LinkAnswer {
    pub fn new(link: &Link) -> LinkAnswer {
        LinkAnswer {
            latency: write_time(link.latency),
            send_overhead: write_time(link.send_overhead),
            recv_overhead: write_time(link.recv_overhead),
            gap: write_time(link.gap),
            gap_per_byte: write_per_byte(link.gap_per_byte),
            overhead_per_byte: write_per_byte(link.overhead_per_byte),
            eager_limit: write_limit(link.eager_limit),
            overlap_limit: (link.overlap_limit < u64::MAX).then(|| write_limit(link.overlap_limit)),
        }
    }
}

/// To four digits; fitted rates have ten.
fn rounded(rate: PerByte) -> PerByte {
    let ps = rate.picoseconds();
    let decimals = (3.0 - ps.max(1e-9).log10().floor()).clamp(0.0, 10.0) as usize;
    per_byte(&format!("{ps:.decimals$}ps")).unwrap_or(rate)
}

/// "chic: L 5.330 µs, o 770 ns, …".
pub fn network_in_words(network: &Network) -> String {
    let link = &network.base;
    let overhead = if link.send_overhead == link.recv_overhead {
        format!("o {}", link.send_overhead)
    } else {
        format!("o_s {}, o_r {}", link.send_overhead, link.recv_overhead)
    };
    let per_byte = if link.overhead_per_byte.bits() == 0 {
        String::new()
    } else {
        format!(", O {}", rounded(link.overhead_per_byte))
    };
    let levels = match network.levels.len() {
        0 => String::new(),
        count => format!(", and {}", counted(count as u64, "closer link class", "closer link classes")),
    };
    let overlap = match link.overlap_limit {
        u64::MAX => String::new(),
        limit => format!(", overlap above {}", limit_in_words(limit)),
    };
    let parameters = format!(
        "L {}, {overhead}, g {}, G {}{per_byte}, S {}{overlap}{levels}",
        link.latency,
        link.gap,
        rounded(link.gap_per_byte),
        limit_in_words(link.eager_limit)
    );
    if network.name.contains('=') { parameters } else { format!("{}: {parameters}", network.name) }
}
