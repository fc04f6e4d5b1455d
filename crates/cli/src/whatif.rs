//! `straggler whatif`: simulates a traced run unchanged and under hypotheses, or changes a training job.

pub mod answer;
pub mod args;
pub mod page;
pub mod plan;
pub mod reenact;
pub mod words;

use crate::kernel::prelude::*;
use crate::trace::file::{Opened, Work, open_trace_for, refuse_one_of_many};
use crate::whatif::answer::{RunWaits, Simulated, WhatIfAnswer};
use crate::whatif::args::{TraceWhatIf, WhatIf};
use crate::whatif::reenact::{Base, Replayed, Several};
use crate::{
    args::Common, kernel::devices::threads, latency::drawn, network::load_network, training,
    whatif::plan::HypothesisPlan,
};
use std::borrow::Cow;
use straggler_analysis::study::FIT;
use straggler_analysis::waits::{Activities, CriticalPath, Regions, WaitStates};
use straggler_analysis::whatif::search::{Skipped, Slow, SlowRanks};
use straggler_analysis::whatif::{InCalls, Scenario, ScenarioError, Search, apply_all};
use straggler_model::network::{Drawn, PerByte};
use straggler_model::{Link, Network, Rank};
use straggler_noise::{Injection, NoiseSpec, Phases};
use straggler_schedule::collectives::Selector;
use straggler_schedule::traced::{Building, Options, TracedRun};
use straggler_schedule::workloads::{Only, choose_default};
use straggler_sim::{Control, Simulation};
use straggler_trace::{Trace, format::save};
use straggler_training::holds_job;

/// What the first file holds decides what can be changed.
pub fn run(mut typed: WhatIf, common: &Common, console: &Console) -> Outcome<()> {
    let Some((path, more)) = typed.files.split_first() else { return Err(Failure::usage("give a trace")) };
    std::fs::metadata(path).map_err(|fault| unreadable(path, &fault))?;
    if holds_job(path) {
        typed.given.refuse_for_job(path)?;
        return training::whatif::run(&typed, common.seed, console);
    }
    typed.given.refuse_for_trace(path)?;
    if let Some(second) = more.first() {
        return Err(Failure::usage(format!("{} is one file too many: give one trace", second.display())));
    }
    typed.trace.trace.clone_from(path);
    run_trace(&typed.trace, common, console)
}

pub fn run_trace(typed: &TraceWhatIf, common: &Common, console: &Console) -> Outcome<()> {
    let plans = plans(typed)?;
    let opened = open_trace_for(&typed.trace, if typed.search { Work::Search } else { Work::WhatIf })?;
    refuse_one_of_many(&typed.trace, &opened.trace)?;
    opened.warn_of_errors(&typed.trace, console);
    opened.warn_of_further_runs(&typed.trace, console);
    if !typed.reading.drop_unmatched {
        opened.refuse_much_missing(&typed.trace)?;
    }
    let mut session = Session::new(typed, common, &opened)?;
    let _orderly = Orderly::begin();
    let results = session.simulate_all(typed, plans, console)?;
    let answer = WhatIfAnswer::new(&session, typed, &opened, &results);
    pages::write_asked(typed.report.report.as_ref(), console, || page::page(&answer, &results))?;
    if console.json { console.print_json(&answer) } else { console.print(&words::summary(&answer)) }
}

/// All hypotheses, the one of the command line first.
fn plans(typed: &TraceWhatIf) -> Outcome<Vec<HypothesisPlan>> {
    let mut plans: Vec<HypothesisPlan> = HypothesisPlan::of_typed(&typed.changes).into_iter().collect();
    if let Some(path) = &typed.file {
        plans.extend(HypothesisPlan::read(path)?);
    }
    if plans.is_empty() && !typed.search && typed.replayed.is_none() {
        return Err(Failure::usage(
            "nothing is changed: give --scale, --balance, --network or another hypothesis, or --search \
             (`straggler whatif --help`)",
        ));
    }
    Ok(plans)
}

/// The unchanged run on an ideal network: its end, and the run time of its longest rank.
pub struct Ideal {
    end: Time,
    longest: Time,
}

