//! The cost of the wait-state analysis per event: `cargo bench -p straggler-analysis --bench waits`; `--test` runs
//! each once. The trace is a stencil of 16 ranks with an occasional allreduce. A call has two events, its enter and
//! its exit, and one more for each message or collective that it begins or ends.

use divan::Bencher;
use divan::counter::ItemsCount;
use straggler_analysis::waits::{
    Activities, CriticalPath, Explanation, RegionWaits, Regions, WaitStates, messages_by_receiver,
    root_causes,
};
use straggler_model::Time;
use straggler_trace::operations::Operations;
use straggler_trace::{Call, CommId, Communicator, Details, Function, RankTrace, RequestId, Trace};

fn main() {
    divan::main();
}

const RANKS: u64 = 16;
const STEPS: u64 = if cfg!(debug_assertions) { 100 } else { 60_000 };

/// A pseudorandom number below `below`.
fn random(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

/// Each step computes, then exchanges with two neighbours: 5 calls per rank, plus an allreduce every eighth step.
fn stencil() -> (Trace, u64) {
    let mut seed = 1;
    let mut ranks = vec![RankTrace::default(); RANKS as usize];
    let mut now = vec![0; RANKS as usize];
    let mut events = 0;
    for step in 0..STEPS {
        let sent: Vec<u64> = now.iter().map(|now| now + 500 + random(&mut seed, 1000)).collect();
        for rank in 0..RANKS {
            let neighbours = [(rank + RANKS - 1) % RANKS, (rank + 1) % RANKS];
            let last = neighbours.iter().map(|&other| sent[other as usize]).max().unwrap_or(0);
            now[rank as usize] =
                exchange(&mut ranks[rank as usize], step, neighbours, sent[rank as usize], last);
            events += 5 * 2 + 6;
        }
        if step % 8 == 0 {
            let last = now.iter().copied().max().unwrap_or(0);
            for (rank, now) in ranks.iter_mut().zip(&mut now) {
                let exit = last + 20 + random(&mut seed, 10);
                let times = (Time::from_ns(*now), Time::from_ns(exit));
                let call = Call::new(Function::Allreduce, times.0, times.1);
                rank.push(Call { comm: CommId(0), sent: 8, received: 8, ..call });
                *now = exit;
                events += 3;
            }
        }
    }
    let communicators = vec![Communicator::world(RANKS as u32)];
    (Trace { ranks, communicators, ..Trace::default() }, events)
}

fn exchange(rank: &mut RankTrace, step: u64, neighbours: [u64; 2], sent: u64, last: u64) -> u64 {
    let first = step as u32 * 4;
    let call = |function, at: u64, peer: u64| Call {
        comm: CommId(0),
        peer: peer as i32,
        tag: 1,
        ..Call::new(function, Time::from_ns(at), Time::from_ns(at + 5))
    };
    for (request, &peer) in (first..).zip(&neighbours) {
        let at = sent - 20 + 5 * u64::from(request - first);
        rank.push(Call { received: 8, request: RequestId(request), ..call(Function::Irecv, at, peer) });
    }
    for (request, &peer) in (first + 2..).zip(&neighbours) {
        let at = sent + 5 * u64::from(request - first - 2);
        rank.push(Call { sent: 8, request: RequestId(request), ..call(Function::Isend, at, peer) });
    }
    let end = (sent + 20).max(last + 15);
    let wait = Call::new(Function::Waitall, Time::from_ns(sent + 10), Time::from_ns(end));
    let requests = (first..first + 4).map(RequestId).collect();
    rank.push_with(wait, Details { found: true, requests, ..Details::default() });
    end
}

fn bench<R>(bencher: Bencher<'_, '_>, events: u64, of: impl FnMut() -> R) {
    bencher.counter(ItemsCount::new(events)).bench_local(of);
}

/// The whole analysis, starting from the trace.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn wait_states_and_causes(bencher: Bencher<'_, '_>) {
    let (trace, events) = stencil();
    bench(bencher, events, || Explanation::new(&trace, &WaitStates::new(&trace)).causes.len());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn wait_states(bencher: Bencher<'_, '_>) {
    let (trace, events) = stencil();
    bench(bencher, events, || WaitStates::new(&trace).waits.len());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn operations(bencher: Bencher<'_, '_>) {
    let (trace, events) = stencil();
    bench(bencher, events, || Operations::of_trace(&trace).len());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn messages(bencher: Bencher<'_, '_>) {
    let (trace, events) = stencil();
    let operations = Operations::of_trace(&trace);
    bench(bencher, events, || messages_by_receiver(&trace, &operations).len());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn patterns(bencher: Bencher<'_, '_>) {
    let (trace, events) = stencil();
    let operations = Operations::of_trace(&trace);
    let messages = messages_by_receiver(&trace, &operations);
    bench(bencher, events, || WaitStates::with(&trace, &operations, &messages).waits.len());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn activities(bencher: Bencher<'_, '_>) {
    let (trace, events) = stencil();
    let (states, regions) = (WaitStates::new(&trace), Regions::new(&trace));
    bench(bencher, events, || Activities::new(&trace, &states, &regions).names.len());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn causes(bencher: Bencher<'_, '_>) {
    let (trace, events) = stencil();
    let states = WaitStates::new(&trace);
    let activities = Activities::new(&trace, &states, &Regions::new(&trace));
    bench(bencher, events, || root_causes(&trace, &states, &activities).len());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn by_region(bencher: Bencher<'_, '_>) {
    let (trace, events) = stencil();
    let (states, regions) = (WaitStates::new(&trace), Regions::new(&trace));
    bench(bencher, events, || RegionWaits::new(&trace, &states, &regions).len());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn path(bencher: Bencher<'_, '_>) {
    let (trace, events) = stencil();
    let states = WaitStates::new(&trace);
    let activities = Activities::new(&trace, &states, &Regions::new(&trace));
    bench(bencher, events, || CriticalPath::new(&trace, &states, &activities).length);
}
