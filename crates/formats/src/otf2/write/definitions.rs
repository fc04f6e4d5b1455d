//! The file of global definitions: strings first, then the definitions that use them.

use super::encoder::{DEFINITION_CHUNK, Encoder, LARGEST_CHUNK};
use super::regions::Owner;
use super::windows::Windows;
use crate::otf2::error::WriteError;
use crate::otf2::ids::{CPU_THREAD, FOREIGN, PARADIGM_MPI, PROCESS_GROUP, definition, group};
use std::collections::{BTreeSet, HashMap, HashSet};
use straggler_model::Rank;
use straggler_trace::{CommId, Communicator, Trace};

const TICKS_PER_SECOND: u64 = 1_000_000_000_000;
const UNDEFINED: u32 = u32::MAX;
/// Flag of communicators and windows whose creation is recorded in the events.
const CREATED: u32 = 1;
/// What the parts of a node share (OTF2_SystemTreeDomain).
const MACHINE: u8 = 0;
const SHARED_MEMORY: u8 = 1;
const COMM_NAME_TEMPLATE: u8 = 0;
/// OTF2_TYPE_STRING.
const TYPE_STRING: u8 = 11;

/// What the definitions state about a location.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocationSummary {
    pub(super) location: u64,
    pub(super) rank: Rank,
    pub(super) thread: u16,
    pub(super) events: u64,
}

/// Numbers of strings and regions, in order of their first use.
#[derive(Debug, Default)]
pub(super) struct Names {
    strings: Vec<String>,
    numbers: HashMap<String, u32>,
    regions: Vec<Region>,
    region_numbers: HashMap<Region, u32>,
}

/// A region, by the numbers of its names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Region {
    shown: u32,
    /// The full name, if only a part of it is shown.
    canonical: u32,
    owner: Owner,
}

impl Names {
    pub(super) fn string(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.strings.len() as u32;
        self.strings.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// The region of an MPI function, or of the user's.
    pub(super) fn region(&mut self, name: &str, owner: Owner) -> u32 {
        let name = self.string(name);
        self.define(Region { shown: name, canonical: name, owner })
    }

    /// The region of the program. Scalasca looks for a region that shows the program's name without
    /// its path and whose full name is the command line; without one, it cannot read the archive.
    pub(super) fn program(&mut self, command_line: &str) -> u32 {
        let path = command_line.split(' ').next().unwrap_or_default();
        let shown = self.string(path.rsplit('/').next().unwrap_or_default());
        let canonical = self.string(command_line);
        self.define(Region { shown, canonical, owner: Owner::Program })
    }

    fn is_mpi(&self, name: u32) -> bool {
        self.strings.get(name as usize).is_some_and(|name| name.starts_with("MPI_"))
    }

    fn define(&mut self, region: Region) -> u32 {
        let next = self.regions.len() as u32;
        let number = *self.region_numbers.entry(region).or_insert(next);
        if number == next {
            self.regions.push(region);
        }
        number
    }
}

/// The file, and what the anchor states about it.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    pub(super) records: u64,
    pub(super) chunk: usize,
}

/// The number of each communicator in the archive, without gaps. If a trace has an intercommunicator
/// twice, once for each side and one right after the other, the two share a number.
pub(super) fn references(trace: &Trace) -> Vec<u32> {
    let whole = used_by_both(trace);
    let mut references = Vec::with_capacity(trace.communicators.len());
    // A communicator whose other side may be the next one.
    let mut side: Option<&Communicator> = None;
    let mut next = 0u32;
    for (comm, own) in trace.communicators.iter().zip((0..).map(CommId)) {
        let may_be_side = !comm.remote.is_empty() && !whole.contains(&own);
        if may_be_side && side.take().is_some_and(|first| are_sides(first, comm)) {
            references.push(next.saturating_sub(1));
            continue;
        }
        side = may_be_side.then_some(comm);
        references.push(next);
        next += 1;
    }
    references
}

fn are_sides(one: &Communicator, other: &Communicator) -> bool {
    let turned = (&other.remote, &other.members, &other.name, other.parent);
    (&one.members, &one.remote, &one.name, one.parent) == turned
}

/// Intercommunicators that members of the second group use in calls: they stand for both sides.
fn used_by_both(trace: &Trace) -> HashSet<CommId> {
    let mut found = HashSet::new();
    if trace.communicators.iter().all(|comm| comm.remote.is_empty()) {
        return found;
    }
    for (rank, number) in trace.ranks.iter().zip(0..) {
        let mut seen = HashSet::new();
        for comm in rank.calls.iter().map(|call| call.comm).filter(|&comm| seen.insert(comm)) {
            let of_call = trace.communicators.get(comm.index());
            found.extend(of_call.filter(|comm| comm.remote.contains(&number)).map(|_| comm));
        }
    }
    found
}

