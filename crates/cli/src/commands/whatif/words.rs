//! What `straggler whatif` answers, for people.

use super::answer::{Answer, EfficiencyAnswer, HypothesisAnswer, RunWaits};
use crate::commands::simulate::circle;
use crate::exit::{Exit, Failure};
use straggler_analysis::whatif::Hang;
use straggler_analysis::whatif::scenario::HangingCall;
use straggler_report::Table;
use straggler_report::numbers::{counted, grouped, percent, seconds};

pub fn say(answer: &Answer) -> String {
    let sorted = answer.sorted();
    let mut text = sentence(answer, &sorted);
    for warning in &answer.doubts {
        text += &format!("\nwarning: {warning}.");
    }
    let mut after = String::from("\n");
    let superfluous: u64 = sorted.first().map_or(0, |best| best.superfluous_tests);
    if superfluous > 0 {
        let tests = counted(superfluous, "test would", "tests would");
        after += &format!("\n{tests} not be called any more, because one before finds what it asks for.");
    }
    after.extend(answer.efficiency.as_ref().map(|factors| format!("\n{}", efficiency(factors))));
    if !answer.skipped.is_empty() {
        let names: Vec<&str> = answer.skipped.iter().map(|one| one.hypothesis.as_str()).collect();
        after += &format!(
            "\nNot simulated, because the critical path leaves it less than 0.1 % to gain: {}.",
            names.join("; ")
        );
    }
    format!("{text}\n\n{}\n{}{after}\n", runs(answer, &sorted), waits(answer, &sorted).trim_end())
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
        "Parallel efficiency of the run as it was: {} = load balance {} × communication {}{split}.",
        percent(factors.parallel),
        percent(factors.load_balance),
        percent(factors.communication)
    )
}

fn ps(time: u64) -> String {
    seconds(time as f64 * 1e-12)
}

pub fn sentence(answer: &Answer, sorted: &[&HypothesisAnswer]) -> String {
    let synthetic = if answer.synthetic { " (synthetic)" } else { "" };
    let model = match answer.identity_error {
        Some(error) if error.abs() < 5e-5 => ", as long as it did".to_owned(),
        Some(error) if error > 0.0 => format!(", {} longer than it did", percent(error)),
        Some(error) => format!(", {} shorter than it did", percent(-error)),
        None => String::new(),
    };
    let baseline =
        format!("Simulated as it was, the run{synthetic} takes {}{model}.", ps(answer.identity_ps));
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
    let what = if sorted.len() > 1 { "Largest gain, with" } else { "With" };
    format!("{what} {}: {time} instead of {instead}, {verdict}.{decided}\n{baseline}", best.hypothesis)
}

/// What the run took with real messages.
fn replayed(answer: &Answer) -> String {
    let Some(run) = &answer.replayed else { return String::new() };
    let what = answer.hypotheses.first().map_or("as it was", |first| first.hypothesis.as_str());
    let against = match run.error {
        Some(error) if error.abs() < 5e-5 => ", as simulated".to_owned(),
        Some(error) if error > 0.0 => format!(", {} longer than simulated", percent(error)),
        Some(error) => format!(", {} shorter than simulated", percent(-error)),
        None => String::new(),
    };
    format!("\nReplayed with real messages ({what}), it takes {}{against}.", ps(run.replayed_ps))
}

fn verdict(one: &HypothesisAnswer) -> String {
    match one.gain {
        gain if gain.abs() < 5e-5 => "no gain".into(),
        gain if gain > 0.0 => format!("{} shorter", percent(gain)),
        gain => format!("{} longer", percent(-gain)),
    }
}

/// The measured run, the identity simulation and the hypotheses side by side, the largest gain first.
fn runs(answer: &Answer, sorted: &[&HypothesisAnswer]) -> String {
    let mut table = Table::with_header([
        "run",
        "time",
        "gain",
        "computation",
        "waiting",
        "in MPI otherwise",
        "decisions that differ",
    ]);
    let mut row = |name: &str, time: u64, gain: Option<f64>, waits: &RunWaits, decided: Option<u64>| {
        table.row([
            name.to_owned(),
            ps(time),
            gain.map_or(String::new(), |gain| format!("{:+.2} %", gain * 100.0)),
            seconds(waits.computation_seconds),
            seconds(waits.waiting_seconds),
            seconds(waits.communication_seconds),
            decided.map_or(String::new(), grouped),
        ]);
    };
    row("measured", answer.measured_ps, None, &answer.waits.measured, None);
    let own = answer.identity_decisions.iter().map(|decision| decision.count).sum();
    row("identity", answer.identity_ps, None, &answer.waits.identity, Some(own));
    for one in sorted {
        let decided = Some(one.decisions_changed);
        row(&one.hypothesis, one.hypothesis_ps, Some(one.gain), &one.waits, decided);
    }
    if let Some(run) = &answer.replayed {
        row("replayed", run.replayed_ps, None, &run.waits, None);
    }
    format!("{table}  computation, waiting and MPI: of all ranks together\n")
}

/// Patterns that occur in any of the runs.
fn waits(answer: &Answer, sorted: &[&HypothesisAnswer]) -> String {
    let mut runs: Vec<&RunWaits> = vec![&answer.waits.measured, &answer.waits.identity];
    runs.extend(sorted.iter().take(MOST).map(|one| &one.waits));
    runs.extend(answer.replayed.as_ref().map(|run| &run.waits));
    let names: Vec<&'static str> = answer.waits.measured.patterns.iter().map(|one| one.pattern).collect();
    let names: Vec<&'static str> =
        names.into_iter().filter(|name| runs.iter().any(|run| run.seconds_of(name) > 0.0)).collect();
    if names.is_empty() {
        return "Nobody waits for anybody.".into();
    }
    let mut heads = vec!["waits".to_owned(), "measured".into(), "identity".into()];
    heads.extend(sorted.iter().take(MOST).enumerate().map(|(number, one)| {
        if sorted.len() == 1 { "hypothesis".into() } else { format!("{}. {}", number + 1, one.hypothesis) }
    }));
    heads.extend(answer.replayed.as_ref().map(|_| "replayed".into()));
    let mut table = Table::with_header(heads);
    for name in names {
        let mut cells = vec![name.replace("nxn", "NxN").replace('_', " ")];
        cells.extend(runs.iter().map(|run| seconds(run.seconds_of(name))));
        table.row(cells);
    }
    table.to_string()
}

/// Calls that are listed before the rest is only counted.
const MOST_CALLS: usize = 8;

/// A hypothesis with which the program would not come to its end.
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

/// Hypotheses with a column of their own.
const MOST: usize = 3;
