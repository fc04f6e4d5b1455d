//! The global definitions: strings, regions, locations, groups and communicators, by the numbers that events use.

use super::bytes::{Cursor, Record, Records};
use super::error::Fault;
use super::ids::{PARADIGM_UNKNOWN, definition, group};
use std::collections::{BTreeMap, HashMap};
use straggler_trace::Function;

/// Longer names are cut, so that a small file whose entries share a long one does not need much memory.
const LONGEST_NAME: usize = 1000;

/// A function or block of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Region {
    pub(super) name: String,
    /// The MPI function it is; [`Function::Unknown`] for an MPI function without a name here; `None` for the user's.
    pub(super) function: Option<Function>,
    /// Who put it there: the user, the compiler, a library, or the recording tool.
    pub(super) paradigm: u8,
    /// Its source file; empty if unknown.
    pub(super) file: String,
}

/// A region, entered with a certain stack of callers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Context {
    pub(super) region: u32,
    /// The place in its own source that it had reached when it made the next call; undefined for wrapped functions.
    pub(super) source: u32,
    /// The context that called it.
    pub(super) parent: u32,
}

/// A process, or anything else that holds locations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LocationGroup {
    pub(super) kind: u8,
    pub(super) node: u32,
}

/// A thread, or anything else that has events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Location {
    pub(super) kind: u8,
    pub(super) events: u64,
    pub(super) group: u32,
}

/// A list of locations, or of indices into such a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    pub(super) kind: u8,
    pub(super) paradigm: u8,
    pub(super) global_members: bool,
    pub(super) members: Vec<u64>,
}

/// A communicator, by its groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Comm {
    pub(super) name: u32,
    pub(super) group: u32,
    /// The second group of an intercommunicator.
    pub(super) remote: Option<u32>,
    pub(super) parent: u32,
}

/// The contents of the global definitions, as far as needed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Definitions {
    pub(super) ticks_per_second: u64,
    pub(super) strings: HashMap<u32, String>,
    /// Names of the nodes of the system tree.
    pub(super) nodes: HashMap<u32, u32>,
    pub(super) location_groups: BTreeMap<u32, LocationGroup>,
    pub(super) locations: BTreeMap<u64, Location>,
    pub(super) regions: HashMap<u32, Region>,
    pub(super) groups: BTreeMap<u32, Group>,
    pub(super) comms: BTreeMap<u32, Comm>,
    pub(super) contexts: HashMap<u32, Context>,
    /// File and line of each place in the source.
    pub(super) sources: HashMap<u32, (u32, u32)>,
    /// The names of parameters.
    pub(super) parameters: HashMap<u32, u32>,
}

impl Definitions {
    pub(super) fn parse(bytes: &[u8], chunk_size: u64) -> Result<Definitions, Fault> {
        let mut records = Records::of_definitions(bytes, chunk_size)?;
        let mut all = Definitions::default();
        let mut regions = Vec::new();
        while let Some(Record { id, mut body, .. }) = records.next()? {
            if id == definition::REGION {
                let (own, name, _description) = (body.u32()?, body.u32()?, body.u32()?);
                let (_kind, file, _begin, _end) = (body.u8()?, body.u32()?, body.u32()?, body.u32()?);
                // Version 1.0 ended here.
                let paradigm = if body.is_empty() {
                    PARADIGM_UNKNOWN
                } else {
                    let (_canonical, _role) = (body.u32()?, body.u8()?);
                    body.u8()?
                };
                regions.push((own, name, paradigm, file));
            } else {
                all.add(id, &mut body)?;
            }
        }
        if all.ticks_per_second == 0 {
            return Err(Fault::new(0, "does not state the ticks per second of its clock"));
        }
        // All names are known only now.
        for (region, name, paradigm, file) in regions {
            let name = all.string(name).trim_end_matches("()").trim().to_owned();
            let function = function(&name);
            let file = all.string(file).to_owned();
            all.regions.insert(region, Region { name, function, paradigm, file });
        }
        Ok(all)
    }

    /// Reads one record. Unused records, and fields that later versions append, are skipped.
    fn add(&mut self, id: u8, body: &mut Cursor<'_>) -> Result<(), Fault> {
        match id {
            definition::CLOCK => self.ticks_per_second = body.u64()?,
            definition::STRING => {
                let (own, text) = (body.u32()?, body.text()?);
                self.strings.insert(own, text.chars().take(LONGEST_NAME).collect());
            }
            definition::SYSTEM_TREE_NODE => drop(self.nodes.insert(body.u32()?, body.u32()?)),
            definition::LOCATION_GROUP => {
                let (own, _name) = (body.u32()?, body.u32()?);
                self.location_groups.insert(own, LocationGroup { kind: body.u8()?, node: body.u32()? });
            }
            definition::LOCATION => {
                let (own, _name) = (body.u64()?, body.u32()?);
                let location = Location { kind: body.u8()?, events: body.u64()?, group: body.u32()? };
                self.locations.insert(own, location);
            }
            definition::GROUP => {
                let own = body.u32()?;
                self.groups.insert(own, read_group(body)?);
            }
            definition::COMM => {
                let (own, name, group, parent) = (body.u32()?, body.u32()?, body.u32()?, body.u32()?);
                self.comms.insert(own, Comm { name, group, remote: None, parent });
            }
            definition::INTER_COMM => {
                let (own, name, group, remote) = (body.u32()?, body.u32()?, body.u32()?, body.u32()?);
                self.comms.insert(own, Comm { name, group, remote: Some(remote), parent: body.u32()? });
            }
            definition::PARAMETER => drop(self.parameters.insert(body.u32()?, body.u32()?)),
            definition::SOURCE_CODE_LOCATION => {
                let own = body.u32()?;
                self.sources.insert(own, (body.u32()?, body.u32()?));
            }
            definition::CALLING_CONTEXT => {
                let own = body.u32()?;
                let context = Context { region: body.u32()?, source: body.u32()?, parent: body.u32()? };
                self.contexts.insert(own, context);
            }
            _ => {}
        }
        Ok(())
    }

    /// Looks up a string; empty if there is none.
    pub(super) fn string(&self, number: u32) -> &str {
        self.strings.get(&number).map_or("", String::as_str)
    }
}

fn read_group(body: &mut Cursor<'_>) -> Result<Group, Fault> {
    let (_name, old_kind, count) = (body.u32()?, body.u8()?, body.u32()?);
    let mut members = Vec::with_capacity((count as usize).min(body.left()));
    for _ in 0..count {
        members.push(body.u64()?);
    }
    if !body.is_empty() {
        let (kind, paradigm, flags) = (body.u8()?, body.u8()?, body.u32()?);
        let global_members = flags != u32::MAX && flags & group::GLOBAL_MEMBERS != 0;
        return Ok(Group { kind, paradigm, global_members, members });
    }
    // Before version 1.2 the kind said that it was an MPI group, and nothing followed the members.
    let kind = match old_kind {
        4 => group::COMM_GROUP,
        5 => group::COMM_SELF,
        6 => group::COMM_LOCATIONS,
        _ => 0,
    };
    Ok(Group { kind, paradigm: super::ids::PARADIGM_MPI, global_members: false, members })
}

/// The MPI function with the name of a region. Parentheses that TAU appends have been removed before.
fn function(name: &str) -> Option<Function> {
    let is_mpi = name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("MPI_"));
    is_mpi.then(|| Function::named(name).unwrap_or(Function::Unknown))
}
