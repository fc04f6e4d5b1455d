//! The measured nodes, assembled from the measurements of the processes.

use crate::assess::{CauseId, CauseName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use straggler_model::Time;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::{Core, Detour, Evidence, Phase, SourceId, UNNAMED};

/// A position in [`Cluster::nodes`].
pub type NodeId = usize;

/// The measurement of a node, or of one process's share of its cores.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Part {
    pub host: String,
    pub recording: NoiseRecording,
    /// One for each core of the recording.
    pub places: Vec<CoreClock>,
    /// The shortest detours, left out to save memory, and their time.
    pub left_out: u64,
    pub left_out_time: Time,
}

/// The measurements of all processes of a job.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measurement {
    /// One per node.
    pub parts: Vec<Part>,
    /// The largest error between the clocks of two nodes.
    pub clock_error: Time,
    /// Notes about the measurement.
    pub said: Vec<String>,
}

/// The position of a core's measurement on the common clock of all nodes, and the speed of the core.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CoreClock {
    pub began_ps: u64,
    /// Seconds of the common clock per second of the recording.
    pub rate: f64,
    /// The mean duration of an undisturbed iteration.
    pub iteration_ps: f64,
}

impl Part {
    /// Merges the parts of each host, ordered by host name.
    pub fn join(parts: Vec<Part>) -> Vec<Part> {
        let mut hosts: BTreeMap<String, Part> = BTreeMap::new();
        for part in parts {
            match hosts.entry(part.host.clone()) {
                Entry::Vacant(place) => drop(place.insert(part)),
                Entry::Occupied(mut first) => first.get_mut().add(part),
            }
        }
        hosts.into_values().collect()
    }

    fn add(&mut self, other: Part) {
        let recording = &mut self.recording;
        let ids: Vec<SourceId> = other
            .recording
            .sources
            .iter()
            .map(|source| recording.source_id(&source.name, source.evidence))
            .collect();
        for mut core in other.recording.cores {
            for detour in &mut core.detours {
                detour.source = ids.get(usize::from(detour.source)).copied().unwrap_or(UNNAMED);
            }
            recording.cores.push(core);
        }
        let (mine, theirs) = (&mut recording.attribution, other.recording.attribution);
        mine.lost_events = mine.lost_events.saturating_add(theirs.lost_events);
        mine.covered_ps = mine.covered_ps.saturating_add(theirs.covered_ps);
        mine.hindrance = mine.hindrance.take().or(theirs.hindrance);
        self.places.extend(other.places);
        self.left_out = self.left_out.saturating_add(other.left_out);
        self.left_out_time += other.left_out_time;
    }

    /// Keeps only this many of the longest detours of each core.
    pub fn keep_longest(&mut self, most: usize) {
        for core in self.recording.cores.iter_mut().filter(|core| core.detours.len() > most) {
            let mut order: Vec<usize> = (0..core.detours.len()).collect();
            order.sort_by_key(|&index| std::cmp::Reverse(core.detours[index].duration));
            let left_out = order.split_off(most);
            for &index in &left_out {
                self.left_out += 1;
                self.left_out_time += core.detours[index].duration;
            }
            order.sort_unstable();
            core.detours = order.into_iter().map(|index| core.detours[index]).collect();
        }
    }
}

/// Noise of several nodes, measured at the same time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cluster {
    /// Ordered by name.
    pub nodes: Vec<Node>,
    /// Causes of noise on any node; the first stands for unnamed noise.
    pub causes: Vec<CauseName>,
    pub unit: Unit,
}

/// The unit of comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    #[default]
    Node,
    /// If only one node was measured.
    Core,
}

/// A measured node: its processor and the noise of its cores.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Node {
    pub name: String,
    /// Speeds are compared only between nodes with the same processor.
    pub processor: Option<String>,
    pub cores: Vec<CoreNoise>,
}

/// The noise measured on one core.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CoreNoise {
    pub core: u32,
    /// Time on the common clock since the first core of the cluster began.
    pub began: Time,
    pub length: Time,
    /// Relative to the beginning of this core, sorted by start.
    pub detours: Vec<Detour>,
    /// The mean duration of an undisturbed iteration, including slow phases.
    pub iteration_ps: f64,
}

impl Cluster {
    /// Merges the parts of each host into a node. Detours of the sources in `own` come from the measurement itself
    /// and are left out.
    pub fn of_parts(parts: &[Part], own: &[&str]) -> Cluster {
        let mut causes = NoiseRecording::unnamed();
        let began = parts.iter().flat_map(|part| &part.places).map(|place| place.began_ps);
        let first = Time(began.min().unwrap_or(0));
        let mut nodes: BTreeMap<&str, Node> = BTreeMap::new();
        for part in parts {
            let ids: Vec<Option<CauseId>> = part
                .recording
                .sources
                .iter()
                .map(|source| (!own.contains(&source.name.as_str())).then(|| cause(&mut causes, source)))
                .collect();
            let node = nodes.entry(&part.host).or_insert_with(|| Node {
                name: part.host.clone(),
                processor: part.recording.machine.processor.clone(),
                cores: Vec::new(),
            });
            node.cores.extend(cores(part, &ids, first));
        }
        let mut nodes: Vec<Node> = nodes.into_values().filter(|node| !node.cores.is_empty()).collect();
        nodes.iter_mut().for_each(|node| node.cores.sort_by_key(|core| core.core));
        Cluster { nodes, causes, unit: Unit::Node }
    }

