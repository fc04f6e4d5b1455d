//! One rule: when it fits, and what it gives.

use super::super::{Algorithm, Data, Job, Operation};
use super::bounds::{Bounds, Unit};
use std::fmt;
use std::sync::Arc;

/// An algorithm for one operation under conditions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    pub operation: Operation,
    pub when: When,
    pub algorithm: Algorithm,
    /// The table that the rule stands in, its number there and the line it begins on, both from 1.
    pub table: Arc<str>,
    pub number: usize,
    pub line: usize,
}

/// Conditions; what is not stated is not asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct When {
    pub bytes: Option<Bounds>,
    pub total: Option<Bounds>,
    pub share: Option<Bounds>,
    pub processes: Option<Bounds>,
    pub power_of_two: Option<bool>,
    pub idempotent: Option<bool>,
}

/// What rules ask of a job.
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

    /// The conditions that are stated, by key, as a file states them.
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

/// "bytes ..2KiB, power_of_two true"; "always" if nothing is asked.
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
    /// Whether the operation and the conditions are those of the case.
    pub(super) fn fits(&self, case: &Case) -> bool {
        self.operation == case.operation && self.when.holds(case)
    }

    /// Whether its algorithm gives this case a right result.
    pub(super) fn may_decide(&self, case: &Case) -> bool {
        case.idempotent
            || !case.operation.reduces()
            || self.algorithm.is_exact(case.operation, case.processes)
    }
}