pub(super) fn encode(
    trace: &Trace,
    references: &[u32],
    windows: &Windows,
    locations: &[LocationSummary],
    names: Names,
) -> Result<Written, WriteError> {
    let mut out = Definitions { names, records: Vec::new() };
    out.names.string("");
    out.paradigm();
    out.system_tree(trace);
    out.locations(locations);
    out.regions();
    out.world(trace);
    out.communicators(trace, references);
    out.windows(windows, references);
    out.finish(trace)
}

struct Definitions {
    names: Names,
    records: Vec<(u8, Encoder)>,
}

impl Definitions {
    fn add(&mut self, id: u8, fill: impl FnOnce(&mut Encoder)) {
        let mut body = Encoder::body();
        fill(&mut body);
        self.records.push((id, body));
    }

    fn paradigm(&mut self) {
        let name = self.names.string("MPI");
        self.add(definition::PARADIGM, |body| {
            body.u8(PARADIGM_MPI);
            body.u32(name);
            // Its class: processes.
            body.u8(0);
        });
        // How viewers name communicators without a name.
        let template = self.names.string("Comm ${id}");
        self.add(definition::PARADIGM_PROPERTY, |body| {
            body.u8(PARADIGM_MPI);
            body.u8(COMM_NAME_TEMPLATE);
            body.u8(TYPE_STRING);
            body.u32(template);
        });
    }

    /// Writes a machine, its hosts, and the ranks on them.
    fn system_tree(&mut self, trace: &Trace) {
        let (machine, class) = (self.names.string("machine"), self.names.string("node"));
        self.node([0, machine, machine, UNDEFINED], MACHINE);
        let mut hosts: HashMap<&str, u32> = HashMap::new();
        let mut parents = Vec::with_capacity(trace.ranks.len());
        for rank in &trace.ranks {
            let next = hosts.len() as u32 + 1;
            let node = *hosts.entry(&rank.host).or_insert(next);
            if node == next {
                let name = self.names.string(&rank.host);
                self.node([node, name, class, 0], SHARED_MEMORY);
            }
            parents.push(node);
        }
        for (parent, rank) in parents.into_iter().zip(0..) {
            let name = self.names.string(&format!("MPI Rank {rank}"));
            self.add(definition::LOCATION_GROUP, |body| {
                body.u32(rank);
                body.u32(name);
                body.u8(PROCESS_GROUP);
                body.u32(parent);
                body.u32(UNDEFINED);
            });
        }
    }

    /// Writes a node of the tree: its number, name, class and parent, and what its members share.
    fn node(&mut self, values: [u32; 4], domain: u8) {
        self.add(definition::SYSTEM_TREE_NODE, |body| values.into_iter().for_each(|value| body.u32(value)));
        let [own, ..] = values;
        self.add(definition::SYSTEM_TREE_NODE_DOMAIN, |body| {
            body.u32(own);
            body.u8(domain);
        });
    }

    fn locations(&mut self, locations: &[LocationSummary]) {
        for summary in locations {
            let name = match summary.thread {
                0 => self.names.string("Master thread"),
                thread => self.names.string(&format!("Thread {thread}")),
            };
            self.add(definition::LOCATION, |body| {
                body.u64(summary.location);
                body.u32(name);
                body.u8(CPU_THREAD);
                body.u64(summary.events);
                body.u32(summary.rank);
            });
        }
    }

    fn regions(&mut self) {
        let (empty, mpi) = (self.names.string(""), self.names.string("MPI"));
        for (number, region) in self.names.regions.clone().into_iter().enumerate() {
            // Scalasca takes regions in the file "MPI" for MPI functions, and drops the first four
            // letters of their names.
            let is_mpi = matches!(region.owner, Owner::Mpi(_)) && self.names.is_mpi(region.shown);
            let file = if is_mpi { mpi } else { UNDEFINED };
            self.add(definition::REGION, |body| {
                [number as u32, region.shown, empty].into_iter().for_each(|value| body.u32(value));
                // A field from before version 1.1 that readers ignore.
                body.u8(0);
                [file, 0, 0, region.canonical].into_iter().for_each(|value| body.u32(value));
                body.u8(region.owner.role());
                body.u8(region.owner.paradigm());
                body.u32(0);
            });
        }
    }

