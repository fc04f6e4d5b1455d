//! System calls that do almost nothing: the cost of entering and leaving the kernel.

use super::{Ending, Session};
use crate::latency::Operation;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};

pub fn run(session: &mut Session<'_>) -> Ending {
    let (core, _) = session.two_cores();
    session.put(0, core);
    session.measure(session.labels("getpid"), core, || Ok(GetPid))?;
    session.measure(session.labels("clock_gettime"), core, || Ok(ClockGetTime))?;
    session.measure(session.labels("read of one byte"), core, || Ok(ReadByte(File::open("/dev/zero")?)))
}

struct GetPid;

impl Operation for GetPid {
    #[inline(always)]
    fn perform(&mut self) -> io::Result<()> {
        black_box(rustix::process::getpid());
        Ok(())
    }
}

/// The call itself, not the function of the vDSO that usually replaces it.
struct ClockGetTime;

impl Operation for ClockGetTime {
    #[inline(always)]
    fn perform(&mut self) -> io::Result<()> {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the kernel writes one timespec to the address, which is that of a local variable.
        #[allow(unsafe_code)]
        let failed =
            unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut now) } != 0;
        black_box(now.tv_nsec);
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

struct ReadByte(File);

impl Operation for ReadByte {
    #[inline(always)]
    fn perform(&mut self) -> io::Result<()> {
        self.0.read_exact(black_box(&mut [0]))
    }
}
