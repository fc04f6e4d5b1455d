//! The terminal: results go to stdout, everything else to stderr.

use crate::args::Common;
use crate::kernel::{Exit, Failure, Outcome, interrupt};
use clap::error::ErrorKind;
use serde::Serialize;
use std::io;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use straggler_report::{fit_tables, visible, wrap_error, wrap_prose};
use terminal_size::{Height, Width, terminal_size_of};

/// What to print, and in which form.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    pub json: bool,
    quiet: bool,
    verbose: bool,
    /// Prints nothing, because another member of the cluster does.
    mute: bool,
    /// Width at which stdout wraps: of COLUMNS or the terminal; None without either.
    width: Option<usize>,
    /// The same for stderr.
    stderr_width: Option<usize>,
}

impl Console {
    /// The console of this process. Also makes all tables fit its terminal.
    pub fn new(common: &Common) -> Console {
        let width = width(terminal_size_of(io::stdout()));
        fit_tables(width.unwrap_or(0));
        Console {
            json: common.json,
            quiet: common.quiet,
            verbose: common.verbose > 0,
            mute: false,
            width,
            stderr_width: self::width(terminal_size_of(io::stderr())),
        }
    }

    /// A console for a member of a cluster that prints nothing.
    pub fn muted(self) -> Console {
        Console { mute: true, ..Console::silent() }
    }

    /// A console without warnings, notes and details.
    pub fn silent() -> Console {
        Console { json: false, quiet: true, verbose: false, mute: false, width: None, stderr_width: None }
    }

    /// Prints a result for people on stdout. Sentences wrap at the terminal width; tables fit it already.
    pub fn print(&self, text: &str) -> Outcome<()> {
        match self.width {
            Some(width) => self.print_verbatim(&wrap_prose(&visible(text), width)),
            None => self.print_verbatim(text),
        }
    }

    /// Prints without wrapping: text for other programs or for copying, such as scripts and commands.
    pub fn print_verbatim(&self, text: &str) -> Outcome<()> {
        if self.mute { Ok(()) } else { write(&visible(text)) }
    }

    /// Prints a result for programs on stdout: one object and a newline.
    pub fn print_json(&self, value: &impl Serialize) -> Outcome<()> {
        // JSON strings are already escaped.
        if self.mute { Ok(()) } else { write(&to_json(value)?) }
    }

    /// Prints an object on one line, after the output of another program. That output may lack a final newline, so
    /// this starts with one: the last line is the complete object.
    pub fn print_json_line(&self, value: &impl Serialize) -> Outcome<()> {
        let text = serde_json::to_string(value).map_err(|error| Failure::new(Exit::CheckFailed, error))?;
        write(&format!("\n{text}\n"))
    }

    /// Prints a warning about the result.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            self.print_err(&format!("warning: {text}"));
        }
    }

    /// Prints a detail, with --verbose.
    pub fn detail(&self, text: &str) {
        if self.verbose && !self.quiet {
            eprint_line(text);
        }
    }

    /// Prints a note on what was done, for example that a file was written.
    pub fn note(&self, text: &str) {
        if !self.quiet && !self.json {
            self.print_err(text);
        }
    }

    /// Prints on stderr. Sentences wrap at the width of its terminal.
    fn print_err(&self, text: &str) {
        match self.stderr_width {
            Some(width) => eprint_line(&wrap_prose(&visible(text), width)),
            None => eprint_line(text),
        }
    }

    pub fn may_show_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Whether long work may print progress lines without a terminal.
    pub fn may_write_lines(&self) -> bool {
        !self.quiet && !io::stderr().is_terminal()
    }

    /// Prints the error and returns the exit code.
    pub fn fail(&self, failure: &Failure) -> ExitCode {
        // One error is enough: a launcher may kill this process because another rank has exited.
        interrupt::silence();
        // The messages of the libraries include their causes, so only the outermost is printed.
        if !self.mute {
            print_error(&format!("error: {}", failure.error), self.stderr_width);
        }
        ExitCode::from(failure.exit as u8)
    }
}

/// Prints what the option parser says instead of returning arguments: help, the version, or an error. Returns the
/// exit code.
pub fn print_parser_message(error: &clap::Error) -> ExitCode {
    let is_help = !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help {
        // The parser has wrapped it. Nobody is left to read it if the pipe is closed.
        let _ = error.print();
    } else {
        print_error(error.render().to_string().trim_end(), width(terminal_size_of(io::stderr())));
    }
    code_of(error)
}

pub fn code_of(error: &clap::Error) -> ExitCode {
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8))
}

fn print_error(text: &str, width: Option<usize>) {
    match width {
        Some(width) => eprint_line(&wrap_error(&visible(text), width)),
        None => eprint_line(text),
    }
}

/// COLUMNS if it is set, else the width of a terminal.
fn width(terminal: Option<(Width, Height)>) -> Option<usize> {
    let stated = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let measured = terminal.map(|(Width(width), _)| usize::from(width));
    stated.or(measured).filter(|&width| width > 0)
}

pub fn to_json(value: &impl Serialize) -> Outcome<String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::new(Exit::CheckFailed, error))?;
    Ok(text + "\n")
}

fn write(text: &str) -> Outcome<()> {
    let mut out = io::stdout().lock();
    settle(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Ignores a pipe that its reader closed early, as `head` does.
fn settle(written: io::Result<()>) -> Outcome<()> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::bad_input(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a line on stderr, without control characters. Errors of stderr (a full disk, a closed pipe) are ignored;
/// `eprintln!` would panic.
pub fn eprint_line(line: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(line));
}
