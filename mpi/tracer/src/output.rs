//! Where the stream goes: one file a rank, block after block, each by one write.

use crate::clock;
use libc::{c_int, c_void};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;
use straggler_trace::format::block::{BlockKind, Header};
use straggler_trace::format::write::{CallBlock, Pairs};

/// The open file and what has been written.
#[derive(Debug)]
struct Output {
    file: c_int,
    sequence: u32,
    /// The process that opened it: a child of a fork must not write into its parent's stream.
    process: i32,
    /// A write has failed: what would follow half a block is of no use.
    failed: bool,
}

static OUTPUT: Mutex<Option<Output>> = Mutex::new(None);

/// Makes a new file; fails if it is there.
pub fn create(path: &Path) -> std::io::Result<c_int> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero.
    let file = unsafe { libc::open(path.as_ptr(), flags, 0o644) };
    if file < 0 { Err(std::io::Error::last_os_error()) } else { Ok(file) }
}

/// Streams go into this file from now on.
pub fn begin(file: c_int) {
    // SAFETY: no conditions.
    let process = unsafe { libc::getpid() };
    if let Ok(mut output) = OUTPUT.lock() {
        *output = Some(Output { file, sequence: 0, process, failed: false });
    }
}

/// Writes a block of keys and values.
pub fn write_pairs(kind: BlockKind, pairs: Pairs) {
    with(|output| {
        let block = pairs.finish(&output.header(kind, 0));
        output.write(&block);
    });
}

/// Writes a thread's block and empties it.
pub fn write_calls(block: &mut CallBlock, thread: u32) {
    if block.is_empty() {
        return;
    }
    with(|output| {
        let header = output.header(BlockKind::Calls, thread);
        output.write(block.finish(header));
    });
    block.begin(block.time(), block.next_request());
}

/// Ends the stream.
pub fn end() {
    with(|output| {
        // SAFETY: the file is ours and open.
        unsafe { libc::close(output.file) };
    });
    if let Ok(mut output) = OUTPUT.lock() {
        *output = None;
    }
}

/// Whether the stream is open, belongs to this process and is not being written to: a signal may have ended the process in
/// the middle of a write, and waiting for that would be for ever.
pub fn is_free() -> bool {
    // SAFETY: no conditions.
    let process = unsafe { libc::getpid() };
    // Another thread may be at it for a moment.
    let free = (0..10_000).find_map(|_| {
        std::hint::spin_loop();
        OUTPUT.try_lock().ok()
    });
    free.is_some_and(|output| output.as_ref().is_some_and(|output| output.process == process))
}

fn with(write: impl FnOnce(&mut Output)) {
    let Ok(mut output) = OUTPUT.lock() else { return };
    // SAFETY: no conditions.
    let process = unsafe { libc::getpid() };
    if let Some(output) = output.as_mut().filter(|output| output.process == process) {
        write(output);
    }
}

impl Output {
    fn header(&mut self, kind: BlockKind, thread: u32) -> Header {
        let (ticks, clock_ns) = clock::anchor();
        let sequence = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        Header { kind, sequence, thread, ticks, clock_ns, base: 0 }
    }

    /// A full disk loses the rest of the trace, never the program.
    fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && !self.failed {
            let written = write_quietly(self.file, rest);
            match usize::try_from(written) {
                Ok(0) => self.failed = true,
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(_) => {
                    let why = std::io::Error::last_os_error().kind();
                    self.failed = why != std::io::ErrorKind::Interrupted;
                }
            }
        }
    }
}

/// A write beyond the limit of a file's size is an error, not the end of the process.
fn write_quietly(file: c_int, bytes: &[u8]) -> isize {
    // SAFETY: the sets are ours, the slice is valid for its length; the mask is put back as it was.
    unsafe {
        let (mut only, mut before): (libc::sigset_t, libc::sigset_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&raw mut only);
        libc::sigaddset(&raw mut only, libc::SIGXFSZ);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const only, &raw mut before);
        let written = libc::write(file, bytes.as_ptr().cast::<c_void>(), bytes.len());
        let error = *libc::__errno_location();
        if written < 0 && error == libc::EFBIG && libc::sigismember(&raw const before, libc::SIGXFSZ) == 0 {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&raw const only, std::ptr::null_mut(), &raw const now);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        *libc::__errno_location() = error;
        written
    }
}
