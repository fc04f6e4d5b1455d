//! The rules of a table of algorithms.

use crate::kernel::console::Console;
use crate::kernel::exit::Outcome;
use crate::schedule::args::SelectorShow;
use serde::Serialize;
use std::collections::BTreeMap;
use straggler_report::numbers::counted;
use straggler_report::{Cell, Columns, Table};
use straggler_schedule::collectives::Selector;
use straggler_schedule::collectives::selector::Rule;

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

pub fn run(typed: &SelectorShow, console: &Console) -> Outcome<()> {
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
        let rules = rules.into_iter().map(answer).collect();
        return console.print_json(&SelectorAnswer { name: selector.name.clone(), rules });
    }
    let count = counted(rules.len() as u64, "rule", "rules");
    console.print(&format!("{}: {count}; the first that fits decides.\n\n{}", selector.name, table(&rules)))
}

fn answer(rule: &Rule) -> RuleAnswer {
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
