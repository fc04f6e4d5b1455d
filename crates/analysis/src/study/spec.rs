//! The file of a study: TOML.
//!
//! ```toml
//! name = "Artificial noise"
//! replicas = 1000
//! processes = "2..1048576"
//! collective = ["allreduce:dissemination", "bcast:binomial"]
//! network = "cnl"
//! noise = "periodic:period=1ms,duration=100us"
//!
//! [[sweep]]
//! name = "co-scheduled"
//! cosched = true
//! ```
//! The top level of the file is itself a sweep. Each `[[sweep]]` adds another, which inherits the keys it does not
//! set from the top. If the top cannot run alone (because it has no network, for example), it only provides shared
//! keys. Keys that span the product take one value or a list. A sweep that names a collective, a workload, a GOAL
//! file or a trace runs only those.

use super::values::{Count, Many, One, Processes, Share, Size};
use serde::Deserialize;
use straggler_model::Time;
use straggler_model::network::{Factor, Meaning};
use straggler_model::toml_file::{self, TomlError};
use straggler_schedule::collectives::Choice;
use straggler_schedule::workloads::{Only, Workload};

/// The default number of replicas per point.
pub const DEFAULT_REPLICAS: u32 = 100;

/// The value for no noise or no measured latencies.
pub const NONE: &str = "none";

/// The value for the network fitted to a trace.
pub const FIT: &str = "fit";

/// A description of what to run.
#[derive(Clone, Debug)]
pub struct Study {
    pub name: String,
    pub description: String,
    /// The text it was parsed from; empty if it has none.
    pub text: String,
    pub sweeps: Vec<Sweep>,
    /// The key whose absence keeps the top level from running: it is only the base of the sweeps.
    pub top_lacks: Option<&'static str>,
}

/// One product of settings.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Empty for the top of the file.
    pub name: String,
    /// The number of the sweep in the file, counted from 1; 0 for the top.
    pub place: usize,
    pub seeds: Vec<u64>,
    /// The most replicas of a point.
    pub replicas: u32,
    /// A point has enough replicas when the interval of its median is narrower than this share of the median.
    pub until_ci: Option<f64>,
    /// Ascending.
    pub processes: Vec<u32>,
    pub collectives: Vec<Choice>,
    pub workloads: Vec<Workload>,
    /// GOAL files; each has its own number of processes.
    pub goals: Vec<String>,
    /// Traces, each run with every number of copies.
    pub traces: Vec<String>,
    /// Ascending.
    pub copies: Vec<u32>,
    /// Data sizes of collectives; if empty, the default size.
    pub sizes: Vec<u64>,
    pub cycles: u32,
    pub compute: Time,
    pub only: Only,
    pub networks: Vec<String>,
    pub network_scales: Vec<Factor>,
    /// Files of measured latencies that messages draw from, or `none`.
    pub latencies: Vec<String>,
    /// What measured latencies include.
    pub latency_is: Meaning,
    /// The message size to use from a measurement; the smallest if not given.
    pub latency_size: Option<u64>,
    pub noises: Vec<String>,
    pub cosched: Vec<bool>,
    pub receive_overlap: bool,
    /// The table that selects algorithms if none are named.
    pub algorithms: Option<String>,
    pub idempotent: bool,
    pub wallclock: bool,
}

/// Why a text is not a study.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error(transparent)]
    Toml(#[from] TomlError),
    #[error("{place} lacks `{key}`: {mend}")]
    Missing { place: String, key: &'static str, mend: &'static str },
    #[error("{place}: `{key}` has no effect without `{owner}`")]
    NoEffect { place: String, key: &'static str, owner: &'static str },
    #[error("two sweeps have the name `{name}`: give them different names")]
    Twice { name: String },
}

/// The keys common to the top level and the sweeps; all are optional.
macro_rules! with_settings {
    ($($key:ident: $type:ty,)*) => {
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        struct FileStudy {
            name: One<String>,
            description: Option<String>,
            #[serde(default)]
            sweep: Vec<FileSweep>,
            $($key: Option<$type>,)*
        }

        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        struct FileSweep {
            name: Option<One<String>>,
            $($key: Option<$type>,)*
        }

        #[derive(Clone, Debug, Default)]
        struct Given {
            $($key: Option<$type>,)*
        }

        impl FileStudy {
            fn given(&self) -> Given {
                Given { $($key: self.$key.clone(),)* }
            }
        }

        impl FileSweep {
            fn given(&self) -> Given {
                Given { $($key: self.$key.clone(),)* }
            }
        }

        impl Given {
            /// Takes missing keys from the base.
            fn over(self, base: &Given) -> Given {
                Given { $($key: self.$key.or_else(|| base.$key.clone()),)* }
            }
        }
    };
}

