//! Everything that explains the waits of a run.

use super::activities::Activities;
use super::{Cause, CriticalPath, RegionWaits, Regions, WaitStates, root_causes};
use straggler_trace::Trace;

/// Where ranks wait, why, and what determined the length of the run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explanation {
    /// The longest first.
    pub regions: Vec<RegionWaits>,
    pub causes: Vec<Cause>,
    pub critical_path: CriticalPath,
}

impl Explanation {
    pub fn of(trace: &Trace, states: &WaitStates) -> Explanation {
        let regions = Regions::of(trace);
        let activities = Activities::of(trace, states, &regions);
        let (by_region, (causes, critical_path)) = rayon::join(
            || RegionWaits::of(trace, states, &regions),
            || {
                rayon::join(
                    || root_causes(trace, states, &activities),
                    || CriticalPath::of(trace, states, &activities),
                )
            },
        );
        Explanation { regions: by_region, causes, critical_path }
    }
}
