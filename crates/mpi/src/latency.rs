//! `straggler mpi latency`: distributions of the times of messages and collectives.

mod collectives;
mod pairs;
mod plan;

use crate::communicator::Communicator;
use crate::session::Session;
use anyhow::Result;
use plan::Configuration;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use straggler_analysis::latency::diagnose::{Oversubscribed, crowds};
use straggler_measure::latency::begin;
use straggler_measure::machine;
use straggler_model::latency::{Measurement, Series};
use straggler_model::units::Bytes;

/// What to time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// MPI_Sendrecv between the two processes of a pair.
    Exchange,
    /// One message there and one back.
    PingPong,
    /// MPI_Irecv and MPI_Isend between a pair, then MPI_Wait for both.
    Nonblocking,
    Barrier,
    /// From the first process.
    Bcast,
    Allreduce,
    Alltoall,
}

impl Kernel {
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Exchange => "sendrecv",
            Kernel::PingPong => "ping-pong",
            Kernel::Nonblocking => "isend-irecv",
            Kernel::Barrier => "barrier",
            Kernel::Bcast => "bcast",
            Kernel::Allreduce => "allreduce",
            Kernel::Alltoall => "alltoall",
        }
    }

    /// Whether all processes take part together.
    pub fn is_collective(self) -> bool {
        matches!(self, Kernel::Barrier | Kernel::Bcast | Kernel::Allreduce | Kernel::Alltoall)
    }
}

/// What is measured, between whom and how often.
#[derive(Clone, Debug)]
pub struct Options {
    pub kernel: Kernel,
    /// Sizes of the messages, measured one after the other.
    pub sizes: Vec<Bytes>,
    /// Passes through all peers in each cycle.
    pub trials: u64,
    pub cycles: u32,
    /// Numbers of peers per process; none for all.
    pub peers: Vec<u32>,
    /// Numbers of processes per node that communicate; none for all.
    pub per_node: Vec<u32>,
    /// Measure 1, 2, 4, … of both.
    pub sweep: bool,
    pub time_limit: Option<Duration>,
    /// The file for the distributions, which is also written from time to time.
    pub output: PathBuf,
    /// The command line, for the file.
    pub command: String,
}

/// Why a measurement ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// With all trials, or at its time limit.
    Regular,
    /// A signal stopped it.
    Stopped,
    /// Nothing was measured, for this reason.
    Empty(String),
}

/// The processes that communicate in one configuration.
#[derive(Debug)]
struct Members {
    comm: Communicator,
    /// World ranks, in the order of the communicator.
    ranks: Vec<u32>,
}

/// A measurement that all processes of the job carry out together, cycle by cycle.
trait Measured {
    /// Runs trials without recording them, until caches and connections are warm.
    fn warm_up(&mut self, trials: u64) -> Result<()>;
    /// Runs this many trials.
    fn run(&mut self, trials: u64) -> Result<()>;
    /// Number of trials between two checks whether to stop.
    fn batch(&self) -> u64;
    fn end_cycle(&mut self);
    /// The reason why continuing would measure nothing, if there is one.
    fn hopeless(&self) -> Option<String> {
        None
    }
    /// The series that this process has recorded.
    fn series(&mut self) -> Vec<Series>;
    /// Notes for the user.
    fn notes(&self) -> Vec<String>;
}

/// Measures on all processes; only rank 0 gets the result. `progress` prints a line of progress.
pub fn run(session: &Session, options: &Options, progress: &dyn Fn(&str)) -> Result<(Measurement, End)> {
    let configurations = plan::configurations(session, options)?;
    refuse_missing_folder(session, &options.output)?;
    let mut job = Job::new(session, options, progress)?;
    for (number, configuration) in configurations.iter().enumerate() {
        let ranks = plan::active(session, configuration.per_node, configuration.switches);
        let place = ranks.iter().position(|&rank| rank == session.rank);
        let comm = session.world.split(place.map(|place| place as u32));
        let members = comm.map(|comm| Members { comm, ranks });
        let place = (number, configurations.len());
        if options.kernel.is_collective() {
            let mut measured = members.as_ref().map(|members| {
                let deadline = job.deadline();
                collectives::Together::new(session, members, options.kernel, configuration, deadline)
            });
            job.measure(measured.as_mut().map(|one| one as &mut dyn Measured), configuration, place)?;
        } else {
            let mut measured = members
                .as_ref()
                .map(|members| pairs::Pairs::new(session, members, options.kernel, configuration));
            job.measure(measured.as_mut().map(|one| one as &mut dyn Measured), configuration, place)?;
        }
        if job.stopped {
            break;
        }
    }
    Ok(job.finish())
}

