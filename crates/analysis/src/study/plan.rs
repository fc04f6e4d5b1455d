//! A study with everything it names read and built: its points, and the tasks to run for them.

use super::build::Builder;
use super::inputs::{LoadedNetwork, LoadedNoise};
use super::latencies::LoadedLatency;
use super::programs::Fitted;
use super::schedules::Schedule;
use super::{MODEL_VERSION, Study};
use std::fmt::Write;
use std::path::Path;
use straggler_model::study::Coordinates;
use straggler_noise::Injection;
use straggler_sim::Simulation;

/// Everything that must be known before the first run.
#[derive(Debug)]
pub struct Plan {
    pub name: String,
    pub description: String,
    /// In canonical order: by sweep, workload, size, network and its scale, latencies, noise, co-scheduling, seed,
    /// and ascending processes.
    pub points: Vec<Point>,
    pub tasks: Vec<Task>,
    /// Networks that were fitted from traces.
    pub fitted: Vec<Fitted>,
    /// What the user should know before believing the results.
    pub warnings: Vec<String>,
    pub(super) schedules: Vec<Schedule>,
    pub(super) networks: Vec<LoadedNetwork>,
    pub(super) noises: Vec<LoadedNoise>,
    pub(super) latencies: Vec<LoadedLatency>,
}

/// A point of the study and the tasks that give its numbers.
#[derive(Clone, Debug)]
pub struct Point {
    pub coordinates: Coordinates,
    /// For a point without noise, `task` and `quiet` are the same, unless latencies are drawn.
    pub task: usize,
    pub quiet: usize,
}

/// The replicas of one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub(super) schedule: usize,
    pub(super) network: usize,
    /// The distribution of its message latencies.
    pub(super) latency: Option<usize>,
    pub(super) noise: Option<usize>,
    pub(super) cosched: bool,
    pub(super) wallclock: bool,
    pub(super) receive_overlap: bool,
    pub seed: u64,
    pub processes: u32,
    /// The most replicas.
    pub replicas: u32,
    pub until_ci: Option<f64>,
    /// Messages of one replica.
    pub messages: u64,
}

impl Task {
    /// Whether replicas differ, because noise or latencies are drawn.
    pub(super) fn is_drawn(&self) -> bool {
        self.noise.is_some() || self.latency.is_some()
    }
}

/// Why a study cannot be run.
#[derive(Debug, thiserror::Error)]
#[error("{}{place}: {key}: {fault}", line.map_or_else(String::new, |line| format!("line {line}: ")))]
pub struct PlanError {
    /// The line in the study's file, if it has one.
    pub line: Option<usize>,
    /// The sweep.
    pub place: String,
    pub key: &'static str,
    pub fault: String,
}

/// What a study requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub points: usize,
    /// Upper limit on the rows of the table of results.
    pub rows: u64,
    /// Upper limit, for all replicas together.
    pub messages: u64,
    /// Size of the journal and the table on disk.
    pub disk_bytes: u64,
    /// Memory of the largest run and the results.
    pub memory_bytes: u64,
    pub largest_processes: u32,
}

/// A row takes 8 bytes in the journal, and up to 32 in the table.
const DISK_BYTES_A_ROW: u64 = 40;
/// A makespan in the runner, and a copy on its way into the table.
const MEMORY_BYTES_A_ROW: u64 = 40;

impl Plan {
    /// Reads and builds everything; paths are relative to `folder`.
    pub fn new(study: &Study, folder: &Path) -> Result<Plan, PlanError> {
        let mut builder = Builder::new(folder, &study.text);
        study.sweeps.iter().try_for_each(|sweep| builder.sweep(sweep))?;
        let mut warnings = builder.inputs.warnings;
        warnings.append(&mut builder.latencies.warnings);
        warnings.append(&mut builder.schedules.warnings);
        warnings.append(&mut builder.schedules.programs.warnings);
        Ok(Plan {
            fitted: builder.schedules.programs.fitted,
            name: study.name.clone(),
            description: study.description.clone(),
            points: builder.points,
            tasks: builder.tasks,
            warnings,
            schedules: builder.schedules.all,
            networks: builder.inputs.networks,
            noises: builder.inputs.noises,
            latencies: builder.latencies.all,
        })
    }

