//! Round trips of a message over anything that can be read and written.

use crate::cores;
use crate::latency::Operation;
use std::io::{self, Read, Write};
use std::time::Duration;

/// A peer that does not answer for this long is given up.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Our end.
#[derive(Debug)]
pub struct RoundTrip<R, W> {
    reader: R,
    writer: W,
    message: Vec<u8>,
}

impl<R, W> RoundTrip<R, W> {
    pub fn new(reader: R, writer: W, size: u64) -> io::Result<RoundTrip<R, W>> {
        Ok(RoundTrip { reader, writer, message: message(size)? })
    }
}

impl<R: Read, W: Write> Operation for RoundTrip<R, W> {
    #[inline(always)]
    fn perform(&mut self) -> io::Result<()> {
        self.writer.write_all(&self.message)?;
        self.reader.read_exact(&mut self.message).map_err(|fault| match fault.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::new(
                fault.kind(),
                format!("the peer has not answered for {} s", PATIENCE.as_secs()),
            ),
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(fault.kind(), "the peer has closed the connection")
            }
            _ => fault,
        })
    }
}

/// Allocates a message; fails if there is not enough memory.
pub fn message(size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let size = usize::try_from(size).map_err(|_| too_large(size))?;
    bytes.try_reserve_exact(size).map_err(|_| too_large(size as u64))?;
    // Not zeros, whose pages would be mapped only when first touched.
    bytes.resize(size, 1);
    Ok(bytes)
}

fn too_large(size: u64) -> io::Error {
    let text =
        format!("not enough memory for {}: give a smaller --size", straggler_model::units::Bytes(size));
    io::Error::new(io::ErrorKind::OutOfMemory, text)
}

/// Starts the other end on a core; it answers until our end is closed.
pub fn answer_on<R, W>(core: u32, mut reader: R, mut writer: W, size: u64) -> io::Result<()>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let mut message = message(size)?;
    let answering = move || {
        // If it cannot be pinned, it answers from any core.
        let _ = cores::pin(core);
        while reader.read_exact(&mut message).and_then(|()| writer.write_all(&message)).is_ok() {}
    };
    std::thread::Builder::new().name("straggler-peer".into()).spawn(answering).map(drop)
}
