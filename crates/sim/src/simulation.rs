//! Runs a workload on the engine that fits. Only here run-time choices become types and engines are instantiated. The
//! public functions are not generic, so other crates instantiate none.

use crate::control::Control;
use crate::host::{ManyLanes, OneLane};
use crate::latency::{Anywhere, MaybeDrawn, OfLink};
use crate::observer::{Nothing, Observer};
use crate::observers::{Recorder, Selection, TimelineObserver, Watcher};
use crate::outcome::{Outcome, RunError};
use crate::ports::Fabric;
use crate::program::Program;
use crate::programs::{GraphProgram, Keeper, OverlappingProgram, Replay, Replayed, Tracked, Untracked};
use crate::rules::{Acknowledgement, Overlap, Rules};
use crate::workload::{Workload, repeated};
use crate::{reference, windowed};
use std::ops::Range;
use std::sync::Arc;
use straggler_model::network::Drawn;
use straggler_model::{Network, Rank, Time};
use straggler_noise::{Injection, Silence};
use straggler_schedule::collectives::Collective;
use straggler_schedule::script::Once;
use straggler_schedule::traced::Playback;
use straggler_schedule::workloads::Application;
use straggler_schedule::{Graph, Script};
use straggler_trace::Timeline;

/// Which engine to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EngineChoice {
    /// Windowed, unless the lookahead is 0.
    #[default]
    Auto,
    Reference,
    Windowed,
}

/// The engine that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    Reference,
    Windowed,
    /// The GPU engine.
    Gpu,
}

impl Engine {
    pub fn name(self) -> &'static str {
        match self {
            Engine::Reference => "reference",
            Engine::Windowed => "windowed",
            Engine::Gpu => "gpu",
        }
    }
}

/// Everything that a run depends on, apart from its workload.
#[derive(Clone, Debug)]
pub struct Simulation<'a> {
    pub network: &'a Network,
    pub noise: Option<&'a Injection>,
    /// The distribution from which each message draws its latency; None: the network's latency.
    pub latency: Option<&'a Drawn>,
    /// The links that processes share; None: every pair has its own.
    pub fabric: Option<&'a Fabric>,
    pub acknowledgement: Acknowledgement,
    /// The bytes of all messages arrive without using the receiver's CPU, not only those beyond their link's limit.
    pub receive_overlap: bool,
    pub engine: EngineChoice,
}

/// The outcome of a run, and which engine ran it.
#[derive(Debug)]
pub struct Run {
    pub outcome: Outcome,
    pub engine: Engine,
    /// Threads that took part.
    pub threads: usize,
    /// Whether the reference engine ran because the lookahead is 0.
    pub no_lookahead: bool,
}

/// A run and its observers: one for each part of the ranks, in order.
type Observed<O> = Result<(Run, Vec<O>), RunError>;

/// Makes the observer of a part of the ranks, from the part's number and its ranks.
pub(crate) type MakeObserver<'m, O> = &'m mut dyn FnMut(u32, Range<Rank>) -> O;

/// For runs without a watcher on an engine that is compiled for watchers only.
fn watch_nothing(_: u32, _: Range<Rank>) -> Watcher<'static> {
    Watcher::Nothing
}

/// The result of a run on the windowed engine without an observer.
fn unobserved(outcome: Outcome) -> Run {
    let threads = outcome.threads;
    Run { outcome, engine: Engine::Windowed, threads, no_lookahead: false }
}

