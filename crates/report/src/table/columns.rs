//! A table defined column by column over the rows of an answer.

use super::{Cell, Column, Shown, Table};

/// A table over the rows of an answer, built one column at a time:
/// `Columns::over(&answer.ranks).number("rank", |row| Cell::id(row.rank)).build()`.
///
/// Rows are references, or small tuples of them, so that a cell can borrow a text from its row.
#[derive(Debug)]
pub struct Columns<R> {
    rows: Vec<R>,
    table: Table,
}

impl<R: Copy> Columns<R> {
    pub fn over(rows: impl IntoIterator<Item = R>) -> Columns<R> {
        let rows: Vec<R> = rows.into_iter().collect();
        let table = Table { rows: vec![Vec::new(); rows.len()], ..Table::default() };
        Columns { rows, table }
    }

    pub fn text<C: Into<Cell>>(self, name: impl Into<String>, cell: impl Fn(R) -> C) -> Columns<R> {
        self.column(Column::text(name), cell)
    }

    pub fn number<C: Into<Cell>>(self, name: impl Into<String>, cell: impl Fn(R) -> C) -> Columns<R> {
        self.column(Column::number(name), cell)
    }

    fn column<C: Into<Cell>>(mut self, column: Column, cell: impl Fn(R) -> C) -> Columns<R> {
        self.table.columns.push(column);
        for (cells, &row) in self.table.rows.iter_mut().zip(&self.rows) {
            cells.push(cell(row).into());
        }
        self
    }

    /// The last column is for pages only: a terminal has no room for it.
    pub fn page_only(self) -> Columns<R> {
        self.shown(Shown::Page)
    }

    /// Shows the last column only on terminals.
    pub fn terminal_only(self) -> Columns<R> {
        self.shown(Shown::Terminal)
    }

    fn shown(mut self, shown: Shown) -> Columns<R> {
        if let Some(column) = self.table.columns.last_mut() {
            column.shown = shown;
        }
        self
    }

    /// Renames the last column on pages, where it may be far from the column that explains it.
    pub fn on_page_called(mut self, name: impl Into<String>) -> Columns<R> {
        if let Some(column) = self.table.columns.last_mut() {
            column.page_name = Some(name.into());
        }
        self
    }

    /// Adds a column for each of several things.
    pub fn each<T>(
        self,
        things: impl IntoIterator<Item = T>,
        add: impl Fn(Columns<R>, T) -> Columns<R>,
    ) -> Columns<R> {
        things.into_iter().fold(self, add)
    }

    pub fn build(self) -> Table {
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Block, Section};

    struct Row {
        name: String,
        calls: u64,
    }

    fn table() -> Table {
        let rows = [Row { name: "MPI_Send".into(), calls: 1234 }, Row { name: "MPI_Wait".into(), calls: 7 }];
        Columns::over(&rows)
            .text("function", |row| row.name.as_str())
            .text("short", |row| &row.name[4..])
            .terminal_only()
            .number("calls", |row| Cell::count(row.calls))
            .on_page_called("number of calls")
            .number("half", |row| Cell::significant(row.calls as f64 / 2.0))
            .page_only()
            .build()
    }

    #[test]
    fn a_terminal_shows_its_columns() {
        let expected = "  function  short  calls\n  ────────  ─────  ─────\n  MPI_Send  Send   1,234\n  MPI_Wait  Wait       7\n";
        assert_eq!(table().to_string(), expected);
    }

    #[test]
    fn a_page_shows_its_columns() {
        let mut section = Section::new("");
        section.add(table());
        let Some(Block::Table(shown)) = section.blocks.first() else { panic!("no table") };
        let names: Vec<&str> = shown.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["function", "number of calls", "half"]);
        assert!(shown.columns.iter().all(|column| column.shown == Shown::Everywhere));
        let first = vec![Cell::text("MPI_Send"), Cell::number("1,234", 1234.0), Cell::number("617", 617.0)];
        assert_eq!(shown.rows[0], first);
    }
}
