//! Tables on a terminal, aligned by column and no wider than the terminal if texts can be wrapped.

use super::{Shown, Table};
use crate::prose::lines;
use crate::visible_name;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use textwrap::Options;
use textwrap::core::display_width;

const BETWEEN: &str = "  ";
/// Further lines of a text are indented, to tell them from the next row.
const FURTHER: &str = "  ";
/// A column of text becomes no narrower than its longest word, within these limits.
const LEAST: usize = 12;
const LONGEST_WORD: usize = 24;

/// The width of the terminal that this process prints to; 0 is without limit.
static WIDTH: AtomicUsize = AtomicUsize::new(0);

/// Makes tables print no wider than a terminal, from now on. Without this, nothing is wrapped.
pub fn fit_tables(width: usize) {
    WIDTH.store(width, Ordering::Relaxed);
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Layout::of(self, WIDTH.load(Ordering::Relaxed)).write(f)
    }
}

/// The columns that a terminal shows, and how wide they are.
struct Layout<'a> {
    /// None if no column has a name.
    header: Option<Vec<Cow<'a, str>>>,
    rows: Vec<Vec<Cow<'a, str>>>,
    at_right: Vec<bool>,
    widths: Vec<usize>,
}

impl<'a> Layout<'a> {
    fn of(table: &'a Table, width: usize) -> Layout<'a> {
        let on_terminal =
            || table.columns.iter().enumerate().filter(|(_, column)| column.shown != Shown::Page);
        // Names of files come in here: one that holds the end of a line must not begin another.
        let header: Vec<Cow<'_, str>> = on_terminal().map(|(_, column)| visible_name(&column.name)).collect();
        let cells = |row: &'a Vec<super::Cell>| -> Vec<Cow<'a, str>> {
            on_terminal()
                .filter_map(|(index, _)| row.get(index))
                .map(|cell| visible_name(&cell.text))
                .collect()
        };
        let rows: Vec<Vec<Cow<'_, str>>> = table.rows.iter().map(cells).collect();
        let numbers: Vec<bool> = on_terminal().map(|(_, column)| column.number).collect();
        let at_right = numbers.iter().enumerate().map(|(index, &number)| index > 0 && number).collect();
        let mut widths = vec![0; header.len()];
        for row in rows.iter().chain([&header]) {
            widths.iter_mut().zip(row).for_each(|(width, cell)| *width = display_width(cell).max(*width));
        }
        if width > 0 {
            let least = least_widths(&header, &rows, &numbers, &widths);
            shrink(&mut widths, &least, &numbers, width.saturating_sub(BETWEEN.len() * header.len()));
        }
        let header = Some(header).filter(|names| names.iter().any(|name| !name.is_empty()));
        Layout { header, rows, at_right, widths }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(names) = &self.header {
            self.write_row(f, names)?;
            let rules: Vec<Cow<'_, str>> =
                self.widths.iter().map(|&width| "─".repeat(width).into()).collect();
            self.write_row(f, &rules)?;
        }
        self.rows.iter().try_for_each(|row| self.write_row(f, row))
    }

    /// As many lines as its longest text needs.
    fn write_row(&self, f: &mut fmt::Formatter<'_>, row: &[Cow<'_, str>]) -> fmt::Result {
        let cells: Vec<Vec<Cow<'_, str>>> =
            row.iter().zip(&self.widths).map(|(cell, &width)| wrapped(cell, width)).collect();
        let lines = cells.iter().map(Vec::len).max().unwrap_or(1);
        for number in 0..lines {
            let texts = cells.iter().map(|lines| lines.get(number).map_or("", |line| line.as_ref()));
            writeln!(f, "{}", self.line(texts))?;
        }
        Ok(())
    }

    fn line<'t>(&self, texts: impl Iterator<Item = &'t str>) -> String {
        let mut line = String::new();
        for ((text, &width), &at_right) in texts.zip(&self.widths).zip(&self.at_right) {
            let padding = " ".repeat(width.saturating_sub(display_width(text)));
            let parts = if at_right { [padding.as_str(), text] } else { [text, padding.as_str()] };
            line.extend([BETWEEN].into_iter().chain(parts));
        }
        line.trim_end().to_string()
    }
}

