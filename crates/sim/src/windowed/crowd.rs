//! Who of a block has one message in a window, and who has several.

/// Exactly one message.
pub(super) const ONE: u8 = 1;
/// No message in this window, but some of earlier ones wait for the process.
pub(super) const HOARDS: u8 = 2;

/// Counts a message of a process. No number of messages turns a mark into [`ONE`] but the first of a process without a
/// hoard, and none turns it back to 0 or [`HOARDS`].
#[inline(always)]
pub(super) fn count(mark: &mut u8) {
    *mark = *mark << 1 | 1;
}

/// Where the messages of processes with several lie: process, chunk, place in the chunk. Such processes are the exception;
/// only their messages are sorted.
#[derive(Debug, Default)]
pub(super) struct Crowd(Vec<(u32, u32, u32)>);

impl Crowd {
    /// Notes the message at `index` of chunk `number`.
    #[inline(never)]
    pub fn add(&mut self, place: usize, number: usize, index: usize) {
        self.0.push((place as u32, number as u32, index as u32));
    }

    /// By process; of one process in the order in which they lie.
    pub fn sort(&mut self) {
        self.0.sort_unstable();
    }

    /// The messages of one process after the other.
    pub fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.0.chunk_by(|a, b| a.0 == b.0).map(Group)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// The messages of one process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<'a>(&'a [(u32, u32, u32)]);

impl Group<'_> {
    pub fn place(&self) -> usize {
        self.0[0].0 as usize
    }

    /// Chunk and place in it.
    pub fn members(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.0.iter().map(|&(_, number, index)| (number as usize, index as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_message_is_one() {
        for start in [0, HOARDS] {
            let mut mark = start;
            for number in 1..1000 {
                count(&mut mark);
                assert_eq!(mark == ONE, start == 0 && number == 1);
                assert!(mark != 0 && mark != HOARDS);
            }
        }
    }
}
