//! Prepares the replay of a traced run: applies the hypothesis, determines who makes the decisions, and chooses the
//! network of the baseline: given, fitted to the trace, or assumed.

use crate::args::Common;
use crate::kernel::prelude::*;
use crate::mpi::replay::Replay;
use crate::network::load_network;
use crate::trace::file::{Opened, open_trace, refuse_one_of_many};
use crate::whatif::{Session, answer::RunWaits, args::TraceWhatIf, plan::HypothesisPlan, plans};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::{collections::HashMap, time::Duration};
use straggler_analysis::whatif::{Bound, InCalls, apply_all};
use straggler_analysis::{predict::fit, study::FIT, waits::WaitStates};
use straggler_model::Network;
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

/// The network of the baseline, and the reason to doubt it.
pub struct Base {
    pub network: Network,
    pub fitted: bool,
    pub doubt: Option<String>,
}

/// Used if no network was measured here, either.
const PRESET: &str = "slingshot-11";
/// What `straggler mpi loggp` writes.
const MEASURED: &str = "measured";
/// If the fitted network is wrong by more than this share of the run, others are tried.
const FAR_OFF: f64 = 0.25;

impl Base {
    pub fn new(typed: &TraceWhatIf, opened: &Opened) -> Outcome<Base> {
        if let Some(name) = typed.base_network.as_deref().filter(|&name| name != FIT) {
            return Ok(Base { network: load_network(name, None)?, fitted: false, doubt: None });
        }
        match fit(&opened.trace) {
            Ok(fit) => Ok(Base { network: fit.network, fitted: true, doubt: None }),
            Err(fault) => {
                let mut base = Base::fallback()?;
                let fault = fault.to_string();
                base.doubt(fault.split("; give them").next().unwrap_or(&fault));
                Ok(base)
            }
        }
    }

    /// A network that was measured here, or else a preset.
    pub fn fallback() -> Outcome<Base> {
        let name = if Path::new("measured.toml").exists() { MEASURED } else { PRESET };
        Ok(Base { network: load_network(name, None)?, fitted: false, doubt: None })
    }

    /// Whether another network may be closer to the trace.
    pub fn is_doubtful(&self, error: f64) -> bool {
        self.fitted && error.abs() > FAR_OFF
    }

    pub fn doubt(&mut self, why: &str) {
        self.doubt = Some(format!(
            "{why}. So the network {} is assumed, and what depends on the network is uncertain: measure it with \
             `straggler mpi loggp`, or give it with --base-network",
            self.network.name
        ));
    }
}

/// Announces many simulations, and reports each long one.
pub struct Several<'a> {
    console: &'a Console,
    count: usize,
    done: usize,
    began: Instant,
    /// The expected time of one.
    one: Duration,
}

/// Shorter runs are not announced.
const LONG: Duration = Duration::from_secs(2);

impl<'a> Several<'a> {
    pub fn new(console: &'a Console, count: usize, one: Duration) -> Several<'a> {
        let all = one * u32::try_from(count).unwrap_or(u32::MAX);
        if all > LONG {
            let many = counted(count as u64, "hypothesis", "hypotheses");
            console.note(&format!("{many}, about {} in all", seconds(all.as_secs_f64())));
        }
        Several { console, count, done: 0, began: Instant::now(), one }
    }

    /// Starts the next one.
    pub fn next(&mut self, name: &str) {
        self.done += 1;
        // What a search finds may suggest more.
        self.count = self.count.max(self.done);
        if self.one * 3 > LONG {
            let passed = if self.done > 1 { self.began.elapsed() / (self.done as u32 - 1) } else { self.one };
            let left = passed * (self.count - self.done + 1) as u32;
            self.console.note(&format!(
                "{} of {}: {name}, about {} left",
                self.done,
                self.count,
                seconds(left.as_secs_f64())
            ));
        }
    }
}
