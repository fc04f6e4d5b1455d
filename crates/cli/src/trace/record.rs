//! `straggler trace record -o DIR -- COMMAND`: runs a command with the recording library loaded.
//!
//! The command owns the terminal: its input, output and exit code are its own, and messages of this program go to
//! stderr after it ends. With `--json`, a summary then goes to stdout as a single line, because an object over several
//! lines could not be separated from the output of the command.

use crate::kernel::prelude::*;
use crate::trace::file::{self, Opened, open_trace, runs};
use crate::trace::{Record, words};
use crate::{kernel::pages::make_folder, trace::info::InfoAnswer};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use std::ffi::{OsStr, OsString};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::{collections::BTreeMap, io::IsTerminal, os::unix::ffi::OsStrExt, os::unix::process::ExitStatusExt};
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
            "give the command after `--`: straggler trace record -o DIR -- mpirun -n 8 ./app",
        ));
    };
    let output = typed.output.as_deref().ok_or_else(|| {
        Failure::usage("give the folder for the streams: straggler trace record -o DIR -- COMMAND")
    })?;
    let own = std::env::current_exe().unwrap_or_default();
    let library = library(std::env::var_os(LIBRARY_VARIABLE), &own)?;
    let preload = preload(&library, std::env::var_os(PRELOAD_VARIABLE))?;
    let existed = output.exists();
    let folder = folder(output, typed.force)?;
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
    let summary = report_written(output, code, console);
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
fn report_written(output: &Path, exit_code: i32, console: &Console) -> Summary {
    let folder = output.display().to_string();
    let mut summary = Summary { folder, exit_code, runs: Vec::new(), warnings: Vec::new() };
    let runs = file::runs(output);
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
    let answer = InfoAnswer::new(folder, opened, &Profile::new(&opened.trace));
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
        "nothing was recorded in {}: no process called MPI_Init with the recorder loaded. Possible causes:\n  \
         - the command does not call MPI\n  \
         - MPI is linked statically: link it dynamically\n  \
         - the program is set-uid or has capabilities, for which the system ignores {PRELOAD_VARIABLE}: run a plain \
         copy\n  \
         - it ran on other nodes: they need the library and the folder at the same paths, and the variables: `mpirun \
         -x {PRELOAD_VARIABLE} -x {FOLDER_VARIABLE}` of Open MPI passes them on, `-genvlist \
         {PRELOAD_VARIABLE},{FOLDER_VARIABLE}` of MPICH\n  \
         - the command clears its environment: set both variables inside it",
        output.display()
    )
}

/// The recording library.
const LIBRARY: &str = "libstraggler_tracer.so";
/// Variable with the path of the library.
const LIBRARY_VARIABLE: &str = "STRAGGLER_TRACER";
/// Variable with the folder of the streams.
const FOLDER_VARIABLE: &str = "STRAGGLER_TRACE_DIR";
const PRELOAD_VARIABLE: &str = "LD_PRELOAD";
/// Variable that disables recording of arguments.
const NO_COMMAND_LINE_VARIABLE: &str = "STRAGGLER_NO_COMMAND_LINE";

/// Variable that enables recording of call sites.
const CALL_SITES_VARIABLE: &str = "STRAGGLER_CALL_SITES";

/// The path of the library: from the variable, else beside the program or in `../lib`.
fn library(named: Option<OsString>, program: &Path) -> Outcome<PathBuf> {
    if let Some(named) = named {
        let named = PathBuf::from(named);
        return named.canonicalize().map_err(|fault| {
            Failure::bad_input(format!(
                "{LIBRARY_VARIABLE}={}: {fault}; set it to the path of {LIBRARY}, or unset it",
                named.display()
            ))
        });
    }
    let beside = program.parent().unwrap_or(Path::new("."));
    let places = [beside.join(LIBRARY), beside.join("../lib").join(LIBRARY)];
    places.iter().find_map(|place| place.canonicalize().ok()).ok_or_else(|| {
        Failure::bad_input(format!(
            "the recording library {LIBRARY} is neither in {} nor in ../lib: build it with `cargo build -p \
             straggler-tracer` (with --release if this program was), or set {LIBRARY_VARIABLE} to its path",
            beside.display()
        ))
    })
}

