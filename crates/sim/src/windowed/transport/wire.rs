//! Parcels as bytes, on their way to another member of the cluster: the block, how many messages arrive in the next window and
//! how many later, and the messages as they lie in memory. All members run the same program on the same kind of machine.

use super::super::outgoing::Parcel;
use super::Delivery;
use crate::message::Timed;

/// Bytes before the messages of a parcel.
const HEAD: usize = 12;

pub(super) fn write<M: bytemuck::Pod + Timed>(bytes: &mut Vec<u8>, block: u32, parcel: Parcel<M>) {
    let (soon, later) = parcel.into_parts();
    let count: usize = soon.iter().map(Vec::len).sum();
    bytes.reserve(HEAD + (count + later.len()) * size_of::<M>());
    for number in [block, count as u32, later.len() as u32] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    soon.iter().chain([&later]).for_each(|messages| bytes.extend_from_slice(bytemuck::cast_slice(messages)));
}

/// The next parcel of some bytes, which then begin behind it.
pub(super) fn read<'a, M: bytemuck::Pod>(bytes: &mut &'a [u8]) -> Option<(u32, Delivery<'a, M>)> {
    let mut number = || Some(u32::from_le_bytes(*bytes.split_off(..4)?.first_chunk()?));
    let (block, soon, later) = (number()?, number()?, number()?);
    let mut messages =
        |count: u32| bytemuck::try_cast_slice(bytes.split_off(..count as usize * size_of::<M>())?).ok();
    let (soon, later) = (messages(soon)?, messages(later)?);
    Some((block, Delivery::Bytes { soon, later }))
}
