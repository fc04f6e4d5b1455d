//! `straggler latency diagnose` as typed.

pub mod hints;
pub mod page;
pub mod words;

use crate::kernel::prelude::*;
use crate::latency::file::{self, LatencyFile};
use crate::{latency::diagnose::hints::HintAnswer, noise::file as noise_file, report::ReportOption};
use std::collections::BTreeSet;
use straggler_analysis::{latency::Diagnosis, latency::diagnose::GroupFound, latency::stationarity::Apart};
use straggler_model::{latency::Measurement, provenance::Origin, switches::Switches, units::TimeUnit};
use straggler_noise::{NoiseRecording, format::FormatOptions};

const EXAMPLES: &str = "\
EXAMPLES
  straggler latency diagnose fixtures/latency/pairs.lat
  straggler latency diagnose fixtures/latency/peers.lat --report peers.html
  straggler latency diagnose fixtures/latency/tail.lat \\
      --with-noise fixtures/latency/tail.noise
  straggler latency diagnose fixtures/resampling/exchanges.txt --json

HINTS  two modes that separate pairs     topology, or a protocol that depends
                                         on the peer
       a mode above a number of peers    resources per peer run out
       a tail in steps of a timer tick   the operating system scheduled other
                                         tasks on the core
       Also drift, warm-up, bursts, coarse or slow timers, heavy tails, small
       modes, too few cores, slow processes and slow pairs. Each hint comes
       with its evidence; none is a proof.";

/// Find likely causes in the distribution of measured latencies, with the evidence
///
/// Reports quantiles with confidence intervals, moments, modes, fitted distributions, whether cycles are stationary, and
/// clusters of pairs compared with nodes, sockets, NUMA domains and switches. Then lists likely causes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diagnose {
    /// Measured latencies: a .lat file, or a text file with one time per line
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A noise recording of the same node from the same time, to test how much of the tail it explains
    #[arg(long, value_name = "FILE")]
    pub with_noise: Option<PathBuf>,
    /// The switch of each node, in the format of Slurm's topology.conf: SwitchName=leaf1 Nodes=n[001-016]
    #[arg(long, value_name = "FILE")]
    pub topology: Option<PathBuf>,
    /// Only series whose name contains this text, such as `1 B`, `0-1` or `rank 3`
    #[arg(long, value_name = "TEXT")]
    pub series: Option<String>,
    /// Unit of plain numbers in text files: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
    #[command(flatten)]
    pub report: ReportOption,
}

pub fn run(typed: &Diagnose, console: &Console) -> Outcome<()> {
    let mut file = file::read(&typed.file, typed.unit)?;
    if let Some(path) = &typed.topology {
        lay_over(path, &mut file)?;
    }
    let groups = file::groups(&file, typed.series.as_deref())?;
    let noise = match &typed.with_noise {
        Some(path) => Some(noise_file::read(path, None, &FormatOptions::default())?),
        None => None,
    };
    let diagnosis = Diagnosis::new(&file.measurement, &groups, noise.as_ref().map(|noise| &noise.recording));
    let mut answer = DiagnosisAnswer::new(&file, diagnosis, noise.is_some());
    answer.warnings.extend(noise.iter().flat_map(|noise| noise.warnings.clone()));
    let doubts = noise.iter().flat_map(|noise| doubts(&file.measurement, &noise.recording));
    answer.warnings.extend(doubts.map(|doubt| format!("--with-noise: {doubt}")));
    let without: Vec<String> = answer.groups.iter().filter_map(words::no_noise).collect();
    answer.warnings.extend(without);
    pages::write_asked(typed.report.report.as_ref(), console, || page::page(&answer, &groups))?;
    if console.json {
        return console.print_json(&answer);
    }
    answer.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&words::summary(&answer, console.is_verbose()))
}

/// Names that a warning lists.
const MOST_NAMED: usize = 5;

