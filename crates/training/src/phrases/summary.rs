//! What slows a job, in one line for each kind of cause.

use super::parts::{
    between, capitalized, in_its_steps, others, otherwise, percent, ranks_at, slower_still, time, when,
};
use crate::exact::{Cause, Change, Evidence, Finding, Order};
use crate::words;
use straggler_model::stats::robust::WORKER;

/// Slow links are named up to this number.
const NAMED: usize = 3;

/// A cause as a sentence without its full stop.
pub fn summary(cause: &Cause) -> String {
    let steps = in_its_steps(cause);
    match &cause.finding {
        Finding::Worker { factor, period, stage, .. } => {
            let rank = words::named("Rank", &cause.ranks);
            match *factor < WORKER.factor() {
                true => format!(
                    "{rank} computes {:.1} % longer than {} {}",
                    100.0 * (factor - 1.0),
                    others(*stage),
                    when(period)
                ),
                false => format!("{rank} is slow {}", when(period)),
            }
        }
        Finding::Workers { order, of_workers, .. } => slow_workers(cause, *order, *of_workers),
        Finding::Stages { stages, otherwise_alike } => {
            let alike = match (otherwise_alike, cause.until_step) {
                (true, None) => " (before that, as fast as the others)",
                (true, Some(_)) => " (otherwise as fast as the others)",
                _ => "",
            };
            let is = words::plural(stages.len(), "is", "are");
            format!("{} {is} slow{steps}{alike}", words::named("Stage", stages))
        }
        Finding::RandomStalls { stalls, mean_stall_seconds, workers_hit, of_workers } => format!(
            "Workers stall at random: {stalls} stalls of {} on average, on {workers_hit} of {of_workers} workers",
            time(*mean_stall_seconds)
        ),
        Finding::Partition { stage, .. } => {
            match cause.evidence.iter().any(|evidence| matches!(evidence, Evidence::OneWorkerPerStage)) {
                true => {
                    format!("Stage {stage} of the pipeline has more work than the others, or a slow worker")
                }
                false => format!("Stage {stage} of the pipeline has more work than the others"),
            }
        }
        Finding::SequenceLengths {} => "Microbatches are of unequal length".into(),
        Finding::Variation { .. } => "Computing time varies".into(),
        Finding::LaunchDelay {} => {
            let mainly = match cause.ranks.is_empty() {
                true => String::new(),
                false => format!(", mainly on {}", ranks_at(&cause.ranks, cause.place.as_ref())),
            };
            format!("The host delays operations{mainly}{steps}")
        }
        Finding::HostBound { gpus, idle_share, .. } => {
            let who = words::plural(*gpus, "The GPU waits", "GPUs wait");
            format!("{who} for the host during {} of a step", percent(*idle_share))
        }
        Finding::DataLoading { change } => {
            let waits = words::plural(cause.ranks.len(), "waits", "wait");
            let who = capitalized(&ranks_or_workers(cause));
            format!("{who} {waits} for data{}", since(change.as_ref()))
        }
        Finding::GarbageCollection { change } => {
            format!("Garbage collection stops {}{}", ranks_or_workers(cause), since(change.as_ref()))
        }
        Finding::Links { in_common, links, classes, slower_from } => {
            let what = match (in_common, &cause.ranks[..]) {
                (true, [rank]) => format!("Transfers involving rank {rank} are slow"),
                (true, [one, other]) => format!("The link between ranks {one} and {other} is slow"),
                (true, ranks) => format!("The collectives of ranks {} are slow", words::list_up_to(6, ranks)),
                _ if links.len() <= NAMED => {
                    let named: Vec<String> = links.iter().map(|ranks| between(ranks)).collect();
                    format!("Links {} are slow", words::list(&named))
                }
                _ => format!("{} links are slow in {}", links.len(), words::list(classes)),
            };
            format!("{what}{steps}{}", slower_still(slower_from))
        }
        Finding::Transfers { classes } => {
            let steps = if steps.is_empty() { " than usual" } else { &steps };
            format!("Transfers of {} take longer{steps}", words::list(classes))
        }
        Finding::StartUp { steps: 1, first_step, .. } => {
            format!("Start-up makes the first step ({first_step}) slower than all later ones")
        }
        Finding::StartUp { steps, first_step, last_step } => format!(
            "Start-up makes the first {steps} steps ({first_step} to {last_step}) slower than all later ones"
        ),
        Finding::WholeJob { typical_step_seconds, waits_in_computing } => {
            let otherwise = otherwise(cause.until_step);
            let cost = match typical_step_seconds {
                Some([high, low]) => {
                    format!("a typical step takes {}, and {} {otherwise}", time(*high), time(*low))
                }
                None => format!("other delays {otherwise} cost as much"),
            };
            let or_wait = if *waits_in_computing { ", or wait for one that is slower," } else { "" };
            format!("All workers are slower{or_wait}{steps} ({cost})")
        }
        Finding::OneOff { operations, operation, rank, step, takes_seconds } => {
            let many = match operations {
                1 => String::new(),
                count => format!("{count} operations took far longer than usual: "),
            };
            format!("{many}{operation} of rank {rank} took {} once, in step {step}", time(*takes_seconds))
        }
    }
}

fn slow_workers(cause: &Cause, order: Order, of_workers: usize) -> String {
    let ranks = &cause.ranks;
    let of_all = format!("{} of {of_workers} workers", ranks.len());
    let list = || words::list_up_to(6, ranks);
    let who = match &cause.place {
        Some(place) => {
            format!("The workers of {place} (ranks {}, {of_all})", words::range(ranks).unwrap_or_else(list))
        }
        None => format!("Ranks {} ({of_all})", list()),
    };
    let when = match order {
        Order::Together => "",
        Order::OneAfterAnother => ", one after another",
        Order::InTurn => ", each in some of the steps",
    };
    format!("{who} are slow{when}")
}

fn ranks_or_workers(cause: &Cause) -> String {
    match cause.ranks.is_empty() {
        true => "workers".into(),
        false => ranks_at(&cause.ranks, cause.place.as_ref()),
    }
}

fn since(change: Option<&Change>) -> String {
    change.map_or_else(String::new, |change| {
        let (seconds, before) = (time(change.seconds), time(change.otherwise_seconds));
        format!(" {} ({seconds} a step, {before} {})", change.when(), change.otherwise())
    })
}
