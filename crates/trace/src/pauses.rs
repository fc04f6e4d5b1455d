//! Stretches of a run that the program left out of its trace with MPI_Pcontrol(0).
//!
//! Inside a pause, only what the rest refers to is recorded: the creation and release of
//! communicators and windows, persistent requests, and the completion of operations begun before.

use crate::Class;
use crate::trace::RankTrace;
use straggler_model::Time;

/// The pauses, in order: from MPI_Pcontrol(0) to the next positive level, or to the end of the run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pauses(Vec<(Time, Time)>);

impl Pauses {
    pub fn new(rank: &RankTrace) -> Pauses {
        let mut found = Vec::new();
        let mut since = None;
        for call in &rank.calls {
            let Some(recording) = rank.details(call).and_then(|details| details.recording) else { continue };
            if recording {
                found.extend(since.take().map(|since| (since, call.enter)));
            } else {
                since.get_or_insert(call.exit);
            }
        }
        if let Some(since) = since {
            let finalize = rank.calls.iter().rfind(|call| call.function.class() == Class::Finalize);
            let last = rank.calls.iter().map(|call| call.exit).max();
            let end = finalize.map(|call| call.enter).or(last).unwrap_or(since);
            found.push((since, end.max(since)));
        }
        Pauses(found)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a call that begins at `enter` lies in a pause.
    pub fn contain(&self, enter: Time) -> bool {
        let after = self.0.partition_point(|&(since, _)| since <= enter);
        after > 0 && enter < self.0[after - 1].1
    }

    /// The total length of the pauses between `start` and `end`.
    pub fn within(&self, start: Time, end: Time) -> Time {
        let inside = |&(since, until): &(Time, Time)| until.min(end).since(since.max(start));
        self.0.iter().map(inside).fold(Time::ZERO, |sum, time| sum + time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Details, Function, Rare};

    fn mark(rank: &mut RankTrace, at: u64, recording: bool) {
        let rare = Rare { recording: Some(recording), ..Rare::default() };
        rank.push_with(Call::new(Function::Pcontrol, Time(at), Time(at)), Details::from(rare));
    }

    #[test]
    fn pauses_are_between_levels_and_to_the_end() {
        let mut rank = RankTrace::default();
        mark(&mut rank, 5, true);
        mark(&mut rank, 10, false);
        mark(&mut rank, 15, false);
        mark(&mut rank, 20, true);
        mark(&mut rank, 40, false);
        rank.push(Call::new(Function::Finalize, Time(50), Time(60)));
        let pauses = Pauses::new(&rank);
        assert_eq!(pauses, Pauses(vec![(Time(10), Time(20)), (Time(40), Time(50))]));
        let inside: Vec<bool> = [9, 10, 19, 20, 45, 50].map(|at| pauses.contain(Time(at))).into();
        assert_eq!(inside, [false, true, true, false, true, false]);
        assert_eq!(pauses.within(Time(15), Time(45)), Time(10));
        assert!(Pauses::new(&RankTrace::default()).is_empty());
    }
}
