//! Ctrl-C. While an engine runs or a file is being written, the signal only raises a flag and the
//! stage ends in order; at any other time, and at the second signal, the program ends at once. A file
//! that is being written then still has its temporary name.

use crate::exit::{Exit, Failure, Outcome};
use crate::stderr::tell;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use straggler_measure::sources::tracefs;

static STOP: AtomicBool = AtomicBool::new(false);
static ORDERLY: AtomicU32 = AtomicU32::new(0);

static LISTENS: AtomicBool = AtomicBool::new(false);
static SILENT: AtomicBool = AtomicBool::new(false);

/// Says nothing when a signal ends the program: another member of a cluster speaks, and launchers end all members when one has
/// failed.
pub fn say_nothing() {
    SILENT.store(true, Ordering::Relaxed);
}

/// Starts to listen, once. Without a handler the system's default holds, which is good enough.
pub fn listen() {
    if LISTENS.swap(true, Ordering::Relaxed) {
        return;
    }
    let handler = || {
        let again = STOP.swap(true, Ordering::Relaxed);
        if again || ORDERLY.load(Ordering::Relaxed) == 0 {
            if !SILENT.load(Ordering::Relaxed) {
                tell("error: interrupted");
            }
            // The kernel goes on tracing if nobody tells it to stop.
            tracefs::stop_own();
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        tell(&format!("warning: cannot handle signals: {error}"));
    }
}

/// The flag that engines look at.
pub fn flag() -> &'static AtomicBool {
    &STOP
}

/// An error once a signal has come.
pub fn check() -> Outcome<()> {
    if STOP.load(Ordering::Relaxed) { Err(Failure::interrupted()) } else { Ok(()) }
}

/// What became of a write: one that failed because of a signal has its own exit code. One that was
/// complete before the signal could stop it stays.
pub fn or_interrupted<T, E: Into<Failure>>(written: Result<T, E>) -> Outcome<T> {
    written.map_err(|error| check().err().unwrap_or_else(|| error.into()))
}

/// Hands bytes on until a signal comes, then fails.
#[derive(Debug)]
pub struct Interruptible<W>(pub W);

impl<W: Write> Write for Interruptible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        go_on()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        go_on()?;
        self.0.flush()
    }
}

/// Not `ErrorKind::Interrupted`, after which a write is tried again.
fn go_on() -> io::Result<()> {
    if STOP.load(Ordering::Relaxed) { Err(io::Error::other("interrupted")) } else { Ok(()) }
}

/// As long as it lives, a signal only raises the flag.
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
