//! Receive buffers, allocated before the run begins, since the traced program had its buffers too.

use crate::wire::{Room, room};
use std::collections::HashMap;

/// Free buffers, by the power of two of their size.
#[derive(Debug, Default)]
pub struct Rooms(HashMap<u32, Vec<Room>>);

fn class(bytes: usize) -> u32 {
    bytes.max(8).next_power_of_two().trailing_zeros()
}

impl Rooms {
    /// A buffer of the given number of bytes.
    pub fn take(&mut self, bytes: usize) -> Room {
        let class = class(bytes);
        self.0.get_mut(&class).and_then(Vec::pop).unwrap_or_else(|| room(1 << class))
    }

    pub fn give_back(&mut self, room: Room) {
        self.0.entry(class(room.len() * 8)).or_default().push(room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_large_enough_and_used_again() {
        let mut rooms = Rooms::default();
        for bytes in [0, 1, 8, 9, 4096, 5000] {
            let room = rooms.take(bytes);
            assert!(room.len() * 8 >= bytes);
            let address = room.as_ptr();
            rooms.give_back(room);
            let again = rooms.take(bytes);
            assert_eq!(again.as_ptr(), address);
        }
    }
}
