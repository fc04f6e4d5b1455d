//! `straggler whatif` as typed.

use crate::kernel::prelude::*;
use crate::kernel::typed::{RankRanges, TimeRange, noise, text};
use crate::{
    latency::drawn::LatencyOptions, report::ReportOption, trace::file::ReadingOptions, training::JobChanges,
    training::faults::who_help, whatif::plan::Given,
};
use std::str::FromStr;
use straggler_analysis::whatif::calls::{Deletion, Inserted, Insertion, collective_named};
use straggler_analysis::whatif::nonblocking::{Overlap, When, is_send, twin};
use straggler_analysis::whatif::{Shares, messages::Filter, place::Where, regions::Ranks};
use straggler_model::network::PerByte;
use straggler_model::spelling::{hint, hint_of_list, nearest};
use straggler_noise::NoiseSpec;
use straggler_schedule::traced::Decisions;
use straggler_trace::{CommId, Function};

const EXAMPLES: &str = concat!(
    "\
EXAMPLES
  What if all computation took half the time?
  straggler whatif fixtures/traces/halo --scale all=0.5

  What if all ranks computed equally long, on another network?
  straggler whatif fixtures/traces/halo --balance all --network slingshot-11

  Which change would gain most?
  straggler whatif fixtures/traces/halo --search

  How much time does the network cost, and the noise in the trace?
  straggler whatif fixtures/traces/halo --ideal-network --json
  straggler training convert fixtures/training/slow-worker.csv -o job-trace
  straggler whatif job-trace --quieten all

  What would it cost if rank 3 of a training job computed 1.5 times as long from
  step 5 on?
  straggler whatif fixtures/training/last-stage.csv --slow 3:1.5@5

  The same on 16 times as many workers: for one random worker, or for each with
  a probability of 1 %
  straggler whatif fixtures/training/last-stage.csv --copies 16 --slow any:1.5
  straggler whatif fixtures/training/last-stage.csv --copies 16 --slow 1%:1.5

  What if rank 6 were fixed, or lost? If the link between ranks 2 and 6 were
  slow? With noise?
  straggler whatif fixtures/training/slow-worker.csv --fix 6
  straggler whatif fixtures/training/slow-worker.csv --lose 6
  straggler whatif fixtures/training/slow-worker.csv --link 2-6:10
  straggler whatif fixtures/training/slow-worker.csv --draws 20 \\
      --noise periodic:rate=100Hz,duration=1ms

INPUT      What a file holds decides what can be changed. It is never changed
           itself. A training job becomes a trace with
           `straggler training convert`.

TRACES
BASELINE   the trace simulated without changes, on the network fitted from it
           or named by --base-network. Gains are relative to this simulation,
           not to the measured run, so that errors of the model common to both
           cancel.
PLACES     a region that the program marks (straggler_region_enter), or all,
           optionally with ranks and times: solve, solve@0-3, all@7@1s-2s.
DECISIONS  the outcome of a Waitany, a test or a receive from any source may
           change with the timing. With --mode redecide, the default, the
           simulation decides; with --mode recorded, the trace does.

TRAINING JOBS
",
    who_help!(),
    "

Collectives keep their recorded times for any number of copies. To simulate
their algorithms on a network, write the changed job with -o, then:
straggler simulate JOB --copies 256 --network NAME"
);

/// The headings of the options that need a trace or a training job.
pub const TRACE: &str = "Changes to a trace";
pub const JOB: &str = "Changes to a training job";

/// Change a traced run or a training job: what would it gain, and who would wait?
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WhatIf {
    #[command(flatten)]
    pub given: Given,
    /// A trace (its folder, or a file in it), or the recording of a training job, as `training show` reads it
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub trace: TraceWhatIf,
    #[command(flatten)]
    pub job: JobChanges,
}

