//! Waiting for requests and testing them.
//!
//! Completed requests are overwritten by the call, so their handles are copied before. Where a receive was open for any
//! source or tag and the program wants no status, the call gets one of ours.
//!
//! # Safety
//! All functions here run a call of the program, with its arguments.
#![allow(clippy::missing_safety_doc)]

use crate::abi::{Handle, UNDEFINED, abi};
use crate::clock;
use crate::language::{Kind, Language};
use crate::note::{arrived, good, recorded};
use crate::p2p::{OwnStatus, matched};
use crate::process::{self, Process};
use crate::requests::{Open, Place};
use crate::site::{Invoke, Site, pmpi};
use crate::thread::{Guard, Scratch, Seen};
use libc::c_int;
use smallvec::SmallVec;
use straggler_trace::Function;
use straggler_trace::call::Matched;

/// One request of a call's list.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// Its place in the program's list, and in ours, which leaves out null and inactive ones.
    place: usize,
    handle: Handle,
    kept: Place,
    open: Open,
}

/// Where a function has its arguments.
struct Places {
    /// The number of requests; one if it has no such argument.
    count: Option<usize>,
    requests: usize,
    /// What says which have completed.
    answer: Answer,
    /// One status, or as many as there are requests.
    status: usize,
    statuses: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// All, always.
    All,
    /// All, if the flag says so.
    AllIf(usize),
    /// The one at the index.
    One(usize),
    /// The one at the index, if the flag says so.
    OneIf { index: usize, flag: usize },
    /// So many, listed.
    Some { count: usize, indices: usize },
}

/// (request, status)
pub unsafe fn wait<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        complete(site, &Places { count: None, requests: 0, answer: Answer::All, status: 1, statuses: false })
    }
}

/// (count, requests, statuses)
pub unsafe fn waitall<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        complete(
            site,
            &Places { count: Some(0), requests: 1, answer: Answer::All, status: 2, statuses: true },
        )
    }
}

/// (count, requests, index, status)
pub unsafe fn waitany<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        complete(
            site,
            &Places { count: Some(0), requests: 1, answer: Answer::One(2), status: 3, statuses: false },
        )
    }
}

/// (count, requests, number, indices, statuses)
pub unsafe fn waitsome<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    let answer = Answer::Some { count: 2, indices: 3 };
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { complete(site, &Places { count: Some(0), requests: 1, answer, status: 4, statuses: true }) }
}

/// (request, flag, status)
pub unsafe fn test<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        complete(
            site,
            &Places { count: None, requests: 0, answer: Answer::AllIf(1), status: 2, statuses: false },
        )
    }
}

/// (count, requests, flag, statuses)
pub unsafe fn testall<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        complete(
            site,
            &Places { count: Some(0), requests: 1, answer: Answer::AllIf(2), status: 3, statuses: true },
        )
    }
}

/// (count, requests, index, flag, status)
pub unsafe fn testany<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    let answer = Answer::OneIf { index: 2, flag: 3 };
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { complete(site, &Places { count: Some(0), requests: 1, answer, status: 4, statuses: false }) }
}

/// (count, requests, number, indices, statuses)
pub unsafe fn testsome<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { waitsome(site) }
}

unsafe fn complete<L: Language, const N: usize>(mut site: Site<L, N>, places: &Places) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: `site` is a call that completes requests, with its arguments at `places`. `given`, `statuses` and `own`
    // are moved out of the scratch or live on this stack: what MPI gets the addresses of stays where it is until it is
    // back.
    unsafe {
        let Some(mut guard) = recorded() else { return site.invoke() };
        // Taken out for as long as the call has their addresses.
        let mut given = std::mem::take(&mut guard.scratch().given);
        let mut statuses = std::mem::take(&mut guard.scratch().statuses);
        list::<L, N>(&site, places, &mut given);
        let mut own = OwnStatus::new();
        if given.iter().any(|given| given.open.wildcard || given.open.cancelled) {
            substitute::<L, N>(&mut site, places, &mut statuses, &mut own);
        }
        let enter = clock::ticks();
        let code = site.invoke();
        let mut seen = Seen::new(site.function, enter, clock::ticks(), code);
        guard.scratch().requests.extend(given.iter().map(|given| given.open.number));
        finish::<L, N>(&site, places, &mut guard, &mut seen, &given);
        given.clear();
        let scratch = guard.scratch();
        (scratch.given, scratch.statuses) = (given, statuses);
        code
    }
}

/// How many requests a call was given.
unsafe fn requests<L: Language, const N: usize>(site: &Site<L, N>, places: &Places) -> usize
where
    [usize; N]: Invoke,
{
    // SAFETY: `count` is the place of the int that says how many requests there are; MPI_Wait and the like have one and
    // no count.
    places.count.map_or(1, |count| unsafe { site.int(count) }.max(0) as usize)
}

