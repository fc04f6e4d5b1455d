//! A cluster whose members are threads.

use super::{AGREED, Cluster, Shares};
use std::collections::VecDeque;
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};

/// Sender and bytes.
type Envelope = (u32, Vec<u8>);

/// State shared by the members.
struct Room {
    barrier: Barrier,
    /// By receiver, as is `control`.
    letters: Vec<Mutex<Vec<Envelope>>>,
    control: Vec<Mutex<VecDeque<Envelope>>>,
    agreeing: Mutex<Vec<[u64; AGREED]>>,
    gathered: Mutex<Vec<Vec<u8>>>,
}

struct Member<'a> {
    room: &'a Room,
    rank: u32,
    shares: Option<&'a Shares>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cluster for Member<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.room.letters.len() as u32
    }

    fn on_node(&self) -> u32 {
        self.size()
    }

    fn name(&self, rank: u32) -> String {
        format!("thread {rank}")
    }

    fn send(&self, to: u32, bytes: Vec<u8>) {
        lock(&self.room.letters[to as usize]).push((self.rank, bytes));
    }

    fn poll(&self, take: &mut dyn FnMut(u32, Vec<u8>)) {
        let letters = std::mem::take(&mut *lock(&self.room.letters[self.rank as usize]));
        letters.into_iter().for_each(|(from, bytes)| take(from, bytes));
    }

    fn agree(&self, agreeing: [u64; AGREED], take: &mut dyn FnMut(u32, Vec<u8>)) -> [u64; AGREED] {
        lock(&self.room.agreeing)[self.rank as usize] = agreeing;
        self.room.barrier.wait();
        self.poll(take);
        let agreeing = lock(&self.room.agreeing).clone();
        self.room.barrier.wait();
        agreeing.into_iter().fold([0; AGREED], |a, b| std::array::from_fn(|number| a[number].max(b[number])))
    }

    fn shares(&self) -> Option<&Shares> {
        self.shares
    }

    fn gather(&self, own: &[u8]) -> Vec<Vec<u8>> {
        lock(&self.room.gathered)[self.rank as usize] = own.to_vec();
        self.room.barrier.wait();
        let all = lock(&self.room.gathered).clone();
        self.room.barrier.wait();
        all
    }

    fn send_control(&self, to: u32, bytes: &[u8]) {
        lock(&self.room.control[to as usize]).push_back((self.rank, bytes.to_vec()));
    }

    fn receive_control(&self) -> Option<(u32, Vec<u8>)> {
        lock(&self.room.control[self.rank as usize]).pop_front()
    }
}

/// Runs `one` on every member of a cluster of `size` threads of this process, for tests. If a member panics, the
/// others wait forever.
pub fn on_threads<T: Send>(size: u32, one: impl Fn(&dyn Cluster) -> T + Sync) -> Vec<T> {
    on_threads_sharing(size, None, one)
}

/// Like [`on_threads`], with `shares` to say which member runs which processes.
pub fn on_threads_sharing<T: Send>(
    size: u32,
    shares: Option<&Shares>,
    one: impl Fn(&dyn Cluster) -> T + Sync,
) -> Vec<T> {
    let room = Room {
        barrier: Barrier::new(size as usize),
        letters: (0..size).map(|_| Mutex::default()).collect(),
        control: (0..size).map(|_| Mutex::default()).collect(),
        agreeing: Mutex::new(vec![[0; AGREED]; size as usize]),
        gathered: Mutex::new(vec![Vec::new(); size as usize]),
    };
    std::thread::scope(|scope| {
        let member = |rank| {
            let (room, one) = (&room, &one);
            scope.spawn(move || one(&Member { room, rank, shares }))
        };
        let members: Vec<_> = (0..size).map(member).collect();
        let join = |member: std::thread::ScopedJoinHandle<'_, T>| {
            member.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        members.into_iter().map(join).collect()
    })
}
