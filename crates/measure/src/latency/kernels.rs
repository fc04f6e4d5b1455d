//! Kernels that need no MPI.
//!
//! | kernel | what one trial is |
//! |---|---|
//! | `tcp`, `unix-socket`, `pipe` | a message to a peer on another core, or host, and back |
//! | `futex` | a hand-over to a thread that sleeps on another core, and back; for all pairs of cores |
//! | `system-calls` | getpid, clock_gettime without the vDSO, a read of one byte from /dev/zero |
//! | `file` | a write with fsync, and a read, at the start of a file |
//! | `copy` | a copy of memory |
//! | `command` | a program, from its start to its end |

mod command;
mod copy;
mod file;
mod futex;
mod pipe;
mod round_trip;
mod system_calls;
pub(crate) mod tcp;
mod unix_socket;

use super::drive::{Effort, Ended, Operation, Watch, drive};
use super::{Recorder, begin, place};
use crate::cores;
use std::io;
use std::path::{Path, PathBuf};
use straggler_model::latency::{Bins, Labels, Measurement, Series};
use straggler_model::provenance::Timer;
use tcp::Remote;

/// What is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// Over the loopback interface, or to another host.
    Tcp {
        remote: Option<Remote>,
    },
    UnixSocket,
    Pipe,
    Futex,
    SystemCalls,
    /// In a file of this folder that is removed at the end.
    File {
        folder: PathBuf,
    },
    Copy,
    Command {
        program: Vec<String>,
    },
}

impl Kernel {
    pub fn name(&self) -> &'static str {
        match self {
            Kernel::Tcp { .. } => "tcp",
            Kernel::UnixSocket => "unix-socket",
            Kernel::Pipe => "pipe",
            Kernel::Futex => "futex",
            Kernel::SystemCalls => "system-calls",
            Kernel::File { .. } => "file",
            Kernel::Copy => "copy",
            Kernel::Command { .. } => "command",
        }
    }

    /// The default number of trials, for some seconds on an ordinary machine.
    pub fn usual_trials(&self) -> u64 {
        match self {
            Kernel::Tcp { .. } | Kernel::UnixSocket | Kernel::Pipe | Kernel::Futex => 10_000,
            Kernel::SystemCalls => 100_000,
            Kernel::File { .. } => 100,
            Kernel::Copy => 10_000,
            Kernel::Command { .. } => 10,
        }
    }

    /// `None` for kernels without sizes.
    pub fn usual_size(&self) -> Option<u64> {
        match self {
            Kernel::Tcp { .. } | Kernel::UnixSocket | Kernel::Pipe => Some(1),
            Kernel::File { .. } => Some(4096),
            Kernel::Copy => Some(64 << 10),
            Kernel::Futex | Kernel::SystemCalls | Kernel::Command { .. } => None,
        }
    }

    /// The number of series that will be measured.
    fn series(&self, sizes: usize, cores: usize) -> u64 {
        let series = match self {
            Kernel::Futex => cores * cores.saturating_sub(1) / 2,
            Kernel::SystemCalls => 3,
            Kernel::File { .. } => 2 * sizes,
            Kernel::Command { .. } => 1,
            _ => sizes,
        };
        series as u64
    }
}

/// How it is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    pub kernel: Kernel,
    /// In bytes; ignored by kernels without sizes.
    pub sizes: Vec<u64>,
    /// The measuring thread runs on the first, its peer on the second.
    pub cores: Vec<u32>,
    pub effort: Effort,
    pub bins: Bins,
}

impl Options {
    /// The total number of trials of all series.
    pub fn trials(&self) -> u64 {
        let series = self.kernel.series(self.sizes.len(), self.cores.len());
        series.saturating_mul(self.effort.total())
    }
}

