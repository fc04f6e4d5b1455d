//! Linear: the root sends everyone its block. As in the linear broadcast, the sends are waited for
//! together.

use crate::collectives::tree::{Blocks, Star, Walk};
use crate::collectives::{CollectiveError, Job, Name};

pub type Linear = Walk<Star, Blocks<Star>>;

pub fn linear(job: &Job) -> Result<Linear, CollectiveError> {
    let tree = Star::new(job.processes);
    Ok(Walk::new(Name::Linear, job, tree, Blocks { tree, job: job.clone() })?.together())
}