impl<'a> Simulation<'a> {
    pub fn new(network: &'a Network) -> Simulation<'a> {
        Simulation {
            network,
            noise: None,
            latency: None,
            fabric: None,
            acknowledgement: Acknowledgement::Latency,
            receive_overlap: false,
            engine: EngineChoice::Auto,
        }
    }

    /// Runs a workload, with a specialised engine if there is one.
    pub fn run(&self, workload: &Workload, control: &mut Control<'_>) -> Result<Run, RunError> {
        match workload {
            Workload::Graph(graph) => self.run_graph(graph, control),
            Workload::Collective { collective, cycles, compute } => {
                self.run_collective(collective, *cycles, *compute, control)
            }
            Workload::Application(application) => self.run_application(application, control),
            Workload::Traced(playback) => self.run_playback(playback, None, control),
            Workload::Butterfly(butterfly) => {
                Ok(self.run_on_either(butterfly, control, &mut watch_nothing)?.0)
            }
            Workload::Script(script) => self.run_script(&**script, control),
        }
    }

    /// Runs a workload and records the selected part of what happens.
    pub fn run_with_timeline(
        &self,
        workload: &Workload,
        selection: &Selection,
        control: &mut Control<'_>,
    ) -> Result<(Run, Timeline), RunError> {
        let mut watcher = |_, _: Range<Rank>| Watcher::Timeline(TimelineObserver::new(selection));
        let (run, watchers) = self.run_watched(workload, control, &mut watcher)?;
        Ok((run, TimelineObserver::join(watchers.into_iter().filter_map(Watcher::timeline))))
    }

    /// Runs a workload and records for every event what it waited for last. Returns one recorder for each part of the
    /// ranks, in order.
    pub fn run_recorded(
        &self,
        workload: &Workload,
        control: &mut Control<'_>,
    ) -> Result<(Run, Vec<Recorder>), RunError> {
        let mut watcher = |part, ranks| Watcher::Recorder(Recorder::new(part, ranks));
        let (run, watchers) = self.run_watched(workload, control, &mut watcher)?;
        Ok((run, watchers.into_iter().filter_map(Watcher::recorder).collect()))
    }

    /// Replays a traced program and records when each process reached its instructions and what it decided, also for
    /// a run that gets stuck.
    pub fn replay(
        &self,
        playback: &Playback,
        control: &mut Control<'_>,
    ) -> Result<(Run, Vec<Replayed>), RunError> {
        let keeper = Arc::new(Keeper::default());
        let run = self.run_playback(playback, Some(keeper.clone()), control)?;
        let processes = Arc::into_inner(keeper).map(Keeper::into_processes).unwrap_or_default();
        Ok((run, processes))
    }

    /// Runs a program that is not a workload, for the tests of this crate. A crate that calls this compiles its own
    /// engines; other crates call [`Simulation::run`].
    pub fn run_program<P: Program, O: Observer>(
        &self,
        program: &P,
        control: &mut Control<'_>,
        mut observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Observed<O> {
        self.run_on_either(program, control, &mut observer)
    }

    fn run_on_either<P: Program, O: Observer>(
        &self,
        program: &P,
        control: &mut Control<'_>,
        observer: MakeObserver<'_, O>,
    ) -> Observed<O> {
        match self.choose(program.largest_message())? {
            (Engine::Reference, _) if control.cluster.is_some() => Err(RunError::NoClusterWithoutLookahead),
            (Engine::Windowed | Engine::Gpu, _) => self.run_windowed(program, control, observer),
            (Engine::Reference, no_lookahead) => self.run_reference(program, control, observer, no_lookahead),
        }
    }

    /// Runs a workload with a watcher. Collectives and workloads are dispatched at every step, which is cheap beside
    /// a watcher, so one engine is compiled for all.
    fn run_watched<'w>(
        &self,
        workload: &Workload,
        control: &mut Control<'_>,
        watcher: MakeObserver<'_, Watcher<'w>>,
    ) -> Observed<Watcher<'w>> {
        match workload {
            Workload::Graph(graph) => {
                let program = GraphProgram::<ManyLanes>::new(graph, self.completes_late());
                self.run_on_either(&program, control, watcher)
            }
            Workload::Collective { collective, cycles, compute } => {
                self.run_any_script(&repeated(collective, *cycles, *compute), control, watcher)
            }
            Workload::Application(application) => self.run_any_script(&**application, control, watcher),
            Workload::Script(script) => self.run_any_script(&**script, control, watcher),
            Workload::Traced(playback) => {
                let program = Replay::new(playback, self.completes_late(), None);
                self.run_on_either(&program, control, watcher)
            }
            Workload::Butterfly(butterfly) => self.run_on_either(butterfly, control, watcher),
        }
    }

