//! Every function that is recorded: number of arguments, name, name in Fortran, and the routine that records it.
//!
//! The numbers of arguments are those of the MPI standard's C functions; Fortran has one more, for the return code.

use crate::wrap::{
    c_function, fortran_function, fortran_timed, functions, large_function, large_functions, timed_functions,
};
use crate::{collectives, communicators, completion, other, p2p, starting, windows};

// Point to point.
functions! {
    6 Send send p2p::send;
    7 Isend isend p2p::send;
    7 Send_init send_init p2p::send;
    6 Bsend bsend p2p::send;
    7 Ibsend ibsend p2p::send;
    7 Bsend_init bsend_init p2p::send;
    6 Ssend ssend p2p::send;
    7 Issend issend p2p::send;
    7 Ssend_init ssend_init p2p::send;
    6 Rsend rsend p2p::send;
    7 Irsend irsend p2p::send;
    7 Rsend_init rsend_init p2p::send;
    7 Recv recv p2p::recv;
    7 Irecv irecv p2p::irecv;
    7 Recv_init recv_init p2p::irecv;
    12 Sendrecv sendrecv p2p::sendrecv;
    12 Isendrecv isendrecv p2p::sendrecv;
    9 Sendrecv_replace sendrecv_replace p2p::sendrecv_replace;
    9 Isendrecv_replace isendrecv_replace p2p::sendrecv_replace;
    4 Probe probe p2p::probe;
    5 Iprobe iprobe p2p::iprobe;
    5 Mprobe mprobe p2p::mprobe;
    6 Improbe improbe p2p::improbe;
    5 Mrecv mrecv p2p::mrecv;
    5 Imrecv imrecv p2p::mrecv;
    9 Psend_init psend_init p2p::partitioned;
    9 Precv_init precv_init p2p::partitioned;
    2 Pready pready p2p::ready;
    3 Pready_range pready_range p2p::ready;
    3 Pready_list pready_list p2p::ready;
}

// Requests.
functions! {
    2 Wait wait completion::wait;
    3 Waitall waitall completion::waitall;
    4 Waitany waitany completion::waitany;
    5 Waitsome waitsome completion::waitsome;
    3 Test test completion::test;
    4 Testall testall completion::testall;
    5 Testany testany completion::testany;
    5 Testsome testsome completion::testsome;
    1 Start start starting::start;
    2 Startall startall starting::startall;
    1 Cancel cancel starting::cancel;
    1 Request_free request_free starting::request_free;
    3 Request_get_status request_get_status starting::get_status;
    3 Parrived parrived other::arrived;
}

