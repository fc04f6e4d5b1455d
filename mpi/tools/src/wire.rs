//! The MPI calls of replays, validations and clusters: the crate `mpi` lacks some of them, and for
//! others it cannot say when buffers are free.
//!
//! All `unsafe` of this program is here. What makes it sound:
//! - [`Wire::new`] takes a communicator of an initialised MPI, and only the thread that made a wire
//!   uses it: it is not `Send`.
//! - A call that returns before its buffers are free returns a [`Pending`], which owns the receive
//!   buffer and shares the send buffer. If it is dropped before the operation has completed, its
//!   buffers are never freed.
//! - Counts are those of the buffers: [`Wire::send`] and the others pass on slices of buffers.
#![allow(unsafe_code)]

mod collective;
mod letter;

pub use letter::Letter;

use mpi::ffi::{self, MPI_Comm, MPI_Request, MPI_Status};
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use std::ffi::{c_int, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::null_mut;
use std::rc::Rc;

/// A failed MPI call: which one, and MPI's message.
#[derive(Debug)]
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
    request: MPI_Request,
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
    fn new(sent: &Rc<Room>, received: Option<Room>) -> Pending {
        Pending {
            // SAFETY: a constant of MPI.
            request: unsafe { ffi::RSMPI_REQUEST_NULL },
            complete: false,
            received: ManuallyDrop::new(received),
            sent: ManuallyDrop::new(sent.clone()),
            lists: ManuallyDrop::new(Vec::new()),
            source: None,
        }
    }

    pub fn is_complete(&self) -> bool {
        self.complete
    }

    fn completed(&mut self, request: MPI_Request, status: &MPI_Status) {
        (self.request, self.complete) = (request, true);
        self.source = u32::try_from(status.MPI_SOURCE).ok();
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
    world: MPI_Comm,
    groups: Vec<Option<MPI_Comm>>,
    /// The data that is sent; its contents do not matter.
    sent: Rc<Room>,
}

/// Turns a return code of MPI into a result.
fn check(call: &'static str, code: c_int) -> Result<()> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = vec![0u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length: c_int = 0;
    // SAFETY: the text has the size that MPI requires.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    Err(Fault { call, text: String::from_utf8_lossy(&text).into_owned() })
}

fn nothing() -> MPI_Status {
    // SAFETY: a status consists of numbers, for which zero is a valid value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// The source argument for MPI.
fn source(from: Option<u32>) -> c_int {
    // SAFETY: a constant of MPI.
    from.map_or(unsafe { ffi::RSMPI_ANY_SOURCE }, |from| from as c_int)
}

impl Wire {
    /// Creates a wire that can send up to `largest` bytes at once, with a communicator for each
    /// group. All processes must call it together.
    pub fn new(world: &SimpleCommunicator, groups: &[&[u32]], rank: u32, largest: usize) -> Result<Wire> {
        let mut own = world.as_raw();
        // SAFETY: the world lives, and the new handle is written by MPI. Errors are returned from here on.
        unsafe {
            check("MPI_Comm_dup", ffi::MPI_Comm_dup(world.as_raw(), &mut own))?;
            check("MPI_Comm_set_errhandler", ffi::MPI_Comm_set_errhandler(own, ffi::RSMPI_ERRORS_RETURN))?;
        }
        let mut wire = Wire { world: own, groups: Vec::new(), sent: Rc::new(room(largest)) };
        for members in groups {
            let place = members.iter().position(|&member| member == rank);
            let group = wire.split(place)?;
            wire.groups.push(group);
        }
        Ok(wire)
    }

    /// Creates a communicator of the processes that have a place in it.
    fn split(&self, place: Option<usize>) -> Result<Option<MPI_Comm>> {
        let mut group = self.world;
        // SAFETY: as above; a process without a place gets no communicator.
        unsafe {
            let colour = if place.is_some() { 0 } else { ffi::RSMPI_UNDEFINED };
            let key = place.unwrap_or(0) as c_int;
            check("MPI_Comm_split", ffi::MPI_Comm_split(self.world, colour, key, &mut group))?;
            if place.is_some() {
                check(
                    "MPI_Comm_set_errhandler",
                    ffi::MPI_Comm_set_errhandler(group, ffi::RSMPI_ERRORS_RETURN),
                )?;
            }
        }
        Ok(place.map(|_| group))
    }

    /// The address and count of the first `bytes` of the send buffer.
    fn outgoing(&self, bytes: usize) -> Result<(*const c_void, c_int)> {
        counted("a send", bytes, &self.sent).map(|count| (self.sent.as_ptr().cast(), count))
    }

    pub fn send(&self, mode: SendMode, bytes: usize, to: u32, tag: u32) -> Result<()> {
        let ((from, count), to, tag) = (self.outgoing(bytes)?, to as c_int, tag as c_int);
        // SAFETY: the buffer has as many bytes as are sent.
        unsafe {
            match mode {
                SendMode::Standard => {
                    check("MPI_Send", ffi::MPI_Send(from, count, ffi::RSMPI_UINT8_T, to, tag, self.world))
                }
                SendMode::Synchronous => {
                    check("MPI_Ssend", ffi::MPI_Ssend(from, count, ffi::RSMPI_UINT8_T, to, tag, self.world))
                }
            }
        }
    }

    pub fn begin_send(&self, mode: SendMode, bytes: usize, to: u32, tag: u32) -> Result<Pending> {
        let ((from, count), to, tag) = (self.outgoing(bytes)?, to as c_int, tag as c_int);
        let mut pending = Pending::new(&self.sent, None);
        let request = &mut pending.request;
        // SAFETY: the pending send shares the buffer until it has completed.
        unsafe {
            let kind = ffi::RSMPI_UINT8_T;
            match mode {
                SendMode::Standard => {
                    check("MPI_Isend", ffi::MPI_Isend(from, count, kind, to, tag, self.world, request))
                }
                SendMode::Synchronous => {
                    check("MPI_Issend", ffi::MPI_Issend(from, count, kind, to, tag, self.world, request))
                }
            }?;
        }
        Ok(pending)
    }

    /// Receives into a buffer, from one process or any. Returns the sender.
    pub fn receive(&self, into: &mut Room, bytes: usize, from: Option<u32>, tag: u32) -> Result<Option<u32>> {
        let count = counted("a receive", bytes, into)?;
        let (to, mut status) = (into.as_mut_ptr().cast(), nothing());
        // SAFETY: the buffer has room for as many bytes as are received.
        unsafe {
            let kind = ffi::RSMPI_UINT8_T;
            let code = ffi::MPI_Recv(to, count, kind, source(from), tag as c_int, self.world, &mut status);
            check("MPI_Recv", code)?;
        }
        Ok(u32::try_from(status.MPI_SOURCE).ok())
    }

    pub fn begin_receive(
        &self,
        mut into: Room,
        bytes: usize,
        from: Option<u32>,
        tag: u32,
    ) -> Result<Pending> {
        let count = counted("a receive", bytes, &into)?;
        let to = into.as_mut_ptr().cast();
        let mut pending = Pending::new(&self.sent, Some(into));
        let request = &mut pending.request;
        // SAFETY: the pending receive owns the buffer, whose bytes do not move, until it has completed.
        unsafe {
            let kind = ffi::RSMPI_UINT8_T;
            let code = ffi::MPI_Irecv(to, count, kind, source(from), tag as c_int, self.world, request);
            check("MPI_Irecv", code)?;
        }
        Ok(pending)
    }
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
        let (mut flag, mut status): (c_int, _) = (0, nothing());
        let mut request = self.request;
        // SAFETY: the request is of an operation that has not completed.
        check("MPI_Test", unsafe { ffi::MPI_Test(&mut request, &mut flag, &mut status) })?;
        if flag != 0 {
            self.completed(request, &status);
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
    if pending.is_empty() {
        return Ok(Vec::new());
    }
    let mut requests: Vec<MPI_Request> = pending.iter().map(|one| one.request).collect();
    let mut statuses = vec![nothing(); requests.len()];
    let places = asked(ask, &mut requests, &mut statuses)?;
    for (number, &place) in places.iter().enumerate() {
        let all = matches!(ask, Ask::WaitAll | Ask::TestAll);
        pending[place].completed(requests[place], &statuses[if all { place } else { number }]);
    }
    Ok(places)
}

fn asked(ask: Ask, requests: &mut [MPI_Request], statuses: &mut [MPI_Status]) -> Result<Vec<usize>> {
    let count = requests.len() as c_int;
    let (request, status) = (requests.as_mut_ptr(), statuses.as_mut_ptr());
    let (mut flag, mut index): (c_int, c_int) = (1, 0);
    let mut indices: Vec<c_int> = vec![0; requests.len()];
    let places = indices.as_mut_ptr();
    // SAFETY: all lists are of the same length, and the requests are of operations that have not completed.
    unsafe {
        match ask {
            Ask::WaitAll => check("MPI_Waitall", ffi::MPI_Waitall(count, request, status))?,
            Ask::TestAll => check("MPI_Testall", ffi::MPI_Testall(count, request, &mut flag, status))?,
            Ask::WaitAny => check("MPI_Waitany", ffi::MPI_Waitany(count, request, &mut index, status))?,
            Ask::TestAny => {
                check("MPI_Testany", ffi::MPI_Testany(count, request, &mut index, &mut flag, status))?
            }
            Ask::WaitSome => {
                check("MPI_Waitsome", ffi::MPI_Waitsome(count, request, &mut index, places, status))?
            }
            Ask::TestSome => {
                check("MPI_Testsome", ffi::MPI_Testsome(count, request, &mut index, places, status))?
            }
        }
    }
    Ok(match ask {
        _ if flag == 0 => Vec::new(),
        Ask::WaitAll | Ask::TestAll => (0..requests.len()).collect(),
        Ask::WaitAny | Ask::TestAny => usize::try_from(index).into_iter().collect(),
        Ask::WaitSome | Ask::TestSome => {
            indices.truncate(usize::try_from(index).unwrap_or(0));
            indices.into_iter().filter_map(|place| usize::try_from(place).ok()).collect()
        }
    })
}

impl Drop for Wire {
    fn drop(&mut self) {
        // SAFETY: nothing else uses these communicators. An error has no consequences any more.
        unsafe {
            self.groups.iter_mut().flatten().for_each(|group| {
                ffi::MPI_Comm_free(group);
            });
            ffi::MPI_Comm_free(&mut self.world);
        }
    }
}

/// A null address, for arguments that MPI does not read.
const NOWHERE: *mut c_void = null_mut();
