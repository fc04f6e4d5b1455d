//! `fixtures/traces/halo`: a small trace for examples and tests. No program ran: every time in it
//! is computed here, as its notes say.
//!
//! `STRAGGLER_WRITE_FIXTURES=1 cargo test -p straggler-trace halo` rewrites it.

use std::path::PathBuf;
use straggler_model::Time;
use straggler_trace::call::special;
use straggler_trace::trace::{Clock, Communicator, RankTrace, Trace, WORLD};
use straggler_trace::{Call, CommId, Completed, Details, Function, Matched, Rare, Repeated, RequestId};

const RANKS: u32 = 4;
const LATENCY: u64 = 2_500;
const ROUNDS: u64 = 6;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/traces/halo"))
}

/// Four ranks with their clocks, in nanoseconds.
struct Run {
    trace: Trace,
    now: [u64; RANKS as usize],
    request: [u32; RANKS as usize],
}

impl Run {
    fn new() -> Run {
        let row = |members: &[u32]| Communicator {
            members: members.into(),
            parent: Some(WORLD),
            name: "Comm_split".into(),
            ..Communicator::default()
        };
        let rank = |rank: u32| RankTrace {
            host: format!("node{}", rank / 2),
            cores: vec![rank % 2],
            clock: Clock { error: Some(Time::ZERO), ..Clock::default() },
            ..RankTrace::default()
        };
        let mut trace = Trace {
            ranks: (0..RANKS).map(rank).collect(),
            communicators: vec![Communicator::world(RANKS), row(&[0, 1]), row(&[2, 3])],
            notes: vec!["synthetic: every time was computed, no program ran".into()],
            ..Trace::default()
        };
        trace.meta.program = "halo (synthetic)".into();
        trace.meta.format = "straggler 1".into();
        trace.meta.library = "none".into();
        trace.meta.more.insert("run".into(), "68616c6f".into());
        Run { trace, now: [0; 4], request: [0; 4] }
    }

    /// A call of length `ns` that begins now.
    fn call(&mut self, rank: u32, function: Function, ns: u64) -> Call {
        let start = self.now[rank as usize];
        self.call_until(rank, function, start + ns)
    }

    fn call_until(&mut self, rank: u32, function: Function, end: u64) -> Call {
        let start = self.now[rank as usize];
        self.now[rank as usize] = end.max(start + 100);
        Call::new(function, Time::from_ns(start), Time::from_ns(self.now[rank as usize]))
    }

    fn push(&mut self, rank: u32, call: Call, details: Details) {
        let of_rank = &mut self.trace.ranks[rank as usize];
        if details == Details::default() { of_rank.push(call) } else { of_rank.push_with(call, details) }
    }

    fn new_requests(&mut self, rank: u32, count: u32) -> u32 {
        self.request[rank as usize] += count;
        self.request[rank as usize] - count
    }

    fn compute(&mut self, rank: u32, ns: u64) {
        self.now[rank as usize] += ns;
    }

    fn message(&mut self, rank: u32, function: Function, peer: i32, tag: i32, bytes: u64, ns: u64) -> Call {
        let call = self.call(rank, function, ns);
        let sends = function.name().contains("end");
        let (sent, received) = if sends { (bytes, 0) } else { (0, bytes) };
        let request = if function.makes_request() { self.new_requests(rank, 1) } else { Call::NO_REQUEST.0 };
        Call { comm: WORLD, peer, tag, sent, received, request: RequestId(request), ..call }
    }

    /// All members enter, then all leave.
    fn collective(
        &mut self,
        members: &[u32],
        comm: u32,
        function: Function,
        bytes: u64,
        new: Option<[u32; 4]>,
    ) {
        let last = members.iter().map(|&rank| self.now[rank as usize]).max().unwrap();
        for &rank in members {
            let call = self.call_until(rank, function, last + 2 * LATENCY);
            let call = Call { comm: CommId(comm), sent: bytes, received: bytes, ..call };
            let new_comm = new.map(|new| CommId(new[rank as usize]));
            self.push(rank, call, Details::from(Rare { new_comm, ..Rare::default() }));
        }
    }

    /// Everybody exchanges a halo with both neighbours on a ring.
    fn exchange(&mut self, round: u64) {
        let bytes = 1024 << (round % 3);
        let mut sent = [0; 4];
        let mut requests = [[RequestId(0); 4]; 4];
        for rank in 0..RANKS {
            let (left, right) = ((rank + 3) % 4, (rank + 1) % 4);
            let calls = [
                (Function::Irecv, left, 1),
                (Function::Irecv, right, 2),
                (Function::Isend, right, 1),
                (Function::Isend, left, 2),
            ];
            for (place, (function, peer, tag)) in calls.into_iter().enumerate() {
                let call = self.message(rank, function, peer as i32, tag, bytes, 300);
                requests[rank as usize][place] = call.request;
                self.push(rank, call, Details::default());
            }
            sent[rank as usize] = self.now[rank as usize];
        }
        for rank in 0..RANKS {
            let arrived =
                [(rank + 3) % 4, (rank + 1) % 4].map(|from| sent[from as usize] + LATENCY + bytes / 4);
            let call = self.call_until(rank, Function::Waitall, arrived[0].max(arrived[1]));
            self.push(rank, call, Details { requests: requests[rank as usize].into(), ..Details::default() });
        }
    }

