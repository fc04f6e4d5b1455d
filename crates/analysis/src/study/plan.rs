//! A study with everything it names read and built: its points, and what must be run for them.

use super::inputs::{Inputs, LoadedNetwork, LoadedNoise};
use super::schedules::{Schedule, Schedules, Wish, usual_bytes};
use super::{MODEL_VERSION, Study, Sweep};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use straggler_model::network::Factor;
use straggler_model::noise::Injection;
use straggler_model::study::Coordinates;
use straggler_schedule::collectives::Choice;
use straggler_schedule::workloads::Workload;
use straggler_sim::Simulation;

/// Everything that must be known before the first run.
#[derive(Debug)]
pub struct Plan {
    pub name: String,
    pub description: String,
    /// In canonical order: by sweep, workload, size, network and its scale, noise, co-scheduling, seed, and
    /// ascending processes.
    pub points: Vec<Point>,
    pub tasks: Vec<Task>,
    /// What the user should know before believing the results.
    pub warnings: Vec<String>,
    pub(super) schedules: Vec<Schedule>,
    pub(super) networks: Vec<LoadedNetwork>,
    pub(super) noises: Vec<LoadedNoise>,
}

/// A point of the product and the tasks that give its numbers.
#[derive(Clone, Debug)]
pub struct Point {
    pub coordinates: Coordinates,
    /// A point without noise is its own noiseless run.
    pub task: usize,
    pub quiet: usize,
}

/// Replicas of one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub(super) schedule: usize,
    pub(super) network: usize,
    pub(super) noise: Option<usize>,
    pub(super) cosched: bool,
    pub(super) wallclock: bool,
    pub(super) receive_overlap: bool,
    pub seed: u64,
    pub processes: u32,
    /// The most of them.
    pub replicas: u32,
    pub until_ci: Option<f64>,
    /// Of one replica.
    pub messages: u64,
}

/// Why a study cannot be run.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {key}: {fault}")]
pub struct PlanError {
    /// The sweep.
    pub place: String,
    pub key: &'static str,
    pub fault: String,
}

/// What a study will take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub points: usize,
    /// Of the table of results, at most.
    pub rows: u64,
    /// At most, of all replicas together.
    pub messages: u64,
    /// On disk: the journal and the table.
    pub disk_bytes: u64,
    /// Of the largest run and the results.
    pub memory_bytes: u64,
    pub largest_processes: u32,
}

/// A product of more points than this is a slip of the pen.
const MOST_POINTS: usize = 1_000_000;

/// A row takes 8 bytes in the journal, and up to 32 in the table.
const DISK_BYTES_A_ROW: u64 = 40;
/// A makespan in the runner, and once more on its way into the table.
const MEMORY_BYTES_A_ROW: u64 = 40;

impl Plan {
    /// Reads and builds everything; paths are relative to `folder`.
    pub fn new(study: &Study, folder: &Path) -> Result<Plan, PlanError> {
        let mut builder = Builder {
            inputs: Inputs::new(folder),
            schedules: Schedules::new(folder),
            points: Vec::new(),
            tasks: Vec::new(),
            known: HashMap::new(),
        };
        study.sweeps.iter().try_for_each(|sweep| builder.sweep(sweep))?;
        let mut warnings = builder.inputs.warnings;
        warnings.append(&mut builder.schedules.warnings);
        Ok(Plan {
            name: study.name.clone(),
            description: study.description.clone(),
            points: builder.points,
            tasks: builder.tasks,
            warnings,
            schedules: builder.schedules.all,
            networks: builder.inputs.networks,
            noises: builder.inputs.noises,
        })
    }

    /// Stops points earlier than the study says.
    pub fn stop_at(&mut self, width: f64) {
        self.tasks
            .iter_mut()
            .filter(|task| task.noise.is_some())
            .for_each(|task| task.until_ci = Some(width));
    }

