//! `straggler network`: presets, and the sources of their numbers.
//! And networks as other commands take them: by name, by parameters, from a file, or fitted from a trace.

mod topology;

use crate::kernel::prelude::*;
use crate::kernel::typed::text;
use std::fmt::Write as _;
use straggler_analysis::predict::{Fit, fit};
use straggler_analysis::study::FIT;
use straggler_model::network::{Factor, Level, Parameter, PerByte, Preset, find_preset, presets};
use straggler_model::units::{limit_in_words, per_byte, write_limit, write_per_byte, write_time};
use straggler_model::{Link, Network, Topology};
use straggler_trace::Trace;
use topology::TopologyAnswer;

const EXAMPLES: &str = "\
EXAMPLES
  straggler network list
  straggler network show chic
  straggler network show slingshot-11,L=800ns --network-scale 2
  straggler network show fat-tree:radix=64,levels=3,taper=2 --network chic";

/// List and show network presets
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct NetworkArgs {
    #[command(subcommand)]
    pub command: NetworkCommand,
}

#[derive(Debug, Subcommand)]
pub enum NetworkCommand {
    /// List all presets and the sources of their numbers
    #[command(after_help = "EXAMPLES\n  straggler network list\n  straggler network list --json")]
    List,
    /// Print a network as a file for --network, or the links of a topology
    #[command(
        after_help = "EXAMPLES\n  straggler network show chic\n  straggler network show L=1us,o=300ns,g=200ns,G=25GB/s\n  straggler network show dragonfly:routers=16 --network chic"
    )]
    Show(Show),
}

#[derive(Debug, Args)]
pub struct Show {
    /// A preset, LogGOPS parameters, a .toml file, or a topology (fat-tree:radix=64, or a .toml file of one)
    #[arg(value_parser = text())]
    pub network: String,
    /// For a topology: the network whose L and G its links have, unless they have their own
    #[arg(long = "network", value_name = "NETWORK", id = "links_of", value_parser = text())]
    pub links_of: Option<String>,
    /// Make the network faster by this factor: L, g and G are divided by it
    #[arg(long, value_name = "FACTOR")]
    pub network_scale: Option<Factor>,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE.toml")]
    pub output: Option<std::path::PathBuf>,
}

pub fn run(command: &NetworkCommand, console: &Console) -> Outcome<()> {
    match command {
        NetworkCommand::List => list(console),
        NetworkCommand::Show(typed) => show(typed, console),
    }
}

#[derive(Serialize)]
struct PresetAnswer {
    summary: &'static str,
    #[serde(flatten)]
    network: NetworkAnswer,
    sources: &'static [Parameter],
}

const ABSENT: &str = "Presets need a published source for every number; HDR and NDR InfiniBand and 100 GbE \
    RoCE have none: give them as KEY=VALUE lists";

fn list(console: &Console) -> Outcome<()> {
    if console.json {
        #[derive(Serialize)]
        struct List {
            networks: Vec<PresetAnswer>,
        }
        return console.print_json(&List { networks: presets().iter().map(preset_answer).collect() });
    }
    let table = Columns::over(presets())
        .text("name", |row| row.name)
        .number("L", |row| row.link.latency.to_string())
        .number("o", |row| row.link.send_overhead.to_string())
        .number("g", |row| row.link.gap.to_string())
        .number("G", |row| row.link.gap_per_byte.to_string())
        .number("S", |row| limit_in_words(row.link.eager_limit))
        .text("what", |row| row.summary)
        .build();
    console.print(&format!("{table}\nSources of the numbers: straggler network show NAME\n{ABSENT}\n"))
}

fn preset_answer(preset: &Preset) -> PresetAnswer {
    PresetAnswer {
        summary: preset.summary,
        network: NetworkAnswer::new(&Network::uniform(preset.name, preset.link)),
        sources: preset.sources,
    }
}

fn show(typed: &Show, console: &Console) -> Outcome<()> {
    let text = match Topology::is_named_by(&typed.network) {
        true => topology_text(typed, console)?,
        false => network_text(typed, console)?,
    };
    match &typed.output {
        Some(path) => Ok(replace_file(path, |out| out.write_all(text.as_bytes()))?),
        None => console.print_verbatim(&text),
    }
}

fn topology_text(typed: &Show, console: &Console) -> Outcome<String> {
    if typed.network_scale.is_some() {
        return Err(Failure::usage(
            "--network-scale is for networks: remove it, or scale the network of --network",
        ));
    }
    let answer = TopologyAnswer::load(&typed.network, typed.links_of.as_deref())?;
    if console.json { crate::kernel::to_json(&answer) } else { Ok(answer.text()) }
}

fn network_text(typed: &Show, console: &Console) -> Outcome<String> {
    if typed.links_of.is_some() {
        return Err(Failure::usage("--network is for topologies such as fat-tree:radix=64: remove it"));
    }
    let network = load_network(&typed.network, typed.network_scale)?;
    if console.json {
        crate::kernel::to_json(&NetworkAnswer::new(&network))
    } else {
        Ok(provenance(&typed.network) + &network.to_toml()?)
    }
}

/// The sources of a preset's numbers, as comments above it.
fn provenance(typed: &str) -> String {
    let name = typed.split(',').next().unwrap_or_default().trim();
    let Some(preset) = find_preset(name) else { return String::new() };
    let mut text = format!("# {}\n", preset.summary);
    let mut rest = preset.sources;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|parameter| parameter.source == first.source).count();
        let letters: Vec<&str> = rest[..same].iter().map(|parameter| parameter.letter).collect();
        let _ = writeln!(text, "# {}: {}", letters.join(", "), first.source);
        rest = &rest[same..];
    }
    text
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_read() {
        for preset in presets() {
            let network = Network::uniform(preset.name, preset.link);
            let text = provenance(preset.name) + &network.to_toml().unwrap();
            assert_eq!(Network::from_toml(&text).unwrap(), network);
        }
    }
}
