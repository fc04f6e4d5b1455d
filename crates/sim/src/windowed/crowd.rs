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

/// Where the messages of processes with several lie. Such processes are the exception; only their messages are chained.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// By process: the place of its last member plus one, 0 for none. Kept at 0 between windows.
    last: Vec<u32>,
    members: Vec<Member>,
    /// The processes, in the order in which they were met.
    processes: Vec<u32>,
}

/// A message of such a process: its chunk, its place in the chunk, and the next one of the process, as its place plus one. The
/// last one names the first.
#[derive(Clone, Copy, Debug)]
struct Member {
    chunk: u32,
    index: u32,
    next: u32,
}

impl Crowd {
    /// Notes the message at `index` of chunk `chunk`.
    #[inline(never)]
    pub fn add(&mut self, process: usize, chunk: usize, index: usize) {
        if self.last.len() <= process {
            self.last.resize(process + 1, 0);
        }
        let place = self.members.len() as u32 + 1;
        let last = std::mem::replace(&mut self.last[process], place);
        let first = if last == 0 {
            self.processes.push(process as u32);
            place
        } else {
            std::mem::replace(&mut self.members[last as usize - 1].next, place)
        };
        self.members.push(Member { chunk: chunk as u32, index: index as u32, next: first });
    }

    /// How many processes there are.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// A process, and chunk and place of its messages in the order in which they lie.
    pub fn take(&mut self, number: usize) -> (usize, impl Iterator<Item = (usize, usize)> + '_) {
        let process = self.processes[number] as usize;
        let last = std::mem::take(&mut self.last[process]);
        let mut next = self.members[last as usize - 1].next;
        let mut over = false;
        let members = std::iter::from_fn(move || {
            if over {
                return None;
            }
            over = next == last;
            let member = self.members[next as usize - 1];
            next = member.next;
            Some((member.chunk as usize, member.index as usize))
        });
        (process, members)
    }

    /// Forgets the messages, when all were taken.
    pub fn clear(&mut self) {
        self.members.clear();
        self.processes.clear();
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

    #[test]
    fn messages_come_back_in_their_order() {
        let mut crowd = Crowd::default();
        for _ in 0..2 {
            for (process, chunk, index) in [(7, 0, 1), (3, 0, 2), (7, 0, 9), (3, 1, 0), (7, 2, 4)] {
                crowd.add(process, chunk, index);
            }
            let all: Vec<_> = (0..crowd.len())
                .map(|number| {
                    let (process, members) = crowd.take(number);
                    (process, members.collect::<Vec<_>>())
                })
                .collect();
            assert_eq!(all, [(7, vec![(0, 1), (0, 9), (2, 4)]), (3, vec![(0, 2), (1, 0)])]);
            crowd.clear();
        }
    }
}
