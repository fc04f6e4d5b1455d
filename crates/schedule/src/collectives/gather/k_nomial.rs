//! K-nomial tree: the tree of scatter with time reversed. With k = 2 it is the binomial tree.

use crate::collectives::tree::Mirror;
use crate::collectives::{CollectiveError, Job, scatter};

pub type KNomial = Mirror<scatter::KNomial>;

/// `radix` is at least 2.
pub fn k_nomial(job: &Job, radix: u32) -> Result<KNomial, CollectiveError> {
    Ok(Mirror::placing(scatter::k_nomial(job, radix)?))
}
