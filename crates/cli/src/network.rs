//! `straggler network`: presets, and the sources of their numbers.

pub mod args;
pub mod file;

use crate::kernel::console::Console;
use crate::kernel::exit::Outcome;
use crate::kernel::valid::Valid;
use crate::network::args::{NetworkCommand, Show};
use crate::network::file::{NetworkAnswer, load_network};
use serde::Serialize;
use std::fmt::Write as _;
use straggler_model::Network;
use straggler_model::network::{Parameter, Preset, find_preset, presets};
use straggler_model::units::limit_in_words;
use straggler_report::{Columns, replace_file};

pub fn run(command: &Valid<NetworkCommand>, console: &Console) -> Outcome<()> {
    match &**command {
        NetworkCommand::List => list(console),
        NetworkCommand::Show(typed) => show(typed, console),
    }
}

#[derive(Serialize)]
struct PresetAnswer {
    summary: &'static str,
    #[serde(flatten)]
    network: NetworkAnswer,
    sources: Vec<SourceAnswer>,
}

#[derive(Serialize)]
struct SourceAnswer {
    parameter: &'static str,
    source: &'static str,
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
    let source =
        |parameter: &Parameter| SourceAnswer { parameter: parameter.letter, source: parameter.source };
    PresetAnswer {
        summary: preset.summary,
        network: NetworkAnswer::new(&Network::uniform(preset.name, preset.link)),
        sources: preset.sources.iter().map(source).collect(),
    }
}

fn show(typed: &Show, console: &Console) -> Outcome<()> {
    let network = load_network(&typed.network, typed.network_scale)?;
    let text = if console.json {
        crate::kernel::console::to_json(&NetworkAnswer::new(&network))?
    } else {
        provenance(&typed.network) + &network.to_toml()?
    };
    match &typed.output {
        Some(path) => Ok(replace_file(path, |out| out.write_all(text.as_bytes()))?),
        None => console.print_verbatim(&text),
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
