//! Tables: the same rows for a terminal and for a page.
//!
//! A [`Table`] is defined once, most easily with [`Columns`] over the rows of an answer. Its `Display` is for
//! terminals: aligned columns below a rule. As a block of a page it is written as `docs/report-format.md`
//! describes. A column may be for only one of the two.

mod cell;
mod columns;
mod terminal;

pub use cell::Cell;
pub use columns::Columns;
pub use terminal::fit_tables;

use serde::{Deserialize, Serialize};

/// Rows that can be sorted by any column on a page.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Table {
    pub title: String,
    pub note: String,
    /// The command that made the data, ready to be pasted.
    pub command: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
}

/// The head of a column.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Column {
    pub name: String,
    /// Whether it holds numbers, which are right-aligned. On a terminal the first column is always
    /// left-aligned.
    pub number: bool,
    /// Not stored: pages hold only columns that they show.
    #[serde(skip)]
    pub shown: Shown,
    /// Its name on a page, if different.
    #[serde(skip)]
    pub page_name: Option<String>,
}

/// Where a column is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shown {
    #[default]
    Everywhere,
    Terminal,
    Page,
}

impl Column {
    pub fn text(name: impl Into<String>) -> Column {
        Column { name: name.into(), ..Column::default() }
    }

    pub fn number(name: impl Into<String>) -> Column {
        Column { name: name.into(), number: true, ..Column::default() }
    }
}

impl Table {
    /// Creates a table with the given columns; a name that begins with `#` is a column of numbers.
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Table {
        let column = |name: &&str| match name.strip_prefix('#') {
            Some(name) => Column::number(name),
            None => Column::text(*name),
        };
        Table { title: title.into(), columns: columns.iter().map(column).collect(), ..Table::default() }
    }

    /// Columns of numbers, except the first.
    pub fn with_header<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Table {
        let column = |(index, name): (usize, S)| Column { number: index > 0, ..Column::text(name) };
        Table { columns: names.into_iter().enumerate().map(column).collect(), ..Table::default() }
    }

    /// Names and texts without a header.
    pub fn facts() -> Table {
        Table::new("", &["", ""])
    }

    /// Makes a column, counted from 0, a column of text.
    pub fn text(mut self, column: usize) -> Table {
        self.columns.get_mut(column).into_iter().for_each(|column| column.number = false);
        self
    }

    /// Sets the title and the command, which a page shows.
    pub fn titled(mut self, title: impl Into<String>, command: impl Into<String>) -> Table {
        (self.title, self.command) = (title.into(), command.into());
        self
    }

    pub fn with_note(mut self, note: impl Into<String>) -> Table {
        self.note = note.into();
        self
    }

    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Keeps only the columns that a page shows.
    pub(crate) fn for_page(mut self) -> Table {
        let kept: Vec<bool> = self.columns.iter().map(|column| column.shown != Shown::Terminal).collect();
        for row in &mut self.rows {
            let mut kept = kept.iter();
            row.retain(|_| kept.next().is_none_or(|&kept| kept));
        }
        self.columns.retain(|column| column.shown != Shown::Terminal);
        for column in &mut self.columns {
            column.shown = Shown::Everywhere;
            column.page_name.take().into_iter().for_each(|name| column.name = name);
        }
        self
    }
}
