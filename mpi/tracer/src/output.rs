//! Writes the stream: one file per rank, block by block, each with one write.

use crate::clock;
use libc::{c_int, c_void};
use std::ffi::CString;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;
use straggler_trace::format::block::{BlockKind, Header};
use straggler_trace::format::end as end_keys;
use straggler_trace::format::write::{CallBlock, Pairs};

/// The open file and what has been written.
#[derive(Debug)]
struct Output {
    file: c_int,
    sequence: u32,
    /// The process that opened the file: a forked child must not write into its parent's stream.
    process: i32,
    /// The size of all blocks so far.
    written: i64,
    /// Whether a write has failed: nothing that followed half a block could be read.
    failed: bool,
}

static OUTPUT: Mutex<Option<Output>> = Mutex::new(None);

/// Creates a new file; fails if it exists.
pub fn create(path: &Path) -> std::io::Result<c_int> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero. The mode keeps command lines and host names private.
    let file = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    if file < 0 { Err(std::io::Error::last_os_error()) } else { Ok(file) }
}

/// Directs the stream to this file from now on.
pub fn begin(file: c_int) {
    // SAFETY: getpid takes nothing and cannot fail.
    let process = unsafe { libc::getpid() };
    if let Ok(mut output) = OUTPUT.lock() {
        *output = Some(Output { file, sequence: 0, process, written: 0, failed: false });
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
        let header = output.header(block.kind(), thread);
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

/// Whether the stream is open, belongs to this process and is not being written to. A signal may
/// have ended the process in the middle of a write, and waiting for that would take forever.
pub fn is_free() -> bool {
    // SAFETY: getpid takes nothing and cannot fail.
    let process = unsafe { libc::getpid() };
    // Another thread may be writing for a moment.
    let free = (0..10_000).find_map(|_| {
        std::hint::spin_loop();
        OUTPUT.try_lock().ok()
    });
    free.is_some_and(|output| output.as_ref().is_some_and(|output| output.process == process))
}

fn with(write: impl FnOnce(&mut Output)) {
    let Ok(mut output) = OUTPUT.lock() else { return };
    // SAFETY: getpid takes nothing and cannot fail.
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

    /// Writes bytes. A full disk loses the rest of the trace, never the program.
    fn write(&mut self, bytes: &[u8]) {
        if self.failed {
            return;
        }
        match write_all(self.file, bytes) {
            Ok(()) => self.written += bytes.len() as i64,
            Err(fault) => self.end_early(&fault),
        }
    }

    /// Replaces the block that did not fit by one that says why: without it, the process would look killed.
    #[cold]
    fn end_early(&mut self, fault: &std::io::Error) {
        self.failed = true;
        // Not `eprintln!`, which panics if stderr is on the same full disk.
        let _ = writeln!(
            std::io::stderr(),
            "straggler: cannot write the stream any further ({fault}): later calls are not recorded"
        );
        // SAFETY: the file is ours and open.
        unsafe {
            libc::ftruncate(self.file, self.written);
            libc::lseek(self.file, self.written, libc::SEEK_SET);
        }
        self.sequence = self.sequence.wrapping_sub(1);
        let code = fault.raw_os_error().and_then(|code| u64::try_from(code).ok()).unwrap_or_default();
        let block = Pairs::new().number(end_keys::FAULT, code).finish(&self.header(BlockKind::End, 0));
        // If even this does not fit, the stream has no end.
        let _ = write_all(self.file, &block);
    }
}

fn write_all(file: c_int, mut rest: &[u8]) -> std::io::Result<()> {
    while !rest.is_empty() {
        match usize::try_from(write_quietly(file, rest)) {
            Ok(0) => return Err(std::io::Error::from_raw_os_error(libc::ENOSPC)),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(_) => {
                let fault = std::io::Error::last_os_error();
                if fault.kind() != std::io::ErrorKind::Interrupted {
                    return Err(fault);
                }
            }
        }
    }
    Ok(())
}

/// Writes with SIGXFSZ blocked: a write beyond the limit of a file's size is an error, not the end of the process.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use straggler_trace::format::read::{Ending, read};

    fn scratch_file(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("straggler-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    fn output(file: c_int) -> Output {
        Output { file, sequence: 0, process: 0, written: 0, failed: false }
    }

    #[test]
    fn streams_are_for_their_owner_alone() {
        let path = scratch_file("mode");
        create(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// Like after a block that only partly fitted onto the disk.
    #[test]
    fn a_stream_that_cannot_be_written_says_why() {
        let path = scratch_file("full");
        let mut output = output(create(&path).unwrap());
        let head = Pairs::new().number(straggler_trace::format::head::SIZE, 1);
        let block = head.finish(&output.header(BlockKind::Head, 0));
        output.write(&block);
        let lost = output.header(BlockKind::Calls, 0);
        write_all(output.file, &Pairs::new().finish(&lost)[..7]).unwrap();
        output.end_early(&std::io::Error::from_raw_os_error(libc::ENOSPC));
        output.write(&block);
        let (stream, _) = read(&std::fs::read(&path).unwrap(), 0);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(stream.ending, Some(Ending::Unwritable(libc::ENOSPC)));
        assert_eq!(stream.problems, []);
    }
}
