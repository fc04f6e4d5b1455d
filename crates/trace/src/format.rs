//! The format of traces: one stream per rank, in self-contained blocks.
//!
//! `docs/trace-format.md` describes it byte by byte. The recording library uses
//! [`write`](mod@write) while the program runs: it does not allocate once it is warm, and takes a
//! handful of bytes per call. [`read`](mod@read) reads a stream back as far as it is intact: a
//! checksum tells whether a block is good, and no block depends on a later one. [`assemble`] puts
//! the streams of a run onto one clock and gives communicators the same number everywhere.

pub mod assemble;
pub mod block;
pub(crate) mod clocks;
pub mod directory;
pub mod merge;
pub mod read;
pub mod save;
pub mod sites;
pub mod varint;
pub mod write;

/// The newest version this library writes and reads. A block says which one it needs.
pub const VERSION: u16 = 2;

/// Keys of attributes of a call. Readers skip those they do not know.
pub mod attribute {
    /// Which requests a wait or test completed.
    pub const COMPLETED: u64 = 1;
    /// A test or probe succeeded, or a receive failed because its buffer was too short.
    pub const FOUND: u64 = 2;
    /// Source and tag of a wildcard receive or a probe.
    pub const MATCHED: u64 = 3;
    /// Source and tag that the receiving half of a sendrecv asks for.
    pub const RECEIVE: u64 = 4;
    /// How many unsuccessful calls the record stands for, and the ticks inside them.
    pub const REPEATED: u64 = 5;
    /// Bytes to each rank or neighbour.
    pub const SENT_SIZES: u64 = 6;
    /// Bytes from each rank or neighbour.
    pub const RECEIVED_SIZES: u64 = 7;
    /// The communicator that the call made.
    pub const NEW_COMM: u64 = 8;
    /// The number of a message that a matched probe returned.
    pub const MESSAGE: u64 = 9;
    /// The number of a window.
    pub const WINDOW: u64 = 10;
    /// The name of a region, or the level of a Pcontrol.
    pub const TEXT: u64 = 11;
    /// The number of the request, if it is not the next.
    pub const REQUEST: u64 = 12;
    /// Bytes of completed receives that got less than their buffer.
    pub const LENGTHS: u64 = 13;
    /// 0 if recording pauses here, 1 if it resumes.
    pub const RECORDING: u64 = 14;
    /// World ranks of the group of a window's epoch.
    pub const GROUP: u64 = 15;
}

/// Keys of the head of a stream.
pub mod head {
    /// 16 bytes, the same for all ranks of a run.
    pub const RUN: u64 = 1;
    /// The rank in MPI_COMM_WORLD.
    pub const RANK: u64 = 2;
    /// The number of ranks.
    pub const SIZE: u64 = 3;
    /// The name of the host.
    pub const HOST: u64 = 4;
    /// The boot of the host's operating system: ranks with the same one share a clock.
    pub const BOOT: u64 = 5;
    /// The process id.
    pub const PROCESS: u64 = 6;
    /// The command line.
    pub const PROGRAM: u64 = 7;
    /// The MPI library.
    pub const LIBRARY: u64 = 8;
    /// The length of a tick in picoseconds, as first measured.
    pub const TICK_PS: u64 = 9;
    /// The cores that the process may run on.
    pub const CORES: u64 = 10;
    /// The thread level that MPI provides.
    pub const THREAD_LEVEL: u64 = 11;
    /// The names of functions, whose positions are the codes of records.
    pub const FUNCTIONS: u64 = 12;
    /// When the run began, in nanoseconds since 1970.
    pub const STARTED: u64 = 13;
    /// The communicators of a converted trace, on rank 0.
    pub const COMMUNICATORS: u64 = 14;
    /// Notes on the trace.
    pub const NOTES: u64 = 15;
    /// The format it was converted from.
    pub const FORMAT: u64 = 16;
}

/// Keys of a block about clocks, which holds one exchange of times with another rank.
pub mod exchange {
    /// 0 at the beginning of the run, 1 at its end.
    pub const WHEN: u64 = 1;
    /// The rank of the partner.
    pub const PARTNER: u64 = 2;
    /// Own ticks before and after the best of all rounds, and the partner's ticks in between.
    pub const BEFORE: u64 = 3;
    /// The partner's ticks in between.
    pub const THEIRS: u64 = 4;
    /// Own ticks after it.
    pub const AFTER: u64 = 5;
    /// The number of rounds.
    pub const ROUNDS: u64 = 6;
}

/// Keys of the last block.
pub mod end {
    /// Names of functions that were called but not recorded, with the number of calls.
    pub const UNKNOWN: u64 = 1;
    /// How it ended: see [`super::read::Ending`].
    pub const HOW: u64 = 2;
    /// Why the stream could not be written any further, as the system's error number.
    pub const FAULT: u64 = 3;
    /// Time from the beginning of the recording to its end and the processor time in it, both in
    /// nanoseconds; the number of preemptions; how long the main thread waited for a core, in nanoseconds.
    pub const WALL: u64 = 4;
    /// Processor time in the recording, in nanoseconds.
    pub const CPU: u64 = 5;
    /// How often the process was preempted.
    pub const PREEMPTIONS: u64 = 6;
    /// How long the main thread waited for a core, in nanoseconds.
    pub const WAITING: u64 = 7;
}

/// The fields that follow in a call's record, by bit: those that differ from the last call of the
/// same function in the block, and those that only some calls have.
pub mod field {
    /// The communicator.
    pub const COMM: u8 = 1;
    /// The peer or root.
    pub const PEER: u8 = 1 << 1;
    /// The tag.
    pub const TAG: u8 = 1 << 2;
    /// Bytes sent.
    pub const SENT: u8 = 1 << 3;
    /// Bytes received.
    pub const RECEIVED: u8 = 1 << 4;
    /// Requests of a wait or test.
    pub const REQUESTS: u8 = 1 << 5;
    /// Attributes, see [`attribute`](super::attribute).
    pub const ATTRIBUTES: u8 = 1 << 6;
    /// The return code.
    pub const ERROR: u8 = 1 << 7;
}

/// The numbers a rank gives to its communicators: these two, then in order of creation.
pub mod local_comm {
    /// MPI_COMM_WORLD.
    pub const WORLD: u32 = 0;
    /// MPI_COMM_SELF.
    pub const SELF: u32 = 1;
    /// The first that the program makes.
    pub const FIRST: u32 = 2;
    /// The call has no communicator.
    pub const NONE: u32 = u32::MAX;
}