with_settings! {
    seed: Many<u64>,
    replicas: One<Count>,
    until_ci: One<Share>,
    processes: Many<Processes>,
    collective: Many<Choice>,
    workload: Many<Workload>,
    goal: Many<String>,
    trace: Many<String>,
    copies: Many<Count>,
    size: Many<Size>,
    cycles: One<Count>,
    compute: One<Time>,
    only: One<Only>,
    network: Many<String>,
    network_scale: Many<Factor>,
    latency_distribution: Many<String>,
    latency_is: One<Meaning>,
    latency_size: One<Size>,
    noise: Many<String>,
    cosched: Many<bool>,
    receive_overlap: One<bool>,
    algorithms: One<String>,
    idempotent: One<bool>,
    wallclock: One<bool>,
}

impl Study {
    /// Parses the text of a study.
    pub fn parse(text: &str) -> Result<Study, SpecError> {
        let file: FileStudy = toml_file::read(text)?;
        let top = file.given();
        let mut study = Study {
            name: file.name.0.clone(),
            description: file.description.clone().unwrap_or_default(),
            text: text.into(),
            sweeps: Vec::new(),
            top_lacks: None,
        };
        if file.sweep.is_empty() {
            study.sweeps.push(Sweep::new(String::new(), "the study", top, &Given::default())?);
            return Ok(study);
        }
        match Sweep::new(String::new(), "the top level", Given::default(), &top) {
            Ok(sweep) => study.sweeps.push(sweep),
            Err(SpecError::Missing { key, .. }) => study.top_lacks = Some(key),
            Err(fault) => return Err(fault),
        }
        for (place, sweep) in (1..).zip(&file.sweep) {
            let name = sweep.name.clone().map_or_else(|| place.to_string(), |One(name)| name);
            if study.sweeps.iter().any(|other| other.name == name) {
                return Err(SpecError::Twice { name });
            }
            let called = format!("sweep `{name}`");
            study.sweeps.push(Sweep { place, ..Sweep::new(name, &called, sweep.given(), &top)? });
        }
        Ok(study)
    }
}