/// The state of a whole measurement.
struct Job<'a> {
    session: &'a Session,
    options: &'a Options,
    progress: &'a dyn Fn(&str),
    started: Instant,
    saved: Instant,
    printed: Instant,
    stopped: bool,
    /// The reason why continuing would have measured nothing.
    hopeless: Option<String>,
    /// The results of all processes, on rank 0.
    total: Measurement,
}

/// Intervals between intermediate files and between lines of progress.
const SAVE: Duration = Duration::from_secs(10);
const TELL: Duration = Duration::from_secs(5);

impl<'a> Job<'a> {
    fn new(session: &'a Session, options: &'a Options, progress: &'a dyn Fn(&str)) -> Result<Job<'a>> {
        let mut total = begin(options.kernel.name(), &options.command, &session.timer);
        total.processes = session.processes.clone();
        total.notes.push(format!("MPI library: {}", session.library()));
        if session.unbound {
            total.notes.push(
                "Not every process is bound to one core: the system may have moved them. Bind them with `mpirun --bind-to core`."
                    .into(),
            );
        }
        for (timer, machine) in session.gather_all(&(session.timer.clone(), machine::this()))? {
            if !total.timers.contains(&timer) {
                total.timers.push(timer);
            }
            if !total.machines.contains(&machine) {
                total.machines.push(machine);
            }
        }
        if let Some(doubt) = total.timer_doubts() {
            let note = format!("Not every process has an invariant timer: {doubt}. Times may be wrong.");
            total.notes.push(note);
        }
        for Oversubscribed { host, processes, cores } in crowds(&total) {
            let note = format!(
                "{host} has {processes} processes for {cores} cores: they compete for cores, and the times are dominated by the \
                 scheduler. Use fewer processes."
            );
            progress(&format!("warning: {note}"));
            total.notes.push(note);
        }
        let most = session.most_on_a_node();
        if session.size != most * session.nodes() {
            total.notes.push(format!("Nodes have different numbers of processes, {most} at most."));
        }
        let now = Instant::now();
        Ok(Job {
            session,
            options,
            progress,
            started: now,
            saved: now,
            printed: now,
            stopped: false,
            hopeless: None,
            total,
        })
    }

    /// When the time limit is reached.
    fn deadline(&self) -> Option<Instant> {
        self.started.checked_add(self.options.time_limit?)
    }

    fn measure(
        &mut self,
        mut measured: Option<&mut dyn Measured>,
        configuration: &Configuration,
        place: (usize, usize),
    ) -> Result<()> {
        let Options { trials, cycles, .. } = *self.options;
        let batch = self.agreed_batch(measured.as_deref());
        if let Some(measured) = &mut measured {
            measured.warm_up((trials / 10).clamp(1, 1000))?;
        }
        for cycle in 0..cycles {
            let mut done = 0;
            while done < trials && !self.stopped {
                let next = batch.min(trials - done);
                if let Some(measured) = &mut measured {
                    measured.run(next)?;
                }
                done += next;
                let over = self.deadline().is_some_and(|deadline| Instant::now() >= deadline);
                let hopeless = measured.as_ref().and_then(|measured| measured.hopeless());
                let stop = self.session.stopped() || over || hopeless.is_some();
                self.stopped = self.session.any_of(stop, measured.is_none());
                self.hopeless = hopeless.or(self.hopeless.take());
                let of_cycle = done as f64 / trials as f64;
                self.report_share((f64::from(cycle) + of_cycle) / f64::from(cycles), place);
            }
            if let Some(measured) = &mut measured {
                measured.end_cycle();
            }
            if let Some(reason) = &self.hopeless {
                self.total.interruptions.push(format!("{configuration}: {reason}"));
                break;
            }
            if self.stopped {
                self.total.interruptions.push(format!(
                    "Stopped in cycle {} of {cycles} of {configuration}, after {} s.",
                    cycle + 1,
                    self.started.elapsed().as_secs()
                ));
                break;
            }
            let due = self.session.is_first() && self.saved.elapsed() >= SAVE;
            if cycle + 1 < cycles && self.session.any_of(due, measured.is_none()) {
                let mut so_far = self.total.clone();
                so_far
                    .interruptions
                    .push("Not finished: these are partial results, saved during the run.".into());
                self.collect(&mut measured, &mut so_far)?;
                self.save(&so_far)?;
            }
        }
        let mut total = std::mem::take(&mut self.total);
        self.collect(&mut measured, &mut total)?;
        self.total = total;
        self.save(&self.total.clone())
    }

    /// The smallest batch that any process wants, so that all check at the same time.
    fn agreed_batch(&self, measured: Option<&dyn Measured>) -> u64 {
        let own = measured.map_or(u64::MAX, |measured| measured.batch());
        let least = self.session.world.largest(&[!own]).first().map_or(0, |largest| !largest);
        least.max(1)
    }

    /// Adds the recordings of all processes to `total`, on rank 0.
    fn collect(&self, measured: &mut Option<&mut dyn Measured>, total: &mut Measurement) -> Result<()> {
        let mut own = Measurement::default();
        for series in measured.as_mut().map(|measured| measured.series()).unwrap_or_default() {
            own.add(series)?;
        }
        own.notes = measured.as_ref().map(|measured| measured.notes()).unwrap_or_default();
        let add = |sum: &mut Measurement, more: Measurement| -> Result<()> {
            for series in more.series {
                sum.add(series)?;
            }
            for note in more.notes {
                if !sum.notes.contains(&note) {
                    sum.notes.push(note);
                }
            }
            Ok(())
        };
        match self.session.merge(own, add)? {
            Some(all) => add(total, all),
            None => Ok(()),
        }
    }

    fn save(&mut self, measurement: &Measurement) -> Result<()> {
        self.saved = Instant::now();
        let path = &self.options.output;
        let written = if self.session.is_first() {
            straggler_model::latency::write(path, measurement).map_err(|error| error.to_string())
        } else {
            Ok(())
        };
        // If one process cannot continue, all end together.
        if self.session.any(written.is_err()) {
            anyhow::bail!(written.err().unwrap_or_else(|| "rank 0 cannot write the file".into()));
        }
        Ok(())
    }

    fn report_share(&mut self, share: f64, (number, of): (usize, usize)) {
        if !self.session.is_first() || self.printed.elapsed() < TELL {
            return;
        }
        self.printed = Instant::now();
        let done = (number as f64 + share) / of as f64;
        if done >= 1.0 {
            return;
        }
        let spent = self.started.elapsed().as_secs_f64();
        let left = spent * (1.0 - done) / done.max(1e-6);
        let part = if of > 1 { format!("configuration {} of {of}, ", number + 1) } else { String::new() };
        (self.progress)(&format!(
            "{part}{:.0} % done, {} left",
            done * 100.0,
            straggler_report::numbers::seconds(left)
        ));
    }

    fn finish(self) -> (Measurement, End) {
        let is_empty = self.session.is_first() && self.total.series.iter().all(|one| one.trials.is_empty());
        let (hopeless, is_empty) = (self.session.any(self.hopeless.is_some()), self.session.any(is_empty));
        let end = if self.stopped && self.session.any(self.session.stopped()) {
            End::Stopped
        } else if hopeless || is_empty {
            End::Empty(self.hopeless.unwrap_or_else(|| "Not a single trial was measured.".into()))
        } else {
            End::Regular
        };
        (self.total, end)
    }
}

/// The file is written at the end; checks now whether that will be possible.
fn refuse_missing_folder(session: &Session, path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let missing = session.is_first() && folder.is_some_and(|folder| !folder.is_dir());
    if session.any(missing) {
        anyhow::bail!("{}: there is no such folder on the host of rank 0: create it first", path.display());
    }
    Ok(())
}
