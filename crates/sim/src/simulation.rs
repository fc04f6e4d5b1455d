//! Runs a schedule on the engine that fits: the place where run-time choices become types.

use crate::control::Control;
use crate::host::{ManyLanes, OneLane};
use crate::observer::{Nothing, Observer};
use crate::outcome::{Outcome, RunError};
use crate::program::Program;
use crate::programs::{GraphProgram, OverlappingProgram, Replay, Tracked, Untracked};
use crate::rules::{Acknowledgement, Rules};
use crate::{reference, windowed};
use std::ops::Range;
use straggler_model::noise::{Injection, Phases, Silence};
use straggler_model::{Network, Rank, Time};
use straggler_schedule::collectives::Collective;
use straggler_schedule::script::Once;
use straggler_schedule::traced::Playback;
use straggler_schedule::workloads::Application;
use straggler_schedule::{Cycles, Graph, Script};

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
}

impl Engine {
    pub fn name(self) -> &'static str {
        match self {
            Engine::Reference => "reference",
            Engine::Windowed => "windowed",
        }
    }
}

/// What a run depends on besides its schedule.
#[derive(Clone, Debug)]
pub struct Simulation<'a> {
    pub network: &'a Network,
    pub noise: Option<&'a Injection>,
    pub acknowledgement: Acknowledgement,
    pub receive_overlap: bool,
    pub engine: EngineChoice,
}

/// A run and how it was made.
#[derive(Debug)]
pub struct Run<O> {
    pub outcome: Outcome,
    pub engine: Engine,
    /// Threads that took part.
    pub threads: usize,
    /// Whether the reference engine ran because the lookahead is 0.
    pub no_lookahead: bool,
    /// One for each part of the ranks, in order.
    pub observers: Vec<O>,
}

