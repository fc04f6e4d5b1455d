//! The checkpoints of one part of a run.

use super::actors::Actors;
use super::domain::Domain;
use super::frame::Frame;
use crate::checkpoint::{Checkpoints, Position};
use crate::outcome::RunError;
use std::io;

pub(super) struct Keeping<'a> {
    checkpoints: Option<&'a dyn Checkpoints>,
    /// Whether this part decides when a checkpoint is due, and marks it as complete.
    first: bool,
    /// The position of the checkpoint that this part has written; by the next agreement all parts have.
    written: Option<Position>,
}

fn failed(what: &str, fault: &io::Error) -> RunError {
    RunError::Checkpoint { what: what.into(), why: fault.to_string() }
}

impl<'a> Keeping<'a> {
    pub fn new(checkpoints: Option<&'a dyn Checkpoints>, first: bool) -> Keeping<'a> {
        Keeping { checkpoints, first, written: None }
    }

    /// Restores the part from the checkpoint to resume from, if any. Returns how many windows have run before.
    pub fn begin<A: Actors>(&self, domain: &mut Domain<'_, A>) -> u64 {
        let Some((checkpoints, position)) = self.checkpoints.and_then(|kept| Some((kept, kept.position()?)))
        else {
            return 0;
        };
        let restored = match position.windows <= position.window {
            true => domain.restore(checkpoints, position.window),
            false => Err(io::Error::other("more windows have run than there were")),
        };
        if let Err(fault) = restored {
            domain.error = Some(failed("read", &fault));
        }
        position.windows
    }

    pub fn is_due(&self) -> bool {
        self.first
            && self.written.is_none()
            && self.checkpoints.is_some_and(|checkpoints| checkpoints.is_due())
    }

    /// Writes the state of the part before the window of `frame`.
    pub fn keep<A: Actors>(&mut self, domain: &mut Domain<'_, A>, frame: &Frame, windows: u64) {
        let Some(checkpoints) = self.checkpoints else { return };
        match domain.save(checkpoints, frame.window) {
            Err(fault) => domain.error = Some(failed("written", &fault)),
            Ok(()) => self.written = Some(domain.position(frame, windows)),
        }
    }

    /// Marks the checkpoint as complete. Called when an agreement shows that all parts have written
    /// their blocks.
    pub fn complete(&mut self, error: &mut Option<RunError>) {
        if let (true, Some(checkpoints), Some(position)) = (self.first, self.checkpoints, self.written.take())
            && let Err(fault) = checkpoints.complete(&position)
        {
            *error = Some(failed("written", &fault));
        }
    }
}