impl Sweep {
    fn new(name: String, place: &str, own: Given, top: &Given) -> Result<Sweep, SpecError> {
        let own_work =
            own.collective.is_some() || own.workload.is_some() || own.goal.is_some() || own.trace.is_some();
        let mut all = own.clone().over(top);
        if own_work {
            (all.collective, all.workload) = (own.collective.clone(), own.workload.clone());
            (all.goal, all.trace) = (own.goal.clone(), own.trace.clone());
        }
        let refuse = |given: bool, key, owner| match given {
            true => Err(SpecError::NoEffect { place: place.into(), key, owner }),
            false => Ok(()),
        };
        let (no_collective, no_workload) = (all.collective.is_none(), all.workload.is_none());
        let (no_goal, no_trace) = (all.goal.is_none(), all.trace.is_none());
        refuse(no_collective && own.size.is_some(), "size", "collective")?;
        refuse(no_collective && own.cycles.is_some(), "cycles", "collective")?;
        refuse(no_collective && own.compute.is_some(), "compute", "collective")?;
        refuse(no_workload && no_trace && own.only.is_some(), "only", "workload")?;
        refuse(no_trace && own.copies.is_some(), "copies", "trace")?;
        let no_latency = all.latency_distribution.is_none();
        refuse(no_latency && own.latency_is.is_some(), "latency-is", "latency-distribution")?;
        refuse(no_latency && own.latency_size.is_some(), "latency-size", "latency-distribution")?;
        let fixed = no_collective && no_workload;
        let missing = |key, mend| SpecError::Missing { place: place.into(), key, mend };
        if fixed && no_goal && no_trace {
            let mend = "name a collective, a workload, a goal file or a trace to run";
            return Err(missing("collective", mend));
        }
        refuse(fixed && own.processes.is_some(), "processes", "collective")?;
        let processes = match all.processes {
            None if !fixed => return Err(missing("processes", "give the number of processes")),
            processes => processes.map_or_else(Vec::new, |list| list.0),
        };
        let networks = match all.network {
            None if !(fixed && no_goal) => {
                return Err(missing("network", "name a preset, parameters or a file"));
            }
            networks => many(networks, FIT.into()),
        };
        let processes = processes.into_iter().flat_map(|Processes(list)| list);
        let copies = many(all.copies, Count(1)).into_iter().map(|Count(count)| count);
        Ok(Sweep {
            name,
            place: 0,
            seeds: many(all.seed, 1),
            replicas: all.replicas.map_or(DEFAULT_REPLICAS, |One(Count(count))| count),
            until_ci: all.until_ci.map(|One(Share(share))| share),
            processes: ascending(processes),
            collectives: all.collective.map_or_else(Vec::new, |list| list.0),
            workloads: all.workload.map_or_else(Vec::new, |list| list.0),
            goals: all.goal.map_or_else(Vec::new, |list| list.0),
            traces: all.trace.map_or_else(Vec::new, |list| list.0),
            copies: ascending(copies),
            sizes: all.size.map_or_else(Vec::new, |list| list.0.iter().map(|size| size.0).collect()),
            cycles: all.cycles.map_or(1, |One(Count(count))| count),
            compute: all.compute.map_or(Time::ZERO, |One(time)| time),
            only: all.only.map_or(Only::All, |One(only)| only),
            networks,
            network_scales: all.network_scale.map_or_else(Vec::new, |list| list.0),
            latencies: many(all.latency_distribution, NONE.into()),
            latency_is: all.latency_is.map_or(Meaning::Total, |One(meaning)| meaning),
            latency_size: all.latency_size.map(|One(size)| size.0),
            noises: many(all.noise, NONE.into()),
            cosched: many(all.cosched, false),
            receive_overlap: is_set(all.receive_overlap),
            algorithms: all.algorithms.map(|One(text)| text),
            idempotent: is_set(all.idempotent),
            wallclock: is_set(all.wallclock),
        })
    }
}

