//! Hypotheses of `straggler whatif`, from the command line and from files, and options that do not fit its input.

use crate::kernel::prelude::*;
use crate::latency::drawn::{LatencyOptions, TypedMeaning};
use crate::training::TableFormat;
use crate::whatif::args::{
    Balanced, Besides, Changes, Cut, Deleted, JOB, Nonblocking, Removed, Scaled, TRACE, TraceWhatIf,
    TypedPlace, WhatIf,
};
use clap::{ArgMatches, Command, Error, FromArgMatches, parser::ValueSource};
use std::str::FromStr;
use straggler_analysis::{whatif::Difference, whatif::search::Candidate};
use straggler_model::toml_file;
use straggler_noise::NoiseSpec;

impl Check for WhatIf {
    fn check(&self) -> Outcome<()> {
        self.trace.check()?;
        self.job.output.iter().try_for_each(|path| refuse_unwritable(path))?;
        self.job.output.iter().try_for_each(|path| TableFormat::from_path(path).map(drop))
    }
}

impl Check for TraceWhatIf {
    fn check(&self) -> Outcome<()> {
        self.save_trace.iter().try_for_each(|path| refuse_unwritable(path))?;
        self.report.report.iter().try_for_each(|path| refuse_unwritable(path))
    }
}

/// One hypothesis, before any file is read.
#[derive(Clone, Debug)]
pub struct HypothesisPlan {
    /// Its name in the file of hypotheses.
    pub name: Option<String>,
    /// That file.
    pub file: Option<PathBuf>,
    pub differences: Vec<Difference>,
    /// Whether a search tries it although nothing says that it can be done.
    pub is_hypothetical: bool,
    pub network: Option<String>,
    pub ideal_network: bool,
    pub latency: LatencyOptions,
    pub noise: Vec<NoiseSpec>,
    pub algorithms: Option<String>,
}

/// A file of hypotheses.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    hypothesis: Vec<Written>,
}

/// A hypothesis in a file, with the keys of the command line.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Written {
    name: Option<String>,
    scale: Vec<String>,
    balance: Vec<String>,
    quieten: Vec<String>,
    remove_messages: Vec<String>,
    merge_messages: Vec<String>,
    split_messages: Vec<String>,
    nonblocking: Vec<String>,
    delete: Vec<String>,
    insert: Vec<String>,
    network: Option<String>,
    ideal_network: bool,
    latency_distribution: Vec<String>,
    latency_is: Option<String>,
    latency_size: Option<String>,
    overhead_distribution: Vec<String>,
    noise: Vec<String>,
    algorithms: Option<String>,
}

impl HypothesisPlan {
    /// The hypothesis of the command line, if it changes anything.
    pub fn of_typed(changes: &Changes) -> Option<HypothesisPlan> {
        let plan = HypothesisPlan {
            name: None,
            file: None,
            differences: differences(changes),
            is_hypothetical: false,
            network: changes.network.clone(),
            ideal_network: changes.ideal_network,
            latency: changes.latency.clone(),
            noise: changes.noise.clone(),
            algorithms: changes.algorithms.clone(),
        };
        (!plan.is_empty()).then_some(plan)
    }

    /// A hypothesis that a search tries.
    pub fn of_candidate(candidate: Candidate) -> HypothesisPlan {
        let Candidate { differences, is_hypothetical, ideal_network } = candidate;
        HypothesisPlan {
            name: None,
            file: None,
            differences,
            is_hypothetical,
            network: None,
            ideal_network,
            latency: LatencyOptions::default(),
            noise: Vec::new(),
            algorithms: None,
        }
    }

    fn is_empty(&self) -> bool {
        let others = self.network.is_none() && self.algorithms.is_none() && !self.ideal_network;
        self.differences.is_empty() && self.noise.is_empty() && !self.latency.is_given() && others
    }

    /// Whether it changes nothing but the network, to an ideal one.
    pub fn is_limit(&self) -> bool {
        let only = HypothesisPlan { ideal_network: false, name: None, ..self.clone() };
        self.ideal_network && only.is_empty()
    }

