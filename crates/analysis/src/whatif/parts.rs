//! Merges messages, or splits them into parts.
//!
//! A merged message is sent where the last of its messages was, and received where the first was, because the program
//! may use its contents from there on. If a later message depends on an earlier one, the program hangs, as it would
//! in reality.

use super::edit::Editor;
use super::error::WhatIfError;
use super::messages::{Filter, nothing, row_of};
use std::collections::{HashMap, HashSet};
use straggler_trace::messages::{Message, Messages};
use straggler_trace::operations::{Acted, Kind, Operations};
use straggler_trace::{Call, Class, Completed, Details, Function, HowMany, RankTrace, RequestId, Trace};

/// What happens to the operations of a rank, by row.
#[derive(Default)]
struct Fates {
    gone: HashSet<u32>,
    /// New sizes of sends and receives.
    bytes: HashMap<u32, u64>,
    /// Messages that are split.
    parts: HashSet<u32>,
}

/// Both ends of a message: rank and row of its send and of its receive.
type Pair = ((usize, u32), (usize, u32));

/// The messages that match a filter, in the order of sending on each route.
fn chosen(
    trace: &Trace,
    operations: &[Operations<'_>],
    filter: &Filter,
) -> Result<Vec<(Message, Pair)>, WhatIfError> {
    let messages = Messages::of_operations(trace, operations);
    let mut taken: HashSet<(usize, u32)> = HashSet::new();
    let (mut found, mut fixed) = (Vec::new(), 0);
    for message in messages.matched.iter().filter(|message| filter.fits(message)) {
        let (from, to) = (message.sent.place.rank as usize, message.sent.to as usize);
        let row = row_of(message, &operations[from], |row| taken.contains(&(from, row)));
        let (Some(sent), Some(received)) = (row, message.received().operation()) else { continue };
        // Halves of an exchange cannot be separated, probes have seen the original message, and persistent requests
        // have a fixed message.
        let whole = |rank: usize, row: u32| {
            let row = operations[rank].get(row);
            row.is_some_and(|row| {
                row.kind != Kind::Exchange && row.probe().is_none() && row.described == row.begun
            })
        };
        if whole(from, sent) && whole(to, received) {
            taken.insert((from, sent));
            found.push((*message, ((from, sent), (to, received))));
        } else {
            fixed += 1;
        }
    }
    match (found.is_empty(), fixed) {
        (true, 0) => Err(nothing(filter, &messages)),
        (true, count) => Err(WhatIfError::FixedMessages { asked: filter.to_string(), count }),
        (false, _) => Ok(found),
    }
}

/// Merges every `count` messages of a route into one. Also returns the largest number actually merged.
pub fn merge(trace: &Trace, filter: &Filter, count: u32) -> Result<(Trace, u32), WhatIfError> {
    let operations = Operations::of_trace(trace);
    let mut fates: Vec<Fates> = trace.ranks.iter().map(|_| Fates::default()).collect();
    let chosen = chosen(trace, &operations, filter)?;
    let mut most = 0;
    let route =
        |message: &Message| (message.sent.place.rank, message.sent.to, message.sent.comm, message.sent.tag);
    for of_route in chosen.chunk_by(|(one, _), (other, _)| route(one) == route(other)) {
        for together in of_route.chunks(count as usize) {
            most = most.max(together.len() as u32);
            let bytes = together.iter().map(|(message, _)| message.sent.bytes).sum();
            for (place, (_, ((from, sent), (to, received)))) in together.iter().enumerate() {
                if place + 1 == together.len() {
                    fates[*from].bytes.insert(*sent, bytes);
                } else {
                    fates[*from].gone.insert(*sent);
                }
                if place == 0 {
                    fates[*to].bytes.insert(*received, bytes);
                } else {
                    fates[*to].gone.insert(*received);
                }
            }
        }
    }
    Ok((rewritten(trace, &operations, &fates, 1).0, most))
}

/// Splits each message into `count`. Also returns how many calls choose among such messages: they choose as in the
/// trace.
pub fn split(trace: &Trace, filter: &Filter, count: u32) -> Result<(Trace, u64), WhatIfError> {
    let operations = Operations::of_trace(trace);
    let mut fates: Vec<Fates> = trace.ranks.iter().map(|_| Fates::default()).collect();
    for (message, ((from, sent), (to, received))) in chosen(trace, &operations, filter)? {
        for (rank, row) in [(from, sent), (to, received)] {
            fates[rank].parts.insert(row);
            fates[rank].bytes.insert(row, message.sent.bytes.div_ceil(u64::from(count)));
        }
    }
    Ok(rewritten(trace, &operations, &fates, count))
}

fn rewritten(trace: &Trace, operations: &[Operations<'_>], fates: &[Fates], count: u32) -> (Trace, u64) {
    let mut bound = 0;
    let ranks = operations.iter().zip(fates).map(|(operations, fates)| {
        let mut writer = Writer::new(operations, fates, count);
        operations.walk().for_each(|acted| writer.write(&acted));
        bound += writer.bound;
        writer.editor.finish()
    });
    (trace.with_ranks(ranks.collect()), bound)
}

struct Writer<'a, 'o> {
    traced: &'a RankTrace,
    fates: &'o Fates,
    count: u32,
    editor: Editor,
    next: RequestId,
    gone: HashSet<RequestId>,
    /// The additional requests of a split message.
    more: HashMap<RequestId, Vec<RequestId>>,
    /// Calls that choose among split messages.
    bound: u64,
}

impl<'a, 'o> Writer<'a, 'o> {
    fn new(operations: &Operations<'a>, fates: &'o Fates, count: u32) -> Writer<'a, 'o> {
        let traced = operations.traced();
        let rows = || (0u32..).zip(operations.rows()).filter(|(_, row)| row.has_request());
        let used = rows().map(|(_, row)| row.request);
        let named = traced.details.iter().flat_map(|details| details.requests.iter().copied());
        Writer {
            traced,
            fates,
            count,
            editor: Editor::new(traced),
            next: used.chain(named).max().map_or(RequestId(0), |last| RequestId(last.0.saturating_add(1))),
            gone: rows().filter(|(row, _)| fates.gone.contains(row)).map(|(_, row)| row.request).collect(),
            more: HashMap::new(),
            bound: 0,
        }
    }

    fn write(&mut self, acted: &Acted<'_, 'a>) {
        self.editor.compute_up_to(acted.call);
        let details = self.traced.details(acted.call).cloned();
        match acted.call.function.class() {
            Class::Wait(how) | Class::Test(how) => {
                self.write_wait(acted.call, details.unwrap_or_default(), how)
            }
            _ => self.write_begun(acted, details),
        }
    }

    /// Writes a call that begins a message. Calls that begin none or several stay as they are.
    fn write_begun(&mut self, acted: &Acted<'_, 'a>, details: Option<Details>) {
        let Fates { gone, bytes, parts } = self.fates;
        let mut rows = acted.rows();
        let (Some((row, operation)), None) = (rows.next(), rows.next()) else {
            return self.editor.push(acted.call, details);
        };
        if gone.contains(&row) {
            return;
        }
        let mut call = *acted.call;
        if let Some(&bytes) = bytes.get(&row) {
            if operation.sends() {
                call.sent = bytes;
            } else {
                call.received = bytes;
            }
        }
        self.editor.push(&call, details.clone());
        for _ in 1..if parts.contains(&row) { self.count } else { 1 } {
            let further = Call { enter: call.exit, ..call };
            if operation.has_request() {
                self.more.entry(operation.request).or_default().push(self.next);
                self.editor.push(&Call { request: self.next, ..further }, details.clone());
                self.next = self.next.wrapping_add(1);
            } else {
                self.editor.push(&further, details.clone());
            }
        }
    }

    fn write_wait(&mut self, call: &Call, mut details: Details, how: HowMany) {
        let (named, told) = (details.requests.len(), details.completed.len());
        details.requests.retain(|request| !self.gone.contains(request));
        details.completed.retain(|completed| !self.gone.contains(&completed.request));
        let chooses = matches!(how, HowMany::Any | HowMany::Some);
        // There is nothing left to wait for, or everything that the call completed is gone.
        let idle = details.requests.is_empty() && details.completed.is_empty();
        if named + told > 0 && (idle || chooses && told > 0 && details.completed.is_empty()) {
            return;
        }
        let is_wait = matches!(call.function.class(), Class::Wait(_));
        let in_parts = details.requests.iter().any(|request| self.more.contains_key(request));
        if !in_parts || !(is_wait || details.found) {
            return self.editor.push(call, Some(details));
        }
        if chooses {
            self.bound += 1;
            details.requests = details.completed.iter().map(|completed| completed.request).collect();
            details.completed.retain(|completed| completed.matched.is_some() || completed.cancelled);
        }
        self.add_parts(&mut details);
        let function = if is_wait { Function::Waitall } else { Function::Testall };
        self.editor.push(&Call { function, ..*call }, Some(details));
    }

    /// If a message has completed, all of its parts have.
    fn add_parts(&self, details: &mut Details) {
        let more = |request: &RequestId| self.more.get(request).into_iter().flatten().copied();
        let parts: Vec<RequestId> = details.requests.iter().flat_map(more).collect();
        details.requests.extend(parts);
        let told: Vec<Completed> = details
            .completed
            .iter()
            .flat_map(|whole| more(&whole.request).map(|request| Completed { request, ..*whole }))
            .collect();
        details.completed.extend(told);
    }
}