impl<'a> Simulation<'a> {
    pub fn new(network: &'a Network) -> Simulation<'a> {
        Simulation {
            network,
            noise: None,
            acknowledgement: Acknowledgement::Latency,
            receive_overlap: false,
            engine: EngineChoice::Auto,
        }
    }

    /// Runs a materialised schedule.
    pub fn run_graph<O: Observer>(
        &self,
        graph: &Graph,
        control: &mut Control<'_>,
        observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Result<Run<O>, RunError> {
        if graph.lanes() != (1, 1) {
            return self.run(&GraphProgram::<ManyLanes>::new(graph, self.receive_overlap), control, observer);
        }
        let program = GraphProgram::<OneLane>::new(graph, self.receive_overlap);
        let windowed = self.choose(graph.largest_message())?.0 == Engine::Windowed;
        if O::ACTIVE || !windowed || self.receive_overlap {
            return self.run(&program, control, observer);
        }
        let outcome = match self.noise {
            None => windowed::run_graph(&program, &self.rules(&Silence), control)?,
            Some(noise) => windowed::run_graph(&program, &self.rules(noise), control)?,
        };
        Ok(self.unobserved(outcome, graph.processes(), observer))
    }

    /// Runs a traced program, in so many copies as it is played back for.
    pub fn run_playback<O: Observer>(
        &self,
        playback: &Playback,
        control: &mut Control<'_>,
        observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Result<Run<O>, RunError> {
        if playback.recording().threads() == 1 {
            self.run(&Replay::<OneLane>::new(playback), control, observer)
        } else {
            self.run(&Replay::<ManyLanes>::new(playback), control, observer)
        }
    }

    /// Runs an implicit schedule. What it does next is asked through a table of functions: one engine,
    /// compiled once, for all of them.
    pub fn run_script<O: Observer>(
        &self,
        script: &dyn Script,
        control: &mut Control<'_>,
        observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Result<Run<O>, RunError> {
        // The program for all cases; what it costs more is nothing beside an observer.
        let general = OverlappingProgram::<_, Tracked>::new(script);
        if O::ACTIVE {
            return self.run(&general, control, observer);
        }
        let windowed = self.choose(script.largest_message())?.0 == Engine::Windowed;
        if !windowed || self.receive_overlap || script.overlaps() {
            return self.run(&general, control, observer);
        }
        self.run_steps(script, control, observer)
    }

    /// Runs an implicit schedule with a windowed engine that is compiled for it, where that is the engine
    /// to use.
    pub fn run_compiled<S: Script>(
        &self,
        script: &S,
        control: &mut Control<'_>,
    ) -> Result<Run<Nothing>, RunError> {
        let windowed = self.choose(script.largest_message())?.0 == Engine::Windowed;
        if !windowed || self.receive_overlap || script.overlaps() {
            return self.run_script(script, control, |_, _| Nothing);
        }
        self.run_steps(script, control, |_, _| Nothing)
    }

    /// Runs an application with a windowed engine that is compiled for it, where that is the engine to use.
    pub fn run_application(
        &self,
        application: &Application,
        control: &mut Control<'_>,
    ) -> Result<Run<Nothing>, RunError> {
        let windowed = self.choose(application.largest_message())?.0 == Engine::Windowed;
        if !windowed || self.receive_overlap || !application.overlaps() {
            return self.run_script(application, control, |_, _| Nothing);
        }
        let program = OverlappingProgram::<_, Untracked>::new(application);
        self.run_windowed(&program, control, |_, _| Nothing)
    }

    /// Runs a collective `cycles` times, each after `compute` time of computation. The algorithms that
    /// are run at the largest scales have an engine of their own.
    pub fn run_collective(
        &self,
        collective: &Collective,
        cycles: u32,
        compute: Time,
        control: &mut Control<'_>,
    ) -> Result<Run<Nothing>, RunError> {
        if cycles != 1 || compute > Time::ZERO {
            return self.run_script(&Cycles::new(collective, cycles, compute), control, |_, _| Nothing);
        }
        match collective {
            Collective::Dissemination(steps) => self.run_compiled(&Once(steps), control),
            Collective::RecursiveDoubling(steps) => self.run_compiled(&Once(steps), control),
            Collective::BinomialBcast(steps) => self.run_compiled(&Once(steps), control),
            other => self.run_script(&Once(other), control, |_, _| Nothing),
        }
    }

    /// Runs steps that wait for one another on the windowed engine; nothing is observed.
    fn run_steps<S: Script + ?Sized, O: Observer>(
        &self,
        script: &S,
        control: &mut Control<'_>,
        observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Result<Run<O>, RunError> {
        let outcome = match self.noise {
            None => windowed::run_steps(script, &self.rules(&Silence), control)?,
            Some(noise) => windowed::run_steps(script, &self.rules(noise), control)?,
        };
        Ok(self.unobserved(outcome, script.processes(), observer))
    }

    /// A run on the windowed engine that told no observer of anything.
    fn unobserved<O>(
        &self,
        outcome: Outcome,
        processes: u32,
        mut observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Run<O> {
        let (threads, observers) = (outcome.threads, vec![observer(0, 0..processes)]);
        Run { outcome, engine: Engine::Windowed, threads, no_lookahead: false, observers }
    }

    /// Runs any program.
    pub fn run<P: Program, O: Observer>(
        &self,
        program: &P,
        control: &mut Control<'_>,
        observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Result<Run<O>, RunError> {
        match self.choose(program.largest_message())? {
            (Engine::Windowed, _) => self.run_windowed(program, control, observer),
            (Engine::Reference, no_lookahead) => self.run_reference(program, control, observer, no_lookahead),
        }
    }

    /// The engine to use, and whether it is the reference for want of a lookahead.
    fn choose(&self, largest_message: u64) -> Result<(Engine, bool), RunError> {
        if largest_message > RunError::LARGEST_MESSAGE {
            return Err(RunError::MessageTooLarge { bytes: largest_message });
        }
        let no_lookahead = self.rules(&Silence).lookahead(largest_message) == Time::ZERO;
        match self.engine {
            EngineChoice::Auto if no_lookahead => Ok((Engine::Reference, true)),
            EngineChoice::Windowed if no_lookahead => Err(RunError::NoLookahead),
            EngineChoice::Auto | EngineChoice::Windowed => Ok((Engine::Windowed, false)),
            EngineChoice::Reference => Ok((Engine::Reference, false)),
        }
    }

    fn rules<'b, N>(&'b self, noise: &'b N) -> Rules<'b, N> {
        Rules {
            network: self.network,
            noise,
            acknowledgement: self.acknowledgement,
            receive_overlap: self.receive_overlap,
        }
    }

    fn run_windowed<P: Program, O: Observer>(
        &self,
        program: &P,
        control: &mut Control<'_>,
        observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Result<Run<O>, RunError> {
        // Engines for silence are compiled only where speed matters: without an observer.
        let (outcome, observers) = if O::ACTIVE {
            windowed::run(program, &self.rules(self.noise.unwrap_or(&QUIET)), control, observer)?
        } else {
            match self.noise {
                None => windowed::run(program, &self.rules(&Silence), control, observer)?,
                Some(noise) => windowed::run(program, &self.rules(noise), control, observer)?,
            }
        };
        let threads = outcome.threads;
        Ok(Run { outcome, engine: Engine::Windowed, threads, no_lookahead: false, observers })
    }

    fn run_reference<P: Program, O: Observer>(
        &self,
        program: &P,
        control: &mut Control<'_>,
        mut observer: impl FnMut(u32, Range<Rank>) -> O,
        no_lookahead: bool,
    ) -> Result<Run<O>, RunError> {
        let rules = self.rules(self.noise.unwrap_or(&QUIET));
        let observer = observer(0, 0..program.processes());
        let (outcome, observer) = reference::run(program, &rules, control, observer)?;
        Ok(Run { outcome, engine: Engine::Reference, threads: 1, no_lookahead, observers: vec![observer] })
    }
}

/// No source at all.
static QUIET: Injection = Injection {
    sources: Vec::new(),
    phases: Phases::Drawn { seed: 0, replica: 0 },
    wallclock: false,
    computation_only: false,
};
