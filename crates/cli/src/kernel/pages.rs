//! Pages: sections that several commands share, and how pages are written.

use crate::kernel::console::Console;
use crate::kernel::exit::Outcome;
use crate::kernel::interrupt;
use crate::kernel::invocation::command_line;
use std::path::{Path, PathBuf};
use straggler_report::page::{Facts, Page, Section};
use straggler_report::replace_file;

/// Writes a page atomically: as HTML, or only its data if the name ends with `.page`.
pub fn write(path: &Path, page: &Page) -> Outcome<u64> {
    let bytes = match path.extension().is_some_and(|end| end.eq_ignore_ascii_case("page")) {
        true => page.to_container(),
        false => page.to_html().into_bytes(),
    };
    interrupt::or_interrupted(replace_file(path, |out| out.write_all(&bytes)))?;
    Ok(bytes.len() as u64)
}

/// Writes the page of a command's results if one was asked for, and prints a note.
pub fn write_asked(path: Option<&PathBuf>, console: &Console, page: impl FnOnce() -> Page) -> Outcome<()> {
    let Some(path) = path else { return Ok(()) };
    write(path, &page())?;
    console.note(&format!("The report is in {}", path.display()));
    Ok(())
}

/// A page with the results of this command.
pub fn page(title: impl Into<String>, summary: Vec<String>, sections: Vec<Section>) -> Page {
    let facts = Facts::of_program(env!("CARGO_PKG_VERSION"), &command_line());
    Page { title: title.into(), summary, facts, sections, ..Page::default() }
}

/// Splits text for a terminal into paragraphs.
pub fn paragraphs(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
}
