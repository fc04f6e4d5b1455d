//! `straggler trace`: traces of MPI programs.

pub mod convert;
pub mod file;
pub mod info;
pub mod page;
pub mod record;
pub mod show;
pub mod sites;
pub mod traced;
pub mod waits;
pub mod words;

use crate::kernel::prelude::*;
use crate::report::ReportOption;
use std::ffi::OsString;
use straggler_model::spelling::nearest;

const EXAMPLES: &str = "\
EXAMPLES
  Run a program and record all its MPI calls, one stream per rank:
    straggler trace record -o run -- mpirun -n 8 ./app

  Inspect a recording, here a small synthetic trace:
  straggler trace show fixtures/traces/halo
  straggler trace check fixtures/traces/halo
  straggler trace convert fixtures/traces/halo -o halo.pftrace";

const RECORD_EXAMPLES: &str = "\
EXAMPLES
  Two small programs, one without MPI:
  straggler trace record -o run -- mpirun -n 8 ./app || true
  straggler trace record -o all --call-sites -- srun -n 64 ./app || true

The program needs no recompilation: the tracer is a library that is loaded
before MPI (libstraggler_tracer.so, beside this program, in ../lib, or at the
path in STRAGGLER_TRACER). The command keeps its input, output and exit code;
if a signal ends it, the exit code is 128 plus the number of the signal. With
--json, the last line of the output is a summary as one object.
On several nodes, use a folder on a shared file system, or combine the parts
with `trace merge`; mpirun of Open MPI then needs
-x LD_PRELOAD -x STRAGGLER_TRACE_DIR.";

const INFO_EXAMPLES: &str = "\
EXAMPLES
  straggler trace info fixtures/traces/halo
  straggler trace info fixtures/traces/halo --json";

const SHOW_EXAMPLES: &str = "\
EXAMPLES
  straggler trace show fixtures/traces/halo
  straggler trace show fixtures/traces/halo --report halo.html
  straggler trace show fixtures/traces/halo -o pattern.svg
  straggler trace show fixtures/traces/halo --what matrix -o matrix.png
  straggler trace show fixtures/traces/regions

The run of a rank is the time between its MPI_Init and its MPI_Finalize; these
two calls do not count as time in MPI. Bytes to and from MPI_PROC_NULL do not
count.

REGIONS
  If the program marks regions (straggler_region_enter and _leave of
  straggler.h), a table shows their times, by thread and nesting.
  MPI_Pcontrol(N) with N > 0 begins the region `pcontrol N`, which lasts until
  the next MPI_Pcontrol. MPI_Pcontrol(0) pauses the recording, and (1) resumes
  it.";

const WAITS_EXAMPLES: &str = "\
EXAMPLES
  straggler trace waits fixtures/traces/halo
  straggler trace waits fixtures/traces/halo --json
  straggler trace waits fixtures/traces/halo --report waits.html

The wait states are those of Scalasca. A wait belongs to the call in which the
rank waited. If a call waits for many messages, the longest wait counts, so no
wait exceeds its call. A call that waits for requests counts as waiting for a
sender if it did, even if a receiver was later.

ROOT CAUSES
  A wait is charged to the extra work that the late rank did since the two
  ranks last waited for each other. If the late rank had itself waited, that
  part is passed on to the cause of its wait: the indirect cost. The critical
  path determines how long the run takes; its imbalance is the time on it in
  excess of what an average rank spends on the same work.

WAIT STATES
  late sender          a receive was entered before its send
    in wrong order     and a message sent earlier was received later
  late receiver        a send blocked until the receive was posted
  wait at barrier      waited for the last process to enter
  wait at NxN          the same in collectives where all need data from all
  completion           time since the first process left such a collective
  late broadcast       waited for the root of a broadcast or scatter
  early reduce         the root of a reduction or gather waited for the last
                       sender
  early scan           waited for a lower rank in a prefix reduction";

const CHECK_EXAMPLES: &str = "\
EXAMPLES
  straggler trace check fixtures/traces/halo
  straggler trace check fixtures/traces/halo --json

The exit code is 5 if there are errors, 0 if there are only warnings, and 3 if
nothing can be read. Calls are counted from 0 on each rank.";

const MERGE_EXAMPLES: &str = "\
EXAMPLES
  straggler trace merge fixtures/traces/halo -o halo.trace
  straggler trace merge fixtures/traces/halo/rank-000000.trace \\
      fixtures/traces/halo/rank-000001.trace -o half";

const CONVERT_EXAMPLES: &str = "\
EXAMPLES
  straggler trace convert fixtures/traces/halo -o halo.json
  straggler trace convert fixtures/traces/halo -o halo.pftrace
  straggler trace convert fixtures/traces/halo -o copy --to straggler \\
      --no-command-line

Only you can read the output, as with recorded traces. GOAL schedules hold
neither names nor command lines and get the usual permissions.

FILE EXTENSIONS
  .pftrace, .perfetto-trace   Perfetto: open it at ui.perfetto.dev
  .json                       Chrome's trace events; `straggler report` reads
                              them too
  .otf2                       OTF2
  .goal, .bin                 a schedule in GOAL
  .trace                      straggler's own format, all ranks in one file
  none                        straggler's own format, a folder";

/// Record the MPI calls of a program, and inspect, check and convert traces
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Trace {
    #[command(subcommand)]
    pub command: TraceCommand,
}

