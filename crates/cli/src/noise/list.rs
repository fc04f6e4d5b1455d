//! `straggler noise list`: the built-in signatures.

use crate::kernel::{Console, Exit, Failure, Outcome};
use serde::Serialize;
use straggler_model::Time;
use straggler_noise::signature::{Arrivals, BuiltIn, SignatureSource};
use straggler_report::Table;
use straggler_report::numbers::percent;

/// The label of all of them, in every form of the answer.
const LABEL: &str = "synthesised, not measured";

pub fn run(name: Option<&str>, console: &Console) -> Outcome<()> {
    let Some(name) = name else { return all(console) };
    let built_in = BuiltIn::find(name).map_err(|fault| Failure::new(Exit::Usage, fault))?;
    if console.json {
        console.print_json(&SignatureAnswer::new(built_in)?)
    } else {
        console.print_verbatim(built_in.toml)
    }
}

fn all(console: &Console) -> Outcome<()> {
    let signatures = BuiltIn::all().iter().map(SignatureAnswer::new).collect::<Outcome<Vec<_>>>()?;
    if console.json {
        #[derive(Serialize)]
        struct List {
            signatures: Vec<SignatureAnswer>,
        }
        return console.print_json(&List { signatures });
    }
    console.print(&summary(&signatures))
}

#[derive(Serialize)]
struct SignatureAnswer {
    name: String,
    summary: &'static str,
    label: &'static str,
    made_from: String,
    /// Computed from the formulas of the sources.
    share: f64,
    /// As printed in the publication.
    published_percent: Option<&'static str>,
    sources: Vec<SourceAnswer>,
}

#[derive(Serialize)]
struct SourceAnswer {
    name: String,
    /// Only for a periodic source.
    period_ps: Option<u64>,
    jitter_ps: Option<u64>,
    /// Only for a random source.
    mean_gap_ps: Option<u64>,
    duration: String,
    mean_duration_ps: f64,
    share: f64,
    #[serde(skip)]
    words: String,
}

impl SignatureAnswer {
    fn new(built_in: &BuiltIn) -> Outcome<SignatureAnswer> {
        let signature = built_in.signature()?;
        Ok(SignatureAnswer {
            share: signature.share(),
            name: signature.name,
            summary: built_in.summary,
            label: LABEL,
            made_from: signature.made_from,
            published_percent: built_in.published_percent,
            sources: signature.sources.iter().map(SourceAnswer::new).collect(),
        })
    }
}

impl SourceAnswer {
    fn new(source: &SignatureSource) -> SourceAnswer {
        let mean = Time(source.durations.mean_ps().round() as u64);
        let (period, jitter, mean_gap, words) = match source.arrivals {
            Arrivals::Periodic { period, jitter } => {
                (Some(period.ps()), Some(jitter.ps()), None, format!("{mean} every {period}"))
            }
            Arrivals::Random { mean_gap } => {
                (None, None, Some(mean_gap.ps()), format!("{mean} at random, one in {mean_gap}"))
            }
        };
        SourceAnswer {
            name: source.name.clone(),
            period_ps: period,
            jitter_ps: jitter,
            mean_gap_ps: mean_gap,
            duration: source.durations.to_string(),
            mean_duration_ps: source.durations.mean_ps(),
            share: source.share(),
            words,
        }
    }
}

fn summary(signatures: &[SignatureAnswer]) -> String {
    let mut table = Table::new("", &["name", "#share", "source", "detours (mean)", "system"]);
    for signature in signatures {
        let none = [("none".to_string(), String::new())];
        let sources = signature.sources.iter().map(|source| (source.name.clone(), source.words.clone()));
        let lines: Vec<_> = if signature.sources.is_empty() { none.into() } else { sources.collect() };
        for (index, (source, words)) in lines.into_iter().enumerate() {
            let first = [signature.name.clone(), percent(signature.share), signature.summary.to_string()];
            let [name, share, summary] = if index == 0 { first } else { Default::default() };
            table.row([name, share, source, words, summary]);
        }
    }
    let count = signatures.len();
    format!(
        "{count} signatures are built in, all {LABEL}, from published descriptions of the \
         noise.\n\n{table}\nUse one: --noise NAME. Sources of its numbers: straggler noise list NAME\n"
    )
}
