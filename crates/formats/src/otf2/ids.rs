//! Numbers of records and of their kinds, from the headers of libotf2 3.0 (OTF2_Events.h,
//! OTF2_Definitions.h, OTF2_GeneralDefinitions.h) and from its files.

/// Records of the global definitions.
pub(super) mod definition {
    pub(in crate::otf2) const CLOCK: u8 = 5;
    pub(in crate::otf2) const PARADIGM: u8 = 6;
    pub(in crate::otf2) const PARADIGM_PROPERTY: u8 = 7;
    pub(in crate::otf2) const STRING: u8 = 10;
    pub(in crate::otf2) const SYSTEM_TREE_NODE: u8 = 12;
    pub(in crate::otf2) const LOCATION_GROUP: u8 = 13;
    pub(in crate::otf2) const LOCATION: u8 = 14;
    pub(in crate::otf2) const REGION: u8 = 15;
    pub(in crate::otf2) const GROUP: u8 = 18;
    pub(in crate::otf2) const COMM: u8 = 22;
    pub(in crate::otf2) const SYSTEM_TREE_NODE_DOMAIN: u8 = 27;
    pub(in crate::otf2) const PARAMETER: u8 = 23;
    pub(in crate::otf2) const RMA_WIN: u8 = 24;
    pub(in crate::otf2) const SOURCE_CODE_LOCATION: u8 = 33;
    pub(in crate::otf2) const CALLING_CONTEXT: u8 = 34;
    pub(in crate::otf2) const INTER_COMM: u8 = 43;
}

/// Records of the definitions of one location.
pub(super) mod local {
    pub(in crate::otf2) const MAPPING_TABLE: u8 = 5;
    pub(in crate::otf2) const CLOCK_OFFSET: u8 = 6;
}

/// The kinds of numbers that mapping tables map.
pub(super) mod mapping {
    pub(in crate::otf2) const STRING: u8 = 0;
    pub(in crate::otf2) const REGION: u8 = 3;
    pub(in crate::otf2) const COMM: u8 = 6;
    pub(in crate::otf2) const PARAMETER: u8 = 7;
    pub(in crate::otf2) const CALLING_CONTEXT: u8 = 10;
}

/// Records of events.
pub(super) mod event {
    pub(in crate::otf2) const ENTER: u8 = 12;
    pub(in crate::otf2) const LEAVE: u8 = 13;
    pub(in crate::otf2) const SEND: u8 = 14;
    pub(in crate::otf2) const ISEND: u8 = 15;
    pub(in crate::otf2) const ISEND_COMPLETE: u8 = 16;
    pub(in crate::otf2) const IRECV_REQUEST: u8 = 17;
    pub(in crate::otf2) const RECV: u8 = 18;
    pub(in crate::otf2) const IRECV: u8 = 19;
    pub(in crate::otf2) const REQUEST_TEST: u8 = 20;
    pub(in crate::otf2) const REQUEST_CANCELLED: u8 = 21;
    pub(in crate::otf2) const COLLECTIVE_BEGIN: u8 = 22;
    pub(in crate::otf2) const COLLECTIVE_END: u8 = 23;
    pub(in crate::otf2) const PARAMETER_STRING: u8 = 32;
    pub(in crate::otf2) const PARAMETER_INT: u8 = 33;
    pub(in crate::otf2) const PARAMETER_UNSIGNED: u8 = 34;
    pub(in crate::otf2) const RMA_WIN_CREATE: u8 = 35;
    pub(in crate::otf2) const RMA_WIN_DESTROY: u8 = 36;
    pub(in crate::otf2) const RMA_COLLECTIVE_BEGIN: u8 = 37;
    pub(in crate::otf2) const RMA_COLLECTIVE_END: u8 = 38;
    pub(in crate::otf2) const RMA_PUT: u8 = 46;
    pub(in crate::otf2) const RMA_GET: u8 = 47;
    pub(in crate::otf2) const RMA_ATOMIC: u8 = 48;
    pub(in crate::otf2) const RMA_OP_COMPLETE_BLOCKING: u8 = 49;
    pub(in crate::otf2) const CALLING_CONTEXT_ENTER: u8 = 66;
    pub(in crate::otf2) const CALLING_CONTEXT_LEAVE: u8 = 67;
    pub(in crate::otf2) const PROGRAM_BEGIN: u8 = 83;
    pub(in crate::otf2) const PROGRAM_END: u8 = 84;
    pub(in crate::otf2) const COLLECTIVE_REQUEST: u8 = 85;
    pub(in crate::otf2) const COLLECTIVE_COMPLETE: u8 = 86;
    pub(in crate::otf2) const COMM_CREATE: u8 = 87;
    pub(in crate::otf2) const COMM_DESTROY: u8 = 88;
}

/// Kinds of groups.
pub(super) mod group {
    /// The locations that communicate, in order of their rank.
    pub(in crate::otf2) const COMM_LOCATIONS: u8 = 4;
    /// A subset of them, by their index in that list.
    pub(in crate::otf2) const COMM_GROUP: u8 = 5;
    /// Each process on its own (MPI_COMM_SELF).
    pub(in crate::otf2) const COMM_SELF: u8 = 6;
    /// Flag of groups whose members are locations rather than indices.
    pub(in crate::otf2) const GLOBAL_MEMBERS: u32 = 1;
}

/// A group member without a location: a process of another world (OTF2_UNDEFINED_UINT64).
pub(super) const FOREIGN: u64 = u64::MAX;

pub(super) const PARADIGM_UNKNOWN: u8 = 0;
pub(super) const PARADIGM_USER: u8 = 1;
/// Functions that the compiler instrumented.
pub(super) const PARADIGM_COMPILER: u8 = 2;
pub(super) const PARADIGM_MPI: u8 = 4;
/// Regions that the recording tool adds itself.
pub(super) const PARADIGM_MEASUREMENT: u8 = 6;
pub(super) const PROCESS_GROUP: u8 = 1;
pub(super) const CPU_THREAD: u8 = 1;

/// Roots of collectives that are not ranks.
pub(super) mod root {
    pub(in crate::otf2) const NONE: u32 = u32::MAX;
    /// Like MPI_ROOT.
    pub(in crate::otf2) const SELF: u32 = u32::MAX - 1;
    /// Like MPI_PROC_NULL as the root on an intercommunicator.
    pub(in crate::otf2) const THIS_GROUP: u32 = u32::MAX - 2;
}
