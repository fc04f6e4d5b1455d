//! The schedules of a study: each is built once.

use super::programs::{Programs, play};
use super::schedule_error::ScheduleError;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use straggler_model::Time;
use straggler_model::path_text::{path_of, text_of};
use straggler_schedule::collectives::{Choice, Job, Selector, SelectorError};
use straggler_schedule::workloads::{Only, Workload, choose_default};
use straggler_sim::Workload as Runnable;

/// A schedule ready to run.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Identifies the schedule: contains everything that it depends on.
    pub name: String,
    pub runnable: Runnable,
    /// Messages of one run.
    pub messages: u64,
}

/// What a schedule depends on besides its name and number of processes.
#[derive(Clone, Debug)]
pub(super) struct Wish<'a> {
    pub cycles: u32,
    pub compute: Time,
    pub only: Only,
    pub algorithms: Option<&'a str>,
    pub idempotent: bool,
}

#[derive(Debug)]
pub(super) struct Schedules<'a> {
    folder: &'a Path,
    pub all: Vec<Schedule>,
    known: HashMap<String, usize>,
    selectors: HashMap<String, Arc<Selector>>,
    pub programs: Programs<'a>,
    pub warnings: Vec<String>,
}

impl<'a> Schedules<'a> {
    pub fn new(folder: &'a Path) -> Schedules<'a> {
        let (all, known, selectors, warnings) = Default::default();
        Schedules { folder, all, known, selectors, programs: Programs::new(folder), warnings }
    }

    pub fn collective(
        &mut self,
        choice: &Choice,
        processes: u32,
        bytes: u64,
        wish: &Wish<'_>,
    ) -> Result<usize, ScheduleError> {
        let operation = choice.operation;
        let job = Job::new(processes, bytes);
        if !job.fits(operation) {
            return Err(ScheduleError::TooMuch);
        }
        let algorithm = match &choice.algorithm {
            Some(algorithm) => algorithm.clone(),
            None => self.selector(wish.algorithms)?.choose(operation, &job, wish.idempotent)?.clone(),
        };
        if operation.reduces() && !wish.idempotent && !algorithm.is_exact(operation, processes) {
            self.warn(format!(
                "{operation}:{algorithm} counts some contributions twice if the number of processes is not a power \
                 of two: a sum would be wrong, a maximum correct; add `idempotent = true` if the operation is \
                 idempotent"
            ));
        }
        let Wish { cycles, compute, .. } = *wish;
        let name = format!("{operation}:{algorithm}, {bytes} B, {cycles} times after {} ps", compute.ps());
        self.put(name, processes, || {
            let collective = algorithm.build(operation, &job)?;
            Ok(Runnable::Collective { collective, cycles, compute })
        })
    }

    pub fn workload(
        &mut self,
        workload: &Workload,
        processes: u32,
        wish: &Wish<'_>,
    ) -> Result<usize, ScheduleError> {
        let selector = self.selector(wish.algorithms)?;
        let idempotent = wish.idempotent;
        let name = format!(
            "{workload}, {:?}, algorithms {} #{:x}, idempotent {idempotent}",
            wish.only,
            wish.algorithms.unwrap_or(Selector::PRESETS[0]),
            crc32fast::hash(selector.to_toml().as_bytes())
        );
        self.put(name, processes, || {
            let failed = RefCell::new(None);
            let application = workload.build(processes, wish.only, &|operation, job| {
                let chosen = selector.choose(operation, job, idempotent).cloned();
                chosen.unwrap_or_else(|error| {
                    failed.replace(Some(error));
                    choose_default(operation, job)
                })
            })?;
            match failed.into_inner() {
                Some(error) => Err(error.into()),
                None => Ok(application.into()),
            }
        })
    }

    pub fn goal(&mut self, text: &str) -> Result<usize, ScheduleError> {
        let (graph, mark) = self.programs.graph(text)?;
        self.put(format!("goal {text} #{mark:08x}"), graph.processes(), || Ok(Runnable::Graph(graph)))
    }

    pub fn trace(&mut self, text: &str, copies: u32, wish: &Wish<'_>) -> Result<usize, ScheduleError> {
        let (recording, mark) = self.programs.recording(text, wish.only)?;
        let selector = self.selector(wish.algorithms)?;
        let idempotent = wish.idempotent;
        let name = format!(
            "{copies} copies of trace {text} #{mark:08x}, {:?}, algorithms {} #{:x}, idempotent {idempotent}",
            wish.only,
            wish.algorithms.unwrap_or(Selector::PRESETS[0]),
            crc32fast::hash(selector.to_toml().as_bytes())
        );
        // If there are too many processes, building fails.
        let processes = recording.processes().saturating_mul(copies);
        self.put(name, processes, || Ok(play(recording, copies, &selector, idempotent)?.into()))
    }

    /// The schedule with this name; builds it if it is new.
    fn put(
        &mut self,
        name: String,
        processes: u32,
        build: impl FnOnce() -> Result<Runnable, ScheduleError>,
    ) -> Result<usize, ScheduleError> {
        let name = format!("{name}, {processes} processes");
        if let Some(&known) = self.known.get(&name) {
            return Ok(known);
        }
        let runnable = build()?;
        let messages = runnable.messages();
        self.known.insert(name.clone(), self.all.len());
        self.all.push(Schedule { name, runnable, messages });
        Ok(self.all.len() - 1)
    }

    fn selector(&mut self, table: Option<&str>) -> Result<Arc<Selector>, SelectorError> {
        let table = table.unwrap_or(Selector::PRESETS[0]);
        if let Some(known) = self.selectors.get(table) {
            return Ok(known.clone());
        }
        let path = text_of(self.folder.join(path_of(table)).as_os_str());
        let place = if table.ends_with(".toml") { &path } else { table };
        let selector = Arc::new(Selector::load(place)?);
        self.selectors.insert(table.into(), selector.clone());
        Ok(selector)
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}
