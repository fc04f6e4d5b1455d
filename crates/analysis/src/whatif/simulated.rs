//! A replay as a trace: the same calls, at the times of the simulation, with what was decided there. What is said of simulations
//! holds for runs that were re-enacted with real messages, too.
//!
//! Calls that a replay goes through have its times. The others, which took time as computation, lie between these in the same
//! proportion as before. So whatever looks at a recorded run can look at a simulated one: wait states, profiles, timelines.

mod decided;
mod unneeded;

use std::collections::HashMap;
use straggler_model::Time;
use straggler_schedule::traced::{Instruction, TracedRank, TracedRun};
use straggler_sim::programs::Replayed;
use straggler_trace::{Class, RankTrace, Trace};

/// What a simulated run says of itself.
const SIMULATED: &str = "synthetic: simulated from a trace, no program was run";

/// The run that a replay of `recording`, which was read from `trace`, has simulated, with noise or without. The trace becomes
/// this run.
pub fn simulated(trace: Trace, recording: &TracedRun, replayed: &[Replayed], noiseless: bool) -> Trace {
    let mut trace = retimed(trace, recording, replayed, noiseless);
    if !trace.notes.iter().any(|note| note.starts_with("synthetic")) {
        trace.notes.push(SIMULATED.to_owned());
    }
    trace
}

/// What a run that was re-enacted says of itself.
const REENACTED: &str = "replayed: the messages of a trace are real, its computation is waiting for as long";

/// The run in which processes have re-enacted `recording`, which was read from `trace`, with real messages.
pub fn reenacted(trace: Trace, recording: &TracedRun, replayed: &[Replayed]) -> Trace {
    let mut trace = retimed(trace, recording, replayed, false);
    trace.notes.retain(|note| !note.starts_with("replayed: "));
    trace.notes.push(REENACTED.to_owned());
    trace
}

fn retimed(mut trace: Trace, recording: &TracedRun, replayed: &[Replayed], noiseless: bool) -> Trace {
    let origin = recording.origin();
    for ((rank, recorded), replayed) in trace.ranks.iter_mut().zip(recording.ranks()).zip(replayed) {
        Known::of(rank, recorded, replayed, origin, noiseless).retime(rank);
    }
    decided::apply(&mut trace, recording, replayed);
    for ((recorded, replayed), rank) in recording.ranks().iter().zip(replayed).zip(&mut trace.ranks) {
        unneeded::remove(recorded, replayed, rank);
        // What a processor did to the traced run says nothing about this one.
        rank.usage = None;
    }
    trace
}

/// What the simulation says about the calls of a rank.
struct Known {
    /// When each call began and ended; of those it does not say, nothing.
    times: Vec<Option<(Time, Time)>>,
    /// Where the clock of the recording begins in the trace.
    origin: Time,
    /// When the last of it was over.
    end: Time,
}

/// Two moments that are one: on the clock of the trace, and on that of the simulation.
#[derive(Clone, Copy)]
struct Anchor {
    traced: Time,
    simulated: Time,
}

impl Known {
    fn of(
        traced: &RankTrace,
        recorded: &TracedRank,
        replayed: &Replayed,
        origin: Time,
        noiseless: bool,
    ) -> Known {
        let mut times: Vec<Option<(Time, Time)>> = vec![None; traced.calls.len()];
        let mut end = origin;
        let both = replayed.entered.iter().zip(&replayed.left);
        // The call that a thread was in last.
        let mut before = None;
        for ((number, instruction), (&entered, &left)) in (0..).zip(recorded.instructions()).zip(both) {
            if entered == Time::NEVER || left == Time::NEVER {
                continue;
            }
            let (entered, left) = (origin + entered, origin + left);
            end = end.max(left);
            match *instruction {
                Instruction::Poll { .. } => {}
                // What else a computation takes is the overhead of the messages before it.
                Instruction::Calc(time) if noiseless => {
                    let began = left - time;
                    let last = before.take().and_then(|call: usize| times[call].as_mut());
                    last.into_iter().for_each(|(_, last)| *last = began.max(*last));
                }
                Instruction::Calc(_) => before = None,
                _ => {
                    let call = recorded.origin(number) as usize;
                    let Some(times) = times.get_mut(call) else { continue };
                    let (first, last) = times.unwrap_or((entered, left));
                    *times = Some((first.min(entered), last.max(left)));
                    before = Some(call);
                }
            }
        }
        Known { times, origin, end }
    }

    /// Gives the calls of a rank their new times.
    fn retime(&self, rank: &mut RankTrace) {
        // Which calls a thread has, in order.
        let mut threads: HashMap<u16, Vec<usize>> = HashMap::new();
        for (number, call) in rank.calls.iter().enumerate() {
            threads.entry(call.thread).or_default().push(number);
        }
        for calls in threads.values() {
            self.retime_thread(calls, rank);
        }
        for details in &mut rank.details {
            details.moment = None;
        }
    }

    fn retime_thread(&self, calls: &[usize], rank: &mut RankTrace) {
        let mut before = Anchor { traced: self.origin, simulated: self.origin };
        let mut from = 0;
        for (place, &number) in calls.iter().enumerate() {
            let traced = rank.calls[number];
            let is_end = traced.function.class() == Class::Finalize;
            let known = self.times[number].or(is_end.then_some((self.end, self.end)));
            let Some((enter, exit)) = known else { continue };
            let after = Anchor { traced: traced.enter, simulated: enter.max(before.simulated) };
            calls[from..place].iter().for_each(|&between| move_call(rank, between, before, after));
            let call = &mut rank.calls[number];
            (call.enter, call.exit) = (after.simulated, exit.max(after.simulated));
            before = Anchor { traced: traced.exit, simulated: call.exit };
            from = place + 1;
        }
        for &number in calls.get(from..).unwrap_or_default() {
            let call = &mut rank.calls[number];
            (call.enter, call.exit) = (later(call.enter, before), later(call.exit, before));
        }
    }
}

/// A time after the last that is known.
fn later(time: Time, before: Anchor) -> Time {
    before.simulated + time.since(before.traced)
}

fn move_call(rank: &mut RankTrace, number: usize, before: Anchor, after: Anchor) {
    let call = &mut rank.calls[number];
    let old = call.exit.since(call.enter);
    call.enter = between(call.enter, before, after);
    call.exit = between(call.exit, before, after);
    let new = call.exit.since(call.enter);
    // Of calls that were counted together, the time inside shrinks with the whole.
    let details = rank.details.get_mut(call.details as usize);
    if let Some(repeated) = details.and_then(|details| details.rare.get_mut()?.repeated.as_mut()) {
        repeated.inside = share_of(repeated.inside, new, old);
    }
}

/// `part`·`new`/`old`.
fn share_of(part: Time, new: Time, old: Time) -> Time {
    match old.ps() {
        0 => Time::ZERO,
        old => Time((u128::from(part.ps()) * u128::from(new.ps()) / u128::from(old)) as u64),
    }
}

/// A moment between two that are known, in proportion. What lies before the clock begins stays where it is.
fn between(time: Time, before: Anchor, after: Anchor) -> Time {
    if time < before.traced {
        return time.min(before.simulated);
    }
    let (whole, part) = (after.traced.since(before.traced).ps(), time.since(before.traced).ps());
    let length = after.simulated.since(before.simulated);
    before.simulated + share_of(length, Time(part.min(whole)), Time(whole))
}
