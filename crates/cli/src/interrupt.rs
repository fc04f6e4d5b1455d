//! Ctrl-C. While an engine runs or a file is being written, the signal only raises a flag and the
//! stage ends in order; at any other time the program ends at once.

use crate::exit::{Exit, Failure, Outcome};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
static ORDERLY: AtomicU32 = AtomicU32::new(0);

/// Starts to listen. Without a handler the system's default holds, which is good enough.
pub fn listen(warn: impl FnOnce(&str)) {
    let handler = || {
        STOP.store(true, Ordering::Relaxed);
        if ORDERLY.load(Ordering::Relaxed) == 0 {
            eprintln!("error: interrupted");
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        warn(&format!("signals cannot be handled: {error}"));
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
