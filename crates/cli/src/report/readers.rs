//! Recognises files by their first bytes and their names, and reads them with the matching reader.

use crate::kernel::exit::{Failure, Kind, Outcome, unreadable};
use crate::kernel::invocation::command_line;
use crate::kernel::pages;
use crate::latency::diagnose::page as diagnose_page;
use crate::noise::file;
use crate::noise::page::Subject;
use crate::simulate::{finish_times, timeline};
use crate::study::file::{PAGE, RESULTS};
use crate::study::page as study_page;
use crate::{trace, training};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use straggler_formats::chrome;
use straggler_noise::format;
use straggler_noise::format::FormatOptions;
use straggler_report::page::Page;
use straggler_training::holds_job;

/// A page, and its title or the name of its file.
#[derive(Debug)]
pub struct Found {
    pub name: String,
    pub path: PathBuf,
    pub page: Page,
}

/// The first bytes of a file, enough to recognise its format.
const BEGINNING: u64 = 4096;
const GZIP: &[u8] = b"\x1f\x8b";
const FINISH_TIMES: &[u8] = b"rank,finish_ps";
const PARQUET: &[u8] = b"PAR1";

/// The page of one file; None if no reader recognises it. A file `named` by the user is taken for noise if
/// it is nothing else.
pub fn page_of(path: &Path, named: bool, seed: u64) -> Outcome<Option<Found>> {
    let beginning = beginning(path)?;
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let page = match ending.as_deref() {
        Some("page") => Some(of_page(path)?),
        Some("lat") => Some(diagnose_page::page_of_file(path)?),
        _ if beginning.starts_with(GZIP) && !named => None,
        _ if beginning.starts_with(chrome::BEGINNING) => Some(of_timeline(path)?),
        _ if beginning.starts_with(FINISH_TIMES) => Some(of_finish_times(path)?),
        _ if named && Recording::detect(path).is_some() => return of_recording(path),
        _ if beginning.starts_with(PARQUET) => of_parquet(path, named)?,
        _ if is_noise(&beginning, ending.as_deref(), named) => Some(of_noise(path, seed)?),
        _ => None,
    };
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    // A page is called by its title: many share a file name such as `study.page`.
    let name = |page: &Page| match ending.as_deref() {
        Some("page") if !page.title.is_empty() => page.title.clone(),
        _ => file.clone(),
    };
    Ok(page.map(|page| Found { name: name(&page), path: path.into(), page }))
}

/// A recording whose analysis makes one page, however many files it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Recording {
    Trace,
    Job,
}

impl Recording {
    fn detect(path: &Path) -> Option<Recording> {
        if holds_job(path) {
            return Some(Recording::Job);
        }
        match Kind::detect(path) {
            Some(Kind::Training) => Some(Recording::Job),
            Some(Kind::Trace) => Some(Recording::Trace),
            _ => None,
        }
    }
}

/// The page of a trace or of a training job: a file that the user names, or a folder without other results. Others are
/// not analysed, as that may take long.
pub fn of_recording(path: &Path) -> Outcome<Option<Found>> {
    let page = match Recording::detect(path) {
        Some(Recording::Trace) => trace::waits::page_of_trace(path)?,
        Some(Recording::Job) => training::page_of_files(&[path.to_path_buf()])?,
        None => return Ok(None),
    };
    Ok(Some(Found { name: page.title.clone(), path: path.into(), page }))
}

fn beginning(path: &Path) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
    read.map_err(|fault| unreadable(path, &fault))?;
    Ok(bytes)
}

fn of_page(path: &Path) -> Outcome<Page> {
    let bytes = std::fs::read(path).map_err(|fault| unreadable(path, &fault))?;
    Page::from_container(&bytes)
        .map_err(|fault| Failure::bad_input(format!("{} is not a page: {fault}", path.display())))
}

fn of_timeline(path: &Path) -> Outcome<Page> {
    let file = File::open(path).map_err(|fault| unreadable(path, &fault))?;
    let run = chrome::read(BufReader::new(file))
        .map_err(|fault| Failure::bad_input(format!("{}: {fault}", path.display())))?;
    Ok(timeline::page(&run, &path.display().to_string()))
}

fn of_finish_times(path: &Path) -> Outcome<Page> {
    let finish = straggler_report::finish_times::read(path).map_err(Failure::bad_input_of)?;
    let name = path.display().to_string();
    let mut section =
        finish_times::section(&format!("Finish times: {name}"), &finish, &command_line(), false);
    let summary = std::mem::take(&mut section.text);
    Ok(pages::page(format!("Finish times of {name}"), summary, vec![section]))
}

/// The page of finish times, or of study results unless their own page is beside them; else None.
fn of_parquet(path: &Path, named: bool) -> Outcome<Option<Page>> {
    if !named && path.with_file_name(PAGE).exists() {
        return Ok(None);
    }
    let no_results = match study_page::page_of_results(path) {
        Ok(page) => return Ok(Some(page)),
        Err(failure) => failure,
    };
    match of_finish_times(path) {
        Ok(page) => Ok(Some(page)),
        Err(_) if path.ends_with(RESULTS) => Err(no_results),
        Err(failure) if named => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Any text with two columns could be noise, so a file found in a folder must have the extension or
/// a known format.
fn is_noise(beginning: &[u8], ending: Option<&str>, named: bool) -> bool {
    const OTHERS: [&str; 12] =
        ["json", "html", "svg", "png", "pdf", "toml", "md", "goal", "bin", "rs", "csv", "gz"];
    if ending.is_some_and(|ending| OTHERS.contains(&ending)) {
        return false;
    }
    named || ending == Some("noise") || format::detect(beginning).is_some()
}

fn of_noise(path: &Path, seed: u64) -> Outcome<Page> {
    let file = file::read(path, None, &FormatOptions::default())?;
    let name = path.display().to_string();
    let mut page =
        Subject { recording: &file.recording, name: &name, seed, headline: Vec::new(), note: String::new() }
            .page();
    page.warnings.extend(file.warnings);
    Ok(page)
}
