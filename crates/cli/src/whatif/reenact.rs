//! Prepares the replay of a traced run: applies the hypothesis, and determines who makes the decisions.

use crate::args::Common;
use crate::kernel::{Console, Failure, Outcome};
use crate::mpi::replay::Replay;
use crate::trace::file::{Opened, open_trace, refuse_one_of_many};
use crate::whatif::plan::HypothesisPlan;
use crate::whatif::waits::RunWaits;
use crate::whatif::{Session, plans};
use serde::Serialize;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use straggler_analysis::waits::WaitStates;
use straggler_analysis::whatif::{Bound, InCalls, apply_all};
use straggler_model::Time;
use straggler_schedule::traced::{Decisions, Instruction, Options, TracedRun};
use straggler_schedule::workloads::Only;
use straggler_trace::Trace;

/// A traced run with its hypothesis applied.
pub struct Scene {
    opened: Opened,
    /// The run to replay.
    pub trace: Trace,
    options: Options,
}

impl Scene {
    /// Reads the trace and applies the hypothesis. `processes` is the number of processes of this job.
    pub fn read(typed: &Replay, processes: u32, console: &Console) -> Outcome<Scene> {
        refuse_other_machines(typed)?;
        let opened = open_trace(&typed.trace)?;
        refuse_one_of_many(&typed.trace, &opened.trace)?;
        let ranks = opened.trace.processes();
        if ranks != processes {
            return Err(Failure::usage(format!(
                "{} has {ranks} ranks, and this job has {processes}: start it with mpirun -n {ranks}",
                typed.trace.display()
            )));
        }
        opened.warn_of_further_runs(&typed.trace, console);
        let plan = HypothesisPlan::of_typed(&typed.changes);
        let differences = plan.map(|plan| plan.differences).unwrap_or_default();
        let (changed, notes) = apply_all(&opened.trace, &differences).map_err(Failure::bad_input_of)?;
        notes.iter().for_each(|note| console.note(note));
        let trace = changed.into_owned();
        let mut options = typed.reading.options(Only::All);
        if !options.drop_unmatched {
            opened.refuse_much_missing(&typed.trace)?;
            options.drop_unmatched = opened.is_only_cut();
        }
        options.spin = typed.spin.unwrap_or(options.spin);
        let scene = Scene { opened, trace, options };
        let several = scene.recording(typed, Decisions::AsRecorded)?;
        if let Some(rank) = several.ranks().iter().position(|rank| rank.threads() > 1) {
            return Err(Failure::bad_input(format!(
                "{}: rank {rank} calls MPI from {} threads; only runs with one thread per rank can be \
                 replayed",
                typed.trace.display(),
                several.rank(rank as u32).threads()
            )));
        }
        match out_of_order(&several) {
            Some(rank) => Err(Failure::bad_input(format!(
                "{}: rank {rank} starts the persistent collectives of a communicator in another order than the others; such \
                 runs cannot be replayed",
                typed.trace.display()
            ))),
            None => Ok(scene),
        }
    }

    pub fn recording(&self, typed: &Replay, decisions: Decisions) -> Outcome<TracedRun> {
        let options = Options { decisions, ..self.options };
        TracedRun::from_trace(&self.trace, &options)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", typed.trace.display())))
    }

    /// The requested mode, unless the program would hang with it in the simulation.
    pub fn decisions(&self, typed: &Replay, common: &Common) -> Outcome<Decisions> {
        let whatif = typed.whatif();
        let session = Session::new(&whatif, common, &self.opened)?;
        let plan = plans(&whatif)?.into_iter().next();
        let text = plan.map_or_else(|| "nothing changed".to_owned(), |plan| plan.text());
        Ok(match session.baseline(&self.trace, &text)?.bound {
            Bound::Nothing => typed.mode.decisions(),
            Bound::Wildcards => Decisions::RedecideRequests,
            Bound::Everything => Decisions::AsRecorded,
        })
    }

    /// A fingerprint of the trace.
    pub fn print(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for rank in &self.trace.ranks {
            for call in &rank.calls {
                let times = (call.enter.ps(), call.exit.ps());
                (call.function as u16, times, call.peer, call.tag, call.sent).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// A rank that starts the collectives of a group in another order than the group's first member.
fn out_of_order(recording: &TracedRun) -> Option<u32> {
    let mut orders: HashMap<u32, Vec<u32>> = HashMap::new();
    for (rank, recorded) in (0..).zip(recording.ranks()) {
        let mut own: HashMap<u32, Vec<u32>> = HashMap::new();
        for instruction in recorded.instructions() {
            if let Instruction::Collective { call, .. } = *instruction
                && let Some(known) = recording.calls().get(call as usize)
            {
                own.entry(known.group).or_default().push(call);
            }
        }
        for (group, calls) in own {
            if *orders.entry(group).or_insert_with(|| calls.clone()) != calls {
                return Some(rank);
            }
        }
    }
    None
}

/// Refuses options for network and noise: a run with real messages has those of the machine.
fn refuse_other_machines(typed: &Replay) -> Outcome<()> {
    let Some(plan) = HypothesisPlan::of_typed(&typed.changes) else { return Ok(()) };
    let given = [
        (plan.network.is_some(), "--network"),
        (plan.ideal_network, "--ideal-network"),
        (plan.latency.is_given(), "--latency-distribution"),
        (!plan.noise.is_empty(), "--noise"),
        (plan.algorithms.is_some(), "--algorithms"),
    ];
    match given.iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(Failure::usage(format!(
            "{option} cannot be replayed: messages go over the network of this job, and its MPI chooses the algorithms; \
             `straggler whatif` simulates it"
        ))),
        None => Ok(()),
    }
}

/// The run as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    pub trace: String,
    pub replayed_ps: u64,
    /// (replayed − simulated) / simulated.
    pub error: Option<f64>,
    pub waits: RunWaits,
    pub notes: Vec<String>,
}

impl Replayed {
    /// Reads the run that a replay of `original` wrote.
    pub fn read(path: &Path, original: &Trace, options: &Options, console: &Console) -> Outcome<Replayed> {
        let opened = open_trace(path)?;
        refuse_one_of_many(path, &opened.trace)?;
        opened.warn_of_errors(path, console);
        let trace = &opened.trace;
        if trace.processes() != original.processes() {
            return Err(Failure::bad_input(format!(
                "{}: {} ranks, but the trace has {}: give --replayed a file that `straggler mpi replay` \
                 wrote from this trace",
                path.display(),
                trace.processes(),
                original.processes()
            )));
        }
        let recording = TracedRun::from_trace(trace, options)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
        Ok(Replayed {
            trace: path.display().to_string(),
            replayed_ps: recording.traced_end().ps(),
            error: None,
            waits: RunWaits::new(&WaitStates::new(trace), &InCalls::new(trace)),
            notes: trace.notes.iter().filter(|note| note.starts_with("replayed: ")).cloned().collect(),
        })
    }

    /// Compares it with the simulation of the same run.
    pub fn against(self, simulated: Time) -> Replayed {
        let whole = simulated.ps() as f64;
        Replayed { error: (whole > 0.0).then(|| self.replayed_ps as f64 / whole - 1.0), ..self }
    }
}
