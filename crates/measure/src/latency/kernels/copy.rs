//! Copying memory.

use super::round_trip::message;
use super::{Ending, Session};
use crate::latency::Operation;
use std::hint::black_box;
use std::io;
use straggler_model::latency::Labels;

pub fn run(session: &mut Session<'_>) -> Ending {
    let (core, _) = session.two_cores();
    session.put(0, core);
    for &size in &session.options.sizes {
        let labels = Labels { size: Some(size), ..session.labels("copy") };
        session.measure(labels, core, || Ok(Copy { from: message(size)?, to: message(size)? }))?;
    }
    Ok(())
}

struct Copy {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Operation for Copy {
    #[inline(always)]
    fn perform(&mut self) -> io::Result<()> {
        black_box(&mut self.to).copy_from_slice(black_box(&self.from));
        black_box(&self.to);
        Ok(())
    }
}
