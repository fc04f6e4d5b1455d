//! The catalogue of workloads.

use crate::console::Console;
use crate::exit::{Failure, Outcome};
use serde::Serialize;
use straggler_report::Table;
use straggler_schedule::workloads::{KINDS, Kind};

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
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        return Err(Failure::usage(format!("there is no such workload: known are {}", known.join(", "))));
    }
    if console.json {
        #[derive(Serialize)]
        struct Answer {
            workloads: Vec<WorkloadAnswer>,
        }
        return console.print_json(&Answer { workloads: shown.into_iter().map(answer).collect() });
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
    let mut table = Table::new().text(1).text(2);
    for parameter in kind.parameters {
        table.row([parameter.name, parameter.default, parameter.meaning]);
    }
    format!("{}: {}\n{table}", kind.name, kind.summary)
}
