//! A program runs on a known network; the fit must find out who handles the bytes, and predict the run.

use super::super::{Prediction, fit};
use crate::whatif::simulated;
use std::sync::Arc;
use straggler_model::network::{Link, PerByte};
use straggler_model::{Network, Time};
use straggler_schedule::traced::{Building, Options, Playback, TracedRun};
use straggler_sim::programs::Replayed;
use straggler_sim::{Control, Outcome, Simulation};
use straggler_trace::{Call, Communicator, Details, Function, RankTrace, RequestId, Trace, WORLD};

const RANKS: usize = 4;
const ROUNDS: u32 = 120;
const SIZES: [u64; 3] = [1_000, 60_000, 900_000];

fn link() -> Link {
    Link {
        latency: Time::from_ns(800),
        send_overhead: Time::from_ns(300),
        recv_overhead: Time::from_ns(200),
        gap: Time::ZERO,
        gap_per_byte: PerByte::from_ps(300),
        overhead_per_byte: PerByte::ZERO,
        eager_limit: u64::MAX,
        overlap_limit: u64::MAX,
    }
}

/// Each rank sends to both neighbours and computes before it waits for their messages. The times inside calls do not
/// matter, but for that of MPI_Init.
fn exchanges(init: Time) -> Trace {
    let mut ranks = Vec::new();
    for rank in 0..RANKS {
        let mut own = RankTrace::default();
        let mut now = Time::from_ns(1_000);
        own.push(Call::new(Function::Init, now, now + init));
        now += init;
        for round in 0..ROUNDS {
            let bytes = SIZES[round as usize % SIZES.len()];
            let requests = [0, 1].map(|place| RequestId(2 * round + place));
            let peers = [(rank + RANKS - 1) % RANKS, (rank + 1) % RANKS];
            let message = |function, place: usize, request| {
                let (call, peer) = (Call::new(function, now, now), peers[place] as i32);
                Call { comm: WORLD, peer, tag: 1, request, sent: bytes, received: bytes, ..call }
            };
            (0..2).for_each(|place| own.push(message(Function::Irecv, place, requests[place])));
            (0..2).for_each(|place| own.push(message(Function::Send, place, Call::NO_REQUEST)));
            let uneven = (round as u64 * 37 + rank as u64 * 101) % 200;
            now += Time::from_ns(150_000 + 1_000 * uneven);
            let details = Details { requests: requests.to_vec().into(), found: true, ..Details::default() };
            own.push_with(Call::new(Function::Waitall, now, now), details);
            now += Time::from_ns(20_000 + 300 * uneven);
        }
        ranks.push(own);
    }
    Trace { ranks, communicators: vec![Communicator::world(RANKS as u32)], ..Trace::default() }
}

fn replay(run: &Arc<TracedRun>, link: Link) -> (Outcome, Vec<Replayed>) {
    let playback = Playback::new(run.clone(), 1, &Building::default()).unwrap();
    let network = Network::uniform("known", link);
    let (run, replayed) = Simulation::new(&network).replay(&playback, &mut Control::new(1)).unwrap();
    assert!(run.outcome.stuck.is_none());
    (run.outcome, replayed)
}

/// The recorded run of the program on this network.
fn run_on(link: Link, init: Time) -> Trace {
    let trace = exchanges(init);
    let run = Arc::new(TracedRun::from_trace(&trace, &Options::default()).unwrap());
    let (_, replayed) = replay(&run, link);
    simulated(trace, &run, &replayed, true)
}

/// What the fit finds, and the error of its prediction.
fn fitted(link: Link) -> (Link, f64) {
    fitted_after(link, Time::ZERO)
}

fn fitted_after(link: Link, init: Time) -> (Link, f64) {
    let trace = run_on(link, init);
    let fit = fit(&trace).unwrap();
    let run = Arc::new(TracedRun::from_trace(&trace, &Options::default()).unwrap());
    let (outcome, _) = replay(&run, fit.network.base);
    let error = Prediction::new(&run, &outcome.finish).error().unwrap();
    assert!(error.abs() <= fit.uncertainty.unwrap() + 1e-6, "{error} {fit:?}");
    (fit.network.base, error)
}

#[test]
fn bytes_that_occupy_the_receiver_are_told_from_those_that_occupy_nobody() {
    let (receiver, error) = fitted(link());
    assert!(error.abs() < 0.005, "{error} {receiver:?}");
    assert_eq!(receiver.overlap_limit, u64::MAX, "{receiver:?}");

    let (nobody, error) = fitted(Link { overlap_limit: 0, ..link() });
    assert!(error.abs() < 0.005, "{error} {nobody:?}");
    assert_eq!(nobody.overlap_limit, 0, "{nobody:?}");
}

#[test]
fn bytes_that_also_occupy_the_sender_are_noticed() {
    let (both, error) = fitted(Link { overhead_per_byte: PerByte::from_ps(300), ..link() });
    assert!(error.abs() < 0.005, "{error} {both:?}");
    assert!(both.overhead_per_byte.picoseconds() > 0.4 * both.gap_per_byte.picoseconds(), "{both:?}");
}

#[test]
fn a_long_initialisation_is_no_part_of_the_run() {
    let (receiver, error) = fitted_after(link(), Time::from_ns(2_000_000_000));
    assert!(error.abs() < 0.001, "{error} {receiver:?}");
    assert_eq!(receiver.overlap_limit, u64::MAX, "{receiver:?}");
    let (nobody, _) = fitted_after(Link { overlap_limit: 0, ..link() }, Time::from_ns(2_000_000_000));
    assert_eq!(nobody.overlap_limit, 0, "{nobody:?}");
}
