//! Collective calls, with the neighbourhood ones.
//!
//! The blocking, nonblocking and prepared forms of an operation begin with the same arguments; the nonblocking form ends
//! with a request, the prepared one with an info and a request. Arguments that mean nothing on a rank (those for the root
//! on others, those of a buffer in place) may hold anything and are not looked at.
//!
//! # Safety
//! All functions here run a call of the program, with its arguments.
#![allow(clippy::missing_safety_doc)]

use crate::language::{Kind, Language};
use crate::note::{bytes, call, good, is_persistent, made, peer, size_of_type};
use crate::process::Comm;
use crate::site::{Invoke, Site};
use crate::thread::{Scratch, Seen};
use crate::topology;
use libc::c_int;
use straggler_trace::Class;
use straggler_trace::call::special;
use straggler_trace::format::attribute;

/// A collective call that went well, for those who describe it.
struct Joined<'a, L, const N: usize> {
    site: &'a Site<L, N>,
    scratch: &'a mut Scratch,
    seen: &'a mut Seen,
    comm: Comm,
}

impl<L: Language, const N: usize> Joined<'_, L, N>
where
    [usize; N]: Invoke,
{
    unsafe fn bytes(&self, count: usize, datatype: usize) -> u64 {
        // SAFETY: `count` and `datatype` are the places of a count and of a datatype of this call, both of which MPI
        // has accepted.
        unsafe { bytes::<L>(self.site.args[count], self.site.args[datatype]) }
    }

    fn in_place(&self, buffer: usize) -> bool {
        L::is_in_place(self.site.args[buffer])
    }

    /// Notes the root and tells whether it is this rank. Between two groups, only one has a root, and it says so itself.
    unsafe fn is_root(&mut self, root: usize) -> bool {
        // SAFETY: the caller's promise: the argument `root` is an integer.
        self.seen.peer = peer(unsafe { self.site.int(root) });
        self.seen.peer == special::ROOT || self.seen.peer == self.comm.rank as i32 && !self.comm.between
    }

    /// Sizes in bytes of a list of counts, of `members` of them.
    unsafe fn sizes(&self, counts: usize, datatype: usize, members: u32) -> Vec<u64> {
        // SAFETY: the standard gives the list of counts an element for each member of the group, which `members` is.
        unsafe {
            let size = size_of_type(L::handle(Kind::Datatype, self.site.args[datatype]));
            let counts = self.site.args[counts];
            (0..members as usize).map(|member| L::count_at(counts, member).saturating_mul(size)).collect()
        }
    }

    /// The same where every element has its datatype.
    unsafe fn typed_sizes(&self, counts: usize, datatypes: usize, members: u32) -> Vec<u64> {
        // SAFETY: the lists of counts and datatypes have an element for each member. A datatype beside a count of 0 may
        // be anything and is not asked for.
        unsafe {
            let (counts, datatypes) = (self.site.args[counts], self.site.args[datatypes]);
            let bytes = |member: usize| match L::count_at(counts, member) {
                0 => 0,
                count => count.saturating_mul(size_of_type(L::handle_at(Kind::Datatype, datatypes, member))),
            };
            (0..members as usize).map(bytes).collect()
        }
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
    unsafe fn partners(&self) -> (u32, u32) {
        if !matches!(self.site.function.class(), Class::Neighbor(..)) {
            return (self.comm.size, self.comm.size);
        }
        let base = N - after(self.site.function);
        // SAFETY: the communicator is the last argument but for what `after` counts (info, request); MPI has accepted it.
        let comm = unsafe { L::handle(Kind::Comm, self.site.args[base - 1]) };
        let neighbors = topology::neighbors(comm).unwrap_or_default();
        (neighbors.destinations.len() as u32, neighbors.sources.len() as u32)
    }
}

/// How many arguments follow those of the blocking form.
fn after(function: straggler_trace::Function) -> usize {
    match (function.makes_request(), is_persistent(function)) {
        (true, true) => 2,
        (true, false) => 1,
        _ => 0,
    }
}

/// Runs a collective whose communicator is the last argument of its blocking form.
unsafe fn collective<L: Language, const N: usize>(
    site: Site<L, N>,
    describe: impl FnOnce(&mut Joined<'_, L, N>),
) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        call(&site, |scratch, seen| {
            if good(seen) {
                let comm = scratch.comm(L::handle(Kind::Comm, site.args[N - after(site.function) - 1]));
                seen.comm = comm.local;
                describe(&mut Joined { site: &site, scratch, seen, comm });
            }
            if site.function.makes_request() {
                made::<L>(seen, site.args[N - 1], is_persistent(site.function), false);
            }
        })
    }
}

