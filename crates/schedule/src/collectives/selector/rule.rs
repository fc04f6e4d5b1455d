//! A single rule: its conditions and the algorithm it selects.

use super::super::{Algorithm, Data, Job, Operation};
use super::bounds::{Bounds, Unit};
use std::fmt;
use std::sync::Arc;

/// The algorithm to use for an operation under some conditions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    pub operation: Operation,
    pub when: When,
    pub algorithm: Algorithm,
    /// The table of the rule, and its number and first line there, both counted from 1.
    pub table: Arc<str>,
    pub number: usize,
    pub line: usize,
}

/// Conditions of a rule; absent ones always hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct When {
    pub bytes: Option<Bounds>,
    pub total: Option<Bounds>,
    pub share: Option<Bounds>,
    pub processes: Option<Bounds>,
    pub power_of_two: Option<bool>,
    pub idempotent: Option<bool>,
}

/// The properties of a job that rules test.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    operation: Operation,
    pub bytes: u64,
    pub total: u64,
    pub share: u64,
    processes: u32,
    idempotent: bool,
}

impl Case {
    pub fn new(operation: Operation, job: &Job, idempotent: bool) -> Case {
        let processes = u64::from(job.processes).max(1);
        let mean = |blocks: u64| job.sizes.start(blocks) / blocks;
        let (bytes, total) = match operation.data() {
            Data::Vector => (job.vector(), job.vector()),
            Data::BlockForEachRank => (mean(processes), job.sizes.start(processes)),
            Data::BlockForEachPair => {
                let bytes = mean(processes * processes);
                (bytes, bytes.saturating_mul(processes))
            }
        };
        Case { operation, bytes, total, share: total / processes, processes: job.processes, idempotent }
    }
}

impl When {
    fn holds(&self, case: &Case) -> bool {
        let within = |bounds: Option<Bounds>, number| bounds.is_none_or(|bounds| bounds.contains(number));
        let is = |wanted: Option<bool>, found| wanted.is_none_or(|wanted| wanted == found);
        within(self.bytes, case.bytes)
            && within(self.total, case.total)
            && within(self.share, case.share)
            && within(self.processes, case.processes.into())
            && is(self.power_of_two, case.processes.is_power_of_two())
            && is(self.idempotent, case.idempotent)
    }

    /// The stated conditions, by key, in the notation of the file.
    pub fn stated(&self) -> Vec<(&'static str, String)> {
        let ranges = [
            ("bytes", self.bytes, Unit::Bytes),
            ("total", self.total, Unit::Bytes),
            ("share", self.share, Unit::Bytes),
            ("processes", self.processes, Unit::Count),
        ];
        let flags = [("power_of_two", self.power_of_two), ("idempotent", self.idempotent)];
        let ranges = ranges.into_iter().filter_map(|(key, bounds, unit)| {
            bounds.map(|bounds| (key, format!("\"{}\"", bounds.write(unit))))
        });
        ranges.chain(flags.into_iter().filter_map(|(key, flag)| Some((key, flag?.to_string())))).collect()
    }
}

/// Formats as "bytes ..2KiB, power_of_two true", or "always" without conditions.
impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stated = self.stated();
        if stated.is_empty() {
            return f.pad("always");
        }
        let words: Vec<String> =
            stated.iter().map(|(key, value)| format!("{key} {}", value.trim_matches('"'))).collect();
        f.pad(&words.join(", "))
    }
}

impl Rule {
    /// Whether the rule is for this operation and its conditions hold.
    pub(super) fn fits(&self, case: &Case) -> bool {
        self.operation == case.operation && self.when.holds(case)
    }

    /// Whether the rule's algorithm gives a correct result in this case.
    pub(super) fn may_decide(&self, case: &Case) -> bool {
        case.idempotent
            || !case.operation.reduces()
            || self.algorithm.is_exact(case.operation, case.processes)
    }
}
