//! Brings together streams of one run that lie in several places, such as the disks of its nodes, byte by byte.

use super::read::{Stream, read};
use std::collections::BTreeMap;

/// A file with streams.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name used in messages.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The streams of one run.
#[derive(Clone, Debug)]
pub struct Merged<'a> {
    /// How many ranks the run has.
    pub processes: u32,
    pub streams: BTreeMap<u32, &'a [u8]>,
}

impl Merged<'_> {
    /// Ranks without a stream; at most a million, since a damaged head may claim billions.
    pub fn missing(&self) -> Vec<u32> {
        (0..self.processes).filter(|rank| !self.streams.contains_key(rank)).take(1 << 20).collect()
    }
}

/// Why streams cannot be brought together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MergeError {
    #[error("{name}, byte {offset}: {what}; remove it, or copy it again")]
    NoStream { name: String, offset: u64, what: String },
    #[error(
        "{second} (rank {rank}) and {first} are of different runs ({second_run} and {first_run}): merge the streams of \
         one run"
    )]
    OtherRun { first: String, second: String, rank: u32, first_run: String, second_run: String },
    #[error("{second} and {first} are both the stream of rank {rank}: remove one of them")]
    Twice { first: String, second: String, rank: u32 },
    #[error("the given paths hold no streams")]
    Nothing,
}

/// Finds the streams of all parts. They must belong to one run and to different ranks.
pub fn merge(parts: &[Part]) -> Result<Merged<'_>, MergeError> {
    let mut merged = Merged { processes: 0, streams: BTreeMap::new() };
    let mut first: Option<(&Part, Stream)> = None;
    let mut names: BTreeMap<u32, &str> = BTreeMap::new();
    for part in parts {
        let mut at = 0;
        while at < part.bytes.len() {
            let (stream, length) = read(&part.bytes[at..], at as u64);
            let end = part.bytes.len().min(at + length.max(1));
            refuse_headless(part, &stream, at)?;
            let rank = stream.head.rank;
            if let Some((other, of_other)) = &first {
                refuse_other_run((other, of_other), (part, &stream))?;
            }
            if let Some(other) = names.insert(rank, &part.name) {
                return Err(MergeError::Twice { first: other.into(), second: part.name.clone(), rank });
            }
            merged.processes = stream.head.size;
            merged.streams.insert(rank, &part.bytes[at..end]);
            first.get_or_insert((part, stream));
            at = end;
        }
    }
    if merged.streams.is_empty() { Err(MergeError::Nothing) } else { Ok(merged) }
}

fn refuse_headless(part: &Part, stream: &Stream, at: usize) -> Result<(), MergeError> {
    if stream.head.size > 0 {
        return Ok(());
    }
    let problem = stream.problems.first();
    let offset = problem.map_or(at as u64, |problem| problem.offset);
    let what = problem.map_or_else(|| "nothing to read".into(), |problem| problem.what.to_string());
    Err(MergeError::NoStream { name: part.name.clone(), offset, what })
}

fn refuse_other_run(first: (&Part, &Stream), second: (&Part, &Stream)) -> Result<(), MergeError> {
    let (a, b) = (&first.1.head, &second.1.head);
    if (&a.run, a.size) == (&b.run, b.size) {
        return Ok(());
    }
    let run = |head: &super::read::Head| {
        let id: String = head.run.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("run {id} of {} processes", head.size)
    };
    Err(MergeError::OtherRun {
        first: first.0.name.clone(),
        second: second.0.name.clone(),
        rank: b.rank,
        first_run: run(a),
        second_run: run(b),
    })
}
