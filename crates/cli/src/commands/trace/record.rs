//! `straggler trace -o DIR -- COMMAND`: runs a command with the recording library in it.
//!
//! The command owns the terminal: its input, output and exit code are its own, and what is said here goes to stderr
//! when it has ended. With `--json` a summary goes to stdout then, as one line behind everything the command wrote: an
//! object over several lines could not be told from it.

use super::info::Answer;
use super::launch::{self, FOLDER_VARIABLE, LIBRARY_VARIABLE, NO_COMMAND_LINE_VARIABLE, PRELOAD_VARIABLE};
use super::{Opened, open_trace, words};
use crate::args::trace::Record;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
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

/// The command that runs, or one of the two below.
static CHILD: AtomicI32 = AtomicI32::new(NONE);
/// It has not been started yet.
const NONE: i32 = 0;
/// It has ended.
const ENDED: i32 = -1;
/// A signal that came before the command was there.
static EARLY: AtomicI32 = AtomicI32::new(0);

pub fn run(typed: &Record, console: &Console) -> Outcome<()> {
    let [program, arguments @ ..] = typed.program.as_slice() else {
        return Err(Failure::usage(
            "give what to run behind `--`: straggler trace -o DIR -- mpirun -n 8 ./app",
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
        // The command's own code matters more.
        console.warn(&failure.error.to_string());
    }
    end_as(code)
}

fn cannot_start(program: &OsString, fault: &std::io::Error) -> Failure {
    Failure::bad_input(format!("{} cannot be started: {fault}", program.to_string_lossy()))
}

fn wait(mut child: Child) -> Outcome<ExitStatus> {
    CHILD.store(i32::try_from(child.id()).unwrap_or(NONE), Ordering::SeqCst);
    let early = EARLY.load(Ordering::SeqCst);
    if let Ok(signal) = Signal::try_from(early) {
        hand_on(signal);
    }
    let status = child.wait();
    CHILD.store(ENDED, Ordering::SeqCst);
    status.map_err(|fault| Failure::bad_input(format!("the command cannot be waited for: {fault}")))
}

/// Starts the command, with a thread beside it that takes all signals and hands them on: the command decides.
///
/// A command inherits which signals are blocked, so it is started by the only thread that has them open. What comes
/// in that moment meets a handler, which the command does not inherit, and is handed on as a request to end.
fn start(command: &mut Command, console: &Console) -> std::io::Result<Child> {
    let mut signals = SigSet::empty();
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().for_each(|signal| signals.add(signal));
    if let Err(error) = signals.thread_block() {
        console.warn(&format!("signals cannot be handed on: {error}"));
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
        // Ctrl-C at a terminal has reached the command already; two of them make mpirun give up at once.
        _ if signal == Signal::SIGINT && has_terminal() => {}
        child => drop(kill(Pid::from_raw(child), signal)),
    }
}

fn has_terminal() -> bool {
    std::io::stdin().is_terminal() || std::io::stderr().is_terminal()
}

/// As a shell would: the command's code, or 128 and the number of the signal that ended it.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

fn end_as(code: i32) -> Outcome<()> {
    match code {
        0 => Ok(()),
        // The documented codes are for what this program does; this one is somebody else's.
        code => std::process::exit(code),
    }
}

/// What was recorded, for programs.
#[derive(Serialize)]
struct Summary {
    folder: String,
    /// Of the command, or 128 and the number of the signal that ended it.
    exit_code: i32,
    /// One for each time that the command started MPI.
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
    /// Ranks that did not end by MPI_Finalize.
    unfinished: usize,
    /// Faults of the streams; `straggler trace check` lists them.
    errors: usize,
}

/// What was recorded, in a sentence a run.
fn tell(output: &Path, exit_code: i32, console: &Console) -> Summary {
    let folder = output.display().to_string();
    let mut summary = Summary { folder, exit_code, runs: Vec::new(), warnings: Vec::new() };
    let runs = launch::runs(output);
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
    let answer = Answer::of(folder, opened, &Profile::of(&opened.trace));
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
fn sentence(answer: &Answer) -> String {
    let mut text = format!(
        "Recorded {}, {} in {}",
        counted(answer.processes.into(), "rank", "ranks"),
        counted(answer.calls, "call", "calls"),
        straggler_report::numbers::seconds(answer.length_seconds)
    );
    if let Some(per_call) = answer.bytes_per_call {
        text += &format!(", at {} bytes a call", significant(per_call));
    }
    text += &format!(", in {}", answer.trace);
    if !answer.unknown.is_empty() {
        text += &format!("; not understood: {}", words::not_understood(&answer.unknown));
    }
    match answer.clock_error_seconds {
        Some(error) => text + &format!("; the clocks agree to {}.", Time((error * 1e12).round() as u64)),
        None => text + "; how far the clocks are off is not known.",
    }
}

fn nothing_recorded(output: &Path) -> String {
    if !output.exists() {
        return format!(
            "{} is not there any more: something has removed it while the command ran, and the streams with it",
            output.display()
        );
    }
    format!(
        "nothing was recorded in {}: no process called MPI_Init with the recorder loaded. Reasons may be:
  - the command makes no call of MPI
  - MPI is linked statically: link it dynamically
  - the program is set-uid or has capabilities, for which the system ignores {PRELOAD_VARIABLE}: run a plain copy
  - it ran on other nodes: they need the library and the folder at the same paths, and the variables: `mpirun -x \
         {PRELOAD_VARIABLE} -x {FOLDER_VARIABLE}` of Open MPI hands them on, `-genvlist {PRELOAD_VARIABLE},{FOLDER_VARIABLE}` \
         of MPICH
  - the command cleans its environment: set both variables inside of it",
        output.display()
    )
}
