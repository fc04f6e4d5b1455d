//! Which groups of ports of a part have something to do in the window, and which of them are complete.

use super::Plan;
use crate::ports::Fabric;
use straggler_model::Rank;

#[derive(Debug)]
pub(super) struct Sweep {
    /// By place: whether the group has something to do.
    ready: Vec<u64>,
    /// By stage: the places of its groups, from one to the next.
    stages: Vec<u32>,
    /// By stage: the place up to which groups have been served.
    served: Vec<u32>,
    /// By place: up to which place of the stage before groups must have been served before. Only if the part is alone.
    after: Vec<u32>,
    /// By place in the first stage: the end of the hosts whose ports are in the group.
    hosts: Vec<Rank>,
}

impl Sweep {
    /// `groups` are those of the part, in order.
    pub fn new(fabric: &Fabric, plan: &Plan, groups: &[u32]) -> Sweep {
        let stage_of = |group: &u32| plan.ports(*group).0;
        let stages: Vec<u32> = (0..=plan.stages())
            .map(|stage| groups.partition_point(|group| stage_of(group) < stage) as u32)
            .collect();
        let place = |group: u32| groups.partition_point(|&other| other < group) as u32;
        let first = &groups[..stages.get(1).map_or(0, |&end| end as usize)];
        Sweep {
            ready: vec![0; groups.len().div_ceil(64)],
            served: stages[..plan.stages()].to_vec(),
            after: groups.iter().map(|&group| place(plan.fed_until(fabric, group))).collect(),
            hosts: first.iter().map(|&group| plan.ports(group).1.end).collect(),
            stages,
        }
    }

    /// Notes that a group has something to do.
    pub fn ready(&mut self, place: u32) {
        debug_assert!(
            (0..self.served.len()).all(|stage| place < self.served[stage] || place >= self.stages[stage]),
            "a group gets flights after it was served"
        );
        self.ready[place as usize / 64] |= 1 << (place % 64);
    }

    /// The end of a stage.
    pub fn end(&self, stage: usize) -> u32 {
        self.stages[stage + 1]
    }

    /// The end of the groups of the first stage that only have ports of hosts before `end`.
    pub fn first_groups(&self, end: Rank) -> u32 {
        self.hosts.partition_point(|&host| host <= end) as u32
    }

    /// Takes the next group of a stage before `end` that has something to do. Without one, all before are served.
    pub fn next(&mut self, stage: usize, end: u32) -> Option<u32> {
        let from = self.served[stage];
        let found = self.first_ready(from, end);
        self.served[stage] = found.map_or(from.max(end), |place| place + 1);
        if let Some(place) = found {
            self.ready[place as usize / 64] &= !(1 << (place % 64));
        }
        found
    }

    fn first_ready(&self, from: u32, end: u32) -> Option<u32> {
        let mut at = from;
        while at < end {
            let rest = self.ready[at as usize / 64] >> (at % 64);
            if rest != 0 {
                return Some(at + rest.trailing_zeros()).filter(|&place| place < end);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// The end of the groups of a stage that can be served now, if there are new ones.
    pub fn complete(&self, stage: usize) -> Option<u32> {
        let (&end, served) = (self.stages.get(stage + 1)?, self.served[stage]);
        let before = self.served[stage - 1];
        let own = &self.after[served as usize..end as usize];
        let count = own.iter().take_while(|&&after| after <= before).count() as u32;
        (count > 0).then_some(served + count)
    }

    /// The first stage from `stage` on with something to do.
    pub fn next_stage(&self, stage: usize) -> u64 {
        let count = self.served.len();
        let is_due = |&stage: &usize| self.first_ready(self.stages[stage], self.stages[stage + 1]).is_some();
        (stage..count).find(is_due).map_or(u64::MAX, |stage| stage as u64)
    }

    /// Begins a new window.
    pub fn restart(&mut self) {
        self.served.iter_mut().zip(&self.stages).for_each(|(served, &begin)| *served = begin);
    }
}
