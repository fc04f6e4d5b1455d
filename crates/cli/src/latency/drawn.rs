//! Random latencies of messages, as typed.

use crate::kernel::prelude::*;
use crate::latency::compare::{Compare, gates};
use crate::latency::{Merge, diagnose::Diagnose, file};
use straggler_analysis::latency::messages::{self, ClassFile, SizeOption};
use straggler_model::network::{Class, Distributions, Drawn, Meaning, Measured, Table};
use straggler_model::{Network, samples};

/// Measured times instead of the network's L and o.
#[derive(Clone, Debug, Default, Args)]
pub struct LatencyOptions {
    /// Draw the latency of each message from measured times: a .lat file, or text with one time per line. CLASS=FILE applies
    /// to one link class of the network (a level, or base)
    #[arg(long, value_name = "[CLASS=]FILE")]
    pub latency_distribution: Vec<ClassFile>,
    /// What the times include: total, from the start of the send to the end of the receive (o_s + L + o_r), or wire, L alone
    /// [default: total]
    #[arg(long, value_enum, value_name = "total|wire", requires = "latency_distribution")]
    pub latency_is: Option<TypedMeaning>,
    /// Message size to take from a .lat file [default: the smallest]
    #[arg(long, value_name = "BYTES", requires = "latency_distribution")]
    pub latency_size: Option<Bytes>,
    /// Also draw o_s and o_r of each message from measured times
    #[arg(long, value_name = "[CLASS=]FILE", requires = "latency_distribution")]
    pub overhead_distribution: Vec<ClassFile>,
}

impl LatencyOptions {
    pub fn is_given(&self) -> bool {
        !self.latency_distribution.is_empty()
    }

