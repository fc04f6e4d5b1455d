//! `master-worker`: rank 0 hands out tasks, the others do them.
//!
//! The master sends a task to every worker, then another task for each result, which it accepts
//! from any worker. Because a schedule is static, the worker that gets the next task is fixed in
//! advance, in round-robin order; it cannot depend on who was first. So a slow worker delays the
//! master, which waits until the worker can take its task if that is larger than the eager limit. A
//! worker returns a result and at once waits for the next task, which cannot deadlock.

use super::Kind;
use super::error::WorkloadError;
use super::grid::Divisor;
use super::parameters::{IMBALANCE, Parameter, SEED, Setting, parameter};
use super::parts::{Builder, Part};
use super::tasks::MasterWorker;
use crate::steps::MOST_STAGES;
use straggler_model::units::counted;

pub(super) const KIND: Kind = Kind {
    name: "master-worker",
    summary: "rank 0 hands out tasks and takes results in order of arrival",
    parameters: PARAMETERS,
    build,
};

const PARAMETERS: &[Parameter] = &[
    parameter("tasks", "10000", "tasks altogether"),
    parameter("bytes", "1KiB", "size of a task"),
    parameter("result", "1KiB", "bytes of a result"),
    parameter("compute", "1ms", "computation of a task"),
    IMBALANCE,
    SEED,
];

fn build(setting: &Setting<'_>) -> Result<(Builder, String), WorkloadError> {
    let (tasks, processes) = (setting.count("tasks")?, setting.processes);
    let Some((workers, by_workers)) = Divisor::new(processes - 1).map(|divisor| (processes - 1, divisor))
    else {
        let mend = "a master needs at least one worker: give 2 or more".to_string();
        return Err(WorkloadError::Processes { workload: setting.workload, processes, mend });
    };
    if tasks >= MOST_STAGES / 2 {
        return Err(
            setting.wrong("tasks", format!("the master can hand out at most {}", MOST_STAGES / 2 - 1))
        );
    }
    let part = MasterWorker {
        tasks,
        workers,
        by_workers,
        bytes: setting.bytes("bytes")?,
        result: setting.bytes("result")?,
        compute: setting.computation("compute")?,
        silent: false,
    };
    let mut builder = Builder::default();
    let part = builder.part(Part::MasterWorker(part));
    builder.then(part);
    let tasks = counted(tasks.into(), "task", "tasks");
    Ok((builder, format!("{tasks} for {}", counted(workers.into(), "worker", "workers"))))
}