/// The open requests given to a call.
unsafe fn list<L: Language, const N: usize>(site: &Site<L, N>, places: &Places, given: &mut Vec<Given>)
where
    [usize; N]: Invoke,
{
    // SAFETY: the standard makes the list of requests as long as the count before it. An array of 0 requests may be
    // null, and is not read.
    unsafe {
        let array = site.args[places.requests];
        let count = if array == 0 { 0 } else { requests(site, places) };
        let null = abi().request_null;
        let handle_at = |index| L::handle_at(Kind::Request, array, index);
        let Some(first) = (0..count).find(|&index| handle_at(index) != null) else { return };
        process::with(|process| {
            for place in first..count {
                let handle = handle_at(place);
                if handle == null {
                    continue;
                }
                // Equal handles in one list stand for different requests: each is taken once.
                match process.requests.take(handle) {
                    Some((kept, open)) if open.persistent.is_none() || open.active => {
                        given.push(Given { place, handle, kept, open });
                    }
                    Some(_) => {}
                    None => unknown_request(process, site.function),
                }
            }
        });
    }
}

#[cold]
fn unknown_request(process: &mut Process, function: Function) {
    *process.unknown.entry(format!("request of unknown origin in {function}")).or_default() += 1;
}

/// Puts statuses of ours where the program wants none.
unsafe fn substitute<L: Language, const N: usize>(
    site: &mut Site<L, N>,
    places: &Places,
    statuses: &mut Vec<u64>,
    own: &mut OwnStatus,
) where
    [usize; N]: Invoke,
{
    let status = site.args[places.status];
    site.args[places.status] = if !places.statuses {
        own.instead_of::<L>(status)
    } else if L::ignores_status(status) {
        // SAFETY: as in `requests`: the count is an int argument of the same call.
        let words = (unsafe { requests(site, places) } * abi().status_bytes).div_ceil(8);
        statuses.clear();
        statuses.resize(words, 0);
        statuses.as_mut_ptr() as usize
    } else {
        status
    };
}

/// A request that the call completed, and where its status is.
#[derive(Clone, Copy)]
struct Done {
    /// The place in our list.
    place: usize,
    status: usize,
}

