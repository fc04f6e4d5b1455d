//! Turns a job of single kernels, or of communications only, into a trace of calls.
//!
//! ```text
//! compute stream   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒········▒▒▒▒▒▒▒     calls: I  Iallreduce, when the kernel starts
//! communication         └─all_reduce──────┘                     W  Wait, when nothing is left to compute without it
//!                       I           W────►
//! ```
//! A communication begins when its kernel starts. Its wait comes before the first operation that needs it. If none is known to
//! need it, the wait begins when computing pauses until its end, or at the end of the step. Between calls the rank computes.
//! Communications with only one recorded member count as computing, too, unless only one rank was recorded.

use super::{BEGIN, TracedError, plain};
use crate::exact::times;
use crate::{Job, Op, Role};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use straggler_model::Rank;
use straggler_trace::{
    ALONG_COPIES, Call, CommId, Communicator, Details, Function, RankTrace, RequestId, WORLD,
};

/// The MPI function of a communication kernel. A collective of unknown kind counts as an all-reduce.
fn function(class: &str) -> Option<Function> {
    Some(match class {
        "all_reduce" | "collective" => Function::Iallreduce,
        "all_gather" => Function::Iallgather,
        "reduce_scatter" => Function::Ireduce_scatter_block,
        "all_to_all" => Function::Ialltoall,
        "broadcast" => Function::Ibcast,
        "reduce" => Function::Ireduce,
        "gather" => Function::Igather,
        "scatter" => Function::Iscatter,
        "barrier" => Function::Ibarrier,
        "send" => Function::Isend,
        "recv" => Function::Irecv,
        _ => return None,
    })
}

fn is_message(class: &str) -> bool {
    matches!(class, "send" | "recv" | "send_recv")
}

/// Since when nothing is computed at a time, if something is computed later. `times` are in order of their start.
fn paused_until(times: &[(i64, i64)], at: i64) -> Option<i64> {
    let next = times.partition_point(|&(start, _)| start < at);
    let last = times[..next].iter().map(|&(_, end)| end).max()?;
    (last <= at && next < times.len()).then_some(last)
}

/// The members of a communication in a step.
struct Meeting {
    /// Indices of the workers that take part, ascending.
    members: Vec<usize>,
    /// The stream that the first member uses. Distinguishes communicators with the same members.
    stream: u16,
}

/// A communication of a worker in a step.
struct Communication {
    kind: u16,
    /// The index of its meeting.
    meeting: usize,
    stream: u16,
    begins: i64,
    ends: i64,
    /// When the computations that it waits for have ended.
    ready: i64,
    /// When the worker has nothing left to do without it.
    awaited: i64,
}

pub struct Building<'a> {
    job: &'a Job,
    /// By worker of the job: its rank in the trace.
    numbers: &'a [usize],
    ranks: &'a mut [RankTrace],
    communicators: &'a mut Vec<Communicator>,
    now: &'a mut [i64],
    /// By members and stream: their communicator.
    known: HashMap<(Vec<usize>, u16), CommId>,
    next: Vec<RequestId>,
    /// By kind: the bytes that a worker contributes.
    bytes: Vec<u64>,
}

