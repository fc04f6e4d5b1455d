//! Collective calls, including neighbourhood collectives.
//!
//! The blocking, nonblocking and prepared forms of an operation begin with the same arguments; the
//! nonblocking form ends with a request, the prepared one with an info and a request. Arguments
//! that have no meaning on a rank (the root's on other ranks, those of a buffer in place) may hold
//! anything and are not read.

use crate::abi::Handle;
use crate::language::Kind;
use crate::note::{Making, call, good, is_persistent, made, peer, size_of_type};
use crate::process::Comm;
use crate::site::{Length, Site, Words};
use crate::thread::{Scratch, Seen};
use crate::topology;
use libc::c_int;
use straggler_trace::Class;
use straggler_trace::call::special;
use straggler_trace::format::attribute;

/// A successful collective call, to be described.
struct Joined<'a, W: Words> {
    site: &'a Site<W>,
    scratch: &'a mut Scratch,
    seen: &'a mut Seen,
    comm: Comm,
}

impl<W: Words> Joined<'_, W> {
    fn bytes(&self, count: usize, datatype: usize) -> u64 {
        self.site.bytes(count, datatype)
    }

    fn in_place(&self, buffer: usize) -> bool {
        self.site.is_in_place(buffer)
    }

    /// Records the root and returns whether it is this rank. On an intercommunicator only one group
    /// has a root, which identifies itself by MPI_ROOT.
    fn is_root(&mut self, root: usize) -> bool {
        self.seen.peer = peer(self.site.int(root));
        self.seen.peer == special::ROOT || self.seen.peer == self.comm.rank as i32 && !self.comm.between
    }

    /// Sizes in bytes of a list of `members` counts.
    fn sizes(&self, counts: usize, datatype: usize, members: u32) -> Vec<u64> {
        let size = size_of_type(self.site.handle(Kind::Datatype, datatype));
        let counts = self.site.counts(counts, Length::Members(members));
        counts.map(|count| count.saturating_mul(size)).collect()
    }

    /// Like `sizes`, if every element has its own datatype. A datatype next to a count of 0 may be
    /// anything and is not queried.
    fn typed_sizes(&self, counts: usize, datatypes: usize, members: u32) -> Vec<u64> {
        let counts = self.site.counts(counts, Length::Members(members));
        let datatypes = self.site.handles(Kind::Datatype, datatypes, Length::Members(members));
        let bytes = |(member, count): (usize, u64)| match count {
            0 => 0,
            _ => count.saturating_mul(datatypes.get(member).map_or(0, size_of_type)),
        };
        counts.enumerate().map(bytes).collect()
    }

    fn tell_sent(&mut self, sizes: &[u64]) {
        self.seen.sent = sizes.iter().sum();
        self.scratch.attributes.sizes(attribute::SENT_SIZES, sizes.iter().copied());
    }

    fn tell_received(&mut self, sizes: &[u64]) {
        self.seen.received = sizes.iter().sum();
        self.scratch.attributes.sizes(attribute::RECEIVED_SIZES, sizes.iter().copied());
    }

    /// How many processes this one sends to and receives from.
    fn partners(&self) -> (u32, u32) {
        if !matches!(self.site.function().class(), Class::Neighbor(..)) {
            return (self.comm.size, self.comm.size);
        }
        let neighbors = topology::neighbors(communicator(self.site)).unwrap_or_default();
        (neighbors.destinations.len() as u32, neighbors.sources.len() as u32)
    }
}

/// The number of arguments after those of the blocking form.
fn after(function: straggler_trace::Function) -> usize {
    match (function.makes_request(), is_persistent(function)) {
        (true, true) => 2,
        (true, false) => 1,
        _ => 0,
    }
}

/// The communicator: the last argument, apart from those that `after` counts.
fn communicator<W: Words>(site: &Site<W>) -> Handle {
    site.handle(Kind::Comm, W::LAST - after(site.function()))
}

/// Runs a collective whose communicator is the last argument of its blocking form.
fn collective<W: Words>(site: Site<W>, describe: impl FnOnce(&mut Joined<'_, W>)) -> c_int {
    call(&site, |scratch, seen| {
        if good(seen) {
            let comm = scratch.comm(communicator(&site));
            seen.comm = comm.local;
            describe(&mut Joined { site: &site, scratch, seen, comm });
        }
        if site.function().makes_request() {
            made(seen, &site, W::LAST, Making::new(site.function()));
        }
    })
}

/// (comm)
pub fn barrier<W: Words>(site: Site<W>) -> c_int {
    collective(site, |_| {})
}

/// (buffer, count, datatype, root, comm)
pub fn bcast<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let root = joined.is_root(3);
        if joined.seen.peer == special::NOBODY {
            return;
        }
        let size = joined.bytes(1, 2);
        *(if root { &mut joined.seen.sent } else { &mut joined.seen.received }) = size;
    })
}