/// Measures. A failure or stop ends the measurement with a sentence in [`Measurement::interruptions`]; the
/// data up to then is kept.
pub fn measure(options: &Options, command: &str, timer: &Timer, watch: Watch<'_>) -> Measurement {
    let measurement = begin(options.kernel.name(), command, timer);
    let host = measurement.machines.first().and_then(|machine| machine.host.clone());
    let mut session = Session { options, timer, watch, host, measurement };
    let ended = match &options.kernel {
        Kernel::Tcp { remote } => tcp::run(&mut session, remote.as_ref()),
        Kernel::UnixSocket => unix_socket::run(&mut session),
        Kernel::Pipe => pipe::run(&mut session),
        Kernel::Futex => futex::run(&mut session),
        Kernel::SystemCalls => system_calls::run(&mut session),
        Kernel::File { folder } => file::run(&mut session, folder),
        Kernel::Copy => copy::run(&mut session),
        Kernel::Command { program } => command::run(&mut session, program),
    };
    if let Err(reason) = ended {
        session.measurement.interruptions.push(reason);
    }
    session.measurement
}

/// A measurement in progress.
struct Session<'a> {
    options: &'a Options,
    timer: &'a Timer,
    watch: Watch<'a>,
    host: Option<String>,
    measurement: Measurement,
}

/// The error says why the rest is not measured.
type Ending = Result<(), String>;

impl Session<'_> {
    /// The cores of the measuring thread and of its peer; the same if only one may be used.
    fn two_cores(&self) -> (u32, u32) {
        let first = self.options.cores.first().copied().unwrap_or(0);
        (first, self.options.cores.get(1).copied().unwrap_or(first))
    }

    fn labels(&self, kernel: &str) -> Labels {
        Labels { kernel: kernel.into(), ..Labels::default() }
    }

    /// Records the core on which the process of this rank runs.
    fn put(&mut self, rank: u32, core: u32) {
        let process = place(Path::new("/"), rank, self.host.clone(), core);
        self.measurement.processes.push(process);
    }

    fn put_two(&mut self) -> (u32, u32) {
        let (first, second) = self.two_cores();
        self.put(0, first);
        self.put(1, second);
        if first == second {
            let note = format!("Both ends ran on core {first}, the only core available.");
            self.measurement.notes.push(note);
        }
        (first, second)
    }

    /// Measures one operation on a core and adds the series. `open` runs on the thread that measures.
    fn measure<O: Operation>(
        &mut self,
        labels: Labels,
        core: u32,
        open: impl FnOnce() -> io::Result<O> + Send,
    ) -> Ending {
        let Options { effort, bins, .. } = *self.options;
        let (timer, watch, named) = (self.timer, self.watch, labels.to_string());
        let run = move || -> Result<(Series, Ended), String> {
            cores::pin(core).map_err(|fault| fault.to_string())?;
            let mut operation = open().map_err(|fault| fault.to_string())?;
            let mut recorder = Recorder::new(timer, labels, bins);
            let ended = drive(&mut operation, &mut recorder, effort, &watch);
            Ok((recorder.finish(), ended))
        };
        // A thread of its own, so that the caller's thread is not pinned.
        let joined = std::thread::scope(|scope| {
            let thread =
                std::thread::Builder::new().name("straggler-latency".into()).spawn_scoped(scope, run);
            let thread = thread.map_err(|fault| format!("cannot start a thread: {fault}"))?;
            thread.join().unwrap_or_else(|_| Err("the measuring thread died".into()))
        });
        let (series, ended) = joined.map_err(|fault| format!("{named}: {fault}"))?;
        let count = series.trials.count();
        if count > 0 {
            self.measurement.add(series).map_err(|fault| fault.to_string())?;
        }
        match ended {
            Ended::Complete => Ok(()),
            Ended::Stopped => Err(format!("{named}: interrupted after {count} of {} trials", effort.total())),
            Ended::Failed(fault) => Err(format!("{named}: failed after {count} trials: {fault}")),
        }
    }
}

#[cfg(test)]
mod tests;
