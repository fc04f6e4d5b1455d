//! Round trips over a pair of Unix sockets.

use super::round_trip::{PATIENCE, RoundTrip, answer_on};
use super::{Ending, Session};
use std::os::unix::net::UnixStream;
use straggler_model::latency::{Kind, Labels, Pair};

pub fn run(session: &mut Session<'_>) -> Ending {
    let (core, peer) = session.put_two();
    for &size in &session.options.sizes {
        let pair = Some(Pair { from: 0, to: 1 });
        let labels =
            Labels { kind: Kind::RoundTrip, size: Some(size), pair, ..session.labels("unix-socket") };
        session.measure(labels, core, || {
            let (ours, theirs) = UnixStream::pair()?;
            answer_on(peer, theirs.try_clone()?, theirs, size)?;
            ours.set_read_timeout(Some(PATIENCE))?;
            RoundTrip::new(ours.try_clone()?, ours, size)
        })?;
    }
    Ok(())
}
