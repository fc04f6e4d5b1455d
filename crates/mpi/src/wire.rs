//! The MPI calls of replays, validations and clusters: most of them return before their buffers are free.
//!
//! What makes the `unsafe` here sound:
//! - [`Wire::new`] takes a communicator of an initialised MPI, and only the thread that made a wire
//!   uses it: it is not `Send`.
//! - A call that returns before its buffers are free returns a [`Pending`], which owns the receive
//!   buffer and shares the send buffer. If it is dropped before the operation has completed, its
//!   buffers are never freed.
//! - Counts are those of the buffers: [`Wire::send`] and the others pass on slices of buffers.
#![allow(unsafe_code)]

mod buffered;
mod collective;
mod reduction;

pub use buffered::BufferedMessage;
pub use reduction::Reduction;

use crate::communicator::Communicator;
use crate::handles::{Slot, Slots, Status, Statuses};
use crate::process::Mpi;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::rc::Rc;

/// A failed MPI call: which one, and MPI's message.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {text}")]
pub struct Fault {
    pub call: &'static str,
    pub text: String,
}

pub type Result<T> = std::result::Result<T, Fault>;

/// A message buffer, aligned for eight-byte numbers.
pub type Room = Vec<u64>;

/// A buffer of the given number of bytes.
pub fn room(bytes: usize) -> Room {
    // Not zero, so that the system maps the pages now.
    vec![1; bytes.div_ceil(8).max(1)]
}

/// How a send is begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    Standard,
    Synchronous,
}

/// An operation that has begun.
#[derive(Debug)]
pub struct Pending {
    mpi: Rc<Mpi>,
    request: Slot,
    complete: bool,
    /// Freed when the operation has completed, otherwise never.
    received: ManuallyDrop<Option<Room>>,
    sent: ManuallyDrop<Rc<Room>>,
    /// Counts and displacements of blocks, which MPI may read until the operation has completed.
    lists: ManuallyDrop<Vec<Vec<c_int>>>,
    /// The sender of a completed receive.
    pub source: Option<u32>,
}

impl Pending {
    fn new(wire: &Wire, received: Option<Room>) -> Pending {
        let mpi = wire.world.mpi.clone();
        Pending {
            request: Slot::new(&mpi.abi, mpi.abi.request_null),
            mpi,
            complete: false,
            received: ManuallyDrop::new(received),
            sent: ManuallyDrop::new(wire.sent.clone()),
            lists: ManuallyDrop::new(Vec::new()),
            source: None,
        }
    }

    pub fn is_complete(&self) -> bool {
        self.complete
    }

    fn completed(&mut self, source: Option<u32>) {
        (self.complete, self.source) = (true, source);
    }

    /// The receive buffer, once the operation has completed.
    pub fn take_room(&mut self) -> Option<Room> {
        if self.complete { self.received.take() } else { None }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.complete {
            // SAFETY: each is dropped only here, and MPI no longer uses them.
            unsafe {
                ManuallyDrop::drop(&mut self.received);
                ManuallyDrop::drop(&mut self.sent);
                ManuallyDrop::drop(&mut self.lists);
            }
        }
    }
}

/// The communicators of the job and of the groups of a run.
#[derive(Debug)]
pub struct Wire {
    world: Communicator,
    groups: Vec<Option<Communicator>>,
    /// The data that is sent; its contents do not matter.
    sent: Rc<Room>,
}

/// Turns a return code of MPI into a result.
fn check(mpi: &Mpi, call: &'static str, code: c_int) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Fault { call, text: mpi.error(code) }) }
}

/// Calls a function of MPI by its name, and checks its result.
macro_rules! call {
    ($mpi:expr, $name:ident($($argument:expr),* $(,)?)) => {
        $crate::wire::check($mpi, stringify!($name), ($mpi.calls.$name)($($argument),*))
    };
}
use call;

