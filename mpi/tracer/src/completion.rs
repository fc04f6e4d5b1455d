//! Waiting for requests and testing them.
//!
//! The call overwrites completed requests, so their handles are copied before. If a receive is
//! among them and the program ignores the status, the call gets one of ours, which tells how long
//! the message was and who sent it.

use crate::abi::{Handle, abi};
use crate::clock;
use crate::language::{Kind, Language as _};
use crate::note::{arrived, good, recorded};
use crate::process::{self, Process};
use crate::requests::{Open, Slot};
use crate::site::{Length, Site, Status, Wanted, Words};
use crate::thread::{Guard, Scratch, Seen};
use libc::c_int;
use smallvec::SmallVec;
use straggler_trace::Function;
use straggler_trace::call::Matched;

/// One request of a call's list.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// Its index in the program's list. Our list leaves out null and inactive requests.
    place: usize,
    handle: Handle,
    kept: Slot,
    open: Open,
    /// Its index in the record's list, which leaves out operations begun while recording was
    /// paused; or [`UNLISTED`].
    listed: u32,
}

const UNLISTED: u32 = u32::MAX;

/// The positions of a function's arguments.
struct Places {
    requests: usize,
    /// Number of requests.
    length: Length,
    /// What tells which requests have completed.
    answer: Completes,
    /// One status, or one per request.
    status: usize,
    statuses: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Completes {
    /// All of them.
    All,
    /// All of them, if the flag is set.
    AllIf(usize),
    /// The one at the index.
    One(usize),
    /// The one at the index, if the flag is set.
    OneIf { index: usize, flag: usize },
    /// A number of them, which are listed.
    Some { count: usize, indices: usize },
}

/// (request, status)
pub fn wait<W: Words>(site: Site<W>) -> c_int {
    complete(
        site,
        &Places { requests: 0, length: Length::One, answer: Completes::All, status: 1, statuses: false },
    )
}

/// (count, requests, statuses)
pub fn waitall<W: Words>(site: Site<W>) -> c_int {
    complete(
        site,
        &Places {
            requests: 1,
            length: Length::Argument(0),
            answer: Completes::All,
            status: 2,
            statuses: true,
        },
    )
}

/// (count, requests, index, status)
pub fn waitany<W: Words>(site: Site<W>) -> c_int {
    complete(
        site,
        &Places {
            requests: 1,
            length: Length::Argument(0),
            answer: Completes::One(2),
            status: 3,
            statuses: false,
        },
    )
}

/// (count, requests, number, indices, statuses)
pub fn waitsome<W: Words>(site: Site<W>) -> c_int {
    let answer = Completes::Some { count: 2, indices: 3 };
    complete(site, &Places { requests: 1, length: Length::Argument(0), answer, status: 4, statuses: true })
}

/// (request, flag, status)
pub fn test<W: Words>(site: Site<W>) -> c_int {
    complete(
        site,
        &Places { requests: 0, length: Length::One, answer: Completes::AllIf(1), status: 2, statuses: false },
    )
}

/// (count, requests, flag, statuses)
pub fn testall<W: Words>(site: Site<W>) -> c_int {
    complete(
        site,
        &Places {
            requests: 1,
            length: Length::Argument(0),
            answer: Completes::AllIf(2),
            status: 3,
            statuses: true,
        },
    )
}

/// (count, requests, index, flag, status)
pub fn testany<W: Words>(site: Site<W>) -> c_int {
    let answer = Completes::OneIf { index: 2, flag: 3 };
    complete(site, &Places { requests: 1, length: Length::Argument(0), answer, status: 4, statuses: false })
}

/// (count, requests, number, indices, statuses)
pub fn testsome<W: Words>(site: Site<W>) -> c_int {
    waitsome(site)
}

fn complete<W: Words>(mut site: Site<W>, places: &Places) -> c_int {
    let Some(mut guard) = recorded() else { return site.invoke() };
    // Taken out of the scratch for as long as the call holds their addresses.
    let mut given = std::mem::take(&mut guard.scratch().given);
    let mut room = std::mem::take(&mut guard.scratch().statuses);
    list(&site, places, &mut given);
    let code = site.with_statuses(places.status, wanted(places, &given, &mut room), |site| {
        let enter = clock::ticks();
        let code = site.invoke();
        let mut seen = site.seen(enter, clock::ticks(), code);
        let listed = given.iter().filter(|given| given.open.recorded);
        guard.scratch().requests.extend(listed.map(|given| given.open.number));
        finish(site, places, &mut guard, &mut seen, &given);
        code
    });
    given.clear();
    let scratch = guard.scratch();
    (scratch.given, scratch.statuses) = (given, room);
    code
}

/// Which statuses the record needs: those of receives and of requests that may have been cancelled.
fn wanted<'a>(places: &Places, given: &[Given], room: &'a mut Vec<u64>) -> Wanted<'a> {
    if !given.iter().any(|given| given.open.receives() || given.open.cancelled) {
        Wanted::None
    } else if places.statuses {
        Wanted::List { length: places.length, room }
    } else {
        Wanted::One
    }
}

