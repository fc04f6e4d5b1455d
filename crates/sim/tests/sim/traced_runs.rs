//! Random traces of programs that could have run. Communication is drawn in one global order, and every rank
//! makes its calls in that order, so that no program deadlocks.

use straggler_model::Time;
use straggler_model::philox::Stream;
use straggler_trace::call::{NO_COMM, special};
use straggler_trace::{
    Call, CommId, Communicator, Completed, Details, Function, Matched, Neighbors, RankTrace, Rare, Repeated,
    RequestId, Trace,
};

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub seed: u64,
    pub ranks: u32,
    pub threads: u64,
    pub events: u32,
    /// Whether times are multiples of a microsecond, so that many events coincide.
    pub coarse: bool,
    pub largest: u64,
}

#[derive(Clone, Default)]
struct Rank {
    trace: RankTrace,
    clock: u64,
    requests: RequestId,
    /// Requests that are not complete, with the matched message if the trace has to record it.
    open: Vec<(RequestId, Option<Matched>)>,
}

struct Author {
    random: Stream,
    shape: Shape,
    ranks: Vec<Rank>,
    communicators: Vec<Communicator>,
}

/// The kind of call for one end of a message.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Blocking,
    Nonblocking,
    Persistent,
}

pub fn trace(shape: Shape) -> Trace {
    let mut author = Author {
        random: Stream::new(shape.seed, 0, 0, 9),
        shape,
        ranks: vec![Rank::default(); shape.ranks as usize],
        communicators: vec![Communicator::world(shape.ranks)],
    };
    author.draw_communicators();
    for rank in 0..shape.ranks {
        author.call(rank, 0, Function::Init, |_| {}, Details::default());
    }
    for _ in 0..shape.events {
        author.event();
    }
    for rank in 0..shape.ranks {
        author.complete(rank, u64::MAX);
        author.call(rank, 0, Function::Finalize, |_| {}, Details::default());
    }
    let ranks = author.ranks.into_iter().map(|rank| rank.trace).collect();
    Trace { ranks, communicators: author.communicators, ..Trace::default() }
}

impl Author {
    fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    /// Draws communicators of some ranks in any order, and one of all ranks, rotated, with neighbours on a
    /// ring.
    fn draw_communicators(&mut self) {
        let all = self.shape.ranks;
        for _ in 0..self.below(3) {
            let mut members: Vec<u32> = (0..all).filter(|_| self.random.below(3) > 0).collect();
            let turn = self.random.below(u64::from(all)) as usize % members.len().max(1);
            members.rotate_left(turn);
            self.communicators.push(Communicator { members, ..Communicator::default() });
        }
        let ring = |rank: u32| {
            let (left, right) = (((rank + all - 1) % all) as i32, ((rank + 1) % all) as i32);
            Neighbors {
                sources: vec![left, special::NOBODY, right],
                destinations: vec![right, special::NOBODY, left],
            }
        };
        self.communicators.push(Communicator {
            members: (0..all).rev().collect(),
            neighbors: (0..all).map(ring).collect(),
            ..Communicator::default()
        });
    }

    fn time(&mut self) -> u64 {
        if self.shape.coarse { 1_000_000 * self.random.below(3) } else { self.random.below(8_000_000) }
    }

    fn bytes(&mut self) -> u64 {
        let largest = self.shape.largest;
        self.random.below(largest)
    }

    /// Draws a thread of a rank; only the first calls collectives.
    fn thread(&mut self) -> u16 {
        let threads = self.shape.threads;
        self.random.below(threads) as u16
    }

    fn call(
        &mut self,
        rank: u32,
        thread: u16,
        function: Function,
        set: impl FnOnce(&mut Call),
        details: Details,
    ) {
        let (gap, inside) = (self.time(), self.time());
        let rank = &mut self.ranks[rank as usize];
        let enter = rank.clock + gap;
        rank.clock = enter + inside;
        let mut call = Call { thread, ..Call::new(function, Time(enter), Time(rank.clock)) };
        set(&mut call);
        rank.trace.push_with(call, details);
    }

