//! Linear: the root sends to everyone.
//!
//! The root starts all sends in turn and waits for them together, as with nonblocking sends: a
//! large message waits for its receiver, but does not delay the sends after it.

use crate::collectives::sizes::Segments;
use crate::collectives::tree::{Star, Vector, Walk};
use crate::collectives::{CollectiveError, Job, Name};

pub type Linear = Walk<Star, Vector>;

pub fn linear(job: &Job) -> Result<Linear, CollectiveError> {
    let load = Vector(Segments::whole(job.vector()));
    Ok(Walk::new(Name::Linear, job, Star::new(job.processes), load)?.together())
}