    /// Rank 0 receives one message from every other rank, in the order of arrival.
    fn collect(&mut self) {
        let mut arrivals: Vec<(u64, u32)> = Vec::new();
        for rank in 1..RANKS {
            self.compute(rank, 1_000 * u64::from(RANKS - rank));
            let call = self.message(rank, Function::Send, 0, 9, 64, 800);
            arrivals.push((self.now[rank as usize] + LATENCY, rank));
            self.push(rank, call, Details::default());
        }
        arrivals.sort_unstable();
        for (arrival, from) in arrivals {
            let call = self.call_until(0, Function::Recv, arrival);
            let call = Call { comm: WORLD, peer: special::ANY, tag: 9, received: 256, ..call };
            let matched = Some(Matched { peer: from as i32, tag: 9 });
            self.push(0, call, Details { matched, ..Details::default() });
        }
    }

    /// A persistent pair from rank 2 to rank 3, twice; rank 3 polls before it waits.
    fn persistent(&mut self) {
        let send = self.message(2, Function::Send_init, 3, 5, 4096, 200);
        let receive = self.message(3, Function::Recv_init, 2, 5, 4096, 200);
        self.push(2, send, Details::default());
        self.push(3, receive, Details::default());
        for _ in 0..2 {
            self.compute(2, 20_000);
            for (rank, prepared) in [(3, receive.request), (2, send.request)] {
                let request = self.new_requests(rank, 1);
                let call = Call { request: RequestId(request), ..self.call(rank, Function::Start, 250) };
                self.push(rank, call, Details { requests: vec![prepared].into(), ..Details::default() });
            }
            let arrival = self.now[2] + LATENCY;
            let (mine, theirs) = (RequestId(self.request[3] - 1), RequestId(self.request[2] - 1));
            let call = self.call_until(3, Function::Test, arrival - 500);
            let repeated = Some(Repeated { calls: 40, inside: Time::from_ns(8_000) });
            self.push(
                3,
                call,
                Details {
                    requests: vec![mine].into(),
                    rare: Rare { repeated, ..Rare::default() }.into(),
                    ..Details::default()
                },
            );
            let call = self.call_until(3, Function::Wait, arrival);
            self.push(3, call, Details { requests: vec![mine].into(), ..Details::default() });
            let call = self.call(2, Function::Wait, 300);
            self.push(2, call, Details { requests: vec![theirs].into(), ..Details::default() });
        }
    }

    /// Ranks 0 and 1 exchange messages; rank 1 also sends to MPI_PROC_NULL and cancels a receive.
    fn others(&mut self) {
        let end = self.now[0].max(self.now[1]) + LATENCY;
        for (rank, peer) in [(0, 1), (1, 0)] {
            let call = self.call_until(rank, Function::Sendrecv, end);
            let call = Call { comm: CommId(1), peer, tag: 3, sent: 512, received: 512, ..call };
            let receive = Some(Matched { peer, tag: 3 });
            self.push(rank, call, Details { receive, ..Details::default() });
        }
        let nobody = self.message(1, Function::Send, special::NOBODY, 3, 512, 100);
        self.push(1, nobody, Details::default());
        let never = self.message(1, Function::Irecv, special::ANY, 77, 512, 300);
        self.push(1, never, Details::default());
        let requests = vec![never.request];
        let cancel = self.call(1, Function::Cancel, 200);
        self.push(1, cancel, Details { requests: requests.clone().into(), ..Details::default() });
        let wait = self.call(1, Function::Wait, 200);
        let completed = vec![Completed { request: never.request, matched: None, cancelled: true }];
        self.push(
            1,
            wait,
            Details { requests: requests.into(), completed: completed.into(), ..Details::default() },
        );
    }
}

fn trace() -> Trace {
    let mut run = Run::new();
    let (all, rows) = ([0, 1, 2, 3], [[0, 1], [2, 3]]);
    for rank in all {
        let call = run.call(rank, Function::Init, 100_000);
        run.push(rank, call, Details::default());
    }
    run.collective(&all, WORLD.0, Function::Comm_split, 0, Some([1, 1, 2, 2]));
    for round in 0..ROUNDS {
        for rank in all {
            run.compute(
                rank,
                30_000 + 2_500 * u64::from(rank) + 1_700 * ((round * 7 + u64::from(rank) * 3) % 5),
            );
        }
        run.exchange(round);
        for (row, comm) in rows.iter().zip(1..) {
            run.collective(row, comm, Function::Allreduce, 8, None);
        }
        if round % 2 == 1 {
            run.collective(&all, WORLD.0, Function::Allreduce, 64, None);
        }
    }
    run.collect();
    run.persistent();
    run.others();
    run.collective(&all, WORLD.0, Function::Barrier, 0, None);
    for rank in all {
        let call = run.call(rank, Function::Finalize, 50_000);
        run.push(rank, call, Details::default());
    }
    run.trace
}

#[test]
fn the_fixture_is_what_is_written_here() {
    crate::tests::fixture::assert_written(&folder(), &trace());
}