// Collectives, including neighbourhood collectives.
functions! {
    1 Barrier barrier collectives::barrier;
    2 Ibarrier ibarrier collectives::barrier;
    3 Barrier_init barrier_init collectives::barrier;
    5 Bcast bcast collectives::bcast;
    6 Ibcast ibcast collectives::bcast;
    7 Bcast_init bcast_init collectives::bcast;
    8 Gather gather collectives::gather;
    9 Igather igather collectives::gather;
    10 Gather_init gather_init collectives::gather;
    9 Gatherv gatherv collectives::gatherv;
    10 Igatherv igatherv collectives::gatherv;
    11 Gatherv_init gatherv_init collectives::gatherv;
    8 Scatter scatter collectives::scatter;
    9 Iscatter iscatter collectives::scatter;
    10 Scatter_init scatter_init collectives::scatter;
    9 Scatterv scatterv collectives::scatterv;
    10 Iscatterv iscatterv collectives::scatterv;
    11 Scatterv_init scatterv_init collectives::scatterv;
    7 Allgather allgather collectives::allgather;
    8 Iallgather iallgather collectives::allgather;
    9 Allgather_init allgather_init collectives::allgather;
    8 Allgatherv allgatherv collectives::allgatherv;
    9 Iallgatherv iallgatherv collectives::allgatherv;
    10 Allgatherv_init allgatherv_init collectives::allgatherv;
    7 Alltoall alltoall collectives::alltoall;
    8 Ialltoall ialltoall collectives::alltoall;
    9 Alltoall_init alltoall_init collectives::alltoall;
    9 Alltoallv alltoallv collectives::alltoallv;
    10 Ialltoallv ialltoallv collectives::alltoallv;
    11 Alltoallv_init alltoallv_init collectives::alltoallv;
    9 Alltoallw alltoallw collectives::alltoallw;
    10 Ialltoallw ialltoallw collectives::alltoallw;
    11 Alltoallw_init alltoallw_init collectives::alltoallw;
    7 Reduce reduce collectives::reduce;
    8 Ireduce ireduce collectives::reduce;
    9 Reduce_init reduce_init collectives::reduce;
    6 Allreduce allreduce collectives::allreduce;
    7 Iallreduce iallreduce collectives::allreduce;
    8 Allreduce_init allreduce_init collectives::allreduce;
    6 Reduce_scatter reduce_scatter collectives::reduce_scatter;
    7 Ireduce_scatter ireduce_scatter collectives::reduce_scatter;
    8 Reduce_scatter_init reduce_scatter_init collectives::reduce_scatter;
    6 Reduce_scatter_block reduce_scatter_block collectives::allreduce;
    7 Ireduce_scatter_block ireduce_scatter_block collectives::allreduce;
    8 Reduce_scatter_block_init reduce_scatter_block_init collectives::allreduce;
    6 Scan scan collectives::allreduce;
    7 Iscan iscan collectives::allreduce;
    8 Scan_init scan_init collectives::allreduce;
    6 Exscan exscan collectives::allreduce;
    7 Iexscan iexscan collectives::allreduce;
    8 Exscan_init exscan_init collectives::allreduce;
    7 Neighbor_allgather neighbor_allgather collectives::allgather;
    8 Ineighbor_allgather ineighbor_allgather collectives::allgather;
    9 Neighbor_allgather_init neighbor_allgather_init collectives::allgather;
    8 Neighbor_allgatherv neighbor_allgatherv collectives::allgatherv;
    9 Ineighbor_allgatherv ineighbor_allgatherv collectives::allgatherv;
    10 Neighbor_allgatherv_init neighbor_allgatherv_init collectives::allgatherv;
    7 Neighbor_alltoall neighbor_alltoall collectives::alltoall;
    8 Ineighbor_alltoall ineighbor_alltoall collectives::alltoall;
    9 Neighbor_alltoall_init neighbor_alltoall_init collectives::alltoall;
    9 Neighbor_alltoallv neighbor_alltoallv collectives::alltoallv;
    10 Ineighbor_alltoallv ineighbor_alltoallv collectives::alltoallv;
    11 Neighbor_alltoallv_init neighbor_alltoallv_init collectives::alltoallv;
    9 Neighbor_alltoallw neighbor_alltoallw collectives::alltoallw;
    10 Ineighbor_alltoallw ineighbor_alltoallw collectives::alltoallw;
    11 Neighbor_alltoallw_init neighbor_alltoallw_init collectives::alltoallw;
}

// Communicators.
functions! {
    2 Comm_dup comm_dup communicators::from_first;
    3 Comm_dup_with_info comm_dup_with_info communicators::from_first;
    3 Comm_idup comm_idup communicators::later_from_first;
    4 Comm_idup_with_info comm_idup_with_info communicators::later_from_first;
    4 Comm_split comm_split communicators::from_first;
    5 Comm_split_type comm_split_type communicators::from_first;
    3 Comm_create comm_create communicators::from_first;
    4 Comm_create_group comm_create_group communicators::from_first;
    6 Intercomm_create intercomm_create communicators::from_first;
    3 Intercomm_merge intercomm_merge communicators::from_first;
    6 Cart_create cart_create communicators::from_first;
    3 Cart_sub cart_sub communicators::from_first;
    6 Graph_create graph_create communicators::from_first;
    9 Dist_graph_create dist_graph_create communicators::from_first;
    10 Dist_graph_create_adjacent dist_graph_create_adjacent communicators::from_first;
    2 Comm_join comm_join communicators::from_none;
    1 Comm_get_parent comm_get_parent communicators::get_parent;
    1 Comm_disconnect comm_disconnect communicators::free;
    1 Comm_free comm_free communicators::free;
}

// One-sided communication.
functions! {
    6 Win_create win_create windows::create;
    6 Win_allocate win_allocate windows::allocate;
    6 Win_allocate_shared win_allocate_shared windows::allocate;
    3 Win_create_dynamic win_create_dynamic windows::create_dynamic;
    1 Win_free win_free windows::free;
    2 Win_fence win_fence windows::epoch;
    3 Win_start win_start windows::with_group;
    1 Win_complete win_complete windows::epoch;
    3 Win_post win_post windows::with_group;
    1 Win_wait win_wait windows::epoch;
    2 Win_test win_test windows::test;
    4 Win_lock win_lock windows::lock;
    2 Win_lock_all win_lock_all windows::epoch;
    2 Win_unlock win_unlock windows::with_rank;
    1 Win_unlock_all win_unlock_all windows::epoch;
    2 Win_flush win_flush windows::with_rank;
    1 Win_flush_all win_flush_all windows::epoch;
    2 Win_flush_local win_flush_local windows::with_rank;
    1 Win_flush_local_all win_flush_local_all windows::epoch;
    1 Win_sync win_sync windows::epoch;
    8 Put put windows::put;
    8 Get get windows::get;
    9 Rput rput windows::put;
    9 Rget rget windows::get;
    9 Accumulate accumulate windows::accumulate;
    10 Raccumulate raccumulate windows::accumulate;
    12 Get_accumulate get_accumulate windows::get_accumulate;
    13 Rget_accumulate rget_accumulate windows::get_accumulate;
    7 Fetch_and_op fetch_and_op windows::fetch_and_op;
    7 Compare_and_swap compare_and_swap windows::compare_and_swap;
}

