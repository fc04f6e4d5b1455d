//! More processes on a host than it has cores, or several on one core.

use serde::Serialize;
use std::collections::BTreeMap;
use straggler_model::Rank;
use straggler_model::latency::Measurement;

/// A host with more processes than cores.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Oversubscribed {
    pub host: String,
    pub processes: usize,
    /// Online cores, or the cgroup limit.
    pub cores: f64,
}

/// A host that was busy when the measurement began.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BusyHost {
    /// None if its name is unknown.
    pub host: Option<String>,
    pub load: f64,
    pub cores: f64,
}

/// The busiest moment of each busy host.
pub fn busy(measurement: &Measurement) -> Vec<BusyHost> {
    let mut found: Vec<BusyHost> = Vec::new();
    for machine in &measurement.machines {
        let Some((load, cores)) = machine.overload() else { continue };
        match found.iter_mut().find(|busy| busy.host == machine.host) {
            Some(known) => known.load = known.load.max(load),
            None => found.push(BusyHost { host: machine.host.clone(), load, cores }),
        }
    }
    found
}

/// A core on which several processes ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SharedCore {
    pub host: String,
    pub core: u32,
    pub ranks: Vec<Rank>,
}

/// Cores with several processes, on known hosts.
pub fn shared_cores(measurement: &Measurement) -> Vec<SharedCore> {
    let mut by_core: BTreeMap<(&str, u32), Vec<Rank>> = BTreeMap::new();
    for process in &measurement.processes {
        if let Some((host, core)) = process.host.as_deref().zip(process.core) {
            by_core.entry((host, core)).or_default().push(process.rank);
        }
    }
    by_core.retain(|_, ranks| ranks.len() > 1);
    by_core.into_iter().map(|((host, core), ranks)| SharedCore { host: host.into(), core, ranks }).collect()
}

/// Oversubscribed hosts, as far as both their processes and their cores are known.
pub fn find(measurement: &Measurement) -> Vec<Oversubscribed> {
    let mut found: Vec<Oversubscribed> = Vec::new();
    for machine in &measurement.machines {
        let Some((host, cores)) = machine.host.clone().zip(machine.cores()) else { continue };
        let is_here = |name: &Option<String>| name.as_ref() == Some(&host);
        let processes = measurement.processes.iter().filter(|process| is_here(&process.host)).count();
        let is_new = found.iter().all(|crowd| crowd.host != host);
        if is_new && processes as f64 > cores {
            found.push(Oversubscribed { host, processes, cores });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::latency::Process;
    use straggler_model::provenance::Machine;

    #[test]
    fn several_processes_on_one_core() {
        let on = |rank, host: Option<&str>, core| Process {
            rank,
            host: host.map(String::from),
            core,
            ..Process::default()
        };
        let (one, two) = (Some("one"), Some("two"));
        let processes = vec![
            on(0, one, Some(3)),
            on(1, two, Some(3)),
            on(2, one, Some(3)),
            on(3, one, None),
            on(4, one, None),
            on(5, None, Some(1)),
            on(6, None, Some(1)),
        ];
        let measurement = Measurement { processes, ..Measurement::default() };
        let found = SharedCore { host: "one".into(), core: 3, ranks: vec![0, 2] };
        assert_eq!(shared_cores(&measurement), [found]);
    }

    #[test]
    fn busy_hosts() {
        let machine = |host: &str, load| Machine {
            host: Some(host.into()),
            online_cores: Some("0-1".into()),
            load,
            ..Machine::default()
        };
        let machines = vec![
            machine("one", Some(15.9)),
            machine("two", Some(1.9)),
            machine("one", Some(3.0)),
            machine("three", None),
        ];
        let measurement = Measurement { machines, ..Measurement::default() };
        let found = BusyHost { host: Some("one".into()), load: 15.9, cores: 2.0 };
        assert_eq!(busy(&measurement), [found]);
        assert!(
            measurement.doubts()[0].starts_with("one was busy when the measurement began: programs for 15.9")
        );
    }

    #[test]
    fn more_processes_than_cores() {
        let process = |rank| Process { rank, host: Some("one".into()), ..Process::default() };
        let mut measurement =
            Measurement { processes: (0..6).map(process).collect(), ..Measurement::default() };
        assert_eq!(find(&measurement), []);
        let machine = |cores: &str| Machine {
            host: Some("one".into()),
            online_cores: Some(cores.into()),
            allowed_cores: Some("0".into()),
            ..Machine::default()
        };
        for (cores, number) in [("0-3,8", Some(5.0)), ("0-5", None), ("x", None), ("3-1", None)] {
            measurement.machines = vec![machine(cores); 2];
            let found: Vec<f64> = find(&measurement).iter().map(|crowd| crowd.cores).collect();
            assert_eq!(found, Vec::from_iter(number), "{cores}");
        }
        measurement.machines[0] = Machine { cgroup_quota_cores: Some(1.5), ..machine("0-63") };
        assert_eq!(find(&measurement), [Oversubscribed { host: "one".into(), processes: 6, cores: 1.5 }]);
    }
}