impl Wire {
    /// Creates a wire that can send up to `largest` bytes at once, with a communicator for each
    /// group. All processes must call it together. Errors are returned from here on.
    pub fn new(world: &Communicator, groups: &[&[u32]], largest: usize) -> Result<Wire> {
        let own = returning_errors(world.duplicate())?;
        let mut wire = Wire { world: own, groups: Vec::new(), sent: Rc::new(room(largest)) };
        for members in groups {
            let place = members.iter().position(|&member| member == world.rank());
            let group = wire.world.split(place.map(|place| place as u32));
            wire.groups.push(group.map(returning_errors).transpose()?);
        }
        Ok(wire)
    }

    /// The source argument for MPI.
    fn source(&self, from: Option<u32>) -> c_int {
        from.map_or(self.world.mpi.abi.any_source, |from| from as c_int)
    }

    /// The address and count of the first `bytes` of the send buffer.
    fn outgoing(&self, bytes: usize) -> Result<(*const c_void, c_int)> {
        counted("a send", bytes, &self.sent).map(|count| (self.sent.as_ptr().cast(), count))
    }

    /// Sends bytes; what they are does not matter.
    pub fn send(&self, mode: SendMode, bytes: usize, to: u32, tag: u32) -> Result<()> {
        let ((from, count), to, tag) = (self.outgoing(bytes)?, to as c_int, tag as c_int);
        let Communicator { mpi, handle, .. } = &self.world;
        let kind = mpi.abi.uint8;
        // SAFETY: the buffer has as many bytes as are sent.
        unsafe {
            match mode {
                SendMode::Standard => call!(mpi, MPI_Send(from, count, kind, to, tag, *handle)),
                SendMode::Synchronous => call!(mpi, MPI_Ssend(from, count, kind, to, tag, *handle)),
            }
        }
    }

    pub fn begin_send(&self, mode: SendMode, bytes: usize, to: u32, tag: u32) -> Result<Pending> {
        let ((from, count), to, tag) = (self.outgoing(bytes)?, to as c_int, tag as c_int);
        let Communicator { mpi, handle, .. } = &self.world;
        let mut pending = Pending::new(self, None);
        let (kind, request) = (mpi.abi.uint8, pending.request.out());
        // SAFETY: the pending send shares the buffer until it has completed.
        unsafe {
            match mode {
                SendMode::Standard => call!(mpi, MPI_Isend(from, count, kind, to, tag, *handle, request)),
                SendMode::Synchronous => call!(mpi, MPI_Issend(from, count, kind, to, tag, *handle, request)),
            }?;
        }
        Ok(pending)
    }

    /// Receives into a buffer, from one process or any. Returns the sender.
    pub fn receive(&self, into: &mut Room, bytes: usize, from: Option<u32>, tag: u32) -> Result<Option<u32>> {
        let count = counted("a receive", bytes, into)?;
        let (to, from, tag, mut status) =
            (into.as_mut_ptr().cast(), self.source(from), tag as c_int, Status::default());
        let Communicator { mpi, handle, .. } = &self.world;
        // SAFETY: the buffer has room for as many bytes as are received.
        unsafe { call!(mpi, MPI_Recv(to, count, mpi.abi.uint8, from, tag, *handle, status.out()))? };
        Ok(u32::try_from(status.source_and_tag(&mpi.abi).0).ok())
    }

    pub fn begin_receive(
        &self,
        mut into: Room,
        bytes: usize,
        from: Option<u32>,
        tag: u32,
    ) -> Result<Pending> {
        let count = counted("a receive", bytes, &into)?;
        let (to, from, tag) = (into.as_mut_ptr().cast(), self.source(from), tag as c_int);
        let Communicator { mpi, handle, .. } = &self.world;
        let mut pending = Pending::new(self, Some(into));
        let request = pending.request.out();
        // SAFETY: the pending receive owns the buffer, whose bytes do not move, until it has completed.
        unsafe { call!(mpi, MPI_Irecv(to, count, mpi.abi.uint8, from, tag, *handle, request))? };
        Ok(pending)
    }
}

/// A communicator whose calls return errors instead of ending the job.
fn returning_errors(comm: Communicator) -> Result<Communicator> {
    // SAFETY: the communicator exists, and the error handler is one of MPI's own.
    unsafe { call!(&comm.mpi, MPI_Comm_set_errhandler(comm.handle, comm.mpi.abi.errors_return))? };
    Ok(comm)
}

