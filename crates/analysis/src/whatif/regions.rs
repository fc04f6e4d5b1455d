//! Finds the computation in marked regions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use straggler_trace::profile::RegionName;
use straggler_trace::{Function, RankTrace, Trace};

/// For each call of a rank, the entry of a region, counted from 0, that the time before the call
/// belongs to.
pub type Presence = Vec<Option<u32>>;

/// When a rank is in the region with this name. Recursive entries count as one.
pub fn presence(traced: &RankTrace, name: &str) -> Presence {
    let mut threads: HashMap<u16, Open> = HashMap::new();
    let mut entries = 0;
    let mut presence = Vec::with_capacity(traced.calls.len());
    for call in &traced.calls {
        let open = threads.entry(call.thread).or_default();
        presence.push(open.entry);
        let text = || traced.details(call).and_then(|details| details.text.as_deref());
        match call.function {
            Function::RegionEnter if text().unwrap_or_default() == name => open.depth += 1,
            Function::RegionLeave if text().unwrap_or_default() == name => {
                open.depth = open.depth.saturating_sub(1);
            }
            Function::Pcontrol => {
                // A level lasts until the next, even if both are the same.
                open.entry = open.entry.filter(|_| open.depth > 0);
                open.by_level = level(text()).is_some_and(|level| level.to_string() == name);
            }
            _ => {}
        }
        open.entry = match (open.depth > 0 || open.by_level, open.entry) {
            (false, _) => None,
            (true, Some(entry)) => Some(entry),
            (true, None) => {
                entries += 1;
                Some(entries - 1)
            }
        };
    }
    presence
}

#[derive(Default)]
struct Open {
    depth: u32,
    by_level: bool,
    entry: Option<u32>,
}

/// The region that a level of MPI_Pcontrol starts.
fn level(text: Option<&str>) -> Option<RegionName> {
    let text = text.unwrap_or("?");
    (!text.parse::<i64>().is_ok_and(|level| level <= 0)).then(|| RegionName::Level(text.to_owned()))
}

/// The regions of a trace by name, and how often all ranks together enter each.
pub fn names(trace: &Trace) -> BTreeMap<String, u64> {
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for rank in &trace.ranks {
        for call in &rank.calls {
            let text = || rank.details(call).and_then(|details| details.text.as_deref());
            let name = match call.function {
                Function::RegionEnter => Some(text().unwrap_or_default().to_owned()),
                Function::Pcontrol => level(text()).map(|level| level.to_string()),
                _ => None,
            };
            if let Some(name) = name {
                *names.entry(name).or_default() += 1;
            }
        }
    }
    names
}

/// A set of ranks, typed as 0-3,7.
pub type Ranks = BTreeSet<u32>;