    pub fn needs(&self) -> Needs {
        let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
        let rows_of = |point: &Point| self.tasks.get(point.task).map_or(0, |task| u64::from(task.replicas));
        let rows = sum(&mut self.points.iter().map(rows_of));
        let largest = self.tasks.iter().map(|task| task.processes).max().unwrap_or(0);
        let run = self.tasks.iter().map(|task| self.memory_bytes(task)).max().unwrap_or(0);
        let messages = |task: &Task| task.messages.saturating_mul(task.replicas.into());
        Needs {
            points: self.points.len(),
            rows,
            messages: sum(&mut self.tasks.iter().map(messages)),
            disk_bytes: rows.saturating_mul(DISK_BYTES_A_ROW),
            memory_bytes: run.saturating_add(rows.saturating_mul(MEMORY_BYTES_A_ROW)),
            largest_processes: largest,
        }
    }

    /// What one run of a task takes, in bytes.
    pub(super) fn memory_bytes(&self, task: &Task) -> u64 {
        match (self.schedules.get(task.schedule), self.networks.get(task.network)) {
            (Some(schedule), Some(network)) => {
                // What matters is whether there is any.
                let noise = task.noise.map(|_| Injection::QUIET);
                let simulation = Simulation { noise, ..Simulation::new(&network.network) };
                simulation.memory_bytes(&schedule.runnable)
            }
            _ => 0,
        }
    }

    /// Everything that decides the numbers, a line a task. How many replicas there are is no part of it: a
    /// replica's numbers do not depend on the others.
    pub fn fingerprint(&self) -> String {
        let mut text = format!("straggler study, model {MODEL_VERSION}\n");
        for task in &self.tasks {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{}", self.describe(task));
        }
        text
    }

    fn describe(&self, task: &Task) -> String {
        let schedule = self.schedules.get(task.schedule).map_or("", |schedule| schedule.name.as_str());
        let network = self.networks.get(task.network);
        let network =
            network.map_or_else(String::new, |all| format!("{} #{:016x}", all.network.name, all.mark));
        let mut text = format!("{schedule}; network {network}");
        if task.receive_overlap {
            text.push_str("; receive-overlap");
        }
        if let Some(noise) = task.noise.and_then(|index| self.noises.get(index)) {
            let names: Vec<&str> = noise.sources.iter().take(3).map(|source| source.name.as_str()).collect();
            let _ = write!(text, "; noise {} #{:016x}, seed {}", names.join(" + "), noise.mark, task.seed);
            text.push_str(if task.cosched { ", cosched" } else { "" });
            text.push_str(if task.wallclock { ", wallclock" } else { "" });
        }
        text
    }
}

/// What makes two tasks the same.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    schedule: usize,
    network: u64,
    noise: Option<u64>,
    flags: [bool; 3],
    seed: u64,
    replicas: u32,
    until_ci: Option<u64>,
}

struct Builder<'a> {
    inputs: Inputs<'a>,
    schedules: Schedules<'a>,
    points: Vec<Point>,
    tasks: Vec<Task>,
    known: HashMap<Key, usize>,
}