/// Collects the open requests passed to a call.
fn list<W: Words>(site: &Site<W>, places: &Places, given: &mut Vec<Given>) {
    let null = abi().request_null;
    let handles = site.handles(Kind::Request, places.requests, places.length);
    let Some(first) = handles.first_but(null) else { return };
    let mut next = 0;
    process::with(|process| {
        for (place, handle) in handles.from(first).filter(|&(_, handle)| handle != null) {
            // Equal handles in one list stand for different requests: each is taken once.
            match process.requests.take(handle) {
                Some((kept, open)) if open.persistent.is_none() || open.active => {
                    let listed = if open.recorded { next } else { UNLISTED };
                    next += u32::from(open.recorded);
                    given.push(Given { place, handle, kept, open, listed });
                }
                Some(_) => {}
                None => unknown_request(process, site.function()),
            }
        }
    });
}

#[cold]
fn unknown_request(process: &mut Process, function: Function) {
    *process.unknown.entry(format!("request of unknown origin in {function}")).or_default() += 1;
}

/// A request that the call completed, with its status.
#[derive(Clone, Copy)]
struct Done<'a> {
    /// The index in our list.
    place: usize,
    status: Status<'a>,
}

fn finish<W: Words>(site: &Site<W>, places: &Places, guard: &mut Guard, seen: &mut Seen, given: &[Given]) {
    let testing = matches!(places.answer, Completes::AllIf(_) | Completes::OneIf { .. })
        || matches!(seen.function, Function::Testsome);
    if good(seen) && finish_plain(site, places, guard, seen, given, testing) {
        return;
    }
    if !good(seen) {
        tell_gone(site, places, guard.scratch(), seen, given);
        give_back(given, |place| is_gone(site, places, &given[place]));
        return guard.record(seen);
    }
    let Some(done) = completed(site, places, given) else {
        give_back(given, |_| false);
        return if testing { guard.poll(seen) } else { guard.record(seen) };
    };
    let all = matches!(places.answer, Completes::All | Completes::AllIf(_));
    let told: SmallVec<[(u32, Option<Matched>, bool); 8]> = done
        .iter()
        .filter_map(|done| {
            let Given { open, listed, .. } = given.get(done.place).filter(|given| given.open.recorded)?;
            let who = open.wildcard.then(|| done.status.matched());
            let cancelled = open.cancelled && done.status.was_cancelled();
            (!all || who.is_some() || cancelled).then_some((*listed, who, cancelled))
        })
        .collect();
    // If the completed request is not in the record's list, none of the listed ones was chosen.
    if !all && told.is_empty() {
        guard.scratch().requests.clear();
    }
    if !told.is_empty() {
        guard.scratch().attributes.completed(told.into_iter());
    }
    tell_lengths(guard.scratch(), given, done.iter().copied());
    if testing {
        guard.scratch().attributes.found();
    }
    let mut is_done: SmallVec<[bool; 64]> = SmallVec::from_elem(false, given.len());
    for done in &done {
        if let Some(is_done) = is_done.get_mut(done.place) {
            *is_done = true;
        }
    }
    give_back(given, |place| is_done[place]);
    guard.record(seen);
}

/// A call that failed may still have completed requests, for example one whose message was longer than its buffer.
#[cold]
fn tell_gone<W: Words>(site: &Site<W>, places: &Places, scratch: &mut Scratch, seen: &Seen, given: &[Given]) {
    let all = matches!(places.answer, Completes::All | Completes::AllIf(_));
    let gone = given.iter().filter(|given| given.open.recorded && is_gone(site, places, given));
    let told: SmallVec<[(u32, Option<Matched>, bool); 8]> = gone
        .map(|given| {
            let has_status = given.open.wildcard && !places.statuses && arrived(seen);
            (given.listed, has_status.then(|| site.status(places.status, 0).matched()), false)
        })
        .collect();
    if !told.is_empty() && !matches!(places.answer, Completes::All | Completes::One(_)) {
        scratch.attributes.found();
    }
    let told = told.into_iter().filter(|(_, who, _)| !all || who.is_some());
    let told: SmallVec<[_; 8]> = told.collect();
    if !told.is_empty() {
        scratch.attributes.completed(told.into_iter());
    }
}

