//! Messages that own their buffers while they are under way, however long that takes.

use super::call;
use crate::communicator::Communicator;
use crate::handles::{Slot, Status};
use crate::process::Mpi;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::rc::Rc;

/// A message being sent or received. If it is dropped before it has completed, its bytes are never freed.
#[derive(Debug)]
pub struct BufferedMessage {
    mpi: Rc<Mpi>,
    request: Slot,
    complete: bool,
    bytes: ManuallyDrop<Vec<u8>>,
    /// Number of bytes to receive; 0 for a message that is sent.
    expected: usize,
    /// The sender, or the receiver.
    pub peer: u32,
    pub tag: i32,
}

impl BufferedMessage {
    fn new(mpi: &Rc<Mpi>, bytes: Vec<u8>, expected: usize, peer: u32, tag: i32) -> BufferedMessage {
        let request = Slot::new(&mpi.abi, mpi.abi.request_null);
        let bytes = ManuallyDrop::new(bytes);
        BufferedMessage { mpi: mpi.clone(), request, complete: false, bytes, expected, peer, tag }
    }

    /// Begins to send bytes; completes when the receiver has begun to receive them.
    pub fn send(comm: &Communicator, bytes: Vec<u8>, to: u32, tag: i32) -> super::Result<BufferedMessage> {
        let Communicator { mpi, handle, .. } = comm;
        let count = super::counted_bytes("a send", bytes.len())?;
        let mut letter = BufferedMessage::new(mpi, bytes, 0, to, tag);
        let (from, request) = (letter.bytes.as_ptr().cast(), letter.request.out());
        // SAFETY: the letter owns the bytes, which stay where they are, until the send has completed.
        unsafe { call!(mpi, MPI_Issend(from, count, mpi.abi.uint8, to as c_int, tag, *handle, request))? };
        Ok(letter)
    }

    /// Begins to receive a message that has arrived, if there is one.
    pub fn arriving(comm: &Communicator) -> super::Result<Option<BufferedMessage>> {
        let Communicator { mpi, handle, .. } = comm;
        let (mut flag, mut count, mut status): (c_int, c_int, _) = (0, 0, Status::default());
        let mut message = Slot::new(&mpi.abi, mpi.abi.message_nobody);
        // SAFETY: handles and numbers are written by MPI before they are read.
        unsafe {
            let (any, all) = (mpi.abi.any_source, mpi.abi.any_tag);
            call!(mpi, MPI_Improbe(any, all, *handle, &raw mut flag, message.out(), status.out()))?;
            if flag == 0 {
                return Ok(None);
            }
            call!(mpi, MPI_Get_count(status.out(), mpi.abi.uint8, &raw mut count))?;
        }
        let (source, tag) = status.source_and_tag(&mpi.abi);
        let expected = usize::try_from(count).unwrap_or(0);
        let bytes = Vec::with_capacity(expected);
        let mut letter = BufferedMessage::new(mpi, bytes, expected, u32::try_from(source).unwrap_or(0), tag);
        let (into, request) = (letter.bytes.as_mut_ptr().cast(), letter.request.out());
        // SAFETY: the letter owns the bytes, exactly as many as arrive, until the receive has completed.
        unsafe { call!(mpi, MPI_Imrecv(into, count, mpi.abi.uint8, message.out(), request))? };
        Ok(Some(letter))
    }

    /// Tests whether the operation has completed.
    pub fn test(&mut self) -> super::Result<bool> {
        if self.complete {
            return Ok(true);
        }
        let (mut flag, mut status): (c_int, _) = (0, Status::default());
        // SAFETY: the request is of an operation that has not completed.
        unsafe { call!(&self.mpi, MPI_Test(self.request.out(), &raw mut flag, status.out()))? };
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

impl Drop for BufferedMessage {
    fn drop(&mut self) {
        if self.complete {
            // SAFETY: dropped only here, and MPI no longer uses them.
            unsafe { ManuallyDrop::drop(&mut self.bytes) };
        }
    }
}