    /// Lets points stop earlier than the study says.
    pub fn stop_at(&mut self, width: f64) {
        self.tasks
            .iter_mut()
            .filter(|task| task.is_drawn() && task.replicas > 1)
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

    /// Memory of one run of a task, in bytes.
    pub(super) fn memory_bytes(&self, task: &Task) -> u64 {
        match (self.schedules.get(task.schedule), self.networks.get(task.network)) {
            (Some(schedule), Some(network)) => {
                // Only the presence of noise matters.
                let noise = task.noise.map(|_| Injection::QUIET);
                let simulation = Simulation { noise, ..Simulation::new(&network.network) };
                simulation.memory_bytes(&schedule.runnable)
            }
            _ => 0,
        }
    }

    /// Everything that determines the numbers, one line per task. The number of replicas is not part of it, because
    /// replicas do not depend on each other.
    pub fn fingerprint(&self) -> String {
        let mut text = format!("straggler study, model {MODEL_VERSION}\n");
        for task in &self.tasks {
            // Writing to a string cannot fail.
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
        if let Some(latency) = task.latency.and_then(|index| self.latencies.get(index)) {
            let _ = write!(text, "; latency #{:016x}, seed {}", latency.mark, task.seed);
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
        // A barrier has no size.
        assert_eq!(plan.points.len(), 3 * 2 * 2 * 2 * 2 * 2);
        let at = |index: usize| &plan.points[index].coordinates;
        assert_eq!((at(0).processes, at(1).processes), (2, 8));
        assert_eq!(
            (at(0).seed, at(2).seed, at(4).cosched, at(8).noise.as_str()),
            (1, 2, true, "periodic:period=1ms,duration=10us")
        );
        assert_eq!(
            (at(16).network.as_str(), at(32).workload.as_str(), at(64).size),
            ("altix", "allreduce:ring", Some(16))
        );
        // Without noise, neither seed nor co-scheduling makes a difference.
        let quiet = 3 * 2 * 2;
        assert_eq!(plan.tasks.len(), quiet + quiet * 2 * 2);
        assert_eq!(plan.points[0].task, plan.points[0].quiet);
        assert_eq!(plan.needs().rows, 48 + 48 * 10);
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
                &["line 3: the study: network:", "did you mean `chic`"][..],
            ),
            ("network = 'no.toml'\ncollective = 'barrier'\nprocesses = 2", &["network:", "no.toml"]),
            (
                "network = 'chic'\ncollective = 'barrier'\nprocesses = 2\n[[sweep]]\nname='s'\nnoise='nosuch.txt'",
                &["line 8: sweep `s`: noise:", "nosuch.txt"],
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
    fn a_program_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.goal"), "num_ranks 1\nrank 0 {\ncalc 5\n}").unwrap();
        std::fs::write(folder.path().join("bad.goal"), "num_ranks 1\nrank 0 {\ncalk 5\n}").unwrap();
        std::fs::create_dir(folder.path().join("empty")).unwrap();
        for (lines, complaints) in [
            ("goal = 'no.goal'\nnetwork = 'chic'", &["line 2: the study: goal:", "no.goal"][..]),
            ("goal = 'bad.goal'\nnetwork = 'chic'", &["goal:", "bad.goal", "line 3"]),
            ("goal = 'a.goal'\nnetwork = 'fit'", &["network:", "a.goal is not a trace", "name a network"]),
            ("trace = 'empty'\nnetwork = 'chic'", &["trace:", "empty"]),
            ("trace = 'nowhere'", &["line 2: the study: trace:", "nowhere"]),
            ("trace = 'nowhere'\nnetwork = 'chic'\ncopies = 1", &["line 2:", "nowhere in 1 copy"]),
        ] {
            let study = Study::parse(&format!("name = 'a'\n{lines}")).unwrap();
            let fault = Plan::new(&study, folder.path()).unwrap_err().to_string();
            assert!(complaints.iter().all(|part| fault.contains(part)), "{lines}\n{fault}");
        }
        // The contents of a file matter, not its name.
        let print = || {
            let study = Study::parse("name='a'\ngoal='a.goal'\nnetwork='chic'").unwrap();
            Plan::new(&study, folder.path()).unwrap().fingerprint()
        };
        let before = print();
        std::fs::write(folder.path().join("a.goal"), "num_ranks 1\nrank 0 {\ncalc 6\n}").unwrap();
        assert_ne!(before, print());
    }

    /// Every point runs with each file of latencies; a missing or unsuitable file is named in the error.
    #[test]
    fn measured_latencies_are_an_axis() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("near.txt"), "9us\n11us\n").unwrap();
        let plan = |lines: &str| {
            let base =
                "name='a'\nreplicas=5\nnetwork='chic'\ncollective='barrier'\nprocesses=[4,8]\nseed=[1,2]\n";
            Plan::new(&Study::parse(&format!("{base}{lines}")).unwrap(), folder.path())
        };
        let found = plan("latency-distribution = ['none', 'near.txt']").unwrap();
        assert_eq!((found.points.len(), found.latencies.len()), (8, 2));
        let names: Vec<&str> = found.points.iter().map(|point| point.coordinates.network.as_str()).collect();
        assert_eq!((names[0], names[7]), ("chic", "chic, latencies of near.txt"));
        // With drawn latencies, points have replicas and a seed even without noise.
        let last = &found.points[7];
        assert_eq!((found.tasks[last.task].replicas, found.tasks[last.quiet].replicas), (5, 1));
        assert_ne!(last.task, found.points[5].task);
        let print = |lines: &str| plan(lines).unwrap().fingerprint();
        let total = print("latency-distribution = 'near.txt'");
        assert_ne!(total, print("latency-distribution = 'near.txt'\nlatency-is = 'wire'"));
        std::fs::write(folder.path().join("near.txt"), "9us\n12us\n").unwrap();
        assert_ne!(total, print("latency-distribution = 'near.txt'"));
        for (lines, complaint) in [
            (
                "latency-distribution = 'no.txt'",
                "line 7: the study: latency-distribution: no.txt: cannot be read",
            ),
            ("latency-distribution = 'near.txt'\nnetwork-scale = 2", "does not change measured times"),
            ("latency-distribution = 'x=near.txt'", "no link class `x`"),
        ] {
            let fault = plan(lines).unwrap_err().to_string();
            assert!(fault.contains(complaint), "{lines}: {fault}");
        }
        let unused =
            Study::parse("name='a'\nnetwork='chic'\ncollective='barrier'\nprocesses=4\nlatency-is='wire'");
        let text = "`latency-is` has no effect without `latency-distribution`";
        assert!(unused.unwrap_err().to_string().contains(text));
    }

    #[test]
    fn what_decides_the_numbers_is_in_the_fingerprint() {
        let base = "network = 'chic'\ncollective = 'allreduce:ring'\nprocesses = [4, 8]\nnoise = 'altix'\n";
        let print = |lines: &str| plan(&format!("{base}{lines}")).unwrap().fingerprint();
        let plain = print("");
        let more = Study::parse(&format!("name = 'x'\nreplicas = 20\nuntil-ci = '1%'\n{base}")).unwrap();
        assert_eq!(plain, Plan::new(&more, Path::new("")).unwrap().fingerprint());
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
