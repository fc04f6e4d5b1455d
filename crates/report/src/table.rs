//! Small tables for a terminal, aligned by column.

use crate::visible_name;
use std::borrow::Cow;
use std::fmt;

/// Rows of text. Columns are as wide as their widest cell; the first is aligned to the left, and so
/// are columns marked as text.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    text_columns: Vec<usize>,
    has_header: bool,
}

const BETWEEN: &str = "  ";

impl Table {
    pub fn new() -> Table {
        Table::default()
    }

    /// A table whose first row names its columns.
    pub fn with_header<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Table {
        let mut table = Table { has_header: true, ..Table::default() };
        table.row(names);
        table
    }

    /// Aligns a column, counted from 0, to the left.
    pub fn text(mut self, column: usize) -> Table {
        self.text_columns.push(column);
        self
    }

    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        // Names of files come in here: one that holds the end of a line must not begin another.
        let cell = |cell: S| {
            let text: String = cell.into();
            if let Cow::Owned(shown) = visible_name(&text) { shown } else { text }
        };
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.len() == usize::from(self.has_header)
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cells(cell)).max();
        (0..columns).map(|column| width(column).unwrap_or(0)).collect()
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(widths).enumerate() {
            line.push_str(BETWEEN);
            let padding = " ".repeat(width.saturating_sub(cells(cell)));
            if column == 0 || self.text_columns.contains(&column) {
                line.push_str(cell);
                line.push_str(&padding);
            } else {
                line.push_str(&padding);
                line.push_str(cell);
            }
        }
        line.trim_end().to_string()
    }
}

/// How many terminal cells a text takes; what is printed here has no wide or combining characters.
fn cells(text: &str) -> usize {
    text.chars().count()
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for (index, row) in self.rows.iter().enumerate() {
            writeln!(f, "{}", self.line(row, &widths))?;
            if index == 0 && self.has_header {
                let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
                writeln!(f, "{}", self.line(&rule, &widths))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::with_header(["case", "µs", "what"]).text(2);
        table.row(["a", "1,000", "first"]);
        table.row(["long", "2", "second"]);
        let expected =
            "  case     µs  what\n  ────  ─────  ──────\n  a     1,000  first\n  long      2  second\n";
        assert_eq!(table.to_string(), expected);
        assert!(!table.is_empty());
        assert!(Table::with_header(["x"]).is_empty());
    }
}
