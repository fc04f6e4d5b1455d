//! GOAL binary, as the reference writes it: little endian, packed.
//!
//! ```text
//! u64 magic; then, and all offsets count from here:
//! u32 ranks, u8 largest CPU number, u8 largest NIC number, ranks × (u64 start, u64 end)
//! a rank's schedule: u32 nodes, u32 roots, roots × u32 node, nodes × node, appendix of u32 nodes
//! node: u32 dependencies, i8 type, u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
//!       u32 count and u32 place in the appendix of those that require it, the same for irequire
//! ```

mod read;
#[cfg(test)]
mod tests;
pub(super) mod write;

pub use read::{parse, parse_ranks, parse_with, ranks};
pub use write::write;

/// The first number of a file.
pub(super) const MAGIC: u64 = 4223;
/// Magic number of a file that the reference simulator has used as working memory.
pub(super) const DESTROYED: u64 = 2342;
/// Size in bytes of the header, after the magic number.
const HEADER: usize = 6;
/// Size in bytes of a rank's start and end.
const EXTENT: usize = 16;
/// Size in bytes of the counts that a schedule begins with.
const COUNTS: usize = 8;
const NODE: usize = 39;
const INDEX: usize = 4;