    /// The changes in words.
    pub fn text(&self) -> String {
        if let Some(name) = self.name.as_ref().filter(|name| !name.is_empty()) {
            return name.clone();
        }
        let mut parts: Vec<String> = self.differences.iter().map(Difference::text).collect();
        parts.extend(self.network.as_ref().map(|network| format!("network {network}")));
        parts.extend(self.ideal_network.then(|| "an ideal network".to_owned()));
        let latencies = self.latency.latency_distribution.iter();
        parts.extend(latencies.map(|file| format!("latencies of {}", file.path.display())));
        let overheads = self.latency.overhead_distribution.iter();
        parts.extend(overheads.map(|file| format!("overheads of {}", file.path.display())));
        parts.extend(
            self.noise.iter().flat_map(|noise| &noise.sources).map(|source| format!("noise {}", source.name)),
        );
        parts.extend(self.algorithms.as_ref().map(|table| format!("algorithms of {table}")));
        match parts.is_empty() {
            true => "nothing changed".into(),
            false if self.is_hypothetical => format!("{} (hypothetical)", parts.join(", ")),
            false => parts.join(", "),
        }
    }

    /// Adds the file and the name of the hypothesis to an error about it.
    pub fn named(&self, failure: Failure) -> Failure {
        let Some(file) = self.file.as_ref().filter(|_| failure.exit != Exit::Interrupted) else {
            return failure;
        };
        let (text, name) = (format!("{:#}", failure.error), self.text());
        let text = if text.starts_with(&name) { text } else { format!("{name}: {text}") };
        Failure::new(failure.exit, anyhow::Error::msg(format!("{}: {text}", file.display())))
    }

