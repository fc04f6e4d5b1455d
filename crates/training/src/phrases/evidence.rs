//! What supports a cause: a sentence for each fact.

use super::parts::{between, capitalized, operation, others, percent, span, time, when};
use crate::exact::{Evidence, HostActivity, OperationTime, StallCost};
use crate::words;
use std::fmt;

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Evidence::SlowWorker { rank, dp_rank, stage, factor, period, seconds, usual_seconds } => {
                let place = match stage {
                    Some(stage) => format!(" (data-parallel rank {dp_rank}, stage {stage})"),
                    None if dp_rank == rank => String::new(),
                    None => format!(" (data-parallel rank {dp_rank})"),
                };
                write!(
                    f,
                    "Rank {rank}{place} computes {factor:.2} times as long as {} {}: {} a step against {}.",
                    others(*stage),
                    when(period),
                    time(*seconds),
                    time(*usual_seconds)
                )
            }
            Evidence::SlowOperations { slow, usual } => {
                let takes = |of: &OperationTime| {
                    format!("{} takes {} against {}", of.operation, time(of.seconds), time(of.usual_seconds))
                };
                let slow: Vec<String> = slow.iter().map(takes).collect();
                let are = words::plural(usual.len(), "is", "are");
                write!(f, "Its {}; {} {are} as usual.", words::list(&slow), words::list(usual))
            }
            Evidence::SlowStage { stage, change } => write!(
                f,
                "A worker of stage {stage} computes {} a step {}, and {} {}.",
                time(change.seconds),
                change.when(),
                time(change.otherwise_seconds),
                change.otherwise()
            ),
            Evidence::NotThePartition => {
                f.write_str("The workers became slow: the partition is not the cause.")
            }
            Evidence::WorkOfStages { seconds } => {
                let list: Vec<String> = seconds.iter().map(|seconds| time(*seconds)).collect();
                let last = seconds.len().saturating_sub(1);
                write!(f, "A microbatch takes {} to compute on stages 0 to {last}.", list.join(", "))
            }
            Evidence::WorkOfStage { stage, factor } => {
                write!(f, "Stage {stage} takes {factor:.2} times the mean of all stages.")
            }
            Evidence::OneWorkerPerStage => f.write_str(
                "Each stage has only one worker, so a slow worker would look the same. Swap two workers to find out.",
            ),
            Evidence::StallRate { worker_steps, longest_seconds } => write!(
                f,
                "A worker stalls in one of {worker_steps:.0} steps, for {} at most. None stalls more often than chance \
                 explains.",
                time(*longest_seconds)
            ),
            Evidence::StallCosts { costs } => {
                let cost = |of: &StallCost| format!("{} with {} workers", time(of.seconds), of.workers);
                let costs: Vec<String> = costs.iter().map(cost).collect();
                write!(f, "A step waits for every worker. On average it waits {}.", costs.join(", "))
            }
            Evidence::StallNoise { rate_hertz, quantiles } => {
                let quantile = |(share, seconds): &(f64, f64)| format!("{share}={:.3}ms", 1e3 * seconds);
                let quantiles: Vec<String> = quantiles.iter().map(quantile).collect();
                write!(
                    f,
                    "To simulate this with more workers: --noise \
                     'poisson:rate={rate_hertz:.4}Hz,duration=quantiles({})'.",
                    quantiles.join(",")
                )
            }
            Evidence::Correlation { coefficient, is_high, samples, of_microbatches, passes_known } => {
                let (one, all) = match of_microbatches {
                    true => ("microbatch", "microbatches"),
                    false => ("step", "steps of workers"),
                };
                let times = match passes_known {
                    true => "Forward and backward times of a",
                    false => "The first and the second half of what a worker computes in a",
                };
                let are = if *is_high { "are" } else { "are not" };
                write!(
                    f,
                    "{times} {one} {are} correlated: their correlation is {coefficient:.2} over {samples} {all}."
                )
            }
            Evidence::Deviation { share, between_steps, passes_known } => write!(
                f,
                "The {} of a worker vary {} by {} of their mean (standard deviation).",
                if *passes_known { "forward times" } else { "times" },
                if *between_steps { "from step to step" } else { "within a step" },
                percent(*share)
            ),
            Evidence::PassesUnknown => f.write_str(
                "Sequence lengths may be the reason: that is unknown without annotated passes.",
            ),
            Evidence::MostDelays { rank, share_of_rank, operation, share_of_operation } => write!(
                f,
                "{} of the delays are on rank {rank}, and {} before {operation}.",
                percent(*share_of_rank),
                percent(*share_of_operation)
            ),
            Evidence::LongestDelay { rank, step, seconds, before } => write!(
                f,
                "The longest: rank {rank}, step {step}, {} before {}.",
                time(*seconds),
                operation(before)
            ),
            Evidence::DelaysAtBeginning { share } => write!(
                f,
                "{} of them are at the beginning of steps: the worker was late, or waited for data.",
                percent(*share)
            ),
            Evidence::DelaysOfRanks { ranks, change } => {
                let who = match ranks {
                    0 => "All ranks together are",
                    1 => "This rank is",
                    _ => "Together they are",
                };
                write!(
                    f,
                    "{who} late by {} a step {}, and by {} {}.",
                    time(change.seconds),
                    change.when(),
                    time(change.otherwise_seconds),
                    change.otherwise()
                )
            }
            Evidence::TimePerStep { rank: None, typical_seconds, .. } => {
                write!(f, "This takes {} a step on average, on all ranks.", time(*typical_seconds))
            }
            Evidence::TimePerStep { rank: Some(rank), seconds, typical_seconds } => write!(
                f,
                "This takes {} a step on average on rank {rank}, and {} on a typical rank.",
                time(*seconds),
                time(*typical_seconds)
            ),
            Evidence::Idle { typical_seconds, rank, seconds } => {
                let who = rank.map(|rank| {
                    format!(" on a typical rank, and for {} on rank {rank}", time(*seconds))
                });
                write!(
                    f,
                    "No kernel runs for {} a step{}, because the next one is not launched yet.",
                    time(*typical_seconds),
                    who.unwrap_or_default()
                )
            }
            Evidence::Kernels { per_step, mean_seconds, host_seconds } => write!(
                f,
                "A step has {per_step:.0} kernels of {} on average; the host takes {} for each.",
                time(*mean_seconds),
                time(*host_seconds)
            ),
            Evidence::HostActivities { activities } => {
                let name = |of: &HostActivity| match &of.name[..] {
                    "" => format!(
                        "code outside of recorded operations, such as Python ({})",
                        percent(of.share)
                    ),
                    name => format!("{name} ({})", percent(of.share)),
                };
                let activities: Vec<String> = activities.iter().map(name).collect();
                write!(f, "Meanwhile the host is in {}.", words::list(&activities))
            }
            Evidence::SlowLink { ranks, class, share, seconds, usual_seconds, period } => {
                let part = if *share < 0.5 { "a quarter" } else { "half" };
                let part = match period.since_step {
                    Some(since) => format!("{}, {part}", span(since, period.until_step)),
                    None => part.into(),
                };
                write!(
                    f,
                    "{} of the transfers of {class} {} take {} or more; the usual time is {}.",
                    capitalized(&part),
                    between(ranks),
                    time(*seconds),
                    time(*usual_seconds)
                )?;
                match period.slower_from.is_empty() {
                    true => Ok(()),
                    false => {
                        write!(f, " They are slower still from {} on.", words::named("step", &period.slower_from))
                    }
                }
            }
            Evidence::MoreLinks { count } => {
                write!(f, "{count} more {} slow.", words::plural(*count, "link is", "links are"))
            }
            Evidence::CollectivesEndTogether => f.write_str(
                "All members of a collective end together, so its times do not show whose link is slow. A collective \
                 that moves more data than the others looks the same.",
            ),
            Evidence::LinksAlike { typical_seconds, longest_seconds } => write!(
                f,
                "They are alike on all links: typically {}, occasionally up to {}.",
                time(*typical_seconds),
                time(*longest_seconds)
            ),
            Evidence::LinksDiffer { typical_seconds, slowest, slowest_seconds, longest_seconds } => write!(
                f,
                "No link stands out: transfers typically take {}; on the slowest link, {}, they typically take {}; \
                 the longest takes {}.",
                time(*typical_seconds),
                between(slowest),
                time(*slowest_seconds),
                time(*longest_seconds)
            ),
            Evidence::SlowTransfers { operation, change } => write!(
                f,
                "{operation}: {} {}, {} {}.",
                time(change.seconds),
                change.when(),
                time(change.otherwise_seconds),
                change.otherwise()
            ),
            Evidence::StartUp { steps, longest_seconds, median_seconds } => write!(
                f,
                "{} {}; half of all steps take {} or less.",
                if *steps == 1 { "It takes" } else { "They take up to" },
                time(*longest_seconds),
                time(*median_seconds)
            ),
            Evidence::LongOperation { of, rank, step, seconds, usual_seconds } => write!(
                f,
                "{} of rank {rank} takes {} in step {step}; usually it takes {}.",
                operation(of),
                time(*seconds),
                time(*usual_seconds)
            ),
            Evidence::MoreOperations { count } => {
                write!(f, "{count} more {} as slow.", words::plural(*count, "operation is", "operations are"))
            }
        }
    }
}
