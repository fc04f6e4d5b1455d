//! State of a process that makes its own decisions: the roles of its requests, the choice it is making, and the tests
//! it has called.
//!
//! A trace refers to requests as the traced run completed them. When a replay completes another request first, the
//! two swap roles: what the trace says later about the one that was taken applies to the other.

use crate::checkpoint::{Unsound, ensure};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use straggler_model::{Rank, Time};

/// Decisions of a process, and what it needs to make them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Decider {
    /// Pairs of an instruction of the trace and the one that plays its role, sorted. All others play their own role.
    roles: Vec<(u32, u32)>,
    pub choice: Option<Choice>,
    /// Number of completions so far, to order completions at the same time.
    pub reports: u32,
    /// All completions up to this time are known.
    pub now: Time,
    /// A test that succeeded in the trace, while the thread waits for the requests that it found complete.
    pub tested: Option<Tested>,
    /// Tests of the trace, in the order of their calls.
    pub polls: VecDeque<Poll>,
    /// The instructions that these tests ask about, list after list, and whether each had completed by then.
    pub polled: Vec<(u32, PollAnswer)>,
    /// Instructions that were found complete by tests that failed in the trace, until the trace completes them.
    found: Vec<u32>,
    pub changes: Vec<Change>,
    /// Number of test calls that are not made any more, because an earlier one succeeds.
    pub superfluous: u64,
    /// Instructions of the trace that consist only of such calls.
    pub unneeded: Vec<u32>,
}

/// A choice that a thread is making.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Choice {
    pub instruction: u32,
    pub first: u32,
    pub count: u32,
    /// How many requests it takes.
    pub chosen: u32,
    /// How many of the list are known to complete.
    pub known: u32,
    /// When the thread reached the choice.
    pub since: Time,
}

/// A test that succeeded in the trace.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Tested {
    pub instruction: u32,
    /// When the thread reached the test.
    pub since: Time,
    /// When it could have found the last of its requests complete.
    pub found: Time,
}

/// Whether a request had completed when a test asked about it.
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
    /// When it is called; while not anchored, the offset into the computation that follows.
    pub at: Time,
    pub anchored: bool,
    /// Where its list begins in [`Decider::polled`], and how long it is.
    pub first: u32,
    pub count: u32,
}

/// What a recorded test or probe asked for, and whether it succeeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PollKind {
    /// It failed; it asked for any request of its list, or for all.
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

/// A decision that differs from the trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Changed {
    /// Pairs of the trace's instructions that swap roles: the one that plays the second completes here instead of the
    /// one that plays the first.
    Requests(Vec<(u32, u32)>),
    /// A receive took a message from this process.
    Source(Rank),
    /// A test that failed in the trace succeeds.
    Earlier,
    /// A test that succeeded in the trace would fail, so the thread waits.
    Later,
}

impl Decider {
    /// Checks lists and counts that were read.
    pub fn check(&self) -> Result<(), Unsound> {
        ensure(self.roles.is_sorted_by(|one, next| one.0 < next.0), "roles are in another order")?;
        let is_there =
            |poll: &Poll| u64::from(poll.first) + u64::from(poll.count) <= self.polled.len() as u64;
        ensure(self.polls.iter().all(is_there), "a test asks about nothing")?;
        let fits = self.reports < u32::MAX / 2 && self.superfluous < u64::MAX / 2;
        ensure(fits, "there are more decisions than there can be")
    }

    /// The instruction that plays the role of an instruction of the trace.
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

    /// Forgets the role of an instruction of the trace, which has nothing left to do.
    #[inline]
    pub fn retire(&mut self, recorded: u32) {
        if !self.roles.is_empty() {
            self.assign(recorded, recorded);
        }
    }

    /// Swaps roles where `taken` complete instead of `recorded`, which has the same length; both are of `list`.
    /// Returns the pairs that swap: one that the trace took, and one that it did not.
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

    /// Adds a test of these instructions.
    pub fn poll(&mut self, poll: Poll, list: impl Iterator<Item = u32>) {
        if self.polls.is_empty() {
            self.polled.clear();
        }
        let first = self.polled.len();
        self.polled.extend(list.map(|one| (one, PollAnswer::Unknown)));
        let count = (self.polled.len() - first) as u32;
        self.polls.push_back(Poll { first: first as u32, count, ..poll });
    }

    /// Adds a test that succeeded in the trace, if tests before it may have found the same.
    pub fn poll_last(&mut self, instruction: u32, at: Time, list: impl Iterator<Item = u32>) {
        if !self.polls.is_empty() || !self.found.is_empty() {
            let poll =
                Poll { instruction, calls: 1, kind: PollKind::Last, at, anchored: true, first: 0, count: 0 };
            self.poll(poll, list);
        }
    }

    /// Answers tests in order, as long as everything they ask about is known.
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

    /// Forgets that a test has found this instruction, now that the trace completes it by waiting.
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
