//! Which ports are served together, by whom, and when.

use super::super::layout::{Layout, edges};
use crate::ports::Fabric;
use straggler_model::Time;
use straggler_model::topology::Port;

/// log2 of the ports in a group, whose state stays in a core's second-level cache.
const GROUP_SHIFT: u32 = 12;
/// A stage has at least so many groups if it has as many ports, so that every thread has some.
const GROUPS: u32 = 32;

/// The ports of a stage, in groups of neighbours.
#[derive(Debug)]
struct StagePlan {
    begin: Port,
    end: Port,
    shift: u32,
    first_group: u32,
    /// The least time from a send to these ports.
    delay: Time,
}

/// The groups of ports of a run. They do not depend on threads and members.
#[derive(Debug)]
pub(in super::super) struct Plan {
    stages: Vec<StagePlan>,
    /// By kind of port; see [`straggler_model::Topology::next_in`].
    of_kinds: [u8; MOST_STAGES],
    kinds: Vec<usize>,
    groups: u32,
}

/// No topology has more stages.
const MOST_STAGES: usize = 6;

impl Plan {
    pub fn new(fabric: &Fabric, least_entry: Time) -> Plan {
        let (mut stages, mut groups) = (Vec::new(), 0);
        for stage in &fabric.stages {
            let (begin, end) = (stage.ports.start, stage.ports.end);
            let shift = ((end - begin) / GROUPS).max(1).ilog2().min(GROUP_SHIFT);
            // In a graph, a segment may come back to its stage: nothing is certain about its time.
            let delay =
                if fabric.topology.is_feed_forward() { least_entry + stage.delay } else { Time::ZERO };
            stages.push(StagePlan { begin, end, shift, first_group: groups, delay });
            groups += (end - begin).div_ceil(1 << shift);
        }
        let kind = |stage: &StagePlan| match fabric.topology.is_feed_forward() {
            true => fabric.topology.kind_of(stage.begin),
            false => 0,
        };
        let kinds: Vec<usize> = stages.iter().map(kind).collect();
        let mut of_kinds = [0; MOST_STAGES];
        (0..).zip(&kinds).for_each(|(stage, &kind)| of_kinds[kind] = stage);
        Plan { stages, of_kinds, kinds, groups }
    }

    pub fn stages(&self) -> usize {
        self.stages.len()
    }

    /// The group of a port of some kind, its stage, and the least time from a send to it.
    #[inline(always)]
    pub fn group(&self, (kind, port): (usize, Port)) -> (u32, usize, Time) {
        let stage = usize::from(self.of_kinds[kind]);
        let StagePlan { begin, shift, first_group, delay, .. } = self.stages[stage];
        (first_group + ((port - begin) >> shift), stage, delay)
    }

    /// The kind of the ports of a stage.
    pub fn kind(&self, stage: usize) -> usize {
        self.kinds[stage]
    }

    pub fn delay(&self, stage: usize) -> Time {
        self.stages[stage].delay
    }

    /// The stage of a group, and its ports.
    pub fn ports(&self, group: u32) -> (usize, std::ops::Range<Port>) {
        let number = self.stages.iter().take_while(|stage| stage.first_group <= group).count() - 1;
        let stage = &self.stages[number];
        let edge = |group: u32| (stage.begin + (group << stage.shift)).min(stage.end);
        let place = group - stage.first_group;
        (number, edge(place)..edge(place + 1))
    }

    /// The end of the groups of the stage before that must be served before this group.
    pub fn fed_until(&self, fabric: &Fabric, group: u32) -> u32 {
        let (stage, ports) = self.ports(group);
        let Some(before) = stage.checked_sub(1) else { return 0 };
        let end = self.stages[stage].first_group;
        match fabric.topology.fed_until(ports.end - 1) {
            Some(port) if ports.end < self.stages[stage].end && port > self.stages[before].begin => {
                (self.group((self.kinds[before], port - 1)).0 + 1).min(end)
            }
            _ => end,
        }
    }

    /// Gives the members of a cluster, and the parts of this one, neighbouring groups of every stage. Ports near the
    /// hosts of one part are then those of the same part, as far as ranks and hosts have the same order.
    pub fn layout(&self, members: u32, own: u32, parts: u32) -> Layout {
        let share = |count: u32, of: u32| {
            let edges = edges(count, of);
            let by_group =
                |(number, edge): (u32, &[u32])| (edge[0]..edge[1]).map(move |_| number).collect::<Vec<_>>();
            (0..).zip(edges.windows(2)).flat_map(by_group).collect::<Vec<u32>>()
        };
        let ends = self.stages.iter().skip(1).map(|stage| stage.first_group).chain([self.groups]);
        let (mut of_members, mut of_parts) = (Vec::new(), Vec::new());
        for (stage, end) in self.stages.iter().zip(ends) {
            let mine = share(end - stage.first_group, members);
            let count = mine.iter().filter(|&&member| member == own).count() as u32;
            let mut places = share(count, parts).into_iter();
            of_parts.extend(
                mine.iter().map(|&member| if member == own { places.next().unwrap_or(0) } else { 0 }),
            );
            of_members.extend(mine);
        }
        Layout::in_given_parts(of_members, own, &of_parts, parts)
    }
}
