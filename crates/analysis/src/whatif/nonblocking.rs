//! Makes blocking calls nonblocking: they start earlier and are waited for at their old place, or start at their old
//! place and are waited for later.

use super::edit::Editor;
use super::error::WhatIfError;
use std::collections::{BTreeSet, HashMap};
use straggler_model::Time;
use straggler_trace::operations::Operations;
use straggler_trace::{
    Call, Class, CommId, Completed, Details, Function, RankTrace, RequestId, Start, Trace,
};

/// Which calls, and when they start or complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overlap {
    /// A blocking function that has a nonblocking counterpart.
    pub function: Function,
    pub when: When,
}

/// When a receive or a collective starts or completes; a send always completes later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// It starts this much earlier, as far as the computation before it allows. None: as early as that allows.
    Earlier(Option<Time>),
    /// It is completed before the next call of another function, after the computation in between.
    CompletedLater,
}

impl Overlap {
    pub fn text(&self) -> String {
        let name = self.function.name();
        match (is_send(self.function), self.when) {
            (true, _) => format!("{name} nonblocking"),
            (false, When::Earlier(None)) => format!("{name} started as early as possible"),
            (false, When::Earlier(Some(earlier))) => format!("{name} begun {earlier} earlier"),
            (false, When::CompletedLater) => format!("{name} completed after the computation that follows"),
        }
    }
}

/// The nonblocking counterpart of a function, if there is one.
pub fn twin(function: Function) -> Option<Function> {
    let name = function.name().strip_prefix("MPI_")?;
    let is_blocking = matches!(
        function.class(),
        Class::Send(_, Start::Blocking)
            | Class::Recv(Start::Blocking)
            | Class::Collective(_, Start::Blocking)
    );
    let mut letters = name.chars();
    let twin = format!("MPI_I{}{}", letters.next()?.to_lowercase(), letters.as_str());
    Function::ALL.iter().copied().find(|other| is_blocking && other.name() == twin)
}

/// Whether a function sends: such calls start at their old place.
pub fn is_send(function: Function) -> bool {
    matches!(function.class(), Class::Send(..))
}

/// The trace with these calls made nonblocking.
pub fn apply(trace: &Trace, overlap: &Overlap) -> Result<Trace, WhatIfError> {
    let called = |rank: &RankTrace| rank.calls.iter().any(|call| call.function == overlap.function);
    let twin = twin(overlap.function);
    if !trace.ranks.iter().any(called) || twin.is_none() {
        let functions = trace.ranks.iter().flat_map(|rank| &rank.calls).map(|call| call.function);
        let known: BTreeSet<&str> =
            functions.filter(|&function| self::twin(function).is_some()).map(Function::name).collect();
        return Err(WhatIfError::NoCall {
            asked: overlap.function.name().to_owned(),
            known: known.into_iter().map(str::to_owned).collect(),
        });
    }
    let twin = twin.unwrap_or(overlap.function);
    let ranks = trace.ranks.iter().map(|rank| overlapped(rank, overlap, twin)).collect();
    Ok(trace.with_ranks(ranks))
}

/// New requests, numbered after those of the program.
struct Made {
    next: RequestId,
    /// Sends not waited for yet, by thread, communicator and destination.
    open: HashMap<(u16, CommId, i32), RequestId>,
    /// Receives and collectives of each thread that are completed later, with whom a wildcard matched.
    later: HashMap<u16, Vec<Completed>>,
}

fn overlapped(traced: &RankTrace, overlap: &Overlap, twin: Function) -> RankTrace {
    let operations = Operations::new(traced);
    let used = operations.rows().iter().filter(|row| row.has_request()).map(|row| row.request);
    let named = traced.details.iter().flat_map(|details| details.requests.iter().copied());
    let next = used.chain(named).max().map_or(RequestId(0), |last| RequestId(last.0.saturating_add(1)));
    let mut made = Made { next, open: HashMap::new(), later: HashMap::new() };
    let mut editor = Editor::new(traced);
    for call in &traced.calls {
        editor.compute_up_to(call);
        let details = traced.details(call).cloned();
        let failed = details.as_ref().is_some_and(|details| details.error.is_some());
        if call.function != overlap.function && call.function.class() != Class::Mark {
            complete(&mut editor, call, made.later.remove(&call.thread).unwrap_or_default());
        }
        if call.function.class() == Class::Finalize {
            let open: Vec<RequestId> = made.open.drain().map(|(_, request)| request).collect();
            wait_for(&mut editor, call, open);
        }
        if call.function != overlap.function || failed || call.peer == straggler_trace::call::special::NOBODY
        {
            editor.push(call, details);
        } else if is_send(call.function) {
            let before = made.open.insert((call.thread, call.comm, call.peer), made.next);
            wait_for(&mut editor, call, before.into_iter().collect());
            editor.push(&begun(call, twin, made.next), details);
            made.next = made.next.wrapping_add(1);
        } else {
            let request = made.next;
            made.next = request.wrapping_add(1);
            match overlap.when {
                When::Earlier(earlier) => begin_earlier(&mut editor, call, details, earlier, twin, request),
                When::CompletedLater => {
                    let matched = details.as_ref().and_then(|details| details.matched);
                    let completed = Completed { request, matched, cancelled: false };
                    made.later.entry(call.thread).or_default().push(completed);
                    editor.push(&begun(call, twin, request), details);
                }
            }
        }
    }
    editor.finish()
}

/// The call that starts the operation; it takes no time itself.
fn begun(call: &Call, twin: Function, request: RequestId) -> Call {
    Call { function: twin, request, exit: call.enter, ..*call }
}

fn wait_for(editor: &mut Editor, at: &Call, mut requests: Vec<RequestId>) {
    if requests.is_empty() {
        return;
    }
    requests.sort_unstable();
    let wait = Call { thread: at.thread, ..Call::new(Function::Waitall, at.enter, at.enter) };
    editor.push(&wait, Some(Details { requests: requests.into(), found: true, ..Details::default() }));
}

/// Waits for what is completed later, before a call.
fn complete(editor: &mut Editor, at: &Call, later: Vec<Completed>) {
    if later.is_empty() {
        return;
    }
    let requests: Vec<RequestId> = later.iter().map(|one| one.request).collect();
    let told: Vec<Completed> = later.into_iter().filter(|one| one.matched.is_some()).collect();
    let details =
        Details { requests: requests.into(), completed: told.into(), found: true, ..Details::default() };
    let wait = Call { thread: at.thread, ..Call::new(Function::Waitall, at.enter, at.enter) };
    editor.push(&wait, Some(details));
}

fn begin_earlier(
    editor: &mut Editor,
    call: &Call,
    details: Option<Details>,
    earlier: Option<Time>,
    twin: Function,
    request: RequestId,
) {
    let computed = editor.computed(call.thread);
    let after = earlier.map_or(Time::ZERO, |earlier| computed.since(earlier));
    let matched = details.as_ref().and_then(|details| details.matched);
    editor.push_after(after, &begun(call, twin, request), details);
    let wait = Call { thread: call.thread, ..Call::new(Function::Wait, call.enter, call.exit) };
    let completed = matched.map(|matched| Completed { request, matched: Some(matched), cancelled: false });
    let completed = completed.into_iter().collect();
    let details = Details { requests: [request][..].into(), completed, found: true, ..Details::default() };
    editor.push(&wait, Some(details));
}
