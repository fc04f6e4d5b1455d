//! `straggler trace` as typed.

use super::report::ReportOption;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
EXAMPLES
  Run a program and record every call of MPI it makes, one stream a rank:
    straggler trace -o run -- mpirun -n 8 ./app

  Look at what was recorded, here at a small synthetic trace:
  straggler trace show fixtures/traces/halo
  straggler trace check fixtures/traces/halo
  straggler trace convert fixtures/traces/halo -o halo.pftrace

The program needs not be compiled anew: the recorder is a library that is loaded before MPI
(libstraggler_tracer.so, beside this program, in ../lib, or where STRAGGLER_TRACER says). The command's
input, output and exit code stay its own; a command that a signal ended gives 128 and the signal's number.
With --json a summary follows the command's own output, as its last line: one object.
On several nodes the folder must be on a shared file system, or `trace merge` puts the parts together;
mpirun of Open MPI then needs -x LD_PRELOAD -x STRAGGLER_TRACE_DIR.";

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

The run of a rank is what lies between its MPI_Init and its MPI_Finalize; these two are not
counted as time in MPI. Bytes to and from MPI_PROC_NULL are not counted.

REGIONS
  A program that marks them (straggler_region_enter and _leave of straggler.h) gets a table of
  their times, by thread and with what is nested. MPI_Pcontrol(N) with N > 0 begins the region
  `pcontrol N`, which lasts until the next MPI_Pcontrol; other levels begin none.";

const WAITS_EXAMPLES: &str = "\
EXAMPLES
  straggler trace waits fixtures/traces/halo
  straggler trace waits fixtures/traces/halo --json
  straggler trace waits fixtures/traces/halo --report waits.html

Patterns are those of Scalasca. A wait belongs to the call in which the rank stayed; of a call that
waits for many messages the longest wait counts, so no wait exceeds its call. A wait for requests that
waited for a sender counts that, even if a receiver came later.

ROOT CAUSES
  The time of a wait is charged to what the late rank did more than the waiting one since one of them
  had last waited for the other. Where the late rank had waited itself, its part goes on to the cause of
  that wait: this is the indirect cost. The critical path is what decides how long the run takes; its
  imbalance is the time on it beyond what a rank spends on the same thing on average.

PATTERNS
  late sender          a receive was entered before its send
    in wrong order     and a message that had been sent before it was received after it
  late receiver        a send stayed in its call until the receive was posted
  wait at barrier      until the last process had come
  wait at NxN          the same in collectives in which all need the data of all
  completion           from when the first process had left such a collective
  late broadcast       waited for the root of a broadcast or scatter
  early reduce         the root of a reduction or gather waited for the last that sends
  early scan           waited for a rank before it in a prefix reduction";

const CHECK_EXAMPLES: &str = "\
EXAMPLES
  straggler trace check fixtures/traces/halo
  straggler trace check fixtures/traces/halo --json

Ends with code 5 if there is an error, with 0 if there are only warnings, and with 3 if nothing can be
read. Calls are counted from 0 on each rank.";

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

What is written is readable by you only, as recorded traces are; a GOAL schedule holds neither names nor
command lines and is a file like any other.

WHAT THE ENDINGS MEAN
  .pftrace, .perfetto-trace   Perfetto: open it at ui.perfetto.dev
  .json                       Chrome's trace events; `straggler report` reads them too
  .otf2                       OTF2
  .goal, .bin                 a schedule in GOAL
  .trace                      straggler's own format, all ranks in one file
  none                        straggler's own format, a folder";

/// Record the calls of MPI that a program makes, and look at them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
#[command(
    override_usage = "straggler trace -o DIR [--force] [--no-command-line] -- COMMAND [ARGS]...\n       straggler trace <COMMAND>"
)]
pub struct Trace {
    #[command(subcommand)]
    pub command: Option<TraceCommand>,
    #[command(flatten)]
    pub record: Record,
}

#[derive(Debug, Args)]
pub struct Record {
    /// The folder for the streams; it is made, and must have none yet
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Remove the streams that are in the folder already
    #[arg(long)]
    pub force: bool,
    /// Record the name of the program only, not its arguments
    #[arg(long)]
    pub no_command_line: bool,
    /// What to run, with its arguments, behind `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub program: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// What a trace holds: ranks, hosts, calls, clocks, communicators
    #[command(after_help = INFO_EXAMPLES)]
    Info(Input),
    /// Where the time goes: by rank, function, communicator and region, who sends to whom, and when
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Show),
    /// Who waited for whom, how long and why: wait states, their root causes, the critical path
    #[command(after_help = WAITS_EXAMPLES)]
    Waits(Waits),
    /// Everything that is wrong with a trace
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Input),
    /// Put the streams of one run that lie in several places together
    #[command(after_help = MERGE_EXAMPLES)]
    Merge(Merge),
    /// Write a trace in another format, by the ending of the output
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
    /// Also draw a picture
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
    /// When the run has collectives
    Pattern,
    /// When the run sends messages
    Messages,
    /// Bytes by sender and receiver
    Matrix,
    /// What every rank does when
    Timeline,
}

#[derive(Debug, Args)]
pub struct Merge {
    /// Folders with streams, or files
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// A new folder, or one file if the name ends with .trace
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
    /// The format, if the ending does not tell
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<Target>,
    /// For GOAL: leaves out messages and collectives that miss a partner
    #[arg(long)]
    pub drop_unmatched: bool,
    /// Keep the name of the program only, not its arguments
    #[arg(long)]
    pub no_command_line: bool,
}

/// What a trace can be written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Target {
    Straggler,
    Perfetto,
    Chrome,
    Otf2,
    Goal,
}

impl Target {
    /// What the ending of a name asks for.
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
