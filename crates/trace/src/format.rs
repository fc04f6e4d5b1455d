//! The format of traces: one stream per rank, in self-contained blocks.
//!
//! `docs/trace-format.md` describes it byte by byte. The recording library uses
//! [`write`](mod@write) while the program runs: it does not allocate once it is warm, and takes a
//! handful of bytes per call. [`read`](mod@read) reads a stream back as far as it is intact: a
//! checksum tells whether a block is good, and no block depends on a later one. [`assemble`] puts
//! the streams of a run onto one clock and gives communicators the same number everywhere.

pub mod assemble;
pub mod block;
pub mod clocks;
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
    pub const COMPLETED: u64 = 1;
    pub const FOUND: u64 = 2;
    pub const MATCHED: u64 = 3;
    pub const RECEIVE: u64 = 4;
    pub const REPEATED: u64 = 5;
    pub const SENT_SIZES: u64 = 6;
    pub const RECEIVED_SIZES: u64 = 7;
    pub const NEW_COMM: u64 = 8;
    pub const MESSAGE: u64 = 9;
    pub const WINDOW: u64 = 10;
    pub const TEXT: u64 = 11;
    pub const REQUEST: u64 = 12;
    pub const LENGTHS: u64 = 13;
    pub const RECORDING: u64 = 14;
    pub const GROUP: u64 = 15;
}

/// Keys of the head of a stream.
pub mod head {
    pub const RUN: u64 = 1;
    pub const RANK: u64 = 2;
    pub const SIZE: u64 = 3;
    pub const HOST: u64 = 4;
    pub const BOOT: u64 = 5;
    pub const PROCESS: u64 = 6;
    pub const PROGRAM: u64 = 7;
    pub const LIBRARY: u64 = 8;
    pub const TICK_PS: u64 = 9;
    pub const CORES: u64 = 10;
    pub const THREAD_LEVEL: u64 = 11;
    pub const FUNCTIONS: u64 = 12;
    pub const STARTED: u64 = 13;
    pub const COMMUNICATORS: u64 = 14;
    pub const NOTES: u64 = 15;
    pub const FORMAT: u64 = 16;
}

/// Keys of a block about clocks, which holds one exchange of times with another rank.
pub mod exchange {
    /// 0 at the beginning of the run, 1 at its end.
    pub const WHEN: u64 = 1;
    pub const PARTNER: u64 = 2;
    /// Own ticks before and after the best of all rounds, and the partner's ticks in between.
    pub const BEFORE: u64 = 3;
    pub const THEIRS: u64 = 4;
    pub const AFTER: u64 = 5;
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
    pub const CPU: u64 = 5;
    pub const PREEMPTIONS: u64 = 6;
    pub const WAITING: u64 = 7;
}

/// The fields that follow in a call's record, by bit: those that differ from the last call of the
/// same function in the block, and those that only some calls have.
pub mod field {
    pub const COMM: u8 = 1;
    pub const PEER: u8 = 1 << 1;
    pub const TAG: u8 = 1 << 2;
    pub const SENT: u8 = 1 << 3;
    pub const RECEIVED: u8 = 1 << 4;
    pub const REQUESTS: u8 = 1 << 5;
    pub const ATTRIBUTES: u8 = 1 << 6;
    pub const ERROR: u8 = 1 << 7;
}

/// The numbers a rank gives to its communicators: these two, then in order of creation.
pub mod local_comm {
    pub const WORLD: u32 = 0;
    pub const SELF: u32 = 1;
    pub const FIRST: u32 = 2;
    /// The call has no communicator.
    pub const NONE: u32 = u32::MAX;
}
