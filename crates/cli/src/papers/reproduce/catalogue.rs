//! Everything that can be reproduced, and what simulation cannot reproduce.

use crate::kernel::prelude::*;
use crate::papers::reproduce::studies::{Definition, Description};
use crate::papers::reproduce::{Findings, Setting, Size, Work, butterfly, exchanges, timelines};
use straggler_analysis::study::Plan;

pub struct Entry {
    /// As it is typed.
    pub name: &'static str,
    pub kind: Kind,
}

pub enum Kind {
    /// The text of a [`Definition`].
    Study(&'static str),
    Own {
        describe: fn() -> Description,
        run: fn(&Setting<'_>) -> Outcome<Findings>,
        work: fn(Size) -> Work,
    },
}

macro_rules! study {
    ($name:literal) => {
        Entry {
            name: $name,
            kind: Kind::Study(include_str!(concat!("../../../reproductions/", $name, ".toml"))),
        }
    };
}

macro_rules! own {
    ($name:literal, $module:ident :: $figure:ident) => {
        Entry {
            name: $name,
            kind: Kind::Own {
                describe: $module::$figure::describe,
                run: $module::$figure::run,
                work: $module::$figure::work,
            },
        }
    };
}

pub static ENTRIES: &[Entry] = &[
    own!("sc10-fig2", timelines::synchronisation),
    own!("sc10-fig3", timelines::broadcast),
    own!("sc10-fig4", timelines::barriers),
    study!("sc10-fig5a"),
    study!("sc10-fig5b"),
    study!("sc10-fig5c"),
    study!("sc10-fig6a"),
    study!("sc10-fig6b"),
    study!("sc10-fig6c"),
    study!("sc10-fig7a"),
    study!("sc10-fig7bc"),
    study!("sc10-fig7def"),
    study!("sc10-beckman"),
    study!("sc10-sec4b-200us"),
    study!("sc10-sec4b-2500us"),
    study!("sc10-fig8b"),
    study!("sc10-fig8c"),
    study!("sc10-fig9a"),
    study!("sc10-fig9bc"),
    study!("sc10-fig10"),
    study!("sc10-cosched"),
    own!("chen-suda-fig8", butterfly::by_processes),
    own!("chen-suda-fig9", butterfly::by_cycles),
    own!("sp2-table1", exchanges::throughput),
    own!("sp2-fig5-6", exchanges::idle),
];

/// The papers that the names refer to.
const PAPERS: [(&str, &str); 3] = [
    (
        "sc10",
        "Hoefler, Schneider, Lumsdaine: Characterizing the Influence of System Noise on Large-Scale Applications by Simulation, SC10",
    ),
    (
        "chen-suda",
        "Chen, Suda: Evaluation of Impact of Noise on Collective Algorithms in Repeated Computation Cycle",
    ),
    ("sp2", "Tabe, Hardwick, Stout: Statistical Analysis of Communication Time on the IBM SP2"),
];

/// Figures and tables that no simulation can reproduce.
pub const NOT_SIMULATED: [&str; 5] = [
    "sc10, Figure 1 and Table I: measured noise. `straggler noise measure` measures, `straggler noise list` has the synthesised signatures",
    "sc10, Figure 8(a): when the traced applications called collectives; their traces are not public",
    "sp2, Figure 4: measured interrupts, here the synthesised input of Table 1. `straggler noise measure` measures",
    "Settlemyer et al., Diagnosing Anomalous Network Performance with Confidence: all figures are measured latencies. `straggler mpi latency --sweep` measures them, `straggler latency diagnose` and `straggler latency compare` draw them",
    "Böhme et al., Performance Simulation of Non-blocking Communication: both tables replay traces of applications",
];

impl Entry {
    pub fn description(&self) -> Outcome<Description> {
        match self.kind {
            Kind::Study(text) => Ok(Definition::parse(text)?.description()),
            Kind::Own { describe, .. } => Ok(describe()),
        }
    }

    pub fn work(&self, size: Size) -> Outcome<Work> {
        match self.kind {
            Kind::Study(text) => {
                let study = Definition::parse(text)?.study(size, 1)?;
                let needs = Plan::new(&study, Path::new("."))?.needs();
                Ok(Work { runs: needs.rows, messages: needs.messages })
            }
            Kind::Own { work, .. } => Ok(work(size)),
        }
    }
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    figure: String,
    title: String,
    quick_messages: u64,
    full_messages: u64,
    full_runs: u64,
}

#[derive(Serialize)]
struct List {
    reproductions: Vec<Listed>,
    not_simulated: [&'static str; 5],
}

/// Prints what can be reproduced.
pub fn list(console: &Console) -> Outcome<()> {
    let mut reproductions = Vec::new();
    for entry in ENTRIES {
        let description = entry.description()?;
        let (quick, full) = (entry.work(Size::Quick)?, entry.work(Size::Full)?);
        reproductions.push(Listed {
            name: entry.name,
            figure: description.figure,
            title: description.title,
            quick_messages: quick.messages,
            full_messages: full.messages,
            full_runs: full.runs,
        });
    }
    let list = List { reproductions, not_simulated: NOT_SIMULATED };
    if console.json {
        return console.print_json(&list);
    }
    let table = Columns::over(&list.reproductions)
        .text("name", |row| row.name)
        .text("figure", |row| &row.figure)
        .text("what", |row| &row.title)
        .number("messages, quick", |row| millions(row.quick_messages))
        .number("full", |row| millions(row.full_messages))
        .number("runs, full", |row| Cell::count(row.full_runs))
        .build();
    let papers = Columns::over(PAPERS).text("", |(name, paper)| format!("{name}  {paper}")).build();
    let missing = Columns::over(NOT_SIMULATED).text("", |line| line).build();
    let count = ENTRIES.len();
    console.print(&format!(
        "{count} figures and tables can be simulated; two cores simulate 10 to 20 million messages per \
         second.\n\n{table}\n{papers}\nNot simulated:\n{missing}"
    ))
}

/// 40,265 M, or the number itself where it is small.
fn millions(messages: u64) -> String {
    if messages < 10_000_000 { grouped(messages) } else { format!("{} M", grouped(messages / 1_000_000)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every definition can be parsed, planned at both sizes, and refers only to series that it has.
    #[test]
    fn every_definition_is_whole() {
        for entry in ENTRIES {
            let description = entry.description().unwrap();
            assert!(!description.about.is_empty() && !description.input.is_empty(), "{}", entry.name);
            let Kind::Study(text) = entry.kind else { continue };
            let definition = Definition::parse(text).unwrap();
            for size in [Size::Quick, Size::Full] {
                let study = definition.study(size, 7).unwrap();
                let sweeps: Vec<_> = study.sweeps.iter().map(|sweep| sweep.name.as_str()).collect();
                assert!(study.sweeps.iter().all(|sweep| sweep.seeds == [7]), "{}", entry.name);
                for published in &definition.published {
                    let known = published.sweep.as_ref().is_none_or(|name| sweeps.contains(&name.as_str()));
                    assert!(known, "{}: {}", entry.name, published.text);
                }
                let plan = Plan::new(&study, Path::new(".")).unwrap();
                for workload in definition.published.iter().filter_map(|one| one.workload.as_ref()) {
                    let known = plan.points.iter().any(|point| point.coordinates.workload == *workload);
                    assert!(known, "{}: {workload}", entry.name);
                }
            }
        }
    }

    #[test]
    fn quick_is_smaller_than_full() {
        let mut total = 0;
        for entry in ENTRIES {
            let (quick, full) = (entry.work(Size::Quick).unwrap(), entry.work(Size::Full).unwrap());
            assert!(quick.messages <= full.messages, "{}", entry.name);
            total += quick.messages;
        }
        // Three minutes on two cores: ten million messages a second.
        assert!(total < 1_800_000_000, "{total}");
    }
}
