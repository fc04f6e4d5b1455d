//! Round trips over two pipes.

use super::round_trip::{RoundTrip, answer_on};
use super::{Ending, Session};
use std::io;
use straggler_model::latency::{Kind, Labels, Pair};

pub fn run(session: &mut Session<'_>) -> Ending {
    let (core, peer) = session.put_two();
    for &size in &session.options.sizes {
        let pair = Some(Pair { from: 0, to: 1 });
        let labels = Labels { kind: Kind::RoundTrip, size: Some(size), pair, ..session.labels("pipe") };
        session.measure(labels, core, || {
            let (their_reader, our_writer) = io::pipe()?;
            let (our_reader, their_writer) = io::pipe()?;
            answer_on(peer, their_reader, their_writer, size)?;
            RoundTrip::new(our_reader, our_writer, size)
        })?;
    }
    Ok(())
}
