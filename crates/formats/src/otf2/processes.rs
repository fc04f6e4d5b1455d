//! Determines the ranks: the processes of an archive, their threads, and the communicators among them.

use super::definitions::{Comm, Definitions, Group};
use super::ids::{CPU_THREAD, FOREIGN, PARADIGM_MPI, PROCESS_GROUP, group};
use std::collections::{HashMap, HashSet};
use straggler_model::Rank;
use straggler_trace::call::CommId;
use straggler_trace::{Communicator, WORLD};

/// More communicator members in total than any real run has, so that a small file cannot ask for much memory.
const MOST_MEMBERS: usize = 1 << 28;

/// One rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Process {
    pub(super) host: String,
    /// Its threads that have events; the first represents the rank.
    pub(super) locations: Vec<u64>,
}

/// The ranks in order.
pub(super) fn processes(definitions: &Definitions) -> Result<Vec<Process>, String> {
    let masters = masters(definitions)?;
    let mut threads: HashMap<u32, Vec<u64>> = HashMap::new();
    for (&number, location) in &definitions.locations {
        if location.kind == CPU_THREAD {
            threads.entry(location.group).or_default().push(number);
        }
    }
    masters.iter().map(|&master| process(definitions, &mut threads, master)).collect()
}

fn process(
    definitions: &Definitions,
    threads: &mut HashMap<u32, Vec<u64>>,
    master: u64,
) -> Result<Process, String> {
    let location = definitions.locations.get(&master);
    let group = location.ok_or_else(|| format!("location {master} has a rank, but is not defined"))?.group;
    let mut locations = threads.remove(&group).unwrap_or_default();
    locations.retain(|&location| location != master);
    locations.insert(0, master);
    let node = definitions.location_groups.get(&group).and_then(|group| definitions.nodes.get(&group.node));
    let host = node.map_or("", |&name| definitions.string(name)).to_owned();
    Ok(Process { host, locations })
}

/// The location that represents each rank: the list that MPI groups refer to, or the first thread of each process.
fn masters(definitions: &Definitions) -> Result<Vec<u64>, String> {
    let is_world = |group: &&Group| group.kind == group::COMM_LOCATIONS && group.paradigm == PARADIGM_MPI;
    if let Some(world) = definitions.groups.values().find(is_world) {
        let mut seen = HashSet::new();
        return match world.members.iter().find(|&member| !seen.insert(member)) {
            Some(twice) => Err(format!("location {twice} has two ranks")),
            None => Ok(world.members.clone()),
        };
    }
    let is_process =
        |group: u32| definitions.location_groups.get(&group).map(|group| group.kind) == Some(PROCESS_GROUP);
    let mut first = HashMap::new();
    for (&number, location) in definitions.locations.iter().filter(|(_, location)| is_process(location.group))
    {
        first.entry(location.group).or_insert(number);
    }
    let mut first: Vec<(u32, u64)> = first.into_iter().collect();
    first.sort_unstable();
    match first.is_empty() {
        true => Err("has no MPI processes".into()),
        false => Ok(first.into_iter().map(|(_, location)| location).collect()),
    }
}

/// The communicators of an archive, by the numbers of its events.
#[derive(Debug, Default)]
pub(super) struct Communicators {
    pub(super) all: Vec<Communicator>,
    entries: HashMap<u32, Entry>,
    own: HashMap<(u32, Rank), CommId>,
    /// Names of communicators of which each process has its own.
    own_names: HashMap<u32, String>,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    One(CommId),
    /// Each process has its own (MPI_COMM_SELF).
    Own,
}