    fn group(&mut self, number: u32, kind: u8, members: impl ExactSizeIterator<Item = u64>) {
        let empty = self.names.string("");
        self.add(definition::GROUP, |body| {
            body.u32(number);
            body.u32(empty);
            // The kind's number from before version 1.2.
            body.u8(if kind == group::COMM_LOCATIONS { 6 } else { 4 });
            body.u32(members.len() as u32);
            members.for_each(|member| body.u64(member));
            body.u8(kind);
            body.u8(PARADIGM_MPI);
            body.u32(0);
        });
    }

    /// Writes the group of communicating locations: the first thread of each rank, in order.
    fn world(&mut self, trace: &Trace) {
        self.group(
            0,
            group::COMM_LOCATIONS,
            (0..trace.processes()).map(u64::from).collect::<Vec<_>>().into_iter(),
        );
    }

    fn communicators(&mut self, trace: &Trace, references: &[u32]) {
        let made: BTreeSet<CommId> = {
            let details = trace.ranks.iter().flat_map(|rank| &rank.details);
            details.filter_map(|details| details.new_comm).collect()
        };
        let (mut groups, mut next) = (1, 0);
        for ((comm, &reference), own) in trace.communicators.iter().zip(references).zip((0..).map(CommId)) {
            if reference != next {
                continue;
            }
            next += 1;
            let parent =
                comm.parent.filter(|&parent| comm.remote.is_empty() || is_common(trace, comm, parent));
            let parent =
                parent.and_then(|parent| references.get(parent.index()).copied()).unwrap_or(UNDEFINED);
            let flags = if made.contains(&own) { CREATED } else { 0 };
            let name = self.names.string(&comm.name);
            let sides =
                [&comm.members, &comm.remote].into_iter().take(if comm.remote.is_empty() { 1 } else { 2 });
            let mut values = vec![reference, name];
            for side in sides {
                self.group(groups, group::COMM_GROUP, side.iter().map(|&rank| member(rank)));
                values.push(groups);
                groups += 1;
            }
            values.extend([parent, flags]);
            let id = if comm.remote.is_empty() { definition::COMM } else { definition::INTER_COMM };
            self.add(id, |body| values.into_iter().for_each(|value| body.u32(value)));
        }
    }

    fn windows(&mut self, windows: &Windows, references: &[u32]) {
        let name = self.names.string("");
        for (comm, number) in windows.comms.iter().zip(0..) {
            let comm = references.get(comm.index()).copied().unwrap_or(UNDEFINED);
            self.add(definition::RMA_WIN, |body| {
                [number, name, comm, CREATED].into_iter().for_each(|value| body.u32(value));
            });
        }
    }

    fn finish(self, trace: &Trace) -> Result<Written, WriteError> {
        let mut head = Encoder::body();
        // The clock begins with the trace; the absolute time is unknown.
        let ends = trace.ranks.iter().flat_map(|rank| rank.calls.iter().map(|call| call.exit.ps()));
        [TICKS_PER_SECOND, 0, ends.max().unwrap_or_default(), u64::MAX]
            .into_iter()
            .for_each(|value| head.u64(value));
        let strings = self.names.strings.iter().zip(0..).map(|(text, number)| {
            let mut body = Encoder::body();
            body.u32(number);
            body.text(text);
            (definition::STRING, body)
        });
        let records: Vec<_> =
            [(definition::CLOCK, head)].into_iter().chain(strings).chain(self.records).collect();
        let longest = records.iter().map(|(_, body)| body.len()).max().unwrap_or_default();
        let chunk = if longest + 64 > DEFINITION_CHUNK { LARGEST_CHUNK } else { DEFINITION_CHUNK };
        if longest + 64 > chunk {
            return Err(WriteError::TooLarge { what: format!("a definition of {longest} bytes") });
        }
        let mut out = Encoder::definitions(chunk);
        records.into_iter().for_each(|(id, body)| out.record(id, body));
        Ok(Written { records: out.count(), bytes: out.finish(), chunk })
    }
}

/// Whether both groups come from this communicator: for MPI_Intercomm_create, a trace records the
/// parent of one group only.
fn is_common(trace: &Trace, comm: &Communicator, parent: CommId) -> bool {
    let Some(parent) = trace.communicators.get(parent.index()) else { return false };
    let all: HashSet<Rank> = parent.members.iter().chain(&parent.remote).copied().collect();
    comm.members.iter().chain(&comm.remote).all(|member| all.contains(member))
}

/// The location of a group member. A process of another world has none.
fn member(rank: Rank) -> u64 {
    if rank == Rank::MAX { FOREIGN } else { u64::from(rank) }
}

#[cfg(test)]
mod tests;
