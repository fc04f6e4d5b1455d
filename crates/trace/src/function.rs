//! The functions of MPI that communicate, synchronise or wait, and what each of them does.

use std::fmt;

/// The kinds of collective operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Collective {
    Allgather,
    Allgatherv,
    Allreduce,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Barrier,
    Bcast,
    Exscan,
    Gather,
    Gatherv,
    Reduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Scatter,
    Scatterv,
}

/// When a send may return.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mode {
    Standard,
    Buffered,
    Synchronous,
    Ready,
}

/// Whether a call returns when the operation is over, returns a request for it, or only prepares it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Start {
    Blocking,
    Nonblocking,
    Persistent,
}

/// How many of its requests a call waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HowMany {
    One,
    All,
    Any,
    Some,
}

/// What a function does, as far as time and dependencies are concerned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    Init,
    Finalize,
    Send(Mode, Start),
    Recv(Start),
    /// A send and a receive in one call; [`crate::call::Details::receive`] has the second half.
    Sendrecv(Start),
    /// Looks for a message; a matching probe also keeps it for one receive.
    Probe {
        blocking: bool,
        keeps: bool,
    },
    /// Receives a message that a matching probe has kept.
    MatchedRecv(Start),
    /// Prepares a message in partitions, to be sent or received.
    Partitioned {
        sends: bool,
    },
    /// Starts prepared operations.
    Begin,
    /// Makes partitions of a message ready; the last such call sends it.
    Ready,
    /// Waits for requests.
    Wait(HowMany),
    /// Asks whether requests have completed.
    Test(HowMany),
    /// Frees or cancels a request.
    Drop,
    Collective(Collective, Start),
    /// A collective among the neighbours of a topology.
    Neighbor(Collective, Start),
    /// Makes a communicator.
    NewComm {
        collective: bool,
    },
    FreeComm,
    /// Transfers of one-sided communication.
    OneSided,
    /// Begins, ends or completes an epoch of one-sided communication, for all processes of the window or for some.
    Epoch {
        collective: bool,
    },
    /// A mark set by the program: entering or leaving a named region, or an MPI_Pcontrol.
    Mark,
    /// Recorded with its times only.
    Other,
}

macro_rules! functions {
    ($($name:ident $mpi:literal $class:expr,)*) => {
        /// A function of MPI, or a mark of the program.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        #[allow(non_camel_case_types)]
        pub enum Function { $($name,)* }

        /// By its name.
        impl serde::Serialize for Function {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl Function {
            pub const ALL: &[Function] = &[$(Function::$name,)*];

            /// The name as MPI spells it.
            pub fn name(self) -> &'static str {
                match self { $(Function::$name => $mpi,)* }
            }

            #[inline]
            pub const fn class(self) -> Class {
                #[allow(unused_imports)]
                use {self::Collective::*, HowMany::*, Mode::*, Start::*};
                match self { $(Function::$name => $class,)* }
            }
        }
    };
}