/// Sets the switch of each process. Nodes that are not in the file have none; a warning names them.
fn lay_over(path: &Path, file: &mut LatencyFile) -> Outcome<()> {
    let fault = |what: String| Failure::bad_input(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|fault| unreadable(path, &fault))?;
    let switches = Switches::parse(&text).map_err(|error| fault(error.to_string()))?;
    let (mut unknown, mut known) = (BTreeSet::new(), false);
    for process in &mut file.measurement.processes {
        let Some(host) = &process.host else { continue };
        process.switch = switches.get(host);
        known |= process.switch.is_some();
        if process.switch.is_none() {
            unknown.insert(host.clone());
        }
    }
    let names: Vec<&str> = unknown.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = if unknown.len() > MOST_NAMED { ", …" } else { "" };
    match (known, unknown.is_empty()) {
        (false, true) => Err(fault(format!("{} does not record the hosts of its processes", file.name))),
        (false, false) => Err(fault(format!(
            "it lists none of the hosts of {}: {}{more}; does it describe another machine?",
            file.name,
            names.join(", ")
        ))),
        (true, true) => Ok(()),
        (true, false) => {
            let warning = format!("{}: it does not list {}{more}", path.display(), names.join(", "));
            file.warnings.push(warning);
            Ok(())
        }
    }
}

/// Two commands started together begin within this time.
const TOGETHER_S: u64 = 10;

/// Reasons to doubt that the noise was recorded during the measurement. A missing host or date is no doubt.
fn doubts(measurement: &Measurement, recording: &NoiseRecording) -> Vec<String> {
    other_host(measurement, recording).into_iter().chain(other_time(measurement, recording)).collect()
}

fn other_host(measurement: &Measurement, recording: &NoiseRecording) -> Option<String> {
    let of_machines = measurement.machines.iter().filter_map(|machine| machine.host.as_deref());
    let of_processes = measurement.processes.iter().filter_map(|process| process.host.as_deref());
    let mut hosts: Vec<&str> = of_machines.chain(of_processes).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let host = recording.machine.host.as_deref()?;
    (!hosts.is_empty() && !hosts.contains(&host)).then(|| {
        format!(
            "the noise was recorded on {host}, the latencies on {}: it may not explain them",
            hosts.join(", ")
        )
    })
}

fn other_time(measurement: &Measurement, recording: &NoiseRecording) -> Option<String> {
    let noise = started(&recording.origin)?;
    let length = recording.cores.iter().map(|core| core.length).max().unwrap_or_default();
    let noise_end = noise.saturating_add(seconds(length.ps().into()));
    let trials: u128 =
        measurement.series.iter().map(|series| series.trials.sum_ps()).fold(0, u128::saturating_add);
    let runs = measurement.origins.iter().filter_map(started);
    let runs = runs.map(|start| (start, start.saturating_add(seconds(trials))));
    let apart = |(start, end): (u64, u64)| noise.saturating_sub(end).max(start.saturating_sub(noise_end));
    let least = runs.chain(cycles(measurement)).map(apart).min()?;
    (least > TOGETHER_S).then(|| {
        format!(
            "noise and latencies were not recorded at the same time, but {} apart: it may not explain them",
            Time::from_ns(least.saturating_mul(1_000_000_000))
        )
    })
}

/// Start and end of cycles, in s since 1970. Files of other programs may have them, but not the start of the run.
fn cycles(measurement: &Measurement) -> impl Iterator<Item = (u64, u64)> + '_ {
    let cycles = measurement.series.iter().flat_map(|series| &series.cycles);
    // Cycles from a list of times have no date.
    cycles.filter(|cycle| cycle.started_ns >= NO_DATE_NS).map(|cycle| {
        let start = cycle.started_ns / 1_000_000_000;
        (start, start.saturating_add(seconds(cycle.sum_ps.into())))
    })
}

/// Times before 1971 are not dates, but times since the start of a program or a host.
const NO_DATE_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

