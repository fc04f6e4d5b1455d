//! Finds the operations of different ranks that belong together.

use super::recorded::{Channel, Distinct, Recorded};
use super::words;
use std::collections::HashMap;
use std::ops::Range;

/// An operation of a worker: indices in the list of workers and in [`Recorded::ops`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Member {
    pub worker: u32,
    pub op: u32,
}

/// Operations with the same step, channel and number.
#[derive(Clone, Debug)]
pub struct Set {
    pub step: i64,
    pub channel: u32,
    pub number: u64,
    pub members: Range<usize>,
}

#[derive(Debug)]
pub struct Matched {
    pub channels: Vec<Channel>,
    /// In order of step, channel and number.
    pub sets: Vec<Set>,
    members: Vec<Member>,
}

impl Matched {
    pub fn new(workers: &[Recorded]) -> Matched {
        let mut keys: Distinct<String> = Distinct::default();
        let mut channels: Vec<Channel> = Vec::new();
        // Step, channel, number, and a counter for equal numbers; then the operation.
        let mut found: Vec<((i64, u32, u64, u32), Member)> = Vec::new();
        for (worker, recorded) in (0..).zip(workers) {
            let places: Vec<u32> = recorded
                .channels
                .iter()
                .map(|channel| {
                    let place = keys.place(channel.key.clone());
                    if place as usize == channels.len() {
                        channels.push(channel.clone());
                    }
                    place
                })
                .collect();
            found.extend(of_worker(worker, recorded, &places));
        }
        found.sort_unstable();
        let mut sets: Vec<Set> = Vec::new();
        let mut last = None;
        for (place, &(key, _)) in found.iter().enumerate() {
            if last != Some(key) {
                sets.push(Set { step: key.0, channel: key.1, number: key.2, members: place..place });
                last = Some(key);
            }
            if let Some(set) = sets.last_mut() {
                set.members.end = place + 1;
            }
        }
        Matched { channels, sets, members: found.into_iter().map(|(_, member)| member).collect() }
    }

    pub fn members(&self, set: &Set) -> &[Member] {
        &self.members[set.members.clone()]
    }

    pub fn channel(&self, set: &Set) -> &Channel {
        &self.channels[set.channel as usize]
    }

    /// Sentences about collectives that lack ranks, in the used steps. If some ranks were not recorded at all, the largest
    /// meeting of a channel shows how many ranks to expect.
    pub fn notes(&self, steps: &[i64], all_ranks: bool) -> Vec<String> {
        let mut fullest: HashMap<u32, usize> = HashMap::new();
        let used = || self.sets.iter().filter(|set| steps.binary_search(&set.step).is_ok());
        for set in used() {
            let most = fullest.entry(set.channel).or_default();
            *most = (*most).max(set.members.len());
        }
        let expected = |set: &Set| {
            let size = self.channel(set).size.filter(|_| all_ranks).unwrap_or(0) as usize;
            size.max(fullest.get(&set.channel).copied().unwrap_or(0))
        };
        let lacking: Vec<String> = used()
            .filter(|set| set.members.len() < expected(set))
            .map(|set| {
                let label = &self.channel(set).label;
                let (there, of) = (set.members.len(), expected(set));
                format!("number {} of {label} in step {} ({there} of {of} ranks)", set.number, set.step)
            })
            .collect();
        let mut notes = Vec::new();
        if !lacking.is_empty() {
            notes.push(format!(
                "{} {} a partner: {}. They are analysed with the ranks that are present.",
                lacking.len(),
                words::plural(lacking.len(), "communication lacks", "communications lack"),
                words::list_up_to(3, &lacking)
            ));
        }
        if used().any(|set| self.channel(set).by_order && set.members.len() > 1) {
            notes.push(
                "Communications have no sequence number: they were matched across ranks by their order within the \
                 step."
                    .into(),
            );
        }
        notes
    }
}

/// Lists the meetings of a worker. Equal numbers are told apart by order.
fn of_worker(worker: u32, recorded: &Recorded, places: &[u32]) -> Vec<((i64, u32, u64, u32), Member)> {
    let mut meetings: Vec<(i64, u32, u64, i64, u32)> = (0..)
        .zip(&recorded.ops)
        .filter_map(|(op, of)| {
            let meeting = of.meeting?;
            Some((of.step, *places.get(meeting.channel as usize)?, meeting.number, of.start_ps, op))
        })
        .collect();
    meetings.sort_unstable();
    let mut occurrence = 0;
    let mut last = None;
    let mut found = Vec::with_capacity(meetings.len());
    for (step, channel, number, _, op) in meetings {
        occurrence = if last == Some((step, channel, number)) { occurrence + 1 } else { 0 };
        last = Some((step, channel, number));
        found.push(((step, channel, number, occurrence), Member { worker, op }));
    }
    found
}
