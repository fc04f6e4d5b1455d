//! Checks by counting that every message is received and every receive gets a message.
//!
//! Without wildcards, the counts per (source, destination, tag) decide. A wildcard could take
//! messages of several of these, so only what exceeds all wildcards together is certain.

use std::collections::HashMap;

use straggler_model::{Rank, Tag, parallel};

use super::finding::{Finding, SizeMismatch};
use crate::graph::ANY;
use crate::{Graph, OperationKind};

/// A send or a receive, as seen by the destination.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Half {
    source: Rank,
    tag: Tag,
    operation: u32,
    bytes: u64,
}

impl Half {
    fn key(&self) -> (Rank, Tag) {
        (self.source, self.tag)
    }
}

pub(super) fn unmatched(graph: &Graph) -> Vec<Finding> {
    let (mut sends, starts) = sends_by_destination(graph);
    let mut slices = Vec::with_capacity(graph.processes() as usize);
    let mut rest = &mut sends[..];
    for pair in starts.windows(2) {
        let (of_rank, others) = rest.split_at_mut(pair[1] - pair[0]);
        slices.push(of_rank);
        rest = others;
    }
    let found = parallel::map_owned(slices, |rank, sends| at_destination(graph, rank as Rank, sends));
    found.into_iter().flatten().collect()
}

/// All sends, grouped by destination, and where each group begins. Sends to ranks that do not exist are ignored.
fn sends_by_destination(graph: &Graph) -> (Vec<Half>, Vec<usize>) {
    let processes = graph.processes();
    let halves = |source: Rank| {
        let operations = (0..).zip(graph.rank(source).operations());
        let sends = operations.filter(move |(_, op)| op.kind == OperationKind::Send && op.peer < processes);
        sends.map(move |(operation, op)| {
            (op.peer as usize, Half { source, tag: op.tag, operation, bytes: op.amount })
        })
    };
    let mut starts = vec![0; processes as usize + 1];
    for (destination, _) in (0..processes).flat_map(halves) {
        starts[destination + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut sends = vec![Half::default(); starts[processes as usize]];
    for (destination, half) in (0..processes).flat_map(halves) {
        sends[next[destination]] = half;
        next[destination] += 1;
    }
    (sends, starts)
}

fn at_destination(graph: &Graph, rank: Rank, sends: &mut [Half]) -> Vec<Finding> {
    let mut receives: Vec<Half> = (0..)
        .zip(graph.rank(rank).operations())
        .filter(|(_, op)| op.kind == OperationKind::Recv)
        .map(|(operation, op)| Half { source: op.peer, tag: op.tag, operation, bytes: op.amount })
        .collect();
    sends.sort_unstable();
    receives.sort_unstable();
    let mut wildcards = Wildcards::default();
    receives.iter().for_each(|receive| wildcards.count(receive));
    let mut findings = Vec::new();
    for (sends, receives) in groups(sends, &receives) {
        wildcards.sent(sends);
        compare(rank, sends, receives, &wildcards, &mut findings);
    }
    wildcards.unmatched(rank, &receives, &mut findings);
    if findings.is_empty() && wildcards.all > 0 && sends.len() != receives.len() {
        let (messages, receives) = (sends.len() as u64, receives.len() as u64);
        findings.push(Finding::Unbalanced { rank, messages, receives });
    }
    findings
}

/// Pairs the sends and exact receives that have the same source and tag.
fn groups<'a>(
    mut sends: &'a [Half],
    mut receives: &'a [Half],
) -> impl Iterator<Item = (&'a [Half], &'a [Half])> {
    std::iter::from_fn(move || {
        receives = skip_wildcards(receives);
        let key = [sends.first(), receives.first()].into_iter().flatten().map(Half::key).min()?;
        Some((take_group(&mut sends, key), take_group(&mut receives, key)))
    })
}

fn skip_wildcards(receives: &[Half]) -> &[Half] {
    let definite = receives.iter().position(|receive| receive.source != ANY && receive.tag != ANY);
    &receives[definite.unwrap_or(receives.len())..]
}

fn take_group<'a>(halves: &mut &'a [Half], key: (Rank, Tag)) -> &'a [Half] {
    let length = halves.iter().take_while(|half| half.key() == key).count();
    let (group, rest) = halves.split_at(length);
    *halves = rest;
    group
}

