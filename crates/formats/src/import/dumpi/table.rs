//! What a DUMPI record holds, function by function.
//!
//! A record begins with the number of its function, which is its index in [`FUNCTIONS`]. The layout
//! beside the name says what follows the times, one letter per field; all numbers are big-endian.
//! The order of the functions and of their fields is that of SST's `dumpi/common/funclabels.h` and
//! `dumpiio.c` (sst-dumpi, all versions from 0.5 on).
//!
//! | letters | width | meaning |
//! |---|---|---|
//! | `n` `N` | 32 | count sent, count with room for |
//! | `d` `D` | 16 | datatype sent, received |
//! | `p` `P` | 32 | destination, source or root; the source of a call that does both |
//! | `t` `T` | 32 | tag; that of the receiving half |
//! | `c` `C` | 16 | communicator given, made |
//! | `r` `R` | 32, list of 32 | request, requests |
//! | `v` `V` | list of 32 | counts to each, from each |
//! | `w` `W` | list of 16 | datatypes to each, from each |
//! | `f` `k` `K` | 32, 32, list of 32 | flag, index, indices of what completed |
//! | `x` | list | statuses, if the record has them |
//! | `m` | 32 | own rank; what stands in `[ ]` is there only on the root |
//! | `g` `h` `G` | 16 | groups given, made |
//! | `l` `L` | list of 32, list of lists | ranks, ranges of ranks |
//! | `j` `J` | 32 | colour, key |
//! | `o` `O` | 16 | datatype given, made |
//! | `b` `z` | 32 | count, length of a block or size |
//! | `u` | list of 32 | lengths of blocks, or dimensions |
//! | `q` | 16 | window |
//! | `I` | strings | arguments of the program; their number stands twice before version 0.6.2 |
//! | `8` `9` | list of 32 | skipped; one number before version 0.6.8, 0.6.9 |
//! | `.` `:` `,` `;` | 32, 16, 8, 64 | skipped |
//! | `a` `A` `y` `e` | lists of 32, lists of 32, of 16, of 8 | skipped |
//! | `s` `S` `Z` | string, list of them, list of lists | skipped |
//! | `-` | 0 | nothing |
//! | `!` | | the library has a number for it and never writes it |

/// The code that marks the end of the stream.
pub(super) const END_OF_STREAM: u16 = 293;
/// Entering and leaving functions of the program itself: an address of 64 bits.
pub(super) const PROGRAM_FUNCTIONS: [u16; 2] = [291, 292];

