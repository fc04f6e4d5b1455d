//! `straggler mpi loggp`: measures the parameters of a network, which the first process writes and prints.

use crate::kernel::typed::count;
use crate::kernel::{Exit, Failure, Outcome, command_line, interrupt};
use crate::mpi::Process;
use clap::Args;
use std::path::{Path, PathBuf};
use straggler_analysis::loggp::{LogGp, MeasuredLevel, Protocol, rate};
use straggler_model::network::Grouping;
use straggler_model::units::Bytes;
use straggler_mpi::loggp::{self, Found, Options};
use straggler_report::{Table, replace_file};

const EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 2 straggler mpi loggp
  straggler predict run --network measured

  mpirun -n 2 --map-by node straggler mpi loggp --largest 1MiB -o net.toml

  All processes of two nodes: links within a socket, a node, and between nodes:
  mpirun --map-by core --bind-to core straggler mpi loggp --levels -o net.toml";

/// Measure the LogGP parameters between two processes, for --network
///
/// Measures L, o_s, o_r, g, G, O and S of the model, with confidence intervals, from trains of messages with and without
/// computation between them (Hoefler et al., "Low-overhead LogGP parameter assessment"). Rank 0 measures with the first
/// process on another node; all other processes are idle. If the protocol changes with the message size, each protocol
/// gets its own line.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LogGpArgs {
    /// Size of the largest message
    #[arg(long, value_name = "BYTES", default_value = "4MiB")]
    pub largest: Bytes,
    /// Runs of all experiments; confidence intervals need six
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = count::<usize>(6..=100_000))]
    pub batches: usize,
    /// Repetitions of each experiment in a batch, of which the lower quartile counts
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = count::<usize>(1..=100_000))]
    pub repetitions: usize,
    /// Measure one pair for each level: within a NUMA domain, a socket and a node, as far as rank 0 shares them with other
    /// processes; each becomes a level of the file
    #[arg(long)]
    pub levels: bool,
    /// Name of the network in reports [default: the file name]
    #[arg(long)]
    pub name: Option<String>,
    /// File for the network; `--network measured` reads the default one
    #[arg(short, long, value_name = "FILE", default_value = straggler_model::network::MEASURED_FILE)]
    pub output: PathBuf,
}

impl LogGpArgs {
    pub fn options(self, seed: u64) -> Options {
        let stem = self.output.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Options {
            largest: self.largest,
            batches: self.batches,
            repetitions: self.repetitions,
            levels: self.levels,
            seed,
            name: self.name.or(stem).unwrap_or_else(|| "measured".into()),
            output: self.output,
            command: command_line(),
        }
    }
}

pub fn run(process: &Process<'_>, typed: LogGpArgs) -> anyhow::Result<Outcome<()>> {
    let options = typed.options(process.common.seed);
    let measured = loggp::run(&process.session, &options, &|text| process.note(text))?;
    Ok(match measured {
        Some(found) => write(process, &found, &options.output),
        None if process.session.is_first() => Err(Failure::new(
            Exit::Interrupted,
            anyhow::Error::msg(
                "interrupted before six batches were done, the fewest for an interval: nothing was written; \
                 --largest 64KiB and fewer --repetitions make batches shorter",
            ),
        )),
        None => Ok(()),
    })
}

fn write(process: &Process<'_>, found: &Found, path: &Path) -> Outcome<()> {
    let (console, Found { base, provenance, levels }) = (&process.console, found);
    let file = base.to_file(provenance, levels).map_err(|error| Failure::new(Exit::CheckFailed, error))?;
    replace_file(path, |out| out.write_all(file.as_bytes()))?;
    if console.json {
        console.print_json(&json(found, path))?;
    } else {
        console.print(&(text(found, path) + "\n"))?;
    }
    interrupt::check().map_err(|_| {
        let text = format!("interrupted: {} has what was measured so far", path.display());
        Failure::new(Exit::Interrupted, anyhow::Error::msg(text))
    })
}

/// The meaning of a parameter's letter.
fn meaning(letter: &str) -> &'static str {
    match letter {
        "L" => "latency",
        "o_s" => "overhead of a send",
        "o_r" => "overhead of a receive",
        "g" => "gap between messages",
        "G" => "gap per byte",
        "O" => "overhead per byte",
        _ => "largest eager message",
    }
}

fn text(found: &Found, path: &Path) -> String {
    let Found { base, provenance, levels } = found;
    let mut lines = vec![sentence(base, &provenance.place)];
    lines.extend(tables(base));
    for level in levels {
        lines.push(format!("\nWithin a {}: {}", level.name, sentence(&level.measured, &level.place)));
        lines.extend(tables(&level.measured));
    }
    let path = path.display();
    lines.push(format!("The network is in {path}: use it with `straggler simulate … --network {path}`."));
    lines.join("\n")
}

fn tables(measured: &LogGp) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut table = Table::with_header(["parameter", "meaning", "value (95 % confidence)"]).text(1).text(2);
    for (letter, value) in measured.rows() {
        table.row([letter.to_owned(), meaning(letter).to_owned(), value]);
    }
    lines.push(table.to_string().trim_end().to_owned());
    lines.push(String::new());
    lines.push("Time of a message of k bytes, from the start of its send to the end of its receive:".into());
    let mut table = Table::with_header(["sizes", "time", "slope"]).text(1).text(2);
    measured.protocols.iter().for_each(|protocol| table.row(row(protocol)));
    lines.push(table.to_string().trim_end().to_owned());
    lines.push(String::new());
    lines.extend(measured.doubts.iter().map(|doubt| format!("note: {doubt}.")));
    lines
}

fn sentence(measured: &LogGp, place: &[String]) -> String {
    let link = measured.link();
    let one_byte = link.flight() + link.recv_overhead;
    let ends = place.get(..2).map_or_else(String::new, |ends| ends.join(" to "));
    let waits = match measured.eager_limit {
        Some(limit) => format!("sends wait for their receiver above {}", Bytes(limit)),
        None => "no send waits for its receiver".into(),
    };
    format!("One byte takes {one_byte} from {ends}, {}, and {waits}.", further(measured))
}

/// G, and the sizes for which it holds if there are several protocols.
fn further(measured: &LogGp) -> String {
    let rate = rate(measured.gap_per_byte.ps);
    let own = measured.protocols.iter().find(|protocol| protocol.per_byte.ps == measured.gap_per_byte.ps);
    match own.filter(|_| measured.protocols.len() > 1) {
        Some(Protocol { from_bytes, to_bytes, .. }) => {
            format!("each further byte {rate} from {} to {}", Bytes(*from_bytes), Bytes(*to_bytes))
        }
        None => format!("each further byte {rate}"),
    }
}

fn row(protocol: &Protocol) -> [String; 3] {
    [
        format!("{} to {}", Bytes(protocol.from_bytes), Bytes(protocol.to_bytes)),
        protocol.at_zero.as_time(),
        format!("+ (k-1) · {}", protocol.per_byte.as_rate()),
    ]
}

fn json(found: &Found, path: &Path) -> serde_json::Value {
    let level = |level: &MeasuredLevel| {
        let ranks_per_group = match &level.grouping {
            Grouping::Consecutive(ranks) => Some(*ranks),
            Grouping::Map(_) => None,
        };
        serde_json::json!({
            "name": level.name, "ranks_per_group": ranks_per_group, "place": level.place, "parameters": level.measured,
        })
    };
    let levels: Vec<serde_json::Value> = found.levels.iter().map(level).collect();
    serde_json::json!({
        "file": path, "provenance": found.provenance, "parameters": found.base, "levels": levels,
    })
}
