//! Runs a schedule on the engine that fits: the place where run-time choices become types.

use crate::host::{ManyLanes, OneLane};
use crate::observer::Observer;
use crate::outcome::{Outcome, RunError};
use crate::program::Program;
use crate::programs::{GraphProgram, StepProgram, Tracked, Untracked};
use crate::rules::{Acknowledgement, Rules};
use crate::windowed::Control;
use crate::{reference, windowed};
use std::ops::Range;
use straggler_model::noise::{Injection, Noise, Silence};
use straggler_model::{Network, Rank, Time};
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

    /// Runs any program.
    pub fn run<P: Program, O: Observer>(
        &self,
        program: &P,
        control: &mut Control<'_>,
        observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Result<Run<O>, RunError> {
        match self.noise {
            Some(noise) => self.run_with(program, noise, control, observer),
            None => self.run_with(program, &Silence, control, observer),
        }
    }

    fn run_with<P: Program, N: Noise, O: Observer>(
        &self,
        program: &P,
        noise: &N,
        control: &mut Control<'_>,
        mut observer: impl FnMut(u32, Range<Rank>) -> O,
    ) -> Result<Run<O>, RunError> {
        let bytes = program.largest_message();
        if bytes > RunError::LARGEST_MESSAGE {
            return Err(RunError::MessageTooLarge { bytes });
        }
        let rules = Rules {
            network: self.network,
            noise,
            acknowledgement: self.acknowledgement,
            receive_overlap: self.receive_overlap,
        };
        let no_lookahead = rules.lookahead(bytes) == Time::ZERO;
        let wanted = match self.engine {
            EngineChoice::Auto if no_lookahead => Engine::Reference,
            EngineChoice::Auto | EngineChoice::Windowed => Engine::Windowed,
            EngineChoice::Reference => Engine::Reference,
        };
        let no_lookahead = no_lookahead && self.engine == EngineChoice::Auto;
        let (outcome, observers, threads) = match wanted {
            Engine::Windowed => {
                let (outcome, observers) = windowed::run(program, &rules, control, observer)?;
                (outcome, observers, control.threads)
            }
            Engine::Reference => {
                let (outcome, observer) = reference::run(program, &rules, control, observer(0, 0..program.processes()))?;
                (outcome, vec![observer], 1)
            }
        };
        Ok(Run { outcome, engine: wanted, threads, no_lookahead, observers })
    }
}
