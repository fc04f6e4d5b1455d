//! A hypothesis: a list of changes to a traced run.

use super::calls::{self, Deletion, Insertion};
use super::computation::{Balanced, Gaps};
use super::error::WhatIfError;
use super::messages::{self, Filter};
use super::nonblocking::{self, Overlap};
use super::parts;
use super::place::{Where, short_list};
use super::regions::Ranks;
use std::borrow::Cow;
use straggler_schedule::traced::alone;
use straggler_trace::{Call, Details, Trace};

/// One difference between the traced and the simulated run.
#[derive(Clone, PartialEq, Debug)]
pub enum Difference {
    /// Computation is multiplied by a factor.
    Scale {
        place: Where,
        factor: f64,
    },
    /// Computation is distributed over the ranks.
    Balance {
        place: Where,
        shares: Shares,
    },
    /// Computation without the noise that shows in the trace.
    Quieten {
        place: Where,
    },
    /// Messages that are not sent.
    Remove(Filter),
    /// Several messages of a route are merged into one, or one is split into several.
    Merge {
        filter: Filter,
        count: u32,
    },
    Split {
        filter: Filter,
        count: u32,
    },
    /// Blocking calls that become nonblocking, so that they overlap with computation.
    Overlap(Overlap),
    Delete(Deletion),
    Insert(Insertion),
}

/// How computation is distributed over the ranks.
#[derive(Clone, PartialEq, Debug)]
pub enum Shares {
    Equal,
    /// Equal between any two synchronisations.
    EqualInEachStep,
    /// In proportion to a weight for each rank.
    Weights(Vec<f64>),
}

impl Difference {
    fn check(&self, trace: &Trace) -> Result<(), WhatIfError> {
        match self.ranks().and_then(|ranks| ranks.last()) {
            Some(&rank) if rank as usize >= trace.ranks.len() => {
                Err(WhatIfError::NoRank { rank, ranks: trace.ranks.len() })
            }
            _ => Ok(()),
        }
    }

    /// Applies a change of computation. Returns whether this difference is one.
    fn recompute(
        &self,
        trace: &Trace,
        gaps: &mut Gaps,
        notes: &mut Vec<String>,
    ) -> Result<bool, WhatIfError> {
        match self {
            Difference::Scale { place, factor } => gaps.scale(trace, place, *factor)?,
            Difference::Balance { place, shares } => {
                let balanced = gaps.balance(trace, place, shares)?;
                if balanced == Balanced::Together && place.region.is_some() {
                    notes.push(format!(
                        "ranks differ in how often they are {}: it is balanced as a whole, not entry by entry",
                        place.text()
                    ));
                }
                if let Shares::Weights(weights) = shares {
                    notes.extend(unused_weights(trace, place, weights));
                }
            }
            Difference::Quieten { place } => gaps.quieten(trace, place)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The trace with changed messages or calls; none for computation and deletions, which are applied before.
    fn rewrite(&self, trace: &Trace, notes: &mut Vec<String>) -> Result<Option<Trace>, WhatIfError> {
        Ok(Some(match self {
            Difference::Scale { .. }
            | Difference::Balance { .. }
            | Difference::Quieten { .. }
            | Difference::Delete(_) => return Ok(None),
            Difference::Remove(filter) => messages::remove(trace, filter)?,
            Difference::Merge { filter, count } => {
                let (trace, most) = parts::merge(trace, filter, *count)?;
                if most < *count {
                    notes.push(format!(
                        "no rank sends {count} such messages to another with the same tag: at most {most} are merged"
                    ));
                }
                trace
            }
            Difference::Split { filter, count } => {
                let (trace, bound) = parts::split(trace, filter, *count)?;
                if bound > 0 {
                    notes.push(format!(
                        "{bound} calls that choose among messages in parts choose as in the trace"
                    ));
                }
                trace
            }
            Difference::Overlap(overlap) => nonblocking::apply(trace, overlap)?,
            Difference::Insert(insertion) => calls::insert(trace, insertion)?,
        }))
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

    /// A description for users.
    pub fn text(&self) -> String {
        let at = |place: &Where| match place.text().as_str() {
            "anywhere" => String::new(),
            text => format!(" {text}"),
        };
        match self {
            Difference::Scale { place, factor } => format!("computation{} × {factor}", at(place)),
            Difference::Balance { place, shares } => {
                let how = match shares {
                    Shares::Equal => "balanced",
                    Shares::EqualInEachStep => "balanced between synchronisations",
                    Shares::Weights(_) => "shared by weights",
                };
                format!("computation{} {how}", at(place))
            }
            Difference::Quieten { place } => format!("computation{} free of noise", at(place)),
            Difference::Remove(filter) => format!("no messages ({filter})"),
            Difference::Merge { filter, count } => format!("{count} messages sent as one ({filter})"),
            Difference::Split { filter, count } => format!("messages sent in {count} parts ({filter})"),
            Difference::Overlap(overlap) => overlap.text(),
            Difference::Delete(deletion) => deletion.text(),
            Difference::Insert(insertion) => insertion.text(),
        }
    }
}

/// The note on ranks that have a weight but no computation there.
fn unused_weights(trace: &Trace, place: &Where, weights: &[f64]) -> Option<String> {
    let ranks = (0u32..).zip(&trace.ranks).zip(weights).filter(|(_, weight)| **weight > 0.0);
    let idle = ranks.filter(|((rank, traced), _)| place.chosen(*rank, traced).iter().all(Option::is_none));
    let idle: Vec<u32> = idle.map(|((rank, _), _)| rank).collect();
    let (ranks, are) = if idle.len() == 1 { ("rank", "computes") } else { ("ranks", "compute") };
    (!idle.is_empty()).then(|| {
        format!("{ranks} {} never {are} {}: their weights are ignored", short_list(&idle), place.text())
    })
}

/// Records how long calls that create communicators take on their own. This follows from the times of other ranks,
/// which will no longer be those of one run.
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

/// Applies differences: first changes of computation, then deletions, both at the places and times of the traced run;
/// then the others in order. Returns the trace itself if there are none.
pub fn apply_all<'t>(
    trace: &'t Trace,
    differences: &[Difference],
) -> Result<(Cow<'t, Trace>, Vec<String>), WhatIfError> {
    if differences.is_empty() {
        return Ok((Cow::Borrowed(trace), Vec::new()));
    }
    differences.iter().try_for_each(|difference| difference.check(trace))?;
    let mut changed = with_own_times(trace);
    let mut notes = Vec::new();
    let deletions = differences.iter().filter_map(|difference| match difference {
        Difference::Delete(deletion) => Some(deletion),
        _ => None,
    });
    let deleted = calls::meant(trace, deletions)?;
    let mut gaps = Gaps::new(trace);
    let mut recomputed = false;
    for difference in differences {
        recomputed |= difference.recompute(trace, &mut gaps, &mut notes)?;
    }
    if recomputed {
        changed = Cow::Owned(gaps.apply(changed.into_owned()));
    }
    if !deleted.is_empty() {
        changed = Cow::Owned(calls::delete(&changed, &deleted));
    }
    for difference in differences {
        if let Some(next) = difference.rewrite(&changed, &mut notes)? {
            changed = Cow::Owned(next);
        }
    }
    Ok((changed, notes))
}
