//! A simulated run of a trace, changed or not: when it ends, who waits, and which decisions differ.

use super::simulated;
use crate::waits::WaitStates;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use straggler_model::{Rank, Time};
use straggler_schedule::graph::ANY;
use straggler_schedule::traced::{
    Building, Decisions, Instruction, Options, Playback, PlaybackError, TraceError, TracedRun, Unmodelled,
};
use straggler_sim::programs::{Change, Changed, Replayed};
use straggler_sim::{Control, Outcome, RunError, Simulation, Stuck};
use straggler_trace::{Class, Collective, Function, Trace};

/// A simulated run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// When each rank finished, and when the last one did, since the first left MPI_Init.
    pub finish: Vec<Time>,
    pub end: Time,
    pub waits: WaitStates,
    pub calls: InCalls,
    pub decisions: Vec<Decided>,
    /// Tests that the program would no longer call, because an earlier one succeeds.
    pub superfluous_tests: u64,
    /// Whether a rank sends or receives after it took another request or message than in the trace; its partners are
    /// then still those of the trace.
    pub goes_on_as_recorded: bool,
    /// Decisions kept from the trace because the program would hang otherwise.
    pub bound: Bound,
    /// The simulated run as a trace.
    pub trace: Trace,
    pub notes: Vec<String>,
    /// Time in calls without a model, which counts as computation.
    pub unmodelled: Unmodelled,
}

/// Which decisions are kept from the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    Nothing,
    /// Which sender's message a wildcard receive takes.
    Wildcards,
    Everything,
}

/// How often decisions of one kind differ from the trace, for one function on one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Decided {
    pub rank: Rank,
    pub function: Function,
    pub kind: DecisionKind,
    pub count: u64,
}

/// How a decision of the simulated run differs from the trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DecisionKind {
    /// Another request completed first.
    OtherRequest,
    /// A wildcard receive took the message of another rank.
    OtherSender,
    /// A test succeeded that failed in the trace.
    Earlier,
    /// A test that succeeded in the trace would fail, so it waited instead.
    Later,
}

impl DecisionKind {
    pub fn name(self) -> &'static str {
        match self {
            DecisionKind::OtherRequest => "other_request",
            DecisionKind::OtherSender => "other_sender",
            DecisionKind::Earlier => "test_succeeds",
            DecisionKind::Later => "test_waits",
        }
    }
}

/// By its name.
impl serde::Serialize for DecisionKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The time of all ranks inside calls, by purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InCalls {
    /// Messages, their requests, and probes.
    pub point_to_point: Time,
    pub barriers: Time,
    /// Other collectives.
    pub collectives: Time,
}

impl InCalls {
    pub fn new(trace: &Trace) -> InCalls {
        let mut sums = InCalls::default();
        for call in trace.ranks.iter().flat_map(|rank| &rank.calls) {
            let sum = match call.function.class() {
                Class::Collective(Collective::Barrier, _) => &mut sums.barriers,
                Class::Collective(..) | Class::Neighbor(..) => &mut sums.collectives,
                Class::Send(..)
                | Class::Recv(_)
                | Class::Sendrecv(_)
                | Class::MatchedRecv(_)
                | Class::Probe { .. }
                | Class::Begin
                | Class::Wait(_)
                | Class::Test(_) => &mut sums.point_to_point,
                _ => continue,
            };
            *sum += call.exit.since(call.enter);
        }
        sums
    }
}

/// Why a trace could not be simulated.
#[derive(Debug)]
pub enum ScenarioError {
    Trace(TraceError),
    Playback(PlaybackError),
    Run(RunError),
    /// The program would hang.
    Hangs(Box<Hang>),
}

/// Where a program hangs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hang {
    /// The calls that never end, by rank.
    pub waiting: Vec<HangingCall>,
    /// Who waits for whom.
    pub stuck: Stuck,
}

/// A call that never ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HangingCall {
    pub rank: Rank,
    /// Its index among the calls of the rank.
    pub call: u32,
    pub function: Function,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScenarioError::Trace(error) => error.fmt(f),
            ScenarioError::Playback(error) => error.fmt(f),
            ScenarioError::Run(error) => error.fmt(f),
            ScenarioError::Hangs(_) => f.write_str("the program would hang"),
        }
    }
}

impl std::error::Error for ScenarioError {}

impl Scenario {
    /// Simulates a trace. If a program that decides for itself would hang, it decides as in the trace: first only for
    /// wildcard receives, the most common reason to hang, then for everything. An owned trace is turned into that of
    /// the run; a borrowed one is copied.
    pub fn simulate(
        trace: Cow<'_, Trace>,
        options: &Options,
        building: &Building<'_>,
        simulation: &Simulation<'_>,
        control: &mut Control<'_>,
    ) -> Result<Scenario, ScenarioError> {
        let noiseless = simulation.noise.is_none();
        let mut run = |decisions| {
            let options = Options { decisions, ..*options };
            Replay::new(&trace, &options, building, simulation, control)
        };
        let (replay, bound) = match run(options.decisions) {
            Err(ScenarioError::Hangs(_)) if options.decisions == Decisions::Redecide => {
                match run(Decisions::RedecideRequests) {
                    Err(ScenarioError::Hangs(_)) => (run(Decisions::AsRecorded)?, Bound::Everything),
                    other => (other?, Bound::Wildcards),
                }
            }
            other => (other?, Bound::Nothing),
        };
        Ok(Scenario { bound, ..replay.scenario(trace, noiseless) })
    }

