//! The answer of `straggler whatif` as text, and its tables, which the page shares.

use crate::kernel::prelude::*;
use crate::simulate::stuck::circle;
use crate::whatif::answer::{HypothesisAnswer, RunWaits, WhatIfAnswer};
use straggler_analysis::waits::Efficiency;
use straggler_analysis::whatif::{Hang, scenario::HangingCall, search::MOST_TOGETHER};
use straggler_report::numbers::{longer, longer_than};

pub fn summary(answer: &WhatIfAnswer) -> String {
    let sorted = answer.sorted();
    // Who reads the number has read what it is worth.
    let mut text: String = answer.unreliable.iter().map(|doubt| format!("warning: {doubt}.\n")).collect();
    text += &sentence(answer, &sorted);
    for warning in &answer.doubts {
        text += &format!("\nwarning: {warning}.");
    }
    let mut after = String::from("\n");
    let superfluous: u64 = sorted.first().map_or(0, |best| best.superfluous_tests);
    if superfluous > 0 {
        let tests = counted(superfluous, "test would", "tests would");
        after += &format!("\n{tests} no longer be called, because an earlier one succeeds.");
    }
    after.extend(answer.efficiency.as_ref().map(|factors| format!("\n{}", efficiency(factors))));
    if answer.fixed_together.len() > 1 {
        let ranks: Vec<String> = answer.fixed_together.iter().map(u32::to_string).collect();
        after += &format!(
            "\nSlow ranks were also fixed together, at most {MOST_TOGETHER}: each time the one that then limits the \
             run most. In this order: {}.",
            ranks.join(", ")
        );
    }
    if !answer.skipped.is_empty() {
        let names: Vec<&str> = answer.skipped.iter().map(|one| one.hypothesis.as_str()).collect();
        after += &format!(
            "\nNot simulated, because the critical path limits the gain to less than 0.1 %: {}.",
            names.join("; ")
        );
    }
    let (runs, patterns) = (runs(answer, &sorted), patterns(answer, &sorted));
    let waits = if patterns.is_empty() { "No rank waits for another.".into() } else { patterns.to_string() };
    let summed = "  computation, waiting and MPI are summed over all ranks";
    format!("{text}\n\n{runs}{summed}\n\n{}{after}\n", waits.trim_end())
}

/// How well the run uses its processes.
pub fn efficiency(factors: &Efficiency) -> String {
    let split = match (factors.serialisation, factors.transfer) {
        (Some(serialisation), Some(transfer)) => {
            format!(" (serialisation {} × transfer {})", percent(serialisation), percent(transfer))
        }
        _ => String::new(),
    };
    format!(
        "Parallel efficiency of the unchanged run: {} = load balance {} × communication {}{split}.",
        percent(factors.parallel),
        percent(factors.load_balance),
        percent(factors.communication)
    )
}

fn ps(time: u64) -> String {
    seconds(time as f64 * 1e-12)
}

pub fn sentence(answer: &WhatIfAnswer, sorted: &[&HypothesisAnswer]) -> String {
    let synthetic = if answer.synthetic { " (synthetic)" } else { "" };
    let model = match answer.identity_error {
        Some(error) if error.abs() < 5e-5 => ", as long as recorded".to_owned(),
        Some(error) if error > 0.0 => format!(", {} recorded", longer_than(error)),
        Some(error) => format!(", {} shorter than recorded", percent(-error)),
        None => String::new(),
    };
    let baseline =
        format!("Simulated unchanged, the run{synthetic} takes {}{model}.", ps(answer.identity_ps));
    let baseline = baseline + &replayed(answer);
    let Some(best) = sorted.first() else { return baseline };
    let decided = match best.decisions_changed {
        0 => String::new(),
        changed => {
            format!(" {} from the trace.", counted(changed, "decision differs", "decisions differ"))
        }
    };
    let (time, verdict) = (ps(best.hypothesis_ps), verdict(best));
    let instead = ps(answer.identity_ps);
    let what = match sorted.len() {
        1 => format!("With {},", best.hypothesis),
        _ if best.hypothetical => format!("No change that was tried gains 1 %. With {},", best.hypothesis),
        _ => format!("Largest gain: {}. With it,", best.hypothesis),
    };
    let faster = sorted.iter().find(|one| one.hypothetical && !best.hypothetical && one.gain > best.gain);
    let faster = faster.map_or_else(String::new, |faster| {
        format!(
            " With {}, it would be {} shorter, but nothing shows that it can be so fast.",
            faster.hypothesis,
            percent(faster.gain)
        )
    });
    let unmodelled = unmodelled(answer, best);
    let has_limit = !best.ideal_network && sorted.iter().any(|one| one.ideal_network);
    let limit = match has_limit {
        true => format!(
            "\nOn an ideal network it would take {}: no change to the network gains more.",
            ps(answer.ideal_network_ps)
        ),
        false => String::new(),
    };
    format!(
        "{what} the run would take {time}, not {instead} ({verdict}).{decided}{unmodelled}{faster}{limit}\n{baseline}"
    )
}

/// What calls without a model mean for the prediction; empty if they take little time.
fn unmodelled(answer: &WhatIfAnswer, best: &HypothesisAnswer) -> String {
    let Some(found) = answer.unmodelled.as_ref().filter(|found| found.is_much()) else {
        return String::new();
    };
    format!(
        " But {} of the run of rank {} is in calls without a model ({}), so it may take as little as {}.",
        percent(found.share),
        found.rank,
        found.names(),
        ps(best.at_least_ps)
    )
}

