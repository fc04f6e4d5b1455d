//! The terminal: results go to stdout, everything else to stderr. All colours are chosen here.

use crate::args::Common;
use crate::kernel::defaults::{self, Setting};
use crate::kernel::prelude::*;
use clap::{ColorChoice, error::ErrorKind};
use std::io::{self, IsTerminal, Write};
use std::{ffi::OsString, process::ExitCode};
use straggler_mpi::Launcher;
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
    /// Whether stdout and stderr show colours.
    colour: [bool; 2],
}

const BOLD: &str = "1";
const RED: &str = "1;31";
const YELLOW: &str = "33";

fn paint(style: &str, text: &str) -> String {
    format!("\x1b[{style}m{text}\x1b[0m")
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
            colour: [io::stdout().is_terminal(), io::stderr().is_terminal()]
                .map(|is_terminal| has_colour(common.color, is_terminal)),
        }
    }

    /// A console for a member of a cluster that prints nothing.
    pub fn muted(self) -> Console {
        Console { mute: true, ..Console::silent() }
    }

    /// A console without warnings, notes and details.
    pub fn silent() -> Console {
        let (width, stderr_width, colour) = (None, None, [false; 2]);
        Console { json: false, quiet: true, verbose: false, mute: false, width, stderr_width, colour }
    }

    /// Prints a result for people on stdout. Sentences wrap at the terminal width; tables fit it already. The first line is
    /// the answer if it is a sentence: it is bold.
    pub fn print(&self, text: &str) -> Outcome<()> {
        let text = visible(text);
        let wrapped = |text: &str| self.width.map_or_else(|| text.into(), |width| wrap_prose(text, width));
        let (first, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
        let answer = wrapped(first);
        let answer = if self.colour[0] && is_sentence(first) { paint(BOLD, &answer) } else { answer };
        if self.mute { Ok(()) } else { write(&(answer + &wrapped(rest))) }
    }

    /// Whether details are printed, too.
    pub fn is_verbose(&self) -> bool {
        self.verbose
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
            self.print_err(&format!("warning: {text}"), YELLOW);
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
            self.print_err(text, "");
        }
    }

    /// Prints on stderr. Sentences wrap at the width of its terminal; the word before the first colon has the colour.
    fn print_err(&self, text: &str, colour: &str) {
        let wrap = |width| wrap_prose(&visible(text), width);
        print_labelled(&self.stderr_width.map_or_else(|| visible(text).into(), wrap), colour, self.colour[1]);
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
        let text = failure.error.to_string();
        if !self.mute {
            print_error(&format!("error: {text}"), self.stderr_width, self.colour[1]);
            defaults::mentioned(&text).for_each(|setting| self.note(&format!("{setting}")));
        }
        ExitCode::from(failure.exit as u8)
    }
}

/// The value of --color in a command line that is not parsed yet.
pub fn typed_color(words: &[OsString]) -> ColorChoice {
    let mut texts = words.iter().filter_map(|word| word.to_str());
    while let Some(word) = texts.next() {
        let value = if word == "--color" { texts.next() } else { word.strip_prefix("--color=") };
        if let Some(choice) = value.and_then(|value| ColorChoice::from_str(value, false).ok()) {
            return choice;
        }
    }
    ColorChoice::Auto
}

/// Prints an error that comes before the options are known. Returns the exit code.
pub fn fail_early(failure: &Failure, color: ColorChoice) -> ExitCode {
    let has_colour = has_colour(color, io::stderr().is_terminal());
    print_error(&format!("error: {}", failure.error), width(terminal_size_of(io::stderr())), has_colour);
    ExitCode::from(failure.exit as u8)
}

/// Whether to print colours: by default on a terminal, unless its environment says otherwise.
fn has_colour(choice: ColorChoice, is_terminal: bool) -> bool {
    let is_set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            // A launcher may give its ranks a terminal of their own, and pass on what they print to a file.
            let is_own = is_terminal && Launcher::of_this_process().rank.is_none();
            is_own && is_set("NO_COLOR").is_none() && is_set("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

fn is_sentence(line: &str) -> bool {
    !line.starts_with(' ') && line.ends_with(['.', ':', '!', '?'])
}

/// Prints what the option parser says instead of returning arguments: help, the version, or an error. Returns the
/// exit code.
pub fn print_parser_message(error: &clap::Error, color: ColorChoice) -> ExitCode {
    let is_help = !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help {
        // The parser has wrapped it. Nobody is left to read it if the pipe is closed.
        let _ = error.print();
    } else {
        let has_colour = has_colour(color, io::stderr().is_terminal());
        print_error(error.render().to_string().trim_end(), width(terminal_size_of(io::stderr())), has_colour);
    }
    code_of(error)
}

pub fn code_of(error: &clap::Error) -> ExitCode {
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8))
}

fn print_error(text: &str, width: Option<usize>, has_colour: bool) {
    let wrap = |width| wrap_error(&visible(text), width);
    print_labelled(&width.map_or_else(|| visible(text).into(), wrap), RED, has_colour);
}

/// Prints a text on stderr, whose first word, a label, may have a colour.
fn print_labelled(text: &str, colour: &str, has_colour: bool) {
    match text.split_once(':').filter(|_| has_colour && !colour.is_empty()) {
        Some((label, rest)) => eprint_raw(&format!("{}{rest}", paint(colour, &format!("{label}:")))),
        None => eprint_raw(text),
    }
}

/// COLUMNS if it is set, else the width of a terminal.
fn width(terminal: Option<(Width, Height)>) -> Option<usize> {
    let stated = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let measured = terminal.map(|(Width(width), _)| usize::from(width));
    stated.or(measured).filter(|&width| width > 0)
}

/// A result with the defaults that it used.
#[derive(Serialize)]
struct WithDefaults<'a, T> {
    #[serde(flatten)]
    result: &'a T,
    defaults: &'a [Setting],
}

pub fn to_json(result: &impl Serialize) -> Outcome<String> {
    let defaults = defaults::used();
    let text = match defaults.is_empty() {
        true => serde_json::to_string_pretty(result),
        // Only an object can hold them.
        false => serde_json::to_string_pretty(&WithDefaults { result, defaults })
            .or_else(|_| serde_json::to_string_pretty(result)),
    };
    text.map(|text| text + "\n").map_err(|error| Failure::new(Exit::CheckFailed, error))
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

/// Prints a line on stderr, without control characters.
pub fn eprint_line(line: &str) {
    eprint_raw(&visible(line));
}

/// Errors of stderr (a full disk, a closed pipe) are ignored; `eprintln!` would panic.
fn eprint_raw(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
