//! `straggler examples`: writes the embedded files that the examples of the help and the guide use.

use crate::args::generated::Examples;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::interrupt::{self, Orderly};
use crate::places::make_folder;
use crate::plan::valid::Valid;
use rust_embed::Embed;
use serde::Serialize;
use std::path::Path;
use straggler_report::numbers::{counted, memory};
use straggler_report::replace_file;

/// Small inputs of every kind; most are synthetic and say so.
#[derive(Embed)]
#[folder = "$CARGO_MANIFEST_DIR/../../fixtures"]
#[exclude = "measured/*"]
struct Fixtures;

/// Study files.
#[derive(Embed)]
#[folder = "$CARGO_MANIFEST_DIR/../../examples"]
struct Written;

#[derive(Serialize)]
struct ExamplesAnswer {
    folder: String,
    files: u64,
    bytes: u64,
}

pub fn run(typed: &Valid<Examples>, console: &Console) -> Outcome<()> {
    let _orderly = Orderly::begin();
    let folder = &typed.directory;
    let fixtures = Fixtures::iter().map(|name| (format!("fixtures/{name}"), Fixtures::get(&name)));
    let written = Written::iter().map(|name| (format!("examples/{name}"), Written::get(&name)));
    let mut answer = ExamplesAnswer { folder: folder.display().to_string(), files: 0, bytes: 0 };
    for (name, file) in fixtures.chain(written) {
        let Some(file) = file else { continue };
        interrupt::check()?;
        put(&folder.join(name), &file.data)?;
        answer.files += 1;
        answer.bytes += file.data.len() as u64;
    }
    if console.json {
        return console.print_json(&answer);
    }
    console.print(&format!(
        "{}, {}, in `{}`: change to that folder and paste any example of --help or the guide.\n",
        counted(answer.files, "file", "files"),
        memory(answer.bytes),
        answer.folder
    ))
}

/// A file with different content is not ours and is not overwritten.
fn put(path: &Path, bytes: &[u8]) -> Outcome<()> {
    match std::fs::read(path) {
        Ok(there) if there == bytes => return Ok(()),
        Ok(_) => {
            let name = path.display();
            return Err(Failure::bad_input(format!(
                "{name} already exists with different content: use another folder"
            )));
        }
        Err(_) => {}
    }
    path.parent().map_or(Ok(()), make_folder)?;
    interrupt::or_interrupted(replace_file(path, |out| out.write_all(bytes)))
}
