//! Runs a schedule on the engine that fits: the place where run-time choices become types.

use crate::host::{ManyLanes, OneLane};
use crate::observer::{Nothing, Observer};
use crate::outcome::{Outcome, RunError};
use crate::program::Program;
use crate::programs::{GraphProgram, StepProgram, Tracked, Untracked};
use crate::rules::{Acknowledgement, Rules};
use crate::windowed::Control;
use crate::{reference, windowed};
use std::ops::Range;
use straggler_model::noise::{Injection, Phases, Silence};
use straggler_model::{Network, Rank, Time};
use straggler_schedule::collectives::Collective;
use straggler_schedule::{Graph, Steps};

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
        if graph.lanes() == (1, 1) {
            self.run(&GraphProgram::<OneLane>::new(graph, self.receive_overlap), control, observer)
        } else {
            self.run(&GraphProgram::<ManyLanes>::new(graph, self.receive_overlap), control, observer)
        }
    }

    /// Runs an implicit schedule `cycles` times, each after `compute` time of computation.
    pub fn run_steps<S: Steps, O: Observer>(
        &self,
        steps: &S,
        cycles: u32,
        compute: Time,
        control: &mut Control<'_>,
        observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Result<Run<O>, RunError> {
        if self.receive_overlap {
            self.run(&StepProgram::<S, Tracked>::new(steps, cycles, compute), control, observer)
        } else {
            self.run(&StepProgram::<S, Untracked>::new(steps, cycles, compute), control, observer)
        }
    }

    /// Runs a collective with a windowed engine that is compiled for this very algorithm. Where that is
    /// not the engine to use, which algorithm it is, is asked at every step.
    pub fn run_collective(
        &self,
        collective: &Collective,
        cycles: u32,
        compute: Time,
        control: &mut Control<'_>,
    ) -> Result<Run<Nothing>, RunError> {
        let windowed = self.choose(collective.largest_message())?.0 == Engine::Windowed;
        if self.receive_overlap || !windowed {
            return self.run_steps(collective, cycles, compute, control, |_, _| Nothing);
        }
        match collective {
            Collective::Dissemination(steps) => self.run_fast(steps, cycles, compute, control),
            Collective::RecursiveDoubling(steps) => self.run_fast(steps, cycles, compute, control),
            Collective::Ring(steps) => self.run_fast(steps, cycles, compute, control),
            Collective::BinomialBroadcast(steps) => self.run_fast(steps, cycles, compute, control),
            Collective::BinomialReduce(steps) => self.run_fast(steps, cycles, compute, control),
        }
    }

    fn run_fast<S: Steps>(
        &self,
        steps: &S,
        cycles: u32,
        compute: Time,
        control: &mut Control<'_>,
    ) -> Result<Run<Nothing>, RunError> {
        let program = StepProgram::<S, Untracked>::new(steps, cycles, compute);
        self.run_windowed(&program, control, |_, _| Nothing)
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
        let (outcome, observers) = match self.noise {
            None if !O::ACTIVE => windowed::run(program, &self.rules(&Silence), control, observer)?,
            noise => windowed::run(program, &self.rules(noise.unwrap_or(&QUIET)), control, observer)?,
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
static QUIET: Injection =
    Injection { sources: Vec::new(), phases: Phases::Drawn { seed: 0, replica: 0 }, wallclock: false };