fn started(origin: &Origin) -> Option<u64> {
    match origin {
        Origin::Measured { started, .. } => Some(*started),
        _ => None,
    }
}

fn seconds(ps: u128) -> u64 {
    u64::try_from(ps.div_ceil(1_000_000_000_000)).unwrap_or(u64::MAX)
}

#[derive(Serialize)]
pub struct DiagnosisAnswer {
    pub file: String,
    pub kernel: String,
    pub synthetic: bool,
    pub verdict: String,
    /// The hints as text, with their evidence.
    pub hints: Vec<HintAnswer>,
    pub groups: Vec<GroupFound>,
    pub warnings: Vec<String>,
}

impl DiagnosisAnswer {
    pub fn new(file: &LatencyFile, diagnosis: Diagnosis, with_noise: bool) -> DiagnosisAnswer {
        let mut hints: Vec<HintAnswer> =
            diagnosis.hints.iter().map(|hint| hints::phrase(hint, &diagnosis.groups, with_noise)).collect();
        // With a recording of noise, what it explains was the question.
        hints.sort_by_key(|hint| hint.hint != "noise");
        let mut warnings = file.warnings.clone();
        warnings.extend(diagnosis.empty.iter().map(|name| format!("{name}: there are no trials")));
        for group in &diagnosis.groups {
            warnings.extend(words::doubts(group));
        }
        DiagnosisAnswer {
            file: file.name.clone(),
            kernel: file.measurement.kernel.clone(),
            synthetic: file.measurement.is_synthetic(),
            verdict: words::verdict(&hints, &diagnosis.groups),
            hints,
            groups: diagnosis.groups,
            warnings,
        }
    }
}

pub fn apart(these: Apart, first: &str) -> String {
    let Apart { cycles, change } = these;
    let (which, take) = match (cycles, first) {
        (1, "") => ("one cycle".into(), "takes"),
        (1, first) => (format!("the {first}cycle"), "takes"),
        (_, "") => (format!("{cycles} cycles"), "take"),
        (_, first) => (format!("the {first}{cycles} cycles"), "take"),
    };
    let side = if change < 0.0 { "shorter" } else { "longer" };
    format!("{which} {take} {} {side} than the others", percent(change.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::latency::{Cycle, Process, Series};
    use straggler_model::provenance::Machine;

    fn measured(started: u64) -> Origin {
        Origin::Measured { version: String::new(), command: String::new(), started }
    }

    #[test]
    fn other_hosts_and_times() {
        let process = Process { host: Some("a".into()), ..Process::default() };
        let mut measurement = Measurement::new("exchange", measured(1000));
        let machine = Machine { host: Some("b".into()), ..Machine::default() };
        let recording = NoiseRecording { origin: measured(1005), machine, ..NoiseRecording::default() };
        assert_eq!(doubts(&measurement, &recording), Vec::<String>::new());
        measurement.processes.push(process);
        assert!(doubts(&measurement, &recording)[0].contains("recorded on b, the latencies on a"));
        let later = NoiseRecording { origin: measured(1100), machine: Machine::default(), ..recording };
        let found = doubts(&measurement, &later);
        assert!(found.len() == 1 && found[0].contains("not recorded at the same time"), "{found:?}");
        // A file of another program has the times of its cycles.
        let second = 1_000_000_000;
        for (started_ns, doubted) in
            [(1_700_000_000 * second, true), (1_600_000_000 * second, false), (5, false)]
        {
            let cycles = vec![Cycle { started_ns, ..Cycle::default() }];
            let series = vec![Series { cycles, ..Series::default() }];
            let imported = Measurement { series, ..Measurement::new("exchange", Origin::Imported) };
            let recording = NoiseRecording { origin: measured(1_600_000_005), ..NoiseRecording::default() };
            assert_eq!(!doubts(&imported, &recording).is_empty(), doubted, "{started_ns}");
        }
    }
}
