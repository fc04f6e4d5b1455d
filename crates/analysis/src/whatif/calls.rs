//! Calls removed from or added to a trace.

use super::edit::Editor;
use super::error::WhatIfError;
use super::place::Where;
use super::regions;
use crate::waits::is_ordered;
use std::collections::{BTreeSet, HashMap, HashSet};
use straggler_model::Time;
use straggler_model::spelling::nearest;
use straggler_trace::call::CommId;
use straggler_trace::trace::WORLD;
use straggler_trace::{Call, Class, Function, RankTrace, Start, Trace};

/// Blocking collectives to remove.
#[derive(Clone, PartialEq, Debug)]
pub struct Deletion {
    pub function: Function,
    /// A collective is removed if most of its members are at this place. All members leave it out, or the rest would
    /// wait forever.
    pub place: Where,
}

/// Something that every rank does in addition, whenever it enters a region.
#[derive(Clone, PartialEq, Debug)]
pub struct Insertion {
    pub what: Inserted,
    pub region: String,
    pub ranks: Option<regions::Ranks>,
}

/// What a hypothesis can insert into a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    Barrier,
    Computation(Time),
}

/// Whether a call may be deleted: it must leave nothing behind, such as a request.
pub fn is_deletable(function: Function) -> bool {
    matches!(function.class(), Class::Collective(_, Start::Blocking))
}

/// The collectives that the deletions select. A deletion that selects none is an error.
pub fn meant<'d>(
    trace: &Trace,
    deletions: impl Iterator<Item = &'d Deletion>,
) -> Result<HashSet<Meeting>, WhatIfError> {
    let mut meant = HashSet::new();
    for deletion in deletions {
        let chosen = chosen(trace, deletion);
        if chosen.is_empty() {
            return Err(not_called(trace, deletion));
        }
        meant.extend(chosen);
    }
    Ok(meant)
}

fn not_called(trace: &Trace, deletion: &Deletion) -> WhatIfError {
    let functions = trace.ranks.iter().flat_map(|rank| &rank.calls).map(|call| call.function);
    let known: BTreeSet<&str> =
        functions.filter(|&function| is_deletable(function)).map(Function::name).collect();
    WhatIfError::NoCall {
        asked: match deletion.place.text().as_str() {
            "anywhere" => deletion.function.name().to_owned(),
            place => format!("{} {place}", deletion.function.name()),
        },
        known: known.into_iter().map(str::to_owned).collect(),
    }
}

/// Removes these collectives from the trace.
pub fn delete(trace: &Trace, deleted: &HashSet<Meeting>) -> Trace {
    let ranks = trace.ranks.iter().map(|traced| {
        let mut editor = Editor::new(traced);
        for (call, meeting) in traced.calls.iter().zip(meetings(traced)) {
            editor.compute_up_to(call);
            if !meeting.is_some_and(|meeting| deleted.contains(&meeting)) {
                editor.push(call, traced.details(call).cloned());
            }
        }
        editor.finish()
    });
    trace.with_ranks(ranks.collect())
}

/// A collective: its communicator, and its number on that communicator.
pub type Meeting = (CommId, u32);

/// For each call of a rank, the collective that it belongs to.
fn meetings(traced: &RankTrace) -> impl Iterator<Item = Option<Meeting>> {
    let mut numbers: HashMap<CommId, u32> = HashMap::new();
    traced.calls.iter().map(move |call| {
        is_ordered(call.function.class()).then(|| {
            let number = numbers.entry(call.comm).or_default();
            *number += 1;
            (call.comm, *number - 1)
        })
    })
}

/// The collectives that most of their members call at this place.
fn chosen(trace: &Trace, deletion: &Deletion) -> HashSet<Meeting> {
    let mut votes: HashMap<Meeting, i64> = HashMap::new();
    for (rank, traced) in (0..).zip(&trace.ranks) {
        let here = deletion.place.holds(rank, traced);
        for ((call, meeting), here) in traced.calls.iter().zip(meetings(traced)).zip(here) {
            if let Some(meeting) = meeting.filter(|_| call.function == deletion.function) {
                *votes.entry(meeting).or_default() += if here { 1 } else { -1 };
            }
        }
    }
    votes.into_iter().filter(|(_, votes)| *votes > 0).map(|(meeting, _)| meeting).collect()
}

