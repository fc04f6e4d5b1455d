//! The catalogue of workloads.

use crate::kernel::console::Console;
use crate::kernel::exit::Outcome;
use serde::Serialize;
use straggler_report::Columns;
use straggler_schedule::workloads::{KINDS, Kind, WorkloadError};

#[derive(Serialize)]
struct WorkloadAnswer {
    name: &'static str,
    text: &'static str,
    parameters: Vec<ParameterAnswer>,
}

#[derive(Serialize)]
struct ParameterAnswer {
    name: &'static str,
    default: &'static str,
    text: &'static str,
}

pub fn run(only: Option<&str>, console: &Console) -> Outcome<()> {
    let shown: Vec<&Kind> = KINDS.iter().filter(|kind| only.is_none_or(|only| only == kind.name)).collect();
    if shown.is_empty() {
        let known = KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
        let name = only.unwrap_or_default().to_string();
        return Err(WorkloadError::Unknown { name, known }.into());
    }
    if console.json {
        #[derive(Serialize)]
        struct WorkloadsAnswer {
            workloads: Vec<WorkloadAnswer>,
        }
        return console.print_json(&WorkloadsAnswer { workloads: shown.into_iter().map(answer).collect() });
    }
    let sections: Vec<String> = shown.into_iter().map(section).collect();
    console.print(&format!("{}\nUse: --workload NAME[,PARAMETER=VALUE…]\n", sections.join("\n")))
}

fn answer(kind: &Kind) -> WorkloadAnswer {
    let parameters = kind.parameters.iter().map(|parameter| ParameterAnswer {
        name: parameter.name,
        default: parameter.default,
        text: parameter.meaning,
    });
    WorkloadAnswer { name: kind.name, text: kind.summary, parameters: parameters.collect() }
}

fn section(kind: &Kind) -> String {
    let table = Columns::over(kind.parameters)
        .text("", |row| row.name)
        .text("", |row| row.default)
        .text("", |row| row.meaning)
        .build();
    format!("{}: {}\n{table}", kind.name, kind.summary)
}