/// What is done with a trace, and what traces and jobs share: noise and the report.
#[derive(Debug, Args)]
#[command(next_help_heading = TRACE)]
pub struct TraceWhatIf {
    /// The trace
    #[arg(skip)]
    pub trace: PathBuf,
    #[command(flatten)]
    pub changes: Changes,
    /// More hypotheses from a file: one `[[hypothesis]]` table each, with a name and the options above
    #[arg(long, value_name = "FILE.toml")]
    pub file: Option<PathBuf>,
    /// Try standard hypotheses on every region, slow ranks, collectives and the network, and rank them
    #[arg(long)]
    pub search: bool,
    /// Network of the baseline: LogGOPS parameters, a preset or a .toml file [default: fitted to the trace]
    #[arg(long, value_name = "NETWORK", value_parser = text())]
    pub base_network: Option<String>,
    /// What decides the outcome of nondeterministic calls
    #[arg(long, value_enum, default_value_t)]
    pub mode: TypedMode,
    /// Gaps between unsuccessful tests or probes shorter than this are waiting, not computation [default: 1us]
    #[arg(long, value_name = "TIME")]
    pub spin: Option<Time>,
    /// Cost of combining one received byte in a reduction: 0.5ns, or 2GB/s [default: 0]
    #[arg(long, value_name = "TIME")]
    pub reduction_cost: Option<PerByte>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Also show a run of the first hypothesis that `straggler mpi replay` has executed
    #[arg(long, value_name = "DIR")]
    pub replayed: Option<PathBuf>,
    /// Write the simulated run as a trace for `straggler trace`
    #[arg(long, value_name = "DIR")]
    pub save_trace: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOption,
}

/// The changes to the traced run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = TRACE)]
pub struct Changes {
    /// Multiply the time of computation by a factor: solve=0.5, all@3=2
    #[arg(long, value_name = "PLACE=FACTOR")]
    pub scale: Vec<Scaled>,
    /// Balance computation over the ranks: equally, by weights, or with =steps equally between any two
    /// synchronisations: smooth, solve=1,1,2,2, all=steps
    #[arg(long, value_name = "PLACE[=WEIGHTS]")]
    pub balance: Vec<Balanced>,
    /// Remove the noise in the trace: repeated computation takes the time of its fastest tenth
    #[arg(long, value_name = "PLACE")]
    pub quieten: Vec<TypedPlace>,
    /// Remove messages: from=0-3,to=7,tag=1,comm=0,bytes=0-64
    #[arg(long, value_name = "FILTER")]
    pub remove_messages: Vec<Removed>,
    /// Make blocking calls nonblocking; receives and collectives start this much earlier, or with =later
    /// complete before the next call of another function: allreduce=50us, recv=later, send
    #[arg(long, value_name = "FUNCTION[=TIME]")]
    pub nonblocking: Vec<Nonblocking>,
    /// Send this many messages of a route (same ranks, tag and communicator) as one: tag=1:4, all:2
    #[arg(long, value_name = "FILTER:COUNT")]
    pub merge_messages: Vec<Cut>,
    /// Split each message into this many parts: bytes=1MiB-1GiB:8
    #[arg(long, value_name = "FILTER:COUNT")]
    pub split_messages: Vec<Cut>,
    /// Remove blocking collectives: barrier, bcast@1s-2s; in a region: barrier@solve
    #[arg(long, value_name = "FUNCTION[@PLACE]")]
    pub delete: Vec<Deleted>,
    /// Insert a barrier or computation at each entry of a region: barrier@solve, 5ms@solve, 5ms@solve@0-3
    #[arg(long, value_name = "WHAT@REGION")]
    pub insert: Vec<Besides>,
    /// Use another network: LogGOPS parameters, a preset or a .toml file
    #[arg(long, value_name = "NETWORK", conflicts_with = "ideal_network", value_parser = text())]
    pub network: Option<String>,
    /// Use a network on which messages take no time
    #[arg(long)]
    pub ideal_network: bool,
    #[command(flatten)]
    pub latency: LatencyOptions,
    /// Add noise: a recording of `straggler noise measure`, or a noise spec as in `straggler simulate`. It delays all but
    /// the transfers of a training job
    #[arg(long, value_name = "FILE|SPEC", value_parser = noise(), help_heading = "Changes to either")]
    pub noise: Vec<NoiseSpec>,
    /// Table that selects the algorithms of collectives: paper, mpich, open-mpi or a file
    #[arg(long, value_name = "PRESET|FILE.toml", value_parser = text())]
    pub algorithms: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TypedMode {
    /// The simulation
    #[default]
    Redecide,
    /// The trace
    Recorded,
}

impl TypedMode {
    pub fn decisions(self) -> Decisions {
        match self {
            TypedMode::Redecide => Decisions::Redecide,
            TypedMode::Recorded => Decisions::AsRecorded,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            TypedMode::Redecide => "redecide",
            TypedMode::Recorded => "recorded",
        }
    }
}

/// `NAME`, `NAME@0-3`, `all@7@1s-2s`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedPlace(pub Where);

impl FromStr for TypedPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<TypedPlace, String> {
        let mut parts = text.split('@');
        let name = parts.next().unwrap_or_default().trim();
        if name.is_empty() {
            return Err("name a region, or all".into());
        }
        let mut place = Where { region: (name != "all").then(|| name.to_owned()), ..Where::default() };
        for part in parts {
            if let Ok(ranks) = part.parse::<RankRanges>() {
                place.ranks = Some(ranks_of(&ranks)?);
            } else {
                let range: TimeRange = part.parse().map_err(|_| {
                    format!("`{part}` is neither a list of ranks like 0-3 nor a time range like 1s-2s")
                })?;
                place.during = Some((range.from, range.to));
            }
        }
        Ok(TypedPlace(place))
    }
}