    /// Runs any implicit schedule with a watcher, with overlapping steps or not.
    fn run_any_script<'w>(
        &self,
        script: &dyn Script,
        control: &mut Control<'_>,
        watcher: MakeObserver<'_, Watcher<'w>>,
    ) -> Observed<Watcher<'w>> {
        self.run_on_either(&OverlappingProgram::<_, Tracked>::new(script), control, watcher)
    }

    fn run_graph(&self, graph: &Graph, control: &mut Control<'_>) -> Result<Run, RunError> {
        let program = GraphProgram::<OneLane>::new(graph, self.completes_late());
        match self.choose(graph.largest_message())? {
            (Engine::Reference, no_lookahead) if graph.lanes() == (1, 1) && control.cluster.is_none() => {
                return Ok(self.run_reference(&program, control, &mut |_, _| Nothing, no_lookahead)?.0);
            }
            (Engine::Windowed, _) if graph.lanes() == (1, 1) && !self.completes_late() => {}
            _ => {
                let program = GraphProgram::<ManyLanes>::new(graph, self.completes_late());
                return Ok(self.run_on_either(&program, control, &mut watch_nothing)?.0);
            }
        }
        let outcome = match (self.noise, self.latency) {
            (None, None) => windowed::run_graph(&program, &self.rules(&Silence), control)?,
            (noise, _) => windowed::run_graph(&program, &self.drawn_rules(noise), control)?,
        };
        Ok(unobserved(outcome))
    }

    /// Runs a replay with an engine compiled for runs without a watcher, if the windowed engine can run it.
    fn run_playback(
        &self,
        playback: &Playback,
        keeper: Option<Arc<Keeper>>,
        control: &mut Control<'_>,
    ) -> Result<Run, RunError> {
        let program = Replay::new(playback, self.completes_late(), keeper);
        match self.choose(program.largest_message())?.0 {
            Engine::Windowed => Ok(self.run_windowed(&program, control, &mut |_, _| Nothing)?.0),
            _ => Ok(self.run_on_either(&program, control, &mut watch_nothing)?.0),
        }
    }

    /// Runs an implicit schedule through dynamic dispatch, so one engine is compiled for all of them.
    fn run_script(&self, script: &dyn Script, control: &mut Control<'_>) -> Result<Run, RunError> {
        if !self.in_windows_without_overlap(script)? {
            return Ok(self.run_any_script(script, control, &mut watch_nothing)?.0);
        }
        let outcome = match (self.noise, self.latency, self.fabric) {
            (noise, _, Some(_)) => windowed::run_steps(script, &self.any_rules(noise), control)?,
            (None, None, None) => windowed::run_steps(script, &self.rules(&Silence), control)?,
            (noise, _, None) => windowed::run_steps(script, &self.drawn_rules(noise), control)?,
        };
        Ok(unobserved(outcome))
    }

    /// Runs steps that wait for each other with a windowed engine compiled for them.
    fn run_steps<S: Script>(&self, script: &S, control: &mut Control<'_>) -> Result<Run, RunError> {
        let outcome = match self.noise {
            None => windowed::run_steps(script, &self.rules(&Silence), control)?,
            Some(noise) => windowed::run_steps(script, &self.rules(noise), control)?,
        };
        Ok(unobserved(outcome))
    }

    /// Whether the windowed engine is to run this script, and only one step is in progress at a time.
    fn in_windows_without_overlap(&self, script: &dyn Script) -> Result<bool, RunError> {
        let windowed = self.choose(script.largest_message())?.0 == Engine::Windowed;
        Ok(windowed && !self.overlaps() && !script.overlaps())
    }

    /// Runs an application with a windowed engine compiled for it, if the windowed engine can run it.
    fn run_application(&self, application: &Application, control: &mut Control<'_>) -> Result<Run, RunError> {
        let windowed = self.choose(application.largest_message())?.0 == Engine::Windowed;
        if !windowed || self.completes_late() || !application.overlaps() {
            return self.run_script(application, control);
        }
        let program = OverlappingProgram::<_, Untracked>::new(application);
        Ok(self.run_windowed(&program, control, &mut |_, _| Nothing)?.0)
    }

    /// Runs a collective in cycles. The collectives of the largest runs have engines compiled for them, which take a
    /// third fewer instructions than one that looks up the algorithm at every step.
    fn run_collective(
        &self,
        collective: &Collective,
        cycles: u32,
        compute: Time,
        control: &mut Control<'_>,
    ) -> Result<Run, RunError> {
        if cycles != 1 || compute > Time::ZERO {
            return self.run_script(&repeated(collective, cycles, compute), control);
        }
        let script = Once(collective);
        if self.latency.is_some() || self.fabric.is_some() || !self.in_windows_without_overlap(&script)? {
            return self.run_script(&script, control);
        }
        match collective {
            Collective::Dissemination(steps) => self.run_steps(&Once(steps), control),
            Collective::RecursiveDoubling(steps) => self.run_steps(&Once(steps), control),
            Collective::Other(_) => self.run_script(&script, control),
        }
    }

    /// The engine to use, and whether it is the reference engine because the lookahead is 0.
    fn choose(&self, largest_message: u64) -> Result<(Engine, bool), RunError> {
        if largest_message > RunError::LARGEST_MESSAGE {
            return Err(RunError::MessageTooLarge { bytes: largest_message });
        }
        let no_lookahead = self.any_rules(None).lookahead(largest_message) == Time::ZERO;
        match self.engine {
            EngineChoice::Auto if no_lookahead => Ok((Engine::Reference, true)),
            EngineChoice::Windowed if no_lookahead => Err(RunError::NoLookahead),
            EngineChoice::Auto | EngineChoice::Windowed => Ok((Engine::Windowed, false)),
            EngineChoice::Reference => Ok((Engine::Reference, false)),
        }
    }

    /// Whether the bytes of some messages arrive without using the receiver's CPU.
    pub fn overlaps(&self) -> bool {
        self.overlap() != Overlap::Never
    }

    /// Whether receives may complete after their CPU is free.
    fn completes_late(&self) -> bool {
        self.overlaps() || self.fabric.is_some()
    }

    fn overlap(&self) -> Overlap {
        match self.receive_overlap {
            true => Overlap::Always,
            false if self.network.overlaps() => Overlap::ByLink,
            false => Overlap::Never,
        }
    }

    /// Rules with this noise and the network's latencies.
    fn rules<'b, N>(&'b self, noise: &'b N) -> Rules<'b, N> {
        Rules {
            network: self.network,
            noise,
            latency: OfLink,
            acknowledgement: self.acknowledgement,
            overlap: self.overlap(),
        }
    }

    /// Rules that decide at run time whether there is noise and whether latencies are drawn, which costs a comparison
    /// per event. Only the fast paths are compiled for each case.
    fn drawn_rules<'b>(&'b self, noise: Option<&'b Injection>) -> Rules<'b, Injection, MaybeDrawn<'b>> {
        self.rules_with(noise, MaybeDrawn(self.latency))
    }

    /// Like [`Simulation::drawn_rules`], and links may be shared.
    fn any_rules<'b>(&'b self, noise: Option<&'b Injection>) -> Rules<'b, Injection, Anywhere<'b>> {
        self.rules_with(noise, Anywhere { drawn: self.latency, fabric: self.fabric })
    }

    fn rules_with<'b, L>(&'b self, noise: Option<&'b Injection>, latency: L) -> Rules<'b, Injection, L> {
        Rules {
            network: self.network,
            noise: noise.unwrap_or(Injection::QUIET),
            latency,
            acknowledgement: self.acknowledgement,
            overlap: self.overlap(),
        }
    }

    fn run_windowed<P: Program, O: Observer>(
        &self,
        program: &P,
        control: &mut Control<'_>,
        observer: MakeObserver<'_, O>,
    ) -> Observed<O> {
        let rules = self.any_rules(self.noise);
        let (outcome, observers) = windowed::run(program, &rules, control, observer)?;
        let threads = outcome.threads;
        Ok((Run { outcome, engine: Engine::Windowed, threads, no_lookahead: false }, observers))
    }

    fn run_reference<P: Program, O: Observer>(
        &self,
        program: &P,
        control: &mut Control<'_>,
        observer: MakeObserver<'_, O>,
        no_lookahead: bool,
    ) -> Observed<O> {
        let rules = self.any_rules(self.noise);
        let observer = observer(0, 0..program.processes());
        let (outcome, observer) = reference::run(program, &rules, control, observer)?;
        Ok((Run { outcome, engine: Engine::Reference, threads: 1, no_lookahead }, vec![observer]))
    }
}
