//! The workload that is exposed to the noise: collectives, or a program at several scales; and the largest scale that is
//! simulated.

use crate::assess::plan::{Assessed, Plan};
use crate::assess::{Report, again};
use crate::kernel::memory::{available_bytes, in_words, refuse_too_much, seconds_for};
use crate::kernel::prelude::*;
use crate::network::load_network;
use crate::trace::traced::{self, TraceRequest};
use std::sync::Arc;
use straggler_analysis::assess::{Asked, Curve, Why};
use straggler_analysis::predict::{fit, sharing};
use straggler_model::Network;
use straggler_noise::Injection;
use straggler_schedule::{collectives::Operation, goal};
use straggler_sim::{Simulation, Workload, memory::replay_memory_bytes};
use straggler_trace::disturbance::Disturbance;

const OPERATIONS: [Operation; 3] = [Operation::Allreduce, Operation::Barrier, Operation::Bcast];

/// Everything that is simulated, and the network.
#[derive(Debug)]
pub struct Target {
    pub asked: Vec<Asked>,
    pub network: Network,
    pub program: Option<Program>,
}

/// A program instead of collectives.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    pub kind: Kind,
    pub name: String,
    /// Copies of the trace, by ascending number of processes; empty for a schedule.
    pub copies: Vec<u32>,
    /// Whether the trace was computed, not recorded.
    pub synthetic: bool,
    /// Whether the network was fitted from the trace.
    pub fitted: bool,
    /// Notes for the user.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Trace,
    Goal,
}

impl Program {
    /// "the traced program run/", "the schedule ring.goal".
    pub fn describe(&self) -> String {
        match self.kind {
            Kind::Trace => format!("the traced program {}", self.name),
            Kind::Goal => format!("the schedule {}", self.name),
        }
    }
}

impl Target {
    /// Reads and builds the workload of the plan; fails if it does not fit into memory.
    pub fn load(plan: &Plan, console: &Console) -> Outcome<Target> {
        let target = match &plan.what {
            Assessed::Collectives { processes, bytes } => {
                let scales = scales(*processes);
                let asked = OPERATIONS.map(|operation| Asked::collective(operation, *bytes, &scales));
                let asked = asked.into_iter().collect::<Result<Vec<_>, _>>()?;
                Target { asked, network: given(plan)?, program: None }
            }
            Assessed::Trace(request, copies) => trace(plan, request, copies, console)?,
            Assessed::Goal(paths) => goals(plan, paths)?,
        };
        target.check_memory(available_bytes())?;
        Ok(target)
    }

    /// The largest number of processes.
    pub fn processes(&self) -> u32 {
        self.workloads().map(Workload::processes).max().unwrap_or(0)
    }

    fn workloads(&self) -> impl Iterator<Item = &Workload> {
        self.asked.iter().flat_map(|asked| &asked.scales)
    }

    fn check_memory(&self, available: Option<u64>) -> Outcome<()> {
        // Any noise will do: only its presence matters.
        let simulation = Simulation { noise: Some(Injection::QUIET), ..Simulation::new(&self.network) };
        let needed = self.workloads().map(|workload| simulation.memory_bytes(workload)).max().unwrap_or(0);
        refuse_too_much(self.processes().into(), needed, available)
    }
}

/// Powers of two; only every second one where runs get long.
fn scales(processes: u32) -> Vec<u32> {
    let largest = processes.ilog2();
    let chosen = (1..=largest).filter(|power| *power <= 16 || (largest - power).is_multiple_of(2));
    chosen.map(|power| 1 << power).collect()
}

fn given(plan: &Plan) -> Outcome<Network> {
    load_network(plan.network.as_deref().unwrap_or_default(), None)
}

