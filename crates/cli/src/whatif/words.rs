//! The answer of `straggler whatif` as text.

use crate::kernel::{Exit, Failure};
use crate::simulate::stuck::circle;
use crate::whatif::answer::{EfficiencyAnswer, HypothesisAnswer, WhatIfAnswer};
use crate::whatif::tables;
use straggler_analysis::whatif::Hang;
use straggler_analysis::whatif::scenario::HangingCall;
use straggler_analysis::whatif::search::MOST_TOGETHER;
use straggler_report::numbers::{counted, grouped, longer, longer_than, percent, seconds};

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
    let (runs, patterns) = (tables::runs(answer, &sorted), tables::patterns(answer, &sorted));
    let waits = if patterns.is_empty() { "No rank waits for another.".into() } else { patterns.to_string() };
    let summed = "  computation, waiting and MPI are summed over all ranks";
    format!("{text}\n\n{runs}{summed}\n\n{}{after}\n", waits.trim_end())
}

/// How well the run uses its processes.
pub fn efficiency(factors: &EfficiencyAnswer) -> String {
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
