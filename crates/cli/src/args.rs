//! The command line as typed, with old names of commands replaced. Every value is parsed into its type here, and nothing
//! is looked up: no file, no environment variable, no clock.

use crate::kernel::typed;
use clap::{ArgAction, Args, ColorChoice, CommandFactory, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use straggler_model::units;

const EXAMPLES: &str = "\
EXAMPLES
  What does this node's noise cost at scale, and which source should go first?
  straggler assess

  An allreduce of 8 bytes on a million processes, each of which loses 10 % of
  its time to noise:
  straggler simulate --collective allreduce --processes 1048576 --size 8 \\
      --network chic --noise periodic:period=1ms,duration=100us --compare-quiet

  A schedule from a file, on a network with these parameters:
  straggler simulate fixtures/conformance/eager-00.goal \\
      --network L=2500ns,o=1500ns,g=1000ns,G=6ns,O=0ns,S=65535 --json

  One page with all results in a folder:
  straggler report fixtures/noise -o noise.html

  List the networks, inspect noise, measure the speed of the simulator on this
  machine:
  straggler network list
  straggler noise show 'poisson:rate=1kHz,duration=exponential(mean=5us)'
  straggler tools bench --quick

  What is in a file?
  straggler show fixtures/noise/selfish.0

EXIT CODES
  0    success
  2    usage error: an unknown option or an invalid value
  3    bad input: a file cannot be read, written or parsed
  4    the schedule cannot finish, or leaves messages unreceived
  5    a check failed
  130  interrupted

Write values with their units: 5.33us, 1MiB, 10Hz, 25GB/s.
Defaults of your own: network = \"chic\" in straggler.toml, in this folder or in
~/.config/straggler (docs/guide/configuration.md has the keys).
Tables and sentences fit the terminal, or the width in COLUMNS if that is set.
In files and pipes nothing is wrapped.
Examples read files in fixtures/ and examples/; `straggler tools examples DIR`
writes them.";

/// straggler measures the small delays of a machine, simulates what they do to a message-passing
/// program, and finds their causes
///
/// A delay of microseconds on one process delays all processes that wait for each other. straggler
/// measures such delays on this machine and asks the kernel for their sources. It runs the schedule of a
/// program on up to a hundred million simulated processes under the LogGOPS model, injects noise into each
/// of them, and reports when they finish.
#[derive(Debug, Parser)]
#[command(name = "straggler", version, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(subcommand_required = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Random seed; the same seed gives the same results
    #[arg(long, global = true, value_name = "N", default_value_t = 1, value_parser = typed::count::<u64>(..))]
    pub seed: u64,
    /// Number of threads; results do not depend on it [default: all available cores]
    #[arg(long, global = true, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,
    /// Print no progress and no warnings on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print the details below the answer, and on stderr what is done
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Colours on the terminal; auto: none with NO_COLOR, TERM=dumb or in a pipe
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub color: ColorChoice,
}

/// One line each, in the order of `GROUPS`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What this node's noise costs at scale, and which source costs most
    Assess(Box<crate::assess::plan::Assess>),
    /// Measure, show, fit, compare and convert noise
    Noise(crate::noise::Noise),
    /// Measure, show, compare and diagnose latencies
    Latency(crate::latency::Latency),
    /// List and show network presets
    Network(crate::network::NetworkArgs),
    /// Measure, simulate and replay with the processes of an MPI job
    Mpi(Box<crate::mpi::MpiArgs>),
    /// Record the MPI calls of a program; show, check and convert traces
    Trace(Box<crate::trace::Trace>),
    /// A traced run or a training job with changes: what would it gain?
    Whatif(Box<crate::whatif::args::WhatIf>),
    /// The stragglers of a training job, their causes, what fixes gain
    Training(Box<crate::training::Training>),
    /// Simulate a collective, a workload, a schedule or a trace
    #[command(visible_alias = "predict")]
    Simulate(Box<crate::simulate::args::Simulate>),
    /// Run many simulations, defined in one file
    Study(crate::study::Study),
    /// Convert, inspect, check and generate schedules
    Schedule(crate::schedule::args::Schedule),
    /// Repeat the experiments of published papers
    Papers(crate::papers::Papers),
    /// Show what is in files: noise, latencies, traces, jobs, schedules
    Show(crate::show::Show),
    /// Write results as one HTML page
    Report(crate::report::Report),
    /// Show results in a browser on this machine
    Serve(crate::serve::Serve),
    /// Benchmarks, figures, job scripts, examples, completions, man pages
    Tools(crate::tools::Tools),
}

/// The commands by what a user has.
const GROUPS: [(&str, &[&str]); 4] = [
    ("For a machine and its network", &["assess", "noise", "latency", "network", "mpi"]),
    ("For a program, its trace or a training job", &["trace", "whatif", "training"]),
    ("For a question about scale", &["simulate", "study", "schedule", "papers"]),
    ("For files and results", &["show", "report", "serve", "tools"]),
];

/// The definition of the command line, with the commands in groups.
pub fn definition() -> clap::Command {
    let plain = Cli::command();
    let line = |name: &&str| {
        let about = plain.find_subcommand(name).and_then(clap::Command::get_about);
        format!("    {name:<10}{}\n", about.map_or_else(String::new, ToString::to_string))
    };
    let group = |(title, names): &(&str, &[&str])| {
        format!("  {title}\n{}\n", names.iter().map(line).collect::<String>())
    };
    let commands: String = GROUPS.iter().map(group).collect();
    plain.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\nCommands:\n{commands}Options:\n{{options}}{{after-help}}"
    ))
}