impl Communicators {
    pub(super) fn new(definitions: &Definitions, processes: &[Process]) -> Result<Communicators, String> {
        let world = vec![Communicator::world(processes.len() as u32)];
        let mut building = Communicators { all: world, ..Communicators::default() };
        let members = Members::new(definitions, processes);
        let mut room = MOST_MEMBERS;
        let mut world_found = false;
        for (&number, comm) in &definitions.comms {
            let sides = members.sides(comm).map_err(|what| format!("communicator {number}: {what}"))?;
            let name = definitions.string(comm.name).to_owned();
            let Some((here, there)) = sides else {
                building.entries.insert(number, Entry::Own);
                building.own_names.insert(number, name);
                continue;
            };
            let used = here.len() + there.len();
            room = room.checked_sub(used).ok_or("has more communicator members than any run")?;
            let is_world = there.is_empty() && here.len() == processes.len() && is_identity(&here);
            if is_world && !world_found {
                world_found = true;
                if let Some(world) = building.all.first_mut() {
                    world.name = name;
                }
                building.entries.insert(number, Entry::One(WORLD));
            } else {
                building.add(number, name, here, there);
            }
        }
        building.set_parents(definitions);
        Ok(building)
    }

    fn add(&mut self, number: u32, name: String, here: Vec<Rank>, there: Vec<Rank>) {
        self.entries.insert(number, Entry::One(CommId(self.all.len() as u32)));
        self.all.push(Communicator { members: here, remote: there, name, ..Communicator::default() });
    }

    fn set_parents(&mut self, definitions: &Definitions) {
        for (number, comm) in &definitions.comms {
            let parent = match self.entries.get(&comm.parent) {
                Some(&Entry::One(parent)) => Some(parent),
                _ => None,
            };
            if let Some(&Entry::One(child)) = self.entries.get(number)
                && let Some(child) = self.all.get_mut(child.index())
            {
                child.parent = parent;
            }
        }
    }

    /// The communicator that a rank means by a number in the archive.
    pub(super) fn resolve(&mut self, number: u32, rank: Rank) -> Option<CommId> {
        match *self.entries.get(&number)? {
            Entry::One(comm) => Some(comm),
            Entry::Own => Some(*self.own.entry((number, rank)).or_insert_with(|| {
                let name = self.own_names.get(&number).cloned().unwrap_or_default();
                self.all.push(Communicator { members: vec![rank], name, ..Communicator::default() });
                CommId(self.all.len() as u32 - 1)
            })),
        }
    }
}

fn is_identity(members: &[Rank]) -> bool {
    members.iter().enumerate().all(|(place, &member)| place == member as usize)
}

/// The members of the local group, and of the remote group if there is one.
type Sides = (Vec<Rank>, Vec<Rank>);

/// Converts members of groups to ranks.
struct Members<'a> {
    definitions: &'a Definitions,
    processes: usize,
    rank_of: HashMap<u64, Rank>,
}

impl<'a> Members<'a> {
    fn new(definitions: &'a Definitions, processes: &[Process]) -> Members<'a> {
        let masters = processes.iter().filter_map(|process| process.locations.first().copied());
        let rank_of = masters.zip(0..).collect();
        Members { definitions, processes: processes.len(), rank_of }
    }

    /// Returns `None` for a communicator of which each process has its own.
    fn sides(&self, comm: &Comm) -> Result<Option<Sides>, String> {
        let Some(here) = self.get(comm.group)? else {
            return Ok(None);
        };
        let there = match comm.remote {
            Some(group) => self.get(group)?.unwrap_or_default(),
            None => Vec::new(),
        };
        Ok(Some((here, there)))
    }

    fn get(&self, number: u32) -> Result<Option<Vec<Rank>>, String> {
        let found = self.definitions.groups.get(&number);
        let found = found.ok_or_else(|| format!("group {number} is not defined"))?;
        if found.kind == group::COMM_SELF {
            return Ok(None);
        }
        let by_location = found.global_members || found.kind != group::COMM_GROUP;
        let rank = |&member: &u64| {
            if member == FOREIGN {
                return Ok(Rank::MAX);
            }
            let rank = if by_location { self.rank_of.get(&member).copied() } else { self.place(member) };
            rank.ok_or_else(|| format!("member {member} of group {number} is not a rank"))
        };
        found.members.iter().map(rank).collect::<Result<_, _>>().map(Some)
    }

    fn place(&self, member: u64) -> Option<Rank> {
        Rank::try_from(member).ok().filter(|&rank| (rank as usize) < self.processes)
    }
}