fn compare(
    rank: Rank,
    sends: &[Half],
    receives: &[Half],
    wildcards: &Wildcards,
    findings: &mut Vec<Finding>,
) {
    if let Some(extra) = receives.get(sends.len()) {
        let count = (receives.len() - sends.len()) as u64;
        let (from, tag, first) = (extra.source, extra.tag, extra.operation);
        findings.push(Finding::UnmatchedReceives { rank, from, tag, count, first });
    }
    if let Some(extra) = sends.get(receives.len() + wildcards.that_match(sends)) {
        let count = (sends.len() - receives.len() - wildcards.that_match(sends)) as u64;
        let (from, tag, first) = (extra.source, extra.tag, extra.operation);
        findings.push(Finding::UnmatchedSends { from, to: rank, tag, count, first });
    }
    if wildcards.all == 0 {
        findings.extend(too_small(rank, sends, receives));
    }
}

fn too_small(rank: Rank, sends: &[Half], receives: &[Half]) -> Option<Finding> {
    let mut pairs = sends.iter().zip(receives).filter(|(send, receive)| receive.bytes < send.bytes);
    let (send, recv) = pairs.next()?;
    let first = SizeMismatch {
        send: send.operation,
        recv: recv.operation,
        message_bytes: send.bytes,
        receive_bytes: recv.bytes,
    };
    let count = 1 + pairs.count() as u64;
    Some(Finding::ReceiveTooSmall { from: send.source, rank, tag: send.tag, count, first })
}

/// The wildcard receives of one rank, and the messages that each kind could take.
#[derive(Default)]
struct Wildcards {
    all: usize,
    /// Receives by (source, tag), at least one of which is a wildcard.
    receives: HashMap<(Rank, Tag), usize>,
    /// Messages that match each of these keys.
    messages: HashMap<(Rank, Tag), usize>,
}

/// The wildcard keys that match a message of this source and tag.
fn matching_keys((source, tag): (Rank, Tag)) -> [(Rank, Tag); 3] {
    [(ANY, tag), (source, ANY), (ANY, ANY)]
}

impl Wildcards {
    fn count(&mut self, receive: &Half) {
        if receive.source == ANY || receive.tag == ANY {
            self.all += 1;
            *self.receives.entry(receive.key()).or_default() += 1;
        }
    }

    /// Counts a group of messages with the same source and tag.
    fn sent(&mut self, sends: &[Half]) {
        if self.all == 0 {
            return;
        }
        for key in sends.first().map(|send| matching_keys(send.key())).into_iter().flatten() {
            if self.receives.contains_key(&key) {
                *self.messages.entry(key).or_default() += sends.len();
            }
        }
    }

    /// Number of wildcards that could take one of these messages, which have the same source and tag.
    fn that_match(&self, sends: &[Half]) -> usize {
        match sends.first() {
            Some(send) if self.all > 0 => {
                matching_keys(send.key()).iter().filter_map(|key| self.receives.get(key)).sum()
            }
            _ => 0,
        }
    }

    /// Reports wildcards that outnumber all messages they match.
    fn unmatched(&self, rank: Rank, receives: &[Half], findings: &mut Vec<Finding>) {
        if self.all == 0 {
            return;
        }
        for group in receives.chunk_by(|a, b| a.key() == b.key()) {
            let key = group[0].key();
            if !self.receives.contains_key(&key) {
                continue;
            }
            let messages = self.messages.get(&key).copied().unwrap_or(0);
            if let Some(extra) = group.get(messages) {
                let (from, tag, first) = (key.0, key.1, extra.operation);
                let count = (group.len() - messages) as u64;
                findings.push(Finding::UnmatchedReceives { rank, from, tag, count, first });
            }
        }
    }
}
