//! What a process that decides for itself keeps: which request stands for which, what it is choosing from, what it has asked.
//!
//! In a trace a request is what the traced run took it for. When a replay completes another one first, the two change roles:
//! whatever the trace says later about the one that was taken concerns the other.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use straggler_model::{Rank, Time};

/// Decisions of a process, and what it needs to make them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Decider {
    /// Who plays whose role, by the instruction of the trace; all others play their own.
    roles: Vec<(u32, u32)>,
    pub choice: Option<Choice>,
    /// Completions so far, to tell which of two at the same time came first.
    pub reports: u32,
    /// A time that has come: no completion before it is unknown.
    pub now: Time,
    /// A test that succeeded in the trace, while the thread waits for what it found.
    pub tested: Option<Tested>,
    /// Tests of the trace, in the order in which they are asked.
    pub polls: VecDeque<Poll>,
    /// Which instructions those are about, one list after the other, and whether each had completed by then.
    pub polled: Vec<(u32, PollAnswer)>,
    /// What tests have found that failed in the trace, until the trace completes it.
    found: Vec<u32>,
    pub changes: Vec<Change>,
    /// Tests that are not called any more, because an earlier one succeeds.
    pub superfluous: u64,
    /// The instructions of the trace that are nothing but such tests.
    pub unneeded: Vec<u32>,
}

/// What a thread is choosing from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Choice {
    pub instruction: u32,
    pub first: u32,
    pub count: u32,
    /// How many it takes.
    pub chosen: u32,
    /// How many of them are known to complete.
    pub known: u32,
    /// When the thread came to it.
    pub since: Time,
}

/// A test that succeeded in the trace.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Tested {
    pub instruction: u32,
    /// When the thread came to it.
    pub since: Time,
    /// When it could find the last of its requests.
    pub found: Time,
}

/// Whether something had completed when a test asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PollAnswer {
    Unknown,
    Yes,
    No,
}

/// A test of the trace.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Poll {
    pub instruction: u32,
    pub calls: u32,
    pub kind: PollKind,
    /// When it is asked; while it is not anchored, after so much of the computation that follows.
    pub at: Time,
    pub anchored: bool,
    /// Where its list begins in [`Decider::polled`], and how long it is.
    pub first: u32,
    pub count: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PollKind {
    /// It failed, and asked for any of its list, or for all.
    Any,
    All,
    /// It succeeded.
    Last,
}

/// A decision that differs from the trace's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The instruction of the trace.
    pub instruction: u32,
    pub what: Changed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Changed {
    /// Pairs of the trace's instructions that change roles: what plays the second completes here instead of what plays the
    /// first.
    Requests(Vec<(u32, u32)>),
    /// A receive took a message of this process.
    Source(Rank),
    /// A test that failed succeeds.
    Earlier,
    /// A test that succeeded would fail, and waits.
    Later,
}

impl Decider {
    /// The instruction that plays the role of one of the trace.
    #[inline]
    pub fn role(&self, recorded: u32) -> u32 {
        if self.roles.is_empty() {
            return recorded;
        }
        let place = self.roles.binary_search_by_key(&recorded, |&(recorded, _)| recorded);
        place.map_or(recorded, |place| self.roles[place].1)
    }

    fn assign(&mut self, recorded: u32, actual: u32) {
        match self.roles.binary_search_by_key(&recorded, |&(recorded, _)| recorded) {
            Ok(place) if recorded == actual => {
                self.roles.remove(place);
            }
            Ok(place) => self.roles[place].1 = actual,
            Err(_) if recorded == actual => {}
            Err(place) => self.roles.insert(place, (recorded, actual)),
        }
    }

    /// An instruction of the trace is over: nothing follows that concerns its role.
    #[inline]
    pub fn retire(&mut self, recorded: u32) {
        if !self.roles.is_empty() {
            self.assign(recorded, recorded);
        }
    }