/// The value of LD_PRELOAD: the library, then the existing entries.
fn preload(library: &Path, existing: Option<OsString>) -> Outcome<OsString> {
    // The loader splits its list at both characters and has no quoting.
    if library.as_os_str().as_bytes().iter().any(|byte| b": ".contains(byte)) {
        return Err(Failure::bad_input(format!(
            "{}: {PRELOAD_VARIABLE} does not accept a path with a space or a colon; copy the library \
             elsewhere and set {LIBRARY_VARIABLE} to its path",
            library.display()
        )));
    }
    let mut value = library.as_os_str().to_owned();
    if let Some(existing) = existing.filter(|existing| !existing.is_empty()) {
        value.push(OsStr::new(":"));
        value.push(existing);
    }
    Ok(value)
}

/// Creates the folder and returns its full path. Existing streams are an error, or are removed with `force`.
fn folder(path: &Path, force: bool) -> Outcome<PathBuf> {
    make_folder(path)?;
    let folder = path.canonicalize().map_err(|fault| unreadable(path, &fault))?;
    let old = runs(&folder);
    if !old.is_empty() && !force {
        let count: usize = old.iter().map(|(_, files)| files.len()).sum();
        return Err(Failure::bad_input(format!(
            "{}: {count} streams of an earlier run are in the folder; use another -o, or --force to remove \
             them",
            path.display()
        )));
    }
    for (place, files) in old {
        for file in files {
            std::fs::remove_file(&file)
                .map_err(|fault| Failure::bad_input(format!("cannot remove {}: {fault}", file.display())))?;
        }
        // Removes the empty folder of a run; one with other files stays.
        if place != folder {
            let _ = std::fs::remove_dir(&place);
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_comes_first_and_keeps_what_was_there() {
        let library = Path::new("/opt/lib/libstraggler_tracer.so");
        assert_eq!(preload(library, None).unwrap(), "/opt/lib/libstraggler_tracer.so");
        assert_eq!(preload(library, Some("".into())).unwrap(), "/opt/lib/libstraggler_tracer.so");
        let both = preload(library, Some("/lib/other.so".into())).unwrap();
        assert_eq!(both, "/opt/lib/libstraggler_tracer.so:/lib/other.so");
        assert!(preload(Path::new("/my programs/x.so"), None).is_err());
    }

    #[test]
    fn the_library_is_found_beside_the_program_and_in_lib() {
        let root = tempfile::tempdir().unwrap();
        let (bin, lib) = (root.path().join("bin"), root.path().join("lib"));
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(&lib).unwrap();
        let program = bin.join("straggler");
        assert!(
            library(None, &program)
                .unwrap_err()
                .error
                .to_string()
                .contains("cargo build -p straggler-tracer")
        );
        std::fs::write(lib.join(LIBRARY), "").unwrap();
        let found = library(None, &program).unwrap();
        assert_eq!(found, lib.join(LIBRARY).canonicalize().unwrap());
        std::fs::write(bin.join(LIBRARY), "").unwrap();
        assert_eq!(library(None, &program).unwrap(), bin.join(LIBRARY).canonicalize().unwrap());
        assert_eq!(library(Some(found.clone().into()), &program).unwrap(), found);
        assert!(library(Some("/no/such.so".into()), &program).is_err());
    }

    #[test]
    fn force_removes_streams_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        std::fs::create_dir_all(run.join("second")).unwrap();
        for name in ["rank-000000.trace", "notes.txt", "mine.trace", "second/rank-000000.trace"] {
            std::fs::write(run.join(name), "x").unwrap();
        }
        assert!(folder(&run, false).unwrap_err().error.to_string().contains("2 streams"));
        folder(&run, true).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()).collect();
        left.sort();
        assert_eq!(left, [run.join("mine.trace"), run.join("notes.txt")]);
    }
}