/// Results of all simulations.
pub struct Results {
    /// When the traced run ended, and its waits.
    measured: Time,
    waits: RunWaits,
    /// Keeps its trace and individual waits only if a page shows them.
    identity: Scenario,
    identity_waits: RunWaits,
    ideal: Ideal,
    /// Given hypotheses in their order, then those of a search by gain. Only the best keeps its
    /// trace and its individual waits.
    hypotheses: Vec<Simulated>,
    /// Hypotheses that a search did not try.
    skipped: Vec<Skipped>,
    /// Slow ranks that a search fixed together, in this order.
    fixed: Vec<Rank>,
    /// Hypotheses under which the program would hang.
    hanging: Vec<String>,
    /// The first hypothesis, or the unchanged run if there is none, with real messages.
    replayed: Option<Replayed>,
}

/// A network without costs; no send waits for its receive.
const IDEAL: Link = Link {
    latency: Time::ZERO,
    send_overhead: Time::ZERO,
    recv_overhead: Time::ZERO,
    gap: Time::ZERO,
    gap_per_byte: PerByte::ZERO,
    overhead_per_byte: PerByte::ZERO,
    eager_limit: u64::MAX,
    overlap_limit: u64::MAX,
};

/// Settings shared by all simulations.
pub struct Session<'a> {
    trace: &'a Trace,
    options: Options,
    base: Base,
    reduction: PerByte,
    seed: u64,
    threads: usize,
}

/// Adds a result. Only the best one keeps its run, for the page: many runs of a long trace would
/// not fit into memory.
fn keep_best(all: &mut Vec<Simulated>, mut next: Simulated, identity: Time, is_shown: bool) {
    let best = all.iter_mut().min_by_key(|one| one.order(identity));
    match best {
        _ if !is_shown => forget_run(&mut next.scenario),
        Some(best) if best.order(identity) <= next.order(identity) => forget_run(&mut next.scenario),
        Some(best) => forget_run(&mut best.scenario),
        None => {}
    }
    all.push(next);
}

/// What determined the length of a run.
fn critical_path(trace: &Trace, waits: &WaitStates) -> CriticalPath {
    CriticalPath::new(trace, waits, &Activities::new(trace, waits, &Regions::new(trace)))
}

/// Drops what only a page shows: the calls and the individual waits.
fn forget_run(scenario: &mut Scenario) {
    scenario.trace = Trace::default();
    scenario.waits.waits = Vec::new();
}

/// The settings of one simulation.
struct Setting<'a> {
    network: &'a Network,
    latency: Option<Drawn>,
    noise: Option<Injection>,
    algorithms: Option<&'a str>,
}