fn trace(plan: &Plan, request: &TraceRequest, copies: &[u32], console: &Console) -> Outcome<Target> {
    let replayed = traced::load(request, console)?;
    let fitted = match &plan.network {
        Some(_) => None,
        None => Some(fit(&replayed.trace).map_err(|fault| {
            let path = request.path.display();
            Failure::bad_input(format!("{path}: {fault}"))
        })?),
    };
    let network = match &fitted {
        Some(fit) => fit.network.clone(),
        None => given(plan)?,
    };
    let most = u64::from(copies.last().copied().unwrap_or(1)) * u64::from(replayed.recording.processes());
    refuse_too_much(most, replay_memory_bytes(most), available_bytes())?;
    let in_copies = |&copies: &u32| {
        let request = TraceRequest { copies, ..request.clone() };
        Ok(Workload::Traced(Arc::new(traced::play(replayed.recording.clone(), &request)?)))
    };
    let name = request.path.display().to_string();
    let mut notes = vec![
        "the trace already contains the noise of the machine that recorded it: the costs here come on top \
         of that"
            .to_string(),
    ];
    notes.extend(
        traced::no_stream_of(&replayed.ranks_without_a_stream).map(|missing| {
            format!("in the trace {missing}: calls of other ranks that involve it are dropped")
        }),
    );
    notes.extend(sharing(&replayed.trace).into_iter().map(|host| {
        format!(
            "{} of {} shared {}: they waited for each other's computation, and the trace counts that wait \
             as computation",
            counted(host.ranks.into(), "rank", "ranks"),
            if host.host.is_empty() { "a host" } else { &host.host },
            counted(host.cores.into(), "core", "cores")
        )
    }));
    notes.extend(Disturbance::new(&replayed.trace).map(|found| found.sentence()));
    notes.extend(replayed.recording.notes().iter().cloned());
    let assumed = fitted.iter().flat_map(|fit| &fit.assumed);
    notes.extend(assumed.map(|assumed| format!("about the fitted network: {assumed}")));
    let program = Program {
        kind: Kind::Trace,
        name: name.clone(),
        copies: copies.to_vec(),
        synthetic: replayed.is_synthetic,
        fitted: fitted.is_some(),
        notes,
    };
    let scales = copies.iter().map(in_copies).collect::<Outcome<Vec<_>>>()?;
    refuse_no_time(&name, replayed.playback.operations())?;
    Ok(Target { asked: vec![Asked { name, scales }], network, program: Some(program) })
}

fn goals(plan: &Plan, paths: &[PathBuf]) -> Outcome<Target> {
    let mut read: Vec<(Workload, String)> = Vec::with_capacity(paths.len());
    for path in paths {
        if path.is_dir() {
            let path = path.display();
            return Err(Failure::usage(format!(
                "{path} is a folder, not a GOAL file: is it a trace? Give --trace {path}"
            )));
        }
        let (workload, name) = (Workload::from(goal::read_path(path)?.graph), path.display().to_string());
        refuse_no_time(&name, workload.operations())?;
        let processes = workload.processes();
        if let Some((_, twin)) = read.iter().find(|(other, _)| other.processes() == processes) {
            return Err(Failure::usage(format!(
                "{twin} and {name} both have {}: give one --goal for each number of processes",
                counted(processes.into(), "process", "processes")
            )));
        }
        read.push((workload, name));
    }
    read.sort_by_key(|(workload, _)| workload.processes());
    let (scales, names): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let name = names.join(", ");
    let notes = vec!["the computation in the schedule is assumed to be free of noise".to_string()];
    let (copies, synthetic, fitted) = (Vec::new(), false, false);
    let program = Program { kind: Kind::Goal, name: name.clone(), copies, synthetic, fitted, notes };
    Ok(Target { asked: vec![Asked { name, scales }], network: given(plan)?, program: Some(program) })
}

/// Refuses an empty workload, which noise cannot delay.
fn refuse_no_time(name: &str, operations: u64) -> Outcome<()> {
    if operations > 0 {
        return Ok(());
    }
    Err(Failure::bad_input(format!("{name} has no operations, so noise cannot delay it: use another file")))
}