/// What is run on a number of processes.
enum What<'a> {
    Collective(&'a Choice, u64),
    Workload(&'a Workload),
}

impl Builder<'_> {
    fn sweep(&mut self, sweep: &Sweep) -> Result<(), PlanError> {
        let works = sweep.collectives.len() * sweep.sizes.len().max(1) + sweep.workloads.len();
        let others = [
            sweep.networks.len(),
            sweep.network_scales.len().max(1),
            sweep.noises.len(),
            sweep.cosched.len(),
            sweep.seeds.len(),
            sweep.processes.len(),
        ];
        let points = others.into_iter().fold(works, usize::saturating_mul);
        if points.saturating_add(self.points.len()) > MOST_POINTS {
            let fault = format!("{points} points are too many: at most {MOST_POINTS}, give shorter lists");
            return Err(wrong(sweep, "processes", fault));
        }
        let mut all: Vec<What<'_>> = Vec::new();
        for choice in &sweep.collectives {
            let usual = [usual_bytes(choice.operation)];
            let sizes = if sweep.sizes.is_empty() { &usual[..] } else { &sweep.sizes };
            all.extend(sizes.iter().map(|&bytes| What::Collective(choice, bytes)));
        }
        all.extend(sweep.workloads.iter().map(What::Workload));
        let scales: Vec<Option<Factor>> = match sweep.network_scales.is_empty() {
            true => vec![None],
            false => sweep.network_scales.iter().copied().map(Some).collect(),
        };
        for what in &all {
            for network in &sweep.networks {
                for &scale in &scales {
                    for noise in &sweep.noises {
                        for &cosched in &sweep.cosched {
                            for &seed in &sweep.seeds {
                                self.series(sweep, what, network, scale, noise, cosched, seed)?;
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The points of all numbers of processes.
    #[allow(clippy::too_many_arguments, reason = "the dimensions of the product")]
    fn series(
        &mut self,
        sweep: &Sweep,
        what: &What<'_>,
        network_name: &str,
        scale: Option<Factor>,
        noise_name: &str,
        cosched: bool,
        seed: u64,
    ) -> Result<(), PlanError> {
        let network = self.inputs.network(network_name, scale);
        let key = if scale.is_some() { "network-scale" } else { "network" };
        let network = network.map_err(|fault| wrong(sweep, key, fault))?;
        let noise = self.inputs.noise(noise_name, seed, sweep.wallclock);
        let noise = noise.map_err(|fault| wrong(sweep, "noise", fault))?;
        for &processes in &sweep.processes {
            let (schedule, workload, size) = self.schedule(sweep, what, processes)?;
            let messages = self.schedules.all.get(schedule).map_or(0, |schedule| schedule.messages);
            let quiet = Task {
                schedule,
                network,
                noise: None,
                cosched: false,
                wallclock: false,
                receive_overlap: sweep.receive_overlap,
                seed: 0,
                processes,
                replicas: 1,
                until_ci: None,
                messages,
            };
            let (replicas, until_ci) = (sweep.replicas, sweep.until_ci);
            let noisy = Task {
                noise,
                cosched,
                wallclock: sweep.wallclock,
                seed,
                replicas,
                until_ci,
                ..quiet.clone()
            };
            let quiet = self.put(quiet);
            let task = if noise.is_some() { self.put(noisy) } else { quiet };
            let coordinates = Coordinates {
                sweep: sweep.name.clone(),
                workload,
                size,
                network: network_name.into(),
                network_scale: scale.and_then(|factor| factor.to_string().parse().ok()).unwrap_or(1.0),
                noise: noise_name.into(),
                cosched,
                seed,
                processes,
            };
            self.points.push(Point { coordinates, task, quiet });
        }
        Ok(())
    }

    /// The schedule, what it is called, and the size of its data.
    fn schedule(
        &mut self,
        sweep: &Sweep,
        what: &What<'_>,
        processes: u32,
    ) -> Result<(usize, String, Option<u64>), PlanError> {
        let wish = Wish {
            cycles: sweep.cycles,
            compute: sweep.compute,
            only: sweep.only,
            algorithms: sweep.algorithms.as_deref(),
            idempotent: sweep.idempotent,
        };
        let (built, name, size) = match *what {
            What::Collective(choice, bytes) => {
                (self.schedules.collective(choice, processes, bytes, &wish), choice.to_string(), Some(bytes))
            }
            What::Workload(workload) => {
                (self.schedules.workload(workload, processes, &wish), workload.to_string(), None)
            }
        };
        let schedule = built.map_err(|fault| {
            let key = fault.key();
            wrong(sweep, key, format!("{name} on {processes} processes: {fault}"))
        })?;
        Ok((schedule, name, size))
    }

    /// The task, or the one that is the same.
    fn put(&mut self, task: Task) -> usize {
        let mark = |index: usize| self.inputs.noises.get(index).map_or(0, |noise| noise.mark);
        let key = Key {
            schedule: task.schedule,
            network: self.inputs.networks.get(task.network).map_or(0, |network| network.mark),
            noise: task.noise.map(mark),
            flags: [task.cosched, task.wallclock, task.receive_overlap],
            seed: task.seed,
            replicas: task.replicas,
            until_ci: task.until_ci.map(f64::to_bits),
        };
        *self.known.entry(key).or_insert_with(|| {
            self.tasks.push(task);
            self.tasks.len() - 1
        })
    }
}

fn wrong(sweep: &Sweep, key: &'static str, fault: impl ToString) -> PlanError {
    let place = if sweep.name.is_empty() { "the study".into() } else { format!("sweep `{}`", sweep.name) };
    PlanError { place, key, fault: fault.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(lines: &str) -> Result<Plan, PlanError> {
        let base = "name = 'a'\nreplicas = 10\n";
        Plan::new(&Study::parse(&format!("{base}{lines}")).unwrap(), Path::new(""))
    }

    #[test]
    fn the_product_in_its_order() {
        let plan = plan(
            "processes = [8, 2]\ncollective = ['barrier', 'allreduce:ring']\nsize = [1, 16]\nnetwork = ['chic', 'altix']\n\
             noise = ['none', 'periodic:period=1ms,duration=10us']\ncosched = [false, true]\nseed = [1, 2]",
        )
        .unwrap();
        assert_eq!(plan.points.len(), 2 * 2 * 2 * 2 * 2 * 2 * 2);
        let at = |index: usize| &plan.points[index].coordinates;
        assert_eq!((at(0).processes, at(1).processes), (2, 8));
        assert_eq!(
            (at(0).seed, at(2).seed, at(4).cosched, at(8).noise.as_str()),
            (1, 2, true, "periodic:period=1ms,duration=10us")
        );
        assert_eq!(
            (at(16).network.as_str(), at(32).size, at(64).workload.as_str()),
            ("altix", Some(16), "allreduce:ring")
        );
        // Without noise neither seed nor co-scheduling make a difference.
        let quiet = 2 * 2 * 2 * 2;
        assert_eq!(plan.tasks.len(), quiet + quiet * 2 * 2);
        assert_eq!(plan.points[0].task, plan.points[0].quiet);
        assert_eq!(plan.needs().rows, 64 + 64 * 10);
    }

    #[test]
    fn equal_points_are_one_task() {
        let plan = plan(
            "processes = 16\nnetwork = ['chic', 'CHiC']\nidempotent = true\nnoise = ['chic', 'signature:name=chic']\n\
             collective = ['allreduce', 'allreduce:dissemination']\nsize = 1",
        )
        .unwrap();
        assert_eq!((plan.points.len(), plan.tasks.len()), (8, 2));
    }

    #[test]
    fn a_sweep_that_cannot_be_run_is_named() {
        for (lines, complaints) in [
            (
                "network = 'chik'\ncollective = 'barrier'\nprocesses = 2",
                &["the study: network:", "did you mean `chic`"][..],
            ),
            ("network = 'no.toml'\ncollective = 'barrier'\nprocesses = 2", &["network:", "no.toml"]),
            (
                "network = 'chic'\ncollective = 'barrier'\nprocesses = 2\n[[sweep]]\nname='s'\nnoise='nosuch.txt'",
                &["sweep `s`: noise:", "nosuch.txt"],
            ),
            (
                "network = 'chic'\ncollective = 'allgather'\nsize = '4000000TiB'\nprocesses = 8",
                &["size:", "smaller sizes"],
            ),
            (
                "network = 'chic'\ncollective = 'allreduce:two-level'\nprocesses = 8",
                &["collective:", "per-node"],
            ),
            ("network = 'chic'\nworkload = 'training,tp=3'\nprocesses = 8", &["the study:", "training"]),
            (
                "network = 'chic'\ncollective = 'allreduce'\nprocesses = 8\nalgorithms = 'best'",
                &["algorithms:", "best"],
            ),
        ] {
            let fault = plan(lines).unwrap_err().to_string();
            assert!(complaints.iter().all(|part| fault.contains(part)), "{lines}\n{fault}");
        }
    }

    #[test]
    fn what_decides_the_numbers_is_in_the_fingerprint() {
        let base = "network = 'chic'\ncollective = 'allreduce:ring'\nprocesses = [4, 8]\nnoise = 'altix'\n";
        let print = |lines: &str| plan(&format!("{base}{lines}")).unwrap().fingerprint();
        let plain = print("");
        assert_eq!(plain, print("[[sweep]]\nname = 'x'\nreplicas = 20\nuntil-ci = '1%'"));
        for other in [
            "seed = 2",
            "cosched = true",
            "wallclock = true",
            "receive-overlap = true",
            "size = 9",
            "cycles = 2",
            "compute = '1us'",
            "network-scale = 2",
            "[[sweep]]\nnoise = 'chic'",
            "[[sweep]]\nprocesses = [4, 9]",
        ] {
            assert_ne!(plain, print(other), "{other}");
        }
    }
}
