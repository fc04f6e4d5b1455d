//! Whole applications as implicit schedules: phases, each a sequence of steps.
//!
//! A process begins a phase when all its operations of the phase before have completed. A collective in
//! compute–communicate cycles is a script of equal phases; a workload has different phases. Like steps, a
//! script is a pure function of (rank, phase, stage) and stores nothing per process.

use crate::{Graph, GraphBuilder, Operation, RankBuilder, Step, Steps, Symmetry, Then};
use straggler_model::{Rank, Time};

/// A schedule in phases. All functions are pure.
pub trait Script: Sync {
    fn processes(&self) -> u32;
    /// Number of phases, the same for every rank.
    fn phases(&self) -> u32;
    /// Number of steps of `rank` in a phase, possibly 0; fewer than [`crate::steps::MOST_STAGES`].
    fn stages(&self, rank: Rank, phase: u32) -> u32;
    /// Step number `stage < stages(rank, phase)`.
    fn step(&self, rank: Rank, phase: u32, stage: u32) -> Step;
    /// Size of the largest message of any rank, which tells whether rendezvous can happen.
    fn largest_message(&self) -> u64;
    /// Whether any step lets the next one begin before it has completed.
    fn overlaps(&self) -> bool;
    /// The symmetry of the ranks, the same in every phase. It saves engines from looking at every rank.
    fn symmetry(&self) -> Symmetry {
        Symmetry::Unknown
    }
    /// Number of messages that all ranks send together.
    fn messages(&self) -> u64;
    /// Number of operations that all ranks execute together.
    fn operations(&self) -> u64;
}

/// Repetitions of a schedule of steps, each preceded by some computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cycles<S> {
    steps: S,
    cycles: u32,
    compute: Time,
    /// Steps of a cycle before those of the schedule: one if there is a computation. Stored because
    /// engines need it at every step.
    lead: u32,
}

impl<S: Steps> Cycles<S> {
    pub fn new(steps: S, cycles: u32, compute: Time) -> Cycles<S> {
        Cycles { steps, cycles, compute, lead: u32::from(compute > Time::ZERO) }
    }

    /// The schedule once, without computation. [`Once`] does the same at less cost.
    pub fn once(steps: S) -> Cycles<S> {
        Cycles::new(steps, 1, Time::ZERO)
    }
}

/// A schedule of steps, run once, as at the largest scales.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Once<S>(pub S);

impl<S: Steps> Script for Once<S> {
    fn processes(&self) -> u32 {
        self.0.processes()
    }

    #[inline(always)]
    fn phases(&self) -> u32 {
        1
    }

    #[inline(always)]
    fn stages(&self, rank: Rank, _: u32) -> u32 {
        self.0.stages(rank)
    }

    #[inline(always)]
    fn step(&self, rank: Rank, _: u32, stage: u32) -> Step {
        self.0.step(rank, stage)
    }

    fn largest_message(&self) -> u64 {
        self.0.largest_message()
    }

    fn overlaps(&self) -> bool {
        self.0.overlaps()
    }

    fn messages(&self) -> u64 {
        self.0.messages()
    }

    fn operations(&self) -> u64 {
        self.0.messages().saturating_mul(2)
    }
}

impl<S: Steps> Script for Cycles<S> {
    #[inline(always)]
    fn processes(&self) -> u32 {
        self.steps.processes()
    }

    #[inline(always)]
    fn phases(&self) -> u32 {
        self.cycles
    }

    #[inline(always)]
    fn stages(&self, rank: Rank, _: u32) -> u32 {
        self.steps.stages(rank) + self.lead
    }

    #[inline(always)]
    fn step(&self, rank: Rank, _: u32, stage: u32) -> Step {
        let lead = self.lead;
        if stage < lead { Step::calc(self.compute) } else { self.steps.step(rank, stage - lead) }
    }

    fn largest_message(&self) -> u64 {
        self.steps.largest_message()
    }

    fn overlaps(&self) -> bool {
        self.steps.overlaps()
    }

    fn symmetry(&self) -> Symmetry {
        self.steps.symmetry()
    }

    fn messages(&self) -> u64 {
        self.steps.messages().saturating_mul(u64::from(self.cycles))
    }

    fn operations(&self) -> u64 {
        let computations = u64::from(self.processes()) * u64::from(self.lead);
        // Reductions are not counted: this is an estimate for progress meters and memory.
        let once = self.steps.messages().saturating_mul(2).saturating_add(computations);
        once.saturating_mul(u64::from(self.cycles))
    }
}

