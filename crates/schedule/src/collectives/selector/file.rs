//! The format of rule files: TOML, version 1.

use super::super::{Algorithm, Operation};
use super::bounds::{Bounds, Unit};
use super::rule::{Rule, When};
use super::{RuleFault, Selector, SelectorError};
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use std::fmt::{self, Write};
use std::sync::Arc;
use straggler_model::toml_file;
use toml::Spanned;

const VERSION: u32 = 1;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSelector {
    version: Option<u32>,
    name: Option<String>,
    base: Option<Spanned<String>>,
    #[serde(default, rename = "rule")]
    rules: Vec<Spanned<FileRule>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRule {
    operation: Spanned<Names>,
    bytes: Option<Spanned<Text>>,
    total: Option<Spanned<Text>>,
    share: Option<Spanned<Text>>,
    processes: Option<Spanned<Text>>,
    power_of_two: Option<bool>,
    idempotent: Option<bool>,
    algorithm: Spanned<String>,
}

/// A range as a string, or a single number.
#[derive(Debug)]
struct Text(String);

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a range such as \"1KiB..64KiB\", or a number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_string()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

/// One name or a list of them.
#[derive(Debug)]
struct Names(Vec<String>);

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an operation such as \"allreduce\", or a list of them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Names, E> {
        Ok(Names(vec![text.to_string()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = list.next_element()? {
            names.push(name);
        }
        Ok(Names(names))
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
        deserializer.deserialize_any(NamesVisitor)
    }
}

/// The file that rules are read from, for error messages.
struct Source<'a> {
    text: &'a str,
    table: Arc<str>,
}

impl Source<'_> {
    fn line<T>(&self, place: &Spanned<T>) -> usize {
        toml_file::line(self.text, place.span().start)
    }

    /// Turns a rule of the file into one rule per operation it names.
    fn rules(&self, number: usize, rule: &Spanned<FileRule>) -> Result<Vec<Rule>, SelectorError> {
        let typed = rule.get_ref();
        let when = self.when(number, typed)?;
        let operations = &typed.operation.get_ref().0;
        if operations.is_empty() {
            return Err(self.wrong(number, &typed.operation, RuleFault::NoOperation));
        }
        let of_operation = |name: &String| {
            let operation: Operation =
                name.parse().map_err(|fault| self.wrong(number, &typed.operation, RuleFault::from(fault)))?;
            if when.idempotent.is_some() && !operation.reduces() {
                let fault = RuleFault::CombinesNothing { operation };
                return Err(self.wrong(number, &typed.operation, fault));
            }
            let algorithm = Algorithm::parse(operation, typed.algorithm.get_ref())
                .map_err(|fault| self.wrong(number, &typed.algorithm, RuleFault::from(fault)))?;
            Ok(Rule { operation, when, algorithm, table: self.table.clone(), number, line: self.line(rule) })
        };
        operations.iter().map(of_operation).collect()
    }

    fn when(&self, number: usize, typed: &FileRule) -> Result<When, SelectorError> {
        let bounds = |key, text: &Option<Spanned<Text>>, unit| match text {
            Some(text) => self.bounds(number, key, text, unit).map(Some),
            None => Ok(None),
        };
        Ok(When {
            bytes: bounds("bytes", &typed.bytes, Unit::Bytes)?,
            total: bounds("total", &typed.total, Unit::Bytes)?,
            share: bounds("share", &typed.share, Unit::Bytes)?,
            processes: bounds("processes", &typed.processes, Unit::Count)?,
            power_of_two: typed.power_of_two,
            idempotent: typed.idempotent,
        })
    }

    fn bounds(
        &self,
        number: usize,
        key: &'static str,
        text: &Spanned<Text>,
        unit: Unit,
    ) -> Result<Bounds, SelectorError> {
        Bounds::parse(&text.get_ref().0, unit).map_err(|fault| {
            let example = match unit {
                Unit::Bytes => "\"1KiB..64KiB\", \"..=2KiB\" or \"512KiB..\"",
                Unit::Count => "\"8..64\", \"..=7\" or \"512..\"",
            };
            let fault = RuleFault::Bounds { key, text: text.get_ref().0.clone(), fault, example };
            self.wrong(number, text, fault)
        })
    }

    fn wrong<T>(&self, rule: usize, place: &Spanned<T>, fault: RuleFault) -> SelectorError {
        SelectorError::Rule { line: self.line(place), rule, fault: Box::new(fault) }
    }
}

pub fn read(text: &str, name: &str) -> Result<Selector, SelectorError> {
    let file: FileSelector = toml_file::read(text)?;
    if let Some(found) = file.version.filter(|&version| version != VERSION) {
        return Err(SelectorError::Version { found });
    }
    let name = file.name.unwrap_or_else(|| name.to_string());
    let source = Source { text, table: name.as_str().into() };
    let mut rules = Vec::new();
    for (number, rule) in (1..).zip(&file.rules) {
        rules.extend(source.rules(number, rule)?);
    }
    if let Some(base) = file.base {
        // Presets have no base of their own, so this does not recurse.
        let Some(text) = Selector::preset_text(base.get_ref()) else {
            return Err(SelectorError::Base { line: source.line(&base), base: base.into_inner() });
        };
        rules.extend(read(text, base.get_ref())?.rules);
    }
    Ok(Selector { name, rules })
}

pub fn write(selector: &Selector) -> String {
    let name = toml::Value::from(selector.name.as_str());
    let mut text = format!("version = {VERSION}\nname = {name}\n");
    for rule in &selector.rules {
        let _ = writeln!(text, "\n[[rule]]\noperation = \"{}\"", rule.operation);
        for (key, value) in rule.when.stated() {
            let _ = writeln!(text, "{key} = {value}");
        }
        let _ = writeln!(text, "algorithm = \"{}\"", rule.algorithm);
    }
    text
}