    pub fn decisions_changed(&self) -> u64 {
        self.decisions.iter().map(|decided| decided.count).sum()
    }
}

/// A trace replayed to its end.
struct Replay {
    recording: Arc<TracedRun>,
    replayed: Vec<Replayed>,
    finish: Vec<Time>,
}

impl Replay {
    fn new(
        trace: &Trace,
        options: &Options,
        building: &Building<'_>,
        simulation: &Simulation<'_>,
        control: &mut Control<'_>,
    ) -> Result<Replay, ScenarioError> {
        let recording = Arc::new(TracedRun::from_trace(trace, options).map_err(ScenarioError::Trace)?);
        let playback = Playback::new(recording.clone(), 1, building).map_err(ScenarioError::Playback)?;
        let (run, replayed) = simulation.replay(&playback, control).map_err(ScenarioError::Run)?;
        let Outcome { finish, stuck, .. } = run.outcome;
        if let Some(stuck) = stuck {
            let waiting = hanging(trace, &recording, &replayed);
            return Err(ScenarioError::Hangs(Box::new(Hang { waiting, stuck })));
        }
        Ok(Replay { recording, replayed, finish })
    }

    /// Turns the replay into a scenario.
    fn scenario(self, trace: Cow<'_, Trace>, noiseless: bool) -> Scenario {
        let Replay { recording, replayed, finish } = self;
        let decisions = decided(&trace, &recording, &replayed);
        let superfluous_tests = replayed.iter().map(|rank| rank.superfluous).sum();
        let goes_on_as_recorded = goes_on_as_recorded(&recording, &replayed);
        let (notes, unmodelled) = (recording.notes().to_vec(), recording.unmodelled().clone());
        let run = simulated(trace.into_owned(), &recording, &replayed, noiseless);
        // Frees memory, because traces may be long.
        drop((recording, replayed));
        Scenario {
            end: finish.iter().copied().max().unwrap_or_default(),
            finish,
            waits: WaitStates::new(&run),
            calls: InCalls::new(&run),
            decisions,
            superfluous_tests,
            goes_on_as_recorded,
            bound: Bound::Nothing,
            trace: run,
            notes,
            unmodelled,
        }
    }
}

fn goes_on_as_recorded(recording: &TracedRun, replayed: &[Replayed]) -> bool {
    recording.ranks().iter().zip(replayed).any(|(rank, replayed)| {
        let other = |change: &&Change| matches!(change.what, Changed::Requests(_) | Changed::Source(_));
        let first = replayed.changes.iter().filter(other).map(|change| change.instruction).min();
        let after = first.and_then(|first| rank.instructions().get(first as usize..)).unwrap_or_default();
        after.iter().any(|instruction| match *instruction {
            Instruction::Send { .. } => true,
            Instruction::Recv { from, .. } => from != ANY,
            _ => false,
        })
    })
}

/// The calls that were entered but not left.
fn hanging(trace: &Trace, recording: &TracedRun, replayed: &[Replayed]) -> Vec<HangingCall> {
    let ranks = (0..).zip(recording.ranks()).zip(replayed).zip(&trace.ranks);
    ranks
        .filter_map(|(((rank, recorded), replayed), traced)| {
            let mut times = replayed.entered.iter().zip(&replayed.left);
            let last = times.rposition(|(&entered, &left)| entered != Time::NEVER && left == Time::NEVER)?;
            let call = recorded.origin(last as u32);
            Some(HangingCall { rank, call, function: traced.calls.get(call as usize)?.function })
        })
        .collect()
}

fn decided(trace: &Trace, recording: &TracedRun, replayed: &[Replayed]) -> Vec<Decided> {
    let mut counts: BTreeMap<(Rank, Function, DecisionKind), u64> = BTreeMap::new();
    for (rank, replayed) in (0..).zip(replayed) {
        for change in &replayed.changes {
            let kind = match change.what {
                Changed::Requests(_) => DecisionKind::OtherRequest,
                Changed::Source(_) => DecisionKind::OtherSender,
                Changed::Earlier => DecisionKind::Earlier,
                Changed::Later => DecisionKind::Later,
            };
            let origin = recording.rank(rank).origin(change.instruction) as usize;
            let call = trace.ranks.get(rank as usize).and_then(|rank| rank.calls.get(origin));
            let function = call.map_or(Function::Unknown, |call| call.function);
            *counts.entry((rank, function, kind)).or_default() += 1;
        }
    }
    let decided = |((rank, function, kind), count)| Decided { rank, function, kind, count };
    counts.into_iter().map(decided).collect()
}
