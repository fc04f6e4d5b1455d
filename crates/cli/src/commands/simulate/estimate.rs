//! Estimates for many replicas, printed before they run.

use super::inputs::Inputs;
use super::replicas::Replica;
use crate::console::Console;
use crate::devices;
use crate::estimate::{LONG_SECONDS, in_words, seconds_for};
use crate::exit::{Failure, Outcome};
use crate::memory::available_bytes;
use crate::plan::simulate::Plan;
use straggler_report::numbers::{counted, memory};

/// The fixed cost of a replica, in messages.
const MESSAGES_TO_BEGIN: f64 = 200.0;

/// Fails if the results of the replicas would not fit into memory, and announces a long run time.
pub fn check(plan: &Plan, inputs: &Inputs, console: &Console) -> Outcome<()> {
    let replicas = plan.replicas.len() as u64;
    refuse_too_many(replicas, available_bytes())?;
    let messages = inputs.workload.workload.messages() as f64 + MESSAGES_TO_BEGIN;
    let time = seconds_for(messages * replicas as f64, inputs.threads);
    // GPUs are about a hundred times as fast, but their speed is not known in advance.
    if time > LONG_SECONDS && !devices::is_there(plan.device)? {
        let count = counted(replicas, "replica", "replicas");
        let shorter =
            if replicas > 1 { "fewer --replicas or processes" } else { "fewer processes or cycles" };
        let time = in_words(time);
        console.warn(&format!("{count} will take about {time} (rough estimate): {shorter} reduce it"));
    }
    Ok(())
}

fn refuse_too_many(replicas: u64, available: Option<u64>) -> Outcome<()> {
    // Room for the result of each replica and its line of the answer.
    let needed = replicas.saturating_mul(4 * size_of::<Replica>() as u64);
    match available.filter(|&available| needed > available) {
        Some(available) => Err(Failure::usage(format!(
            "the results of {} take about {}, but {} are available: use fewer --replicas, or run a study, \
             which stores only their makespans",
            counted(replicas, "replica", "replicas"),
            memory(needed),
            memory(available)
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_that_do_not_fit_are_refused() {
        let text = refuse_too_many(4_000_000_000, Some(64 << 30)).unwrap_err().error.to_string();
        assert!(text.contains("4,000,000,000 replicas") && text.contains("64.0 GiB are available"), "{text}");
        assert!(refuse_too_many(1000, Some(64 << 30)).is_ok() && refuse_too_many(u64::MAX, None).is_ok());
    }
}
