//! Hand-overs between two cores: a thread wakes one that sleeps on the other core and sleeps until it is woken.

use super::round_trip::PATIENCE;
use super::{Ending, Session};
use crate::cores;
use crate::latency::Operation;
use rustix::io::Errno;
use rustix::thread::futex::{Flags, Timespec, wait, wake};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use straggler_model::latency::{Kind, Labels, Pair};

/// All pairs of cores; rank i is on the i-th of them.
pub fn run(session: &mut Session<'_>) -> Ending {
    let cores = &session.options.cores;
    if cores.len() < 2 {
        return Err("futex: this kernel needs two cores, but only one may be used: give more --cores".into());
    }
    for (rank, &core) in (0..).zip(cores) {
        session.put(rank, core);
    }
    for (from, &core) in (0..).zip(cores) {
        for (to, &peer) in (0..).zip(cores).skip(from as usize + 1) {
            let pair = Some(Pair { from, to });
            let labels = Labels { kind: Kind::RoundTrip, pair, ..session.labels("futex") };
            session.measure(labels, core, || HandOver::to(peer))?;
        }
    }
    Ok(())
}

/// Whose turn it is.
const OURS: u32 = 0;
const THEIRS: u32 = 1;
const OVER: u32 = 2;

struct HandOver {
    turn: Arc<AtomicU32>,
}

impl HandOver {
    fn to(core: u32) -> io::Result<HandOver> {
        let turn = Arc::new(AtomicU32::new(OURS));
        let (ready, prepared) = channel();
        let theirs = Arc::clone(&turn);
        let peer = move || {
            let pinned = cores::pin(core);
            let is_pinned = pinned.is_ok();
            let _ = ready.send(pinned);
            while is_pinned && sleep_while(&theirs, OURS).is_ok_and(|turn| turn == THEIRS) {
                pass(&theirs, OURS);
            }
        };
        std::thread::Builder::new().name("straggler-peer".into()).spawn(peer)?;
        match prepared.recv() {
            Ok(pinned) => pinned.map_err(io::Error::other)?,
            Err(_) => return Err(io::Error::other("the other thread died")),
        }
        Ok(HandOver { turn })
    }
}

impl Operation for HandOver {
    #[inline(always)]
    fn perform(&mut self) -> io::Result<()> {
        pass(&self.turn, THEIRS);
        sleep_while(&self.turn, THEIRS).map(drop)
    }
}

impl Drop for HandOver {
    fn drop(&mut self) {
        pass(&self.turn, OVER);
    }
}

fn pass(turn: &AtomicU32, to: u32) {
    turn.store(to, Ordering::Release);
    // Fails only for invalid addresses, and this one is a reference.
    let _ = wake(turn, Flags::PRIVATE, 1);
}

/// Sleeps until the turn changes, and returns the new turn.
fn sleep_while(turn: &AtomicU32, now: u32) -> io::Result<u32> {
    let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
    loop {
        let turn_now = turn.load(Ordering::Acquire);
        if turn_now != now {
            return Ok(turn_now);
        }
        match wait(turn, Flags::PRIVATE, now, Some(&patience)) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::TIMEDOUT) => {
                let text = format!("the other thread has not answered for {} s", PATIENCE.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            Err(fault) => return Err(fault.into()),
        }
    }
}
