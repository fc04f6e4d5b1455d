//! `straggler whatif` as typed.

use super::drawn_latency::LatencyOptions;
use super::predict::ReadingOptions;
use super::ranges::{RankRanges, TimeRange};
use super::report::ReportOption;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;
use straggler_analysis::whatif::calls::{Deletion, Inserted, Insertion, collective_named};
use straggler_analysis::whatif::messages::Filter;
use straggler_analysis::whatif::nonblocking::{Overlap, is_send, twin};
use straggler_analysis::whatif::place::Where;
use straggler_analysis::whatif::regions::Ranks;
use straggler_model::Time;
use straggler_model::network::PerByte;
use straggler_model::noise::NoiseSpec;
use straggler_schedule::traced::Decisions;
use straggler_trace::Function;

const EXAMPLES: &str = "\
EXAMPLES
  What if all computation took half the time?
  straggler whatif fixtures/traces/halo --scale all=0.5

  What if every rank computed as much, on another network?
  straggler whatif fixtures/traces/halo --balance all --network slingshot-11

  What would gain most?
  straggler whatif fixtures/traces/halo --search

  What does the network cost, and what the noise that shows in the trace?
  straggler whatif fixtures/traces/halo --ideal-network --json
  straggler whatif fixtures/traces/halo --quieten all

THE TRACE is what `straggler trace -o DIR -- mpirun …` recorded, or any format that `straggler predict` reads. It
stays as it is.
THE BASELINE is the identity simulation: the trace replayed as it is, on the network that is fitted from it, or
that --base-network names. Gains are against that, not against the measured run, so that what the model gets
wrong in both does not count.
PLACES  Computation is named by the region that the program marks (straggler_region_enter), or all; ranks and
times may follow: solve, solve@0-3, all@7@1s-2s.
DECISIONS  A Waitany, a test or a receive from anyone may have another outcome when times change. With
--mode redecide, which is the default, the simulation decides; with --mode recorded, the trace does.";

/// What a traced run would gain from a change, and who would wait then
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WhatIf {
    /// The trace: a folder, or a file of it
    pub trace: PathBuf,
    #[command(flatten)]
    pub changes: Changes,
    /// Further hypotheses, from a file: a table `hypothesis` each, with a name and the options above
    #[arg(long, value_name = "FILE.toml")]
    pub file: Option<PathBuf>,
    /// Try the standard hypotheses on every region, slow ranks, the collectives and the network, and rank them
    #[arg(long)]
    pub search: bool,
    /// The network of the baseline: LogGOPS parameters, a preset or a .toml file; fitted unless given
    #[arg(long, value_name = "NETWORK")]
    pub base_network: Option<String>,
    /// Who decides what MPI leaves open
    #[arg(long, value_enum, default_value_t)]
    pub mode: TypedMode,
    /// Shorter times between unsuccessful tests or probes are waiting, not computation: 1us unless given
    #[arg(long, value_name = "TIME")]
    pub spin: Option<Time>,
    /// What combining a received byte costs: 0.5ns, or 2GB/s; nothing unless given
    #[arg(long, value_name = "TIME")]
    pub reduction_cost: Option<PerByte>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// A run of the first hypothesis that `straggler-mpi replay` has re-enacted, to be shown beside the simulated one
    #[arg(long, value_name = "DIR")]
    pub replayed: Option<PathBuf>,
    /// Write the simulated run as a trace that `straggler trace` shows
    #[arg(long, value_name = "DIR")]
    pub save_trace: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOption,
}

/// What is different.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The hypothesis")]
pub struct Changes {
    /// Computation takes so many times as long: solve=0.5, all@3=2
    #[arg(long, value_name = "PLACE=FACTOR")]
    pub scale: Vec<Scaled>,
    /// Every rank computes as much, or by weights: smooth, solve=1,1,2,2
    #[arg(long, value_name = "PLACE[=WEIGHTS]")]
    pub balance: Vec<Weighted>,
    /// Take out the noise that shows in the trace: the fastest tenth of what is repeated is what it costs
    #[arg(long, value_name = "PLACE")]
    pub quieten: Vec<Place>,
    /// Messages that are not sent: from=0-3,to=7,tag=1,comm=0,bytes=0-64
    #[arg(long, value_name = "FILTER")]
    pub remove_messages: Vec<Removed>,
    /// Blocking calls made nonblocking; receives and collectives begin that much earlier: allreduce=50us, send
    #[arg(long, value_name = "FUNCTION[=TIME]")]
    pub nonblocking: Vec<Nonblocking>,
    /// So many messages of a route sent as one: tag=1:4, all:2
    #[arg(long, value_name = "FILTER:COUNT")]
    pub merge_messages: Vec<Cut>,
    /// Each message sent in so many parts: bytes=1MiB-1GiB:8
    #[arg(long, value_name = "FILTER:COUNT")]
    pub split_messages: Vec<Cut>,
    /// Blocking collectives that nobody calls: barrier, bcast@1s-2s; in a region: barrier@solve
    #[arg(long, value_name = "FUNCTION[@PLACE]")]
    pub delete: Vec<Deleted>,
    /// At each entry of a region, a barrier or more computation: barrier@solve, 5ms@solve, 5ms@solve@0-3
    #[arg(long, value_name = "WHAT@REGION")]
    pub insert: Vec<Besides>,
    /// Another network: LogGOPS parameters, a preset or a .toml file
    #[arg(long, value_name = "NETWORK", conflicts_with = "ideal_network")]
    pub network: Option<String>,
    /// A network that costs nothing
    #[arg(long)]
    pub ideal_network: bool,
    #[command(flatten)]
    pub latency: LatencyOptions,
    /// Noise on the processes, as `straggler simulate` takes it
    #[arg(long, value_name = "FILE|SPEC", value_parser = NoiseSpec::of_typed)]
    pub noise: Vec<NoiseSpec>,
    /// The table that finds the algorithms of collectives: paper, mpich, open-mpi or a file
    #[arg(long, value_name = "PRESET|FILE.toml")]
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
pub struct Place(pub Where);

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
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
                    format!("`{part}` is neither ranks, as in 0-3, nor a range of times, as in 1s-2s")
                })?;
                place.during = Some((range.from, range.to));
            }
        }
        Ok(Place(place))
    }
}

