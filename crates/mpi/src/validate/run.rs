//! Real runs of collectives, with detours.

use super::detours::{Disturbed, Found, Plan};
use super::rounds::{BYTES, Kind, Round, rounds};
use crate::clock::{Reading, now_ns};
use crate::session::Session;
use crate::wire::{Pending, Result, Room, SendMode, Wire, room};

/// Time by which all ranks must know when a run begins.
const LEAD_NS: i64 = 2_000_000;

pub struct CaseRunner<'a> {
    session: &'a Session,
    wire: Wire,
    /// This node's clock compared with that of rank 0.
    clock: Reading,
}

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub kind: Kind,
    pub work_ns: i64,
    pub count: u32,
}

impl<'a> CaseRunner<'a> {
    pub fn new(session: &'a Session) -> Result<CaseRunner<'a>> {
        let wire = Wire::new(&session.world, &[], BYTES)?;
        Ok(CaseRunner { session, wire, clock: Reading::take(session) })
    }

    /// Runs a case on all ranks, which begin at the same moment. Returns the outcome on this one.
    pub fn run(&self, case: Case, plan: Plan) -> Result<Found> {
        let (rank, size) = (self.session.rank, self.session.size);
        // Only the rounds of a broadcast depend on its number.
        let all: Vec<Vec<Round>> = (0..size).map(|number| rounds(case.kind, rank, size, number)).collect();
        let mut buffer = Some(room(BYTES));
        let mut run = Disturbed::begin(plan, self.agree_on_start());
        for number in 0..case.count {
            if case.work_ns > 0 {
                run.work(case.work_ns);
            }
            for round in &all[(number % size) as usize] {
                self.exchange(round, &mut run, &mut buffer)?;
            }
        }
        Ok(run.finish())
    }

    /// Records the machine's detours on a rank that only works, for `length_ns`.
    pub fn watch(&self, length_ns: i64) -> Found {
        let mut run =
            Disturbed::begin(Plan { first_ns: 0, period_ns: 1, length_ns: 0 }, self.agree_on_start());
        run.work_until(length_ns);
        run.finish()
    }

    /// When a run begins, on the clock of this node.
    fn agree_on_start(&self) -> i64 {
        let start = self.session.world.broadcast_number((now_ns() + LEAD_NS) as u64) as i64;
        start - self.clock.first_ns + self.clock.own_ns
    }

    fn exchange(&self, round: &Round, run: &mut Disturbed, buffer: &mut Option<Room>) -> Result<()> {
        if let Some(to) = round.to {
            run.look();
            self.wire.send(SendMode::Standard, BYTES, to, 0)?;
        }
        if let Some(from) = round.from {
            run.look();
            let into = buffer.take().unwrap_or_else(|| room(BYTES));
            let mut pending: Pending = self.wire.begin_receive(into, BYTES, Some(from), 0)?;
            while !pending.test()? {
                run.look();
            }
            *buffer = pending.take_room();
        }
        Ok(())
    }
}
