//! Collectives, blocking and not.

use super::{NOWHERE, Pending, Result, Room, Wire, check, counted};
use crate::handles::Slot;
use crate::process::Mpi;
use crate::replay::share::Share;
use std::ffi::{c_int, c_void};
use straggler_schedule::collectives::Operation;
use straggler_trace::mpi_abi::Handle;

/// The counts of a list of blocks, and where each block begins.
#[derive(Debug)]
struct Blocks {
    counts: Vec<c_int>,
    places: Vec<c_int>,
}

impl Blocks {
    /// Converts block sizes in bytes to counts of units.
    fn new(sizes: &[u64], unit: u64) -> Blocks {
        let counts: Vec<c_int> = sizes.iter().map(|&bytes| (bytes / unit) as c_int).collect();
        let places = counts.iter().scan(0, |sum, &count| Some(std::mem::replace(sum, *sum + count)));
        Blocks { places: places.collect(), counts }
    }

    fn first(&self) -> c_int {
        self.counts.first().copied().unwrap_or(0)
    }
}

/// The arguments of an MPI call, all of which live until the operation has completed.
struct Given<'a> {
    mpi: &'a Mpi,
    from: *const c_void,
    to: *mut c_void,
    gives: &'a Blocks,
    gets: &'a Blocks,
    kind: Handle,
    op: Handle,
    comm: Handle,
}

/// Calls the blocking function, or the nonblocking one if there is a request to fill.
macro_rules! either {
    ($mpi:expr, $request:expr, $blocking:ident, $begin:ident, $($argument:expr),* $(,)?) => {
        match $request {
            None => check($mpi, stringify!($blocking), ($mpi.calls.$blocking)($($argument),*)),
            Some(request) => check($mpi, stringify!($begin), ($mpi.calls.$begin)($($argument),*, request.out())),
        }
    };
}

impl Wire {
    /// Takes part in a collective until it is over.
    pub fn collective(&self, share: &Share, into: &mut Room) -> Result<()> {
        let (gives, gets) = (Blocks::new(&share.gives, share.unit()), Blocks::new(&share.gets, share.unit()));
        let given = self.given(share, into, &gives, &gets)?;
        // SAFETY: the room and the lists live until the call returns.
        unsafe { make(share, &given, None) }
    }

    pub fn begin_collective(&self, share: &Share, mut into: Room) -> Result<Pending> {
        let (gives, gets) = (Blocks::new(&share.gives, share.unit()), Blocks::new(&share.gets, share.unit()));
        let given = self.given(share, &mut into, &gives, &gets)?;
        let mut pending = Pending::new(self, Some(into));
        // SAFETY: the pending operation owns the room and the lists until it has completed; their
        // contents do not move when the vectors themselves do.
        unsafe { make(share, &given, Some(&mut pending.request))? };
        pending.lists.extend([gives.counts, gives.places, gets.counts, gets.places]);
        Ok(pending)
    }

    fn given<'a>(
        &'a self,
        share: &Share,
        into: &mut Room,
        gives: &'a Blocks,
        gets: &'a Blocks,
    ) -> Result<Given<'a>> {
        counted("a collective", share.outgoing(), &self.sent)?;
        counted("a collective", share.incoming(), into)?;
        let comm = self.groups.get(share.group as usize).and_then(Option::as_ref).unwrap_or(&self.world);
        let mpi = &*comm.mpi;
        let (kind, op) = match share.unit() {
            8 => (mpi.abi.double, mpi.abi.op_sum),
            _ => (mpi.abi.uint8, mpi.abi.op_bor),
        };
        Ok(Given {
            mpi,
            from: self.sent.as_ptr().cast(),
            to: into.as_mut_ptr().cast(),
            gives,
            gets,
            kind,
            op,
            comm: comm.handle,
        })
    }
}

/// # Safety
/// The addresses and lists have as many bytes and entries as the counts say, and stay so until the operation has completed.
unsafe fn make(share: &Share, given: &Given<'_>, request: Option<&mut Slot>) -> Result<()> {
    let Given { mpi, from, to, gives, gets, kind, op, comm } = *given;
    let root = share.root as c_int;
    let (sends, send_places) = (gives.counts.as_ptr(), gives.places.as_ptr());
    let (receives, receive_places) = (gets.counts.as_ptr(), gets.places.as_ptr());
    let (give, get) = (gives.first(), gets.first());
    // Only the root receives.
    let at_root = if share.is_root { to } else { NOWHERE };
    // SAFETY: see above.
    unsafe {
        match share.operation {
            Operation::Barrier => either!(mpi, request, MPI_Barrier, MPI_Ibarrier, comm),
            Operation::Bcast => either!(mpi, request, MPI_Bcast, MPI_Ibcast, to, get, kind, root, comm),
            Operation::Allreduce => {
                either!(mpi, request, MPI_Allreduce, MPI_Iallreduce, from, to, give, kind, op, comm)
            }
            Operation::Reduce => {
                either!(mpi, request, MPI_Reduce, MPI_Ireduce, from, at_root, give, kind, op, root, comm)
            }
            Operation::Scan => either!(mpi, request, MPI_Scan, MPI_Iscan, from, to, give, kind, op, comm),
            Operation::Exscan => {
                either!(mpi, request, MPI_Exscan, MPI_Iexscan, from, to, give, kind, op, comm)
            }
            Operation::Gather => {
                either!(
                    mpi,
                    request,
                    MPI_Gather,
                    MPI_Igather,
                    from,
                    give,
                    kind,
                    at_root,
                    get,
                    kind,
                    root,
                    comm
                )
            }
            Operation::Gatherv => either!(
                mpi,
                request,
                MPI_Gatherv,
                MPI_Igatherv,
                from,
                give,
                kind,
                at_root,
                receives,
                receive_places,
                kind,
                root,
                comm,
            ),
            Operation::Scatter => {
                either!(mpi, request, MPI_Scatter, MPI_Iscatter, from, give, kind, to, get, kind, root, comm)
            }
            Operation::Scatterv => either!(
                mpi,
                request,
                MPI_Scatterv,
                MPI_Iscatterv,
                from,
                sends,
                send_places,
                kind,
                to,
                get,
                kind,
                root,
                comm,
            ),
            Operation::Allgather => {
                either!(mpi, request, MPI_Allgather, MPI_Iallgather, from, give, kind, to, get, kind, comm)
            }
            Operation::Allgatherv => either!(
                mpi,
                request,
                MPI_Allgatherv,
                MPI_Iallgatherv,
                from,
                give,
                kind,
                to,
                receives,
                receive_places,
                kind,
                comm,
            ),
            Operation::Alltoall => {
                either!(mpi, request, MPI_Alltoall, MPI_Ialltoall, from, give, kind, to, get, kind, comm)
            }
            Operation::Alltoallv => either!(
                mpi,
                request,
                MPI_Alltoallv,
                MPI_Ialltoallv,
                from,
                sends,
                send_places,
                kind,
                to,
                receives,
                receive_places,
                kind,
                comm,
            ),
            Operation::ReduceScatter => {
                either!(
                    mpi,
                    request,
                    MPI_Reduce_scatter,
                    MPI_Ireduce_scatter,
                    from,
                    to,
                    sends,
                    kind,
                    op,
                    comm
                )
            }
            Operation::ReduceScatterBlock => either!(
                mpi,
                request,
                MPI_Reduce_scatter_block,
                MPI_Ireduce_scatter_block,
                from,
                to,
                get,
                kind,
                op,
                comm,
            ),
        }
    }
}
