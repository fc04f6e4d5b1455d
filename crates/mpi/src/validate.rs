//! `straggler mpi validate`: how well the simulation predicts runs on this machine.
//!
//! ```text
//! for each case, again and again:
//!   all ranks: LogGP ─► noise of the machine ─► a run without detours ─► a run with them, at known phases
//!                │             │                                                  │ phases
//!                ▼             ▼                                                  ▼
//!   rank 0:   the same two runs, simulated ───────────────────────────────────────────► predicted slowdown
//! ```
//! The network parameters and the machine's own noise change from second to second, so both are measured
//! beside every pair of runs. A prediction uses nothing from the runs it predicts except their plan. The
//! slowdown of a case is the median over its pairs, for the measured times and for the predicted ones.

mod detours;
mod predict;
mod rounds;
mod run;
mod summary;

pub use rounds::Kind;
pub use summary::{CaseAnswer, Compared, Medians, Pair, Validation};

use crate::loggp;
use crate::session::{Session, alone};
use crate::wire::Fault;
use anyhow::{Result, bail};
use detours::{Found, Plan};
use predict::Predictor;
use run::{Case, CaseRunner};
use std::path::PathBuf;
use straggler_model::philox::Stream;
use straggler_model::replace::refuse_missing_folder;
use straggler_model::{Network, Time};

/// Number of collectives in the trial run that measures the time of one.
const TRIAL: u32 = 200;

/// Upper bound for the messages of a run, all of which are simulated.
const MOST_MESSAGES: u64 = 1 << 20;

/// Which cases are run and simulated.
#[derive(Clone, Debug)]
pub struct Options {
    /// Approximate length of each run.
    pub length: Time,
    /// Repetitions of each case, of which the median counts.
    pub repetitions: usize,
    /// Lengths of the detours, each a case of its own.
    pub detours: Vec<Time>,
    /// Time from one detour of a rank to the next.
    pub period: Time,
    /// Work of a rank between two collectives.
    pub work: Vec<Time>,
    pub seed: u64,
    /// The file that the caller will write.
    pub output: Option<PathBuf>,
}

/// Runs all cases. All ranks get an answer; only that of rank 0 has results. `progress` prints a line of progress.
pub fn run(session: &Session, options: &Options, progress: &dyn Fn(&str)) -> Result<Validation> {
    check(session, options)?;
    let runner = CaseRunner::new(session).map_err(fault)?;
    let mut cases = Vec::new();
    'all: for kind in Kind::ALL {
        for &work in &options.work {
            for &length in &options.detours {
                let validator = Validator { session, runner: &runner, options, kind, work, length };
                match validator.case(cases.len() as u32)? {
                    Some(case) => cases.push(case),
                    None => break 'all,
                }
                progress(&cases.last().map(CaseAnswer::line).unwrap_or_default());
            }
        }
    }
    Ok(Validation::new(session, options, cases))
}

fn fault(fault: Fault) -> anyhow::Error {
    alone(fault)
}

/// Refuses what cannot be validated before anything is measured, on all ranks alike.
fn check(session: &Session, options: &Options) -> Result<()> {
    if session.size < 2 {
        bail!(
            "a collective needs two processes, but this job has one: start it with `mpirun -n 2 straggler mpi validate`"
        );
    }
    let most = options.detours.iter().max().copied().unwrap_or_default();
    if most >= options.period || options.detours.contains(&Time::ZERO) {
        bail!("--detours {most}: detours must be longer than 0 and shorter than --period {}", options.period);
    }
    if options.period > options.length {
        bail!("--period {} is longer than a run, --length {}", options.period, options.length);
    }
    let folder = match options.output.as_deref().filter(|_| session.is_first()) {
        Some(path) => refuse_missing_folder(path),
        None => Ok(()),
    };
    if session.any(folder.is_err()) {
        folder?;
        bail!("rank 0 cannot write the file");
    }
    Ok(())
}

struct Validator<'a> {
    session: &'a Session,
    runner: &'a CaseRunner<'a>,
    options: &'a Options,
    kind: Kind,
    work: Time,
    length: Time,
}

fn ns(time: Time) -> i64 {
    i64::try_from(time.ps() / 1000).unwrap_or(i64::MAX)
}

