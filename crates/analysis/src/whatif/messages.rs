//! Removes messages from a run.

use super::edit::Editor;
use super::error::WhatIfError;
use super::regions::Ranks;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use straggler_trace::messages::{Message, Messages};
use straggler_trace::operations::{Acted, Given, Kind, Operations};
use straggler_trace::{Call, Class, CommId, Details, Function, RankTrace, RequestId, Start, Trace};

/// Selects messages between two ranks; a criterion that is not given matches everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    pub from: Option<Ranks>,
    pub to: Option<Ranks>,
    pub tag: Option<i32>,
    pub communicator: Option<CommId>,
    /// The smallest and the largest size.
    pub bytes: Option<(u64, u64)>,
}

impl Filter {
    pub(super) fn fits(&self, message: &Message) -> bool {
        let (sent, received) = (&message.sent, message.received());
        self.from.as_ref().is_none_or(|ranks| ranks.contains(&sent.place.rank))
            && self.to.as_ref().is_none_or(|ranks| ranks.contains(&received.place.rank))
            && self.tag.is_none_or(|tag| tag == sent.tag)
            && self.communicator.is_none_or(|comm| comm == sent.comm)
            && self.bytes.is_none_or(|(least, most)| (least..=most).contains(&sent.bytes))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks = |ranks: &Ranks| ranks.iter().map(u32::to_string).collect::<Vec<_>>().join("+");
        let parts = [
            self.from.as_ref().map(|from| format!("from={}", ranks(from))),
            self.to.as_ref().map(|to| format!("to={}", ranks(to))),
            self.tag.map(|tag| format!("tag={tag}")),
            self.communicator.map(|comm| format!("comm={comm}")),
            self.bytes.map(|(least, most)| format!("bytes={least}-{most}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(&if parts.is_empty() { "all".into() } else { parts.join(",") })
    }
}

/// Operations that a rank no longer performs, as rows of its operations.
#[derive(Default)]
struct Gone {
    sends: HashSet<u32>,
    receives: HashSet<u32>,
}

impl Gone {
    fn has(&self, row: u32) -> bool {
        self.sends.contains(&row) || self.receives.contains(&row)
    }
}

/// Removes the messages that match a filter.
pub fn remove(trace: &Trace, filter: &Filter) -> Result<Trace, WhatIfError> {
    let operations = Operations::of_trace(trace);
    let messages = Messages::of_operations(trace, &operations);
    let chosen: Vec<&Message> = messages.matched.iter().filter(|message| filter.fits(message)).collect();
    if chosen.is_empty() {
        return Err(nothing(filter, &messages));
    }
    let mut gone: Vec<Gone> = trace.ranks.iter().map(|_| Gone::default()).collect();
    for message in chosen {
        let (from, to) = (message.sent.place.rank as usize, message.sent.to as usize);
        if let (Some(row), Some(received)) = (
            row_of(message, &operations[from], |row| gone[from].sends.contains(&row)),
            message.received().operation(),
        ) {
            gone[from].sends.insert(row);
            gone[to].receives.insert(received);
        }
    }
    let ranks = operations.iter().zip(&gone).map(|(operations, gone)| without(operations, gone)).collect();
    Ok(trace.with_ranks(ranks))
}

pub(super) fn nothing(filter: &Filter, messages: &Messages) -> WhatIfError {
    let sent = || messages.matched.iter().map(|message| &message.sent);
    let tags: BTreeSet<i32> = sent().map(|sent| sent.tag).collect();
    let communicators: BTreeSet<CommId> = sent().map(|sent| sent.comm).collect();
    let sizes = sent().map(|sent| sent.bytes).min().zip(sent().map(|sent| sent.bytes).max());
    WhatIfError::NoMessage {
        asked: filter.to_string(),
        tags: tags.into_iter().collect(),
        communicators: communicators.into_iter().collect(),
        sizes,
    }
}

/// The operation that sends a message: the first similar one that its call began and that is not taken.
pub(super) fn row_of(
    message: &Message,
    operations: &Operations<'_>,
    taken: impl Fn(u32) -> bool,
) -> Option<u32> {
    let sent = &message.sent;
    let first = operations.rows().partition_point(|row| row.begun < sent.place.call);
    let begun = operations.rows().iter().enumerate().skip(first);
    let own = begun.take_while(|(_, row)| row.begun == sent.place.call);
    let alike = own.filter(|(_, row)| {
        let call = operations.call(row.described);
        row.sends() && call.is_some_and(|call| call.tag == sent.tag && call.sent == sent.bytes)
    });
    alike.map(|(row, _)| row as u32).find(|&row| !taken(row))
}

/// A rank without some of its sends and receives.
fn without(operations: &Operations<'_>, gone: &Gone) -> RankTrace {
    let traced = operations.traced();
    if gone.sends.is_empty() && gone.receives.is_empty() {
        return traced.clone();
    }
    let requests: HashSet<RequestId> = (0..)
        .zip(operations.rows())
        .filter(|(row, operation)| {
            gone.has(*row) && operation.has_request() && operation.kind != Kind::Exchange
        })
        .map(|(_, operation)| operation.request)
        .collect();
    // Probes for a removed message are removed too.
    let probes: HashSet<u32> = (0..)
        .zip(operations.rows())
        .filter(|(row, _)| gone.receives.contains(row))
        .filter_map(|(_, row)| row.probe())
        .collect();
    let mut editor = Editor::new(traced);
    for acted in operations.walk() {
        editor.compute_up_to(acted.call);
        if probes.contains(&acted.number) {
            continue;
        }
        if let Some((call, details)) = what_is_left(&acted, traced, gone, &requests) {
            editor.push(&call, details);
        }
    }
    editor.finish()
}

/// The rest of a call; none if the call is removed.
fn what_is_left(
    acted: &Acted<'_, '_>,
    traced: &RankTrace,
    gone: &Gone,
    requests: &HashSet<RequestId>,
) -> Option<(Call, Option<Details>)> {
    let details = traced.details(acted.call).cloned();
    let mut rows = acted.rows().map(|(row, _)| (gone.sends.contains(&row), gone.receives.contains(&row)));
    match acted.call.function.class() {
        Class::Sendrecv(start) => match rows.next() {
            Some((true, true)) => None,
            Some((true, false)) => Some(only_receive(acted.call, details, start)),
            Some((false, true)) => Some(only_send(acted.call, start)),
            _ => Some((*acted.call, details)),
        },
        Class::Wait(_) | Class::Test(_) | Class::Begin | Class::Drop => {
            let mut details = details.unwrap_or_default();
            let is_gone = |given: Given| matches!(given, Given::Operation(row) if gone.has(row));
            let (named, told) = (details.requests.len(), details.completed.len());
            let mut given = acted.given().map(is_gone);
            details.requests.retain(|_| !given.next().unwrap_or(false));
            let mut finished = acted.finished().map(is_gone);
            let in_order = !acted.finishes_all();
            details.completed.retain(|completed| {
                let by_place = in_order && finished.next().unwrap_or(false);
                !by_place && !requests.contains(&completed.request)
            });
            // There is nothing left to wait for, or everything that the call completed is gone.
            let empty = named > 0 && details.requests.is_empty()
                || told > 0 && in_order && details.completed.is_empty();
            (!empty).then_some((*acted.call, Some(details)))
        }
        _ => {
            let all_gone = !acted.begun.is_empty() && rows.all(|(send, receive)| send || receive);
            (!all_gone).then_some((*acted.call, details))
        }
    }
}

fn only_receive(call: &Call, details: Option<Details>, start: Start) -> (Call, Option<Details>) {
    let function = if start == Start::Blocking { Function::Recv } else { Function::Irecv };
    let details = details.unwrap_or_default();
    let asked = details.receive.map_or((call.peer, call.tag), |receive| (receive.peer, receive.tag));
    let call = Call { function, peer: asked.0, tag: asked.1, sent: 0, ..*call };
    (call, Some(Details { receive: None, ..details }))
}

fn only_send(call: &Call, start: Start) -> (Call, Option<Details>) {
    let function = if start == Start::Blocking { Function::Send } else { Function::Isend };
    (Call { function, received: 0, ..*call }, None)
}
