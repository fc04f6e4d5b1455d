//! `straggler trace -o DIR -- COMMAND`: runs a command with the recording library loaded.
//!
//! The command owns the terminal: its input, output and exit code are its own, and messages of this program go to
//! stderr after it ends. With `--json`, a summary then goes to stdout as a single line, because an object over several
//! lines could not be separated from the output of the command.

use super::info::InfoAnswer;
use super::launch::{
    self, CALL_SITES_VARIABLE, FOLDER_VARIABLE, LIBRARY_VARIABLE, NO_COMMAND_LINE_VARIABLE, PRELOAD_VARIABLE,
};
use super::words;
use crate::args::trace::Record;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::inputs::trace;
use crate::inputs::trace::{Opened, open_trace};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use straggler_model::Time;
use straggler_report::numbers::{counted, significant};
use straggler_trace::profile::Profile;

/// The process id of the command, or one of the two values below.
static CHILD: AtomicI32 = AtomicI32::new(NONE);
/// It has not been started yet.
const NONE: i32 = 0;
/// It has ended.
const ENDED: i32 = -1;
/// A signal that arrived before the command was started.
static EARLY: AtomicI32 = AtomicI32::new(0);

pub fn run(typed: &Record, console: &Console) -> Outcome<()> {
    let [program, arguments @ ..] = typed.program.as_slice() else {
        return Err(Failure::usage(
            "give the command after `--`: straggler trace -o DIR -- mpirun -n 8 ./app",
        ));
    };
    let output = typed.output.as_deref().ok_or_else(|| {
        Failure::usage("give the folder for the streams: straggler trace -o DIR -- COMMAND")
    })?;
    let own = std::env::current_exe().unwrap_or_default();
    let library = launch::library(std::env::var_os(LIBRARY_VARIABLE), &own)?;
    let preload = launch::preload(&library, std::env::var_os(PRELOAD_VARIABLE))?;
    let existed = output.exists();
    let folder = launch::folder(output, typed.force)?;
    let mut command = Command::new(program);
    command.args(arguments).env(PRELOAD_VARIABLE, preload).env(FOLDER_VARIABLE, &folder);
    if typed.call_sites {
        command.env(CALL_SITES_VARIABLE, "1");
    }
    if typed.no_command_line {
        command.env(NO_COMMAND_LINE_VARIABLE, "1");
    }
    let child = start(&mut command, console).map_err(|fault| {
        if !existed {
            let _ = std::fs::remove_dir(output);
        }
        cannot_start(program, &fault)
    })?;
    let code = exit_code(wait(child)?);
    let summary = tell(output, code, console);
    if console.json
        && let Err(failure) = console.print_json_line(&summary)
    {
        // Only a warning: the exit code of the command matters more.
        console.warn(&failure.error.to_string());
    }
    end_as(code)
}

fn cannot_start(program: &OsString, fault: &std::io::Error) -> Failure {
    Failure::bad_input(format!("cannot start {}: {fault}", program.to_string_lossy()))
}

fn wait(mut child: Child) -> Outcome<ExitStatus> {
    CHILD.store(i32::try_from(child.id()).unwrap_or(NONE), Ordering::SeqCst);
    let early = EARLY.load(Ordering::SeqCst);
    if let Ok(signal) = Signal::try_from(early) {
        hand_on(signal);
    }
    let status = child.wait();
    CHILD.store(ENDED, Ordering::SeqCst);
    status.map_err(|fault| Failure::bad_input(format!("cannot wait for the command: {fault}")))
}

/// Starts the command, with a thread that forwards all signals to it: the command decides how to end.
///
/// A command inherits the blocked signals, so it is started by the only thread that does not block them. A signal at
/// that moment reaches a handler, which the command does not inherit, and is forwarded as SIGTERM.
fn start(command: &mut Command, console: &Console) -> std::io::Result<Child> {
    let mut signals = SigSet::empty();
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().for_each(|signal| signals.add(signal));
    if let Err(error) = signals.thread_block() {
        console.warn(&format!("cannot forward signals: {error}"));
        return command.spawn();
    }
    let _ = ctrlc::set_handler(|| hand_on(Signal::SIGTERM));
    std::thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            hand_on(signal);
        }
    });
    let spawn = || {
        let _ = signals.thread_unblock();
        command.spawn()
    };
    std::thread::scope(|scope| scope.spawn(spawn).join())
        .unwrap_or_else(|_| Err(std::io::Error::other("the thread that starts it has failed")))
}

fn hand_on(signal: Signal) {
    match CHILD.load(Ordering::SeqCst) {
        NONE => EARLY.store(signal as i32, Ordering::SeqCst),
        ENDED => std::process::exit(128 + signal as i32),
        // Ctrl-C at a terminal has already reached the command; a second one makes mpirun abort at once.
        _ if signal == Signal::SIGINT && has_terminal() => {}
        child => drop(kill(Pid::from_raw(child), signal)),
    }
}

