//! Messages of a trace: who sent, who received, and when each was at it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use straggler_model::{Rank, Time};
use straggler_trace::call::{Call, Details, Matched, special};
use straggler_trace::{Class, HowMany, RankTrace, Start, Trace};

/// One message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub bytes: u64,
    /// The call that sent it.
    pub sent: (Time, Time),
    /// Whether that call only sends.
    pub only_sends: bool,
    /// When the receive was posted.
    pub posted: Time,
    /// The call in which it completed.
    pub received: (Time, Time),
    /// Whether that call waited for nothing else.
    pub alone: bool,
}

#[derive(Clone, Copy)]
struct Sent {
    bytes: u64,
    call: (Time, Time),
    only_sends: bool,
}

#[derive(Clone, Copy)]
struct Received {
    key: Option<Key>,
    posted: Time,
    call: Option<(Time, Time)>,
    alone: bool,
}

/// Communicator, sender, receiver, tag: messages with the same arrive in their order.
type Key = (u32, Rank, Rank, i32);

/// All messages whose both ends are in the trace. Prepared requests and probes that keep messages are left out: there is
/// enough without them.
pub(super) fn pairs(trace: &Trace) -> Vec<Pair> {
    let mut sends: BTreeMap<Key, VecDeque<Sent>> = BTreeMap::new();
    let mut receives: Vec<Received> = Vec::new();
    for (rank, calls) in trace.ranks.iter().enumerate() {
        let mut reader = Reader { trace, rank: rank as Rank, open: HashMap::new(), sends: &mut sends, receives: &mut receives };
        calls.calls.iter().for_each(|call| reader.call(calls, call));
    }
    let pair = |received: Received| {
        let sent = sends.get_mut(&received.key?)?.pop_front()?;
        let Sent { bytes, call, only_sends } = sent;
        Some(Pair { bytes, sent: call, only_sends, posted: received.posted, received: received.call?, alone: received.alone })
    };
    receives.into_iter().filter_map(pair).collect()
}

struct Reader<'a> {
    trace: &'a Trace,
    rank: Rank,
    /// Receives by their requests.
    open: HashMap<u32, usize>,
    sends: &'a mut BTreeMap<Key, VecDeque<Sent>>,
    receives: &'a mut Vec<Received>,
}

impl Reader<'_> {
    fn call(&mut self, of_rank: &RankTrace, call: &Call) {
        let nothing = Details::default();
        let details = of_rank.details(call).unwrap_or(&nothing);
        if details.error.is_some() {
            return;
        }
        match call.function.class() {
            Class::Send(_, Start::Blocking | Start::Nonblocking) => self.send(call, true),
            Class::Recv(Start::Blocking) => self.receive(call, details.matched.unwrap_or(asked(call)), true),
            Class::Recv(Start::Nonblocking) => {
                self.open.insert(call.request, self.receives.len());
                self.receive(call, asked(call), false);
            }
            Class::Sendrecv(Start::Blocking) => {
                self.send(call, false);
                if let Some(half) = details.matched.or(details.receive) {
                    self.receive(call, half, true);
                }
            }
            Class::Wait(how) => self.complete(call, details, how),
            Class::Test(how) if details.found => self.complete(call, details, how),
            _ => {}
        }
    }

    fn key(&self, call: &Call, other: Matched, sends: bool) -> Option<Key> {
        if other.peer < 0 || other.tag == special::ANY {
            return None;
        }
        let comm = self.trace.communicators.get(call.comm as usize)?;
        let other_rank = comm.world_rank(self.rank, other.peer)?;
        let (from, to) = if sends { (self.rank, other_rank) } else { (other_rank, self.rank) };
        Some((call.comm, from, to, other.tag))
    }

    fn send(&mut self, call: &Call, only_sends: bool) {
        if let Some(key) = self.key(call, asked(call), true) {
            let sent = Sent { bytes: call.sent, call: (call.enter, call.exit), only_sends };
            self.sends.entry(key).or_default().push_back(sent);
        }
    }

    fn receive(&mut self, call: &Call, from: Matched, done: bool) {
        let key = self.key(call, from, false);
        let during = done.then_some((call.enter, call.exit));
        self.receives.push(Received { key, posted: call.enter, call: during, alone: done });
    }

    fn complete(&mut self, call: &Call, details: &Details, how: HowMany) {
        let alone = details.requests.len() == 1;
        let listed = details.completed.iter().map(|one| (one.request, one.matched));
        let all = matches!(how, HowMany::One | HowMany::All);
        let rest = details.requests.iter().filter(|_| all).map(|&request| (request, None));
        for (request, matched) in listed.chain(rest) {
            let Some(place) = self.open.remove(&request) else { continue };
            if let Some(matched) = matched {
                // The posting call had the communicator; any call of this rank on it names the same processes.
                let comm = self.receives[place].key.map_or(call.comm, |key| key.0);
                self.receives[place].key = self.key(&Call { comm, ..*call }, matched, false);
            }
            self.receives[place].call = Some((call.enter, call.exit));
            self.receives[place].alone = alone;
        }
    }
}

fn asked(call: &Call) -> Matched {
    Matched { peer: call.peer, tag: call.tag }
}