/// More ranks than any trace has.
const MOST_RANKS: u32 = 1 << 24;

fn ranks_of(ranges: &RankRanges) -> Result<Ranks, String> {
    match ranges.0.iter().find(|(_, last)| *last >= MOST_RANKS) {
        Some((_, last)) => Err(format!("rank {last} is too large for a trace")),
        None => Ok(ranges.0.iter().flat_map(|&(first, last)| first..=last).collect()),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    pub place: Where,
    pub factor: f64,
}

impl FromStr for Scaled {
    type Err = String;

    fn from_str(text: &str) -> Result<Scaled, String> {
        let (place, factor) =
            text.rsplit_once('=').ok_or("write PLACE=FACTOR, for example solve=0.5 or all=2")?;
        let value: f64 = factor.trim().parse().map_err(|_| format!("`{factor}` is not a number"))?;
        if !(0.0..=1e6).contains(&value) {
            return Err(format!("`{factor}` is not between 0 and a million"));
        }
        Ok(Scaled { place: place.parse::<TypedPlace>()?.0, factor: value })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Balanced {
    pub place: Where,
    pub shares: Shares,
}

impl FromStr for Balanced {
    type Err = String;

    fn from_str(text: &str) -> Result<Balanced, String> {
        let (place, shares) = match text.rsplit_once('=') {
            None => (text, Shares::Equal),
            Some((place, "steps")) => (place, Shares::EqualInEachStep),
            Some((place, weights)) => (place, Shares::Weights(typed_weights(weights)?)),
        };
        Ok(Balanced { place: place.parse::<TypedPlace>()?.0, shares })
    }
}

fn typed_weights(weights: &str) -> Result<Vec<f64>, String> {
    let weight = |text: &str| match text.trim().parse::<f64>() {
        Ok(weight) if weight >= 0.0 && weight.is_finite() => Ok(weight),
        _ => {
            Err(format!("`{text}` is not a weight: give one number per rank, for example 1,1,2,2, or steps"))
        }
    };
    weights.split(',').map(weight).collect()
}

/// `from=0-3,to=7,tag=1`. Lists of ranks are joined with +, because a comma separates keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Removed(pub Filter);

impl FromStr for Removed {
    type Err = String;

    fn from_str(text: &str) -> Result<Removed, String> {
        let mut filter = Filter::default();
        if text == "all" {
            return Ok(Removed(filter));
        }
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                format!("`{part}` is not KEY=VALUE; write from=0-3,to=7,tag=1,comm=0,bytes=0-64, or all")
            })?;
            let ranks = || value.replace('+', ",").parse::<RankRanges>().and_then(|ranges| ranks_of(&ranges));
            let number = || value.trim().parse::<u32>().map_err(|_| format!("`{value}` is not a number"));
            match key.trim() {
                "from" => filter.from = Some(ranks()?),
                "to" => filter.to = Some(ranks()?),
                "tag" => {
                    filter.tag =
                        Some(i32::try_from(number()?).map_err(|_| format!("`{value}` is not a tag"))?)
                }
                "comm" => filter.communicator = Some(CommId(number()?)),
                "bytes" => filter.bytes = Some(sizes(value)?),
                other => {
                    let meant = hint_of_list(other, "from, to, tag, comm, bytes");
                    return Err(format!("unknown key `{other}`: use from, to, tag, comm or bytes{meant}"));
                }
            }
        }
        Ok(Removed(filter))
    }
}

