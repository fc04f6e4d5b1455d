//! The functions of the MPI library, looked up once. A handle passes in a machine word: pointers of Open MPI and of the
//! standard's interface as they are, integers of MPICH in its lower half.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use straggler_trace::mpi_abi::Handle;

type Out = *mut Handle;
type Ints = *const c_int;
type From = *const c_void;
type Into = *mut c_void;
type Status = *mut u64;

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        /// One field for each function that the program calls.
        #[derive(Clone, Copy, Debug)]
        #[allow(non_snake_case)]
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            /// Looks all of them up; the name of the first missing one otherwise.
            ///
            /// # Safety
            /// A symbol that `symbol` returns is the MPI function of that name.
            pub unsafe fn resolve(
                symbol: impl Fn(&CStr) -> Option<NonNull<c_void>>,
            ) -> Result<Functions, &'static str> {
                let find = |name: &'static str| {
                    let with_zero = CStr::from_bytes_with_nul(name.as_bytes()).ok();
                    with_zero.and_then(&symbol).ok_or(name.trim_end_matches('\0'))
                };
                Ok(Functions {
                    // SAFETY: as the caller says; the signatures are those of the MPI standard, with handles as words.
                    $($name: unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>(
                            find(concat!(stringify!($name), "\0"))?.as_ptr(),
                        )
                    },)*
                })
            }
        }
    };
}

functions! {
    MPI_Init_thread(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    MPI_Finalize();
    MPI_Abort(Handle, c_int);
    MPI_Error_string(c_int, *mut c_char, *mut c_int);
    MPI_Get_processor_name(*mut c_char, *mut c_int);

    MPI_Comm_rank(Handle, *mut c_int);
    MPI_Comm_size(Handle, *mut c_int);
    MPI_Comm_dup(Handle, Out);
    MPI_Comm_split(Handle, c_int, c_int, Out);
    MPI_Comm_free(Out);
    MPI_Comm_set_errhandler(Handle, Handle);

    MPI_Send(From, c_int, Handle, c_int, c_int, Handle);
    MPI_Ssend(From, c_int, Handle, c_int, c_int, Handle);
    MPI_Recv(Into, c_int, Handle, c_int, c_int, Handle, Status);
    MPI_Sendrecv(From, c_int, Handle, c_int, c_int, Into, c_int, Handle, c_int, c_int, Handle, Status);
    MPI_Isend(From, c_int, Handle, c_int, c_int, Handle, Out);
    MPI_Issend(From, c_int, Handle, c_int, c_int, Handle, Out);
    MPI_Irecv(Into, c_int, Handle, c_int, c_int, Handle, Out);
    MPI_Iprobe(c_int, c_int, Handle, *mut c_int, Status);
    MPI_Improbe(c_int, c_int, Handle, *mut c_int, Out, Status);
    MPI_Imrecv(Into, c_int, Handle, Out, Out);
    MPI_Get_count(*const u64, Handle, *mut c_int);

    MPI_Wait(Out, Status);
    MPI_Test(Out, *mut c_int, Status);
    MPI_Waitall(c_int, Out, Status);
    MPI_Testall(c_int, Out, *mut c_int, Status);
    MPI_Waitany(c_int, Out, *mut c_int, Status);
    MPI_Testany(c_int, Out, *mut c_int, *mut c_int, Status);
    MPI_Waitsome(c_int, Out, *mut c_int, *mut c_int, Status);
    MPI_Testsome(c_int, Out, *mut c_int, *mut c_int, Status);

    MPI_Barrier(Handle);
    MPI_Bcast(Into, c_int, Handle, c_int, Handle);
    MPI_Allreduce(From, Into, c_int, Handle, Handle, Handle);
    MPI_Reduce(From, Into, c_int, Handle, Handle, c_int, Handle);
    MPI_Scan(From, Into, c_int, Handle, Handle, Handle);
    MPI_Exscan(From, Into, c_int, Handle, Handle, Handle);
    MPI_Gather(From, c_int, Handle, Into, c_int, Handle, c_int, Handle);
    MPI_Gatherv(From, c_int, Handle, Into, Ints, Ints, Handle, c_int, Handle);
    MPI_Scatter(From, c_int, Handle, Into, c_int, Handle, c_int, Handle);
    MPI_Scatterv(From, Ints, Ints, Handle, Into, c_int, Handle, c_int, Handle);
    MPI_Allgather(From, c_int, Handle, Into, c_int, Handle, Handle);
    MPI_Allgatherv(From, c_int, Handle, Into, Ints, Ints, Handle, Handle);
    MPI_Alltoall(From, c_int, Handle, Into, c_int, Handle, Handle);
    MPI_Alltoallv(From, Ints, Ints, Handle, Into, Ints, Ints, Handle, Handle);
    MPI_Reduce_scatter(From, Into, Ints, Handle, Handle, Handle);
    MPI_Reduce_scatter_block(From, Into, c_int, Handle, Handle, Handle);

    MPI_Ibarrier(Handle, Out);
    MPI_Ibcast(Into, c_int, Handle, c_int, Handle, Out);
    MPI_Iallreduce(From, Into, c_int, Handle, Handle, Handle, Out);
    MPI_Ireduce(From, Into, c_int, Handle, Handle, c_int, Handle, Out);
    MPI_Iscan(From, Into, c_int, Handle, Handle, Handle, Out);
    MPI_Iexscan(From, Into, c_int, Handle, Handle, Handle, Out);
    MPI_Igather(From, c_int, Handle, Into, c_int, Handle, c_int, Handle, Out);
    MPI_Igatherv(From, c_int, Handle, Into, Ints, Ints, Handle, c_int, Handle, Out);
    MPI_Iscatter(From, c_int, Handle, Into, c_int, Handle, c_int, Handle, Out);
    MPI_Iscatterv(From, Ints, Ints, Handle, Into, c_int, Handle, c_int, Handle, Out);
    MPI_Iallgather(From, c_int, Handle, Into, c_int, Handle, Handle, Out);
    MPI_Iallgatherv(From, c_int, Handle, Into, Ints, Ints, Handle, Handle, Out);
    MPI_Ialltoall(From, c_int, Handle, Into, c_int, Handle, Handle, Out);
    MPI_Ialltoallv(From, Ints, Ints, Handle, Into, Ints, Ints, Handle, Handle, Out);
    MPI_Ireduce_scatter(From, Into, Ints, Handle, Handle, Handle, Out);
    MPI_Ireduce_scatter_block(From, Into, c_int, Handle, Handle, Handle, Out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_function_is_named() {
        let all_but = |missing: &'static CStr| {
            // SAFETY: none of them is called.
            unsafe { Functions::resolve(|name| (name != missing).then(NonNull::dangling)) }
        };
        assert_eq!(all_but(c"MPI_Improbe").unwrap_err(), "MPI_Improbe");
        assert!(all_but(c"none").is_ok());
    }
}
