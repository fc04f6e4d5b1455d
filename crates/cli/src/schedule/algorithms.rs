//! The catalogue of collectives.

use crate::kernel::console::Console;
use crate::kernel::exit::Outcome;
use serde::Serialize;
use std::fmt::Write;
use straggler_report::Columns;
use straggler_schedule::collectives::{Data, Operation};

#[derive(Serialize)]
struct OperationAnswer {
    operation: &'static str,
    /// What `--size` refers to; none for a barrier, which has no data.
    size: Option<&'static str>,
    root: bool,
    reduces: bool,
    sizes_may_differ: bool,
    algorithms: Vec<AlgorithmAnswer>,
}

#[derive(Serialize)]
struct AlgorithmAnswer {
    name: &'static str,
    parameters: Vec<String>,
    text: &'static str,
    source: &'static str,
}

pub fn run(only: Option<Operation>, console: &Console) -> Outcome<()> {
    let wanted = |operation: &Operation| only.is_none_or(|only| only == *operation);
    if console.json {
        #[derive(Serialize)]
        struct AlgorithmsAnswer {
            operations: Vec<OperationAnswer>,
        }
        let operations = Operation::ALL.into_iter().filter(wanted).map(answer).collect();
        return console.print_json(&AlgorithmsAnswer { operations });
    }
    // Operations that differ only in their block sizes share algorithms.
    let shown = Operation::ALL.into_iter().filter(|operation| match only {
        Some(only) => only == *operation,
        None => operation.uniform() == *operation,
    });
    let text: Vec<String> = shown.map(|operation| section(operation, only.is_some())).collect();
    console.print(&format!("{}\nUse: --collective OPERATION:ALGORITHM[,KEY=VALUE…]\n", text.join("\n")))
}

fn answer(operation: Operation) -> OperationAnswer {
    let algorithms = operation.catalogue().into_iter().map(|entry| AlgorithmAnswer {
        name: entry.name.text(),
        parameters: entry.parameters,
        text: entry.text,
        source: entry.source,
    });
    OperationAnswer {
        operation: operation.name(),
        size: size(operation),
        root: operation.has_root(),
        reduces: operation.reduces(),
        sizes_may_differ: operation.is_vector(),
        algorithms: algorithms.collect(),
    }
}

fn size(operation: Operation) -> Option<&'static str> {
    match operation.data() {
        _ if !operation.has_size() => None,
        Data::Vector => Some("the vector"),
        Data::BlockForEachRank => Some("the block of each rank"),
        Data::BlockForEachPair => Some("the block of each pair of ranks"),
    }
}

fn section(operation: Operation, alone: bool) -> String {
    let same: Vec<&str> = Operation::ALL
        .into_iter()
        .filter(|other| *other == operation || (!alone && other.uniform() == operation))
        .map(Operation::name)
        .collect();
    let root = if operation.has_root() { "; --root R" } else { "" };
    let size = size(operation).map_or("no --size".into(), |what| format!("--size is that of {what}"));
    let mut text = format!("{}: {size}{root}\n", same.join(", "));
    let keys = |parameters: &[String]| {
        let keys: Vec<&str> = parameters.iter().filter_map(|key| key.split('=').next()).collect();
        if keys.is_empty() { String::new() } else { format!("{}=", keys.join("=, ")) }
    };
    let table = Columns::over(&operation.catalogue())
        .text("", |row| row.name.text())
        .text("", |row| keys(&row.parameters))
        .text("", |row| row.text)
        .text("", |row| row.source)
        .build();
    let _ = write!(text, "{table}");
    text
}
