//! Linear: the root sends every rank its block. As in the linear broadcast, it waits for all sends together.

use crate::collectives::tree::{Blocks, Star, Walk};
use crate::collectives::{CollectiveError, Job, Name};

pub type Linear = Walk<Star, Blocks<Star>>;

pub fn linear(job: &Job) -> Result<Linear, CollectiveError> {
    let tree = Star::new(job.processes);
    Ok(Walk::new(Name::Linear, job, tree, Blocks { tree, job: job.clone() })?.together())
}
