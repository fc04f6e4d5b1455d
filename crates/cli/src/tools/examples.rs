//! `straggler tools examples`: writes the embedded files that the examples of the help and the guide use.

use crate::kernel::console::Console;
use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::interrupt;
use crate::kernel::interrupt::Orderly;
use crate::kernel::outputs::make_folder;
use crate::kernel::valid::Valid;
use crate::tools::generated::Examples;
use serde::Serialize;
use std::path::Path;
use straggler_report::numbers::{counted, memory};
use straggler_report::replace_file;

/// Small inputs of every kind, most of them synthetic and saying so, and study files: names and contents, listed by
/// the build script.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

#[derive(Serialize)]
struct ExamplesAnswer {
    folder: String,
    files: u64,
    bytes: u64,
}

pub fn run(typed: &Valid<Examples>, console: &Console) -> Outcome<()> {
    let _orderly = Orderly::begin();
    let folder = &typed.directory;
    let mut answer = ExamplesAnswer { folder: folder.display().to_string(), files: 0, bytes: 0 };
    for (name, bytes) in FILES {
        interrupt::check()?;
        put(&folder.join(name), bytes)?;
        answer.files += 1;
        answer.bytes += bytes.len() as u64;
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