unsafe fn finish<L: Language, const N: usize>(
    site: &Site<L, N>,
    places: &Places,
    guard: &mut Guard,
    seen: &mut Seen,
    given: &[Given],
) where
    [usize; N]: Invoke,
{
    // SAFETY: the call is back. The standard says that it has set its outputs (flag, index, statuses) where it
    // succeeded; where it failed, only what `tell_gone` reads is touched.
    unsafe {
        let testing = matches!(places.answer, Answer::AllIf(_) | Answer::OneIf { .. })
            || matches!(seen.function, Function::Testsome);
        if good(seen) && finish_plain(site, places, guard, seen, given, testing) {
            return;
        }
        if !good(seen) {
            tell_gone(site, places, guard.scratch(), seen, given);
            give_back(given, |place| is_gone::<L, N>(site, places, &given[place]));
            return guard.record(seen);
        }
        let Some(done) = completed::<L, N>(site, places, given) else {
            give_back(given, |_| false);
            return if testing { guard.poll(seen) } else { guard.record(seen) };
        };
        let all = matches!(places.answer, Answer::All | Answer::AllIf(_));
        let told: SmallVec<[(u32, Option<Matched>, bool); 8]> = done
            .iter()
            .filter_map(|done| {
                let open = &given.get(done.place)?.open;
                let who = open.wildcard.then(|| matched(done.status));
                let cancelled = open.cancelled && was_cancelled(done.status);
                (!all || who.is_some() || cancelled).then_some((done.place as u32, who, cancelled))
            })
            .collect();
        if !told.is_empty() {
            guard.scratch().attributes.completed(told.into_iter());
        }
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
}

/// A call that failed may have completed requests nevertheless, as one does whose message was longer than its room.
#[cold]
unsafe fn tell_gone<L: Language, const N: usize>(
    site: &Site<L, N>,
    places: &Places,
    scratch: &mut Scratch,
    seen: &Seen,
    given: &[Given],
) where
    [usize; N]: Invoke,
{
    // SAFETY: a failed call has left the list of requests readable, each handle as it was or null. A status is only
    // read where the call has one, not a list, and a message has arrived.
    unsafe {
        let all = matches!(places.answer, Answer::All | Answer::AllIf(_));
        let gone = given.iter().enumerate().filter(|(_, given)| is_gone::<L, N>(site, places, given));
        let told: SmallVec<[(u32, Option<Matched>, bool); 8]> = gone
            .map(|(place, given)| {
                let has_status = given.open.wildcard && !places.statuses && arrived(seen);
                (place as u32, has_status.then(|| matched(site.args[places.status])), false)
            })
            .collect();
        if !told.is_empty() && !matches!(places.answer, Answer::All | Answer::One(_)) {
            scratch.attributes.found();
        }
        let told = told.into_iter().filter(|(_, who, _)| !all || who.is_some());
        let told: SmallVec<[_; 8]> = told.collect();
        if !told.is_empty() {
            scratch.attributes.completed(told.into_iter());
        }
    }
}

/// The usual case, all or nothing completed and no status matters; tells whether it was that.
unsafe fn finish_plain<L: Language, const N: usize>(
    site: &Site<L, N>,
    places: &Places,
    guard: &mut Guard,
    seen: &Seen,
    given: &[Given],
    testing: bool,
) -> bool
where
    [usize; N]: Invoke,
{
    let done = match places.answer {
        Answer::All => true,
        // SAFETY: the flag is an output of a test that has succeeded: a pointer to an int that MPI has set.
        Answer::AllIf(flag) => unsafe { site.int_behind(flag) != 0 },
        // Nothing was open, so that nothing has to be told apart.
        // SAFETY: the number of completed requests is an output of a call that has succeeded.
        Answer::Some { count, .. } if given.is_empty() => unsafe { site.int_behind(count) != 0 },
        // SAFETY: the flag is an output of a test that has succeeded.
        Answer::OneIf { flag, .. } if given.is_empty() => unsafe { site.int_behind(flag) != 0 },
        _ => return false,
    };
    // A test of nothing is one more look of a loop in which something else is waited for.
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
    give_back(given, |_| true);
    guard.record(seen);
    true
}

/// What completed, or none if nothing did.
unsafe fn completed<L: Language, const N: usize>(
    site: &Site<L, N>,
    places: &Places,
    given: &[Given],
) -> Option<SmallVec<[Done; 8]>>
where
    [usize; N]: Invoke,
{
    // SAFETY: the call has succeeded: flag, index and count are set. The standard gives `indices` and the statuses as
    // many elements as the count says; where the program ignores statuses, `substitute` has put a list of ours there.
    unsafe {
        let status = site.args[places.status];
        let at = |index: usize| if places.statuses { status + index * abi().status_bytes } else { status };
        let everything = || {
            given.iter().enumerate().map(|(place, given)| Done { place, status: at(given.place) }).collect()
        };
        let one = |index: i32| {
            let index = usize::try_from(L::index(index)).ok();
            let place = index.and_then(|index| given.binary_search_by_key(&index, |given| given.place).ok());
            Some(place.map(|place| Done { place, status }).into_iter().collect())
        };
        match places.answer {
            Answer::All => Some(everything()),
            Answer::AllIf(flag) => (site.int_behind(flag) != 0).then(everything),
            Answer::One(index) => one(site.int_behind(index)),
            Answer::OneIf { index, flag } => {
                if site.int_behind(flag) != 0 {
                    one(site.int_behind(index))
                } else {
                    None
                }
            }
            Answer::Some { count, indices } => {
                let count = site.int_behind(count);
                if count == 0 {
                    return None;
                }
                let count = if count == UNDEFINED { 0 } else { count.max(0) as usize };
                let listed = (0..count).filter_map(|nth| {
                    let index = (site.args[indices] as *const c_int).add(nth).read();
                    let index = usize::try_from(L::index(index)).ok()?;
                    let place = given.binary_search_by_key(&index, |given| given.place).ok()?;
                    Some(Done { place, status: at(nth) })
                });
                Some(listed.collect())
            }
        }
    }
}

/// Whether a call that failed has completed a request nevertheless: then it is null now.
unsafe fn is_gone<L: Language, const N: usize>(site: &Site<L, N>, places: &Places, given: &Given) -> bool
where
    [usize; N]: Invoke,
{
    // SAFETY: `place` is below the count of the call, so that the list of requests has it.
    unsafe { L::handle_at(Kind::Request, site.args[places.requests], given.place) == abi().request_null }
}

/// Whether an open request was cancelled, which nobody can ask once it is freed.
#[cold]
pub fn is_cancelled(handle: Handle) -> bool {
    let (mut flag, mut status) = (0i32, OwnStatus::new());
    let status = status.at();
    pmpi!(Request_get_status(handle, &raw mut flag, status));
    flag != 0 && was_cancelled(status)
}

pub fn was_cancelled(status: usize) -> bool {
    let mut flag = 0i32;
    pmpi!(Test_cancelled(status, &raw mut flag));
    flag != 0
}

/// The call is over: requests that it completed are forgotten, or inactive if they are persistent; others are open again.
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