/// More threads than this never help.
const MOST_THREADS: usize = 1024;

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let number = units::count(text).and_then(|number| usize::try_from(number).ok());
    let number = number.filter(|&number| number <= MOST_THREADS).and_then(NonZeroUsize::new);
    number.ok_or_else(|| format!("give a number from 1 to {MOST_THREADS}"))
}

/// The first words of a command line, as they were and as they are. The first row that matches counts.
const MOVED: [(&[&str], &[&str]); 18] = [
    (&["measure", "noise"], &["noise", "measure"]),
    (&["measure", "latency"], &["latency", "measure"]),
    (&["measure", "merge"], &["latency", "merge"]),
    (&["compare"], &["latency", "compare"]),
    (&["diagnose"], &["latency", "diagnose"]),
    (&["resample"], &["latency", "resample"]),
    (&["redundancy"], &["papers", "redundancy"]),
    (&["reproduce", "--list"], &["papers", "list"]),
    (&["reproduce"], &["papers", "run"]),
    (&["schedule", "validate"], &["schedule", "check"]),
    (&["schedule", "check", "--collective"], &["schedule", "prove", "--collective"]),
    (&["training", "whatif"], &["whatif"]),
    (&["slurm-script"], &["tools", "slurm-script"]),
    (&["plot"], &["tools", "plot"]),
    (&["bench"], &["tools", "bench"]),
    (&["examples"], &["tools", "examples"]),
    (&["completions"], &["tools", "completions"]),
    (&["man"], &["tools", "man"]),
];

/// Common options that take a value.
const WITH_VALUE: [&str; 3] = ["--seed", "--threads", "--color"];

/// The arguments of this process under the present names, and a note if they have an old one.
pub fn of_process() -> (Vec<OsString>, Option<String>) {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let note = modernise(&mut words);
    (words, note)
}

/// Replaces an old name of a command. The first word is the program.
fn modernise(words: &mut Vec<OsString>) -> Option<String> {
    let first = command_place(words)?;
    let typed = &words[first..];
    let begins =
        |old: &[&str]| typed.len() >= old.len() && old.iter().zip(typed).all(|(old, word)| word == old);
    let (old, new): (&[&str], &[&str]) = match MOVED.iter().find(|(old, _)| begins(old)) {
        Some((old, new)) => (old, new),
        None if is_recording(typed) => (&["trace"], &["trace", "record"]),
        None => return None,
    };
    words.splice(first..first + old.len(), new.iter().map(OsString::from));
    let [old, new] = [old.join(" "), new.join(" ")];
    Some(format!("`straggler {old}` is now `straggler {new}`; the old name works until the next release"))
}

/// Where the name of the command begins.
fn command_place(words: &[OsString]) -> Option<usize> {
    let mut place = 1;
    while words.get(place)?.as_encoded_bytes().starts_with(b"-") {
        place += if WITH_VALUE.iter().any(|option| words[place] == *option) { 2 } else { 1 };
    }
    Some(place)
}

/// Whether a recording begins without the word `record`.
fn is_recording(typed: &[OsString]) -> bool {
    let is_option =
        |word: &OsStr| word.as_encoded_bytes().starts_with(b"-") && word != "--help" && word != "-h";
    typed[0] == "trace" && typed.get(1).is_some_and(|word| is_option(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group_on_one_line() {
        let all = Cli::command();
        let names: BTreeSet<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), names);
        assert_eq!(grouped.len(), names.len());
        let help = definition().render_help().to_string();
        let lines =
            help.lines().skip_while(|line| *line != "Commands:").take_while(|line| *line != "Options:");
        assert!(lines.clone().count() > names.len());
        assert!(lines.clone().all(|line| !line.starts_with("    ") || line.chars().count() <= 80), "{help}");
    }

    /// The parser wraps descriptions, but not usage lines.
    #[test]
    fn usage_lines_fit_80_columns() {
        fn check(command: &mut clap::Command) {
            let usage = command.render_usage().to_string();
            assert!(usage.lines().all(|line| line.chars().count() <= 80), "{usage}");
            command.get_subcommands_mut().for_each(check);
        }
        let mut all = Cli::command();
        all.build();
        check(&mut all);
    }

    fn modern(line: &str) -> String {
        let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        modernise(&mut words);
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn old_names_are_replaced_and_present_ones_stay() {
        for (old, new) in [
            ("s measure noise --time 1s", "s noise measure --time 1s"),
            ("s --json --seed 3 compare a b", "s --json --seed 3 latency compare a b"),
            ("s reproduce --list", "s papers list"),
            ("s reproduce sc10-fig4", "s papers run sc10-fig4"),
            ("s schedule check --collective barrier", "s schedule prove --collective barrier"),
            ("s schedule check a.goal", "s schedule check a.goal"),
            ("s training whatif job.csv --fix 6", "s whatif job.csv --fix 6"),
            ("s trace -o run -- ./a", "s trace record -o run -- ./a"),
            ("s trace --help", "s trace --help"),
            ("s noise compare a b", "s noise compare a b"),
            ("s --threads", "s --threads"),
        ] {
            assert_eq!(modern(old), new);
        }
    }

    #[test]
    fn present_names_exist() {
        for (_, new) in MOVED {
            let mut found = definition();
            for name in new.iter().filter(|word| !word.starts_with('-')) {
                found = found.find_subcommand(name).unwrap_or_else(|| panic!("{new:?}")).clone();
            }
        }
    }
}
