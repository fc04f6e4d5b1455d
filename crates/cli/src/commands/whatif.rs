//! `straggler whatif`: a traced run, simulated as it was and as it might have been.

mod answer;
mod words;

use super::simulate::load_network;
use super::trace::{Opened, open_trace, refuse_one_of_many};
use super::{refuse_unwritable, threads};
use crate::args::Common;
use crate::args::whatif::WhatIf;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::interrupt::{self, Orderly};
use crate::plan::whatif::HypothesisPlan;
use answer::{Answer, Simulated};
use straggler_analysis::predict::fit;
use straggler_analysis::study::FIT;
use straggler_analysis::waits::WaitStates;
use straggler_analysis::whatif::{Scenario, ScenarioError, apply_all};
use straggler_model::network::PerByte;
use straggler_model::noise::{Injection, NoiseSpec, Phases};
use straggler_model::{Link, Network, Time};
use straggler_schedule::collectives::Selector;
use straggler_schedule::traced::{Building, Options, Recording};
use straggler_schedule::workloads::{Only, choose_default};
use straggler_sim::{Control, Simulation};
use straggler_trace::Trace;
use straggler_trace::format::save;

pub fn run(typed: &WhatIf, common: &Common, console: &Console) -> Outcome<()> {
    let plans = plans(typed)?;
    typed.save_trace.iter().try_for_each(|path| refuse_unwritable(path))?;
    let opened = open_trace(&typed.trace)?;
    refuse_one_of_many(&typed.trace, &opened.trace)?;
    opened.warn_of_errors(&typed.trace, console);
    opened.warn_of_further_runs(&typed.trace, console);
    let mut session = Session::new(typed, common, &opened)?;
    let _orderly = Orderly::begin();
    let answer = session.answer(typed, &opened, &plans, console)?;
    if console.json { console.print_json(&answer) } else { console.print(&words::say(&answer)) }
}

/// All hypotheses, that of the command line first.
fn plans(typed: &WhatIf) -> Outcome<Vec<HypothesisPlan>> {
    let mut plans: Vec<HypothesisPlan> = HypothesisPlan::of_typed(&typed.changes).into_iter().collect();
    if let Some(path) = &typed.file {
        plans.extend(HypothesisPlan::read(path)?);
    }
    if plans.is_empty() {
        return Err(Failure::usage(
            "nothing is different: give --scale, --balance, --network or another hypothesis (`straggler whatif --help`)",
        ));
    }
    Ok(plans)
}

/// A network that costs nothing; no send waits for its receive.
const IDEAL: Link = Link {
    latency: Time::ZERO,
    send_overhead: Time::ZERO,
    recv_overhead: Time::ZERO,
    gap: Time::ZERO,
    gap_per_byte: PerByte::ZERO,
    overhead_per_byte: PerByte::ZERO,
    eager_limit: u64::MAX,
};

/// What all simulations have in common.
struct Session<'a> {
    trace: &'a Trace,
    options: Options,
    network: Network,
    fitted: bool,
    reduction: PerByte,
    seed: u64,
    threads: usize,
}

/// What one simulation has of its own.
struct Setting<'a> {
    network: &'a Network,
    noise: Option<Injection>,
    algorithms: Option<&'a str>,
}

impl<'a> Session<'a> {
    fn new(typed: &WhatIf, common: &Common, opened: &'a Opened) -> Outcome<Session<'a>> {
        let named = typed.base_network.as_deref().filter(|&name| name != FIT);
        let network = match named {
            Some(name) => load_network(name, None)?,
            None => {
                fit(&opened.trace)
                    .map_err(|fault| {
                        Failure::bad_input(format!("{fault}; or give the network with --base-network"))
                    })?
                    .network
            }
        };
        let mut options = typed.reading.options(Only::All);
        options.decisions = typed.mode.decisions();
        options.drop_unmatched |= opened.is_only_cut();
        Ok(Session {
            trace: &opened.trace,
            options,
            network,
            fitted: named.is_none(),
            reduction: typed.reduction_cost.unwrap_or(PerByte::ZERO),
            seed: common.seed,
            threads: threads(common.threads.map(Into::into)),
        })
    }

    fn answer(
        &mut self,
        typed: &WhatIf,
        opened: &Opened,
        plans: &[HypothesisPlan],
        console: &Console,
    ) -> Outcome<Answer> {
        let measured = self.measured(typed)?;
        let waits = WaitStates::of(self.trace);
        let base = Setting { network: &self.network, noise: None, algorithms: None };
        let identity = self.simulate(self.trace, &base, "the identity simulation")?;
        identity.notes.iter().for_each(|note| console.note(note));
        let mut simulated = Vec::with_capacity(plans.len());
        for plan in plans {
            let (trace, notes) = apply_all(self.trace, &plan.differences).map_err(Failure::bad_input_of)?;
            notes.iter().for_each(|note| console.note(note));
            let network = self.network_of(plan)?;
            let noise = self.noise_of(&plan.noise)?;
            let setting = Setting { network: &network, noise, algorithms: plan.algorithms.as_deref() };
            let scenario = self.simulate(&trace, &setting, &plan.text())?;
            simulated.push(Simulated { text: plan.text(), network, scenario, notes });
        }
        if let (Some(path), Some(first)) = (&typed.save_trace, simulated.first()) {
            save::save(&first.scenario.trace, path).map_err(|fault| {
                Failure::bad_input(format!("{}: {fault}; give another --save-trace", path.display()))
            })?;
        }
        Ok(Answer::new(self, typed, opened, measured, &waits, &identity, simulated))
    }

    /// When the traced run was over.
    fn measured(&self, typed: &WhatIf) -> Outcome<Time> {
        let recording = Recording::from_trace(self.trace, &self.options)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", typed.trace.display())))?;
        Ok(recording.traced_end())
    }

    fn network_of(&self, plan: &HypothesisPlan) -> Outcome<Network> {
        match &plan.network {
            _ if plan.ideal_network => Ok(Network::uniform("ideal", IDEAL)),
            Some(name) if name != FIT => load_network(name, None),
            _ => Ok(self.network.clone()),
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

    fn simulate(&self, trace: &Trace, setting: &Setting<'_>, what: &str) -> Outcome<Scenario> {
        interrupt::check()?;
        let selector = Selector::load(setting.algorithms.unwrap_or(Selector::PRESETS[0]))?;
        let choose = |operation, job: &_| {
            selector.choose(operation, job, false).cloned().unwrap_or_else(|_| choose_default(operation, job))
        };
        let building = Building { choose: &choose, reduction: self.reduction };
        let mut simulation = Simulation::new(setting.network);
        simulation.noise = setting.noise.as_ref();
        let mut progress = |_| {};
        let mut control = Control::new(self.threads, interrupt::flag(), &mut progress);
        match Scenario::simulate(trace, &self.options, &building, &simulation, &mut control) {
            Ok(scenario) => Ok(scenario),
            Err(ScenarioError::Hangs(hang)) => Err(words::hangs(what, &hang)),
            Err(ScenarioError::Run(error)) => Err(error.into()),
            Err(error) => Err(Failure::bad_input(format!("{what}: {error}"))),
        }
    }
}
