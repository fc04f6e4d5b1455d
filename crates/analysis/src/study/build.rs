//! Builds the points and tasks of a study, sweep by sweep.

use super::inputs::Inputs;
use super::latencies::{Latencies, Wanted};
use super::lines::line_of;
use super::schedules::{Schedules, Wish};
use super::spec::NONE;
use super::{FIT, PlanError, Point, Sweep, Task};
use std::collections::HashMap;
use std::path::Path;
use straggler_model::network::Factor;
use straggler_model::study::Coordinates;
use straggler_schedule::collectives::Choice;
use straggler_schedule::workloads::Workload;

/// A sweep with more points than this is probably a mistake.
const MOST_POINTS: usize = 1_000_000;

/// Tasks with the same key are the same.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    schedule: usize,
    network: u64,
    latency: Option<u64>,
    noise: Option<u64>,
    flags: [bool; 3],
    seed: u64,
    replicas: u32,
    until_ci: Option<u64>,
}

/// The points and tasks found so far, with everything they refer to.
pub(super) struct Builder<'a> {
    pub inputs: Inputs<'a>,
    pub latencies: Latencies<'a>,
    pub schedules: Schedules<'a>,
    pub points: Vec<Point>,
    pub tasks: Vec<Task>,
    known: HashMap<Key, usize>,
    /// The text of the study's file.
    text: &'a str,
}

/// Something to run.
#[derive(Clone, Copy)]
enum Runs<'a> {
    /// At each number of processes.
    Collective(&'a Choice, u64),
    Workload(&'a Workload),
    Goal(&'a str),
    /// With each number of copies.
    Trace(&'a str),
}

impl Runs<'_> {
    /// Its name, and the size of its data.
    fn name(&self) -> (String, Option<u64>) {
        match self {
            Runs::Collective(choice, bytes) => {
                (choice.to_string(), choice.operation.has_size().then_some(*bytes))
            }
            Runs::Workload(workload) => (workload.to_string(), None),
            Runs::Goal(path) | Runs::Trace(path) => (path.to_string(), None),
        }
    }

    /// The scales at which it runs: numbers of processes, or of copies.
    fn scales<'s>(&self, sweep: &'s Sweep) -> &'s [u32] {
        match self {
            Runs::Collective(..) | Runs::Workload(_) => &sweep.processes,
            Runs::Goal(_) => &[1],
            Runs::Trace(_) => &sweep.copies,
        }
    }
}

/// The network of a point.
#[derive(Clone, Copy)]
struct Link<'a> {
    network: &'a str,
    scale: Option<Factor>,
    /// A file of measured latencies, or `none`.
    latency: &'a str,
}

impl Link<'_> {
    /// Its name in results.
    fn name(&self) -> String {
        match self.latency {
            NONE => self.network.into(),
            latency => format!("{}, latencies of {latency}", self.network),
        }
    }
}

/// Everything that a sweep runs.
fn works(sweep: &Sweep) -> Vec<Runs<'_>> {
    let mut all = Vec::new();
    for choice in &sweep.collectives {
        // A barrier carries no data, so it runs once, whatever the sizes.
        if sweep.sizes.is_empty() || !choice.operation.has_size() {
            all.push(Runs::Collective(choice, choice.operation.bytes(None)));
        } else {
            all.extend(sweep.sizes.iter().map(|&bytes| Runs::Collective(choice, bytes)));
        }
    }
    all.extend(sweep.workloads.iter().map(Runs::Workload));
    all.extend(sweep.goals.iter().map(|path| Runs::Goal(path)));
    all.extend(sweep.traces.iter().map(|path| Runs::Trace(path)));
    all
}

