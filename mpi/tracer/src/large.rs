//! Functions for large counts, for libraries without them.
//!
//! Interpreters check at run time whether a library has `MPI_X_c`, and find ours. If the library has
//! only `MPI_X`, the call goes there: counts in registers fit as they are, lists of counts are copied.

use crate::abi::{Handle, abi};
use crate::site::pmpi;
use crate::topology;
use straggler_trace::{Class, Collective, Function};

/// Arguments for the function with small counts, and the lists they point to.
pub struct Narrowed<A> {
    pub args: A,
    lists: Vec<Vec<i32>>,
}

impl<A: Copy + AsRef<[usize]> + AsMut<[usize]>> Narrowed<A> {
    /// Returns `None` if a count does not fit.
    ///
    /// # Safety
    /// The arguments are those of a call of `function` with large counts.
    pub unsafe fn new(function: Function, args: A) -> Option<Narrowed<A>> {
        let mut narrowed = Narrowed { args, lists: Vec::new() };
        if counts(function).iter().any(|&place| args.as_ref()[place] > i32::MAX as usize) {
            return None;
        }
        let (kind, among_neighbors) = match function.class() {
            Class::Collective(kind, _) => (kind, false),
            Class::Neighbor(kind, _) => (kind, true),
            _ => return Some(narrowed),
        };
        for &(buffer, list, sends) in lists(kind) {
            // SAFETY: these are the arguments of `function`, so `args` has what `lists` says about
            // this kind of operation.
            unsafe { narrowed.list(kind, among_neighbors, buffer, list, sends)? };
        }
        Some(narrowed)
    }

    /// Copies one list, unless it has no meaning on this rank.
    ///
    /// # Safety
    /// `buffer` and `list` are the positions that `lists` gives for a call of this kind with large counts.
    unsafe fn list(
        &mut self,
        kind: Collective,
        among_neighbors: bool,
        buffer: usize,
        list: usize,
        sends: bool,
    ) -> Option<()> {
        let args = self.args.as_ref();
        let comm = abi().handle(args[blocking_arguments(kind) - 1]);
        let address = args[list];
        if address == 0 || args[buffer] == abi().in_place && sends {
            return Some(());
        }
        if let Some(root) = root(kind)
            && !is_root(comm, args[root] as i32)
        {
            return Some(());
        }
        let length = if among_neighbors {
            let neighbors = topology::neighbors(comm).unwrap_or_default();
            if sends { neighbors.destinations.len() } else { neighbors.sources.len() }
        } else {
            members(comm)
        };
        // SAFETY: the list has a meaning on this rank and is not null; the standard requires an
        // MPI_Count for each member or neighbour, of which there are `length`.
        let values = unsafe { std::slice::from_raw_parts(address as *const i64, length) };
        let copy: Vec<i32> = values.iter().map(|&value| i32::try_from(value).ok()).collect::<Option<_>>()?;
        self.args.as_mut()[list] = copy.as_ptr() as usize;
        self.lists.push(copy);
        Some(())
    }

    /// Leaks the lists, since the library may read them until the operation is over.
    pub fn keep(self) {
        self.lists.into_iter().for_each(|list| {
            list.leak();
        });
    }
}

/// The positions of arguments that are counts.
fn counts(function: Function) -> &'static [usize] {
    match function.class() {
        Class::Send(..) | Class::Recv(_) | Class::MatchedRecv(_) => &[1],
        Class::Sendrecv(_) if matches!(function, Function::Sendrecv | Function::Isendrecv) => &[1, 6],
        Class::Sendrecv(_) => &[1],
        Class::Collective(kind, _) | Class::Neighbor(kind, _) => match kind {
            Collective::Bcast => &[1],
            Collective::Gather | Collective::Scatter | Collective::Allgather | Collective::Alltoall => {
                &[1, 4]
            }
            Collective::Gatherv | Collective::Allgatherv => &[1],
            Collective::Scatterv => &[5],
            Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan
            | Collective::ReduceScatterBlock => &[2],
            _ => &[],
        },
        _ => &[],
    }
}

/// The lists of an operation: the position of their buffer, their own position, whether they describe what is sent.
fn lists(kind: Collective) -> &'static [(usize, usize, bool)] {
    match kind {
        Collective::Gatherv | Collective::Allgatherv => &[(3, 4, false), (3, 5, false)],
        Collective::Scatterv => &[(0, 1, true), (0, 2, true)],
        Collective::Alltoallv | Collective::Alltoallw => {
            &[(0, 1, true), (0, 2, true), (4, 5, false), (4, 6, false)]
        }
        Collective::ReduceScatter => &[(1, 2, false)],
        _ => &[],
    }
}

fn blocking_arguments(kind: Collective) -> usize {
    match kind {
        Collective::Gatherv | Collective::Scatterv | Collective::Alltoallv | Collective::Alltoallw => 9,
        Collective::Allgatherv => 8,
        _ => 6,
    }
}

fn root(kind: Collective) -> Option<usize> {
    matches!(kind, Collective::Gatherv | Collective::Scatterv).then_some(7)
}

fn is_root(comm: Handle, root: i32) -> bool {
    let mut rank = -1i32;
    pmpi!(Comm_rank(comm, &raw mut rank));
    root == rank || root == abi().root
}

fn members(comm: Handle) -> usize {
    let (mut size, mut between) = (0i32, 0i32);
    pmpi!(Comm_test_inter(comm, &raw mut between));
    if between != 0 {
        pmpi!(Comm_remote_size(comm, &raw mut size));
    } else {
        pmpi!(Comm_size(comm, &raw mut size));
    }
    size.max(0) as usize
}
