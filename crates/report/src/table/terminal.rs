//! Tables on a terminal, aligned by column and no wider than the terminal: texts are wrapped, and columns that still do not fit
//! continue in a table below.

use super::{Shown, Table};
use crate::prose::{lines, with_units};
use crate::visible_name;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use textwrap::Options;
use textwrap::core::display_width;

const BETWEEN: &str = "  ";
/// Indent of continuation lines, to distinguish them from the next row.
const FURTHER: &str = "  ";
/// The minimum width of a text column; it is also at least as wide as its longest word. Words wider than half
/// the terminal are broken.
const LEAST: usize = 12;
/// Columns that name the rows are repeated in every part of a table if they take at most one part in this many of its width.
const NAMES: usize = 3;

/// The width of the terminal that this process prints to; 0 is without limit.
static WIDTH: AtomicUsize = AtomicUsize::new(0);

/// Limits the width of tables printed from now on. By default nothing is wrapped.
pub fn fit_tables(width: usize) {
    WIDTH.store(width, Ordering::Relaxed);
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Layout::new(self, WIDTH.load(Ordering::Relaxed)).write(f)
    }
}

/// The layout of a table on a terminal.
struct Layout<'a> {
    header: Vec<Cow<'a, str>>,
    rows: Vec<Vec<Cow<'a, str>>>,
    at_right: Vec<bool>,
    /// The parts printed below each other, each with some of the columns and their widths.
    parts: Vec<Vec<(usize, usize)>>,
}

impl<'a> Layout<'a> {
    fn new(table: &'a Table, width: usize) -> Layout<'a> {
        let on_terminal =
            || table.columns.iter().enumerate().filter(|(_, column)| column.shown != Shown::Page);
        // File names may contain line breaks, which must not start a new line.
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
        let parts = match width {
            0 => vec![widths.into_iter().enumerate().collect()],
            _ => {
                let least = least_widths(&header, &rows, &numbers, &widths, width);
                let fitted = |columns: Vec<usize>| fitted(columns, &widths, &least, &numbers, width);
                parts(&least, &numbers, width).into_iter().map(fitted).collect()
            }
        };
        Layout { header, rows, at_right, parts }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_header = self.header.iter().any(|name| !name.is_empty());
        for (number, part) in self.parts.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            if has_header {
                self.write_row(f, part, &self.header)?;
                let rules = |&(_, width): &(usize, usize)| vec![Cow::Owned("─".repeat(width))];
                self.write_lines(f, part, &part.iter().map(rules).collect::<Vec<_>>())?;
            }
            self.rows.iter().try_for_each(|row| self.write_row(f, part, row))?;
        }
        Ok(())
    }

