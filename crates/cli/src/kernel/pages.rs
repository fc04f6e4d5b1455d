//! What results have in common: the command line that made them, findings, pages, and files and folders that may be
//! written or replaced.

use crate::kernel::prelude::*;
use crate::{args, kernel::defaults};
use std::io::ErrorKind;
use straggler_report::page::Facts;

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
    let mut facts = Facts::of_program(env!("CARGO_PKG_VERSION"), &command_line());
    let defaults: Vec<String> = defaults::used().iter().map(ToString::to_string).collect();
    if !defaults.is_empty() {
        facts.add("Defaults", defaults.join("; "));
    }
    Page { title: title.into(), summary, facts, sections, ..Page::default() }
}

/// Splits text for a terminal into paragraphs.
pub fn paragraphs(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
}

/// One finding.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Finding {
    pub kind: FindingKind,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// Answers the question.
    Verdict,
    /// Says how far to trust the answer.
    Note,
    /// Says how it was found, and what else is known. The console prints it with -v.
    Detail,
}

impl FindingKind {
    /// The texts of this kind, in order.
    pub fn select(self, findings: &[Finding]) -> Vec<String> {
        findings.iter().filter(|finding| finding.kind == self).map(|finding| finding.text.clone()).collect()
    }
}

/// The command line, quoted for pasting into a shell. Invalid UTF-8 becomes `\u{fffd}`.
pub fn command_line() -> String {
    let (words, _) = args::of_process();
    let words = words.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("straggler".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Quotes a word if a shell would interpret it otherwise.
pub fn quoted(word: &str) -> String {
    // An equals sign is special only before the program name (an assignment), which never occurs here.
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_=+,.:/@%^".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    // Fails only on a zero byte, which no argument can contain.
    shlex::try_quote(word).map_or_else(|_| word.into(), |quoted| quoted.into_owned())
}

/// Fails if the path cannot be created because one of its parents is not a folder.
pub fn refuse_unwritable(path: &Path) -> Outcome<()> {
    let existing = path.ancestors().skip(1).find(|place| place.as_os_str().is_empty() || place.exists());
    match existing {
        Some(place) if !place.as_os_str().is_empty() && !place.is_dir() => Err(Failure::bad_input(format!(
            "{} cannot be written: {} is not a folder; write to another place",
            path.display(),
            place.display()
        ))),
        _ => Ok(()),
    }
}

/// Fails if the folder of a file does not exist.
pub fn refuse_missing_folder(path: &Path) -> Outcome<()> {
    Ok(straggler_report::refuse_missing_folder(path)?)
}

/// Creates a folder for results, with its parents.
pub fn make_folder(path: &Path) -> Outcome<()> {
    std::fs::create_dir_all(path).map_err(|fault| {
        let why = if path.exists() { "it is a file".to_string() } else { fault.to_string() };
        Failure::bad_input(format!("{} cannot be created: {why}; use another folder", path.display()))
    })
}

/// Fails if a folder holds files that a command is about to replace, but not `mark`, which it would hold if the command
/// had written them.
pub fn refuse_foreign(folder: &Path, names: &[&str], mark: &str) -> Outcome<()> {
    match names.iter().find(|name| folder.join(name).exists()) {
        Some(name) if !folder.join(mark).exists() => Err(Failure::bad_input(format!(
            "{}: there is a file {name} but no {mark}, so it is not from an earlier run of this command, which would \
             replace it; use another -o",
            folder.display()
        ))),
        _ => Ok(()),
    }
}

/// Removes the results of an earlier run, in this order: until there are new ones, nobody should mistake them for those
/// of this run.
pub fn remove_outdated(folder: &Path, names: &[&str]) -> Outcome<()> {
    names.iter().map(|name| folder.join(name)).try_for_each(|path| match std::fs::remove_file(&path) {
        Err(fault) if fault.kind() != ErrorKind::NotFound => Err(Failure::bad_input(format!(
            "cannot remove {} of an earlier run: {fault}; use another -o",
            path.display()
        ))),
        _ => Ok(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let plain = "--noise=periodic:period=1ms,duration=5us";
        assert_eq!(quoted(plain), plain);
        for word in ["uniform(1us,5us)", "it's", "", "a b", "$HOME", "\"x\"", "`x`"] {
            assert_eq!(shlex::split(&quoted(word)), Some(vec![word.to_string()]));
        }
    }
}