impl<'a> Building<'a> {
    pub fn new(
        job: &'a Job,
        numbers: &'a [usize],
        ranks: &'a mut [RankTrace],
        communicators: &'a mut Vec<Communicator>,
        now: &'a mut [i64],
    ) -> Result<Building<'a>, TracedError> {
        let communicates = |kind: &&crate::KindInfo| kind.role == Role::Communication;
        if let Some(kind) = job.kinds.iter().filter(communicates).find(|kind| function(&kind.class).is_none())
        {
            return Err(TracedError::UnknownCommunication { name: kind.name.clone() });
        }
        let next = vec![RequestId(0); job.workers.len()];
        let bytes = bytes(job);
        Ok(Building { job, numbers, ranks, communicators, now, known: HashMap::new(), next, bytes })
    }

    /// Adds a step that begins at `begin`. Returns when it ends.
    pub fn step(&mut self, step: usize, begin: i64) -> i64 {
        let job = self.job;
        let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
        let (ops, first) = (shape.ops.len(), job.steps[step].first);
        let origin = job.instances(step).map(|instance| job.start[instance]).min().unwrap_or(0);
        let start = |column: usize, op: usize| {
            (job.start[first + column * ops + op] - origin).saturating_add(begin + BEGIN)
        };
        let end = |column: usize, op: usize| {
            start(column, op).saturating_add(job.duration[first + column * ops + op])
        };
        let is_transfer = |op: usize| job.kinds[shape.ops[op].kind as usize].role == Role::Communication;
        let mut last = begin;
        let (meetings, meeting_of) = self.meetings(step);
        let mut by_worker: BTreeMap<usize, Vec<Communication>> = BTreeMap::new();
        for column in 0..columns {
            let computed = |op: usize| {
                let before = shape.graph.before.get(op).iter().map(|&before| before as usize);
                before.filter(|&before| !is_transfer(before)).map(|before| end(column, before)).max()
            };
            // By communication: when everything else that its first dependent waits for has ended. By worker: when all its
            // computing has ended.
            let mut awaited: HashMap<usize, i64> = HashMap::new();
            let mut done: HashMap<u32, i64> = HashMap::new();
            // By worker: when it computes, in order.
            let mut computing: HashMap<u32, Vec<(i64, i64)>> = HashMap::new();
            for op in 0..ops {
                last = last.max(end(column, op) - BEGIN);
                let own = &shape.ops[op];
                if !is_transfer(op) {
                    let done = done.entry(own.worker).or_insert(i64::MIN);
                    *done = end(column, op).max(*done);
                    computing.entry(own.worker).or_default().push((start(column, op), end(column, op)));
                }
                let ready = computed(op).unwrap_or(i64::MIN);
                // Communications of a stream follow each other without a wait, and a receiver does not wait for its
                // partner's request.
                let is_awaited = |before: &Op| {
                    before.worker == own.worker && !(is_transfer(op) && before.stream == own.stream)
                };
                let before = shape.graph.before.get(op).iter().map(|&before| before as usize);
                for before in before.filter(|&before| is_transfer(before) && is_awaited(&shape.ops[before])) {
                    let first = awaited.entry(before).or_insert(i64::MAX);
                    *first = ready.min(*first);
                }
            }
            computing.values_mut().for_each(|times| times.sort_unstable());
            for op in (0..ops).filter(|&op| is_transfer(op)) {
                let Some(meeting) = meeting_of[column * ops + op] else { continue };
                let own = shape.ops[op].worker;
                let end_of_step = done.get(&own).copied().unwrap_or(i64::MIN);
                let (begins, ends) = (start(column, op), end(column, op));
                let paused = computing.get(&own).and_then(|times| paused_until(times, ends));
                by_worker.entry(job.worker(step, column, op)).or_default().push(Communication {
                    kind: shape.ops[op].kind,
                    meeting,
                    stream: shape.ops[op].stream,
                    begins,
                    ends,
                    ready: computed(op).unwrap_or(i64::MIN),
                    awaited: awaited.get(&op).copied().or(paused).unwrap_or(end_of_step).max(begins),
                });
            }
        }
        for (worker, communications) in by_worker {
            self.worker(worker, communications, &meetings);
        }
        last
    }

    /// The meetings of at least two workers in a step, and by column and operation the index of its meeting. A message whose
    /// receiver only waits for the sender has no group; it is found by its edge.
    fn meetings(&self, step: usize) -> (Vec<Meeting>, Vec<Option<usize>>) {
        let (job, shape) = (self.job, self.job.shape(step));
        let (ops, columns) = (shape.ops.len(), job.steps[step].columns as usize);
        let mut meetings = Vec::new();
        let mut of = vec![None; ops * columns];
        let mut meet = |members: &[(usize, usize)], meetings: &mut Vec<Meeting>| {
            let mut workers: Vec<usize> =
                members.iter().map(|&(column, op)| job.worker(step, column, op)).collect();
            workers.sort_unstable();
            workers.dedup();
            let alone = job.workers.len() == 1;
            if let (true, Some(&(_, first))) = (workers.len() > 1 || alone, members.first()) {
                members.iter().for_each(|&(column, op)| of[column * ops + op] = Some(meetings.len()));
                meetings.push(Meeting { members: workers, stream: shape.ops[first].stream });
            }
        };
        for group in 0..shape.graph.groups.len() {
            let own = shape.graph.groups.get(group);
            let all = |columns: Range<usize>| -> Vec<(usize, usize)> {
                columns.flat_map(|column| own.iter().map(move |&op| (column, op as usize))).collect()
            };
            match shape.graph.wide[group] {
                true => meet(&all(0..columns), &mut meetings),
                false => (0..columns).for_each(|column| meet(&all(column..column + 1), &mut meetings)),
            }
        }
        let is_transfer = |op: usize| job.kinds[shape.ops[op].kind as usize].role == Role::Communication;
        for op in (0..ops).filter(|&op| is_transfer(op)) {
            let before = shape.graph.before.get(op).iter().map(|&before| before as usize);
            let from =
                |before: &usize| is_transfer(*before) && shape.ops[*before].worker != shape.ops[op].worker;
            if let Some(before) = before.into_iter().find(from) {
                (0..columns).for_each(|column| meet(&[(column, before), (column, op)], &mut meetings));
            } else if job.workers.len() == 1 && !is_message(&job.kinds[shape.ops[op].kind as usize].class) {
                meet(&[(0, op)], &mut meetings);
            }
        }
        (meetings, of)
    }

    /// Adds the communications of a worker in a step.
    fn worker(&mut self, worker: usize, mut communications: Vec<Communication>, meetings: &[Meeting]) {
        // A communication is not ready before its predecessor in the same stream.
        communications.sort_by_key(|of| of.begins);
        let mut streams: BTreeMap<u16, i64> = BTreeMap::new();
        for of in &mut communications {
            let before = streams.entry(of.stream).or_insert(i64::MIN);
            of.ready = of.ready.max(*before);
            *before = of.ready;
        }
        communications.sort_by_key(|of| (of.awaited, of.begins));
        // Merges waits that overlap.
        let mut waits: Vec<Wait> = Vec::new();
        for (place, of) in communications.iter().enumerate() {
            match waits.last_mut() {
                Some(wait) if of.awaited <= wait.exit => {
                    wait.exit = wait.exit.max(of.ends);
                    wait.awaited.push(place);
                }
                _ => waits.push(Wait {
                    enter: of.awaited,
                    exit: of.ends.max(of.awaited),
                    awaited: vec![place],
                }),
            }
        }
        // A waiting worker cannot begin a communication. One that begins during a wait is moved before it, if it was ready.
        let begun = |of: &Communication| {
            let last = waits.partition_point(|wait| wait.enter <= of.begins).checked_sub(1);
            match last.map(|last| &waits[last]).filter(|wait| of.begins < wait.exit && of.ready <= wait.enter)
            {
                Some(wait) => wait.enter,
                None => of.begins,
            }
        };
        let mut order: Vec<(i64, i64, usize)> =
            (communications.iter().enumerate()).map(|(place, of)| (begun(of), of.begins, place)).collect();
        order.sort_unstable();
        let rank = self.numbers[worker];
        let mut requests: Vec<Option<RequestId>> = vec![None; communications.len()];
        let mut waits = waits.into_iter().peekable();
        for (at, _, place) in order {
            let is_due =
                |wait: &Wait| wait.enter < at && wait.awaited.iter().all(|&place| requests[place].is_some());
            while let Some(wait) = waits.next_if(is_due) {
                self.wait(rank, &wait, &requests);
            }
            let of = &communications[place];
            requests[place] = Some(self.begin(worker, of, &meetings[of.meeting], at));
        }
        waits.for_each(|wait| self.wait(rank, &wait, &requests));
    }

    fn begin(&mut self, worker: usize, of: &Communication, meeting: &Meeting, at: i64) -> RequestId {
        let rank = self.numbers[worker];
        let request = self.next[worker];
        self.next[worker].0 = request.0.wrapping_add(1);
        let kind = &self.job.kinds[of.kind as usize];
        let function = function(&kind.class).unwrap_or(Function::Iallreduce);
        let bytes = self.bytes[of.kind as usize];
        let part = bytes.div_ceil(meeting.members.len() as u64);
        let at = at.max(self.now[rank]);
        let call = Call { request, ..plain(function, at, at) };
        let call = match function {
            Function::Isend | Function::Irecv => {
                let other =
                    meeting.members.iter().find(|&&member| member != worker).copied().unwrap_or(worker);
                let (sent, received) = if function == Function::Isend { (bytes, 0) } else { (0, bytes) };
                Call { comm: WORLD, peer: self.numbers[other] as i32, tag: 0, sent, received, ..call }
            }
            _ => {
                let comm = self.communicator(meeting);
                match function {
                    Function::Ibarrier => Call { comm, ..call },
                    Function::Ibcast | Function::Ireduce | Function::Igather | Function::Iscatter => {
                        Call { comm, peer: 0, sent: bytes, received: bytes, ..call }
                    }
                    // Guessed sizes are those of all parts together.
                    Function::Iallgather if kind.bytes.is_none() => {
                        Call { comm, sent: part, received: part, ..call }
                    }
                    Function::Ireduce_scatter_block | Function::Ialltoall => {
                        Call { comm, sent: part, received: part, ..call }
                    }
                    _ => Call { comm, sent: bytes, received: bytes, ..call },
                }
            }
        };
        self.now[rank] = at;
        self.ranks[rank].push(call);
        request
    }

    fn wait(&mut self, rank: usize, wait: &Wait, requests: &[Option<RequestId>]) {
        let requests = wait.awaited.iter().filter_map(|&place| requests[place]).collect();
        let enter = wait.enter.max(self.now[rank]);
        let exit = wait.exit.max(enter);
        let details = Details { requests, found: true, ..Details::default() };
        self.ranks[rank].push_with(plain(Function::Waitall, enter, exit), details);
        self.now[rank] = exit;
    }

    fn communicator(&mut self, meeting: &Meeting) -> CommId {
        let key = (meeting.members.clone(), meeting.stream);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let mut members: Vec<Rank> =
            meeting.members.iter().map(|&place| self.numbers[place] as Rank).collect();
        members.sort_unstable();
        let number = self.communicators.len();
        let name = match members.len() == self.job.workers.len() {
            true => format!("{ALONG_COPIES}, stream {}", meeting.stream),
            false => format!("group {number}"),
        };
        self.communicators.push(Communicator {
            members,
            name,
            parent: Some(WORLD),
            ..Communicator::default()
        });
        self.known.insert(key, CommId(number as u32));
        CommId(number as u32)
    }

    /// A note about what the trace cannot tell.
    pub fn note(&self) -> Option<String> {
        if self.job.workers.len() == 1 && !self.known.is_empty() {
            return Some(
                "only one rank was recorded: its collectives are calls with nobody else, and take no time in simulations".into(),
            );
        }
        let is_part = |(members, _): &&(Vec<usize>, u16)| members.len() < self.job.workers.len();
        self.known.keys().any(|key| is_part(&key)).then(|| {
            "the recording does not say which groups are data parallel: copies meet only in collectives of all ranks".into()
        })
    }
}

/// A wait of a worker.
struct Wait {
    enter: i64,
    exit: i64,
    awaited: Vec<usize>,
}

/// By kind: the bytes that a worker contributes. If not recorded, as much as a link carries during a typical transfer.
fn bytes(job: &Job) -> Vec<u64> {
    let times = times(job);
    let mut takes: Vec<Vec<i64>> = vec![Vec::new(); job.kinds.len()];
    for (step, times) in times.iter().enumerate() {
        let columns = job.steps[step].columns as usize;
        for (place, op) in job.shape(step).ops.iter().enumerate() {
            let kind = &job.kinds[op.kind as usize];
            if kind.role == Role::Communication && kind.bytes.is_none() {
                takes[op.kind as usize]
                    .extend_from_slice(&times.takes[place * columns..(place + 1) * columns]);
            }
        }
    }
    job.kinds
        .iter()
        .zip(&mut takes)
        .map(|(kind, takes)| kind.bytes.unwrap_or_else(|| super::guessed(takes)))
        .collect()
}