functions! {
    Init "MPI_Init" Class::Init,
    Init_thread "MPI_Init_thread" Class::Init,
    Session_init "MPI_Session_init" Class::Other,
    Session_finalize "MPI_Session_finalize" Class::Other,
    Finalize "MPI_Finalize" Class::Finalize,
    Abort "MPI_Abort" Class::Other,
    Pcontrol "MPI_Pcontrol" Class::Mark,
    RegionEnter "straggler_region_enter" Class::Mark,
    RegionLeave "straggler_region_leave" Class::Mark,
    Unknown "?" Class::Other,

    Send "MPI_Send" Class::Send(Standard, Blocking),
    Bsend "MPI_Bsend" Class::Send(Buffered, Blocking),
    Ssend "MPI_Ssend" Class::Send(Synchronous, Blocking),
    Rsend "MPI_Rsend" Class::Send(Ready, Blocking),
    Isend "MPI_Isend" Class::Send(Standard, Nonblocking),
    Ibsend "MPI_Ibsend" Class::Send(Buffered, Nonblocking),
    Issend "MPI_Issend" Class::Send(Synchronous, Nonblocking),
    Irsend "MPI_Irsend" Class::Send(Ready, Nonblocking),
    Send_init "MPI_Send_init" Class::Send(Standard, Persistent),
    Bsend_init "MPI_Bsend_init" Class::Send(Buffered, Persistent),
    Ssend_init "MPI_Ssend_init" Class::Send(Synchronous, Persistent),
    Rsend_init "MPI_Rsend_init" Class::Send(Ready, Persistent),
    Recv "MPI_Recv" Class::Recv(Blocking),
    Irecv "MPI_Irecv" Class::Recv(Nonblocking),
    Recv_init "MPI_Recv_init" Class::Recv(Persistent),
    Sendrecv "MPI_Sendrecv" Class::Sendrecv(Blocking),
    Sendrecv_replace "MPI_Sendrecv_replace" Class::Sendrecv(Blocking),
    Isendrecv "MPI_Isendrecv" Class::Sendrecv(Nonblocking),
    Isendrecv_replace "MPI_Isendrecv_replace" Class::Sendrecv(Nonblocking),
    Probe "MPI_Probe" Class::Probe { blocking: true, keeps: false },
    Iprobe "MPI_Iprobe" Class::Probe { blocking: false, keeps: false },
    Mprobe "MPI_Mprobe" Class::Probe { blocking: true, keeps: true },
    Improbe "MPI_Improbe" Class::Probe { blocking: false, keeps: true },
    Mrecv "MPI_Mrecv" Class::MatchedRecv(Blocking),
    Imrecv "MPI_Imrecv" Class::MatchedRecv(Nonblocking),
    Start "MPI_Start" Class::Begin,
    Startall "MPI_Startall" Class::Begin,
    Psend_init "MPI_Psend_init" Class::Partitioned { sends: true },
    Precv_init "MPI_Precv_init" Class::Partitioned { sends: false },
    Pready "MPI_Pready" Class::Ready,
    Pready_range "MPI_Pready_range" Class::Ready,
    Pready_list "MPI_Pready_list" Class::Ready,
    Parrived "MPI_Parrived" Class::Other,

    Wait "MPI_Wait" Class::Wait(One),
    Waitall "MPI_Waitall" Class::Wait(All),
    Waitany "MPI_Waitany" Class::Wait(Any),
    Waitsome "MPI_Waitsome" Class::Wait(HowMany::Some),
    Test "MPI_Test" Class::Test(One),
    Testall "MPI_Testall" Class::Test(All),
    Testany "MPI_Testany" Class::Test(Any),
    Testsome "MPI_Testsome" Class::Test(HowMany::Some),
    Request_get_status "MPI_Request_get_status" Class::Other,
    Cancel "MPI_Cancel" Class::Drop,
    Request_free "MPI_Request_free" Class::Drop,
    Grequest_start "MPI_Grequest_start" Class::Other,
    Grequest_complete "MPI_Grequest_complete" Class::Other,
    Buffer_attach "MPI_Buffer_attach" Class::Other,
    Buffer_detach "MPI_Buffer_detach" Class::Other,

    Barrier "MPI_Barrier" Class::Collective(Barrier, Blocking),
    Bcast "MPI_Bcast" Class::Collective(Bcast, Blocking),
    Gather "MPI_Gather" Class::Collective(Gather, Blocking),
    Gatherv "MPI_Gatherv" Class::Collective(Gatherv, Blocking),
    Scatter "MPI_Scatter" Class::Collective(Scatter, Blocking),
    Scatterv "MPI_Scatterv" Class::Collective(Scatterv, Blocking),
    Allgather "MPI_Allgather" Class::Collective(Allgather, Blocking),
    Allgatherv "MPI_Allgatherv" Class::Collective(Allgatherv, Blocking),
    Alltoall "MPI_Alltoall" Class::Collective(Alltoall, Blocking),
    Alltoallv "MPI_Alltoallv" Class::Collective(Alltoallv, Blocking),
    Alltoallw "MPI_Alltoallw" Class::Collective(Alltoallw, Blocking),
    Reduce "MPI_Reduce" Class::Collective(Reduce, Blocking),
    Allreduce "MPI_Allreduce" Class::Collective(Allreduce, Blocking),
    Reduce_scatter "MPI_Reduce_scatter" Class::Collective(ReduceScatter, Blocking),
    Reduce_scatter_block "MPI_Reduce_scatter_block" Class::Collective(ReduceScatterBlock, Blocking),
    Scan "MPI_Scan" Class::Collective(Scan, Blocking),
    Exscan "MPI_Exscan" Class::Collective(Exscan, Blocking),

    Ibarrier "MPI_Ibarrier" Class::Collective(Barrier, Nonblocking),
    Ibcast "MPI_Ibcast" Class::Collective(Bcast, Nonblocking),
    Igather "MPI_Igather" Class::Collective(Gather, Nonblocking),
    Igatherv "MPI_Igatherv" Class::Collective(Gatherv, Nonblocking),
    Iscatter "MPI_Iscatter" Class::Collective(Scatter, Nonblocking),
    Iscatterv "MPI_Iscatterv" Class::Collective(Scatterv, Nonblocking),
    Iallgather "MPI_Iallgather" Class::Collective(Allgather, Nonblocking),
    Iallgatherv "MPI_Iallgatherv" Class::Collective(Allgatherv, Nonblocking),
    Ialltoall "MPI_Ialltoall" Class::Collective(Alltoall, Nonblocking),
    Ialltoallv "MPI_Ialltoallv" Class::Collective(Alltoallv, Nonblocking),
    Ialltoallw "MPI_Ialltoallw" Class::Collective(Alltoallw, Nonblocking),
    Ireduce "MPI_Ireduce" Class::Collective(Reduce, Nonblocking),
    Iallreduce "MPI_Iallreduce" Class::Collective(Allreduce, Nonblocking),
    Ireduce_scatter "MPI_Ireduce_scatter" Class::Collective(ReduceScatter, Nonblocking),
    Ireduce_scatter_block "MPI_Ireduce_scatter_block" Class::Collective(ReduceScatterBlock, Nonblocking),
    Iscan "MPI_Iscan" Class::Collective(Scan, Nonblocking),
    Iexscan "MPI_Iexscan" Class::Collective(Exscan, Nonblocking),

    Barrier_init "MPI_Barrier_init" Class::Collective(Barrier, Persistent),
    Bcast_init "MPI_Bcast_init" Class::Collective(Bcast, Persistent),
    Gather_init "MPI_Gather_init" Class::Collective(Gather, Persistent),
    Gatherv_init "MPI_Gatherv_init" Class::Collective(Gatherv, Persistent),
    Scatter_init "MPI_Scatter_init" Class::Collective(Scatter, Persistent),
    Scatterv_init "MPI_Scatterv_init" Class::Collective(Scatterv, Persistent),
    Allgather_init "MPI_Allgather_init" Class::Collective(Allgather, Persistent),
    Allgatherv_init "MPI_Allgatherv_init" Class::Collective(Allgatherv, Persistent),
    Alltoall_init "MPI_Alltoall_init" Class::Collective(Alltoall, Persistent),
    Alltoallv_init "MPI_Alltoallv_init" Class::Collective(Alltoallv, Persistent),
    Alltoallw_init "MPI_Alltoallw_init" Class::Collective(Alltoallw, Persistent),
    Reduce_init "MPI_Reduce_init" Class::Collective(Reduce, Persistent),
    Allreduce_init "MPI_Allreduce_init" Class::Collective(Allreduce, Persistent),
    Reduce_scatter_init "MPI_Reduce_scatter_init" Class::Collective(ReduceScatter, Persistent),
    Reduce_scatter_block_init "MPI_Reduce_scatter_block_init" Class::Collective(ReduceScatterBlock, Persistent),
    Scan_init "MPI_Scan_init" Class::Collective(Scan, Persistent),
    Exscan_init "MPI_Exscan_init" Class::Collective(Exscan, Persistent),

    Neighbor_allgather "MPI_Neighbor_allgather" Class::Neighbor(Allgather, Blocking),
    Neighbor_allgatherv "MPI_Neighbor_allgatherv" Class::Neighbor(Allgatherv, Blocking),
    Neighbor_alltoall "MPI_Neighbor_alltoall" Class::Neighbor(Alltoall, Blocking),
    Neighbor_alltoallv "MPI_Neighbor_alltoallv" Class::Neighbor(Alltoallv, Blocking),
    Neighbor_alltoallw "MPI_Neighbor_alltoallw" Class::Neighbor(Alltoallw, Blocking),
    Ineighbor_allgather "MPI_Ineighbor_allgather" Class::Neighbor(Allgather, Nonblocking),
    Ineighbor_allgatherv "MPI_Ineighbor_allgatherv" Class::Neighbor(Allgatherv, Nonblocking),
    Ineighbor_alltoall "MPI_Ineighbor_alltoall" Class::Neighbor(Alltoall, Nonblocking),
    Ineighbor_alltoallv "MPI_Ineighbor_alltoallv" Class::Neighbor(Alltoallv, Nonblocking),
    Ineighbor_alltoallw "MPI_Ineighbor_alltoallw" Class::Neighbor(Alltoallw, Nonblocking),
    Neighbor_allgather_init "MPI_Neighbor_allgather_init" Class::Neighbor(Allgather, Persistent),
    Neighbor_allgatherv_init "MPI_Neighbor_allgatherv_init" Class::Neighbor(Allgatherv, Persistent),
    Neighbor_alltoall_init "MPI_Neighbor_alltoall_init" Class::Neighbor(Alltoall, Persistent),
    Neighbor_alltoallv_init "MPI_Neighbor_alltoallv_init" Class::Neighbor(Alltoallv, Persistent),
    Neighbor_alltoallw_init "MPI_Neighbor_alltoallw_init" Class::Neighbor(Alltoallw, Persistent),

    Comm_dup "MPI_Comm_dup" Class::NewComm { collective: true },
    Comm_dup_with_info "MPI_Comm_dup_with_info" Class::NewComm { collective: true },
    Comm_idup "MPI_Comm_idup" Class::NewComm { collective: true },
    Comm_idup_with_info "MPI_Comm_idup_with_info" Class::NewComm { collective: true },
    Comm_split "MPI_Comm_split" Class::NewComm { collective: true },
    Comm_split_type "MPI_Comm_split_type" Class::NewComm { collective: true },
    Comm_create "MPI_Comm_create" Class::NewComm { collective: true },
    Comm_create_group "MPI_Comm_create_group" Class::NewComm { collective: false },
    Comm_create_from_group "MPI_Comm_create_from_group" Class::NewComm { collective: false },
    Intercomm_create "MPI_Intercomm_create" Class::NewComm { collective: true },
    Intercomm_create_from_groups "MPI_Intercomm_create_from_groups" Class::NewComm { collective: false },
    Intercomm_merge "MPI_Intercomm_merge" Class::NewComm { collective: true },
    Cart_create "MPI_Cart_create" Class::NewComm { collective: true },
    Cart_sub "MPI_Cart_sub" Class::NewComm { collective: true },
    Graph_create "MPI_Graph_create" Class::NewComm { collective: true },
    Dist_graph_create "MPI_Dist_graph_create" Class::NewComm { collective: true },
    Dist_graph_create_adjacent "MPI_Dist_graph_create_adjacent" Class::NewComm { collective: true },
    Comm_spawn "MPI_Comm_spawn" Class::NewComm { collective: true },
    Comm_spawn_multiple "MPI_Comm_spawn_multiple" Class::NewComm { collective: true },
    Comm_accept "MPI_Comm_accept" Class::NewComm { collective: true },
    Comm_connect "MPI_Comm_connect" Class::NewComm { collective: true },
    Comm_join "MPI_Comm_join" Class::NewComm { collective: false },
    Comm_get_parent "MPI_Comm_get_parent" Class::NewComm { collective: false },
    Comm_disconnect "MPI_Comm_disconnect" Class::FreeComm,
    Comm_free "MPI_Comm_free" Class::FreeComm,
    Group_incl "MPI_Group_incl" Class::Other,
    Group_excl "MPI_Group_excl" Class::Other,
    Group_range_incl "MPI_Group_range_incl" Class::Other,
    Group_range_excl "MPI_Group_range_excl" Class::Other,
    Group_union "MPI_Group_union" Class::Other,
    Group_intersection "MPI_Group_intersection" Class::Other,
    Group_difference "MPI_Group_difference" Class::Other,
    Comm_group "MPI_Comm_group" Class::Other,

    Win_create "MPI_Win_create" Class::Epoch { collective: true },
    Win_allocate "MPI_Win_allocate" Class::Epoch { collective: true },
    Win_allocate_shared "MPI_Win_allocate_shared" Class::Epoch { collective: true },
    Win_create_dynamic "MPI_Win_create_dynamic" Class::Epoch { collective: true },
    Win_free "MPI_Win_free" Class::Epoch { collective: true },
    Win_fence "MPI_Win_fence" Class::Epoch { collective: true },
    Win_start "MPI_Win_start" Class::Epoch { collective: false },
    Win_complete "MPI_Win_complete" Class::Epoch { collective: false },
    Win_post "MPI_Win_post" Class::Epoch { collective: false },
    Win_wait "MPI_Win_wait" Class::Epoch { collective: false },
    Win_test "MPI_Win_test" Class::Epoch { collective: false },
    Win_lock "MPI_Win_lock" Class::Epoch { collective: false },
    Win_lock_all "MPI_Win_lock_all" Class::Epoch { collective: false },
    Win_unlock "MPI_Win_unlock" Class::Epoch { collective: false },
    Win_unlock_all "MPI_Win_unlock_all" Class::Epoch { collective: false },
    Win_flush "MPI_Win_flush" Class::Epoch { collective: false },
    Win_flush_all "MPI_Win_flush_all" Class::Epoch { collective: false },
    Win_flush_local "MPI_Win_flush_local" Class::Epoch { collective: false },
    Win_flush_local_all "MPI_Win_flush_local_all" Class::Epoch { collective: false },
    Win_sync "MPI_Win_sync" Class::Epoch { collective: false },
    Put "MPI_Put" Class::OneSided,
    Get "MPI_Get" Class::OneSided,
    Accumulate "MPI_Accumulate" Class::OneSided,
    Get_accumulate "MPI_Get_accumulate" Class::OneSided,
    Fetch_and_op "MPI_Fetch_and_op" Class::OneSided,
    Compare_and_swap "MPI_Compare_and_swap" Class::OneSided,
    Rput "MPI_Rput" Class::OneSided,
    Rget "MPI_Rget" Class::OneSided,
    Raccumulate "MPI_Raccumulate" Class::OneSided,
    Rget_accumulate "MPI_Rget_accumulate" Class::OneSided,

    File_open "MPI_File_open" Class::Other,
    File_close "MPI_File_close" Class::Other,
    File_set_view "MPI_File_set_view" Class::Other,
    File_set_size "MPI_File_set_size" Class::Other,
    File_preallocate "MPI_File_preallocate" Class::Other,
    File_sync "MPI_File_sync" Class::Other,
    File_read "MPI_File_read" Class::Other,
    File_read_all "MPI_File_read_all" Class::Other,
    File_read_at "MPI_File_read_at" Class::Other,
    File_read_at_all "MPI_File_read_at_all" Class::Other,
    File_read_shared "MPI_File_read_shared" Class::Other,
    File_read_ordered "MPI_File_read_ordered" Class::Other,
    File_read_all_begin "MPI_File_read_all_begin" Class::Other,
    File_read_all_end "MPI_File_read_all_end" Class::Other,
    File_read_at_all_begin "MPI_File_read_at_all_begin" Class::Other,
    File_read_at_all_end "MPI_File_read_at_all_end" Class::Other,
    File_read_ordered_begin "MPI_File_read_ordered_begin" Class::Other,
    File_read_ordered_end "MPI_File_read_ordered_end" Class::Other,
    File_write "MPI_File_write" Class::Other,
    File_write_all "MPI_File_write_all" Class::Other,
    File_write_at "MPI_File_write_at" Class::Other,
    File_write_at_all "MPI_File_write_at_all" Class::Other,
    File_write_shared "MPI_File_write_shared" Class::Other,
    File_write_ordered "MPI_File_write_ordered" Class::Other,
    File_write_all_begin "MPI_File_write_all_begin" Class::Other,
    File_write_all_end "MPI_File_write_all_end" Class::Other,
    File_write_at_all_begin "MPI_File_write_at_all_begin" Class::Other,
    File_write_at_all_end "MPI_File_write_at_all_end" Class::Other,
    File_write_ordered_begin "MPI_File_write_ordered_begin" Class::Other,
    File_write_ordered_end "MPI_File_write_ordered_end" Class::Other,
    File_iread "MPI_File_iread" Class::Other,
    File_iread_at "MPI_File_iread_at" Class::Other,
    File_iread_all "MPI_File_iread_all" Class::Other,
    File_iread_at_all "MPI_File_iread_at_all" Class::Other,
    File_iread_shared "MPI_File_iread_shared" Class::Other,
    File_iwrite "MPI_File_iwrite" Class::Other,
    File_iwrite_at "MPI_File_iwrite_at" Class::Other,
    File_iwrite_all "MPI_File_iwrite_all" Class::Other,
    File_iwrite_at_all "MPI_File_iwrite_at_all" Class::Other,
    File_iwrite_shared "MPI_File_iwrite_shared" Class::Other,
}