/// Records which messages were shorter than their buffers.
fn tell_lengths<'a>(scratch: &mut Scratch, given: &[Given], done: impl Iterator<Item = Done<'a>>) {
    let shorter: SmallVec<[(u32, u64); 8]> = done
        .filter_map(|done| {
            let given = given.get(done.place).filter(|given| given.open.recorded && given.open.receives())?;
            let bytes = done.status.bytes()?;
            (bytes < given.open.room).then_some((given.listed, bytes))
        })
        .collect();
    if !shorter.is_empty() {
        scratch.attributes.lengths(shorter.into_iter());
    }
}

/// Handles the usual case: all or none completed, and no status matters. Returns whether it applied.
fn finish_plain<W: Words>(
    site: &Site<W>,
    places: &Places,
    guard: &mut Guard,
    seen: &Seen,
    given: &[Given],
    testing: bool,
) -> bool {
    let done = match places.answer {
        Completes::All => true,
        Completes::AllIf(flag) => site.int_behind(flag) != 0,
        // No request was open, so there is nothing to tell apart.
        Completes::Some { count, .. } if given.is_empty() => site.int_behind(count) != 0,
        Completes::OneIf { flag, .. } if given.is_empty() => site.int_behind(flag) != 0,
        _ => return false,
    };
    // A test without open requests is another poll of a loop that waits for something else.
    if testing && (!done || given.is_empty()) {
        give_back(given, |_| false);
        guard.poll(seen);
        return true;
    }
    if given.iter().any(|given| given.open.wildcard || given.open.cancelled) {
        return false;
    }
    if testing {
        guard.scratch().attributes.found();
    }
    tell_lengths(guard.scratch(), given, everything(site, places, given));
    give_back(given, |_| true);
    guard.record(seen);
    true
}

/// All requests of a call that completed them.
fn everything<'a, W: Words>(
    site: &'a Site<W>,
    places: &Places,
    given: &[Given],
) -> impl Iterator<Item = Done<'a>> {
    let (status, statuses) = (places.status, places.statuses);
    given.iter().enumerate().map(move |(place, given)| Done {
        place,
        status: site.status(status, if statuses { given.place } else { 0 }),
    })
}

/// The requests that completed; `None` if none did.
fn completed<'a, W: Words>(
    site: &'a Site<W>,
    places: &Places,
    given: &[Given],
) -> Option<SmallVec<[Done<'a>; 8]>> {
    let status = |index: usize| site.status(places.status, if places.statuses { index } else { 0 });
    let everything = || everything(site, places, given).collect();
    let find = |index: i32| {
        let index = usize::try_from(W::Language::index(index)).ok()?;
        given.binary_search_by_key(&index, |given| given.place).ok()
    };
    let one = |index: i32| find(index).map(|place| Done { place, status: status(0) }).into_iter().collect();
    match places.answer {
        Completes::All => Some(everything()),
        Completes::AllIf(flag) => (site.int_behind(flag) != 0).then(everything),
        Completes::One(index) => Some(one(site.int_behind(index))),
        Completes::OneIf { index, flag } => (site.int_behind(flag) != 0).then(|| one(site.int_behind(index))),
        Completes::Some { count, indices } => (site.int_behind(count) != 0).then(|| {
            let listed = site.ints_behind(indices, count).enumerate();
            listed
                .filter_map(|(nth, index)| Some(Done { place: find(index)?, status: status(nth) }))
                .collect()
        }),
    }
}

/// Whether a call that failed still completed a request: it is then null.
fn is_gone<W: Words>(site: &Site<W>, places: &Places, given: &Given) -> bool {
    let handles = site.handles(Kind::Request, places.requests, places.length);
    handles.get(given.place) == Some(abi().request_null)
}

/// Ends the use of requests by a call: completed ones are forgotten, or become inactive if they are
/// persistent; the others are open again.
fn give_back(given: &[Given], is_done: impl Fn(usize) -> bool) {
    if given.is_empty() {
        return;
    }
    process::with(|process| {
        for (place, one) in given.iter().enumerate() {
            let (kept, number) = (one.kept, one.open.number);
            match (is_done(place), one.open.persistent) {
                (true, None) => process.requests.remove(kept, one.handle, number),
                (done, _) => process.requests.give_back(kept, number, !done),
            }
        }
    });
}