/// No trace has as many.
const MOST_RANKS: u32 = 1 << 24;

fn ranks_of(ranges: &RankRanges) -> Result<Ranks, String> {
    match ranges.0.iter().find(|(_, last)| *last >= MOST_RANKS) {
        Some((_, last)) => Err(format!("no trace has a rank {last}")),
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
        let (place, factor) = text.rsplit_once('=').ok_or("write PLACE=FACTOR, as in solve=0.5 or all=2")?;
        let value: f64 = factor.trim().parse().map_err(|_| format!("`{factor}` is no number"))?;
        if !(0.0..=1e6).contains(&value) {
            return Err(format!("`{factor}` is not between 0 and a million"));
        }
        Ok(Scaled { place: place.parse::<Place>()?.0, factor: value })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Weighted {
    pub place: Where,
    pub weights: Option<Vec<f64>>,
}

impl FromStr for Weighted {
    type Err = String;

    fn from_str(text: &str) -> Result<Weighted, String> {
        let Some((place, weights)) = text.rsplit_once('=') else {
            return Ok(Weighted { place: text.parse::<Place>()?.0, weights: None });
        };
        let weight = |text: &str| match text.trim().parse::<f64>() {
            Ok(weight) if weight >= 0.0 && weight.is_finite() => Ok(weight),
            _ => Err(format!("`{text}` is no weight: give a number for each rank, as in 1,1,2,2")),
        };
        let weights = weights.split(',').map(weight).collect::<Result<_, _>>()?;
        Ok(Weighted { place: place.parse::<Place>()?.0, weights: Some(weights) })
    }
}

/// `from=0-3,to=7,tag=1`; ranks of a list are joined by +, because a comma ends it.
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
            let number = || value.trim().parse::<u32>().map_err(|_| format!("`{value}` is no number"));
            match key.trim() {
                "from" => filter.from = Some(ranks()?),
                "to" => filter.to = Some(ranks()?),
                "tag" => {
                    filter.tag = Some(i32::try_from(number()?).map_err(|_| format!("`{value}` is no tag"))?)
                }
                "comm" => filter.communicator = Some(number()?),
                "bytes" => filter.bytes = Some(sizes(value)?),
                other => return Err(format!("`{other}` is none of from, to, tag, comm and bytes")),
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
        let (filter, count) = text.rsplit_once(':').ok_or("write FILTER:COUNT, as in tag=1:4 or all:2")?;
        match count.trim().parse() {
            Ok(count @ 2..=1024) => Ok(Cut { filter: filter.parse::<Removed>()?.0, count }),
            _ => Err(format!("`{count}` is no number from 2 to 1024")),
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
        let function = collective_named(name).ok_or_else(|| {
            format!("`{name}` is no blocking collective; write barrier, allreduce, …; --remove-messages takes out messages")
        })?;
        let place = match place.parse::<TimeRange>() {
            Ok(range) => Where { during: Some((range.from, range.to)), ..Where::default() },
            Err(_) => place.parse::<Place>()?.0,
        };
        if place.ranks.is_some() {
            return Err(
                "a collective is deleted on all ranks: those that are left would wait for good".into()
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
            text.split_once('@').ok_or("write WHAT@REGION, as in barrier@solve or 5ms@solve")?;
        let what = match what.trim() {
            "barrier" => Inserted::Barrier,
            time => Inserted::Computation(
                time.parse().map_err(|_| format!("`{time}` is neither barrier nor a time, as in 5ms"))?,
            ),
        };
        let Place(Where { region, ranks, during }) = place.parse()?;
        let region = region.ok_or("name the region at whose entries it happens")?;
        if during.is_some() || what == Inserted::Barrier && ranks.is_some() {
            return Err(
                "a barrier is for all ranks, and nothing is inserted by time: name a region only".into()
            );
        }
        Ok(Besides(Insertion { what, region, ranks }))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Nonblocking(pub Overlap);

impl FromStr for Nonblocking {
    type Err = String;

    fn from_str(text: &str) -> Result<Nonblocking, String> {
        let (name, earlier) = match text.split_once('=') {
            Some((name, time)) => {
                (name, Some(time.trim().parse::<Time>().map_err(|fault| fault.to_string())?))
            }
            None => (text, None),
        };
        let wanted = name.trim().trim_start_matches("MPI_").to_lowercase();
        let is_it = |function: &Function| {
            let name = function.name().strip_prefix("MPI_").unwrap_or_default().to_lowercase();
            name == wanted && twin(*function).is_some()
        };
        let function = Function::ALL.iter().copied().find(is_it).ok_or_else(|| {
            format!("`{name}` is no blocking function of MPI that has a nonblocking twin; write send, recv, allreduce, …")
        })?;
        if earlier.is_some() && is_send(function) {
            return Err(format!(
                "a send begins where it is and is completed later: write --nonblocking {name}"
            ));
        }
        Ok(Nonblocking(Overlap { function, earlier }))
    }
}