impl Function {
    /// Finds a function by its MPI name, ignoring case.
    pub fn named(name: &str) -> Option<Function> {
        Function::ALL.iter().copied().find(|function| function.name().eq_ignore_ascii_case(name))
    }

    /// Whether a call hands out a request.
    pub const fn makes_request(self) -> bool {
        match self.class() {
            Class::Send(_, start)
            | Class::Recv(start)
            | Class::Sendrecv(start)
            | Class::MatchedRecv(start)
            | Class::Collective(_, start)
            | Class::Neighbor(_, start) => !matches!(start, Start::Blocking),
            Class::Partitioned { .. } => true,
            _ => matches!(
                self,
                Function::Comm_idup
                    | Function::Comm_idup_with_info
                    | Function::Rput
                    | Function::Rget
                    | Function::Raccumulate
                    | Function::Rget_accumulate
                    | Function::Grequest_start
                    | Function::File_iread
                    | Function::File_iread_at
                    | Function::File_iread_all
                    | Function::File_iread_at_all
                    | Function::File_iread_shared
                    | Function::File_iwrite
                    | Function::File_iwrite_at
                    | Function::File_iwrite_all
                    | Function::File_iwrite_at_all
                    | Function::File_iwrite_shared
            ),
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for &function in Function::ALL {
            assert_eq!(Function::named(function.name()), Some(function));
        }
        assert_eq!(Function::named("mpi_isend"), Some(Function::Isend));
        assert_eq!(Function::named("MPI_Nothing"), None);
    }

    #[test]
    fn nonblocking_and_persistent_calls_make_requests() {
        for function in
            [Function::Isend, Function::Recv_init, Function::Ibarrier, Function::Bcast_init, Function::Rget]
        {
            assert!(function.makes_request(), "{function}");
        }
        for function in [Function::Send, Function::Barrier, Function::Start, Function::Wait, Function::Put] {
            assert!(!function.makes_request(), "{function}");
        }
    }
}