    fn request(&mut self, rank: u32, matched: Option<Matched>) -> RequestId {
        let request = self.hidden_request(rank);
        self.ranks[rank as usize].open.push((request, matched));
        request
    }

    /// Makes a request that is not added to the open ones.
    fn hidden_request(&mut self, rank: u32) -> RequestId {
        let rank = &mut self.ranks[rank as usize];
        let request = rank.requests;
        rank.requests = request.wrapping_add(1);
        request
    }

    fn event(&mut self) {
        let rank = self.below(u64::from(self.shape.ranks)) as u32;
        match self.below(12) {
            0..=4 => self.message(),
            5 => self.exchange(),
            6 | 7 => self.collective(),
            8 => self.neighbors(),
            9 => {
                let thread = self.thread();
                let repeated = Some(Repeated { calls: 1 + self.below(9), inside: Time(self.below(400_000)) });
                let details = Details::from(Rare { repeated, ..Rare::default() });
                self.call(rank, thread, Function::Test, |_| {}, details);
            }
            _ => {
                let most = 1 + self.below(4);
                self.complete(rank, most);
            }
        }
    }

    fn manner(&mut self) -> Manner {
        [Manner::Blocking, Manner::Nonblocking, Manner::Nonblocking, Manner::Persistent]
            [self.random.below(4) as usize]
    }

    /// Two members of a communicator.
    fn pair(&mut self, comm: usize) -> Option<[u32; 2]> {
        let members = self.communicators[comm].members.len() as u64;
        (members > 1).then(|| {
            let first = self.random.below(members);
            [first as u32, ((first + 1 + self.random.below(members - 1)) % members) as u32]
        })
    }

    fn message(&mut self) {
        let comm = self.random.below(self.communicators.len() as u64) as usize;
        let Some([from, to]) = self.pair(comm) else { return };
        let (source, target) =
            (self.communicators[comm].members[from as usize], self.communicators[comm].members[to as usize]);
        let (thread, other) = (self.thread(), self.thread());
        // Messages of different threads could overtake each other.
        let tag = i32::from(thread) * 16 + i32::from(other);
        let (bytes, sends, receives) = (self.bytes(), self.manner(), self.manner());
        let functions = match self.below(6) {
            0 => [Function::Ssend, Function::Issend, Function::Ssend_init],
            1 => [Function::Bsend, Function::Ibsend, Function::Bsend_init],
            _ => [Function::Send, Function::Isend, Function::Send_init],
        };
        let send = move |call: &mut Call| {
            (call.comm, call.peer, call.tag, call.sent) = (CommId(comm as u32), to as i32, tag, bytes)
        };
        self.half(source, thread, functions, sends, send, None);
        let matched = Matched { peer: from as i32, tag };
        let wild = self.below(3) == 0;
        let asked = if wild { special::ANY } else { from as i32 };
        let receive =
            move |call: &mut Call| (call.comm, call.peer, call.tag) = (CommId(comm as u32), asked, tag);
        let functions = [Function::Recv, Function::Irecv, Function::Recv_init];
        self.half(target, other, functions, receives, receive, wild.then_some(matched));
    }

    fn half(
        &mut self,
        rank: u32,
        thread: u16,
        functions: [Function; 3],
        manner: Manner,
        set: impl FnOnce(&mut Call),
        matched: Option<Matched>,
    ) {
        match manner {
            Manner::Blocking => {
                self.call(rank, thread, functions[0], set, Details { matched, ..Details::default() });
            }
            Manner::Nonblocking => {
                let request = self.request(rank, matched);
                let set = |call: &mut Call| (set(call), call.request = request).1;
                self.call(rank, thread, functions[1], set, Details::default());
            }
            Manner::Persistent => {
                let persistent = self.hidden_request(rank);
                let set = |call: &mut Call| (set(call), call.request = persistent).1;
                self.call(rank, thread, functions[2], set, Details::default());
                let request = self.request(rank, matched);
                let details = Details { requests: vec![persistent].into(), ..Details::default() };
                self.call(rank, thread, Function::Start, |call| call.request = request, details);
            }
        }
    }

