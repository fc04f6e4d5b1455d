//! Adjusts fitted parameters until a replay takes as long as the recorded run, part by part.
//!
//! Calls show most parameters directly (`evidence.rs`), but not whose CPU the bytes of a message occupy, and they mislead
//! where a program overlaps communication with computation. A replay shows the consequences: here the beginning of the
//! trace is replayed with one set of parameters after another. The loss of a set is the mean difference between the
//! replayed and the recorded length of a part of the run (`replay.rs`). What is searched, in this order:
//! 1. G, with the fitted L and o, and with those of a usual node in case the fitted ones are wrong.
//! 2. Who handles the bytes: the receiver; the sender, too; nobody for messages that are not eager; nobody at all.
//! 3. L, o_s and o_r, by small factors.
//!
//! A change has to lower the loss noticeably, so parameters that the trace does not determine stay as fitted.

mod replay;
#[cfg(test)]
mod tests;

use replay::Beginning;
use straggler_model::network::{Link, PerByte};
use straggler_model::parallel;
use straggler_model::{Network, Time};
use straggler_trace::Trace;

/// A loss of this share of the run's time is not worth a search.
const NEGLIGIBLE: f64 = 0.0005;

/// A change of parameters has to lower the loss by this share of it.
const WORTH: f64 = 0.03;

/// Factors for G: first its magnitude, then its value.
const MAGNITUDES: [f64; 5] = [1.0 / 9.0, 1.0 / 3.0, 1.0, 3.0, 9.0];
const NEAR: [f64; 4] = [0.6, 0.77, 1.3, 1.7];
const NEARER: [f64; 4] = [0.86, 0.93, 1.07, 1.15];
const NEAREST: [f64; 4] = [0.97, 0.985, 1.015, 1.03];

/// Factors for L and o.
const STEPS: [f64; 6] = [0.5, 0.7, 0.85, 1.2, 1.4, 2.0];

/// Factors are tried around the best value so far at most this often.
const ROUNDS: usize = 4;

/// L, o_s and o_r between the cores of a usual node, and the G with which a search begins, in picoseconds.
const USUAL: [f64; 3] = [300_000.0, 150_000.0, 100_000.0];
const USUAL_BYTE: f64 = 200.0;

/// A network whose replay comes closest to the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calibrated {
    pub link: Link,
    /// Whether L, o_s and o_r are still those of a usual node with which the search began.
    pub is_usual: bool,
    pub replays: usize,
    /// How far predictions of this program may be off, as a share of the time: twice the standard error of the sum of
    /// all parts, and what remains of the mean.
    pub uncertainty: Option<f64>,
}

/// Parameters under test, in picoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Candidate {
    latency: f64,
    send: f64,
    receive: f64,
    /// G.
    byte: f64,
    /// O/G.
    sender_share: f64,
    eager_limit: u64,
    overlap_limit: u64,
}

impl Candidate {
    fn new(link: &Link) -> Candidate {
        let byte = link.gap_per_byte.picoseconds();
        Candidate {
            latency: link.latency.ps() as f64,
            send: link.send_overhead.ps() as f64,
            receive: link.recv_overhead.ps() as f64,
            byte,
            sender_share: if byte > 0.0 { link.overhead_per_byte.picoseconds() / byte } else { 0.0 },
            eager_limit: link.eager_limit,
            overlap_limit: link.overlap_limit,
        }
    }

    fn link(&self, fitted: &Link) -> Link {
        let time = |ps: f64| Time(ps.round() as u64);
        Link {
            latency: time(self.latency).max(Time::from_ns(1)),
            send_overhead: time(self.send),
            recv_overhead: time(self.receive),
            gap_per_byte: PerByte::from_picoseconds(self.byte),
            overhead_per_byte: PerByte::from_picoseconds(self.byte * self.sender_share),
            eager_limit: self.eager_limit,
            overlap_limit: self.overlap_limit,
            ..*fitted
        }
    }
}

/// The best candidate so far.
struct Search<'a> {
    beginning: &'a Beginning,
    fitted: &'a Link,
    best: Candidate,
    loss: f64,
    replays: usize,
}

