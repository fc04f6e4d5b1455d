//! Reductions that other work goes on beside.

use super::call;
use crate::communicator::{Communicator, signed, unsigned};
use crate::handles::{Slot, Status};
use crate::process::Mpi;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::rc::Rc;

/// The largest of each number over all processes, under way. If it is dropped before it has completed, its numbers are never
/// freed.
#[derive(Debug)]
pub struct Reduction {
    mpi: Rc<Mpi>,
    request: Slot,
    complete: bool,
    own: ManuallyDrop<Vec<i64>>,
    all: ManuallyDrop<Vec<i64>>,
}

impl Reduction {
    /// Begins the reduction. All processes must call it.
    pub fn begin(comm: &Communicator, own: &[u64]) -> super::Result<Reduction> {
        let Communicator { mpi, handle, .. } = comm;
        let count = super::counted_bytes("a reduction", own.len())?;
        let own: Vec<i64> = own.iter().copied().map(signed).collect();
        let mut reduction = Reduction {
            mpi: mpi.clone(),
            request: Slot::new(&mpi.abi, mpi.abi.request_null),
            complete: false,
            all: ManuallyDrop::new(vec![0; own.len()]),
            own: ManuallyDrop::new(own),
        };
        let (from, into) = (reduction.own.as_ptr().cast(), reduction.all.as_mut_ptr().cast());
        let (request, kind, op) = (reduction.request.out(), mpi.abi.int64, mpi.abi.op_max);
        // SAFETY: the reduction owns both lists, which stay where they are, until it has completed.
        unsafe { call!(mpi, MPI_Iallreduce(from, into, count, kind, op, *handle, request))? };
        Ok(reduction)
    }

    /// The result, once all processes have begun the reduction.
    pub fn test(&mut self) -> super::Result<Option<Vec<u64>>> {
        if !self.complete {
            let (mut flag, mut status): (c_int, _) = (0, Status::default());
            // SAFETY: the request is of an operation that has not completed.
            unsafe { call!(&self.mpi, MPI_Test(self.request.out(), &raw mut flag, status.out()))? };
            self.complete = flag != 0;
        }
        Ok(self.complete.then(|| self.all.iter().copied().map(unsigned).collect()))
    }
}

impl Drop for Reduction {
    fn drop(&mut self) {
        if self.complete {
            // SAFETY: each is dropped only here, and MPI no longer uses them.
            unsafe {
                ManuallyDrop::drop(&mut self.own);
                ManuallyDrop::drop(&mut self.all);
            }
        }
    }
}
