//! Blocking communication between the processes of a job.
//!
//! MPI ends the job if one of these calls fails, which is its default, so none of them returns an error. All bytes are
//! sent as such, and numbers are reduced as signed ones: see [`Communicator::largest`].
//!
//! What makes the `unsafe` here sound: a communicator exists as long as this value, MPI is initialised as long as there is
//! one ([`Mpi`]), only one thread has it, and every buffer has as many bytes as the count that goes with it.
#![allow(unsafe_code)]

use crate::handles::{Slot, Status};
use crate::process::Mpi;
use std::ffi::c_int;
use std::rc::Rc;
use straggler_trace::mpi_abi::{Handle, UNDEFINED};

/// A communicator of the MPI library, with the own rank in it.
#[derive(Debug)]
pub struct Communicator {
    pub(crate) mpi: Rc<Mpi>,
    pub(crate) handle: Handle,
    rank: u32,
    size: u32,
}

/// MPI counts with 31 bits.
#[inline]
fn count(bytes: &[u8]) -> c_int {
    assert!(bytes.len() <= c_int::MAX as usize, "{} bytes are too many for one message", bytes.len());
    bytes.len() as c_int
}

impl Communicator {
    /// All processes of the job.
    pub fn world(mpi: &Rc<Mpi>) -> Communicator {
        Communicator::new(mpi, mpi.abi.comm_world)
    }

    fn new(mpi: &Rc<Mpi>, handle: Handle) -> Communicator {
        let (rank, size) =
            (mpi.number(mpi.calls.MPI_Comm_rank, handle), mpi.number(mpi.calls.MPI_Comm_size, handle));
        Communicator { mpi: mpi.clone(), handle, rank, size }
    }

    pub fn mpi(&self) -> &Mpi {
        &self.mpi
    }

    #[inline]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The same processes, whose messages do not mix with those of this communicator. All must call it.
    pub fn duplicate(&self) -> Communicator {
        let mut new = Slot::new(&self.mpi.abi, self.mpi.abi.comm_null);
        // SAFETY: see above; MPI writes a handle.
        unsafe { (self.mpi.calls.MPI_Comm_dup)(self.handle, new.out()) };
        Communicator::new(&self.mpi, new.get(&self.mpi.abi))
    }

    /// A communicator of the processes that have a place in it, in the order of these. All must call it.
    pub fn split(&self, place: Option<u32>) -> Option<Communicator> {
        let mut new = Slot::new(&self.mpi.abi, self.mpi.abi.comm_null);
        let (colour, key) = (if place.is_some() { 0 } else { UNDEFINED }, place.unwrap_or(0) as c_int);
        // SAFETY: see above; MPI writes a handle.
        unsafe { (self.mpi.calls.MPI_Comm_split)(self.handle, colour, key, new.out()) };
        place.map(|_| Communicator::new(&self.mpi, new.get(&self.mpi.abi)))
    }

    #[inline]
    pub fn send(&self, to: u32, tag: i32, bytes: &[u8]) {
        let Mpi { calls, abi, .. } = &*self.mpi;
        // SAFETY: see above.
        unsafe {
            (calls.MPI_Send)(bytes.as_ptr().cast(), count(bytes), abi.uint8, to as c_int, tag, self.handle);
        }
    }

    /// Receives exactly as many bytes.
    #[inline]
    pub fn receive(&self, from: u32, tag: i32, into: &mut [u8]) {
        let Mpi { calls, abi, .. } = &*self.mpi;
        let (at, count, mut status) = (into.as_mut_ptr().cast(), count(into), Status::default());
        // SAFETY: see above.
        unsafe {
            (calls.MPI_Recv)(at, count, abi.uint8, from as c_int, tag, self.handle, status.out());
        }
    }

    pub fn send_number(&self, to: u32, number: u64) {
        self.send(to, 0, &number.to_le_bytes());
    }