impl<'a> Session<'a> {
    fn new(typed: &TraceWhatIf, common: &Common, opened: &'a Opened) -> Outcome<Session<'a>> {
        let base = Base::new(typed, opened)?;
        let mut options = typed.reading.options(Only::All);
        options.decisions = typed.mode.decisions();
        options.drop_unmatched |= opened.is_only_cut();
        options.spin = typed.spin.unwrap_or(options.spin);
        Ok(Session {
            trace: &opened.trace,
            options,
            base,
            reduction: typed.reduction_cost.unwrap_or(PerByte::ZERO),
            seed: common.seed,
            threads: threads(common.threads.map(Into::into)),
        })
    }

    fn simulate_all(
        &mut self,
        typed: &TraceWhatIf,
        mut plans: Vec<HypothesisPlan>,
        console: &Console,
    ) -> Outcome<Results> {
        let measured = self.measured(typed)?;
        let waits = RunWaits::new(&WaitStates::new(self.trace), &InCalls::new(self.trace));
        let began = Instant::now();
        let mut identity = self.identity(measured)?;
        identity.notes.iter().for_each(|note| console.note(note));
        let one = began.elapsed();
        let identity_waits = RunWaits::new(&identity.waits, &identity.calls);
        let (mut skipped, mut slow, mut next) = (Vec::new(), SlowRanks::default(), None);
        let asked = plans.len();
        if typed.search {
            let path = critical_path(&identity.trace, &identity.waits);
            let search = Search::new(self.trace, &identity.trace, identity.end, &path);
            plans.extend(search.candidates.into_iter().map(HypothesisPlan::of_candidate));
            (skipped, slow) = (search.skipped, search.slow);
            next = slow.next(&[], &identity.trace, identity.end, &path);
        }
        if typed.report.report.is_none() {
            forget_run(&mut identity);
        }
        let ideal = self.ideal()?;
        let mut meter = Several::new(console, plans.len() + usize::from(next.is_some()), one);
        let mut hypotheses: Vec<Simulated> = Vec::with_capacity(plans.len());
        let mut hanging = Vec::new();
        let mut given = 0;
        let typed_ones = usize::from(HypothesisPlan::of_typed(&typed.changes).is_some());
        for (number, plan) in plans.iter().enumerate() {
            meter.next(&plan.text());
            let simulated = match self.hypothesis(plan, console).map_err(|failure| plan.named(failure)) {
                // If one of several hangs, the others are still compared.
                Err(failure) if number >= typed_ones && plans.len() > 1 && failure.exit == Exit::Stuck => {
                    hanging.push(format!("{:#}", failure.error));
                    continue;
                }
                other => other?,
            };
            if let (Some(path), true) = (&typed.save_trace, hypotheses.is_empty()) {
                save::save(&simulated.scenario.trace, path).map_err(|fault| {
                    Failure::bad_input(format!("{}: {fault}; use another --save-trace", path.display()))
                })?;
            }
            given += usize::from(number < asked);
            keep_best(&mut hypotheses, simulated, identity.end, typed.report.report.is_some());
        }
        let mut fixed: Vec<Slow> = Vec::new();
        while let Some(slowest) = next.take() {
            fixed.push(slowest);
            let plan = HypothesisPlan::of_candidate(SlowRanks::together(&fixed));
            meter.next(&plan.text());
            let simulated = match self.hypothesis(&plan, console) {
                Err(failure) if failure.exit == Exit::Stuck => {
                    hanging.push(format!("{:#}", failure.error));
                    break;
                }
                other => other?,
            };
            let Scenario { trace, waits, end, .. } = &simulated.scenario;
            next = slow.next(&fixed, trace, *end, &critical_path(trace, waits));
            keep_best(&mut hypotheses, simulated, identity.end, typed.report.report.is_some());
        }
        if hypotheses.is_empty() && !hanging.is_empty() {
            return Err(Failure::new(Exit::Stuck, anyhow::Error::msg(hanging.join("\n"))));
        }
        let first = hypotheses.first().map_or(identity.end, |one| one.scenario.end);
        let replayed = typed.replayed.as_deref();
        let replayed =
            replayed.map(|path| Replayed::read(path, self.trace, &self.options, console)).transpose()?;
        let replayed = replayed.map(|run| run.against(first));
        // Given hypotheses keep their order.
        hypotheses[given..].sort_by_key(|one| one.order(identity.end));
        Ok(Results {
            measured,
            waits,
            identity,
            identity_waits,
            ideal,
            hypotheses,
            skipped,
            fixed: fixed.iter().map(|slow| slow.rank).collect(),
            hanging,
            replayed,
        })
    }

    fn hypothesis(&self, plan: &HypothesisPlan, console: &Console) -> Outcome<Simulated> {
        let (trace, notes) = apply_all(self.trace, &plan.differences).map_err(Failure::bad_input_of)?;
        notes.iter().for_each(|note| console.note(note));
        let network = self.network_of(plan)?;
        let noise = self.noise_of(&plan.noise)?;
        let latency = drawn::load(&plan.latency, &network, self.seed, noise.is_some())?;
        latency.iter().flat_map(|latency| &latency.warnings).for_each(|warning| console.warn(warning));
        let latency = latency.map(|latency| latency.drawn);
        let setting = Setting { network: &network, latency, noise, algorithms: plan.algorithms.as_deref() };
        let scenario = self.simulate(trace, &setting, &plan.text())?;
        let waits = RunWaits::new(&scenario.waits, &scenario.calls);
        Ok(Simulated {
            text: plan.text(),
            is_hypothetical: plan.is_hypothetical,
            ideal_network: plan.is_limit(),
            network,
            scenario,
            waits,
            notes,
        })
    }

    /// Simulates a trace, with any changes already applied, on the network of the baseline.
    fn baseline(&self, trace: &Trace, what: &str) -> Outcome<Scenario> {
        let base = Setting { network: &self.base.network, latency: None, noise: None, algorithms: None };
        self.simulate(Cow::Borrowed(trace), &base, what)
    }

    /// The unchanged run. If it is far from the measured one on the fitted network, another network may be closer.
    fn identity(&mut self, measured: Time) -> Outcome<Scenario> {
        let identity = self.baseline(self.trace, "nothing changed")?;
        let off = |run: &Scenario| run.end.seconds() / measured.seconds().max(f64::MIN_POSITIVE) - 1.0;
        if !self.base.is_doubtful(off(&identity)) {
            return Ok(identity);
        }
        let fitted = std::mem::replace(&mut self.base, Base::fallback()?);
        let other = self.baseline(self.trace, "nothing changed")?;
        if off(&other).abs() * 2.0 > off(&identity).abs() {
            self.base = fitted;
            return Ok(identity);
        }
        self.base.doubt(&format!(
            "with the parameters fitted to it, the run would take {:.0} % {} than measured",
            100.0 * off(&identity).abs(),
            if off(&identity) > 0.0 { "longer" } else { "less" }
        ));
        Ok(other)
    }

    /// The unchanged run on an ideal network.
    fn ideal(&self) -> Outcome<Ideal> {
        let network = Network::uniform("ideal", IDEAL);
        let setting = Setting { network: &network, latency: None, noise: None, algorithms: None };
        let run = self.simulate(Cow::Borrowed(self.trace), &setting, "an ideal network")?;
        let longest = run.waits.ranks.iter().map(|rank| rank.run).max().unwrap_or_default();
        Ok(Ideal { end: run.end, longest })
    }

    /// When the traced run ended.
    fn measured(&self, typed: &TraceWhatIf) -> Outcome<Time> {
        let recording = TracedRun::from_trace(self.trace, &self.options)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", typed.trace.display())))?;
        Ok(recording.traced_end())
    }

    fn network_of(&self, plan: &HypothesisPlan) -> Outcome<Network> {
        match &plan.network {
            _ if plan.ideal_network => Ok(Network::uniform("ideal", IDEAL)),
            Some(name) if name != FIT => load_network(name, None),
            _ => Ok(self.base.network.clone()),
        }
    }

    fn noise_of(&self, specs: &[NoiseSpec]) -> Outcome<Option<Injection>> {
        let mut sources = Vec::new();
        for spec in specs {
            sources.extend(spec.load(self.seed)?.sources);
        }
        if sources.is_empty() {
            return Ok(None);
        }
        Ok(Some(Injection::new(sources, Phases::Drawn { seed: self.seed, replica: 0 }, false)?))
    }

    fn simulate(&self, trace: Cow<'_, Trace>, setting: &Setting<'_>, what: &str) -> Outcome<Scenario> {
        interrupt::check()?;
        let selector = Selector::load(setting.algorithms.unwrap_or(Selector::PRESETS[0]))?;
        let choose = |operation, job: &_| {
            selector.choose(operation, job, false).cloned().unwrap_or_else(|_| choose_default(operation, job))
        };
        let building = Building { choose: &choose, reduction: self.reduction };
        let mut simulation = Simulation::new(setting.network);
        simulation.noise = setting.noise.as_ref();
        simulation.latency = setting.latency.as_ref();
        let mut progress = |_| {};
        let mut control = Control::new(self.threads).stop_if(interrupt::flag()).progress(&mut progress);
        match Scenario::simulate(trace, &self.options, &building, &simulation, &mut control) {
            Ok(scenario) => Ok(scenario),
            Err(ScenarioError::Hangs(hang)) => Err(words::hangs(what, &hang)),
            Err(ScenarioError::Run(error)) => Err(error.into()),
            Err(error) => Err(Failure::bad_input(format!("{what}: {error}"))),
        }
    }
}
