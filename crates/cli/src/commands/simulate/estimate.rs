//! What many replicas take, said before they are run.

use super::inputs::Inputs;
use super::replicas::Replica;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::memory::available_bytes;
use crate::plan::simulate::Plan;
use straggler_report::numbers::{counted, memory, seconds};

/// Messages that a core delivers in a second, about; `straggler bench` measures it.
pub const MESSAGES_A_SECOND: f64 = 1e7;

/// What a replica costs besides its messages, in messages.
const MESSAGES_TO_BEGIN: f64 = 200.0;

/// Work that lasts longer is announced.
const LONG_SECONDS: f64 = 600.0;

/// Refuses replicas whose results would not fit into memory, and says how long the others will take, if that is long.
pub fn check(plan: &Plan, inputs: &Inputs, console: &Console) -> Outcome<()> {
    let replicas = plan.replicas.len() as u64;
    refuse_too_many(replicas, available_bytes())?;
    let messages = inputs.workload.workload.messages() as f64 + MESSAGES_TO_BEGIN;
    let time = messages * replicas as f64 / MESSAGES_A_SECOND / inputs.threads.max(1) as f64;
    if time > LONG_SECONDS {
        let count = counted(replicas, "replica", "replicas");
        console.warn(&format!("{count} will take about {}, very roughly", seconds(time)));
    }
    Ok(())
}

fn refuse_too_many(replicas: u64, available: Option<u64>) -> Outcome<()> {
    // Of each, what is kept and its line of the answer.
    let needed = replicas.saturating_mul(4 * size_of::<Replica>() as u64);
    match available.filter(|&available| needed > available) {
        Some(available) => Err(Failure::usage(format!(
            "the results of {} take about {}, but {} are available: take fewer --replicas, or run a study, which keeps \
             only their makespans",
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