impl Validator<'_> {
    /// Measures and predicts one case; `None` if the job was told to stop. Only rank 0 has the results.
    fn case(&self, number: u32) -> Result<Option<CaseAnswer>> {
        let count = self.count()?;
        let (mut pairs, mut doubts) = (Vec::new(), Vec::new());
        for repetition in 0..self.options.repetitions as u32 {
            if self.session.any(self.session.stopped()) {
                return Ok(None);
            }
            let measured = loggp::between_two(self.session, self.options.seed)?;
            if self.session.any(self.session.stopped()) {
                return Ok(None);
            }
            let own = self.session.gather_all(&self.runner.watch(ns(self.options.length)))?;
            let plans: Vec<Plan> =
                (0..self.session.size).map(|rank| self.plan(number, repetition, rank)).collect();
            let plan = plans[self.session.rank as usize];
            let quiet = self.measure(count, Plan { length_ns: 0, ..plan })?;
            let noisy = self.measure(count, plan)?;
            if let Some(measured) = measured {
                let network = measured.network("measured");
                let measured = Measured { quiet: &quiet, noisy: &noisy };
                match self.predict(count, network, &own, &plans, &measured) {
                    Ok(pair) => pairs.push(pair),
                    Err(error) => doubts.push(format!("a pair of runs was not predicted: {error:#}")),
                }
            }
        }
        Ok(Some(CaseAnswer::new(self.kind, self.work, self.length, count, pairs, doubts)))
    }

    /// The detours of a rank, drawn anew for every pair.
    fn plan(&self, number: u32, repetition: u32, rank: u32) -> Plan {
        let mut stream = Stream::new(self.options.seed, repetition, rank, number);
        let first = stream.below(self.options.period.ps().max(1));
        Plan { first_ns: ns(Time(first)), period_ns: ns(self.options.period), length_ns: ns(self.length) }
    }

    /// The number of collectives that take about as long as a run should.
    fn count(&self) -> Result<u32> {
        let quiet = Plan { first_ns: 0, period_ns: 1, length_ns: 0 };
        let found = self.measure(TRIAL, quiet)?;
        let took = found.iter().map(|rank| rank.took_ns).max().unwrap_or(1).max(1);
        let wanted = i64::from(TRIAL).saturating_mul(ns(self.options.length)) / took;
        let most = MOST_MESSAGES / u64::from(self.session.size * (self.session.size.ilog2() + 2));
        Ok(u32::try_from(wanted).unwrap_or(u32::MAX).clamp(10, most.max(10) as u32))
    }

    /// Runs the case once. Returns what happened on all ranks.
    fn measure(&self, count: u32, plan: Plan) -> Result<Vec<Found>> {
        let case = Case { kind: self.kind, work_ns: ns(self.work), count };
        let own = self.runner.run(case, plan).map_err(fault)?;
        self.session.gather_all(&own)
    }

    fn predict(
        &self,
        count: u32,
        network: Network,
        own: &[Found],
        plans: &[Plan],
        measured: &Measured<'_>,
    ) -> Result<Pair> {
        let link = network.link(0, 1);
        let (latency, send, recv) = (link.latency, link.send_overhead, link.recv_overhead);
        let predictor = Predictor::new(self.kind, self.session.size, self.work, count, network);
        let took = |found: &[Found]| found.iter().map(|rank| rank.took_ns).max().unwrap_or(0) as f64 * 1e-9;
        let share = |found: &[Found]| found.iter().map(Found::share).fold(0.0, f64::max);
        Ok(Pair {
            quiet_seconds: took(measured.quiet),
            noisy_seconds: took(measured.noisy),
            predicted_quiet_seconds: predictor.predict(own, &[])?.seconds(),
            predicted_noisy_seconds: predictor.predict(own, plans)?.seconds(),
            own_noise: share(own),
            own_noise_in_runs: share(measured.quiet).max(share(measured.noisy)),
            latency_seconds: latency.seconds(),
            send_overhead_seconds: send.seconds(),
            recv_overhead_seconds: recv.seconds(),
        })
    }
}

/// The two runs of a pair, by rank.
struct Measured<'a> {
    quiet: &'a [Found],
    noisy: &'a [Found],
}