/// (comm)
pub unsafe fn barrier<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { collective(site, |_| {}) }
}

/// (buffer, count, datatype, root, comm)
pub unsafe fn bcast<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        collective(site, |joined| {
            let root = joined.is_root(3);
            if joined.seen.peer == special::NOBODY {
                return;
            }
            let size = joined.bytes(1, 2);
            *(if root { &mut joined.seen.sent } else { &mut joined.seen.received }) = size;
        })
    }
}

/// (send buffer, count, datatype, receive buffer, count, datatype, root, comm)
pub unsafe fn gather<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
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
}

/// Whether a rank gives something to a rooted collective: between groups, the root's side does not.
fn sends<L, const N: usize>(joined: &Joined<'_, L, N>, root: bool) -> bool {
    joined.seen.peer != special::NOBODY && !(root && joined.comm.between)
}

/// (send buffer, count, datatype, receive buffer, count, datatype, root, comm)
pub unsafe fn scatter<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
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
}

/// (send buffer, count, datatype, receive buffer, counts, displacements, datatype, root, comm)
pub unsafe fn gatherv<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
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
}

/// (send buffer, counts, displacements, datatype, receive buffer, count, datatype, root, comm)
pub unsafe fn scatterv<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
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
}

/// (send buffer, count, datatype, receive buffer, count, datatype, comm)
pub unsafe fn allgather<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        collective(site, |joined| {
            joined.seen.received = joined.bytes(4, 5);
            joined.seen.sent = if joined.in_place(0) { joined.seen.received } else { joined.bytes(1, 2) };
        })
    }
}

/// The same arguments, and what is sent goes to each.
pub unsafe fn alltoall<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { allgather(site) }
}

/// (send buffer, count, datatype, receive buffer, counts, displacements, datatype, comm)
pub unsafe fn allgatherv<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
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
}

/// (send buffer, counts, displacements, datatype, receive buffer, counts, displacements, datatype, comm)
pub unsafe fn alltoallv<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        collective(site, |joined| {
            let (to, from) = joined.partners();
            let received = joined.sizes(5, 7, from);
            let sent = if joined.in_place(0) { received.clone() } else { joined.sizes(1, 3, to) };
            joined.tell_sent(&sent);
            joined.tell_received(&received);
        })
    }
}

/// (send buffer, counts, displacements, datatypes, receive buffer, counts, displacements, datatypes, comm)
pub unsafe fn alltoallw<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        collective(site, |joined| {
            let (to, from) = joined.partners();
            let received = joined.typed_sizes(5, 7, from);
            let sent = if joined.in_place(0) { received.clone() } else { joined.typed_sizes(1, 3, to) };
            joined.tell_sent(&sent);
            joined.tell_received(&received);
        })
    }
}

/// (send buffer, receive buffer, count, datatype, operation, root, comm)
pub unsafe fn reduce<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
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
}

/// (send buffer, receive buffer, count, datatype, operation, comm)
pub unsafe fn allreduce<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        collective(site, |joined| {
            let size = joined.bytes(2, 3);
            (joined.seen.sent, joined.seen.received) = (size, size);
        })
    }
}

/// (send buffer, receive buffer, counts, datatype, operation, comm)
pub unsafe fn reduce_scatter<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        collective(site, |joined| {
            let members = if joined.comm.between { joined.comm.own_size } else { joined.comm.size };
            let sizes = joined.sizes(2, 3, members);
            joined.tell_received(&sizes);
            joined.seen.sent = joined.seen.received;
        })
    }
}
