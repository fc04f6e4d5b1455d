//! The processes of an MPI job as the members of a cluster that runs one simulation.
//!
//! Who sends to whom changes from one agreement to the next, and no member knows who sends to it.
//! So every member sends in synchronous mode, takes whatever arrives, and begins a nonblocking
//! reduction once its own messages have been received; when that completes, all messages before the
//! agreement have arrived (T. Hoefler, C. Siebert, A. Lumsdaine, "Scalable communication protocols
//! for dynamic sparse data exchange", PPoPP 2010). The reduction also combines the members' values.

use crate::session::Session;
use crate::wire::{Fault, Letter};
use mpi::Count;
use mpi::collective::SystemOperation;
use mpi::datatype::{Equivalence, PartitionMut};
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::CommunicatorCollectives;
use send_wrapper::SendWrapper;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use straggler_sim::cluster::{Cluster, SAID};

/// The maximum number of bytes in a message.
const LARGEST: usize = 1 << 30;
/// Tags: of a complete message or the last piece of one, and of any other piece.
const LAST: i32 = 1;
const MORE: i32 = 2;

/// After this many polls without a message, the thread yields its core.
const LOOKS: u32 = 1000;

pub struct Job {
    local: SendWrapper<Local>,
    rank: u32,
    size: u32,
    on_node: u32,
    hosts: Vec<String>,
}

/// State used only by the thread that initialised MPI.
struct Local {
    /// Communicators for messages before even and odd agreements: a member may be one agreement
    /// ahead of another, but never two.
    worlds: [SimpleCommunicator; 2],
    agreements: Cell<usize>,
    /// Messages under way, in the order in which they were begun.
    sends: RefCell<VecDeque<Letter>>,
    receives: RefCell<VecDeque<Letter>>,
    /// Pieces of incomplete messages, by source.
    pieces: RefCell<HashMap<u32, Vec<u8>>>,
    /// For messages outside of agreements.
    talk: SimpleCommunicator,
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
                agreements: Cell::new(0),
                sends: RefCell::default(),
                receives: RefCell::default(),
                pieces: RefCell::default(),
                talk: session.world.duplicate(),
            }),
            rank: session.rank,
            size: session.size,
            on_node: session.processes.iter().filter(|process| process.node == own).count() as u32,
            hosts,
        }
    }
}

impl Local {
    fn world(&self) -> &SimpleCommunicator {
        &self.worlds[self.agreements.get() % 2]
    }

    fn send(&self, to: u32, mut bytes: Vec<u8>) {
        let mut sends = self.sends.borrow_mut();
        let mut begin = |bytes, tag| sends.push_back(sound(Letter::send(self.world(), bytes, to, tag)));
        while bytes.len() > LARGEST {
            let rest = bytes.split_off(LARGEST);
            begin(std::mem::replace(&mut bytes, rest), MORE);
        }
        begin(bytes, LAST);
    }

    /// Begins to receive messages that have arrived, hands over complete ones, and drops completed
    /// sends. Returns whether there was anything to do.
    fn progress(&self, take: &mut dyn FnMut(u32, Vec<u8>)) -> bool {
        let (mut sends, mut receives) = (self.sends.borrow_mut(), self.receives.borrow_mut());
        let mut something = false;
        while let Some(letter) = sound(Letter::arriving(self.world())) {
            receives.push_back(letter);
            something = true;
        }
        // Only from the front, so that messages of one member are taken in order.
        while let Some(letter) = receives.front_mut() {
            if !sound(letter.test()) {
                break;
            }
            self.take(letter, take);
            receives.pop_front();
            something = true;
        }
        while let Some(letter) = sends.front_mut() {
            if !sound(letter.test()) {
                break;
            }
            sends.pop_front();
            something = true;
        }
        something
    }

    /// Hands over a message, or stores a piece of one.
    fn take(&self, letter: &mut Letter, take: &mut dyn FnMut(u32, Vec<u8>)) {
        let mut bytes = letter.take_bytes();
        let mut pieces = self.pieces.borrow_mut();
        if letter.tag == MORE || !pieces.is_empty() && pieces.contains_key(&letter.peer) {
            pieces.entry(letter.peer).or_default().append(&mut bytes);
            if letter.tag == MORE {
                return;
            }
            bytes = pieces.remove(&letter.peer).unwrap_or_default();
        }
        take(letter.peer, bytes);
    }

    fn agree(&self, said: [u64; SAID], take: &mut dyn FnMut(u32, Vec<u8>)) -> [u64; SAID] {
        let (own, mut all) = (said.map(signed), [0i64; SAID]);
        let mut patience = Patience::default();
        while !self.sends.borrow().is_empty() {
            patience.after(self.progress(take));
        }
        mpi::request::scope(|scope| {
            let mut reduction =
                self.world().immediate_all_reduce_into(scope, &own[..], &mut all[..], SystemOperation::max());
            while let Err(unfinished) = reduction.test() {
                reduction = unfinished;
                patience.after(self.progress(take));
            }
        });
        // All messages have arrived, but some may still be on their way into memory.
        while !self.receives.borrow().is_empty() {
            patience.after(self.progress(take));
        }
        self.agreements.set(self.agreements.get() + 1);
        all.map(unsigned)
    }
}

/// MPICH 4.0 compares large unsigned numbers as if they were signed, so they are reduced as signed
/// numbers in the same order.
fn signed(number: u64) -> i64 {
    (number ^ 1 << 63) as i64
}

fn unsigned(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// The result of an MPI call. Aborts on failure, since a cluster cannot go on without its messages.
fn sound<T>(result: Result<T, Fault>) -> T {
    result.unwrap_or_else(|Fault { call, text }| {
        eprintln!("error: {call}: {text}");
        std::process::abort()
    })
}

/// Yields the core when nothing happens for long.
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

    fn send(&self, to: u32, bytes: Vec<u8>) {
        self.local.send(to, bytes);
    }

    fn poll(&self, take: &mut dyn FnMut(u32, Vec<u8>)) {
        self.local.progress(take);
    }

    fn agree(&self, said: [u64; SAID], take: &mut dyn FnMut(u32, Vec<u8>)) -> [u64; SAID] {
        self.local.agree(said, take)
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