    /// The hypotheses of a file.
    pub fn read(path: &Path) -> Outcome<Vec<HypothesisPlan>> {
        let at = |fault: String| Failure::bad_input(format!("{}: {fault}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|fault| at(fault.to_string()))?;
        let file: File = toml_file::read(&text).map_err(|fault| at(fault.to_string()))?;
        if file.hypothesis.is_empty() {
            return Err(at("the file has no hypothesis: start each with a line [[hypothesis]]".into()));
        }
        let one = |(number, written): (usize, Written)| {
            let name = written.name.clone().unwrap_or_else(|| format!("hypothesis {}", number + 1));
            let plan = written.parse().map_err(|fault| at(format!("{name}: {fault}")))?;
            if plan.is_empty() {
                return Err(at(format!("{name} changes nothing: give it scale, balance, network, …")));
            }
            Ok(HypothesisPlan { name: Some(name), file: Some(path.into()), ..plan })
        };
        file.hypothesis.into_iter().enumerate().map(one).collect()
    }
}

impl Written {
    fn parse(self) -> Result<HypothesisPlan, String> {
        let changes = Changes {
            scale: parsed(&self.scale, "scale")?,
            balance: parsed(&self.balance, "balance")?,
            quieten: parsed(&self.quieten, "quieten")?,
            remove_messages: parsed(&self.remove_messages, "remove-messages")?,
            merge_messages: parsed(&self.merge_messages, "merge-messages")?,
            split_messages: parsed(&self.split_messages, "split-messages")?,
            nonblocking: parsed(&self.nonblocking, "nonblocking")?,
            delete: parsed(&self.delete, "delete")?,
            insert: parsed(&self.insert, "insert")?,
            ..Changes::default()
        };
        let noise = |text: &String| NoiseSpec::of_typed(text).map_err(|fault| format!("noise: {fault}"));
        if self.network.is_some() && self.ideal_network {
            return Err("network and ideal-network exclude each other".into());
        }
        let latency = LatencyOptions {
            latency_distribution: parsed(&self.latency_distribution, "latency-distribution")?,
            latency_is: meaning(self.latency_is.as_deref())?,
            latency_size: size(self.latency_size.as_deref())?,
            overhead_distribution: parsed(&self.overhead_distribution, "overhead-distribution")?,
        };
        let without = [
            ("latency-is", latency.latency_is.is_some()),
            ("latency-size", latency.latency_size.is_some()),
            ("overhead-distribution", !latency.overhead_distribution.is_empty()),
        ];
        if let Some((key, _)) = without.iter().find(|(_, given)| *given && !latency.is_given()) {
            return Err(format!("{key} needs latency-distribution as well"));
        }
        Ok(HypothesisPlan {
            name: self.name,
            file: None,
            differences: differences(&changes),
            is_hypothetical: false,
            network: self.network,
            ideal_network: self.ideal_network,
            latency,
            noise: self.noise.iter().map(noise).collect::<Result<_, _>>()?,
            algorithms: self.algorithms,
        })
    }
}

fn meaning(text: Option<&str>) -> Result<Option<TypedMeaning>, String> {
    match text {
        None => Ok(None),
        Some("total") => Ok(Some(TypedMeaning::Total)),
        Some("wire") => Ok(Some(TypedMeaning::Wire)),
        Some(other) => Err(format!("latency-is = {other:?}: write \"total\" or \"wire\"")),
    }
}

fn size(text: Option<&str>) -> Result<Option<Bytes>, String> {
    let parsed = text.map(|text| text.parse().map_err(|fault| format!("latency-size = {text:?}: {fault}")));
    parsed.transpose()
}

fn parsed<T: FromStr<Err = String>>(texts: &[String], key: &str) -> Result<Vec<T>, String> {
    texts.iter().map(|text| text.parse().map_err(|fault| format!("{key} = {text:?}: {fault}"))).collect()
}

/// The changes in the order of their application: noise is removed from the unchanged trace, and calls
/// change last.
fn differences(changes: &Changes) -> Vec<Difference> {
    let mut all = Vec::new();
    for TypedPlace(place) in changes.quieten.clone() {
        all.push(Difference::Quieten { place });
    }
    for Scaled { place, factor } in changes.scale.clone() {
        all.push(Difference::Scale { place, factor });
    }
    for Balanced { place, shares } in changes.balance.clone() {
        all.push(Difference::Balance { place, shares });
    }
    all.extend(changes.delete.iter().map(|Deleted(deletion)| Difference::Delete(deletion.clone())));
    all.extend(changes.insert.iter().map(|Besides(insertion)| Difference::Insert(insertion.clone())));
    all.extend(changes.remove_messages.iter().map(|Removed(filter)| Difference::Remove(filter.clone())));
    for Cut { filter, count } in changes.merge_messages.clone() {
        all.push(Difference::Merge { filter, count });
    }
    for Cut { filter, count } in changes.split_messages.clone() {
        all.push(Difference::Split { filter, count });
    }
    all.extend(changes.nonblocking.iter().map(|Nonblocking(overlap)| Difference::Overlap(overlap.clone())));
    all
}

/// The names of the options that were typed. Must be the first field: later ones take their values away.
#[derive(Clone, Debug, Default)]
pub struct Given(Vec<String>);

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given, Error> {
        let ids = matches.ids().map(|id| id.as_str());
        let given = ids.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
        Ok(Given(given.map(String::from).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl Given {
    /// The first option that was typed under a heading of the help.
    fn under(&self, heading: &str) -> Option<String> {
        let all = WhatIf::augment_args(Command::new(""));
        let mut under = all.get_arguments().filter(|one| one.get_help_heading() == Some(heading));
        let option = under.find(|one| self.0.iter().any(|given| one.get_id() == given))?;
        option.get_long().map(|name| format!("--{name}"))
    }

    /// Refuses options for a training job, because the input is none.
    pub fn refuse_for_trace(&self, path: &Path) -> Outcome<()> {
        self.under(JOB).map_or(Ok(()), |option| {
            Err(Failure::usage(format!(
                "{option} changes a training job, and {} is none: change a trace with --scale, --balance, --network \
                 and so on, or try what helps with --search",
                path.display()
            )))
        })
    }

    /// Refuses options for a trace, because the input is a training job.
    pub fn refuse_for_job(&self, path: &Path) -> Outcome<()> {
        self.under(TRACE).map_or(Ok(()), |option| {
            Err(Failure::usage(format!(
                "{option} changes a trace, and {0} is a training job: change it with --slow, --link, --stall, --lose, \
                 --fix, --noise or --copies, or make it a trace with `straggler training convert {0} -o DIR`",
                path.display()
            )))
        })
    }
}
