//! Messages that own their buffers while they are under way, however long that takes.

use super::{check, nothing};
use mpi::ffi::{self, MPI_Message, MPI_Request};
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use std::ffi::c_int;
use std::mem::ManuallyDrop;

/// A message being sent or received. If it is dropped before it has completed, its bytes are never freed.
#[derive(Debug)]
pub struct Letter {
    request: MPI_Request,
    complete: bool,
    bytes: ManuallyDrop<Vec<u8>>,
    /// Number of bytes to receive; 0 for a message that is sent.
    expected: usize,
    /// The sender, or the receiver.
    pub peer: u32,
    pub tag: i32,
}

impl Letter {
    fn new(bytes: Vec<u8>, expected: usize, peer: u32, tag: i32) -> Letter {
        // SAFETY: a constant of MPI.
        let request = unsafe { ffi::RSMPI_REQUEST_NULL };
        Letter { request, complete: false, bytes: ManuallyDrop::new(bytes), expected, peer, tag }
    }

    /// Begins to send bytes; completes when the receiver has begun to receive them.
    pub fn send(world: &SimpleCommunicator, bytes: Vec<u8>, to: u32, tag: i32) -> super::Result<Letter> {
        let count = super::counted_bytes("a send", bytes.len())?;
        let mut letter = Letter::new(bytes, 0, to, tag);
        let from = letter.bytes.as_ptr().cast();
        // SAFETY: the letter owns the bytes, which stay where they are, until the send has completed.
        let code = unsafe {
            let kind = ffi::RSMPI_UINT8_T;
            ffi::MPI_Issend(from, count, kind, to as c_int, tag, world.as_raw(), &mut letter.request)
        };
        check("MPI_Issend", code)?;
        Ok(letter)
    }

    /// Begins to receive a message that has arrived, if there is one.
    pub fn arriving(world: &SimpleCommunicator) -> super::Result<Option<Letter>> {
        let (mut flag, mut status, mut count): (c_int, _, c_int) = (0, nothing(), 0);
        // SAFETY: handles and numbers are written by MPI before they are read.
        unsafe {
            let mut message: MPI_Message = ffi::RSMPI_MESSAGE_NULL;
            let (any, all) = (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_ANY_TAG);
            let code = ffi::MPI_Improbe(any, all, world.as_raw(), &mut flag, &mut message, &mut status);
            check("MPI_Improbe", code)?;
            if flag == 0 {
                return Ok(None);
            }
            check("MPI_Get_count", ffi::MPI_Get_count(&status, ffi::RSMPI_UINT8_T, &mut count))?;
            let expected = usize::try_from(count).unwrap_or(0);
            let peer = u32::try_from(status.MPI_SOURCE).unwrap_or(0);
            let mut letter = Letter::new(Vec::with_capacity(expected), expected, peer, status.MPI_TAG);
            let into = letter.bytes.as_mut_ptr().cast();
            // The letter owns the bytes, exactly as many as arrive, until the receive has completed.
            let code = ffi::MPI_Imrecv(into, count, ffi::RSMPI_UINT8_T, &mut message, &mut letter.request);
            check("MPI_Imrecv", code)?;
            Ok(Some(letter))
        }
    }

    /// Tests whether the operation has completed.
    pub fn test(&mut self) -> super::Result<bool> {
        if self.complete {
            return Ok(true);
        }
        let (mut flag, mut status): (c_int, _) = (0, nothing());
        // SAFETY: the request is of an operation that has not completed.
        check("MPI_Test", unsafe { ffi::MPI_Test(&mut self.request, &mut flag, &mut status) })?;
        if flag != 0 {
            self.complete = true;
            if self.expected > 0 {
                // SAFETY: the buffer has this capacity, and MPI has written all of these bytes.
                unsafe { self.bytes.set_len(self.expected) };
            }
        }
        Ok(self.complete)
    }

    /// The bytes received; empty before the operation has completed.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        if self.complete { std::mem::take(&mut *self.bytes) } else { Vec::new() }
    }
}

impl Drop for Letter {
    fn drop(&mut self) {
        if self.complete {
            // SAFETY: dropped only here, and MPI no longer uses them.
            unsafe { ManuallyDrop::drop(&mut self.bytes) };
        }
    }
}
