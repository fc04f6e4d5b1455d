//! Measured latencies for a simulation: files become distributions that messages draw from.

pub mod measured;

use super::latency_file;
use crate::args::drawn_latency::{ClassFile, LatencyOptions};
use crate::exit::{Failure, Outcome};
use serde::Serialize;
use straggler_model::network::{Class, Distributions, Drawn, Meaning, Measured, Table};
use straggler_model::{Network, Time, samples};
use straggler_report::numbers::percent;

/// Distributions laid over a network, and what is said of them.
#[derive(Debug)]
pub struct LoadedLatency {
    pub drawn: Drawn,
    pub answer: LatencyAnswer,
    pub warnings: Vec<String>,
}

/// Which distributions messages draw from.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyAnswer {
    pub files: Vec<FileAnswer>,
    /// `total` or `wire`.
    pub latency_is: &'static str,
    pub classes: Vec<ClassAnswer>,
    /// The smallest o_s + L of any message.
    pub smallest_flight_ps: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct FileAnswer {
    /// `L` or `o`.
    pub parameter: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    pub path: String,
    /// How many were measured.
    pub times: u64,
}

/// A link class: what its messages draw.
#[derive(Clone, Debug, Serialize)]
pub struct ClassAnswer {
    pub name: String,
    /// Otherwise its parameters are those of the network.
    pub measured: bool,
    #[serde(rename = "L")]
    pub latency: TableAnswer,
    #[serde(rename = "o_s")]
    pub send_overhead: TableAnswer,
    #[serde(rename = "o_r")]
    pub recv_overhead: TableAnswer,
    /// The share of measured times below o_s + o_r, for which L is 0.
    pub below_overheads: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct TableAnswer {
    pub smallest_ps: u64,
    pub median_ps: u64,
    pub largest_ps: u64,
    pub different: usize,
}

/// Reads what was typed; nothing if nothing was.
pub fn load(options: &LatencyOptions, network: &Network, seed: u64) -> Outcome<Option<LoadedLatency>> {
    if !options.is_given() {
        return Ok(None);
    }
    let mut files = Vec::new();
    let latencies = read(&options.latency_distribution, "L", network, &mut files)?;
    let overheads = read(&options.overhead_distribution, "o", network, &mut files)?;
    let meaning = options.meaning();
    let drawn = Drawn::new(network, &Distributions { latencies, meaning, overheads }, seed);
    let drawn = drawn.map_err(|fault| Failure::bad_input(format!("{}: {fault}", paths(&files))))?;
    let answer = LatencyAnswer {
        files,
        latency_is: if meaning == Meaning::Wire { "wire" } else { "total" },
        classes: drawn.classes().iter().map(ClassAnswer::of).collect(),
        smallest_flight_ps: drawn.lookahead().ps(),
    };
    let warnings = drawn.classes().iter().filter_map(too_short).collect();
    Ok(Some(LoadedLatency { drawn, answer, warnings }))
}

fn read(
    typed: &[ClassFile],
    parameter: &'static str,
    network: &Network,
    files: &mut Vec<FileAnswer>,
) -> Outcome<Vec<Measured>> {
    let mut measured = Vec::new();
    for ClassFile { class, path } in typed {
        let found = if latency_file::is_measurement(path) {
            let file = latency_file::read(path, None)?;
            measured::classes(path, &file.measurement, network, class.as_deref())?
        } else {
            let times = samples::read(path, None)?;
            let times = times.into_iter().map(|time| (time, 1)).collect();
            vec![Measured { class: class.clone(), times }]
        };
        files.extend(found.iter().map(|one| FileAnswer {
            parameter,
            class: one.class.clone(),
            path: path.display().to_string(),
            times: one.times.iter().map(|(_, count)| count).sum(),
        }));
        measured.extend(found);
    }
    Ok(measured)
}

fn paths(files: &[FileAnswer]) -> String {
    let mut paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    paths.dedup();
    paths.join(", ")
}

/// Says so when measured times are shorter than the overheads they should contain.
fn too_short(class: &Class) -> Option<String> {
    let overheads = class.send_overhead.median() + class.recv_overhead.median();
    (class.below_overheads > 0.0).then(|| {
        format!(
            "{} of the measured latencies of link class {} are below o_s + o_r ({overheads}), and L is 0 for them: check \
             the network's o, or say --latency-is wire if they are L alone",
            percent(class.below_overheads),
            class.name
        )
    })
}

impl ClassAnswer {
    fn of(class: &Class) -> ClassAnswer {
        ClassAnswer {
            name: class.name.clone(),
            measured: class.is_measured,
            latency: TableAnswer::of(&class.latency),
            send_overhead: TableAnswer::of(&class.send_overhead),
            recv_overhead: TableAnswer::of(&class.recv_overhead),
            below_overheads: class.below_overheads,
        }
    }
}

impl TableAnswer {
    fn of(table: &Table) -> TableAnswer {
        TableAnswer {
            smallest_ps: table.smallest().ps(),
            median_ps: table.median().ps(),
            largest_ps: table.largest().ps(),
            different: table.distinct(),
        }
    }
}

impl LatencyAnswer {
    /// "L 1.2 µs to 90 µs, median 1.5 µs, drawn for each message from a.txt".
    pub fn in_words(&self) -> String {
        let several = self.classes.len() > 1;
        let class = |class: &ClassAnswer| {
            let name = if several { format!("{}: ", class.name) } else { String::new() };
            let TableAnswer { smallest_ps, median_ps, largest_ps, .. } = class.latency;
            let (smallest, median, largest) = (Time(smallest_ps), Time(median_ps), Time(largest_ps));
            format!("{name}L {smallest} to {largest}, median {median}")
        };
        let measured = self.classes.iter().filter(|class| class.measured);
        let classes: Vec<String> = measured.map(class).collect();
        format!("{}, drawn for each message from {}", classes.join("; "), paths(&self.files))
    }
}
