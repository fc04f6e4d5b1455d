//! What there is: algorithms of collectives, workloads, and the rules by which MPI libraries choose algorithms.

use crate::kernel::prelude::*;
use crate::schedule::args::SelectorShow;
use std::{collections::BTreeMap, fmt::Write};
use straggler_schedule::collectives::{Data, Entry, Operation, Selector, selector::Rule};
use straggler_schedule::workloads::{KINDS, Kind, WorkloadError};

#[derive(Serialize)]
struct OperationAnswer {
    operation: &'static str,
    /// What `--size` refers to; none for a barrier, which has no data.
    size: Option<&'static str>,
    root: bool,
    reduces: bool,
    sizes_may_differ: bool,
    algorithms: Vec<Entry>,
}

pub fn algorithms(only: Option<Operation>, console: &Console) -> Outcome<()> {
    let wanted = |operation: &Operation| only.is_none_or(|only| only == *operation);
    if console.json {
        #[derive(Serialize)]
        struct AlgorithmsAnswer {
            operations: Vec<OperationAnswer>,
        }
        let operations = Operation::ALL.into_iter().filter(wanted).map(operation_answer).collect();
        return console.print_json(&AlgorithmsAnswer { operations });
    }
    // Operations that differ only in their block sizes share algorithms.
    let shown = Operation::ALL.into_iter().filter(|operation| match only {
        Some(only) => only == *operation,
        None => operation.uniform() == *operation,
    });
    let text: Vec<String> = shown.map(|operation| operation_section(operation, only.is_some())).collect();
    console.print(&format!("{}\nUse: --collective OPERATION:ALGORITHM[,KEY=VALUE…]\n", text.join("\n")))
}

fn operation_answer(operation: Operation) -> OperationAnswer {
    OperationAnswer {
        operation: operation.name(),
        size: size(operation),
        root: operation.has_root(),
        reduces: operation.reduces(),
        sizes_may_differ: operation.is_vector(),
        algorithms: operation.catalogue(),
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

fn operation_section(operation: Operation, alone: bool) -> String {
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

pub fn workloads(only: Option<&str>, console: &Console) -> Outcome<()> {
    let shown: Vec<&'static Kind> =
        KINDS.iter().filter(|kind| only.is_none_or(|only| only == kind.name)).collect();
    if shown.is_empty() {
        let known = KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
        let name = only.unwrap_or_default().to_string();
        return Err(WorkloadError::Unknown { name, known }.into());
    }
    if console.json {
        #[derive(Serialize)]
        struct WorkloadsAnswer {
            workloads: Vec<&'static Kind>,
        }
        return console.print_json(&WorkloadsAnswer { workloads: shown });
    }
    let sections: Vec<String> = shown.into_iter().map(workload_section).collect();
    console.print(&format!("{}\nUse: --workload NAME[,PARAMETER=VALUE…]\n", sections.join("\n")))
}

fn workload_section(kind: &Kind) -> String {
    let table = Columns::over(kind.parameters)
        .text("", |row| row.name)
        .text("", |row| row.default)
        .text("", |row| row.meaning)
        .build();
    format!("{}: {}\n{table}", kind.name, kind.summary)
}

#[derive(Serialize)]
struct RuleAnswer {
    /// The table that contains it: this one, or its base.
    table: String,
    rule: usize,
    line: usize,
    operation: &'static str,
    when: BTreeMap<&'static str, String>,
    algorithm: String,
}

pub fn selector(typed: &SelectorShow, console: &Console) -> Outcome<()> {
    let selector = Selector::load(&typed.selector)?;
    if typed.toml {
        // The file of a preset has comments.
        let text = Selector::preset_text(&typed.selector).map(str::to_string);
        return console.print_verbatim(&text.unwrap_or_else(|| selector.to_toml()));
    }
    let wanted = |rule: &&Rule| typed.operation.is_none_or(|operation| operation == rule.operation);
    let rules: Vec<&Rule> = selector.rules().iter().filter(wanted).collect();
    if console.json {
        #[derive(Serialize)]
        struct SelectorAnswer {
            name: String,
            rules: Vec<RuleAnswer>,
        }
        let rules = rules.into_iter().map(rule_answer).collect();
        return console.print_json(&SelectorAnswer { name: selector.name.clone(), rules });
    }
    let count = counted(rules.len() as u64, "rule", "rules");
    console.print(&format!("{}: {count}; the first that fits decides.\n\n{}", selector.name, table(&rules)))
}

fn rule_answer(rule: &Rule) -> RuleAnswer {
    let stated = rule.when.stated().into_iter();
    RuleAnswer {
        table: rule.table.to_string(),
        rule: rule.number,
        line: rule.line,
        operation: rule.operation.name(),
        when: stated.map(|(key, value)| (key, value.trim_matches('"').to_string())).collect(),
        algorithm: rule.algorithm.to_string(),
    }
}

fn table(rules: &[&Rule]) -> Table {
    Columns::over(rules)
        .text("operation", |row| row.operation.name())
        .text("when", |row| row.when.to_string())
        .text("algorithm", |row| row.algorithm.to_string())
        .text("table", |row| row.table.to_string())
        .number("rule", |row| Cell::id(row.number))
        .number("line", |row| Cell::id(row.line))
        .build()
}
