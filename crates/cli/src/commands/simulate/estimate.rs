//! What many replicas take, said before they are run.

use super::inputs::Inputs;
use super::replicas::Replica;
use crate::commands::gpu;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::memory::available_bytes;
use crate::plan::simulate::Plan;
use indicatif::HumanDuration;
use std::time::Duration;
use straggler_report::numbers::{counted, memory};

/// Messages that a core delivers in a second, about; `straggler bench` measures it.
pub const MESSAGES_A_SECOND: f64 = 1e7;

/// How long so many messages take, very roughly.
pub fn seconds_for(messages: f64, threads: usize) -> f64 {
    messages / MESSAGES_A_SECOND / threads.max(1) as f64
}

/// "90 seconds", "5 hours".
pub fn in_words(seconds: f64) -> String {
    // A number that no duration can hold is longer than anybody waits.
    HumanDuration(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)).to_string()
}

/// What a replica costs besides its messages, in messages.
const MESSAGES_TO_BEGIN: f64 = 200.0;

/// Work that lasts longer is announced, in seconds.
pub const LONG_SECONDS: f64 = 600.0;

/// Refuses replicas whose results would not fit into memory, and says how long the others will take, if that is long.
pub fn check(plan: &Plan, inputs: &Inputs, console: &Console) -> Outcome<()> {
    let replicas = plan.replicas.len() as u64;
    refuse_too_many(replicas, available_bytes())?;
    let messages = inputs.workload.workload.messages() as f64 + MESSAGES_TO_BEGIN;
    let time = seconds_for(messages * replicas as f64, inputs.threads);
    // GPUs are a hundred times as fast, and how fast is not known before.
    if time > LONG_SECONDS && !gpu::is_there(plan.device)? {
        let count = counted(replicas, "replica", "replicas");
        let shorter =
            if replicas > 1 { "fewer --replicas or processes" } else { "fewer processes or cycles" };
        let time = in_words(time);
        console.warn(&format!("{count} will take about {time}, very roughly: {shorter} make it shorter"));
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
