//! `straggler mpi latency` as typed.

use crate::kernel::typed::count;
use crate::kernel::{Exit, Failure, Outcome, command_line};
use crate::mpi::Process;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::Duration;
use straggler_model::latency::{Histogram, Kind, Labels, Measurement, Series};
use straggler_model::units::Bytes;
use straggler_mpi::latency;
use straggler_mpi::latency::{End, Kernel, Options};
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped};

const EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler mpi latency -o four.lat

  mpirun -n 8 straggler mpi latency --sweep --trials 10000 -o sweep.lat

  mpirun -n 4 straggler mpi latency --kernel allreduce --sizes 8,64KiB \\
      -o allreduce.lat";

/// Measure the latency distributions between all pairs of processes
///
/// Every process cycles through all of its peers, in an order in which no process has to wait for a third, and exchanges
/// messages with each (Settlemyer et al., "Confidence"). Times are kept as histograms, by pair and by class of pairs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Latency {
    /// What to time
    #[arg(long, value_enum, default_value_t)]
    pub kernel: KernelName,
    /// Sizes of the messages, measured one after the other
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "1")]
    pub sizes: Vec<Bytes>,
    /// Passes through all peers in each cycle
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = count::<u64>(1..))]
    pub trials: u64,
    /// Number of cycles; the minimum of each is kept
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<u32>(1..))]
    pub cycles: u32,
    /// Numbers of peers per process, measured one after the other [default: all]
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "sweep")]
    pub peers: Vec<u32>,
    /// Numbers of processes per node that communicate while the others wait, measured one after the other [default: all]
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "sweep")]
    pub per_node: Vec<u32>,
    /// Measure 1, 2, 4, … processes per node, each with 1, 2, 4, … peers, and on 1, 2, 4, … switches if Slurm reports
    /// them
    #[arg(long)]
    pub sweep: bool,
    /// Stop after this many seconds and keep what was measured
    #[arg(long, value_name = "SECONDS", value_parser = count::<u64>(1..))]
    pub time_limit: Option<u64>,
    /// File for the distributions
    #[arg(short, long, value_name = "FILE", default_value = "latency.lat")]
    pub output: PathBuf,
}

#[derive(ValueEnum, Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum KernelName {
    /// MPI_Sendrecv between the two processes of a pair
    #[default]
    Exchange,
    /// One message there and one back
    PingPong,
    /// MPI_Irecv and MPI_Isend between a pair, then MPI_Wait for both
    Nonblocking,
    /// MPI_Barrier
    Barrier,
    /// MPI_Bcast from the first process
    Bcast,
    /// MPI_Allreduce
    Allreduce,
    /// MPI_Alltoall, with --sizes bytes to each process
    Alltoall,
}

impl Latency {
    pub fn options(self) -> Options {
        Options {
            kernel: match self.kernel {
                KernelName::Exchange => Kernel::Exchange,
                KernelName::PingPong => Kernel::PingPong,
                KernelName::Nonblocking => Kernel::Nonblocking,
                KernelName::Barrier => Kernel::Barrier,
                KernelName::Bcast => Kernel::Bcast,
                KernelName::Allreduce => Kernel::Allreduce,
                KernelName::Alltoall => Kernel::Alltoall,
            },
            sizes: self.sizes,
            trials: self.trials,
            cycles: self.cycles,
            peers: self.peers,
            per_node: self.per_node,
            sweep: self.sweep,
            time_limit: self.time_limit.map(Duration::from_secs),
            output: self.output,
            command: command_line(),
        }
    }
}

pub fn run(process: &Process<'_>, typed: Latency) -> anyhow::Result<Outcome<()>> {
    let Process { session, console, .. } = process;
    let options = typed.options();
    let (measured, end) = latency::run(session, &options, &|text| process.note(text))?;
    if !session.is_first() {
        return Ok(Ok(()));
    }
    let path = &options.output;
    let printed = if console.json {
        console.print_json(&json(&measured, path))
    } else {
        console.print(&(text(&measured, path) + "\n"))
    };
    Ok(printed.and(match end {
        End::Regular => Ok(()),
        End::Stopped => Err(Failure::new(
            Exit::Interrupted,
            anyhow::Error::msg(format!("interrupted: {} has the trials so far", path.display())),
        )),
        End::Empty(reason) => Err(Failure::bad_input(reason)),
    }))
}

/// The series over many pairs or all processes; those of single pairs and ranks are only in the file.
fn shown(measurement: &Measurement) -> impl Iterator<Item = &Series> {
    measurement.series.iter().filter(|series| series.labels.pair.is_none() && series.labels.rank.is_none())
}

