//! `straggler network`: presets and what their numbers rest on.

use super::simulate::{NetworkAnswer, load_network};
use crate::args::network::{NetworkCommand, Show};
use crate::console::Console;
use crate::exit::Outcome;
use serde::Serialize;
use std::fmt::Write as _;
use straggler_model::network::{Parameter, Preset, presets};
use straggler_model::units::limit_in_words;
use straggler_model::{Link, Network};
use straggler_report::{Table, replace_file};

pub fn run(command: NetworkCommand, console: &Console) -> Outcome<()> {
    match command {
        NetworkCommand::List => list(console),
        NetworkCommand::Show(typed) => show(&typed, console),
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

const ABSENT: &str = "Presets need a published source for every number; none was found for HDR and NDR \
                      InfiniBand and 100 GbE RoCE: give those as KEY=VALUE lists";

fn list(console: &Console) -> Outcome<()> {
    if console.json {
        #[derive(Serialize)]
        struct List {
            networks: Vec<PresetAnswer>,
        }
        return console.print_json(&List { networks: presets().iter().map(preset_answer).collect() });
    }
    let mut table = Table::with_header(["name", "L", "o", "g", "G", "S", "what"]).text(6);
    for preset in presets() {
        let Link { latency, send_overhead, gap, gap_per_byte, eager_limit, .. } = preset.link;
        let eager = limit_in_words(eager_limit);
        let cells = [
            latency.to_string(),
            send_overhead.to_string(),
            gap.to_string(),
            gap_per_byte.to_string(),
            eager,
        ];
        table.row([preset.name.to_string()].into_iter().chain(cells).chain([preset.summary.to_string()]));
    }
    console.print(&format!("{table}\nWhere the numbers come from: straggler network show NAME\n{ABSENT}\n"))
}

fn preset_answer(preset: &Preset) -> PresetAnswer {
    let source =
        |parameter: &Parameter| SourceAnswer { parameter: parameter.letter, source: parameter.source };
    PresetAnswer {
        summary: preset.summary,
        network: NetworkAnswer::of(&Network::uniform(preset.name, preset.link)),
        sources: preset.sources.iter().map(source).collect(),
    }
}

fn show(typed: &Show, console: &Console) -> Outcome<()> {
    let network = load_network(&typed.network, typed.network_scale)?;
    let text = if console.json {
        crate::console::to_json(&NetworkAnswer::of(&network))?
    } else {
        provenance(&typed.network) + &network.to_toml()?
    };
    match &typed.output {
        Some(path) => Ok(replace_file(path, |out| out.write_all(text.as_bytes()))?),
        None => console.print(&text),
    }
}

/// Where a preset's numbers come from, as comments above it.
fn provenance(typed: &str) -> String {
    let name = typed.split(',').next().unwrap_or_default().trim();
    let Some(preset) = presets().iter().find(|preset| preset.name.eq_ignore_ascii_case(name)) else {
        return String::new();
    };
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