/// The run time with real messages.
fn replayed(answer: &WhatIfAnswer) -> String {
    let Some(run) = &answer.replayed else { return String::new() };
    let what = answer.hypotheses.first().map_or("unchanged", |first| first.hypothesis.as_str());
    let against = match run.error {
        Some(error) if error.abs() < 5e-5 => ", as simulated".to_owned(),
        Some(error) if error > 0.0 => format!(", {} simulated", longer_than(error)),
        Some(error) => format!(", {} shorter than simulated", percent(-error)),
        None => String::new(),
    };
    format!("\nReplayed with real messages ({what}), it takes {}{against}.", ps(run.replayed_ps))
}

fn verdict(one: &HypothesisAnswer) -> String {
    match one.gain {
        gain if gain.abs() < 5e-5 => "no gain".into(),
        gain if gain > 0.0 => format!("{} shorter", percent(gain)),
        gain => longer(-gain),
    }
}

/// Most calls in the list; the rest are only counted.
const MOST_CALLS: usize = 8;

/// A hypothesis under which the program would never finish.
pub fn hangs(what: &str, hang: &Hang) -> Failure {
    let mut text = format!("with {what}, the program would hang:");
    for HangingCall { rank, call, function } in hang.waiting.iter().take(MOST_CALLS) {
        text += &format!("\n  rank {rank} waits in {} (call {call})", function.name());
    }
    if hang.waiting.len() > MOST_CALLS {
        text += &format!("\n  … {} ranks in all", grouped(hang.waiting.len() as u64));
    }
    if !hang.stuck.cycle.is_empty() {
        text += &format!("\n  {}", circle(&hang.stuck.cycle));
    }
    text += "\nnumbers count the calls of the changed run";
    Failure::new(Exit::Stuck, anyhow::Error::msg(text))
}

/// Hypotheses with a separate column.
const MOST_COLUMNS: usize = 3;

#[derive(Clone, Copy)]
struct TitledRun<'a> {
    name: &'a str,
    ps: u64,
    gain: Option<f64>,
    waits: &'a RunWaits,
    /// Decisions that differ from the trace.
    decided: Option<u64>,
}

/// The measured run, the baseline and the hypotheses side by side, the largest gain first.
pub fn runs(answer: &WhatIfAnswer, sorted: &[&HypothesisAnswer]) -> Table {
    let of = |name, ps, waits| TitledRun { name, ps, gain: None, waits, decided: None };
    let own = answer.identity_decisions.iter().map(|decision| decision.count).sum();
    let measured = of("measured", answer.measured_ps, &answer.waits.measured);
    let identity =
        TitledRun { decided: Some(own), ..of("baseline", answer.identity_ps, &answer.waits.identity) };
    let hypotheses = sorted.iter().map(|one| TitledRun {
        name: &one.hypothesis,
        ps: one.hypothesis_ps,
        gain: Some(one.gain),
        waits: &one.waits,
        decided: Some(one.decisions_changed),
    });
    let replayed = answer.replayed.as_ref().map(|run| of("replayed", run.replayed_ps, &run.waits));
    Columns::over([measured, identity].into_iter().chain(hypotheses).chain(replayed))
        .text("run", |run| run.name)
        .number("time", |run| Cell::seconds(run.ps as f64 * 1e-12))
        .number("change", |run| run.gain.map(|gain| Cell::slowdown(-gain)))
        .number("computation", |run| Cell::seconds(run.waits.computation_seconds))
        .number("waiting", |run| Cell::seconds(run.waits.waiting_seconds))
        .number("other MPI time", |run| Cell::seconds(run.waits.communication_seconds))
        .number("decisions that differ", |run| run.decided.map(Cell::count))
        .build()
}

/// Patterns that occur in any of the runs.
pub fn patterns(answer: &WhatIfAnswer, sorted: &[&HypothesisAnswer]) -> Table {
    let shown = &sorted[..sorted.len().min(MOST_COLUMNS)];
    let mut runs: Vec<(String, &RunWaits)> =
        vec![("measured".into(), &answer.waits.measured), ("baseline".into(), &answer.waits.identity)];
    runs.extend((1..).zip(shown).map(|(number, one)| match sorted.len() {
        1 => ("hypothesis".into(), &one.waits),
        _ => (format!("{number}. {}", one.hypothesis), &one.waits),
    }));
    runs.extend(answer.replayed.as_ref().map(|run| ("replayed".into(), &run.waits)));
    let names = answer.waits.measured.patterns.iter().map(|one| one.pattern);
    let occurs = |name: &&str| runs.iter().any(|(_, run)| run.seconds_of(name) > 0.0);
    let named = Columns::over(names.filter(occurs))
        .text("waits", |name| name.replace("nxn", "NxN").replace('_', " "));
    let of_run = |columns: Columns<&'static str>, (title, run): (String, &RunWaits)| {
        columns.number(title, |name| Cell::seconds(run.seconds_of(name)))
    };
    named.each(runs, of_run).build()
}

pub fn decisions(sorted: &[&HypothesisAnswer]) -> Table {
    let rows = sorted.iter().flat_map(|&one| one.decisions.iter().map(move |decision| (one, decision)));
    Columns::over(rows)
        .text("run", |(one, _)| &one.hypothesis)
        .number("rank", |(_, decision)| Cell::id(decision.rank))
        .text("function", |(_, decision)| decision.function.name())
        .text("what", |(_, decision)| decision.kind.name().replace('_', " "))
        .number("count", |(_, decision)| Cell::count(decision.count))
        .build()
}
