//! Several processes that run one simulation together, each with a share of the simulated processes.
//!
//! The engine uses a cluster only through this trait: `straggler mpi` implements it with MPI, tests with threads. A
//! caller must call the same functions with the same workload on every member. All members get the same numbers, and
//! each gets the finish times of its own share.

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
    /// A name for users: the member's number and its host.
    fn name(&self, rank: u32) -> String;
    /// Starts to send bytes to a member, which has received them by the end of the next agreement.
    fn send(&self, to: u32, bytes: Vec<u8>);
    /// Takes what has arrived from other members so far, for each sender in the order of sending.
    fn poll(&self, take: &mut dyn FnMut(u32, Vec<u8>));
    /// Waits for all members, and takes the rest of what they have sent since the last agreement. Returns the maximum
    /// of each number over all members.
    fn agree(&self, own: [u64; AGREED], take: &mut dyn FnMut(u32, Vec<u8>)) -> [u64; AGREED];
    /// Which member runs which processes; by default each runs a range of neighbours.
    fn shares(&self) -> Option<&Shares> {
        None
    }
    /// Gathers the bytes of every member, by its number, on all members.
    fn gather(&self, own: &[u8]) -> Vec<Vec<u8>>;
    /// Sends a few bytes to a member, which gets them from [`Cluster::receive_control`] at any time.
    fn send_control(&self, to: u32, bytes: &[u8]);
    /// Returns the next bytes of such a message, if any; those of one member come in order.
    fn receive_control(&self) -> Option<(u32, Vec<u8>)>;
}

/// Which member runs which processes, in blocks of 2^`shift` processes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shares {
    pub shift: u32,
    /// The member of each block.
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

/// How many numbers an agreement combines.
pub const AGREED: usize = 2;

impl dyn Cluster + '_ {
    /// Like [`Cluster::gather`], with values.
    pub fn gather_values<T: Serialize + DeserializeOwned>(&self, own: &T) -> Result<Vec<T>, postcard::Error> {
        let bytes = postcard::to_allocvec(own)?;
        self.gather(&bytes).iter().map(|bytes| postcard::from_bytes(bytes)).collect()
    }

    /// Like [`Cluster::send_control`], with a value.
    pub fn send_control_value(&self, to: u32, value: &impl Serialize) -> Result<(), postcard::Error> {
        self.send_control(to, &postcard::to_allocvec(value)?);
        Ok(())
    }

    /// Like [`Cluster::receive_control`], with a value.
    pub fn receive_control_value<T: DeserializeOwned>(&self) -> Result<Option<(u32, T)>, postcard::Error> {
        self.receive_control().map(|(from, bytes)| Ok((from, postcard::from_bytes(&bytes)?))).transpose()
    }

    /// Collects the values of all members, by number, on the first one; the others get nothing.
    pub fn collect_values<T: Serialize + DeserializeOwned>(
        &self,
        own: &T,
    ) -> Result<Vec<T>, postcard::Error> {
        let mut all: Vec<(u32, Vec<u8>)> = Vec::new();
        self.send(0, postcard::to_allocvec(own)?);
        self.agree([0; AGREED], &mut |from, bytes| all.push((from, bytes)));
        all.sort_by_key(|&(from, _)| from);
        all.iter().map(|(_, bytes)| postcard::from_bytes(bytes)).collect()
    }

    /// The maximum of a number over all members.
    pub fn largest(&self, own: u64) -> u64 {
        self.agree([own; AGREED], &mut |_, _| ())[0]
    }
}
