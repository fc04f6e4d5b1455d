//! `straggler mpi replay`: re-enacts a traced run with real messages.
//!
//! ```text
//! TracedRun (of the trace with its hypothesis) ─► Part of this rank ─► Player ─► Wire (MPI)
//!                                                                       │
//!                                                                       ▼
//!                                       Replayed: when each instruction was passed, and what was decided
//! ```
//! The simulation replays the same recording, so both have the same computations, decisions and
//! sizes. The caller reads the trace, writes the new one and compares the two.

mod part;
mod player;
mod rooms;
pub mod share;
mod watch;

use crate::clock::{Clock, Reading, now_ns};
use crate::session::Session;
use crate::wire::{Fault, Wire};
use part::Part;
use player::Player;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use straggler_model::Time;
use straggler_schedule::traced::TracedRun;
use straggler_sim::programs::Replayed;
use watch::Watch;

/// Time by which all processes must know when the run begins.
const LEAD_NS: i64 = 20_000_000;

/// The exit code of a run that hangs.
const STUCK: i32 = 4;

/// How a process spends the computation time of the traced one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compute {
    /// Busily.
    Spin,
    Sleep,
}

/// What one process did, and where.
#[derive(Debug, Serialize, Deserialize)]
pub struct Played {
    pub replayed: Replayed,
    pub host: String,
    pub cores: Vec<u32>,
    /// Maximum offset of its clock from that of rank 0.
    pub clock_error: Time,
}

impl Session {
    /// Runs the part of this process with real messages. All processes start together; the job ends if one fails.
    pub fn play(&self, recording: &TracedRun, compute: Compute, patience: Time) -> Played {
        self.world.mpi().sound(self.play_part(recording, compute, patience))
    }

    fn play_part(&self, recording: &TracedRun, compute: Compute, patience: Time) -> Result<Played, Fault> {
        let part = Part::new(recording, self.rank);
        let groups: Vec<&[u32]> = recording.groups().iter().map(|group| &group.members[..]).collect();
        let wire = Wire::new(&self.world, &groups, part.largest)?;
        let watch = self.watch(recording, patience);
        let before = Reading::take(self);
        let (start, own_start) = self.agree_on_start(&before);
        let mut replayed = Player::new(&part, &wire, &watch, compute, own_start).play()?;
        drop(watch);
        self.world.barrier();
        let clock = Clock::new(before, Reading::take(self));
        onto_first(&mut replayed, &clock, start, own_start);
        let process = &self.processes[self.rank as usize];
        Ok(Played {
            replayed,
            host: process.host.clone().unwrap_or_default(),
            cores: straggler_measure::cores::allowed().unwrap_or_default(),
            clock_error: Time::from_ns(clock.error_ns.unsigned_abs()),
        })
    }

    /// When the run begins, on the clock of rank 0 and on that of this node.
    fn agree_on_start(&self, reading: &Reading) -> (i64, i64) {
        let start = self.world.broadcast_number((now_ns() + LEAD_NS) as u64) as i64;
        (start, start - reading.first_ns + reading.own_ns)
    }

    /// Reports where the run hangs and ends it; the launcher then ends the other processes.
    fn watch(&self, recording: &TracedRun, patience: Time) -> Watch {
        let rank = self.rank;
        let origins: Vec<u32> = (0..recording.rank(rank).instructions().len() as u32)
            .map(|instruction| recording.rank(rank).origin(instruction))
            .collect();
        Watch::begin(Duration::from_nanos(patience.ps() / 1000), move |instruction| {
            let call = origins.get(instruction as usize).copied().unwrap_or_default();
            eprintln!(
                "error: rank {rank} has waited in call {call} of its trace for {patience}: the program may hang with these \
                 decisions: try --mode recorded; if it is only slow, increase --patience"
            );
            std::process::exit(STUCK);
        })
    }
}

/// Converts times since the beginning of the run from this node's clock to that of rank 0.
fn onto_first(replayed: &mut Replayed, clock: &Clock, start: i64, own_start: i64) {
    for time in replayed.entered.iter_mut().chain(&mut replayed.left).filter(|time| **time != Time::NEVER) {
        let own_ns = own_start + (time.ps() / 1000) as i64;
        *time = Time(((clock.first_ns(own_ns) - start as f64).max(0.0) * 1000.0).round() as u64);
    }
}
