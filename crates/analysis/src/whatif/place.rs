//! Selects computation of a traced run: in a region, on some ranks, in a range of times.

use super::polls::polls;
use super::regions::{self, Presence, Ranks};
use std::collections::HashMap;
use std::fmt;
use straggler_model::Time;
use straggler_trace::{Call, Class, RankTrace};

/// A selection of computation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Where {
    /// A marked region; none for all computation.
    pub region: Option<String>,
    /// None for all ranks.
    pub ranks: Option<Ranks>,
    /// A range of times, on the clock of the trace.
    pub during: Option<(Time, Time)>,
}

impl Where {
    /// For each call of a rank, the entry that the computation before it belongs to, if it is
    /// selected.
    pub(super) fn chosen(&self, rank: u32, traced: &RankTrace) -> Presence {
        if self.ranks.as_ref().is_some_and(|ranks| !ranks.contains(&rank)) {
            return vec![None; traced.calls.len()];
        }
        let mut chosen = match &self.region {
            Some(name) => regions::presence(traced, name),
            None => vec![Some(0); traced.calls.len()],
        };
        if self.during.is_some() {
            for ((chosen, call), gap) in chosen.iter_mut().zip(&traced.calls).zip(gaps(traced)) {
                *chosen = chosen.filter(|_| self.part_of(&gap) > Time::ZERO || self.has(call.enter));
            }
        }
        chosen
    }

    /// The part of a computation that lies in the range of times.
    pub(super) fn part_of(&self, gap: &Gap) -> Time {
        let Some((from, to)) = self.during else { return gap.time };
        part(gap.time, gap.to.min(to).since(gap.from.max(from)), gap.to.since(gap.from))
    }

    /// For each call of a rank, whether it lies at this place.
    pub(super) fn holds(&self, rank: u32, traced: &RankTrace) -> Vec<bool> {
        let anywhen = Where { during: None, ..self.clone() };
        let chosen = anywhen.chosen(rank, traced).into_iter().zip(&traced.calls);
        chosen.map(|(chosen, call)| chosen.is_some() && self.has(call.enter)).collect()
    }

    fn has(&self, time: Time) -> bool {
        self.during.is_none_or(|(from, to)| time >= from && time < to)
    }

    /// A description for users: "in solve on ranks 0, 1".
    pub fn text(&self) -> String {
        let mut text = self.region.as_ref().map_or_else(String::new, |region| format!("in {region}"));
        let mut add = |more: String| {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&more);
        };
        if let Some(ranks) = &self.ranks {
            let name = if ranks.len() == 1 { "rank" } else { "ranks" };
            add(format!("on {name} {}", short_list(&ranks.iter().collect::<Vec<_>>())));
        }
        if let Some((from, to)) = self.during {
            add(format!("from {from} to {to}"));
        }
        if text.is_empty() { "anywhere".into() } else { text }
    }
}

/// The computation of a thread between two calls, including that between the polls that the second
/// call may represent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gap {
    pub time: Time,
    /// Its position: exactly as long as the time, unless the time is spread between polls.
    pub from: Time,
    pub to: Time,
}

/// The computation before each call of a rank. Time before the end of MPI_Init does not count.
pub(super) fn gaps(traced: &RankTrace) -> Vec<Gap> {
    let mut last: HashMap<u16, Time> = HashMap::new();
    let first = begin(traced);
    let polls = polls(traced);
    let mut gap = |(number, call): (usize, &Call)| {
        let since = last.get(&call.thread).copied().unwrap_or(first);
        last.insert(call.thread, since.max(call.exit));
        let before = call.enter.since(since);
        match polls.get(&number) {
            Some(polls) => {
                Gap { time: before + polls.computed(), from: since.min(call.enter), to: polls.end }
            }
            None => Gap { time: before, from: since.min(call.enter), to: call.enter },
        }
    };
    traced.calls.iter().enumerate().map(&mut gap).collect()
}

/// `whole`·`part`/`of`, rounded down.
pub(super) fn part(whole: Time, part: Time, of: Time) -> Time {
    match of.ps() {
        0 => Time::ZERO,
        of => Time((u128::from(whole.ps()) * u128::from(part.ps()) / u128::from(of)) as u64),
    }
}

pub(super) fn begin(traced: &RankTrace) -> Time {
    let init = traced.calls.iter().find(|call| call.function.class() == Class::Init);
    init.map(|call| call.exit).or(traced.calls.first().map(|call| call.enter)).unwrap_or_default()
}

/// The most names in a list.
const SHOWN: usize = 20;

/// The first items of a list, for messages.
pub(super) fn short_list<T: fmt::Display>(items: &[T]) -> String {
    let shown: Vec<String> = items.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if items.len() > SHOWN { format!(", … ({} in all)", items.len()) } else { String::new() };
    shown.join(", ") + &more
}