/// Looks for parameters with which the beginning of the trace takes as long as it did; none if it cannot be replayed.
pub(super) fn calibrate(trace: &Trace, fitted: &Link) -> Option<Calibrated> {
    let beginning = Beginning::new(trace)?;
    let best = Candidate::new(fitted);
    let loss = beginning.loss(&Network::uniform("fitted", *fitted))?;
    let mut search = Search { beginning: &beginning, fitted, best, loss, replays: 1 };
    if loss > NEGLIGIBLE {
        search.bytes_with_either_latency();
        search.who_handles_bytes();
        search.latencies();
    }
    let link = search.best.link(fitted);
    let is_usual = [search.best.latency, search.best.send, search.best.receive] == USUAL;
    let uncertainty = beginning.uncertainty(&Network::uniform("fitted", link));
    Some(Calibrated { link, is_usual, replays: search.replays + 1, uncertainty })
}

impl Search<'_> {
    /// The losses of candidates, replayed in parallel; the smallest.
    fn least(&mut self, candidates: &[Candidate]) -> (f64, Candidate) {
        let loss = |candidate: &Candidate| {
            let network = Network::uniform("fitted", candidate.link(self.fitted));
            self.beginning.loss(&network).unwrap_or(f64::INFINITY)
        };
        let losses = parallel::map_list(candidates, loss);
        self.replays += candidates.len();
        let pairs = losses.into_iter().zip(candidates.iter().copied());
        pairs.min_by(|(one, _), (other, _)| one.total_cmp(other)).unwrap_or((f64::INFINITY, self.best))
    }

    /// The best G for a candidate: its own times each of these factors.
    fn with_best_byte(&mut self, start: Candidate, factors: &[f64]) -> (f64, Candidate) {
        let tried: Vec<Candidate> =
            factors.iter().map(|factor| Candidate { byte: start.byte * factor, ..start }).collect();
        self.least(&tried)
    }

    /// Takes a candidate if it is better by enough.
    fn offer(&mut self, (loss, candidate): (f64, Candidate)) -> bool {
        let better = loss < self.loss * (1.0 - WORTH) && loss < self.loss - NEGLIGIBLE / 2.0;
        if better {
            (self.loss, self.best) = (loss, candidate);
        }
        better
    }

    fn bytes_with_either_latency(&mut self) {
        let fitted = self.best;
        let byte = if fitted.byte > 0.0 { fitted.byte } else { USUAL_BYTE };
        let [latency, send, receive] = USUAL;
        let usual = Candidate { latency, send, receive, byte: USUAL_BYTE, ..fitted };
        for start in [Candidate { byte, ..fitted }, usual] {
            let found = self.with_best_byte(start, &MAGNITUDES);
            self.offer(found);
        }
        self.refine_byte(&[NEAR, NEARER]);
    }

    /// Tries other values of G, each time around the best one.
    fn refine_byte(&mut self, factors: &[[f64; 4]]) {
        for factors in factors {
            let mut rounds = 0;
            loop {
                let found = self.with_best_byte(self.best, factors);
                rounds += 1;
                if !self.offer(found) || rounds == ROUNDS {
                    break;
                }
            }
        }
    }

    fn who_handles_bytes(&mut self) {
        let start = self.best;
        let shares = [0.0, 0.5, 1.0].map(|sender_share| Candidate { sender_share, ..start });
        let mut ways = shares.to_vec();
        ways.push(Candidate { sender_share: 0.0, overlap_limit: 0, ..start });
        if start.eager_limit < u64::MAX {
            ways.push(Candidate { sender_share: 0.0, overlap_limit: start.eager_limit, ..start });
            // A sender that handles the bytes of large messages looks like one that waits for its receiver.
            ways.extend(shares[1..].iter().map(|way| Candidate { eager_limit: u64::MAX, ..*way }));
        }
        let mut changed = false;
        for way in ways.into_iter().filter(|way| *way != start) {
            let found = self.with_best_byte(way, &[0.4, 0.65, 1.0, 1.5]);
            changed |= self.offer(found);
        }
        let finest: &[_] = if changed { &[NEAR, NEARER, NEAREST] } else { &[NEAREST] };
        self.refine_byte(finest);
    }

    /// Changes L, o_s, o_r and G one after another until nothing helps.
    fn latencies(&mut self) {
        let parameters: [fn(&mut Candidate) -> &mut f64; 3] =
            [|one| &mut one.latency, |one| &mut one.send, |one| &mut one.receive];
        for _ in 0..ROUNDS {
            let mut changed = false;
            for parameter in parameters {
                let steps = STEPS.map(|factor| {
                    let mut candidate = self.best;
                    *parameter(&mut candidate) *= factor;
                    candidate
                });
                let found = self.least(&steps);
                changed |= self.offer(found);
            }
            if !changed {
                return;
            }
            self.refine_byte(&[NEARER, NEAREST]);
        }
    }
}