    pub fn meaning(&self) -> Meaning {
        match self.latency_is {
            Some(TypedMeaning::Wire) => Meaning::Wire,
            Some(TypedMeaning::Total) | None => Meaning::Total,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TypedMeaning {
    Total,
    Wire,
}

impl Check for Compare {
    fn check(&self) -> Outcome<()> {
        self.report.report.iter().try_for_each(|path| refuse_missing_folder(path))?;
        gates(&self.limits)?;
        if self.files.len() < 2 {
            return Err(Failure::usage(
                "compare needs at least two files; `straggler latency diagnose FILE` looks at one alone",
            ));
        }
        if self.series.len() > 1 && self.series.len() != self.files.len() {
            return Err(Failure::usage(format!(
                "--series is given {} times for {} files: give it once for all of them, or once for each",
                self.series.len(),
                self.files.len()
            )));
        }
        Ok(())
    }
}

impl Check for Diagnose {
    fn check(&self) -> Outcome<()> {
        self.report.report.iter().try_for_each(|path| refuse_missing_folder(path))
    }
}

impl Check for Merge {
    fn check(&self) -> Outcome<()> {
        refuse_missing_folder(&self.output)?;
        refuse_same_files(self)
    }
}

/// Rejects a file given twice, whose trials would count twice, and an output that is one of the inputs.
fn refuse_same_files(typed: &Merge) -> Outcome<()> {
    let place = |path: &Path| path.canonicalize().ok();
    for (number, path) in typed.files.iter().enumerate() {
        let is_this = |other: &Path| place(other).is_some() && place(other) == place(path);
        if typed.files[..number].iter().any(|other| is_this(other)) {
            return Err(Failure::usage(format!(
                "{}: it is given twice, and its trials would count twice: give it once",
                path.display()
            )));
        }
        if is_this(&typed.output) {
            return Err(Failure::usage(format!(
                "-o {}: this is one of the files that are merged, and it would be written over: choose another name",
                typed.output.display()
            )));
        }
    }
    Ok(())
}

/// Latency distributions for a network, and their description.
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
    /// Number of measured times.
    pub times: u64,
    /// Message size; None if the file does not record it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Whether the times are synthetic, not measured.
    pub synthetic: bool,
}

/// A link class, and the distributions that its messages draw from.
#[derive(Clone, Debug, Serialize)]
pub struct ClassAnswer {
    pub name: String,
    /// Whether measured times were given for it; else it has the parameters of the network.
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

/// Loads the distributions; None if no option asks for them. `with_noise`: noise is simulated too.
pub fn load(
    options: &LatencyOptions,
    network: &Network,
    seed: u64,
    with_noise: bool,
) -> Outcome<Option<LoadedLatency>> {
    if !options.is_given() {
        return Ok(None);
    }
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    let size = options.latency_size.map(|Bytes(size)| size);
    let mut fetch = |typed: &[ClassFile], parameter| {
        typed.iter().try_fold(Vec::new(), |mut all, file| {
            let read = Read::new(file, parameter, network, size)?;
            all.extend(read.measured);
            files.extend(read.files);
            warnings.extend(read.warnings);
            Outcome::Ok(all)
        })
    };
    let latencies = fetch(&options.latency_distribution, "L")?;
    let overheads = fetch(&options.overhead_distribution, "o")?;
    let meaning = options.meaning();
    let drawn = Drawn::new(network, &Distributions { latencies, meaning, overheads }, seed);
    let drawn = drawn.map_err(|fault| Failure::bad_input(format!("{}: {fault}", paths(&files))))?;
    let answer = LatencyAnswer {
        files,
        latency_is: if meaning == Meaning::Wire { "wire" } else { "total" },
        classes: drawn.classes().iter().map(ClassAnswer::new).collect(),
        smallest_flight_ps: drawn.lookahead().ps(),
    };
    let too_short = |class: &Class| messages::too_short(class, SizeOption::LatencySize);
    warnings.extend(drawn.classes().iter().filter_map(too_short));
    warnings.extend(with_noise.then(|| {
        "noise counts twice: it made some of the measured latencies long, and --noise adds it again; leave out one of \
         them, or measure the latencies on processes without noise"
            .into()
    }));
    Ok(Some(LoadedLatency { drawn, answer, warnings }))
}

/// The contents of one file.
struct Read {
    measured: Vec<Measured>,
    files: Vec<FileAnswer>,
    warnings: Vec<String>,
}

impl Read {
    fn new(
        ClassFile { class, path }: &ClassFile,
        parameter: &'static str,
        network: &Network,
        size: Option<u64>,
    ) -> Outcome<Read> {
        let (measured, bytes, synthetic, warnings) = if file::is_measurement(path) {
            let file = file::read(path, None)?;
            let fault = |fault| Failure::bad_input(format!("{}: {fault}", file.name));
            let option = SizeOption::LatencySize;
            let found = messages::classes(&file.measurement, network, class.as_deref(), size, option);
            let found = found.map_err(fault)?;
            let bytes = messages::taken(&file.measurement, size, option).map_err(fault)?;
            let notes =
                messages::notes(&file.measurement, network, class.as_deref(), size, option).map_err(fault)?;
            let mut warnings = file.warnings;
            warnings.extend(notes.iter().map(|note| format!("{}: {note}", file.name)));
            (found, bytes, file.measurement.is_synthetic(), warnings)
        } else {
            let times = samples::read(path, None).map_err(|fault| file::not_times(path, fault))?;
            let times = times.into_iter().map(|time| (time, 1)).collect();
            (vec![Measured { class: class.clone(), times }], None, false, Vec::new())
        };
        let answer = |one: &Measured| FileAnswer {
            parameter,
            class: one.class.clone(),
            path: path.display().to_string(),
            times: one.times.iter().map(|(_, count)| count).sum(),
            bytes,
            synthetic,
        };
        Ok(Read { files: measured.iter().map(answer).collect(), measured, warnings })
    }
}

fn paths(files: &[FileAnswer]) -> String {
    let mut paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    paths.dedup();
    paths.join(", ")
}

impl ClassAnswer {
    fn new(class: &Class) -> ClassAnswer {
        ClassAnswer {
            name: class.name.clone(),
            measured: class.is_measured,
            latency: TableAnswer::new(&class.latency),
            send_overhead: TableAnswer::new(&class.send_overhead),
            recv_overhead: TableAnswer::new(&class.recv_overhead),
            below_overheads: class.below_overheads,
        }
    }
}

impl TableAnswer {
    fn new(table: &Table) -> TableAnswer {
        TableAnswer {
            smallest_ps: table.smallest().ps(),
            median_ps: table.median().ps(),
            largest_ps: table.largest().ps(),
            different: table.distinct(),
        }
    }
}

impl LatencyAnswer {
    /// Whether any of the times are synthetic.
    pub fn is_synthetic(&self) -> bool {
        self.files.iter().any(|file| file.synthetic)
    }

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
        let mut sizes: Vec<u64> = self.files.iter().filter_map(|file| file.bytes).collect();
        sizes.dedup();
        let sizes = match sizes[..] {
            [size] => format!(" (messages of {})", Bytes(size)),
            _ => String::new(),
        };
        let synthetic = if self.is_synthetic() { ", which is synthetic" } else { "" };
        format!(
            "{}, drawn for each message from {}{sizes}{synthetic}",
            classes.join("; "),
            paths(&self.files)
        )
    }
}