fn counted(what: &'static str, bytes: usize, room: &Room) -> Result<c_int> {
    counted_bytes(what, if bytes <= room.len() * 8 { bytes } else { usize::MAX })
}

fn counted_bytes(what: &'static str, bytes: usize) -> Result<c_int> {
    let too_many = |_| Fault { call: what, text: format!("{bytes} bytes are too many for one call") };
    c_int::try_from(bytes).map_err(too_many)
}

impl Pending {
    /// Tests whether the operation has completed.
    pub fn test(&mut self) -> Result<bool> {
        if self.complete {
            return Ok(true);
        }
        let (mut flag, mut status): (c_int, _) = (0, Status::default());
        // SAFETY: the request is of an operation that has not completed.
        unsafe { call!(&self.mpi, MPI_Test(self.request.out(), &raw mut flag, status.out()))? };
        if flag != 0 {
            self.completed(u32::try_from(status.source_and_tag(&self.mpi.abi).0).ok());
        }
        Ok(self.complete)
    }
}

/// What a call does with its requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    WaitAll,
    WaitAny,
    WaitSome,
    TestAll,
    TestAny,
    TestSome,
}

/// Waits or tests, and marks the operations that have completed. Returns their indices, in the
/// order in which MPI reports them. Operations that completed earlier must not be passed.
pub fn ask(ask: Ask, pending: &mut [&mut Pending]) -> Result<Vec<usize>> {
    let Some(mpi) = pending.first().map(|one| one.mpi.clone()) else { return Ok(Vec::new()) };
    let mut requests = Slots::new(&mpi.abi, pending.iter().map(|one| one.request.get(&mpi.abi)));
    let mut statuses = Statuses::new(&mpi.abi, pending.len());
    let places = asked(&mpi, ask, pending.len(), &mut requests, &mut statuses)?;
    for (number, &place) in places.iter().enumerate() {
        let all = matches!(ask, Ask::WaitAll | Ask::TestAll);
        pending[place].completed(statuses.source(&mpi.abi, if all { place } else { number }));
    }
    Ok(places)
}

/// Returns the places of what has completed among `length` requests.
fn asked(
    mpi: &Mpi,
    ask: Ask,
    length: usize,
    requests: &mut Slots,
    statuses: &mut Statuses,
) -> Result<Vec<usize>> {
    let (count, request, status) = (length as c_int, requests.out(), statuses.out());
    let (mut flag, mut index): (c_int, c_int) = (1, 0);
    let mut indices: Vec<c_int> = vec![0; length];
    let (places, flagged, indexed) = (indices.as_mut_ptr(), &raw mut flag, &raw mut index);
    // SAFETY: all lists are of the same length, and the requests are of operations that have not completed.
    unsafe {
        match ask {
            Ask::WaitAll => call!(mpi, MPI_Waitall(count, request, status))?,
            Ask::TestAll => call!(mpi, MPI_Testall(count, request, flagged, status))?,
            Ask::WaitAny => call!(mpi, MPI_Waitany(count, request, indexed, status))?,
            Ask::TestAny => call!(mpi, MPI_Testany(count, request, indexed, flagged, status))?,
            Ask::WaitSome => call!(mpi, MPI_Waitsome(count, request, indexed, places, status))?,
            Ask::TestSome => call!(mpi, MPI_Testsome(count, request, indexed, places, status))?,
        }
    }
    Ok(match ask {
        _ if flag == 0 => Vec::new(),
        Ask::WaitAll | Ask::TestAll => (0..length).collect(),
        Ask::WaitAny | Ask::TestAny => usize::try_from(index).into_iter().collect(),
        Ask::WaitSome | Ask::TestSome => {
            indices.truncate(usize::try_from(index).unwrap_or(0));
            indices.into_iter().filter_map(|place| usize::try_from(place).ok()).collect()
        }
    })
}

/// A null address, for arguments that MPI does not read.
const NOWHERE: *mut c_void = null_mut();