    /// Writes a row with as many lines as its longest text needs.
    fn write_row(
        &self,
        f: &mut fmt::Formatter<'_>,
        part: &[(usize, usize)],
        row: &[Cow<'_, str>],
    ) -> fmt::Result {
        let cell = |&(column, width): &(usize, usize)| {
            row.get(column).map_or(Vec::new(), |cell| wrapped(cell, width))
        };
        self.write_lines(f, part, &part.iter().map(cell).collect::<Vec<_>>())
    }

    /// Writes the lines of all cells of a row.
    fn write_lines(
        &self,
        f: &mut fmt::Formatter<'_>,
        part: &[(usize, usize)],
        cells: &[Vec<Cow<'_, str>>],
    ) -> fmt::Result {
        for number in 0..cells.iter().map(Vec::len).max().unwrap_or(1) {
            let mut line = String::new();
            for (&(column, width), cell) in part.iter().zip(cells) {
                let text = cell.get(number).map_or("", |text| text.as_ref());
                let padding = " ".repeat(width.saturating_sub(display_width(text)));
                let both =
                    if self.at_right[column] { [padding.as_str(), text] } else { [text, padding.as_str()] };
                line.extend([BETWEEN].into_iter().chain(both));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Splits the columns into parts: a single one if all fit at their minimum widths; otherwise each part begins
/// with the columns that name the rows.
fn parts(least: &[usize], numbers: &[bool], width: usize) -> Vec<Vec<usize>> {
    let takes =
        |columns: &[usize]| columns.iter().map(|&column| BETWEEN.len() + least[column]).sum::<usize>();
    let all: Vec<usize> = (0..least.len()).collect();
    if takes(&all) <= width {
        return vec![all];
    }
    let texts = 1 + numbers.iter().skip(1).take_while(|number| !**number).count();
    let names =
        (1..=texts.min(all.len())).rev().find(|&count| NAMES * takes(&all[..count]) <= width).unwrap_or(1);
    let mut parts = vec![all[..names].to_vec()];
    for &column in &all[names..] {
        let part = parts
            .last_mut()
            .filter(|part| part.len() == names || takes(part) + BETWEEN.len() + least[column] <= width);
        match part {
            Some(part) => part.push(column),
            None => parts.push([&all[..names], &[column]].concat()),
        }
    }
    parts
}

/// The widths of the columns, as narrow as the terminal requires.
fn fitted(
    columns: Vec<usize>,
    widths: &[usize],
    least: &[usize],
    numbers: &[bool],
    width: usize,
) -> Vec<(usize, usize)> {
    let of = |all: &[usize]| -> Vec<usize> { columns.iter().map(|&column| all[column]).collect() };
    let mut fitted = of(widths);
    let numbers: Vec<bool> = columns.iter().map(|&column| numbers[column]).collect();
    shrink(&mut fitted, &of(least), &numbers, width.saturating_sub(BETWEEN.len() * columns.len()));
    columns.into_iter().zip(fitted).collect()
}

/// Wraps a text to the width of its column.
fn wrapped<'a>(text: &'a str, width: usize) -> Vec<Cow<'a, str>> {
    if display_width(text) <= width {
        return vec![Cow::Borrowed(text)];
    }
    let lines = lines(text, Options::new(width).subsequent_indent(FURTHER));
    lines.into_iter().map(Cow::Owned).collect()
}

/// The minimum widths of columns: numbers stay whole, texts and column names break between words.
fn least_widths(
    header: &[Cow<'_, str>],
    rows: &[Vec<Cow<'_, str>>],
    numbers: &[bool],
    widths: &[usize],
    terminal: usize,
) -> Vec<usize> {
    // Two text columns always fit next to each other.
    let most = (terminal / 2).saturating_sub(BETWEEN.len()).max(LEAST);
    let least = |index: usize| {
        let cells = || rows.iter().filter_map(|row| row.get(index));
        let name = longest_word(&header[index]);
        let content = if numbers[index] {
            cells().map(|cell| display_width(cell)).max().unwrap_or(0)
        } else {
            cells().map(|cell| longest_word(cell)).max().unwrap_or(0).clamp(LEAST, most)
        };
        name.max(content).min(widths[index])
    };
    (0..header.len()).map(least).collect()
}

/// The width that a text needs if it breaks between words, including the indent of continuation lines.
fn longest_word(text: &str) -> usize {
    let further = if text.contains(' ') { FURTHER.len() } else { 0 };
    with_units(text).split(' ').map(display_width).max().unwrap_or(0) + further
}

/// Narrows columns until all fit or none can shrink: first columns of numbers, where only the name wraps, and
/// among these the widest.
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
                Layout::new(self.0, self.1).write(f)
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
        // A table that fits is printed as without a limit, and one that never fits keeps its numbers.
        assert_eq!(printed(&table, 200), table.to_string());
        assert!(printed(&table, 1).contains("1,234,567"));
    }

    #[test]
    fn columns_that_do_not_fit_continue_below() {
        let rows = [("one", 1_234_567u64), ("another", 7)];
        let table = Columns::over(rows)
            .text("name", |row| row.0)
            .number("first", |row| Cell::count(row.1))
            .number("second", |row| Cell::count(row.1 + 1))
            .number("third", |row| Cell::count(row.1 + 2))
            .build();
        let expected = "  name         first     second\n  ───────  ─────────  ─────────\n  one      1,234,567  1,234,568\n  another          7          8\n\n  name         third\n  ───────  ─────────\n  one      1,234,569\n  another          9\n";
        assert_eq!(printed(&table, 32), expected);
        for width in 0..60 {
            let text = printed(&table, width);
            assert!(
                ["1,234,567", "1,234,568", "1,234,569"].iter().all(|number| text.contains(number)),
                "{text}"
            );
            assert!(width < 20 || text.lines().all(|line| display_width(line) <= width), "{width}:\n{text}");
        }
    }

    #[test]
    fn words_stay_whole() {
        let path = "straggler-assessment/recordings/first.noise";
        let rows = [
            ("a text of some length that may break between any two of its words", path),
            ("short", "in the folder of the_recording_of_the_first_node"),
        ];
        let table = Columns::over(rows).text("what", |row| row.0).text("where it is", |row| row.1).build();
        for width in [90, 96, 100] {
            let text = printed(&table, width);
            assert!(text.contains(path) && text.contains("the_recording_of_the_first_node"), "{text}");
            assert!(text.lines().all(|line| display_width(line) <= width), "{text}");
        }
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
