//! Traces that make no sense are checked, summed up and written without a panic.

use proptest::prelude::*;
use std::collections::BTreeSet;
use straggler_formats::perfetto;
use straggler_model::Time;
use straggler_trace::check::check;
use straggler_trace::profile::Profile;
use straggler_trace::trace::{Communicator, RankTrace, Trace};
use straggler_trace::{Call, CommId, Completed, Details, Function, Matched, Rare, RequestId, Timeline};

proptest! {
    /// A trace can say anything: calls with any fields are checked, profiled and written without a panic.
    #[test]
    fn nonsense_is_survived(
        calls in proptest::collection::vec(
            (0..4usize, 0..Function::ALL.len(), any::<[u32; 4]>(), any::<[i32; 2]>(), any::<[u64; 4]>(), 0..6u32),
            0..40,
        )
    ) {
        let mut trace = Trace { communicators: vec![Communicator::world(4)], ..Trace::default() };
        trace.ranks = vec![RankTrace::default(); 4];
        for (rank, function, [comm, request, first, second], [peer, tag], [enter, exit, sent, received], few) in calls {
            let small = few < 3;
            let call = Call {
                function: Function::ALL[function],
                thread: (comm % 3) as u16,
                comm: if small { CommId(comm % 2) } else { CommId(comm) },
                enter: Time(enter),
                exit: Time(exit),
                peer: if small { peer % 5 } else { peer },
                tag: if small { tag % 3 } else { tag },
                sent,
                received,
                request: if small { RequestId(request % 4) } else { RequestId(request) },
                details: Call::NO_DETAILS,
            };
            let matched = Some(Matched { peer, tag });
            let details = Details {
                requests: vec![RequestId(first % 4), RequestId(second)].into(),
                completed: vec![Completed { request: RequestId(first % 4), matched, cancelled: small }].into(),
                found: few % 2 == 0,
                rare: Rare { message: Some(second % 2), new_comm: Some(CommId(second)), ..Rare::default() }.into(),
                ..Details::default()
            };
            trace.ranks[rank].push_with(call, details);
        }
        check(&trace, &BTreeSet::new());
        Profile::new(&trace);
        Timeline::of_trace(&trace, 10);
        perfetto::write(&trace, std::io::sink()).unwrap();
    }
}