/// (send buffer, count, datatype, receive buffer, count, datatype, root, comm)
pub fn gather<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let root = joined.is_root(6);
        if root {
            joined.seen.received = joined.bytes(4, 5);
        }
        if root && joined.in_place(0) {
            joined.seen.sent = joined.seen.received;
        } else if sends(joined, root) {
            joined.seen.sent = joined.bytes(1, 2);
        }
    })
}

/// Whether a rank contributes to a rooted collective: on an intercommunicator, the root's side does not.
fn sends<W: Words>(joined: &Joined<'_, W>, root: bool) -> bool {
    joined.seen.peer != special::NOBODY && !(root && joined.comm.between)
}

/// (send buffer, count, datatype, receive buffer, count, datatype, root, comm)
pub fn scatter<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let root = joined.is_root(6);
        if root {
            joined.seen.sent = joined.bytes(1, 2);
        }
        if root && joined.in_place(3) {
            joined.seen.received = joined.seen.sent;
        } else if sends(joined, root) {
            joined.seen.received = joined.bytes(4, 5);
        }
    })
}

/// (send buffer, count, datatype, receive buffer, counts, displacements, datatype, root, comm)
pub fn gatherv<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let root = joined.is_root(7);
        let mut sizes = Vec::new();
        if root {
            sizes = joined.sizes(4, 6, joined.comm.size);
            joined.tell_received(&sizes);
        }
        if root && joined.in_place(0) {
            joined.seen.sent = sizes.get(joined.comm.rank as usize).copied().unwrap_or(0);
        } else if sends(joined, root) {
            joined.seen.sent = joined.bytes(1, 2);
        }
    })
}

/// (send buffer, counts, displacements, datatype, receive buffer, count, datatype, root, comm)
pub fn scatterv<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let root = joined.is_root(7);
        let mut sizes = Vec::new();
        if root {
            sizes = joined.sizes(1, 3, joined.comm.size);
            joined.tell_sent(&sizes);
        }
        if root && joined.in_place(4) {
            joined.seen.received = sizes.get(joined.comm.rank as usize).copied().unwrap_or(0);
        } else if sends(joined, root) {
            joined.seen.received = joined.bytes(5, 6);
        }
    })
}

/// (send buffer, count, datatype, receive buffer, count, datatype, comm)
pub fn allgather<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        joined.seen.received = joined.bytes(4, 5);
        joined.seen.sent = if joined.in_place(0) { joined.seen.received } else { joined.bytes(1, 2) };
    })
}

/// Same arguments as [`allgather`]; the bytes sent are those to each member.
pub fn alltoall<W: Words>(site: Site<W>) -> c_int {
    allgather(site)
}

/// (send buffer, count, datatype, receive buffer, counts, displacements, datatype, comm)
pub fn allgatherv<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let sizes = joined.sizes(4, 6, joined.partners().1);
        joined.tell_received(&sizes);
        joined.seen.sent = if joined.in_place(0) {
            sizes.get(joined.comm.rank as usize).copied().unwrap_or(0)
        } else {
            joined.bytes(1, 2)
        };
    })
}

/// (send buffer, counts, displacements, datatype, receive buffer, counts, displacements, datatype, comm)
pub fn alltoallv<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let (to, from) = joined.partners();
        let received = joined.sizes(5, 7, from);
        let sent = if joined.in_place(0) { received.clone() } else { joined.sizes(1, 3, to) };
        joined.tell_sent(&sent);
        joined.tell_received(&received);
    })
}

/// (send buffer, counts, displacements, datatypes, receive buffer, counts, displacements, datatypes, comm)
pub fn alltoallw<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let (to, from) = joined.partners();
        let received = joined.typed_sizes(5, 7, from);
        let sent = if joined.in_place(0) { received.clone() } else { joined.typed_sizes(1, 3, to) };
        joined.tell_sent(&sent);
        joined.tell_received(&received);
    })
}

/// (send buffer, receive buffer, count, datatype, operation, root, comm)
pub fn reduce<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let root = joined.is_root(5);
        if joined.seen.peer == special::NOBODY {
            return;
        }
        let size = joined.bytes(2, 3);
        if sends(joined, root) {
            joined.seen.sent = size;
        }
        if root {
            joined.seen.received = size;
        }
    })
}

/// (send buffer, receive buffer, count, datatype, operation, comm)
pub fn allreduce<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let size = joined.bytes(2, 3);
        (joined.seen.sent, joined.seen.received) = (size, size);
    })
}

/// (send buffer, receive buffer, counts, datatype, operation, comm)
pub fn reduce_scatter<W: Words>(site: Site<W>) -> c_int {
    collective(site, |joined| {
        let members = if joined.comm.between { joined.comm.own_size } else { joined.comm.size };
        let sizes = joined.sizes(2, 3, members);
        joined.tell_received(&sizes);
        joined.seen.sent = joined.seen.received;
    })
}
