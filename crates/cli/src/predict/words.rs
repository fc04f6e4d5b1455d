//! A prediction as text.

use crate::predict::PredictAnswer;
use crate::trace::traced::no_stream_of;
use straggler_model::Time;
use straggler_report::numbers::{counted, grouped, is_factor, longer, percent, slowdown};
use straggler_report::{Cell, Columns, Table};

/// Most rows of the table of ranks; the rest are only counted.
const MOST_RANKS: usize = 16;

pub fn say(answer: &PredictAnswer) -> String {
    let mut text = sentence(answer);
    if let Some(missing) = no_stream_of(&answer.ranks_without_a_stream) {
        text += &format!(
            "\nIn the trace {missing}: calls of other ranks that involve it are dropped, so the error \
             above is not reliable."
        );
    }
    for host in &answer.shared_hosts {
        text += &format!(
            "\n{} of {} shared {}: they waited for each other's computation, so the error above is not \
             reliable.",
            counted(host.ranks.into(), "rank", "ranks"),
            if host.host.is_empty() { "a host" } else { &host.host },
            counted(host.cores.into(), "core", "cores"),
        );
    }
    if let Some(disturbed) = &answer.disturbed {
        text += &format!("\n{}: the error above is not reliable.", disturbed.found.loss());
    }
    if answer.threaded_ranks > 0 {
        text += &format!(
            "\n{} from several threads: waits between threads count as computation, so the error above is \
             not reliable.",
            counted(answer.threaded_ranks.into(), "rank calls", "ranks call"),
        );
    }
    format!("{text}\n\n{}{}", parameters(answer), ranks(answer))
}

fn sentence(answer: &PredictAnswer) -> String {
    let synthetic = if answer.synthetic { " (synthetic)" } else { "" };
    let predicted = seconds(answer.predicted_seconds);
    if answer.copies > 1 {
        return format!(
            "{} copies of the trace{synthetic}, {} processes: the model predicts {predicted}. The traced \
             run of {} took {}.",
            grouped(answer.copies),
            grouped(answer.processes),
            counted(u64::from(answer.processes / answer.copies), "process", "processes"),
            seconds(answer.traced_seconds),
        );
    }
    let off = match answer.error {
        None => String::new(),
        // Another network is a question, not a prediction of this run.
        Some(error) if answer.fit.is_none() => {
            let side = if error > 0.0 { "longer" } else { "shorter" };
            format!(" On this network it is {} {side}.", percent(error.abs()))
        }
        Some(error) if error.abs() < 5e-5 => " The prediction is less than 0.01 % off.".into(),
        Some(error) if is_factor(error) => format!(" The prediction is {}.", longer(error)),
        Some(error) => {
            let side = if error > 0.0 { "long" } else { "short" };
            format!(" The prediction is {} too {side}.", percent(error.abs()))
        }
    };
    let worst = answer
        .largest_error_of_a_rank
        .as_ref()
        .filter(|_| answer.fit.is_some())
        .map_or_else(String::new, |worst| {
            format!(" The largest error of one rank is {} (rank {}).", slowdown(worst.error), worst.rank)
        });
    format!(
        "The model predicts {predicted}; the run took {}{synthetic}.{off}{worst}",
        seconds(answer.traced_seconds)
    )
}

/// A run time, to four digits.
fn seconds(value: f64) -> String {
    Time((value * 1e12).round() as u64).to_string()
}

fn parameters(answer: &PredictAnswer) -> String {
    let mut facts = Table::facts();
    facts.row(["network", &format!("{} ({})", answer.network.name, answer.network.parameters())]);
    if let Some(latency) = &answer.latency {
        facts.row(["latency", &latency.in_words()]);
    }
    if let Some(fit) = &answer.fit {
        let told = [
            (fit.sends, ["send", "sends"]),
            (fit.receives, ["receive", "receives"]),
            (fit.flights, ["transfer", "transfers"]),
            (fit.collectives, ["collective", "collectives"]),
            (fit.replays, ["replay", "replays"]),
        ];
        let told = told.iter().filter(|(count, _)| *count > 0);
        let from: Vec<String> = told.map(|(count, [one, many])| counted(*count as u64, one, many)).collect();
        let from = from.join(", ");
        facts.row(["fitted to", &from]);
        if let Some(uncertainty) = fit.uncertainty {
            facts.row(["uncertain by", &format!("±{}", percent(uncertainty.max(1e-4)))]);
        }
        fit.assumed.iter().for_each(|assumed| facts.row(["assumed", assumed]));
    }
    facts.row(["messages", &grouped(answer.messages)]);
    format!("{facts}")
}

fn ranks(answer: &PredictAnswer) -> String {
    if answer.ranks.is_empty() {
        return String::new();
    }
    let table = Columns::over(answer.ranks.iter().enumerate().take(MOST_RANKS))
        .number("rank", |(rank, _)| Cell::id(rank))
        .number("traced", |(_, row)| seconds(row.traced_seconds))
        .number("predicted", |(_, row)| seconds(row.predicted_seconds))
        .number("error", |(_, row)| row.error.map(Cell::slowdown))
        .build();
    let rest = answer.ranks.len().saturating_sub(MOST_RANKS);
    let more = if rest > 0 {
        format!("… and {} more ranks (--json has all)\n", grouped(rest as u64))
    } else {
        String::new()
    };
    format!("\n{table}{more}")
}
