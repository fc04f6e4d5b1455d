//! Sums over ranges of calls, with and without the stored sums.

use super::{of_calls, trace};
use crate::waits::{Activities, Regions, WaitStates};
use proptest::prelude::*;
use straggler_trace::{Call, Function};

proptest! {
    #[test]
    fn any_stretch_is_the_sum_of_its_calls(
        calls in prop::collection::vec((0u64..50, 1u64..50, 0usize..4), 1..300),
        from in prop::option::of(0usize..300),
        length in 0usize..300,
    ) {
        let mut now = 0;
        let calls = calls.into_iter().map(|(gap, length, kind)| {
            let function = [Function::Isend, Function::Irecv, Function::Test, Function::Comm_group][kind];
            let enter = now + gap;
            now = enter + length;
            Call::new(function, super::at(enter), super::at(now))
        });
        let trace = trace(vec![of_calls(calls)]);
        let found = Activities::new(&trace, &WaitStates::new(&trace), &Regions::new(&trace));
        let rank = &found.ranks[0];
        let from = from.map(|from| from % rank.steps.len());
        let to = (from.map_or(0, |from| from + 1) + length).min(rank.steps.len());
        let mut expected = vec![0; rank.activities.len()];
        for (number, step) in rank.steps.iter().enumerate() {
            if (from.map_or(0, |from| from + 1)..=to).contains(&number) {
                expected[step.before_is as usize] += step.before.ps();
            }
            if (from.unwrap_or(0)..to).contains(&number) {
                expected[step.inside_is as usize] += step.inside.ps();
            }
        }
        let mut sums = vec![0; rank.activities.len()];
        rank.add(from.map(|from| from as u32), to, &mut |activity, time| sums[activity as usize] += time);
        prop_assert_eq!(sums, expected);
    }
}
