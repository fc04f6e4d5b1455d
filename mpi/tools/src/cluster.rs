//! The processes of an MPI job as the members of a cluster that runs one simulation.
//!
//! Who sends to whom changes from one exchange to the next, and nobody knows who sends to it. So everybody sends in synchronous
//! mode, takes whatever comes, and begins a nonblocking reduction once its own messages have been taken; when that ends,
//! all messages of the exchange have arrived (T. Hoefler, C. Siebert, A. Lumsdaine, "Scalable communication protocols for
//! dynamic sparse data exchange", PPoPP 2010). The reduction also combines what the members say.

use crate::session::Session;
use mpi::Count;
use mpi::collective::SystemOperation;
use mpi::datatype::{Equivalence, PartitionMut};
use mpi::point_to_point::{Destination, Source};
use mpi::request::{Request, Scope};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::CommunicatorCollectives;
use send_wrapper::SendWrapper;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use straggler_sim::cluster::{Cluster, SAID};

/// Bytes of one message at most.
const LARGEST: usize = 1 << 30;
/// The tags of a message that is whole, or the end of one, and of a piece that is not the last.
const LAST: i32 = 1;
const MORE: i32 = 2;

/// After so many looks at nothing the core is left to others for a moment.
const LOOKS: u32 = 1000;

pub struct Job {
    local: SendWrapper<Local>,
    rank: u32,
    size: u32,
    on_node: u32,
    hosts: Vec<String>,
}

/// What only the thread that initialised MPI uses.
struct Local {
    /// Messages of even and odd exchanges: a member may be one exchange ahead of another, and never two.
    worlds: [SimpleCommunicator; 2],
    exchanges: Cell<usize>,
    /// What members tell each other outside of exchanges.
    talk: SimpleCommunicator,
    /// Pieces of messages that are not complete, by their source.
    pieces: RefCell<HashMap<i32, Vec<u8>>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Job {
    pub fn new(session: &Session) -> Job {
        let own = session.processes[session.rank as usize].node;
        let hosts =
            session.processes.iter().map(|process| process.host.clone().unwrap_or_default()).collect();
        Job {
            local: SendWrapper::new(Local {
                worlds: [session.world.duplicate(), session.world.duplicate()],
                exchanges: Cell::new(0),
                talk: session.world.duplicate(),
                pieces: RefCell::default(),
            }),
            rank: session.rank,
            size: session.size,
            on_node: session.processes.iter().filter(|process| process.node == own).count() as u32,
            hosts,
        }
    }
}

impl Local {
    /// Takes a message that has come, if there is one. Says whether there was.
    fn take_one(&self, world: &SimpleCommunicator, take: &mut dyn FnMut(u32, Vec<u8>)) -> bool {
        let Some((message, status)) = world.any_process().immediate_matched_probe() else { return false };
        let mut bytes = vec![0; status.count(u8::equivalent_datatype()) as usize];
        message.matched_receive_into(&mut bytes[..]);
        let source = status.source_rank();
        let mut pieces = self.pieces.borrow_mut();
        if status.tag() == MORE || !pieces.is_empty() && pieces.contains_key(&source) {
            pieces.entry(source).or_default().append(&mut bytes);
            if status.tag() == MORE {
                return true;
            }
            bytes = pieces.remove(&source).unwrap_or_default();
        }
        drop(pieces);
        take(source as u32, bytes);
        true
    }
}

/// MPICH 4.0 compares large unsigned numbers as if they had a sign: they are reduced as signed ones of the same order.
fn signed(number: u64) -> i64 {
    (number ^ 1 << 63) as i64
}

fn unsigned(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// Begins to send.
fn begin<'a, S: Scope<'a> + Copy>(
    world: &SimpleCommunicator,
    scope: S,
    outgoing: &'a [(u32, Vec<u8>)],
) -> Vec<Request<'a, [u8], S>> {
    let mut sends = Vec::with_capacity(outgoing.len());
    for (to, bytes) in outgoing {
        let to = world.process_at_rank(*to as i32);
        let count = bytes.len().div_ceil(LARGEST).max(1);
        for (number, piece) in (1..).zip(bytes.chunks(LARGEST)) {
            let tag = if number == count { LAST } else { MORE };
            sends.push(to.immediate_synchronous_send_with_tag(scope, piece, tag));
        }
    }
    sends
}

/// Lets others have the core where nothing happens for long.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    fn after(&mut self, something: bool) {
        self.0 = if something { 0 } else { self.0 + 1 };
        if self.0 >= LOOKS {
            self.0 = 0;
            std::thread::yield_now();
        }
    }
}

impl Cluster for Job {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn on_node(&self) -> u32 {
        self.on_node
    }

    fn name(&self, rank: u32) -> String {
        match self.hosts.get(rank as usize).map(String::as_str) {
            None | Some("") => format!("rank {rank}"),
            Some(host) => format!("rank {rank} on {host}"),
        }
    }

    fn exchange(
        &self,
        outgoing: Vec<(u32, Vec<u8>)>,
        meanwhile: &mut dyn FnMut() -> [u64; SAID],
        take: &mut dyn FnMut(u32, Vec<u8>),
    ) -> [u64; SAID] {
        let local = &*self.local;
        let number = local.exchanges.replace(local.exchanges.get() + 1);
        let world = &local.worlds[number % 2];
        let (mut own, mut all) = ([0i64; SAID], [0i64; SAID]);
        let mut patience = Patience::default();
        mpi::request::scope(|scope| {
            let mut sends = begin(world, scope, &outgoing);
            own = meanwhile().map(signed);
            while let Some(send) = sends.pop() {
                if let Err(unfinished) = send.test() {
                    sends.push(unfinished);
                    patience.after(local.take_one(world, take));
                }
            }
        });
        mpi::request::scope(|scope| {
            let mut reduction =
                world.immediate_all_reduce_into(scope, &own[..], &mut all[..], SystemOperation::max());
            while let Err(unfinished) = reduction.test() {
                reduction = unfinished;
                patience.after(local.take_one(world, take));
            }
        });
        all.map(unsigned)
    }

    fn gather(&self, own: &[u8]) -> Vec<Vec<u8>> {
        let world = &self.local.worlds[0];
        let mut lengths = vec![0 as Count; self.size as usize];
        world.all_gather_into(&(own.len() as Count), &mut lengths[..]);
        let starts: Vec<Count> = lengths
            .iter()
            .scan(0, |sum, &length| {
                *sum += length;
                Some(*sum - length)
            })
            .collect();
        let mut all = vec![0u8; lengths.iter().map(|&length| length as usize).sum()];
        let mut parts = PartitionMut::new(&mut all[..], &lengths[..], &starts[..]);
        world.all_gather_varcount_into(own, &mut parts);
        let part =
            |(&start, &length): (&Count, &Count)| all[start as usize..(start + length) as usize].to_vec();
        starts.iter().zip(&lengths).map(part).collect()
    }
    fn tell(&self, to: u32, bytes: &[u8]) {
        self.local.talk.process_at_rank(to as i32).send(bytes);
    }

    fn hear(&self) -> Option<(u32, Vec<u8>)> {
        let (message, status) = self.local.talk.any_process().immediate_matched_probe()?;
        let mut bytes = vec![0; status.count(u8::equivalent_datatype()) as usize];
        message.matched_receive_into(&mut bytes[..]);
        Some((status.source_rank() as u32, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_order() {
        let numbers = [0, 1, 7, i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX];
        assert!(numbers.windows(2).all(|pair| signed(pair[0]) < signed(pair[1])));
        assert!(numbers.iter().all(|&number| unsigned(signed(number)) == number));
    }
}