    /// Turns every core into a node.
    pub fn by_core(self) -> Cluster {
        let of_node = |node: Node| {
            let processor = node.processor;
            node.cores.into_iter().map(move |core| Node {
                name: format!("core {}", core.core),
                processor: processor.clone(),
                cores: vec![core],
            })
        };
        Cluster { nodes: self.nodes.into_iter().flat_map(of_node).collect(), unit: Unit::Core, ..self }
    }

    /// The number of cores of all nodes.
    pub fn cores(&self) -> usize {
        self.nodes.iter().map(|node| node.cores.len()).sum()
    }

    pub fn name(&self, node: NodeId) -> &str {
        self.nodes.get(node).map_or("", |node| &node.name)
    }

    pub fn cause(&self, cause: CauseId) -> &str {
        self.causes.get(usize::from(cause)).map_or("", |cause| &cause.name)
    }

    /// Causes with a name; unnamed noise cannot be removed.
    pub fn named_causes(&self) -> impl Iterator<Item = CauseId> + '_ {
        let named = |(_, cause): &(CauseId, &CauseName)| cause.evidence != Evidence::None;
        (0..).zip(&self.causes).filter(named).map(|(id, _)| id)
    }
}

/// The index of a cause in the cluster's table. Sources with the same name are one cause, whatever their evidence. If
/// the table is full, the cause is unnamed.
fn cause(causes: &mut Vec<CauseName>, source: &CauseName) -> CauseId {
    if let Some(known) = causes.iter().position(|cause| cause.name == source.name) {
        return known as CauseId;
    }
    match CauseId::try_from(causes.len()) {
        Ok(id) => {
            causes.push(source.clone());
            id
        }
        Err(_) => UNNAMED,
    }
}

fn cores<'a>(
    part: &'a Part,
    ids: &'a [Option<CauseId>],
    first: Time,
) -> impl Iterator<Item = CoreNoise> + 'a {
    let measured = part.recording.cores.iter().zip(&part.places);
    measured
        .filter(|(core, _)| core.length > Time::ZERO)
        .map(move |(core, place)| of_core(core, place, ids, first))
}

fn of_core(core: &Core, place: &CoreClock, ids: &[Option<CauseId>], first: Time) -> CoreNoise {
    let on_common_clock = |time: Time| Time((time.ps() as f64 * place.rate).round() as u64);
    let id = |detour: &Detour| ids.get(usize::from(detour.source)).copied().unwrap_or(Some(UNNAMED));
    let detour = |detour: &Detour| {
        Some(Detour { start: on_common_clock(detour.start), source: id(detour)?, ..*detour })
    };
    CoreNoise {
        core: core.core,
        began: Time(place.began_ps).since(first),
        // Rounding must not put the last detour beyond the end.
        length: on_common_clock(core.length) + Time(1),
        detours: core.detours.iter().filter_map(detour).collect(),
        iteration_ps: place.iteration_ps * slowed_by(&core.phases, core.length),
    }
}

/// By which factor slow phases of the core lengthen an average iteration.
fn slowed_by(phases: &[Phase], length: Time) -> f64 {
    let lost: f64 =
        phases.iter().map(|phase| phase.duration.ps() as f64 * (1.0 - 1.0 / phase.slowdown.max(1.0))).sum();
    let length = length.ps() as f64;
    length / (length - lost.min(0.999 * length))
}

impl Node {
    /// The share of its cores' time that the node loses, and the share of each cause, largest first.
    pub fn lost(&self) -> (f64, Vec<(CauseId, f64)>) {
        let length: f64 = self.cores.iter().map(|core| core.length.ps() as f64).sum();
        let mut by_cause: BTreeMap<CauseId, f64> = BTreeMap::new();
        for detour in self.cores.iter().flat_map(|core| &core.detours) {
            *by_cause.entry(detour.source).or_default() += detour.duration.ps() as f64 / length.max(1.0);
        }
        let mut list: Vec<(CauseId, f64)> = by_cause.into_iter().collect();
        list.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        (list.iter().map(|(_, share)| share).sum(), list)
    }

    /// The length of the shortest measurement of its cores.
    pub(super) fn length(&self) -> Time {
        self.cores.iter().map(|core| core.length).min().unwrap_or(Time::ZERO)
    }
}
