//! Distinguishes processes with one message in a window from those with several.

/// Exactly one message.
pub(super) const ONE: u8 = 1;
/// No message in this window, but some from earlier windows wait for the process.
pub(super) const HAS_BACKLOG: u8 = 2;

/// Counts a message of a process. Only the first message of a process without a backlog makes the mark [`ONE`], and no
/// number of messages makes it 0 or [`HAS_BACKLOG`] again.
#[inline(always)]
pub(super) fn count(mark: &mut u8) {
    *mark = *mark << 1 | 1;
}

/// The messages of processes with several. They are the exception; only their messages are copied and chained.
#[derive(Debug)]
pub(super) struct Oversubscribed<M> {
    /// By process: the place of its last member plus one, 0 for none. All 0 between windows.
    last: Vec<u32>,
    members: Vec<Member<M>>,
    /// The processes, in the order in which they were found.
    processes: Vec<u32>,
}

/// A message of such a process, and the place plus one of the process's next message. The last one points to the
/// first.
#[derive(Clone, Copy, Debug)]
struct Member<M> {
    message: M,
    next: u32,
}

impl<M> Default for Oversubscribed<M> {
    fn default() -> Self {
        Oversubscribed { last: Vec::new(), members: Vec::new(), processes: Vec::new() }
    }
}

impl<M: Copy> Oversubscribed<M> {
    #[inline(never)]
    pub fn add(&mut self, process: usize, message: &M) {
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
        self.members.push(Member { message: *message, next: first });
    }

    /// The number of processes.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// Takes a process and its messages in the order in which they came.
    pub fn take(&mut self, number: usize) -> (usize, impl Iterator<Item = M> + '_) {
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
            Some(member.message)
        });
        (process, members)
    }

    /// Clears the messages after all were taken.
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
        for start in [0, HAS_BACKLOG] {
            let mut mark = start;
            for number in 1..1000 {
                count(&mut mark);
                assert_eq!(mark == ONE, start == 0 && number == 1);
                assert!(mark != 0 && mark != HAS_BACKLOG);
            }
        }
    }

    #[test]
    fn messages_come_back_in_their_order() {
        let mut crowd = Oversubscribed::default();
        for _ in 0..2 {
            for (process, message) in [(7, 'a'), (3, 'b'), (7, 'c'), (3, 'd'), (7, 'e')] {
                crowd.add(process, &message);
            }
            let all: Vec<_> = (0..crowd.len())
                .map(|number| {
                    let (process, members) = crowd.take(number);
                    (process, members.collect::<Vec<_>>())
                })
                .collect();
            assert_eq!(all, [(7, vec!['a', 'c', 'e']), (3, vec!['b', 'd'])]);
            crowd.clear();
        }
    }
}
