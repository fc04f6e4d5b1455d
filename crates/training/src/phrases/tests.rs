//! Every kind of finding and of evidence as a sentence.

use super::{fix, summary};
use crate::exact::{
    Cause, Change, Evidence, Finding, HostActivity, OperationName, OperationTime, Order, Period, StallCost,
};

fn cause(finding: Finding, ranks: &[u32]) -> Cause {
    Cause { ranks: ranks.to_vec(), ..Cause::new(finding, 0.1, 1.0) }
}

fn from_step(finding: Finding, ranks: &[u32]) -> Cause {
    Cause { since_step: Some(5), ..cause(finding, ranks) }
}

fn period() -> Period {
    Period { since_step: Some(5), slower_from: vec![9], ..Period::default() }
}

fn change(until_step: Option<i64>) -> Change {
    Change { since_step: 5, until_step, seconds: 0.4, otherwise_seconds: 0.02 }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn assert_reads(cause: &Cause, text: &str, advice: &str) {
    assert_eq!(summary(cause), text);
    assert!(fix(cause).starts_with(advice), "{text}: {}", fix(cause));
}

#[test]
fn slow_workers_are_named() {
    let worker = |factor: f64, occasional: bool| {
        cause(Finding::Worker { factor, period: period(), stage: None, occasional }, &[4])
    };
    let text = "Rank 4 computes 3.0 % longer than the others from step 5 on, and slower still from step 9 on";
    assert_reads(
        &worker(1.03, false),
        text,
        "Check its clock, temperature, memory errors and neighbours, or",
    );
    let text = "Rank 4 is slow from step 5 on, and slower still from step 9 on";
    assert_reads(&worker(1.6, true), text, "Check what else ran on the node at that time.");
    let workers = |order: Order, ranks: &[u32]| {
        cause(Finding::Workers { factor: 1.5, order, of_workers: 16, occasional: false }, ranks)
    };
    let text = "Ranks 1, 2, 3, 4, 5, 6 and 1 more (7 of 16 workers) are slow";
    assert_reads(
        &workers(Order::Together, &[1, 2, 3, 4, 5, 6, 7]),
        text,
        "Check their clocks, temperatures,",
    );
    let text = "Ranks 1 and 3 (2 of 16 workers) are slow, one after another";
    assert_reads(&workers(Order::OneAfterAnother, &[1, 3]), text, "Check their clocks");
    let node = Cause { place: Some("node 2".into()), ..workers(Order::InTurn, &[8, 9, 10, 11]) };
    let text = "The workers of node 2 (ranks 8 to 11, 4 of 16 workers) are slow, each in some of the steps";
    assert_reads(&node, text, "Compare node 2 with others: clocks, power,");
    let stages = |stages: Vec<usize>| Finding::Stages { stages, otherwise_alike: true };
    let text = "Stage 2 is slow from step 5 on (before that, as fast as the others)";
    let fix = "Check the nodes of these workers: clocks, temperatures, and what changed at step 5.";
    assert_reads(&from_step(stages(vec![2]), &[]), text, fix);
    let ends = Cause { until_step: Some(9), ..from_step(stages(vec![1, 2]), &[]) };
    let text = "Stages 1 and 2 are slow from step 5 to step 9 (otherwise as fast as the others)";
    assert_reads(&ends, text, fix);
    let stalls =
        Finding::RandomStalls { stalls: 6, mean_stall_seconds: 0.25, workers_hit: 5, of_workers: 32 };
    let text = "Workers stall at random: 6 stalls of 250 ms on average, on 5 of 32 workers";
    assert_reads(&cause(stalls, &[]), text, "Look for what interrupts nodes now and then: daemons,");
}

#[test]
fn work_and_lengths_are_named() {
    let partition = |layers: &[u32], step_seconds: Option<f64>| {
        cause(Finding::Partition { stage: 3, factor: 1.25, layers: layers.to_vec(), step_seconds }, &[])
    };
    let text = "Stage 3 of the pipeline has more work than the others";
    let fix = "Split the layers 9, 9, 8 and 6: a step would take 1.200 s.";
    assert_reads(&partition(&[9, 9, 8, 6], Some(1.2)), text, fix);
    let fix = "Move 20 % of the work of stage 3 to the others; --layers finds the best split.";
    assert_reads(&partition(&[], None), text, fix);
    let lengths = cause(Finding::SequenceLengths {}, &[]);
    assert_reads(&lengths, "Microbatches are of unequal length", "Give microbatches the same amount of");
    let varies = |passes_known: bool| cause(Finding::Variation { passes_known }, &[]);
    assert_reads(&varies(true), "Computing time varies", "Check for other programs on the nodes, and");
    assert_reads(&varies(false), "Computing time varies", "Annotate forward and backward passes, as the");
    let start_up =
        |steps: usize, last_step: i64| cause(Finding::StartUp { steps, first_step: 7, last_step }, &[]);
    let text = "Start-up makes the first step (7) slower than all later ones";
    assert_reads(&start_up(1, 7), text, "Record later steps; in a long job");
    let text = "Start-up makes the first 3 steps (7 to 9) slower than all later ones";
    assert_reads(&start_up(3, 9), text, "Record later steps");
    let job = |typical_step_seconds: Option<[f64; 2]>, waits_in_computing: bool| {
        from_step(Finding::WholeJob { typical_step_seconds, waits_in_computing }, &[])
    };
    let text = "All workers are slower from step 5 on (a typical step takes 4.400 s, and 3.400 s before)";
    assert_reads(&job(Some([4.4, 3.4]), false), text, "Check what changed at step 5: power or");
    let text = "All workers are slower, or wait for one that is slower, from step 5 on (other delays before cost as much)";
    assert_reads(&job(None, true), text, "Record again so that waits are told from computing:");
    let once = |operations: usize| Finding::OneOff {
        operations,
        operation: "forward-compute".into(),
        rank: 6,
        step: 4,
        takes_seconds: 5000.1,
    };
    let text = "forward-compute of rank 6 took 5,000.1 s once, in step 4";
    assert_reads(&cause(once(1), &[6]), text, "Check what happened on that node at that time, or");
    let text = format!("3 operations took far longer than usual: {text}");
    assert_reads(&cause(once(3), &[6]), &text, "Check what happened");
}

#[test]
fn hosts_and_links_are_named() {
    let launch = |ranks: &[u32]| cause(Finding::LaunchDelay {}, ranks);
    let text = "The host delays operations";
    assert_reads(
        &launch(&[]),
        text,
        "Check data loading, garbage collection and other host work on the ranks.",
    );
    let once = Cause { since_step: Some(7), until_step: Some(7), ..launch(&[3]) };
    assert_reads(&once, &format!("{text}, mainly on rank 3 in step 7"), "Check data loading,");
    let node = Cause { place: Some("node 1".into()), ..from_step(Finding::LaunchDelay {}, &[4, 5, 6, 7]) };
    let text = format!("{text}, mainly on ranks 4 to 7 (node 1) from step 5 on");
    assert_reads(&node, &text, "Check data loading,");
    let bound = |gpus: usize, host_waits_share: f64| {
        cause(Finding::HostBound { gpus, idle_share: 0.25, host_waits_share }, &[])
    };
    let text = "The GPU waits for the host during 25 % of a step";
    assert_reads(&bound(1, 0.5), text, "Do not wait for the GPU within a step:");
    assert_reads(&bound(4, 0.1), "GPUs wait for the host during 25 % of a step", "Launch fewer and larger");
    let loads = |change: Option<Change>, ranks: &[u32]| cause(Finding::DataLoading { change }, ranks);
    let text = "Rank 2 waits for data from step 5 on (400 ms a step, 20 ms before)";
    assert_reads(&loads(Some(change(None)), &[2]), text, "Load batches ahead: use more loader");
    assert_reads(&loads(None, &[]), "Workers wait for data", "Load batches ahead");
    assert_reads(&loads(None, &[2, 3]), "Ranks 2 and 3 wait for data", "Load batches ahead");
    let gc = cause(Finding::GarbageCollection { change: Some(change(Some(9))) }, &[6]);
    let text = "Garbage collection stops rank 6 from step 5 to step 9 (400 ms a step, 20 ms otherwise)";
    assert_reads(&gc, text, "Disable automatic collection and collect manually,");
    let links = |in_common: bool, links: &[&[u32]], slower_from: Vec<i64>| Finding::Links {
        in_common,
        links: links.iter().map(|link| link.to_vec()).collect(),
        classes: names(&["backward-pp-comm", "forward-pp-comm"]),
        slower_from,
    };
    let all: [&[u32]; 4] = [&[1, 2], &[1, 3], &[4, 5, 6], &[7, 8]];
    let rank = cause(links(true, &all[..2], Vec::new()), &[1]);
    assert_reads(&rank, "Transfers involving rank 1 are slow", "Check the links of this rank, and what else");
    let link = from_step(links(true, &all[..1], vec![9]), &[1, 2]);
    let text = "The link between ranks 1 and 2 is slow from step 5 on, and slower still from step 9 on";
    assert_reads(&link, text, "Check the link between these ranks, and what else");
    let group = cause(links(true, &all[2..3], Vec::new()), &[4, 5, 6]);
    assert_reads(&group, "The collectives of ranks 4, 5 and 6 are slow", "Check the links of these ranks,");
    let some = cause(links(false, &all[1..3], Vec::new()), &[1, 3, 4, 5, 6]);
    let text = "Links between ranks 1 and 3 and among ranks 4, 5 and 6 are slow";
    assert_reads(&some, text, "Check the links of these ranks");
    let many = cause(links(false, &all, Vec::new()), &[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_reads(&many, "4 links are slow in backward-pp-comm and forward-pp-comm", "Check the links");
    let transfers = || Finding::Transfers { classes: names(&["params-all-gather"]) };
    let text = "Transfers of params-all-gather take longer than usual";
    assert_reads(&cause(transfers(), &[]), text, "Check what else uses the network.");
    let text = "Transfers of params-all-gather take longer from step 5 on";
    assert_reads(&from_step(transfers(), &[]), text, "Check what else uses the network.");
}

fn assert_lines(lines: &[(Evidence, &str)]) {
    lines.iter().for_each(|(evidence, text)| assert_eq!(evidence.to_string(), *text));
}

#[test]
fn computing_is_supported_by_numbers() {
    let worker = |rank: u32, stage: Option<u32>| Evidence::SlowWorker {
        rank,
        dp_rank: 2,
        stage,
        factor: 1.6,
        period: Period::default(),
        seconds: 1.6,
        usual_seconds: 1.0,
    };
    let time = OperationTime { operation: "optimizer".into(), seconds: 0.3, usual_seconds: 0.01 };
    let correlation = |is_high: bool, of_microbatches: bool, passes_known: bool| Evidence::Correlation {
        coefficient: 0.5,
        is_high,
        samples: 640,
        of_microbatches,
        passes_known,
    };
    let deviation = |between_steps: bool, passes_known: bool| Evidence::Deviation {
        share: 0.0312,
        between_steps,
        passes_known,
    };
    let cost = |workers: usize, seconds: f64| StallCost { workers, seconds };
    let start_up = |steps: usize| Evidence::StartUp { steps, longest_seconds: 3.0, median_seconds: 1.5 };
    let long = |number: Option<u32>| Evidence::LongOperation {
        of: OperationName { operation: "forward-compute".into(), number },
        rank: 6,
        step: 4,
        seconds: 5000.1,
        usual_seconds: 0.1,
    };
    assert_lines(&[
        (
            worker(2, None),
            "Rank 2 computes 1.60 times as long as the others in all steps: 1.600 s a step against 1 s.",
        ),
        (
            worker(6, Some(1)),
            "Rank 6 (data-parallel rank 2, stage 1) computes 1.60 times as long as others of its stage in all steps: \
             1.600 s a step against 1 s.",
        ),
        (
            Evidence::SlowOperations { slow: vec![time], usual: names(&["forward-compute"]) },
            "Its optimizer takes 300 ms against 10 ms; forward-compute is as usual.",
        ),
        (
            Evidence::SlowStage { stage: 2, change: change(None) },
            "A worker of stage 2 computes 400 ms a step from step 5 on, and 20 ms before.",
        ),
        (Evidence::NotThePartition, "The workers became slow: the partition is not the cause."),
        (
            Evidence::WorkOfStages { seconds: vec![0.3, 0.45] },
            "A microbatch takes 300 ms, 450 ms to compute on stages 0 to 1.",
        ),
        (Evidence::WorkOfStage { stage: 1, factor: 1.2 }, "Stage 1 takes 1.20 times the mean of all stages."),
        (
            Evidence::OneWorkerPerStage,
            "Each stage has only one worker, so a slow worker would look the same. Swap two workers to find out.",
        ),
        (
            Evidence::StallRate { worker_steps: 213.3, longest_seconds: 0.6 },
            "A worker stalls in one of 213 steps, for 600 ms at most. None stalls more often than chance explains.",
        ),
        (
            Evidence::StallCosts { costs: vec![cost(32, 0.1), cost(256, 0.2)] },
            "A step waits for every worker. On average it waits 100 ms with 32 workers, 200 ms with 256 workers.",
        ),
        (
            Evidence::StallNoise {
                rate_hertz: 0.0028,
                quantiles: vec![(0.0, 0.001), (0.5, 0.004), (1.0, 0.009)],
            },
            "To simulate this with more workers: --noise \
             'poisson:rate=0.0028Hz,duration=quantiles(0=1.000ms,0.5=4.000ms,1=9.000ms)'.",
        ),
        (
            correlation(true, true, true),
            "Forward and backward times of a microbatch are correlated: their correlation is 0.50 over 640 microbatches.",
        ),
        (
            correlation(false, false, false),
            "The first and the second half of what a worker computes in a step are not correlated: their correlation is \
             0.50 over 640 steps of workers.",
        ),
        (
            deviation(false, true),
            "The forward times of a worker vary within a step by 3.1 % of their mean (standard deviation).",
        ),
        (
            deviation(true, false),
            "The times of a worker vary from step to step by 3.1 % of their mean (standard deviation).",
        ),
        (
            Evidence::PassesUnknown,
            "Sequence lengths may be the reason: that is unknown without annotated passes.",
        ),
        (start_up(1), "It takes 3 s; half of all steps take 1.500 s or less."),
        (start_up(2), "They take up to 3 s; half of all steps take 1.500 s or less."),
        (long(Some(3)), "forward-compute 3 of rank 6 takes 5,000.1 s in step 4; usually it takes 100 ms."),
        (long(None), "forward-compute of rank 6 takes 5,000.1 s in step 4; usually it takes 100 ms."),
        (Evidence::MoreOperations { count: 1 }, "1 more operation is as slow."),
    ]);
}

#[test]
fn hosts_are_supported_by_numbers() {
    let idle = |rank: Option<u32>| Evidence::Idle { typical_seconds: 0.01, rank, seconds: 0.02 };
    let per_step = |rank: Option<u32>| Evidence::TimePerStep { rank, seconds: 0.4, typical_seconds: 0.3 };
    let activity = |name: &str, share: f64| HostActivity { name: name.into(), share };
    let before = OperationName { operation: "forward-compute".into(), number: Some(3) };
    let delays = |ranks: usize| Evidence::DelaysOfRanks { ranks, change: change(None) };
    assert_lines(&[
        (
            Evidence::MostDelays {
                rank: 3,
                share_of_rank: 0.9,
                operation: "forward-compute".into(),
                share_of_operation: 0.05,
            },
            "90 % of the delays are on rank 3, and 5.0 % before forward-compute.",
        ),
        (
            Evidence::LongestDelay { rank: 3, step: 7, seconds: 0.3, before },
            "The longest: rank 3, step 7, 300 ms before forward-compute 3.",
        ),
        (
            Evidence::DelaysAtBeginning { share: 0.6 },
            "60 % of them are at the beginning of steps: the worker was late, or waited for data.",
        ),
        (delays(0), "All ranks together are late by 400 ms a step from step 5 on, and by 20 ms before."),
        (delays(1), "This rank is late by 400 ms a step from step 5 on, and by 20 ms before."),
        (delays(2), "Together they are late by 400 ms a step from step 5 on, and by 20 ms before."),
        (per_step(None), "This takes 300 ms a step on average, on all ranks."),
        (per_step(Some(6)), "This takes 400 ms a step on average on rank 6, and 300 ms on a typical rank."),
        (idle(None), "No kernel runs for 10 ms a step, because the next one is not launched yet."),
        (
            idle(Some(1)),
            "No kernel runs for 10 ms a step on a typical rank, and for 20 ms on rank 1, because the next one is not \
             launched yet.",
        ),
        (
            Evidence::Kernels { per_step: 201.0, mean_seconds: 8e-6, host_seconds: 8e-5 },
            "A step has 201 kernels of 8 µs on average; the host takes 80 µs for each.",
        ),
        (
            Evidence::HostActivities { activities: vec![activity("", 0.6), activity("aten::item", 0.4)] },
            "Meanwhile the host is in code outside of recorded operations, such as Python (60 %) and aten::item (40 %).",
        ),
    ]);
}

#[test]
fn links_are_supported_by_numbers() {
    let link = |share: f64, period: Period| Evidence::SlowLink {
        ranks: vec![5, 9],
        class: "forward-pp-comm".into(),
        share,
        seconds: 0.1,
        usual_seconds: 0.001,
        period,
    };
    assert_lines(&[
        (
            link(0.25, Period::default()),
            "A quarter of the transfers of forward-pp-comm between ranks 5 and 9 take 100 ms or more; the usual time is \
             1 ms.",
        ),
        (
            link(0.5, period()),
            "From step 5 on, half of the transfers of forward-pp-comm between ranks 5 and 9 take 100 ms or more; the \
             usual time is 1 ms. They are slower still from step 9 on.",
        ),
        (Evidence::MoreLinks { count: 2 }, "2 more links are slow."),
        (
            Evidence::CollectivesEndTogether,
            "All members of a collective end together, so its times do not show whose link is slow. A collective that \
             moves more data than the others looks the same.",
        ),
        (
            Evidence::LinksAlike { typical_seconds: 0.1, longest_seconds: 0.5 },
            "They are alike on all links: typically 100 ms, occasionally up to 500 ms.",
        ),
        (
            Evidence::LinksDiffer {
                typical_seconds: 0.1,
                slowest: vec![5, 9],
                slowest_seconds: 0.12,
                longest_seconds: 0.5,
            },
            "No link stands out: transfers typically take 100 ms; on the slowest link, between ranks 5 and 9, they \
             typically take 120 ms; the longest takes 500 ms.",
        ),
        (
            Evidence::SlowTransfers { operation: "backward-send".into(), change: change(Some(9)) },
            "backward-send: 400 ms from step 5 to step 9, 20 ms otherwise.",
        ),
    ]);
}