    fn exchange(&mut self) {
        let Some([one, two]) = self.pair(0) else { return };
        let bytes = self.bytes();
        for (rank, peer) in [(one, two), (two, one)] {
            let receive = Some(Matched { peer: peer as i32, tag: 99 });
            let set = |call: &mut Call| {
                (call.comm, call.peer, call.tag, call.sent) = (CommId(0), peer as i32, 99, bytes)
            };
            let nonblocking = self.below(3) == 0;
            let function = if nonblocking { Function::Isendrecv } else { Function::Sendrecv };
            let request = if nonblocking { self.request(rank, None) } else { Call::NO_REQUEST };
            let set = |call: &mut Call| (set(call), call.request = request).1;
            self.call(rank, 0, function, set, Details { receive, ..Details::default() });
        }
    }

    fn collective(&mut self) {
        let comm = self.random.below(self.communicators.len() as u64) as usize;
        let members = self.communicators[comm].members.clone();
        if members.is_empty() {
            return;
        }
        let functions = [
            (Function::Allreduce, Function::Iallreduce),
            (Function::Barrier, Function::Ibarrier),
            (Function::Bcast, Function::Ibcast),
            (Function::Alltoall, Function::Ialltoall),
            (Function::Alltoallv, Function::Ialltoallv),
            (Function::Gatherv, Function::Igatherv),
            (Function::Comm_dup, Function::Comm_idup),
            (Function::Win_create, Function::Win_create),
        ];
        let (blocking, nonblocking) = functions[self.random.below(8) as usize];
        let is_blocking = blocking == nonblocking || self.below(2) == 0;
        let function = if is_blocking { blocking } else { nonblocking };
        let root = self.random.below(members.len() as u64) as i32;
        let bytes = self.bytes();
        for &rank in &members {
            let request = if is_blocking { Call::NO_REQUEST } else { self.request(rank, None) };
            let set = |call: &mut Call| {
                (call.comm, call.peer, call.sent, call.request) = (CommId(comm as u32), root, bytes, request);
            };
            let sent_sizes = match blocking {
                Function::Alltoallv => members.iter().map(|_| self.random.below(bytes + 1)).collect(),
                _ => Vec::new(),
            };
            self.call(rank, 0, function, set, Details::from(Rare { sent_sizes, ..Rare::default() }));
        }
    }

    fn neighbors(&mut self) {
        let comm = self.communicators.len() - 1;
        let nonblocking = self.below(2) == 0;
        let function = if nonblocking { Function::Ineighbor_alltoall } else { Function::Neighbor_alltoall };
        let bytes = self.bytes();
        for rank in 0..self.shape.ranks {
            let request = if nonblocking { self.request(rank, None) } else { Call::NO_REQUEST };
            let set = |call: &mut Call| {
                (call.comm, call.sent, call.request) = (CommId(comm as u32), bytes, request)
            };
            self.call(rank, 0, function, set, Details::default());
        }
    }

    /// Completes some of the open requests of a rank.
    fn complete(&mut self, rank: u32, most: u64) {
        let mut taken = Vec::new();
        while (taken.len() as u64) < most && !self.ranks[rank as usize].open.is_empty() {
            let open = self.ranks[rank as usize].open.len() as u64;
            let place = self.random.below(open) as usize;
            taken.push(self.ranks[rank as usize].open.swap_remove(place));
        }
        if taken.is_empty() {
            return;
        }
        let requests: Vec<RequestId> = taken.iter().map(|(request, _)| *request).collect();
        let tell = |&(request, matched): &(RequestId, Option<Matched>)| Completed {
            request,
            matched,
            cancelled: false,
        };
        let (function, told): (_, Vec<Completed>) = match self.below(3) {
            0 => (Function::Waitall, taken.iter().filter(|one| one.1.is_some()).map(tell).collect()),
            1 => (Function::Waitsome, taken.iter().map(tell).collect()),
            _ => (Function::Testall, taken.iter().filter(|one| one.1.is_some()).map(tell).collect()),
        };
        let thread = self.thread();
        let details =
            Details { requests: requests.into(), completed: told.into(), found: true, ..Details::default() };
        self.call(rank, thread, function, |call| call.comm = NO_COMM, details);
    }
}
