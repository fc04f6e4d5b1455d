//! Finds results: named files, and the files in named folders.

use crate::kernel::prelude::*;
use crate::report::{Found, of_recording, page_of};
use std::time::SystemTime;
use straggler_report::page::Facts;

/// Subfolders are searched down to this depth.
const DEPTH: usize = 4;
/// A folder with more files is not a folder of results.
const MOST_FILES: usize = 10_000;

/// A file that is not in the page, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    pub file: String,
    pub why: String,
}

/// Files that may hold results, in order of their names.
#[derive(Clone, Debug)]
pub struct Search {
    inputs: Vec<PathBuf>,
    files: Vec<File>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    path: PathBuf,
    /// Named on the command line, so an unknown format is an error; files found in a folder may be skipped.
    named: bool,
    length: u64,
    changed: Option<SystemTime>,
}

impl Search {
    pub fn new(inputs: &[PathBuf]) -> Outcome<Search> {
        let mut files = Vec::new();
        for input in inputs {
            let about = std::fs::metadata(input).map_err(|fault| unreadable(input, &fault))?;
            if about.is_dir() {
                look_into(input, DEPTH, &mut files)?;
            } else {
                files.push(File::new(input.clone(), true, Some(&about)));
            }
        }
        Ok(Search { inputs: inputs.to_vec(), files })
    }

    /// Whether the same search found other files, or files that have changed since.
    pub fn differs(&self, other: &Search) -> bool {
        self.files != other.files
    }

    /// One page of all recognised files, and the files that were skipped.
    pub fn page(&self, title: Option<&str>, seed: u64) -> Outcome<(Page, Vec<Skipped>)> {
        let (mut found, mut skipped) = (Vec::new(), Vec::new());
        let input_of = |path: &Path| self.inputs.iter().position(|input| path.starts_with(input));
        for file in &self.files {
            interrupt::check()?;
            let skip = |why: String| Skipped { file: file.path.display().to_string(), why };
            match page_of(&file.path, file.named, seed) {
                Ok(Some(one)) => found.push((input_of(&file.path), one)),
                Ok(None) if belongs_to_others(&file.path) => {}
                Ok(None) => skipped.push(skip("not recognised".into())),
                Err(failure) if file.named => return Err(failure),
                Err(failure) => {
                    let (why, name) = (failure.error.to_string(), format!("{}: ", file.path.display()));
                    skipped.push(skip(why.strip_prefix(&name).unwrap_or(&why).into()));
                }
            }
        }
        // A folder without results may be a recording as a whole.
        for (place, input) in self.inputs.iter().enumerate().filter(|(_, input)| input.is_dir()) {
            if !found.iter().any(|(from, _)| *from == Some(place))
                && let Some(one) = of_recording(input)?
            {
                found.push((Some(place), one));
                skipped.retain(|file| !Path::new(&file.file).starts_with(input));
            }
        }
        if found.is_empty() {
            return Err(nothing(&self.inputs, &skipped));
        }
        found.sort_by_key(|(from, _)| *from);
        let mut page = joined(found.into_iter().map(|(_, one)| one).collect());
        if let Some(title) = title {
            page.title = title.into();
        }
        Ok((page, skipped))
    }
}

impl File {
    fn new(path: PathBuf, named: bool, about: Option<&std::fs::Metadata>) -> File {
        let length = about.map_or(0, std::fs::Metadata::len);
        File { path, named, length, changed: about.and_then(|about| about.modified().ok()) }
    }
}

/// Collects the files of a folder. Skips hidden files, and links, which could form cycles.
fn look_into(folder: &Path, depth: usize, files: &mut Vec<File>) -> Outcome<()> {
    let fault = |fault: std::io::Error| unreadable(folder, &fault);
    let mut entries =
        std::fs::read_dir(folder).map_err(fault)?.collect::<Result<Vec<_>, _>>().map_err(fault)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => look_into(&entry.path(), depth - 1, files)?,
            Ok(kind) if kind.is_file() => {
                files.push(File::new(entry.path(), false, entry.metadata().ok().as_ref()))
            }
            _ => {}
        }
        if files.len() > MOST_FILES {
            return Err(Failure::bad_input(format!(
                "{} holds more than {MOST_FILES} files: give the folder of the results",
                folder.display()
            )));
        }
    }
    Ok(())
}

/// Files that commands write beside the page of their results: the page already shows them.
fn belongs_to_others(path: &Path) -> bool {
    let beside = path.parent().into_iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten());
    let mut pages =
        beside.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "page"));
    let known = ["html", "parquet", "toml", "json", "svg", "png", "csv", "md"];
    let name = path.file_name().is_some_and(|name| name == "journal");
    let ending = path.extension().is_some_and(|end| known.iter().any(|known| end == *known));
    (name || ending) && pages.next().is_some()
}

/// Returns a single page unchanged; several become parts of one, each with its name as title.
fn joined(mut found: Vec<Found>) -> Page {
    if found.len() == 1
        && let Some(only) = found.pop()
    {
        return only.page;
    }
    let mut names: Vec<String> = found.iter().map(|one| one.name.clone()).collect();
    tell_apart(&mut names, &found);
    let title = match &names[..] {
        [first, second] => format!("{first} and {second}"),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        [] => String::new(),
    };
    let facts = Facts::of_program(env!("CARGO_PKG_VERSION"), &command_line());
    let mut titles: Vec<String> = found.iter().map(|one| one.page.title.clone()).collect();
    tell_apart(&mut titles, &found);
    let parts = found.into_iter().zip(titles).flat_map(|(one, title)| parts(one.page, title)).collect();
    Page { title, facts, parts, ..Page::default() }
}

/// Adds the path to texts that several pages have.
fn tell_apart(texts: &mut [String], found: &[Found]) {
    let all = texts.to_vec();
    for (text, one) in texts.iter_mut().zip(found) {
        if all.iter().filter(|other| *other == text).count() > 1 {
            *text = format!("{text} ({})", one.path.display());
        }
    }
}

/// A page, or the parts of one that was joined before.
fn parts(mut page: Page, title: String) -> Vec<Page> {
    if !page.parts.is_empty() {
        return page.parts;
    }
    page.facts.0.retain(|(fact, _)| fact != "Version");
    vec![Page { title, ..page }]
}

/// The error when nothing was found.
fn nothing(inputs: &[PathBuf], skipped: &[Skipped]) -> Failure {
    let names: Vec<String> = inputs.iter().map(|path| path.display().to_string()).collect();
    let skipped: String =
        skipped.iter().take(5).map(|skipped| format!("\n  {}: {}", skipped.file, skipped.why)).collect();
    Failure::bad_input(format!(
        "{}: no results found. Recognised are .page files, noise recordings, latencies (.lat), results of \
         `study run`, timelines of `simulate --timeline`, finish times of `simulate \
         --finish-times`, and traces and training jobs that you name{skipped}",
        names.join(", ")
    ))
}