impl<'a> Builder<'a> {
    pub fn new(folder: &'a Path, text: &'a str) -> Builder<'a> {
        Builder {
            inputs: Inputs::new(folder),
            latencies: Latencies::new(folder),
            schedules: Schedules::new(folder),
            points: Vec::new(),
            tasks: Vec::new(),
            known: HashMap::new(),
            text,
        }
    }

    /// Adds the points of a sweep.
    pub fn sweep(&mut self, sweep: &Sweep) -> Result<(), PlanError> {
        let all = works(sweep);
        let at_scales = all.iter().map(|what| what.scales(sweep).len()).fold(0, usize::saturating_add);
        let others = [
            sweep.networks.len(),
            sweep.network_scales.len().max(1),
            sweep.latencies.len(),
            sweep.noises.len(),
            sweep.cosched.len(),
            sweep.seeds.len(),
        ];
        let points = others.into_iter().fold(at_scales, usize::saturating_mul);
        if points.saturating_add(self.points.len()) > MOST_POINTS {
            let fault =
                format!("{points} points are too many, the limit is {MOST_POINTS}: give shorter lists");
            return Err(self.wrong(sweep, "processes", "", fault));
        }
        let scales: Vec<Option<Factor>> = match sweep.network_scales.is_empty() {
            true => vec![None],
            false => sweep.network_scales.iter().copied().map(Some).collect(),
        };
        for what in &all {
            for network in &sweep.networks {
                for &scale in &scales {
                    for latency in &sweep.latencies {
                        for noise in &sweep.noises {
                            for &cosched in &sweep.cosched {
                                for &seed in &sweep.seeds {
                                    let link = Link { network, scale, latency };
                                    self.series(sweep, what, link, noise, cosched, seed)?;
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The network with this name; `fit` is the one fitted to the trace.
    fn network(
        &mut self,
        sweep: &Sweep,
        what: &Runs<'_>,
        name: &str,
        scale: Option<Factor>,
    ) -> Result<usize, PlanError> {
        let key = if scale.is_some() { "network-scale" } else { "network" };
        match (*what, name) {
            (Runs::Trace(path), FIT) => {
                let programs = &mut self.schedules.programs;
                // Each trace has its own fitted network.
                let name = format!("{FIT} {path}");
                let fitted = self.inputs.network_by(&name, scale, || programs.network(path));
                fitted.map_err(|fault| self.wrong(sweep, fault.key(), path, format!("{path}: {fault}")))
            }
            (_, FIT) => {
                let (what, _) = what.name();
                let fault = format!("`{FIT}` needs a trace, and {what} is not a trace: name a network");
                Err(self.wrong(sweep, key, name, fault))
            }
            _ => {
                let found = self.inputs.network(name, scale);
                found.map_err(|fault| self.wrong(sweep, key, name, fault))
            }
        }
    }

    /// The latencies that messages draw from; none for `none`.
    fn latency(
        &mut self,
        sweep: &Sweep,
        network: usize,
        Link { latency, scale, .. }: Link<'_>,
        seed: u64,
    ) -> Result<Option<usize>, PlanError> {
        let key = "latency-distribution";
        if latency == NONE {
            return Ok(None);
        }
        if scale.is_some() {
            let fault = "network-scale does not change measured times: remove one of the two";
            return Err(self.wrong(sweep, key, latency, fault));
        }
        let Some(loaded) = self.inputs.networks.get(network) else { return Ok(None) };
        let wish = Wanted { text: latency, meaning: sweep.latency_is, size: sweep.latency_size, seed };
        let found = self.latencies.drawn(wish, network, loaded);
        found.map(Some).map_err(|fault| self.wrong(sweep, key, latency, fault))
    }

    /// The points at all scales.
    fn series(
        &mut self,
        sweep: &Sweep,
        what: &Runs<'_>,
        link: Link<'_>,
        noise_name: &str,
        cosched: bool,
        seed: u64,
    ) -> Result<(), PlanError> {
        let network = self.network(sweep, what, link.network, link.scale)?;
        let latency = self.latency(sweep, network, link, seed)?;
        let noise = self.inputs.noise(noise_name, seed, sweep.wallclock);
        let noise = noise.map_err(|fault| self.wrong(sweep, "noise", noise_name, fault))?;
        for &at in what.scales(sweep) {
            let (workload, size) = what.name();
            let schedule = self.schedule(sweep, what, at)?;
            let (processes, messages) = self
                .schedules
                .all
                .get(schedule)
                .map_or((0, 0), |schedule| (schedule.runnable.processes(), schedule.messages));
            let quiet = Task {
                schedule,
                network,
                latency,
                noise: None,
                cosched: false,
                wallclock: false,
                receive_overlap: sweep.receive_overlap,
                // The run without noise draws the same latencies as the first replica.
                seed: if latency.is_some() { seed } else { 0 },
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
            let task = if noisy.is_drawn() { self.put(noisy) } else { quiet };
            let coordinates = Coordinates {
                sweep: sweep.name.clone(),
                workload,
                size,
                network: link.name(),
                network_scale: link.scale.and_then(|factor| factor.to_string().parse().ok()).unwrap_or(1.0),
                noise: noise_name.into(),
                cosched,
                seed,
                processes,
            };
            self.points.push(Point { coordinates, task, quiet });
        }
        Ok(())
    }

    /// The schedule at one scale.
    fn schedule(&mut self, sweep: &Sweep, what: &Runs<'_>, at: u32) -> Result<usize, PlanError> {
        let wish = Wish {
            cycles: sweep.cycles,
            compute: sweep.compute,
            only: sweep.only,
            algorithms: sweep.algorithms.as_deref(),
            idempotent: sweep.idempotent,
        };
        let all = &mut self.schedules;
        let (name, _) = what.name();
        let (built, scale) = match *what {
            Runs::Collective(choice, bytes) => {
                (all.collective(choice, at, bytes, &wish), format!("{name} on {at} processes: "))
            }
            Runs::Workload(workload) => {
                (all.workload(workload, at, &wish), format!("{name} on {at} processes: "))
            }
            // The error already names the file.
            Runs::Goal(path) => (all.goal(path), String::new()),
            Runs::Trace(path) => {
                let copies = if at == 1 { "copy" } else { "copies" };
                (all.trace(path, at, &wish), format!("{name} in {at} {copies}: "))
            }
        };
        built.map_err(|fault| self.wrong(sweep, fault.key(), &name, format!("{scale}{fault}")))
    }

    /// Adds a task, or returns the existing equal one.
    fn put(&mut self, task: Task) -> usize {
        let mark = |index: usize| self.inputs.noises.get(index).map_or(0, |noise| noise.mark);
        let key = Key {
            schedule: task.schedule,
            network: self.inputs.networks.get(task.network).map_or(0, |network| network.mark),
            latency: task.latency.and_then(|index| self.latencies.all.get(index)).map(|one| one.mark),
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

    /// The error for a value of a key.
    fn wrong(&self, sweep: &Sweep, key: &'static str, value: &str, fault: impl ToString) -> PlanError {
        let place = match sweep.name.as_str() {
            "" => "the study".into(),
            name => format!("sweep `{name}`"),
        };
        let line = line_of(self.text, sweep.place, key, value);
        PlanError { line, place, key, fault: fault.to_string() }
    }
}
