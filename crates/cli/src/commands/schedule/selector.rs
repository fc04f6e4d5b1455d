//! The rules of a table of algorithms.

use crate::args::schedule::SelectorShow;
use crate::console::Console;
use crate::exit::Outcome;
use serde::Serialize;
use std::collections::BTreeMap;
use straggler_report::Table;
use straggler_report::numbers::counted;
use straggler_schedule::collectives::Selector;
use straggler_schedule::collectives::selector::Rule;

#[derive(Serialize)]
struct RuleAnswer {
    /// The table it stands in: this one, or its base.
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
        // A preset's own file has comments.
        let text = Selector::preset_text(&typed.selector).map(str::to_string);
        return console.print(&text.unwrap_or_else(|| selector.to_toml()));
    }
    let wanted = |rule: &&Rule| typed.operation.is_none_or(|operation| operation == rule.operation);
    let rules: Vec<&Rule> = selector.rules().iter().filter(wanted).collect();
    if console.json {
        #[derive(Serialize)]
        struct Answer {
            name: String,
            rules: Vec<RuleAnswer>,
        }
        let rules = rules.into_iter().map(answer).collect();
        return console.print_json(&Answer { name: selector.name.clone(), rules });
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
    let mut table = Table::with_header(["operation", "when", "algorithm", "table", "rule", "line"]);
    table = table.text(1).text(2).text(3);
    for rule in rules {
        table.row([
            rule.operation.to_string(),
            rule.when.to_string(),
            rule.algorithm.to_string(),
            rule.table.to_string(),
            rule.number.to_string(),
            rule.line.to_string(),
        ]);
    }
    table
}
