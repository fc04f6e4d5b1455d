//! The labels of one rank and the operations they name.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::cursor::Label;

const ABSENT: u32 = u32::MAX;
/// If there are more prefixes than this, the rest go through the hash table.
const MOST_SERIES: usize = 8;
/// With more labels than this, no similar label is searched for in error messages.
const MOST_COMPARED: usize = 20_000;

/// Numbered labels are kept in one array per prefix, all others in a hash table.
#[derive(Debug, Default)]
pub(super) struct Labels<'a> {
    series: Vec<Series>,
    named: HashMap<&'a [u8], u32>,
}

/// The labels of one prefix: the operation of each number.
#[derive(Debug)]
struct Series {
    prefix: u64,
    operation: Vec<u32>,
}

impl<'a> Labels<'a> {
    /// Forgets all labels before the next rank, which probably uses the same prefixes.
    pub fn clear(&mut self) {
        if self.series.len() == MOST_SERIES {
            self.series.clear();
        }
        for series in &mut self.series {
            series.operation.clear();
        }
        self.named.clear();
    }

    /// The operation a label names.
    #[inline(always)]
    pub fn get(&self, label: Label, name: &[u8]) -> Option<u32> {
        if label.prefix != 0 {
            for series in &self.series {
                if series.prefix == label.prefix {
                    match series.operation.get(label.number as usize) {
                        Some(&operation) if operation != ABSENT => return Some(operation),
                        _ => break,
                    }
                }
            }
        }
        if self.named.is_empty() { None } else { self.named.get(name).copied() }
    }

    /// Names an operation. Returns false if the label is taken.
    #[inline(always)]
    pub fn define(&mut self, label: Label, name: &'a [u8], operation: u32) -> bool {
        if self.get(label, name).is_some() {
            return false;
        }
        // Keeps arrays proportional to the number of operations, whatever the labels' numbers.
        let in_proportion = u64::from(label.number) <= 2 * u64::from(operation) + 64;
        match self.series_of(label.prefix) {
            Some(series) if in_proportion => {
                let at = label.number as usize;
                if at >= series.operation.len() {
                    series.operation.resize(at + 1, ABSENT);
                }
                series.operation[at] = operation;
            }
            _ => {
                self.named.insert(name, operation);
            }
        }
        true
    }

    #[inline(always)]
    fn series_of(&mut self, prefix: u64) -> Option<&mut Series> {
        if prefix == 0 {
            return None;
        }
        let at = match self.series.iter().position(|series| series.prefix == prefix) {
            Some(at) => at,
            None if self.series.len() < MOST_SERIES => {
                self.series.push(Series { prefix, operation: Vec::new() });
                self.series.len() - 1
            }
            None => return None,
        };
        Some(&mut self.series[at])
    }

    /// All labels with their operations, in no particular order.
    fn all(&self) -> impl Iterator<Item = (String, u32)> + '_ {
        let numbered = self.series.iter().flat_map(|series| {
            let prefix = unpack(series.prefix);
            let numbers = (0u32..).zip(&series.operation).filter(|(_, operation)| **operation != ABSENT);
            numbers.map(move |(number, &operation)| (format!("{prefix}{number}"), operation))
        });
        let named = self
            .named
            .iter()
            .map(|(name, &operation)| (String::from_utf8_lossy(name).into_owned(), operation));
        numbered.chain(named)
    }

    /// Names of these operations, for messages.
    pub fn names_of(&self, operations: &[u32]) -> Vec<String> {
        let mut names: HashMap<u32, String> =
            operations.iter().map(|&op| (op, format!("operation {op}"))).collect();
        for (label, operation) in self.all() {
            names.entry(operation).and_modify(|name| *name = label);
        }
        operations.iter().map(|operation| names[operation].clone()).collect()
    }

    /// The defined label most similar to an unknown one, if any is similar.
    pub fn nearest(&self, unknown: &str) -> Option<String> {
        let count = self.named.len() + self.series.iter().map(|series| series.operation.len()).sum::<usize>();
        if count > MOST_COMPARED || unknown.len() > 64 {
            return None;
        }
        let likeness = |label: &str| {
            let shared = label.bytes().zip(unknown.bytes()).take_while(|(a, b)| a == b).count();
            (
                edit_distance(label.as_bytes(), unknown.as_bytes()),
                Reverse(shared),
                label.len().abs_diff(unknown.len()),
            )
        };
        let candidates = self.all().filter(|(label, _)| label.len().abs_diff(unknown.len()) <= 2);
        let best = candidates.map(|(label, operation)| (likeness(&label), operation, label)).min()?;
        let ((distance, ..), _, label) = best;
        (distance <= 2 && distance < unknown.len()).then_some(label)
    }
}

/// The letters of a packed prefix.
fn unpack(prefix: u64) -> String {
    prefix.to_be_bytes().iter().filter(|byte| **byte != 0).map(|&byte| char::from(byte)).collect()
}

/// Levenshtein distance, row by row.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits() {
        assert_eq!(edit_distance(b"kitten", b"sitting"), 3);
        assert_eq!(edit_distance(b"", b"ab"), 2);
        assert_eq!(edit_distance(b"same", b"same"), 0);
    }

    #[test]
    fn a_prefix_survives_packing() {
        assert_eq!(unpack(u64::from(b'l')), "l");
        assert_eq!(unpack(u64::from_be_bytes(*b"abcdefgh")), "abcdefgh");
    }
}