// Names of ports and commands are strings, which Fortran passes differently: only C is recorded in full.
crate::wrap::with_arguments! { 5 c_function Comm_accept communicators::meet }
crate::wrap::with_arguments! { 5 fortran_timed Comm_accept comm_accept "_" }
crate::wrap::with_arguments! { 5 fortran_timed Comm_accept comm_accept "_f08_" }
crate::wrap::with_arguments! { 5 c_function Comm_connect communicators::meet }
crate::wrap::with_arguments! { 5 fortran_timed Comm_connect comm_connect "_" }
crate::wrap::with_arguments! { 5 fortran_timed Comm_connect comm_connect "_f08_" }
crate::wrap::with_arguments! { 8 c_function Comm_spawn communicators::spawn }
crate::wrap::with_arguments! { 8 fortran_timed Comm_spawn comm_spawn "_" }
crate::wrap::with_arguments! { 8 fortran_timed Comm_spawn comm_spawn "_f08_" }
crate::wrap::with_arguments! { 9 c_function Comm_spawn_multiple communicators::spawn }
crate::wrap::with_arguments! { 9 fortran_timed Comm_spawn_multiple comm_spawn_multiple "_" }
crate::wrap::with_arguments! { 9 fortran_timed Comm_spawn_multiple comm_spawn_multiple "_f08_" }

// Recorded with their times only.
timed_functions! {
    3 Session_init session_init;
    1 Session_finalize session_finalize;
    5 Grequest_start grequest_start;
    1 Grequest_complete grequest_complete;
    2 Buffer_attach buffer_attach;
    2 Buffer_detach buffer_detach;
    5 Comm_create_from_group comm_create_from_group;
    8 Intercomm_create_from_groups intercomm_create_from_groups;
    2 Comm_group comm_group;
    4 Group_incl group_incl;
    4 Group_excl group_excl;
    4 Group_range_incl group_range_incl;
    4 Group_range_excl group_range_excl;
    3 Group_union group_union;
    3 Group_intersection group_intersection;
    3 Group_difference group_difference;
    5 File_open file_open;
    1 File_close file_close;
    6 File_set_view file_set_view;
    2 File_set_size file_set_size;
    2 File_preallocate file_preallocate;
    1 File_sync file_sync;
    5 File_read file_read;
    5 File_read_all file_read_all;
    6 File_read_at file_read_at;
    6 File_read_at_all file_read_at_all;
    5 File_read_shared file_read_shared;
    5 File_read_ordered file_read_ordered;
    4 File_read_all_begin file_read_all_begin;
    3 File_read_all_end file_read_all_end;
    5 File_read_at_all_begin file_read_at_all_begin;
    3 File_read_at_all_end file_read_at_all_end;
    4 File_read_ordered_begin file_read_ordered_begin;
    3 File_read_ordered_end file_read_ordered_end;
    5 File_iread file_iread;
    6 File_iread_at file_iread_at;
    5 File_iread_all file_iread_all;
    6 File_iread_at_all file_iread_at_all;
    5 File_iread_shared file_iread_shared;
    5 File_write file_write;
    5 File_write_all file_write_all;
    6 File_write_at file_write_at;
    6 File_write_at_all file_write_at_all;
    5 File_write_shared file_write_shared;
    5 File_write_ordered file_write_ordered;
    4 File_write_all_begin file_write_all_begin;
    3 File_write_all_end file_write_all_end;
    5 File_write_at_all_begin file_write_at_all_begin;
    3 File_write_at_all_end file_write_at_all_end;
    4 File_write_ordered_begin file_write_ordered_begin;
    3 File_write_ordered_end file_write_ordered_end;
    5 File_iwrite file_iwrite;
    6 File_iwrite_at file_iwrite_at;
    5 File_iwrite_all file_iwrite_all;
    6 File_iwrite_at_all file_iwrite_at_all;
    5 File_iwrite_shared file_iwrite_shared;
}