    /// Of a list, `taken` complete where `recorded` did; both are of the same length. Gives the pairs of the list that change
    /// roles: one that the trace took, and one that it did not.
    pub fn exchange(&mut self, list: &[u32], recorded: &[u32], taken: &[u32]) -> Vec<(u32, u32)> {
        let is_taken = |decider: &Decider, one: u32| taken.contains(&decider.role(one));
        let passed_over = recorded.iter().copied().filter(|&one| !is_taken(self, one));
        let instead = list.iter().copied().filter(|&one| is_taken(self, one) && !recorded.contains(&one));
        let pairs: Vec<(u32, u32)> = passed_over.zip(instead).collect();
        for &(passed_over, instead) in &pairs {
            self.assign(instead, self.role(passed_over));
        }
        recorded.iter().for_each(|&one| self.retire(one));
        pairs
    }

    /// A test of these instructions.
    pub fn poll(&mut self, poll: Poll, list: impl Iterator<Item = u32>) {
        if self.polls.is_empty() {
            self.polled.clear();
        }
        let first = self.polled.len();
        self.polled.extend(list.map(|one| (one, PollAnswer::Unknown)));
        let count = (self.polled.len() - first) as u32;
        self.polls.push_back(Poll { first: first as u32, count, ..poll });
    }

    /// A test that succeeded in the trace, if tests before it may have found the same.
    pub fn poll_last(&mut self, instruction: u32, at: Time, list: impl Iterator<Item = u32>) {
        if !self.polls.is_empty() || !self.found.is_empty() {
            let poll =
                Poll { instruction, calls: 1, kind: PollKind::Last, at, anchored: true, first: 0, count: 0 };
            self.poll(poll, list);
        }
    }

    /// Answers tests, in their order, as far as all that they ask for is known.
    pub fn answer(&mut self) {
        while let Some(poll) = self.polls.front().copied().filter(|poll| poll.anchored) {
            let list = &self.polled[poll.first as usize..(poll.first + poll.count) as usize];
            let is_found = |one: &u32| self.found.contains(one);
            if poll.kind == PollKind::Last {
                if list.iter().all(|(one, _)| is_found(one)) {
                    self.superfluous += 1;
                    self.unneeded.push(poll.instruction);
                }
                self.found.retain(|found| !list.iter().any(|(one, _)| one == found));
                self.polls.pop_front();
                continue;
            }
            if list.iter().any(|(_, answer)| *answer == PollAnswer::Unknown) {
                return;
            }
            self.polls.pop_front();
            let completed = list.iter().filter(|(_, answer)| *answer == PollAnswer::Yes);
            let count = completed.clone().count();
            if count == 0 || poll.kind == PollKind::All && count < list.len() {
                continue;
            }
            let news: Vec<u32> = completed.map(|&(one, _)| one).filter(|one| !is_found(one)).collect();
            if news.is_empty() {
                self.unneeded.push(poll.instruction);
            } else {
                self.changes.push(Change { instruction: poll.instruction, what: Changed::Earlier });
            }
            self.superfluous += u64::from(poll.calls) - u64::from(!news.is_empty());
            self.found.extend(news);
        }
    }

    /// Forgets that something was found, now that the trace completes it by waiting.
    pub fn completed(&mut self, actual: u32) {
        if !self.found.is_empty() && self.polls.is_empty() {
            self.found.retain(|&found| found != actual);
        }
    }

    pub fn changed(&mut self, instruction: u32, what: Changed) {
        self.changes.push(Change { instruction, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_change_and_end() {
        let mut decider = Decider::default();
        // The trace took 1, then 2, then 3; the replay takes 3, then 1, then 2.
        assert_eq!(decider.exchange(&[1, 2, 3], &[1], &[3]), [(1, 3)]);
        assert_eq!((decider.role(2), decider.role(3)), (2, 1));
        assert_eq!(decider.exchange(&[2, 3], &[2], &[1]), [(2, 3)]);
        assert_eq!(decider.role(3), 2);
        assert_eq!(decider.exchange(&[3], &[3], &[2]), []);
        assert!(decider.roles.is_empty());
    }

    #[test]
    fn several_at_once() {
        let mut decider = Decider::default();
        assert_eq!(decider.exchange(&[1, 2, 3, 4], &[1, 2], &[2, 4]), [(1, 4)]);
        assert_eq!((decider.role(3), decider.role(4)), (3, 1));
    }
}
