//! Receives from anyone that take whichever message comes first.
//!
//! That is safe where all messages which such a receive could take are, in the traced run, taken by receives that ask for
//! exactly the same, and all or none of them are answered: then any of these receives may take any of these messages, and
//! nobody is left without one. These
//! messages get a tag of their own, so that "any tag" of one communicator never meets another's. Elsewhere a receive
//! with a wildcard could take what another one waits for, and the program would hang: such receives take what they took in the
//! traced run.

use super::error::TraceError;
use super::reading::{Pattern, ReadRank};
use super::recording::{Instruction, Wild};
use crate::graph::ANY;
use std::collections::HashMap;
use straggler_model::{Rank, Tag};
use straggler_trace::CommId;

/// The patterns with wildcards that the receives of a rank ask for: the tag of those that are safe.
type Patterns = HashMap<Pattern, Option<Tag>>;

/// Whether the messages of a pattern are answered, as far as they were seen.
type Answered = HashMap<Pattern, bool>;

/// Where a tag comes from: its communicator and what the program calls it.
type Sources = HashMap<Tag, (CommId, i64)>;

/// Lets receives with wildcards take what comes, where that is safe. Gives how many stay as they are.
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
        // In the order of the calls, so that the tags are the same every time.
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

/// A tag that is given later.
const UNNUMBERED: Tag = Tag::MAX;

/// The patterns of a rank, and whether each is safe.
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
            // Its tag was made for a sender with several threads: it is unknown which pattern it matches.
            patterns.values_mut().for_each(|safe| *safe = None);
            return patterns;
        };
        for pattern in matching(comm, from, tag).into_iter().flatten() {
            // Who takes a message must know whether to answer it.
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

/// The patterns with wildcards that a message fits. Those of collectives, whose tags are negative, never meet a receive.
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

/// The tag that a message gets for those who take what comes.
fn tag_of(patterns: &Patterns, sources: &Sources, from: Rank, tag: Tag) -> Option<Tag> {
    let &(comm, tag) = sources.get(&tag)?;
    matching(comm, from, tag)?.iter().find_map(|pattern| patterns.get(pattern).copied().flatten())
}

/// Opens the receives of a rank; gives how many stay as they are.
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
