//! A collective that can be built.

use crate::args::schedule::{Generate, Repetition};
use crate::args::simulate::CollectiveOptions;
use crate::exit::{Failure, Outcome};
use straggler_model::Time;
use straggler_model::units::Bytes;
use straggler_schedule::Cycles;
use straggler_schedule::collectives::{Algorithm, Choice, Collective, Job, Operation, barrier};

/// A collective, how often it is done and the computation before each time.
#[derive(Clone, Debug)]
pub struct CollectivePlan {
    pub operation: Operation,
    pub algorithm: Algorithm,
    pub bytes: u64,
    pub collective: Collective,
    pub processes: u32,
    pub cycles: u32,
    pub compute: Time,
}

impl CollectivePlan {
    /// What `simulate` was told, if that was a collective.
    pub fn of_simulate(typed: &CollectiveOptions) -> Outcome<Option<CollectivePlan>> {
        let (Some(choice), Some(processes)) = (&typed.collective, typed.processes) else {
            let repeats = typed.repetition.cycles.is_some() || typed.repetition.compute.is_some();
            return if repeats {
                Err(Failure::usage(
                    "--cycles and --compute belong to --collective; a schedule file says itself what is done",
                ))
            } else {
                Ok(None)
            };
        };
        CollectivePlan::new(choice, processes, typed.size, typed.repetition, typed.root).map(Some)
    }

    /// What `generate` was told, if that was a collective.
    pub fn of_generate(typed: &Generate) -> Outcome<Option<CollectivePlan>> {
        let plan = typed.collective.as_ref().map(|choice| {
            CollectivePlan::new(choice, typed.processes, typed.size, typed.repetition, typed.root)
        });
        plan.transpose()
    }

    fn new(
        choice: &Choice,
        processes: u32,
        size: Option<Bytes>,
        repetition: Repetition,
        root: Option<u32>,
    ) -> Outcome<CollectivePlan> {
        let operation = choice.operation;
        if root.is_some() && !operation.has_root() {
            return Err(Failure::usage(format!("{operation} has no root: leave --root out")));
        }
        let bytes = size.map_or_else(|| default_bytes(operation), |Bytes(bytes)| bytes);
        let algorithm =
            choice.algorithm.clone().or_else(|| operation.algorithms().first().map(|&name| name.into()));
        let Some(algorithm) = algorithm else {
            return Err(Failure::usage(format!("{operation} has no algorithm yet")));
        };
        let job = Job { root: root.unwrap_or(0), ..Job::new(processes, bytes) };
        Ok(CollectivePlan {
            operation,
            bytes,
            collective: algorithm.build(operation, &job)?,
            algorithm,
            processes,
            cycles: repetition.cycles.unwrap_or(1),
            compute: repetition.compute.unwrap_or(Time::ZERO),
        })
    }

    pub fn script(&self) -> Cycles<&Collective> {
        Cycles { steps: &self.collective, cycles: self.cycles, compute: self.compute }
    }

    /// "an allreduce of 8 B", "10 barriers after 1 ms of computation each".
    pub fn describe(&self) -> String {
        let operation = match self.operation.name() {
            "bcast" => "broadcast",
            other => other,
        };
        let size = match operation {
            "barrier" => String::new(),
            _ => format!(" of {}", Bytes(self.bytes)),
        };
        let compute = match self.compute {
            Time::ZERO => String::new(),
            time if self.cycles == 1 => format!(" after {time} of computation"),
            time => format!(", each after {time} of computation"),
        };
        if self.cycles == 1 {
            let article = if operation.starts_with('a') { "an" } else { "a" };
            format!("{article} {operation}{size}{compute}")
        } else {
            let cycles = straggler_report::numbers::grouped(self.cycles);
            format!("{cycles} {operation}s{size}{compute}")
        }
    }
}

/// How many bytes to exchange when the user does not say.
fn default_bytes(operation: Operation) -> u64 {
    if operation == Operation::Barrier { barrier::BYTES } else { 8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(choice: &str, cycles: Option<u32>, compute: Option<Time>) -> CollectivePlan {
        let repetition = Repetition { cycles, compute };
        CollectivePlan::new(&choice.parse().unwrap(), 16, None, repetition, None).unwrap()
    }

    #[test]
    fn described_as_a_person_would() {
        assert_eq!(plan("allreduce", None, None).describe(), "an allreduce of 8 B");
        assert_eq!(
            plan("barrier", Some(1), Some(Time::from_ns(1000))).describe(),
            "a barrier after 1 µs of computation"
        );
        assert_eq!(
            plan("bcast", Some(1000), Some(Time::from_ns(1_000_000))).describe(),
            "1,000 broadcasts of 8 B, each after 1 ms of computation"
        );
    }

    #[test]
    fn a_root_needs_an_operation_that_has_one() {
        let repetition = Repetition { cycles: None, compute: None };
        let choice: Choice = "allreduce".parse().unwrap();
        assert!(CollectivePlan::new(&choice, 4, None, repetition, Some(1)).is_err());
        let choice: Choice = "bcast".parse().unwrap();
        assert!(CollectivePlan::new(&choice, 4, None, repetition, Some(4)).is_err());
        assert!(CollectivePlan::new(&choice, 4, None, repetition, Some(3)).is_ok());
    }
}
