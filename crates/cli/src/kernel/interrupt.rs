//! Ctrl-C. While an engine runs, the signal only sets a flag and the stage ends in order; at any other time, and at the
//! second signal, the program exits at once. A file or folder that was being written is removed.

use crate::kernel::{Exit, Failure, Outcome, console::eprint_line};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use straggler_measure::sources::tracefs;
use straggler_model::replace::discard_all;

static STOP: AtomicBool = AtomicBool::new(false);
static ORDERLY: AtomicU32 = AtomicU32::new(0);

static LISTENS: AtomicBool = AtomicBool::new(false);
static SILENT: AtomicBool = AtomicBool::new(false);
static EXPECTED: AtomicBool = AtomicBool::new(false);

/// Suppresses the message when a signal ends the program: another member of the cluster prints the error, and
/// launchers kill all members when one has failed.
pub fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

/// A signal is the way to end this command, so it ends quietly and with success.
pub fn expect() {
    silence();
    EXPECTED.store(true, Ordering::Relaxed);
}

/// Installs the signal handler, once. If that fails, the system's default remains, which is good enough.
pub fn listen() {
    if LISTENS.swap(true, Ordering::Relaxed) {
        return;
    }
    let handler = || {
        let again = STOP.swap(true, Ordering::Relaxed);
        if again || ORDERLY.load(Ordering::Relaxed) == 0 {
            if !SILENT.load(Ordering::Relaxed) {
                eprint_line("error: interrupted");
            }
            // Otherwise the kernel would go on tracing.
            tracefs::stop_own();
            discard_all();
            let expected = EXPECTED.load(Ordering::Relaxed);
            std::process::exit(if expected { 0 } else { Exit::Interrupted as i32 });
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        eprint_line(&format!("warning: cannot handle signals: {error}"));
    }
}

/// The flag that engines poll.
pub fn flag() -> &'static AtomicBool {
    &STOP
}

/// Returns an error once a signal has arrived.
pub fn check() -> Outcome<()> {
    if STOP.load(Ordering::Relaxed) { Err(Failure::interrupted()) } else { Ok(()) }
}

/// Turns a write error into the exit code of an interruption if a signal has arrived. A write that
/// completed before the signal could stop it stands.
pub fn or_interrupted<T, E: Into<Failure>>(written: Result<T, E>) -> Outcome<T> {
    written.map_err(|error| check().err().unwrap_or_else(|| error.into()))
}

/// While this guard lives, the first signal only sets the flag.
#[derive(Debug)]
pub struct Orderly(());

impl Orderly {
    pub fn begin() -> Orderly {
        ORDERLY.fetch_add(1, Ordering::Relaxed);
        Orderly(())
    }
}

impl Drop for Orderly {
    fn drop(&mut self) {
        ORDERLY.fetch_sub(1, Ordering::Relaxed);
    }
}