fn ascending(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn many<T>(given: Option<Many<T>>, usual: T) -> Vec<T> {
    given.map_or_else(|| vec![usual], |list| list.0)
}

fn is_set(given: Option<One<bool>>) -> bool {
    given.is_some_and(|One(truth)| truth)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
name = "Artificial noise"
description = "as the paper has it"
seed = [1, 2]
replicas = 1000
until-ci = "2%"
processes = ["2..8", 100]
collective = "allreduce:dissemination"
size = ["1", 8, "1KiB"]
network = "cnl"
network-scale = [1, 0.1]
noise = ["none", "periodic:period=1ms,duration=100us"]
cosched = [false, true]

[[sweep]]
name = "CHiC"
network = "chic"
until-ci = 0.05

[[sweep]]
workload = "pop"
only = "p2p"
"#;

    #[test]
    fn sweeps_take_what_they_do_not_say() {
        let study = Study::parse(WHOLE).unwrap();
        let [top, chic, second] = &study.sweeps[..] else { panic!() };
        assert_eq!((top.name.as_str(), top.networks.as_slice()), ("", &["cnl".into()][..]));
        assert_eq!((chic.name.as_str(), second.name.as_str()), ("CHiC", "2"));
        assert_eq!(chic.seeds, [1, 2]);
        assert_eq!((chic.replicas, chic.until_ci, second.until_ci), (1000, Some(0.05), Some(0.02)));
        assert_eq!(chic.processes, [2, 4, 8, 100]);
        assert_eq!(chic.sizes, [1, 8, 1024]);
        assert_eq!(
            (chic.networks.as_slice(), second.networks.as_slice()),
            (&["chic".into()][..], &["cnl".into()][..])
        );
        assert_eq!(chic.noises.len(), 2);
        assert_eq!(chic.network_scales.iter().map(ToString::to_string).collect::<Vec<_>>(), ["1", "0.1"]);
        assert_eq!((chic.collectives.len(), chic.workloads.len()), (1, 0));
        assert_eq!((second.collectives.len(), second.workloads.len(), second.only), (0, 1, Only::P2p));
    }

    #[test]
    fn the_top_may_be_the_only_sweep() {
        let study = Study::parse("name='a'\nprocesses=4\ncollective='barrier'\nnetwork='chic'").unwrap();
        let [only] = &study.sweeps[..] else { panic!() };
        assert_eq!(
            (only.name.as_str(), only.replicas, only.seeds.as_slice()),
            ("", DEFAULT_REPLICAS, &[1][..])
        );
        assert_eq!(only.noises, ["none"]);
    }

    #[test]
    fn a_top_that_cannot_run_alone_is_only_a_base() {
        let base = "name='a'\nprocesses=4\nsize=8\n";
        let sweep = "[[sweep]]\ncollective='barrier'\nnetwork='chic'";
        for (lines, lacks, sweeps) in [
            ("", Some("collective"), 1),
            ("collective='bcast'\n", Some("network"), 1),
            ("workload='pop'\nnetwork='chic'\n", None, 2),
        ] {
            let study = Study::parse(&format!("{base}{lines}{sweep}")).unwrap();
            assert_eq!((study.top_lacks, study.sweeps.len()), (lacks, sweeps), "{lines}");
        }
    }

    #[test]
    fn programs_bring_their_processes() {
        let study = Study::parse("name='a'\ntrace='run'\ncopies=[16, 1, 16]").unwrap();
        let sweep = &study.sweeps[0];
        assert_eq!((&sweep.traces[..], &sweep.copies[..]), (&["run".to_string()][..], &[1, 16][..]));
        assert_eq!((sweep.networks[0].as_str(), sweep.processes.len()), (FIT, 0));
        let fault = Study::parse("name='a'\ngoal='a.goal'").unwrap_err().to_string();
        assert!(fault.contains("lacks `network`"), "{fault}");
    }

    #[test]
    fn errors_say_where_and_what_was_meant() {
        let base = "name = 'a'\ncollective = 'barrier'\nnetwork = 'chic'\nprocesses = 4\n";
        for (lines, complaints) in [
            ("replcas = 4", &["line 5, column 1", "unknown key `replcas`", "did you mean `replicas`?"][..]),
            ("until_ci = '2%'", &["line 5", "did you mean `until-ci`?"]),
            ("[[sweep]]\nprocesess = 4", &["line 6, column 1", "did you mean `processes`?"]),
            ("[[sweep]]\ndescription = 'x'", &["line 6", "unknown key `description`"]),
            ("size = ['1', '5 apples']", &["line 5, column 14", "apples"]),
            ("replicas = 0", &["line 5, column 12", "from 1"]),
            ("replicas = [1, 2]", &["line 5", "a whole number of at least 1"]),
            ("seed = -1", &["line 5", "-1"]),
            ("noise = []", &["line 5", "the list is empty"]),
            ("cosched = 'maybe'", &["neither true nor false"]),
            ("workload = 'popp'", &["unknown workload `popp`"]),
            ("only = 'p2p'", &["`only` has no effect", "`workload`"]),
            ("[[sweep]]\nworkload = 'pop'\nsize = 8", &["sweep `1`", "`size` has no effect"]),
            ("copies = 4", &["`copies` has no effect", "`trace`"]),
            ("[[sweep]]\ntrace = 'run'\ncopies = 0", &["line 7", "from 1"]),
            ("[[sweep]]\ngoal = 'a.goal'\nprocesses = 4", &["sweep `1`", "`processes` has no effect"]),
            ("[[sweep]]\nname='x'\n[[sweep]]\nname='x'", &["two sweeps have the name `x`"]),
            ("x = ", &["line 5"]),
        ] {
            let fault = Study::parse(&format!("{base}{lines}")).unwrap_err().to_string();
            assert!(complaints.iter().all(|part| fault.contains(part)), "{lines}\n{fault}");
        }
        for (text, complaint) in [
            ("", "missing field `name`"),
            ("name='a'\nnetwork='chic'\nprocesses=2", "lacks `collective`"),
            ("name='a'\ncollective='barrier'\nprocesses=2", "lacks `network`"),
            ("name='a'\ncollective='barrier'\nnetwork='chic'", "lacks `processes`"),
        ] {
            let fault = Study::parse(text).unwrap_err().to_string();
            assert!(fault.contains(complaint), "{fault}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in ".*", key in "[a-z-]*", value in "[ -~]*") {
            let _ = Study::parse(&text);
            let _ = Study::parse(&format!("name='a'\n{key} = '{value}'"));
            let _ = Study::parse(&format!("name='ä'\n{key} = {value}"));
        }
    }
}