/// Names without `MPI_`, and layouts.
#[rustfmt::skip]
pub(super) const FUNCTIONS: [(&str, &str); 290] = [
    ("Send", "ndptc"), ("Recv", "NDptcx"), ("Get_count", "x:."), ("Bsend", "ndptc"), ("Ssend", "ndptc"),
    ("Rsend", "ndptc"), ("Buffer_attach", "."), ("Buffer_detach", "."), ("Isend", "ndptcr"), ("Ibsend", "ndptcr"),
    ("Issend", "ndptcr"), ("Irsend", "ndptcr"), ("Irecv", "NDptcr"), ("Wait", "rx"), ("Test", "rfx"),
    ("Request_free", "r"), ("Waitany", ".Rkx"), ("Testany", ".Rkfx"), ("Waitall", ".Rx"), ("Testall", ".Rfx"),
    ("Waitsome", ".R.Kx"), ("Testsome", ".R.Kx"), ("Iprobe", "ptcfx"), ("Probe", "ptcx"), ("Cancel", "r"),
    ("Test_cancelled", "x."), ("Send_init", "ndptcr"), ("Bsend_init", "ndptcr"), ("Ssend_init", "ndptcr"),
    ("Rsend_init", "ndptcr"), ("Recv_init", "NDptcr"), ("Start", "r"), ("Startall", ".R"), ("Sendrecv", "ndptNDPTcx"),
    ("Sendrecv_replace", "ndptPTcx"), ("Type_contiguous", "boO"), ("Type_vector", "bz.oO"), ("Type_hvector", "bz.oO"),
    ("Type_indexed", ".uaoO"), ("Type_hindexed", ".uaoO"), ("Type_struct", ".u9wO"), ("Address", "."),
    ("Type_extent", ":."), ("Type_size", "oz"), ("Type_lb", ":."), ("Type_ub", ":."), ("Type_commit", ":"),
    ("Type_free", ":"), ("Get_elements", "x:."), ("Pack", ".:...:"), ("Unpack", "....::"), ("Pack_size", ".::."),
    ("Barrier", "c"), ("Bcast", "ndpc"), ("Gather", "mndpc[ND]"), ("Gatherv", "m.ndpc[Va]D"),
    ("Scatter", "mNDpc[nd]"), ("Scatterv", "m.dNDpc[va]"), ("Allgather", "ndNDc"), ("Allgatherv", ".ndVaDc"),
    ("Alltoall", "ndNDc"), ("Alltoallv", ".vadVaDc"), ("Reduce", "nd,pc"), ("Op_create", ".,"), ("Op_free", ","),
    ("Allreduce", "nd,c"), ("Reduce_scatter", ".vd,c"), ("Scan", "nd,c"), ("Group_size", ":."), ("Group_rank", ":."),
    ("Group_translate_ranks", ":.a:a"), ("Group_compare", "::,"), ("Comm_group", "cG"), ("Group_union", "ghG"),
    ("Group_intersection", "ghG"), ("Group_difference", "ghG"), ("Group_incl", "g.lG"), ("Group_excl", "g.lG"),
    ("Group_range_incl", "g.LG"), ("Group_range_excl", "g.LG"), ("Group_free", ":"), ("Comm_size", ":."),
    ("Comm_rank", ":."), ("Comm_compare", "::,"), ("Comm_dup", "cC"), ("Comm_create", "cgC"), ("Comm_split", "cjJC"),
    ("Comm_free", "c"), ("Comm_test_inter", ":."), ("Comm_remote_size", ":."), ("Comm_remote_group", ":G"),
    ("Intercomm_create", "c.:..C"), ("Intercomm_merge", "c.C"), ("Keyval_create", ":"), ("Keyval_free", ":"),
    ("Attr_put", ":."), ("Attr_get", ":.."), ("Attr_delete", ":."), ("Topo_test", ":,"), ("Cart_create", "c.ua.C"),
    ("Dims_create", "..aa"), ("Graph_create", ".czaa.C"), ("Graphdims_get", ":.."), ("Graph_get", "..:..aa"),
    ("Cartdim_get", ":."), ("Cart_get", ".:.aa8"), ("Cart_rank", ".:a."), ("Cart_coords", ".:..a"),
    ("Graph_neighbors_count", ":.."), ("Graph_neighbors", ".:..a"), ("Cart_shift", ":...."), ("Cart_sub", ".cuC"),
    ("Cart_map", ":.aa."), ("Graph_map", ".:.aa."), ("Get_processor_name", "s."), ("Get_version", ".."),
    ("Errhandler_create", ":"), ("Errhandler_set", "::"), ("Errhandler_get", "::"), ("Errhandler_free", ":"),
    ("Error_string", ".s."), ("Error_class", ".."), ("Wtime", "-"), ("Wtick", "-"), ("Init", "I"), ("Finalize", "-"),
    ("Initialized", "."), ("Abort", "c."), ("Pcontrol", "!"), ("Close_port", "s"), ("Comm_accept", "s:pcC"),
    ("Comm_connect", "s:pcC"), ("Comm_disconnect", "c"), ("Comm_get_parent", "C"), ("Comm_join", ".C"),
    ("Comm_spawn", "mpcC[sS.:a]"), ("Comm_spawn_multiple", ".mpcC[.SZaya]"), ("Lookup_name", "s:s"),
    ("Open_port", ":s"), ("Publish_name", "s:s"), ("Unpublish_name", "s:s"), ("Accumulate", "ndp..:,q"),
    ("Get", "NDp..:q"), ("Put", "ndp..:q"), ("Win_complete", "q"), ("Win_create", "..:cq"), ("Win_fence", ",q"),
    ("Win_free", "q"), ("Win_get_group", ":G"), ("Win_lock", ",p,q"), ("Win_post", ":,q"), ("Win_start", ":,q"),
    ("Win_test", "qf"), ("Win_unlock", "pq"), ("Win_wait", "q"), ("Alltoallw", ".vawVaWc"), ("Exscan", "nd,c"),
    ("Add_error_class", "."), ("Add_error_code", ".."), ("Add_error_string", ".s"), ("Comm_call_errhandler", ":."),
    ("Comm_create_keyval", ":"), ("Comm_delete_attr", "::"), ("Comm_free_keyval", ":"), ("Comm_get_attr", "::."),
    ("Comm_get_name", ":s."), ("Comm_set_attr", "::"), ("Comm_set_name", ":s"), ("File_call_errhandler", ":."),
    ("Grequest_complete", "r"), ("Grequest_start", "r"), ("Init_thread", "I,,"), ("Is_thread_main", "."),
    ("Query_thread", ","), ("Status_set_cancelled", "x."), ("Status_set_elements", "x:."),
    ("Type_create_keyval", ":"), ("Type_delete_attr", "::"), ("Type_dup", "oO"), ("Type_free_keyval", ":"),
    ("Type_get_attr", "::."), ("Type_get_contents", "...:...aay"), ("Type_get_envelope", ":...,"),
    ("Type_get_name", ":s."), ("Type_set_attr", "::"), ("Type_set_name", ":s"), ("Type_match_size", ",zO"),
    ("Win_call_errhandler", ":."), ("Win_create_keyval", ":"), ("Win_delete_attr", "::"), ("Win_free_keyval", ":"),
    ("Win_get_attr", "::."), ("Win_get_name", ":s."), ("Win_set_attr", "::"), ("Win_set_name", ":s"),
    ("Alloc_mem", ".:"), ("Comm_create_errhandler", ":"), ("Comm_get_errhandler", "::"),
    ("Comm_set_errhandler", "::"), ("File_create_errhandler", ":"), ("File_get_errhandler", "::"),
    ("File_set_errhandler", "::"), ("Finalized", "."), ("Free_mem", "-"), ("Get_address", "."), ("Info_create", ":"),
    ("Info_delete", ":s"), ("Info_dup", "::"), ("Info_free", ":"), ("Info_get", ":s.s."), ("Info_get_nkeys", ":."),
    ("Info_get_nthkey", ":.s"), ("Info_get_valuelen", ":s.."), ("Info_set", ":ss"), ("Pack_external", "s.:..."),
    ("Pack_external_size", "s.:."), ("Request_get_status", "..x"), ("Type_create_darray", "...aeaa,oO"),
    ("Type_create_hindexed", ".uaoO"), ("Type_create_hvector", "bz.oO"), ("Type_create_indexed_block", "bzaoO"),
    ("Type_create_resized", "o..O"), ("Type_create_struct", ".uawO"), ("Type_create_subarray", ".aua,oO"),
    ("Type_get_extent", ":.."), ("Type_get_true_extent", ":.."), ("Unpack_external", "s....:"),
    ("Win_create_errhandler", ":"), ("Win_get_errhandler", "::"), ("Win_set_errhandler", "::"),
    ("File_open", "cs,::"), ("File_close", ":"), ("File_delete", "s:"), ("File_set_size", ":;"),
    ("File_preallocate", ":;"), ("File_get_size", ":;"), ("File_get_group", ":G"), ("File_get_amode", ":,"),
    ("File_set_info", "::"), ("File_get_info", "::"), ("File_set_view", ":;::s:"), ("File_get_view", ":;::s"),
    ("File_read_at", ":;.:x"), ("File_read_at_all", ":;.:x"), ("File_write_at", ":;.:x"),
    ("File_write_at_all", ":;.:x"), ("File_iread_at", ":;.:."), ("File_iwrite_at", ":;.:."), ("File_read", ":.:x"),
    ("File_read_all", ":.:x"), ("File_write", ":.:x"), ("File_write_all", ":.:x"), ("File_iread", ":.:."),
    ("File_iwrite", ":.:."), ("File_seek", ":;,"), ("File_get_position", ":;"), ("File_get_byte_offset", ":;;"),
    ("File_read_shared", ":.:x"), ("File_write_shared", ":.:x"), ("File_iread_shared", ":.:."),
    ("File_iwrite_shared", ":.:."), ("File_read_ordered", ":.:x"), ("File_write_ordered", ":.:x"),
    ("File_seek_shared", ":;,"), ("File_get_position_shared", ":;"), ("File_read_at_all_begin", ":;.:"),
    ("File_read_at_all_end", ":x"), ("File_write_at_all_begin", ":;.:"), ("File_write_at_all_end", ":x"),
    ("File_read_all_begin", ":.:"), ("File_read_all_end", ":x"), ("File_write_all_begin", ":.:"),
    ("File_write_all_end", ":x"), ("File_read_ordered_begin", ":.:"), ("File_read_ordered_end", ":x"),
    ("File_write_ordered_begin", ":.:"), ("File_write_ordered_end", ":x"), ("File_get_type_extent", "::."),
    ("Register_datarep", "s"), ("File_set_atomicity", ":."), ("File_get_atomicity", ":."), ("File_sync", ":"),
    ("IO_Test", ".fx"), ("IO_Wait", ".x"), ("IO_Testall", ".afx"), ("IO_Waitall", ".ax"), ("IO_Testany", ".a..x"),
    ("IO_Waitany", ".a.x"), ("IO_Waitsome", ".a.ax"), ("IO_Testsome", ".a.ax"),
];