#[derive(Debug, Args)]
pub struct Record {
    /// Folder for the streams; created if missing, must not hold streams yet
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Remove streams that are already in the folder
    #[arg(long)]
    pub force: bool,
    /// Record where the program calls MPI from, for the table of call sites of `trace show`
    #[arg(long)]
    pub call_sites: bool,
    /// Record only the name of the program, not its arguments
    #[arg(long)]
    pub no_command_line: bool,
    /// The command to run and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub program: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Run a program and record its MPI calls
    #[command(after_help = RECORD_EXAMPLES)]
    Record(Record),
    /// Show what a trace holds: ranks, hosts, calls, clocks, communicators
    #[command(after_help = INFO_EXAMPLES)]
    Info(Input),
    /// Show where the time goes, by rank, function, communicator and region, and who sends to whom
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Show),
    /// Find wait states, their root causes, and the critical path
    #[command(after_help = WAITS_EXAMPLES)]
    Waits(Waits),
    /// Check a trace for errors
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Input),
    /// Combine the streams of one run from several places
    #[command(after_help = MERGE_EXAMPLES)]
    Merge(Merge),
    /// Write a trace in another format, chosen by the file extension of the output
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(Convert),
}

#[derive(Debug, Args)]
pub struct Input {
    /// A folder with streams, or a file
    pub trace: PathBuf,
}

#[derive(Debug, Args)]
pub struct Waits {
    /// A folder with streams, or a file
    pub trace: PathBuf,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Debug, Args)]
pub struct Show {
    /// A folder with streams, or a file
    pub trace: PathBuf,
    /// Also draw a figure
    #[arg(short, long, value_name = "FILE.svg|.png|.pdf", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// What to draw
    #[arg(long, value_enum, default_value_t = Picture::Pattern, requires = "output", help_heading = "Output")]
    pub what: Picture,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Picture {
    /// Collectives over time
    Pattern,
    /// Messages over time
    Messages,
    /// Bytes by sender and receiver
    Matrix,
    /// Activity of every rank over time
    Timeline,
}

#[derive(Debug, Args)]
pub struct Merge {
    /// Folders with streams, or files
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// A new folder, or one file if the name ends in .trace
    #[arg(short, long, value_name = "DIR|FILE.trace")]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
pub struct Convert {
    /// A folder with streams, or a file
    pub trace: PathBuf,
    /// Where to write
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Output format, if the file extension does not determine it
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<Target>,
    /// For GOAL: drop messages and collectives that lack a partner
    #[arg(long)]
    pub drop_unmatched: bool,
    /// Keep only the name of the program, not its arguments
    #[arg(long)]
    pub no_command_line: bool,
    /// From OTF2: leave out regions shorter than this in which nothing is recorded
    /// [default: 10us for functions that the compiler instrumented, 0s for other regions]
    #[arg(long, value_name = "TIME")]
    pub shortest_region: Option<Time>,
}

/// Formats in which a trace can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Target {
    Straggler,
    Perfetto,
    Chrome,
    Otf2,
    Goal,
}

impl Target {
    /// The extensions that select a format.
    pub const ENDINGS: [&str; 7] = ["trace", "pftrace", "perfetto-trace", "json", "otf2", "goal", "bin"];

    /// The format that the extension of a file name selects.
    pub fn of_ending(path: &std::path::Path) -> Option<Target> {
        let Some(ending) = path.extension() else { return Some(Target::Straggler) };
        match ending.to_str()?.to_ascii_lowercase().as_str() {
            "trace" => Some(Target::Straggler),
            "pftrace" | "perfetto-trace" => Some(Target::Perfetto),
            "json" => Some(Target::Chrome),
            "otf2" => Some(Target::Otf2),
            "goal" | "bin" => Some(Target::Goal),
            _ => None,
        }
    }
}

impl Check for TraceCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            TraceCommand::Record(_) | TraceCommand::Info(_) | TraceCommand::Check(_) => Ok(()),
            TraceCommand::Show(typed) => {
                typed.report.report.as_deref().map_or(Ok(()), refuse_unwritable)?;
                typed.output.as_deref().map_or(Ok(()), refuse_missing_folder)
            }
            TraceCommand::Waits(typed) => typed.report.report.as_deref().map_or(Ok(()), refuse_unwritable),
            TraceCommand::Merge(typed) => refuse_unwritable(&typed.output),
            TraceCommand::Convert(typed) => {
                typed.target()?;
                refuse_unwritable(&typed.output)
            }
        }
    }
}

impl Convert {
    /// The given format, or that of the file extension.
    pub fn target(&self) -> Outcome<Target> {
        self.to.or_else(|| Target::of_ending(&self.output)).ok_or_else(|| {
            let ending = self.output.extension().unwrap_or_default().to_string_lossy();
            let hint = nearest(&ending, Target::ENDINGS.iter().copied())
                .map_or_else(String::new, |ending| format!("; did you mean `.{ending}`?"));
            Failure::usage(format!(
                "{}: cannot tell the format from the extension; give --to straggler, perfetto, chrome, otf2 or goal{hint}",
                self.output.display()
            ))
        })
    }
}

pub fn run(command: &Valid<TraceCommand>, console: &Console) -> Outcome<()> {
    match &**command {
        TraceCommand::Record(typed) => record::run(typed, console),
        TraceCommand::Info(typed) => info::run(&typed.trace, console),
        TraceCommand::Show(typed) => show::run(typed, console),
        TraceCommand::Waits(typed) => waits::run(typed, console),
        TraceCommand::Check(typed) => info::check(&typed.trace, console),
        TraceCommand::Merge(typed) => convert::collect(typed, console),
        TraceCommand::Convert(typed) => convert::run(typed, console),
    }
}
