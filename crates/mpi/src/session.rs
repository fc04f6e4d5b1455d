//! The processes of a job: where each of them runs, and how they agree.

use crate::communicator::Communicator;
use crate::process::Mpi;
use crate::wire::Reduction;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use straggler_measure::latency::place;
use straggler_measure::{cores, timer};
use straggler_model::latency::Process;
use straggler_model::provenance::Timer;

/// The switches above this node, if Slurm knows them.
fn switch() -> Option<String> {
    let [address, pattern] =
        ["SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN"].map(|name| std::env::var(name).ok());
    straggler_model::switches::of_slurm(&address?, &pattern?)
}

/// The maximum number of bytes in a message.
const CHUNK: usize = 1 << 28;

/// How long an idle process sleeps between two checks.
const NAP: Duration = Duration::from_micros(200);

/// An error on this process that the others do not know of: the job must be ended.
#[derive(Debug)]
pub struct Alone(String);

impl std::fmt::Display for Alone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Alone {}

/// Marks an error as one that other processes do not have.
pub fn alone(error: impl std::fmt::Display) -> anyhow::Error {
    Alone(error.to_string()).into()
}

/// This process in its job.
#[derive(Debug)]
pub struct Session {
    pub world: Communicator,
    /// Set when a signal asks for an orderly end.
    stop: &'static AtomicBool,
    pub rank: u32,
    pub size: u32,
    pub timer: Timer,
    /// Indexed by rank.
    pub processes: Vec<Process>,
    /// For each process, its number among those of its node.
    pub local: Vec<u32>,
    /// Whether some process may be moved between cores.
    pub unbound: bool,
}

impl Session {
    /// All processes of the job; all must call it. `stop` is set when a signal arrives.
    pub fn new(mpi: &Rc<Mpi>, stop: &'static AtomicBool) -> Result<Session> {
        let world = Communicator::world(mpi);
        let (rank, size) = (world.rank(), world.size());
        let timer =
            timer::examine().map_err(|error| alone(format!("the timer cannot be calibrated: {error}")))?;
        let bound = cores::allowed().is_ok_and(|cores| cores.len() == 1);
        let core = rustix::thread::sched_getcpu();
        let mut own = place(Path::new("/"), rank, Some(mpi.host()), u32::try_from(core).unwrap_or_default());
        own.switch = switch();
        let mut session = Session {
            world,
            stop,
            rank,
            size,
            timer,
            processes: Vec::new(),
            local: Vec::new(),
            unbound: false,
        };
        session.unbound = session.any(!bound);
        session.processes = session.gather_all(&own)?;
        session.number_nodes();
        Ok(session)
    }

    /// Numbers the nodes in the order of their first processes.
    fn number_nodes(&mut self) {
        let mut nodes: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for process in &mut self.processes {
            let next = nodes.len() as u32;
            let (node, count) = nodes.entry(process.host.clone().unwrap_or_default()).or_insert((next, 0));
            process.node = Some(*node);
            self.local.push(*count);
            *count += 1;
        }
    }

    pub fn nodes(&self) -> u32 {
        self.processes.iter().filter_map(|process| process.node).max().map_or(1, |last| last + 1)
    }

    /// The largest number of processes on a node.
    pub fn most_on_a_node(&self) -> u32 {
        self.local.iter().max().map_or(1, |last| last + 1)
    }

    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    pub(crate) fn stop(&self) -> &'static AtomicBool {
        self.stop
    }

    /// Whether this process was told to stop; others may not have been.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the condition holds on any process. All must call it.
    pub fn any(&self, own: bool) -> bool {
        self.world.largest(&[u64::from(own)]) != [0]
    }

    /// Like [`Session::any`], but an idle process sleeps while it waits instead of keeping a core
    /// busy. MPI requires all processes to use the same one of the two.
    pub fn any_of(&self, own: bool, idle: bool) -> bool {
        self.largest_of(u8::from(own), idle) > 0
    }

    /// The largest value of all processes. An idle process sleeps until the others arrive.
    pub fn largest_of(&self, own: u8, idle: bool) -> u8 {
        let mpi = self.world.mpi();
        let mut reduction = mpi.sound(Reduction::begin(&self.world, &[u64::from(own)]));
        loop {
            if let Some(all) = mpi.sound(reduction.test()) {
                return all.first().copied().unwrap_or_default() as u8;
            }
            if idle {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Gathers the values of all processes on every process, by rank.
    pub fn gather_all<T: serde::Serialize + serde::de::DeserializeOwned>(&self, own: &T) -> Result<Vec<T>> {
        let bytes = serde_json::to_vec(own)?;
        self.world.gather(&bytes).iter().map(|bytes| Ok(serde_json::from_slice(bytes)?)).collect()
    }

    /// Merges the values of all processes up a tree to rank 0; the others get `None`. No process
    /// holds more than the result and one more value.
    pub fn merge<T: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        mut own: T,
        merge: impl Fn(&mut T, T) -> Result<()>,
    ) -> Result<Option<T>> {
        let mut distance = 1;
        while distance < self.size {
            if self.rank & distance != 0 {
                let bytes = serde_json::to_vec(&own).map_err(alone)?;
                self.send_bytes(self.rank - distance, &bytes);
                return Ok(None);
            }
            if self.rank + distance < self.size {
                let bytes = self.receive_bytes(self.rank + distance);
                let theirs = serde_json::from_slice(&bytes).map_err(alone)?;
                drop(bytes);
                merge(&mut own, theirs).map_err(alone)?;
            }
            distance *= 2;
        }
        Ok(Some(own))
    }

    /// Collects the bytes of each process up a tree to rank 0, in the order of the ranks; the
    /// others get `None`. No process holds more than what passes through it.
    pub fn collect(&self, own: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut all = (own.len() as u64).to_le_bytes().to_vec();
        all.extend_from_slice(own);
        let mut distance = 1;
        while distance < self.size {
            if self.rank & distance != 0 {
                self.send_bytes(self.rank - distance, &all);
                return None;
            }
            if self.rank + distance < self.size {
                all.append(&mut self.receive_bytes(self.rank + distance));
            }
            distance *= 2;
        }
        Some(pieces(&all))
    }

    /// Sends any number of bytes, in pieces: an MPI message has at most 2^31.
    fn send_bytes(&self, to: u32, bytes: &[u8]) {
        self.world.send_number(to, bytes.len() as u64);
        bytes.chunks(CHUNK).for_each(|chunk| self.world.send(to, 0, chunk));
    }

    fn receive_bytes(&self, from: u32) -> Vec<u8> {
        let mut bytes = vec![0; self.world.receive_number(from) as usize];
        bytes.chunks_mut(CHUNK).for_each(|chunk| self.world.receive(from, 0, chunk));
        bytes
    }

    /// The name of the MPI library, as it states it.
    pub fn library(&self) -> String {
        self.world.mpi().library.clone()
    }
}

/// Splits bytes into pieces, each of which is preceded by its length.
fn pieces(mut all: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    while let Some((length, rest)) = all.split_first_chunk::<8>() {
        let length = (u64::from_le_bytes(*length) as usize).min(rest.len());
        let (piece, rest) = rest.split_at(length);
        pieces.push(piece.to_vec());
        all = rest;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_cut_where_they_were_joined() {
        let mut all = Vec::new();
        for piece in [&b"ab"[..], b"", b"c"] {
            all.extend_from_slice(&(piece.len() as u64).to_le_bytes());
            all.extend_from_slice(piece);
        }
        assert_eq!(pieces(&all), [b"ab".to_vec(), Vec::new(), b"c".to_vec()]);
    }
}
