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
        *output = Some(Output { file, sequence: 0, process });
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
    OUTPUT.try_lock().is_ok_and(|output| output.as_ref().is_some_and(|output| output.process == process))
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
        while !rest.is_empty() {
            // SAFETY: the slice is valid for its length.
            let written = unsafe { libc::write(self.file, rest.as_ptr().cast::<c_void>(), rest.len()) };
            match usize::try_from(written) {
                Ok(0) => return,
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}
