//! Where in the program a cause lies, if the trace has call sites.
//!
//! Computation lies between two calls, so it has the sites of both. An activity may occur at several places: the one that
//! counts is where the rank spends most beyond what ranks spend there on average.

use super::{Activities, Activity, Cause};
use std::collections::BTreeMap;
use straggler_model::{Rank, Time, parallel};
use straggler_trace::sites::SiteId;
use straggler_trace::{Class, RankTrace, Trace};

/// The call sites before and after a computation, or that of a call; none if unknown.
type Place = [Option<SiteId>; 2];

/// Picoseconds by activity and place.
type Times = BTreeMap<(u32, Place), u64>;

/// Writes the sites of each cause into it.
pub(super) fn locate(trace: &Trace, activities: &Activities, causes: &mut [Cause]) {
    if trace.call_sites.is_empty() {
        return;
    }
    let times: Vec<Times> = parallel::map(trace.ranks.len(), |rank| times(trace, activities, rank as Rank));
    let mut means: BTreeMap<(u32, Place), f64> = BTreeMap::new();
    for (key, &time) in times.iter().flatten() {
        *means.entry(*key).or_default() += time as f64 / times.len() as f64;
    }
    let numbers: BTreeMap<&Activity, u32> = activities.names.iter().zip(0..).collect();
    for cause in causes {
        let (Some(own), Some(&activity)) = (times.get(cause.rank as usize), numbers.get(&cause.activity))
        else {
            continue;
        };
        let places = own.range((activity, [None; 2])..(activity + 1, [None; 2]));
        let excess = places.map(|(key, &time)| (time as f64 - means.get(key).copied().unwrap_or(0.0), key.1));
        let place = excess.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, place)| place);
        cause.sites = place.into_iter().flatten().flatten().collect();
    }
}

fn times(trace: &Trace, activities: &Activities, rank: Rank) -> Times {
    let (traced, doings): (&RankTrace, _) = (&trace.ranks[rank as usize], &activities.ranks[rank as usize]);
    let mut times = Times::new();
    let mut add = |activity: u32, place: Place, time: Time| {
        *times.entry((doings.activities[activity as usize], place)).or_default() += time.ps();
    };
    // Computation since the last call, in pieces between the marks of the program.
    let mut pieces: Vec<(u32, Time)> = Vec::new();
    let mut last = None;
    for ((number, call), step) in traced.calls.iter().enumerate().zip(&doings.steps) {
        pieces.push((step.before_is, step.before));
        if call.function.class() != Class::Mark {
            let site = traced.site(number);
            pieces.drain(..).for_each(|(activity, time)| add(activity, [last, site], time));
            add(step.inside_is, [site, None], step.inside);
            last = site;
        }
    }
    times
}
