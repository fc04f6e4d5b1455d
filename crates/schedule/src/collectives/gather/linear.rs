//! Linear: every rank sends its block to the root, which posts all receives and waits for them
//! together, so that a late rank does not delay the others.

use crate::collectives::tree::Mirror;
use crate::collectives::{CollectiveError, Job, scatter};

pub type Linear = Mirror<scatter::Linear>;

pub fn linear(job: &Job) -> Result<Linear, CollectiveError> {
    Ok(Mirror::placing(scatter::linear(job)?))
}
