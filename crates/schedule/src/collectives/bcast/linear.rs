//! Linear: the root sends to everyone.
//!
//! The sends are started one after the other and waited for together, as a row of nonblocking sends: a
//! large message waits for its receiver, and the root need not wait with it before it serves the next.

use crate::collectives::sizes::Segments;
use crate::collectives::tree::{Star, Vector, Walk};
use crate::collectives::{CollectiveError, Job, Name};

pub type Linear = Walk<Star, Vector>;

pub fn linear(job: &Job) -> Result<Linear, CollectiveError> {
    let load = Vector(Segments::whole(job.vector()));
    Ok(Walk::new(Name::Linear, job, Star::new(job.processes), load)?.together())
}
