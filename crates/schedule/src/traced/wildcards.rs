//! Wildcard receives that take whichever message comes first.
//!
//! This is safe if every message that such a receive could take is taken, in the traced run, by a
//! receive that asks for exactly the same, and all or none of the messages are sent synchronously:
//! then any of these receives may take any of these messages, and none is left without one. These
//! messages get a tag of their own, so that "any tag" on one communicator never matches another's.
//! Elsewhere, a wildcard receive could take a message that another receive waits for, and the
//! program would hang: such receives take what they took in the traced run.

use super::error::TraceError;
use super::reading::{Pattern, ReadRank};
use super::recording::{Instruction, Wild};
use crate::graph::ANY;
use std::collections::HashMap;
use straggler_model::{Rank, Tag};
use straggler_trace::CommId;

/// The wildcard patterns of a rank's receives, with the tag of those that are safe.
type Patterns = HashMap<Pattern, Option<Tag>>;

/// Whether messages of a pattern are sent synchronously, as far as seen.
type Answered = HashMap<Pattern, bool>;

/// Communicator and original tag that a tag stands for.
type Sources = HashMap<Tag, (CommId, i64)>;

/// Lets wildcard receives take any matching message, where that is safe. Returns how many stay
/// bound to the traced message.
pub(super) fn open(
    ranks: &mut [ReadRank],
    known: &HashMap<(CommId, i64), Tag>,
    stand_for: &HashMap<Tag, Tag>,
    tags: &mut u32,
) -> Result<u64, TraceError> {
    let mut sources: Sources = known.iter().map(|(&source, &tag)| (tag, source)).collect();
    for (&own, shared) in stand_for {
        sources.get(shared).copied().map(|source| sources.insert(own, source));
    }
    let mut patterns: Vec<Patterns> = ranks.iter().map(|read| safe(read, &sources)).collect();
    for (patterns, read) in patterns.iter_mut().zip(&*ranks) {
        // In the order of calls, so that tags are reproducible.
        for wild in &read.wild {
            if let Some(Some(tag)) = patterns.get_mut(&wild.pattern)
                && *tag == UNNUMBERED
            {
                *tag = *tags;
                *tags =
                    tags.checked_add(1).filter(|&tags| tags < u32::MAX / 4).ok_or(TraceError::TooManyTags)?;
            }
        }
    }
    for (rank, read) in (0..).zip(&mut *ranks) {
        for instruction in &mut read.recorded.instructions {
            let Instruction::Send { to, tag, .. } = instruction else { continue };
            let own = patterns.get(*to as usize).filter(|patterns| !patterns.is_empty());
            if let Some(own) = own.and_then(|patterns| tag_of(patterns, &sources, rank, *tag)) {
                *tag = own;
            }
        }
    }
    let opened = ranks.iter_mut().zip(&patterns).map(|(read, patterns)| take_what_comes(read, patterns));
    Ok(opened.sum())
}

/// Placeholder for a tag that is assigned later.
const UNNUMBERED: Tag = Tag::MAX;

/// The wildcard patterns of a rank, and whether each is safe.
fn safe(read: &ReadRank, sources: &Sources) -> Patterns {
    let mut patterns: Patterns = read.wild.iter().map(|wild| (wild.pattern, Some(UNNUMBERED))).collect();
    if patterns.is_empty() {
        return patterns;
    }
    let mut wild = read.wild.iter().peekable();
    let mut answered = Answered::new();
    for (number, instruction) in (0..).zip(&read.recorded.instructions) {
        let Instruction::Recv { from, tag, how, .. } = *instruction else { continue };
        let own = wild.next_if(|wild| wild.instruction == number).map(|wild| wild.pattern);
        let Some(&(comm, tag)) = sources.get(&tag) else {
            // The tag was made for a threaded sender, so it is unknown which patterns it matches.
            patterns.values_mut().for_each(|safe| *safe = None);
            return patterns;
        };
        for pattern in matching(comm, from, tag).into_iter().flatten() {
            // A receiver must know whether to reply.
            let alike = *answered.entry(pattern).or_insert(how.answered) == how.answered;
            if let Some(safe) = patterns.get_mut(&pattern)
                && (own != Some(pattern) || !alike)
            {
                *safe = None;
            }
        }
    }
    patterns
}

/// The wildcard patterns that a message matches. Messages of collectives have negative tags and match none.
fn matching(comm: CommId, from: Rank, tag: i64) -> Option<[Pattern; 3]> {
    let (from, tag) = (Some(from), (tag >= 0).then_some(tag));
    tag.map(|_| {
        [
            Pattern { comm, from: None, tag },
            Pattern { comm, from, tag: None },
            Pattern { comm, from: None, tag: None },
        ]
    })
}

/// The new tag of a message that wildcard receives may take.
fn tag_of(patterns: &Patterns, sources: &Sources, from: Rank, tag: Tag) -> Option<Tag> {
    let &(comm, tag) = sources.get(&tag)?;
    matching(comm, from, tag)?.iter().find_map(|pattern| patterns.get(pattern).copied().flatten())
}

/// Opens the wildcard receives of a rank. Returns how many stay bound.
fn take_what_comes(read: &mut ReadRank, patterns: &Patterns) -> u64 {
    let mut bound = 0;
    for wild in &read.wild {
        let instruction = read.recorded.instructions.get_mut(wild.instruction as usize);
        let Some(Instruction::Recv { from, tag, .. }) = instruction else { continue };
        match patterns.get(&wild.pattern).copied().flatten() {
            Some(own) => {
                read.recorded.wild.push(Wild { instruction: wild.instruction, from: *from });
                *tag = own;
                if wild.pattern.from.is_none() {
                    *from = ANY;
                }
            }
            None => bound += 1,
        }
    }
    bound
}
