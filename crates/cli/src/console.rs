//! The terminal: results go to stdout, everything else to stderr.

use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::interrupt;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use straggler_report::visible;

/// What may be said, and how.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    pub json: bool,
    quiet: bool,
    verbose: bool,
    /// Says nothing at all: another member of the cluster speaks.
    mute: bool,
}

impl Console {
    pub fn new(common: &Common) -> Console {
        Console { json: common.json, quiet: common.quiet, verbose: common.verbose > 0, mute: false }
    }

    /// The same for a member of a cluster of which another one speaks.
    pub fn muted(self) -> Console {
        interrupt::say_nothing();
        Console { json: false, quiet: true, verbose: false, mute: true }
    }

    /// One that says nothing but results.
    pub fn silent() -> Console {
        Console { json: false, quiet: true, verbose: false, mute: false }
    }

    /// A result for people, on stdout.
    pub fn print(&self, text: &str) -> Outcome<()> {
        if self.mute { Ok(()) } else { write(&visible(text)) }
    }

    /// A result for programs, on stdout: one object and a newline.
    pub fn print_json(&self, value: &impl Serialize) -> Outcome<()> {
        // A string of JSON has its own escapes.
        write(&to_json(value)?)
    }

    /// The same as one line, for a place where others have written. What they wrote may not have ended with a newline,
    /// so this begins with one: the last line is the object, whole.
    pub fn print_json_line(&self, value: &impl Serialize) -> Outcome<()> {
        let text = serde_json::to_string(value).map_err(|error| Failure::new(Exit::CheckFailed, error))?;
        write(&format!("\n{text}\n"))
    }

    /// Something the user should know about the result.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            tell(&format!("warning: {text}"));
        }
    }

    /// Something only the curious want to know.
    pub fn detail(&self, text: &str) {
        if self.verbose && !self.quiet {
            tell(text);
        }
    }

    /// Something that was done and is no result: a file was written.
    pub fn note(&self, text: &str) {
        if !self.quiet && !self.json {
            tell(text);
        }
    }

    pub fn may_show_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Whether work that lasts may say so where nobody watches a bar.
    pub fn may_write_lines(&self) -> bool {
        !self.quiet && !io::stderr().is_terminal()
    }

    /// Prints the error and gives the code to end with.
    pub fn fail(&self, failure: &Failure) -> ExitCode {
        // The libraries' messages include what caused them, so only the outermost is printed.
        if !self.mute {
            tell(&format!("error: {}", failure.error));
        }
        ExitCode::from(failure.exit as u8)
    }
}

/// A line on stderr, without control characters. Where it cannot be written (a full disk, a pipe that is closed) there is
/// nobody to tell, and the work goes on; `eprintln!` would end the program.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(line));
}

pub fn to_json(value: &impl Serialize) -> Outcome<String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::new(Exit::CheckFailed, error))?;
    Ok(text + "\n")
}

fn write(text: &str) -> Outcome<()> {
    let mut out = io::stdout().lock();
    settle(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// A reader that has seen enough and closed the pipe is no error.
fn settle(written: io::Result<()>) -> Outcome<()> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::bad_input(format!("the standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}