/// The largest scale of each curve, and whether more was requested.
pub fn largest_scale(report: &Report) -> String {
    let separate = report.answer.curves.iter().filter(|curve| curve.same_as.is_none());
    let ends: Vec<(&str, u32)> = separate
        .map(|curve| (curve.name.as_str(), curve.points.last().map_or(0, |point| point.processes)))
        .collect();
    let same = ends.iter().all(|(_, end)| ends.first().is_some_and(|(_, first)| first == end));
    let text = match ends.as_slice() {
        [(_, end), ..] if same => format!("{} processes", grouped(*end)),
        all => {
            let each = all.iter().map(|(name, end)| format!("{name} {} processes", grouped(*end)));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    if ends.iter().any(|&(_, end)| end < wanted(report)) {
        return format!("{text}; {} were requested", grouped(wanted(report)));
    }
    text
}

/// The largest requested scale.
fn wanted(report: &Report) -> u32 {
    match report.program {
        Some(_) => report.processes,
        None => 1 << report.processes.max(1).ilog2(),
    }
}

/// Which curves ended before the largest scale, and why.
pub fn ended_early(report: &Report) -> Vec<String> {
    let separate = report.answer.curves.iter().filter(|curve| curve.same_as.is_none());
    let again = report.noise_file.as_ref().map(|path| format!(": {}", again(path))).unwrap_or_default();
    let limit = Limit { threads: report.threads, seconds: report.simulation_seconds, again };
    separate.filter_map(|curve| left_out(curve, &limit)).collect()
}

/// The limit that bounded the simulations.
struct Limit {
    threads: usize,
    seconds: f64,
    /// The command to simulate elsewhere or later.
    again: String,
}

/// Points not simulated for a curve, and the time they would have taken.
fn left_out(curve: &Curve, limit: &Limit) -> Option<String> {
    let left_out = curve.left_out?;
    let name = &curve.name;
    let simulated = grouped(curve.points.last().map_or(0, |point| point.processes));
    let asked = grouped(left_out.processes);
    let more = match seconds_for(left_out.messages as f64, limit.threads) {
        seconds if seconds < 1.0 => in_words(seconds),
        seconds => format!("about {}", in_words(seconds)),
    };
    Some(match left_out.why {
        Why::Noise => format!(
            "Not simulated: {name} on more than {simulated} processes. With this noise, {asked} \
             processes would take {more} more to simulate."
        ),
        Why::Time => format!(
            "Not simulated: {name} on more than {simulated} processes. This machine is busy or slow: {name} \
             has used up its share of the {} for simulations. {asked} processes would take \
             {more} more on an idle machine{}.",
            in_words(limit.seconds),
            limit.again
        ),
    })
}

/// Whether sources were ranked at a smaller scale than the largest.
pub fn smaller_scale(report: &Report) -> Option<String> {
    let largest = report.answer.curves.first()?.points.last()?.processes;
    let Some(ranked) = report.answer.rankings.last().map(|ranking| ranking.processes) else {
        return Some("the removal of sources was not simulated: it would take too long".into());
    };
    (ranked < largest).then(|| {
        format!(
            "the removal of sources was simulated at {} processes, because at {} it would take too long",
            grouped(ranked),
            grouped(largest)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_analysis::assess::LeftOut;

    #[test]
    fn powers_of_two_then_of_four() {
        assert_eq!(scales(5), [2, 4]);
        assert_eq!(scales(1 << 20).last_chunk(), Some(&[1 << 15, 1 << 16, 1 << 18, 1 << 20]));
    }

    #[test]
    fn what_does_not_fit_into_memory_is_refused() {
        let asked = vec![Asked::collective(Operation::Allreduce, 1, &[2, 1 << 20]).unwrap()];
        let network = Network::load("chic").unwrap();
        let target = Target { asked, network, program: None };
        assert_eq!(target.processes(), 1 << 20);
        assert!(target.check_memory(Some(1 << 30)).is_ok());
        assert!(target.check_memory(None).is_ok());
        let text = target.check_memory(Some(1 << 20)).unwrap_err().error.to_string();
        assert!(text.contains("1,048,576 processes") && text.contains("1.00 MiB are available"), "{text}");
    }

    /// Six replicas of a million processes, each message at eleven times its cost: about a minute, as measured.
    #[test]
    fn what_was_left_out_is_said_with_its_time_and_why() {
        let of = |why| Curve {
            name: "allreduce".into(),
            same_as: None,
            inflection: None,
            points: Vec::new(),
            left_out: Some(LeftOut { processes: 1 << 20, messages: (6 * 20 * 11) << 20, why }),
        };
        let limit = Limit { threads: 2, seconds: 40.0, again: ": straggler assess n".into() };
        let text = left_out(&of(Why::Noise), &limit).unwrap();
        assert!(
            text.contains(
                "With this noise, 1,048,576 processes would take about 69 seconds more to simulate."
            ),
            "{text}"
        );
        let text = left_out(&of(Why::Time), &limit).unwrap();
        assert!(
            text.contains("busy or slow: allreduce has used up its share of the 40 seconds for simulations"),
            "{text}"
        );
        assert!(text.contains("more on an idle machine: straggler assess n."), "{text}");
        assert_eq!(left_out(&Curve { left_out: None, ..of(Why::Time) }, &limit), None);
    }
}