fn text(measurement: &Measurement, path: &Path) -> String {
    let mut lines = Vec::new();
    lines.extend(sentence(measurement));
    let mut table = Table::with_header([
        "what", "size", "peers", "per node", "switches", "between", "trials", "minimum", "median", "99 %",
        "99.9 %", "longest",
    ]);
    for series in shown(measurement) {
        table.row(row(series));
    }
    lines.push(String::new());
    lines.push(table.text(5).to_string().trim_end().to_owned());
    lines.push(String::new());
    lines.extend(measurement.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(measurement.interruptions.iter().map(|note| format!("warning: {note}")));
    if measurement.series.is_empty() {
        lines.push(format!("Nothing was measured; {} says why.", path.display()));
        return lines.join("\n");
    }
    lines.push(format!(
        "All distributions are in {0}: inspect them with `straggler latency diagnose {0}`.",
        path.display()
    ));
    lines.join("\n")
}

/// Summarises the largest configuration.
fn sentence(measurement: &Measurement) -> Option<String> {
    let main = |series: &&Series| !matches!(series.labels.kind, Kind::OneSided | Kind::PerRank);
    let series = shown(measurement).filter(main).max_by_key(|series| {
        let Labels { peers, processes_per_node, switches, .. } = series.labels;
        (switches.is_none(), processes_per_node, peers, series.trials.count())
    })?;
    let size = series.labels.size.map_or_else(String::new, |size| format!(" of {}", Bytes(size)));
    let what = match series.labels.kind {
        Kind::RoundTrip => format!("A round trip{size}"),
        Kind::AllRanks => format!("{}{size}", series.labels.kernel),
        _ => format!("An exchange{size}"),
    };
    let [median, rare] = [0.5, 0.99].map(|share| quantile(&series.trials, share));
    if median == "–" {
        let (least, most) = (series.trials.min()?, series.trials.max()?);
        let trials = counted(series.trials.count(), "trial", "trials");
        return Some(format!("{what} takes {least} to {most} in {trials}, too few for a median."));
    }
    let rare = if rare == "–" { String::new() } else { format!(", and more than {rare} in 1 % of trials") };
    let processes = measurement.processes.len();
    let hosts: std::collections::BTreeSet<_> =
        measurement.processes.iter().map(|process| &process.host).collect();
    Some(format!(
        "{what} takes {median} in the median{rare} ({}, {}).",
        counted(processes as u64, "process", "processes"),
        counted(hosts.len() as u64, "node", "nodes")
    ))
}

fn row(series: &Series) -> Vec<String> {
    let Labels { kind, size, class, peers, processes_per_node, switches, .. } = &series.labels;
    let number = |number: &Option<u32>| number.map_or_else(|| "–".into(), |number| number.to_string());
    let mut cells = vec![
        kind.to_string(),
        size.map_or_else(|| "–".into(), |size| Bytes(size).to_string()),
        number(peers),
        number(processes_per_node),
        switches.map_or_else(|| "all".into(), |switches| switches.to_string()),
        class.clone().unwrap_or_else(|| "all".into()),
        grouped(series.trials.count()),
        series.trials.min().map_or_else(|| "–".into(), |time| time.to_string()),
    ];
    cells.extend([0.5, 0.99, 0.999].map(|share| quantile(&series.trials, share)));
    cells.push(series.trials.max().map_or_else(|| "–".into(), |time| time.to_string()));
    cells
}

/// A quantile, if there are enough trials for it.
fn quantile(trials: &Histogram, share: f64) -> String {
    let beyond = trials.count() as f64 * (1.0 - share);
    match trials.quantile(share) {
        Some(bounds) if beyond >= 10.0 => match trials.outside(share) {
            Some(outside) => outside.to_string(),
            None => bounds.middle().to_string(),
        },
        _ => "–".into(),
    }
}

fn json(measurement: &Measurement, path: &Path) -> serde_json::Value {
    let series: Vec<_> = shown(measurement)
        .map(|series| {
            // A quantile outside the bins is unknown.
            let known = |share: f64| series.trials.outside(share).is_none();
            let at = |share| {
                series.trials.quantile(share).filter(|_| known(share)).map(|bounds| bounds.middle().ps())
            };
            serde_json::json!({
                "labels": series.labels,
                "count": series.trials.count(),
                "min_ps": series.trials.min().map(|time| time.ps()),
                "median_ps": at(0.5),
                "p99_ps": at(0.99),
                "p999_ps": at(0.999),
                "max_ps": series.trials.max().map(|time| time.ps()),
            })
        })
        .collect();
    serde_json::json!({
        "file": path,
        "processes": measurement.processes.len(),
        "series": series,
        "notes": measurement.notes,
        "interruptions": measurement.interruptions,
        "finished": measurement.is_finished(),
    })
}