    pub fn receive_number(&self, from: u32) -> u64 {
        let mut bytes = [0; 8];
        self.receive(from, 0, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Sends to a process and receives from it, with one call.
    #[inline]
    pub fn exchange(&self, with: u32, sent: &[u8], received: &mut [u8]) {
        let Mpi { calls, abi, .. } = &*self.mpi;
        let (to, kind, mut status) = (with as c_int, abi.uint8, Status::default());
        let (into, room) = (received.as_mut_ptr().cast(), count(received));
        // SAFETY: see above.
        unsafe {
            let (from, length) = (sent.as_ptr().cast(), count(sent));
            (calls.MPI_Sendrecv)(
                from,
                length,
                kind,
                to,
                0,
                into,
                room,
                kind,
                to,
                0,
                self.handle,
                status.out(),
            );
        }
    }

    /// The same with nonblocking calls, and a wait for each.
    #[inline]
    pub fn exchange_nonblocking(&self, with: u32, sent: &[u8], received: &mut [u8]) {
        let Mpi { calls, abi, .. } = &*self.mpi;
        let (to, kind, mut status) = (with as c_int, abi.uint8, Status::default());
        let [mut receive, mut send] = [(); 2].map(|()| Slot::new(abi, abi.request_null));
        let (into, room) = (received.as_mut_ptr().cast(), count(received));
        // SAFETY: see above; both operations have completed before the buffers can be used again.
        unsafe {
            (calls.MPI_Irecv)(into, room, kind, to, 0, self.handle, receive.out());
            (calls.MPI_Isend)(sent.as_ptr().cast(), count(sent), kind, to, 0, self.handle, send.out());
            (calls.MPI_Wait)(receive.out(), status.out());
            (calls.MPI_Wait)(send.out(), status.out());
        }
    }

    /// Looks for a message that has arrived, as a program does that polls.
    pub fn poll(&self, from: u32, tag: i32) -> bool {
        let (mut flag, mut status) = (0, Status::default());
        // SAFETY: see above; MPI writes a number and a status.
        unsafe { (self.mpi.calls.MPI_Iprobe)(from as c_int, tag, self.handle, &raw mut flag, status.out()) };
        flag != 0
    }

    pub fn barrier(&self) {
        // SAFETY: see above.
        unsafe { (self.mpi.calls.MPI_Barrier)(self.handle) };
    }

    /// Sends the bytes of the first process to all.
    pub fn broadcast(&self, bytes: &mut [u8]) {
        let Mpi { calls, abi, .. } = &*self.mpi;
        // SAFETY: see above.
        unsafe { (calls.MPI_Bcast)(bytes.as_mut_ptr().cast(), count(bytes), abi.uint8, 0, self.handle) };
    }

    /// The number of the first process.
    pub fn broadcast_number(&self, own: u64) -> u64 {
        let mut bytes = own.to_le_bytes();
        self.broadcast(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Sends each process its part of the bytes: all parts have the same length.
    pub fn all_to_all(&self, sent: &[u8], received: &mut [u8]) {
        let Mpi { calls, abi, .. } = &*self.mpi;
        let each = count(sent) / self.size.max(1) as c_int;
        assert_eq!(sent.len(), received.len());
        // SAFETY: see above; each process has its part in both buffers.
        unsafe {
            let (from, into) = (sent.as_ptr().cast(), received.as_mut_ptr().cast());
            (calls.MPI_Alltoall)(from, each, abi.uint8, into, each, abi.uint8, self.handle);
        }
    }

    /// The largest of each byte over all processes.
    pub fn largest_bytes(&self, own: &[u8], all: &mut [u8]) {
        let Mpi { calls, abi, .. } = &*self.mpi;
        assert_eq!(own.len(), all.len());
        // SAFETY: see above.
        unsafe {
            let (from, into) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
            (calls.MPI_Allreduce)(from, into, count(own), abi.uint8, abi.op_max, self.handle);
        }
    }

    /// The largest of each number over all processes. MPICH 4.0 compares large unsigned numbers as if they were signed, so
    /// they are reduced as signed numbers in the same order.
    pub fn largest(&self, own: &[u64]) -> Vec<u64> {
        let Mpi { calls, abi, .. } = &*self.mpi;
        let own: Vec<i64> = own.iter().copied().map(signed).collect();
        let mut all = vec![0i64; own.len()];
        let length = c_int::try_from(own.len()).unwrap_or(0);
        // SAFETY: see above.
        unsafe {
            let (from, into) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
            (calls.MPI_Allreduce)(from, into, length, abi.int64, abi.op_max, self.handle);
        }
        all.into_iter().map(unsigned).collect()
    }

    /// The bytes of every process, by rank, on all of them.
    pub fn gather(&self, own: &[u8]) -> Vec<Vec<u8>> {
        let Mpi { calls, abi, .. } = &*self.mpi;
        let (kind, length) = (abi.uint8, count(own));
        let mut lengths: Vec<c_int> = vec![0; self.size as usize];
        let each = size_of::<c_int>() as c_int;
        // SAFETY: see above; there is room for a length of each process.
        unsafe {
            let (from, into) = ((&raw const length).cast(), lengths.as_mut_ptr().cast());
            (calls.MPI_Allgather)(from, each, kind, into, each, kind, self.handle);
        }
        let mut all = vec![0u8; lengths.iter().map(|&length| length as usize).sum()];
        count(&all);
        let starts: Vec<c_int> = lengths
            .iter()
            .scan(0, |sum: &mut c_int, &length| Some(std::mem::replace(sum, *sum + length)))
            .collect();
        // SAFETY: see above; the lists have an entry for each process, and the room is for all of their bytes.
        unsafe {
            let (from, into) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
            let (counts, places) = (lengths.as_ptr(), starts.as_ptr());
            (calls.MPI_Allgatherv)(from, length, kind, into, counts, places, kind, self.handle);
        }
        let part =
            |(&start, &length): (&c_int, &c_int)| all[start as usize..(start + length) as usize].to_vec();
        starts.iter().zip(&lengths).map(part).collect()
    }
}

/// Maps numbers to signed ones in the same order.
pub(crate) fn signed(number: u64) -> i64 {
    (number ^ 1 << 63) as i64
}

pub(crate) fn unsigned(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

impl Drop for Communicator {
    fn drop(&mut self) {
        // A process that panics ends the job, and does not wait for the others.
        if self.handle != self.mpi.abi.comm_world && !std::thread::panicking() {
            let mut handle = Slot::new(&self.mpi.abi, self.handle);
            // SAFETY: nothing else uses this communicator.
            unsafe { (self.mpi.calls.MPI_Comm_free)(handle.out()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_order() {
        let numbers = [0, 1, 7, i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX];
        assert!(numbers.windows(2).all(|pair| signed(pair[0]) < signed(pair[1])));
        assert!(numbers.iter().all(|&number| unsigned(signed(number)) == number));
    }
}