fn has_terminal() -> bool {
    std::io::stdin().is_terminal() || std::io::stderr().is_terminal()
}

/// Like a shell: the exit code of the command, or 128 plus the number of the signal that ended it.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

fn end_as(code: i32) -> Outcome<()> {
    match code {
        0 => Ok(()),
        // Exits directly: this is the code of the command, not one of the documented codes of this program.
        code => std::process::exit(code),
    }
}

/// The recording as JSON.
#[derive(Serialize)]
struct Summary {
    folder: String,
    /// Exit code of the command, or 128 plus the number of the signal that ended it.
    exit_code: i32,
    /// One for each time the command started MPI.
    runs: Vec<RunSummary>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct RunSummary {
    trace: String,
    sentence: String,
    processes: u32,
    calls: u64,
    records: u64,
    length_seconds: f64,
    bytes: Option<u64>,
    bytes_per_call: Option<f64>,
    clock_error_seconds: Option<f64>,
    unknown: BTreeMap<String, u64>,
    /// Ranks that did not call MPI_Finalize.
    unfinished: usize,
    /// Errors in the streams; `straggler trace check` lists them.
    errors: usize,
}

/// Reports the recording, one sentence per run.
fn tell(output: &Path, exit_code: i32, console: &Console) -> Summary {
    let folder = output.display().to_string();
    let mut summary = Summary { folder, exit_code, runs: Vec::new(), warnings: Vec::new() };
    let runs = trace::runs(output);
    if runs.is_empty() {
        summary.warnings.push(nothing_recorded(output));
    }
    for (folder, _) in runs {
        match open_trace(&folder) {
            Ok(opened) => {
                let run = run_summary(&folder, &opened);
                console.note(&run.sentence);
                summary.warnings.extend(opened.warnings(&folder));
                summary.runs.push(run);
            }
            Err(failure) => summary.warnings.push(failure.error.to_string()),
        }
    }
    summary.warnings.iter().for_each(|warning| console.warn(warning));
    summary
}

fn run_summary(folder: &Path, opened: &Opened) -> RunSummary {
    let answer = InfoAnswer::of(folder, opened, &Profile::of(&opened.trace));
    RunSummary {
        sentence: sentence(&answer),
        unfinished: opened.findings.iter().filter(|finding| finding.is_about_the_end()).count(),
        trace: answer.trace,
        processes: answer.processes,
        calls: answer.calls,
        records: answer.records,
        length_seconds: answer.length_seconds,
        bytes: answer.bytes,
        bytes_per_call: answer.bytes_per_call,
        clock_error_seconds: answer.clock_error_seconds,
        unknown: answer.unknown,
        errors: answer.errors,
    }
}

/// "Recorded 8 ranks, 12,345 calls in 3.2 s, at 7.9 bytes a call, in run; the clocks agree to 1.1 µs."
fn sentence(answer: &InfoAnswer) -> String {
    let mut text = format!(
        "Recorded {}, {} in {}",
        counted(answer.processes.into(), "rank", "ranks"),
        counted(answer.calls, "call", "calls"),
        straggler_report::numbers::seconds(answer.length_seconds)
    );
    if let Some(per_call) = answer.bytes_per_call {
        text += &format!(", {} bytes per call", significant(per_call));
    }
    text += &format!(", in {}", answer.trace);
    if !answer.unknown.is_empty() {
        text += &format!("; not understood: {}", words::not_understood(&answer.unknown));
    }
    match answer.clock_error_seconds {
        Some(error) => text + &format!("; the clocks agree to {}.", Time((error * 1e12).round() as u64)),
        None => text + "; the clock error is unknown.",
    }
}

fn nothing_recorded(output: &Path) -> String {
    if !output.exists() {
        return format!(
            "{} no longer exists: it was removed while the command ran, and the streams with it",
            output.display()
        );
    }
    format!(
        "nothing was recorded in {}: no process called MPI_Init with the recorder loaded. Possible \
         causes:- the command does not call MPI- MPI is linked statically: link it dynamically- the \
         program is set-uid or has capabilities, for which the system ignores {PRELOAD_VARIABLE}: run a \
         plain copy- it ran on other nodes: they need the library and the folder at the same paths, and \
         the variables: `mpirun -x {PRELOAD_VARIABLE} -x {FOLDER_VARIABLE}` of Open MPI passes them on, \
         `-genvlist {PRELOAD_VARIABLE},{FOLDER_VARIABLE}` of MPICH- the command clears its environment: \
         set both variables inside it",
        output.display()
    )
}
