//! Several processes that run one simulation together, each with a share of the simulated processes.
//!
//! The engine knows a cluster only by this trait: `straggler-mpi` implements it with MPI, tests with threads. Whoever runs on a
//! cluster calls the same functions with the same workload on every member of it; all of them get the same numbers, and each
//! the finish times of its own share.

mod threads;

pub use threads::{on_threads, on_threads_sharing};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use straggler_model::Rank;

/// The members of a job, seen from one of them. Only the thread that began a run calls these functions.
pub trait Cluster: Sync {
    /// The number of this member.
    fn rank(&self) -> u32;
    fn size(&self) -> u32;
    /// How many members share the memory of this one's node, itself included.
    fn on_node(&self) -> u32;
    /// What people call a member: its number and its host.
    fn name(&self, rank: u32) -> String;
    /// Begins to send bytes to a member, which has taken them when the next agreement is over.
    fn send(&self, to: u32, bytes: Vec<u8>);
    /// Takes what other members have sent and has come by now, for each sender in the order of sending.
    fn poll(&self, take: &mut dyn FnMut(u32, Vec<u8>));
    /// Waits for all members, and takes the rest of what they have sent since the last agreement. What all of them say is combined:
    /// the largest of each number.
    fn agree(&self, said: [u64; SAID], take: &mut dyn FnMut(u32, Vec<u8>)) -> [u64; SAID];
    /// Who runs which processes; neighbours are together unless this says otherwise.
    fn shares(&self) -> Option<&Shares> {
        None
    }
    /// What each member has, by its number. Everybody gets it.
    fn gather(&self, own: &[u8]) -> Vec<Vec<u8>>;
    /// Sends a few bytes to a member, which [`Cluster::hear`]s of them at any time.
    fn tell(&self, to: u32, bytes: &[u8]);
    /// What a member has told this one, if there is anything; what one member tells comes in its order.
    fn hear(&self) -> Option<(u32, Vec<u8>)>;
}

/// Who runs which processes: blocks of 2^`shift` of them each have a member.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shares {
    pub shift: u32,
    /// By block.
    pub members: Vec<u32>,
}

impl Shares {
    /// The ranks of a member, in order, for this number of processes.
    pub fn ranks(&self, member: u32, processes: u32) -> Vec<Range<Rank>> {
        let edge = |block: usize| {
            (block as u64).checked_shl(self.shift).map_or(processes, |edge| edge.min(processes.into()) as u32)
        };
        let mut ranks: Vec<Range<Rank>> = Vec::new();
        for block in (0..self.members.len()).filter(|&block| self.members[block] == member) {
            match ranks.last_mut() {
                Some(last) if last.end == edge(block) => last.end = edge(block + 1),
                _ => ranks.push(edge(block)..edge(block + 1)),
            }
        }
        ranks
    }
}

/// How many numbers are combined in an agreement.
pub const SAID: usize = 2;

impl dyn Cluster + '_ {
    /// The same as [`Cluster::gather`] with values.
    pub fn gather_values<T: Serialize + DeserializeOwned>(&self, own: &T) -> Result<Vec<T>, postcard::Error> {
        let bytes = postcard::to_allocvec(own)?;
        self.gather(&bytes).iter().map(|bytes| postcard::from_bytes(bytes)).collect()
    }

    /// The same as [`Cluster::tell`] with a value.
    pub fn tell_value(&self, to: u32, value: &impl Serialize) -> Result<(), postcard::Error> {
        self.tell(to, &postcard::to_allocvec(value)?);
        Ok(())
    }

    /// The same as [`Cluster::hear`] with a value.
    pub fn hear_value<T: DeserializeOwned>(&self) -> Result<Option<(u32, T)>, postcard::Error> {
        self.hear().map(|(from, bytes)| Ok((from, postcard::from_bytes(&bytes)?))).transpose()
    }

    /// What each member has, by its number, for the first one; the others get nothing.
    pub fn collect_values<T: Serialize + DeserializeOwned>(
        &self,
        own: &T,
    ) -> Result<Vec<T>, postcard::Error> {
        let mut all: Vec<(u32, Vec<u8>)> = Vec::new();
        self.send(0, postcard::to_allocvec(own)?);
        self.agree([0; SAID], &mut |from, bytes| all.push((from, bytes)));
        all.sort_by_key(|&(from, _)| from);
        all.iter().map(|(_, bytes)| postcard::from_bytes(bytes)).collect()
    }

    /// The largest of what each member has.
    pub fn largest(&self, own: u64) -> u64 {
        self.agree([own; SAID], &mut |_, _| ())[0]
    }
}
