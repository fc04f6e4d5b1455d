//! Parcels as bytes for another member of the cluster: the block, how many messages arrive in the next window and how
//! many later, and the messages as they are in memory. All members run the same program on the same kind of machine.

use super::super::calendar::{CHUNK, Chunks};
use super::super::outgoing::Parcel;
use crate::message::Timed;

/// Bytes before the messages of a parcel.
const HEAD: usize = 12;

/// A parcel in serialised form.
#[derive(Debug)]
pub(super) struct Packed<'a, M> {
    soon: &'a [M],
    later: &'a [M],
}

impl<M: bytemuck::Pod + Timed> Packed<'_, M> {
    pub fn unpack(&self, chunks: &mut Chunks<M>) -> Parcel<M> {
        let mut full = Vec::with_capacity(self.soon.len().div_ceil(CHUNK));
        chunks.extend(&mut full, self.soon);
        Parcel::of_parts(full, self.later.to_vec())
    }
}

/// Appends a parcel to `bytes`. Its chunks are reused.
pub(super) fn write<M: bytemuck::Pod + Timed>(
    bytes: &mut Vec<u8>,
    block: u32,
    parcel: Parcel<M>,
    chunks: &mut Chunks<M>,
) {
    let (soon, later) = parcel.into_parts();
    let count: usize = soon.iter().map(Vec::len).sum();
    bytes.reserve(HEAD + (count + later.len()) * size_of::<M>());
    for number in [block, count as u32, later.len() as u32] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for chunk in soon {
        bytes.extend_from_slice(bytemuck::cast_slice(&chunk));
        chunks.put(chunk);
    }
    bytes.extend_from_slice(bytemuck::cast_slice(&later));
}

/// Reads the next parcel and its block, and advances `bytes` past it.
pub(super) fn read<'a, M: bytemuck::Pod>(bytes: &mut &'a [u8]) -> Option<(u32, Packed<'a, M>)> {
    let mut number = || Some(u32::from_le_bytes(*bytes.split_off(..4)?.first_chunk()?));
    let (block, soon, later) = (number()?, number()?, number()?);
    let mut messages =
        |count: u32| bytemuck::try_cast_slice(bytes.split_off(..count as usize * size_of::<M>())?).ok();
    let (soon, later) = (messages(soon)?, messages(later)?);
    Some((block, Packed { soon, later }))
}
