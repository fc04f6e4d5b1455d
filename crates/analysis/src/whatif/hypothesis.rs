//! What is supposed to be different: a list of changes, one after the other.

use super::calls::{self, Deletion, Insertion};
use super::computation::{Balanced, Gaps};
use super::error::WhatIfError;
use super::messages::{self, Filter};
use super::nonblocking::{self, Overlap};
use super::parts;
use super::place::Where;
use super::regions::Ranks;
use std::borrow::Cow;
use straggler_schedule::traced::alone;
use straggler_trace::{Call, Details, Trace};

/// One difference between the traced run and the one that is simulated.
#[derive(Clone, PartialEq, Debug)]
pub enum Difference {
    /// Computation takes so many times as long.
    Scale {
        place: Where,
        factor: f64,
    },
    /// Every rank computes as much, or by its weight.
    Balance {
        place: Where,
        weights: Option<Vec<f64>>,
    },
    /// Without the noise that shows in the trace.
    Quieten {
        place: Where,
    },
    /// Messages that are not sent.
    Remove(Filter),
    /// So many messages of a route are sent as one, or one as so many.
    Merge {
        filter: Filter,
        count: u32,
    },
    Split {
        filter: Filter,
        count: u32,
    },
    /// Blocking calls that are begun before, and waited for where they were.
    Overlap(Overlap),
    Delete(Deletion),
    Insert(Insertion),
}

impl Difference {
    /// The trace with the difference, and what people should know about it. A trace that is given away is changed in place
    /// where that is possible.
    pub fn apply(&self, trace: Cow<'_, Trace>) -> Result<(Trace, Vec<String>), WhatIfError> {
        let mut notes = Vec::new();
        if let Some(&rank) = self.ranks().and_then(|ranks| ranks.last())
            && rank as usize >= trace.ranks.len()
        {
            return Err(WhatIfError::NoRank { rank, ranks: trace.ranks.len() });
        }
        let trace = match self {
            Difference::Scale { place, factor } => {
                let mut gaps = Gaps::of(&trace);
                gaps.scale(&trace, place, *factor)?;
                gaps.apply(trace.into_owned())
            }
            Difference::Balance { place, weights } => {
                let mut gaps = Gaps::of(&trace);
                if gaps.balance(&trace, place, weights.as_deref())? == Balanced::Together
                    && place.region.is_some()
                {
                    notes.push(format!(
                        "ranks differ in how often they are {}: it is balanced as a whole, not entry by entry",
                        place.text()
                    ));
                }
                gaps.apply(trace.into_owned())
            }
            Difference::Quieten { place } => {
                let mut gaps = Gaps::of(&trace);
                gaps.quieten(&trace, place)?;
                gaps.apply(trace.into_owned())
            }
            Difference::Remove(filter) => messages::remove(&trace, filter)?,
            Difference::Merge { filter, count } => parts::merge(&trace, filter, *count)?,
            Difference::Split { filter, count } => parts::split(&trace, filter, *count)?,
            Difference::Overlap(overlap) => nonblocking::apply(&trace, overlap)?,
            Difference::Delete(deletion) => calls::delete(&trace, deletion)?,
            Difference::Insert(insertion) => calls::insert(&trace, insertion)?,
        };
        Ok((trace, notes))
    }

    /// The ranks that it names.
    fn ranks(&self) -> Option<&Ranks> {
        match self {
            Difference::Scale { place, .. }
            | Difference::Balance { place, .. }
            | Difference::Quieten { place } => place.ranks.as_ref(),
            Difference::Remove(filter)
            | Difference::Merge { filter, .. }
            | Difference::Split { filter, .. } => filter.from.as_ref().or(filter.to.as_ref()),
            Difference::Insert(insertion) => insertion.ranks.as_ref(),
            Difference::Overlap(_) | Difference::Delete(_) => None,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let at = |place: &Where| match place.text().as_str() {
            "anywhere" => String::new(),
            text => format!(" {text}"),
        };
        match self {
            Difference::Scale { place, factor } => format!("computation{} × {factor}", at(place)),
            Difference::Balance { place, weights: None } => format!("computation{} balanced", at(place)),
            Difference::Balance { place, .. } => format!("computation{} shared by weights", at(place)),
            Difference::Quieten { place } => format!("computation{} without its noise", at(place)),
            Difference::Remove(filter) => format!("no messages ({filter})"),
            Difference::Merge { filter, count } => format!("{count} messages sent as one ({filter})"),
            Difference::Split { filter, count } => format!("messages sent in {count} parts ({filter})"),
            Difference::Overlap(overlap) => overlap.text(),
            Difference::Delete(deletion) => deletion.text(),
            Difference::Insert(insertion) => insertion.text(),
        }
    }
}

/// Calls that make communicators tell what they took themselves: the times of others, by which that is known, will not be those of
/// one run any more.
fn with_own_times(trace: &Trace) -> Cow<'_, Trace> {
    let mut changed = Cow::Borrowed(trace);
    for ((rank, number), time) in alone(trace) {
        let changed = changed.to_mut();
        let Some(rank) = changed.ranks.get_mut(rank as usize) else { continue };
        let Some(call) = rank.calls.get_mut(number as usize) else { continue };
        if call.details == Call::NO_DETAILS {
            call.details = rank.details.len() as u32;
            rank.details.push(Details::default());
        }
        if let Some(details) = rank.details.get_mut(call.details as usize) {
            details.rare.alone = Some(time);
        }
    }
    changed
}

/// Applies differences one after the other. Where there is none, it is the trace itself.
pub fn apply_all<'t>(
    trace: &'t Trace,
    differences: &[Difference],
) -> Result<(Cow<'t, Trace>, Vec<String>), WhatIfError> {
    let mut changed = if differences.is_empty() { Cow::Borrowed(trace) } else { with_own_times(trace) };
    let mut notes = Vec::new();
    for difference in differences {
        let (next, more) = difference.apply(changed)?;
        changed = Cow::Owned(next);
        notes.extend(more);
    }
    Ok((changed, notes))
}
