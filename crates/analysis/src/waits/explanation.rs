//! Everything that explains the waits of a run.

use super::activities::Activities;
use super::{Cause, CriticalPath, Missing, RegionWaits, Regions, WaitStates, root_causes};
use straggler_trace::Trace;

/// Where ranks wait, why, and what determined the length of the run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explanation {
    /// The longest first.
    pub regions: Vec<RegionWaits>,
    pub causes: Vec<Cause>,
    pub critical_path: CriticalPath,
    pub missing: Missing,
}

impl Explanation {
    pub fn new(trace: &Trace, states: &WaitStates) -> Explanation {
        let regions = Regions::new(trace);
        let missing = Missing::new(trace);
        let activities = Activities::with(trace, states, &regions, &missing);
        let (by_region, (causes, critical_path)) = rayon::join(
            || RegionWaits::new(trace, states, &regions),
            || {
                rayon::join(
                    || root_causes(trace, states, &activities),
                    || CriticalPath::new(trace, states, &activities),
                )
            },
        );
        Explanation { regions: by_region, causes, critical_path, missing }
    }
}