/// `64`, `0-64`, `1KiB-1MiB`.
fn sizes(text: &str) -> Result<(u64, u64), String> {
    let size = |text: &str| straggler_model::units::bytes(text.trim()).map_err(|fault| fault.to_string());
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let (least, most) = (size(least)?, size(most)?);
    if least <= most { Ok((least, most)) } else { Err(format!("{least} is more than {most}")) }
}

/// `FILTER:COUNT`.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    pub filter: Filter,
    pub count: u32,
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Cut, String> {
        let (filter, count) =
            text.rsplit_once(':').ok_or("write FILTER:COUNT, for example tag=1:4 or all:2")?;
        match count.trim().parse() {
            Ok(count @ 2..=1024) => Ok(Cut { filter: filter.parse::<Removed>()?.0, count }),
            _ => Err(format!("`{count}` is not a number from 2 to 1024")),
        }
    }
}

/// `barrier`, `barrier@solve`, `bcast@1s-2s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Deleted(pub Deletion);

impl FromStr for Deleted {
    type Err = String;

    fn from_str(text: &str) -> Result<Deleted, String> {
        let (name, place) = text.split_once('@').unwrap_or((text, "all"));
        let function = collective_named(name).map_err(|nearest| {
            format!(
                "`{name}` is not a blocking collective; write barrier, allreduce, …; to remove messages, use --remove-messages{}",
                hint(nearest.as_deref())
            )
        })?;
        let place = match place.parse::<TimeRange>() {
            Ok(range) => Where { during: Some((range.from, range.to)), ..Where::default() },
            Err(_) => place.parse::<TypedPlace>()?.0,
        };
        if place.ranks.is_some() {
            return Err(
                "a collective must be deleted on all ranks: the remaining ones would wait forever".into()
            );
        }
        Ok(Deleted(Deletion { function, place }))
    }
}

/// `barrier@solve`, `5ms@solve@0-3`.
#[derive(Clone, Debug, PartialEq)]
pub struct Besides(pub Insertion);

impl FromStr for Besides {
    type Err = String;

    fn from_str(text: &str) -> Result<Besides, String> {
        let (what, place) =
            text.split_once('@').ok_or("write WHAT@REGION, for example barrier@solve or 5ms@solve")?;
        let what = match what.trim() {
            "barrier" => Inserted::Barrier,
            time => Inserted::Computation(time.parse().map_err(|_| {
                let hint = hint(nearest(time, ["barrier"]));
                format!("`{time}` is neither `barrier` nor a time like 5ms{hint}")
            })?),
        };
        let TypedPlace(Where { region, ranks, during }) = place.parse()?;
        let region = region.ok_or("name a region: `all` has no entries to insert at")?;
        if during.is_some() || what == Inserted::Barrier && ranks.is_some() {
            return Err(
                "name only a region: a barrier is for all ranks, and nothing is inserted by time".into()
            );
        }
        Ok(Besides(Insertion { what, region, ranks }))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Nonblocking(pub Overlap);

/// In place of a time: calls are completed later.
const LATER: &str = "later";

impl FromStr for Nonblocking {
    type Err = String;

    fn from_str(text: &str) -> Result<Nonblocking, String> {
        let (name, when) = match text.split_once('=') {
            Some((name, time)) if time.trim() == LATER => (name, When::CompletedLater),
            Some((name, time)) => {
                let earlier =
                    time.trim().parse::<Time>().map_err(|fault| format!("{fault}, or `{LATER}`"))?;
                (name, When::Earlier(Some(earlier)))
            }
            None => (text, When::Earlier(None)),
        };
        let wanted = name.trim().trim_start_matches("MPI_").to_lowercase();
        let own =
            |function: Function| function.name().strip_prefix("MPI_").unwrap_or_default().to_lowercase();
        let known: Vec<(String, Function)> = Function::ALL
            .iter()
            .filter(|function| twin(**function).is_some())
            .map(|&function| (own(function), function))
            .collect();
        let found = known.iter().find(|(own, _)| *own == wanted).map(|&(_, function)| function);
        let function = found.ok_or_else(|| {
            let hint = hint(nearest(&wanted, known.iter().map(|(own, _)| own.as_str())));
            format!("`{name}` is not a blocking MPI function with a nonblocking counterpart; write send, recv, allreduce, …{hint}")
        })?;
        if when != When::Earlier(None) && is_send(function) {
            return Err(format!(
                "a send takes no time: it starts at the same point and completes later; write --nonblocking {name}"
            ));
        }
        Ok(Nonblocking(Overlap { function, when }))
    }
}