// Large counts.
large_functions! {
    6 Send p2p::send;
    7 Isend p2p::send;
    7 Send_init p2p::send;
    6 Bsend p2p::send;
    7 Ibsend p2p::send;
    7 Bsend_init p2p::send;
    6 Ssend p2p::send;
    7 Issend p2p::send;
    7 Ssend_init p2p::send;
    6 Rsend p2p::send;
    7 Irsend p2p::send;
    7 Rsend_init p2p::send;
    7 Recv p2p::recv;
    7 Irecv p2p::irecv;
    7 Recv_init p2p::irecv;
    12 Sendrecv p2p::sendrecv;
    12 Isendrecv p2p::sendrecv;
    9 Sendrecv_replace p2p::sendrecv_replace;
    9 Isendrecv_replace p2p::sendrecv_replace;
    5 Mrecv p2p::mrecv;
    5 Imrecv p2p::mrecv;
    5 Bcast collectives::bcast;
    6 Ibcast collectives::bcast;
    7 Bcast_init collectives::bcast;
    8 Gather collectives::gather;
    9 Igather collectives::gather;
    10 Gather_init collectives::gather;
    9 Gatherv collectives::gatherv;
    10 Igatherv collectives::gatherv;
    11 Gatherv_init collectives::gatherv;
    8 Scatter collectives::scatter;
    9 Iscatter collectives::scatter;
    10 Scatter_init collectives::scatter;
    9 Scatterv collectives::scatterv;
    10 Iscatterv collectives::scatterv;
    11 Scatterv_init collectives::scatterv;
    7 Allgather collectives::allgather;
    8 Iallgather collectives::allgather;
    9 Allgather_init collectives::allgather;
    8 Allgatherv collectives::allgatherv;
    9 Iallgatherv collectives::allgatherv;
    10 Allgatherv_init collectives::allgatherv;
    7 Alltoall collectives::alltoall;
    8 Ialltoall collectives::alltoall;
    9 Alltoall_init collectives::alltoall;
    9 Alltoallv collectives::alltoallv;
    10 Ialltoallv collectives::alltoallv;
    11 Alltoallv_init collectives::alltoallv;
    9 Alltoallw collectives::alltoallw;
    10 Ialltoallw collectives::alltoallw;
    11 Alltoallw_init collectives::alltoallw;
    7 Reduce collectives::reduce;
    8 Ireduce collectives::reduce;
    9 Reduce_init collectives::reduce;
    6 Allreduce collectives::allreduce;
    7 Iallreduce collectives::allreduce;
    8 Allreduce_init collectives::allreduce;
    6 Reduce_scatter collectives::reduce_scatter;
    7 Ireduce_scatter collectives::reduce_scatter;
    8 Reduce_scatter_init collectives::reduce_scatter;
    6 Reduce_scatter_block collectives::allreduce;
    7 Ireduce_scatter_block collectives::allreduce;
    8 Reduce_scatter_block_init collectives::allreduce;
    6 Scan collectives::allreduce;
    7 Iscan collectives::allreduce;
    8 Scan_init collectives::allreduce;
    6 Exscan collectives::allreduce;
    7 Iexscan collectives::allreduce;
    8 Exscan_init collectives::allreduce;
    7 Neighbor_allgather collectives::allgather;
    8 Ineighbor_allgather collectives::allgather;
    9 Neighbor_allgather_init collectives::allgather;
    8 Neighbor_allgatherv collectives::allgatherv;
    9 Ineighbor_allgatherv collectives::allgatherv;
    10 Neighbor_allgatherv_init collectives::allgatherv;
    7 Neighbor_alltoall collectives::alltoall;
    8 Ineighbor_alltoall collectives::alltoall;
    9 Neighbor_alltoall_init collectives::alltoall;
    9 Neighbor_alltoallv collectives::alltoallv;
    10 Ineighbor_alltoallv collectives::alltoallv;
    11 Neighbor_alltoallv_init collectives::alltoallv;
    9 Neighbor_alltoallw collectives::alltoallw;
    10 Ineighbor_alltoallw collectives::alltoallw;
    11 Neighbor_alltoallw_init collectives::alltoallw;
    6 Win_create windows::create;
    6 Win_allocate windows::allocate;
    6 Win_allocate_shared windows::allocate;
    8 Put windows::put;
    8 Get windows::get;
    9 Rput windows::put;
    9 Rget windows::get;
    9 Accumulate windows::accumulate;
    10 Raccumulate windows::accumulate;
    12 Get_accumulate windows::get_accumulate;
    13 Rget_accumulate windows::get_accumulate;
}