/// Adds a barrier or computation to the trace.
pub fn insert(trace: &Trace, insertion: &Insertion) -> Result<Trace, WhatIfError> {
    let mut inserted = 0;
    let ranks = (0..).zip(&trace.ranks).map(|(rank, traced)| {
        let concerned = insertion.ranks.as_ref().is_none_or(|ranks| ranks.contains(&rank));
        if concerned { besides(traced, insertion, &mut inserted) } else { traced.clone() }
    });
    let ranks = ranks.collect();
    if insertion.what == Inserted::Barrier {
        let entries = (0..).zip(&trace.ranks).map(|(rank, traced)| {
            let last = regions::presence(traced, &insertion.region).into_iter().flatten().max();
            (rank, last.map_or(0, |last| u64::from(last) + 1))
        });
        let entries: Vec<(u32, u64)> = entries.collect();
        if inserted > 0 && entries.iter().any(|(_, count)| *count != entries[0].1) {
            return Err(WhatIfError::Uneven { region: insertion.region.clone(), entries });
        }
    }
    if inserted == 0 {
        let known = regions::names(trace).into_keys().collect();
        return Err(WhatIfError::NoRegion { name: insertion.region.clone(), known });
    }
    Ok(trace.with_ranks(ranks))
}

fn besides(traced: &RankTrace, insertion: &Insertion, inserted: &mut u64) -> RankTrace {
    let presence = regions::presence(traced, &insertion.region);
    // Whether the region has been entered after this call.
    let enters = |number: usize| {
        let next = traced.calls.iter().zip(&presence).skip(number + 1);
        let mut next = next.filter(|(call, _)| call.thread == traced.calls[number].thread);
        let after = next.next().and_then(|(_, entry)| *entry);
        after.is_some() && after != presence[number]
    };
    let mut editor = Editor::new(traced);
    for (number, call) in traced.calls.iter().enumerate() {
        editor.compute_up_to(call);
        editor.push(call, traced.details(call).cloned());
        if matches!(call.function.class(), Class::Mark) && enters(number) {
            *inserted += 1;
            match insertion.what {
                Inserted::Computation(time) => editor.compute(call, time),
                Inserted::Barrier => {
                    let barrier = Call::new(Function::Barrier, call.exit, call.exit);
                    editor.push(&Call { comm: WORLD, thread: call.thread, ..barrier }, None);
                }
            }
        }
    }
    editor.finish()
}

impl Deletion {
    pub fn text(&self) -> String {
        match self.place.text().as_str() {
            "anywhere" => format!("no {}", self.function.name()),
            place => format!("no {} {place}", self.function.name()),
        }
    }
}

impl Insertion {
    pub fn text(&self) -> String {
        let what = match self.what {
            Inserted::Barrier => "a barrier".to_owned(),
            Inserted::Computation(time) => format!("{time} more computation"),
        };
        format!("{what} at each entry of {}", self.region)
    }
}

/// The blocking collective with this name, which may lack `MPI_`, in any case.
///
/// # Errors
/// The nearest name, if there is one.
pub fn collective_named(name: &str) -> Result<Function, Option<String>> {
    let wanted = name.trim().trim_start_matches("MPI_").to_lowercase();
    let own = |function: Function| function.name().strip_prefix("MPI_").unwrap_or_default().to_lowercase();
    let known = Function::ALL.iter().copied().filter(|&function| is_deletable(function));
    let mut known = known.map(|function| (own(function), function));
    let found = known.clone().find(|(name, _)| *name == wanted).map(|(_, function)| function);
    found.ok_or_else(|| {
        let names: Vec<String> = known.by_ref().map(|(name, _)| name).collect();
        nearest(&wanted, names.iter().map(String::as_str)).map(str::to_string)
    })
}
