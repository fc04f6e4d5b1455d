//! The processes of an MPI job as the members of a cluster that runs one simulation.
//!
//! Who sends to whom changes from one agreement to the next, and no member knows who sends to it.
//! So every member sends in synchronous mode, takes whatever arrives, and begins a nonblocking
//! reduction once its own messages have been received; when that completes, all messages before the
//! agreement have arrived (T. Hoefler, C. Siebert, A. Lumsdaine, "Scalable communication protocols
//! for dynamic sparse data exchange", PPoPP 2010). The reduction also combines the members' values.

use crate::communicator::Communicator;
use crate::own_thread::OwnThread;
use crate::session::Session;
use crate::wire::{self, BufferedMessage, Reduction};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use straggler_sim::cluster::{AGREED, Cluster};

/// The maximum number of bytes in a message.
const LARGEST: usize = 1 << 30;
/// Tags: of a complete message or the last piece of one, and of any other piece.
const LAST: i32 = 1;
const MORE: i32 = 2;

/// After this many polls without a message, the thread yields its core.
const LOOKS: u32 = 1000;

/// An MPI job as the cluster of a distributed simulation.
pub struct Job {
    local: OwnThread<Local>,
    rank: u32,
    size: u32,
    on_node: u32,
    hosts: Vec<String>,
}

/// State used only by the thread that initialised MPI.
struct Local {
    /// Communicators for messages before even and odd agreements: a member may be one agreement
    /// ahead of another, but never two.
    worlds: [Communicator; 2],
    agreements: Cell<usize>,
    /// Messages under way, in the order in which they were begun.
    sends: RefCell<VecDeque<BufferedMessage>>,
    receives: RefCell<VecDeque<BufferedMessage>>,
    /// Pieces of incomplete messages, by source.
    pieces: RefCell<HashMap<u32, Vec<u8>>>,
    /// For messages outside of agreements.
    talk: Communicator,
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
            local: OwnThread::new(Local {
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
    fn sound<T>(&self, result: wire::Result<T>) -> T {
        self.talk.mpi().sound(result)
    }

    fn world(&self) -> &Communicator {
        &self.worlds[self.agreements.get() % 2]
    }

    fn send(&self, to: u32, mut bytes: Vec<u8>) {
        let mut sends = self.sends.borrow_mut();
        let mut begin =
            |bytes, tag| sends.push_back(self.sound(BufferedMessage::send(self.world(), bytes, to, tag)));
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
        while let Some(letter) = self.sound(BufferedMessage::arriving(self.world())) {
            receives.push_back(letter);
            something = true;
        }
        // Only from the front, so that messages of one member are taken in order.
        while let Some(letter) = receives.front_mut() {
            if !self.sound(letter.test()) {
                break;
            }
            self.take(letter, take);
            receives.pop_front();
            something = true;
        }
        while let Some(letter) = sends.front_mut() {
            if !self.sound(letter.test()) {
                break;
            }
            sends.pop_front();
            something = true;
        }
        something
    }

    /// Hands over a message, or stores a piece of one.
    fn take(&self, letter: &mut BufferedMessage, take: &mut dyn FnMut(u32, Vec<u8>)) {
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

    fn agree(&self, own: [u64; AGREED], take: &mut dyn FnMut(u32, Vec<u8>)) -> [u64; AGREED] {
        let mut patience = Patience::default();
        while !self.sends.borrow().is_empty() {
            patience.after(self.progress(take));
        }
        let mut reduction = self.sound(Reduction::begin(self.world(), &own));
        let all = loop {
            if let Some(all) = self.sound(reduction.test()) {
                break all;
            }
            patience.after(self.progress(take));
        };
        // All messages have arrived, but some may still be on their way into memory.
        while !self.receives.borrow().is_empty() {
            patience.after(self.progress(take));
        }
        self.agreements.set(self.agreements.get() + 1);
        std::array::from_fn(|place| all.get(place).copied().unwrap_or_default())
    }
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

    fn agree(&self, own: [u64; AGREED], take: &mut dyn FnMut(u32, Vec<u8>)) -> [u64; AGREED] {
        self.local.agree(own, take)
    }

    fn gather(&self, own: &[u8]) -> Vec<Vec<u8>> {
        self.local.worlds[0].gather(own)
    }

    fn send_control(&self, to: u32, bytes: &[u8]) {
        self.local.talk.send(to, LAST, bytes);
    }

    fn receive_control(&self) -> Option<(u32, Vec<u8>)> {
        let mut letter = self.local.sound(BufferedMessage::arriving(&self.local.talk))?;
        while !self.local.sound(letter.test()) {}
        Some((letter.peer, letter.take_bytes()))
    }
}