/// The lines of a text in a column.
fn wrapped<'a>(text: &'a str, width: usize) -> Vec<Cow<'a, str>> {
    if display_width(text) <= width {
        return vec![Cow::Borrowed(text)];
    }
    let lines = lines(text, Options::new(width).subsequent_indent(FURTHER));
    lines.into_iter().map(Cow::Owned).collect()
}

/// How narrow columns may become: numbers stay whole, texts and names of columns break between words.
fn least_widths(
    header: &[Cow<'_, str>],
    rows: &[Vec<Cow<'_, str>>],
    numbers: &[bool],
    widths: &[usize],
) -> Vec<usize> {
    let least = |index: usize| {
        let cells = || rows.iter().filter_map(|row| row.get(index));
        // A further line of a name is indented as well.
        let name = longest_word(&header[index]) + FURTHER.len();
        let content = if numbers[index] {
            cells().map(|cell| display_width(cell)).max().unwrap_or(0)
        } else {
            cells().map(|cell| longest_word(cell)).max().unwrap_or(0).clamp(LEAST, LONGEST_WORD)
        };
        name.max(content).min(widths[index])
    };
    (0..header.len()).map(least).collect()
}

fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(display_width).max().unwrap_or(0)
}

/// Takes from the widest column that may become narrower, until all fit or none may: from columns of numbers first, of which
/// only the name has to wrap.
fn shrink(widths: &mut [usize], least: &[usize], numbers: &[bool], room: usize) {
    let mut excess = widths.iter().sum::<usize>().saturating_sub(room);
    while excess > 0 {
        let shrinkable = (0..widths.len()).filter(|&index| widths[index] > least[index]);
        let Some(widest) = shrinkable.max_by_key(|&index| (numbers[index], widths[index])) else { return };
        widths[widest] -= 1;
        excess -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cell, Columns};

    fn printed(table: &Table, width: usize) -> String {
        struct Fitted<'a>(&'a Table, usize);
        impl fmt::Display for Fitted<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Layout::of(self.0, self.1).write(f)
            }
        }
        Fitted(table, width).to_string()
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::with_header(["case", "µs", "what"]).text(2);
        assert!(table.is_empty());
        table.row(["a", "1,000", "first"]);
        table.row(["long", "2", "second"]);
        let expected =
            "  case     µs  what\n  ────  ─────  ──────\n  a     1,000  first\n  long      2  second\n";
        assert_eq!(table.to_string(), expected);
        assert!(!table.is_empty());
    }

    #[test]
    fn facts_have_no_header() {
        let mut facts = Table::facts();
        facts.row(["seed", "1"]);
        facts.row(["wall time", "2 s\u{1b}[2J"]);
        assert_eq!(facts.to_string(), "  seed       1\n  wall time  2 s\\u{1b}[2J\n");
    }

    #[test]
    fn texts_wrap_within_their_column_and_numbers_stay_whole() {
        let rows = [("MPI_Allreduce in the solver of the pressure equation", 1_234_567u64), ("MPI_Send", 7)];
        let table = Columns::over(rows)
            .text("others wait because", |row| row.0)
            .number("number of waits", |row| Cell::count(row.1))
            .build();
        let expected = "  others wait        number of\n    because              waits\n  ─────────────────  ─────────\n  MPI_Allreduce in   1,234,567\n    the solver of\n    the pressure\n    equation\n  MPI_Send                   7\n";
        assert_eq!(printed(&table, 30), expected);
        // What fits is as without a limit, and what never fits keeps its numbers.
        assert_eq!(printed(&table, 200), table.to_string());
        assert!(printed(&table, 1).contains("1,234,567"));
    }

    #[test]
    fn the_widest_text_gives_way_first() {
        let rows = [("short text here", "a much longer text that has many words in it, more than the other")];
        let table = Columns::over(rows).text("a", |row| row.0).text("b", |row| row.1).build();
        let text = printed(&table, 50);
        assert!(text.lines().all(|line| display_width(line) <= 50), "{text}");
        assert!(text.contains("  short text here  a much longer"), "{text}");
    }
}
