//! `fixtures/traces/regions`: a small trace of a program that marks its regions. No program ran:
//! every time in it is computed here, as its notes say.
//!
//! `STRAGGLER_WRITE_FIXTURES=1 cargo test -p straggler-trace regions` rewrites it.

use std::path::PathBuf;
use straggler_model::Time;
use straggler_trace::profile::{Profile, RegionName};
use straggler_trace::trace::{Clock, Communicator, RankTrace, Trace, WORLD};
use straggler_trace::{Call, CommId, Details, Function, Marks, Matched};

const RANKS: u32 = 2;
const STEPS: u64 = 3;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/traces/regions"))
}

/// A rank and its clock, in nanoseconds.
struct Rank {
    trace: RankTrace,
    marks: Marks,
    number: u32,
    now: u64,
}

impl Rank {
    fn new(number: u32) -> Rank {
        let clock = Clock { error: Some(Time::ZERO), ..Clock::default() };
        let trace = RankTrace { host: "node0".into(), cores: vec![number], clock, ..RankTrace::default() };
        Rank { trace, marks: Marks::default(), number, now: 0 }
    }

    fn mark(&mut self, function: Function, text: &str) {
        let at = Time::from_ns(self.now);
        let details = self.marks.place(function, Details::named(text), &mut self.trace.details);
        self.trace.push(Call { details, ..Call::new(function, at, at) });
    }

    fn enter(&mut self, name: &str) {
        self.mark(Function::RegionEnter, name);
    }

    fn leave(&mut self, name: &str) {
        self.mark(Function::RegionLeave, name);
    }

    fn call(&mut self, function: Function, ns: u64, bytes: u64) -> Call {
        let enter = Time::from_ns(self.now);
        self.now += ns;
        let comm = if matches!(function, Function::Init | Function::Finalize) { u32::MAX } else { WORLD.0 };
        Call {
            comm: CommId(comm),
            sent: bytes,
            received: bytes,
            ..Call::new(function, enter, Time::from_ns(self.now))
        }
    }

    fn push(&mut self, function: Function, ns: u64, bytes: u64) {
        let call = self.call(function, ns, bytes);
        self.trace.push(call);
    }

    /// Both ranks exchange their borders.
    fn swap(&mut self, ns: u64) {
        let peer = 1 - self.number as i32;
        let call = Call { peer, tag: 1, ..self.call(Function::Sendrecv, ns, 8192) };
        let receive = Some(Matched { peer, tag: 1 });
        self.trace.push_with(call, Details { receive, ..Details::default() });
    }

    /// Rank 1 computes longer, so rank 0 waits for it; both reach the end of each region at the same time.
    fn run(mut self) -> RankTrace {
        let (compute, wait) = if self.number == 0 { (60_000, 45_000) } else { (90_000, 15_000) };
        self.push(Function::Init, 100_000, 0);
        self.mark(Function::Pcontrol, "1");
        for _ in 0..STEPS {
            self.enter("step");
            self.enter("exchange");
            self.now += 2_000;
            self.swap(8_000);
            self.leave("exchange");
            self.enter("solve");
            self.now += compute;
            self.push(Function::Allreduce, wait, 8);
            self.leave("solve");
            self.now += 1_000;
            self.leave("step");
        }
        self.mark(Function::Pcontrol, "0");
        if self.number == 0 {
            self.leave("setup");
        }
        self.enter("output");
        self.now += 20_000;
        if self.number == 0 {
            self.leave("output");
        }
        self.push(Function::Finalize, 50_000, 0);
        self.trace
    }
}

fn trace() -> Trace {
    let mut trace = Trace {
        ranks: (0..RANKS).map(|number| Rank::new(number).run()).collect(),
        communicators: vec![Communicator::world(RANKS)],
        notes: vec!["synthetic: every time was computed, no program ran".into()],
        ..Trace::default()
    };
    trace.meta.program = "regions (synthetic)".into();
    trace.meta.format = "straggler 1".into();
    trace.meta.library = "none".into();
    trace.meta.more.insert("run".into(), "72656769".into());
    trace
}

#[test]
fn the_fixture_is_what_is_written_here() {
    crate::tests::fixture::assert_written(&folder(), &trace());
}

/// A step is 10 µs of exchange, 105 µs of solving and 1 µs more, three times on two ranks.
#[test]
fn its_regions_are_those_of_its_steps() {
    let profile = Profile::new(&trace());
    let found: Vec<(String, u64, u64, u64)> = profile
        .regions
        .iter()
        .map(|region| {
            let total = &region.total;
            (region.name.to_string(), total.entries, total.time.ps() / 1_000, total.mpi.ps() / 1_000)
        })
        .collect();
    let expected = [
        ("step", 6, 6 * 116_000, 3 * (8_000 + 45_000) + 3 * (8_000 + 15_000)),
        ("pcontrol 1", 2, 6 * 116_000, 3 * (8_000 + 45_000) + 3 * (8_000 + 15_000)),
        ("solve", 6, 6 * 105_000, 3 * (45_000 + 15_000)),
        ("exchange", 6, 6 * 10_000, 6 * 8_000),
        ("output", 2, 2 * 20_000, 0),
        ("setup", 0, 0, 0),
    ];
    assert_eq!(found, expected.map(|(name, entries, time, mpi)| (name.to_owned(), entries, time, mpi)));
    let of = |name: &str| {
        let name = RegionName::Named(name.into());
        profile.regions.iter().find(|region| region.name == name).unwrap().total
    };
    assert_eq!((of("output").unclosed, of("setup").unopened), (1, 1));
    assert_eq!((of("exchange").sent, of("solve").calls), (6 * 8192, 6));
}

#[test]
fn marks_of_one_name_share_their_details() {
    let mut marks = Marks::default();
    let mut all = Vec::new();
    let mut place = |function, details| marks.place(function, details, &mut all);
    let first = place(Function::RegionEnter, Details::named("solve"));
    assert_eq!(place(Function::RegionLeave, Details::named("solve")), first);
    let other = place(Function::RegionEnter, Details::named("smooth"));
    assert_ne!(other, first);
    // Details of other calls may be changed later, and a mark with further details is different.
    assert_ne!(place(Function::Unknown, Details::named("solve")), first);
    assert_ne!(place(Function::RegionEnter, Details { found: true, ..Details::named("solve") }), first);
    assert_eq!(place(Function::RegionEnter, Details::named("solve")), first);
    assert_eq!(all.len(), 4);
}
