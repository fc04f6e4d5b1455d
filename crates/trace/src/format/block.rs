//! Blocks, the units of a stream.
//!
//! A block states its length and its number in the stream and carries a checksum, so that a stream
//! is readable up to the last block that was written completely. It also relates the counter that
//! times calls to the clock of the operating system, at the moment it was written.

use super::VERSION;

/// The first bytes of every block.
pub const MAGIC: [u8; 4] = *b"STRB";

/// Bytes before the payload.
pub const HEADER: usize = 48;

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum BlockKind {
    /// Describes who wrote the stream; the first block.
    Head = 0,
    /// Calls of one thread.
    Calls = 1,
    /// Times exchanged with another rank.
    Clock = 2,
    /// Marks an orderly end of the program, and lists functions that were called but not understood.
    End = 3,
    /// Calls of one thread, each with the place it was made from. Since version 2.
    CallsWithSites = 4,
    /// Places that calls are made from. Since version 2.
    Sites = 5,
}

impl BlockKind {
    /// The version that a reader needs for this kind. Programs that know only version 1 can still
    /// read streams without call sites.
    fn version(self) -> u16 {
        match self {
            BlockKind::CallsWithSites | BlockKind::Sites => VERSION,
            _ => 1,
        }
    }

    fn from_code(code: u16) -> Option<BlockKind> {
        use BlockKind::{Calls, CallsWithSites, Clock, End, Head, Sites};
        [Head, Calls, Clock, End, CallsWithSites, Sites].into_iter().find(|&kind| kind as u16 == code)
    }
}

/// The fields of a block's header except length and checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub kind: BlockKind,
    pub sequence: u32,
    pub thread: u32,
    /// The counter, in ticks, when the block was written.
    pub ticks: u64,
    /// The operating system's monotonic clock, in nanoseconds, at the same moment.
    pub clock_ns: u64,
    /// The tick from which the first call of the block counts.
    pub base: u64,
}

/// Writes the header into the first [`HEADER`] bytes of `block`, which the payload follows.
pub fn seal(block: &mut [u8], header: &Header) {
    let length = (block.len() - HEADER) as u32;
    block[0..4].copy_from_slice(&MAGIC);
    block[4..6].copy_from_slice(&header.kind.version().to_le_bytes());
    block[6..8].copy_from_slice(&(header.kind as u16).to_le_bytes());
    block[8..12].copy_from_slice(&header.sequence.to_le_bytes());
    block[12..16].copy_from_slice(&header.thread.to_le_bytes());
    block[16..20].copy_from_slice(&length.to_le_bytes());
    block[20..24].fill(0);
    block[24..32].copy_from_slice(&header.ticks.to_le_bytes());
    block[32..40].copy_from_slice(&header.clock_ns.to_le_bytes());
    block[40..48].copy_from_slice(&header.base.to_le_bytes());
    let checksum = crc32fast::hash(block);
    block[20..24].copy_from_slice(&checksum.to_le_bytes());
}

/// A block as it lies in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The version of the format it is written in.
    pub version: u16,
    pub header: Header,
    pub payload: &'a [u8],
}

/// Why there is no block at a place of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoBlock {
    /// Fewer bytes than the block claims: it was not written completely.
    Cut {
        wanted: u64,
        there: u64,
    },
    /// The bytes are not a block.
    Magic,
    Checksum,
    /// Written by a newer program.
    Version(u16),
    /// A kind of block this version does not know, of this many bytes: it can be skipped.
    Kind {
        code: u16,
        bytes: usize,
    },
}

/// The block at the beginning of `bytes`, and how many bytes it takes.
pub fn take(bytes: &[u8]) -> Result<(Block<'_>, usize), NoBlock> {
    let Some((head, rest)) = bytes.split_at_checked(HEADER) else {
        return Err(NoBlock::Cut { wanted: HEADER as u64, there: bytes.len() as u64 });
    };
    if head[0..4] != MAGIC {
        return Err(NoBlock::Magic);
    }
    let version = u16::from_le_bytes([head[4], head[5]]);
    if version > VERSION {
        return Err(NoBlock::Version(version));
    }
    let u32_at = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap_or_default());
    let u64_at = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap_or_default());
    let length = u32_at(16) as usize;
    let Some(payload) = rest.get(..length) else {
        return Err(NoBlock::Cut { wanted: length as u64, there: rest.len() as u64 });
    };
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head[..20]);
    hasher.update(&[0; 4]);
    hasher.update(&head[24..]);
    hasher.update(payload);
    if hasher.finalize() != u32_at(20) {
        return Err(NoBlock::Checksum);
    }
    let code = u16::from_le_bytes([head[6], head[7]]);
    let Some(kind) = BlockKind::from_code(code) else {
        return Err(NoBlock::Kind { code, bytes: HEADER + length });
    };
    let header = Header {
        kind,
        sequence: u32_at(8),
        thread: u32_at(12),
        ticks: u64_at(24),
        clock_ns: u64_at(32),
        base: u64_at(40),
    };
    Ok((Block { version, header, payload }, HEADER + length))
}

/// Finds the next possible beginning of a block, at `from` or later.
pub fn next_magic(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(MAGIC.len()).position(|window| window == MAGIC).map(|at| from + at)
}