impl<S: Steps + ?Sized> Steps for &S {
    #[inline(always)]
    fn processes(&self) -> u32 {
        (**self).processes()
    }
    #[inline(always)]
    fn stages(&self, rank: Rank) -> u32 {
        (**self).stages(rank)
    }
    #[inline(always)]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        (**self).step(rank, stage)
    }
    fn largest_message(&self) -> u64 {
        (**self).largest_message()
    }
    fn tags(&self) -> u32 {
        (**self).tags()
    }
    fn overlaps(&self) -> bool {
        (**self).overlaps()
    }
    fn symmetry(&self) -> Symmetry {
        (**self).symmetry()
    }
    fn messages(&self) -> u64 {
        (**self).messages()
    }
}

/// Receives the operations of a rank in order, each followed by its dependencies.
pub trait Taker {
    /// Takes an operation and returns its number.
    fn push(&mut self, operation: Operation) -> u32;
    /// Lets `dependent` start only after `before` has completed.
    fn requires(&mut self, dependent: u32, before: u32);
    /// Lets `dependent` start only after `before` has started.
    fn irequires(&mut self, dependent: u32, before: u32);
}

impl Taker for RankBuilder {
    fn push(&mut self, operation: Operation) -> u32 {
        RankBuilder::push(self, operation)
    }
    fn requires(&mut self, dependent: u32, before: u32) {
        RankBuilder::requires(self, dependent, before);
    }
    fn irequires(&mut self, dependent: u32, before: u32) {
        RankBuilder::irequires(self, dependent, before);
    }
}

/// Counts the operations and dependencies of a rank without storing them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    pub operations: u64,
    pub dependencies: u64,
    /// Number of operations that wait for others.
    pub dependents: u64,
    /// The last operation found to wait, plus one.
    last: u32,
}

impl Extent {
    pub fn new(script: &(impl Script + ?Sized), rank: Rank) -> Extent {
        let mut extent = Extent::default();
        materialise_rank(script, rank, &mut extent);
        extent
    }

    fn depends(&mut self, dependent: u32) {
        self.dependencies += 1;
        self.dependents += u64::from(self.last != dependent.wrapping_add(1));
        self.last = dependent.wrapping_add(1);
    }
}

impl Taker for Extent {
    fn push(&mut self, _: Operation) -> u32 {
        self.operations += 1;
        (self.operations - 1) as u32
    }
    fn requires(&mut self, dependent: u32, _: u32) {
        self.depends(dependent);
    }
    fn irequires(&mut self, dependent: u32, _: u32) {
        self.depends(dependent);
    }
}

/// Passes the operations of one rank to a [`Taker`].
pub fn materialise_rank(script: &(impl Script + ?Sized), rank: Rank, out: &mut impl Taker) {
    let mut chain = Chain::default();
    for phase in 0..script.phases() {
        for stage in 0..script.stages(rank, phase) {
            chain.add(script.step(rank, phase, stage), out);
        }
    }
}

/// What the next step must wait for, while steps are turned into operations.
#[derive(Debug, Default)]
struct Chain {
    /// Operations that no step has waited for yet.
    open: Vec<u32>,
    /// Operations of the last step, if the next waits only for their start.
    started: Vec<u32>,
    /// Operations that the next step waits for to complete.
    completed: Vec<u32>,
}

impl Chain {
    fn add(&mut self, step: Step, out: &mut impl Taker) {
        let before = self.open.len();
        for operation in step.operations() {
            let dependent = out.push(operation);
            self.started.iter().for_each(|&before| out.irequires(dependent, before));
            self.completed.iter().for_each(|&before| out.requires(dependent, before));
            self.open.push(dependent);
        }
        self.started.clear();
        self.completed.clear();
        match step.then {
            Then::Go => self.started.extend_from_slice(&self.open[before..]),
            Then::Wait => std::mem::swap(&mut self.completed, &mut self.open),
        }
        if step.after > Time::ZERO {
            debug_assert_eq!(step.then, Then::Wait);
            let reduction = out.push(Operation::calc(step.after));
            self.completed.iter().for_each(|&before| out.requires(reduction, before));
            self.completed.clear();
            self.completed.push(reduction);
        }
    }
}

/// Converts a script to an explicit graph.
pub fn materialise(script: &(impl Script + ?Sized)) -> Graph {
    let mut graph = GraphBuilder::default();
    let mut builder = RankBuilder::default();
    for rank in 0..script.processes() {
        builder.clear();
        materialise_rank(script, rank, &mut builder);
        graph.push_rank(&builder);
    }
    graph.finish()
}
