//! Whether a noise recording belongs to a measurement: same host, same time.

use straggler_model::Time;
use straggler_model::latency::Measurement;
use straggler_model::noise::NoiseRecording;
use straggler_model::noise::recording::Origin;

/// Two commands started together begin within this time.
const TOGETHER_S: u64 = 10;

/// Reasons to doubt that the noise was recorded during the measurement. A missing host or date is no doubt.
pub fn of(measurement: &Measurement, recording: &NoiseRecording) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::latency::{Cycle, Process, Series};
    use straggler_model::noise::recording::Machine;

    fn measured(started: u64) -> Origin {
        Origin::Measured { version: String::new(), command: String::new(), started }
    }

    #[test]
    fn other_hosts_and_times() {
        let process = Process { host: Some("a".into()), ..Process::default() };
        let mut measurement = Measurement::new("exchange", measured(1000));
        let machine = Machine { host: Some("b".into()), ..Machine::default() };
        let recording = NoiseRecording { origin: measured(1005), machine, ..NoiseRecording::default() };
        assert_eq!(of(&measurement, &recording), Vec::<String>::new());
        measurement.processes.push(process);
        assert!(of(&measurement, &recording)[0].contains("recorded on b, the latencies on a"));
        let later = NoiseRecording { origin: measured(1100), machine: Machine::default(), ..recording };
        let doubts = of(&measurement, &later);
        assert!(doubts.len() == 1 && doubts[0].contains("not recorded at the same time"), "{doubts:?}");
        // A file of another program has the times of its cycles.
        let second = 1_000_000_000;
        for (started_ns, doubted) in
            [(1_700_000_000 * second, true), (1_600_000_000 * second, false), (5, false)]
        {
            let cycles = vec![Cycle { started_ns, ..Cycle::default() }];
            let series = vec![Series { cycles, ..Series::default() }];
            let imported = Measurement { series, ..Measurement::new("exchange", Origin::Imported) };
            let recording = NoiseRecording { origin: measured(1_600_000_005), ..NoiseRecording::default() };
            assert_eq!(!of(&imported, &recording).is_empty(), doubted, "{started_ns}");
        }
    }
}
