//! Linear: every rank sends to the root, which receives and combines in order. The root waits for
//! each message, and combines one vector while the next is in flight.

use crate::collectives::sizes::Segments;
use crate::collectives::tree::{Mirror, Star, Vector, Walk};
use crate::collectives::{CollectiveError, Job, Name};

pub type Linear = Mirror<Walk<Star, Vector>>;

pub fn linear(job: &Job) -> Result<Linear, CollectiveError> {
    let load = Vector(Segments::whole(job.vector()));
    Ok(Mirror::combining(Walk::new(Name::Linear, job, Star::new(job.processes), load)?, job))
}
