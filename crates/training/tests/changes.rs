//! Causes that begin at some step, causes that hide behind others, and findings that are not certain.

use super::{answers_of, answers_of_rows, fault, job_of};
use straggler_training::exact::{Answers, Cause, CauseKind, Evidence, Finding, Period, Replays, analyse};
use straggler_training::synthetic::{Defect, Fault, Synthetic, mean_step, rows};
use straggler_training::{Kind, Row, derive};

fn first(found: &Answers) -> &Cause {
    found.causes.first().unwrap_or_else(|| panic!("no cause: {found:?}"))
}

/// Without sends and receives, the pipeline bubble is not a delay of the host, and slow workers are still found.
#[test]
fn stages_without_transfers_are_not_put_down_to_the_host() {
    let of = Synthetic { dp: 4, pp: 4, steps: 12, ..Synthetic::default() };
    let without = |of: &Synthetic| -> Vec<Row> {
        rows(of).into_iter().filter(|row| !row.kind.is_send_or_recv()).collect()
    };
    let told = "there are 4 stages but no sends or receives to use";
    let healthy = answers_of_rows(without(&of));
    assert!(healthy.notes.iter().any(|note| note.starts_with(told)), "{:?}", healthy.notes);
    assert!(healthy.causes.iter().all(|cause| cause.kind != CauseKind::LaunchDelay), "{:?}", healthy.causes);
    assert!(healthy.s < 1.05 && healthy.replay_error.abs() < 0.01, "{healthy:?}");
    let slow = Synthetic { faults: vec![fault(2, 1, 5, Defect::Slow(1.5))], ..of };
    let found = answers_of_rows(without(&slow));
    let cause = first(&found);
    assert_eq!((cause.kind, &cause.ranks[..], cause.since_step), (CauseKind::Workers, &[6][..], Some(5)));
    // The gain is the same as with recorded transfers.
    let with = answers_of(&slow);
    assert!((cause.gain - first(&with).gain).abs() < 0.01, "{cause:?} {:?}", first(&with));
}

fn everybody(of: &Synthetic, from_step: u32, what: Defect) -> Vec<Fault> {
    let all = (0..of.dp).flat_map(|dp_rank| (0..of.pp).map(move |stage| (dp_rank, stage)));
    all.map(|(dp_rank, stage)| fault(dp_rank, stage, from_step, what)).collect()
}

/// A stage whose workers all become slow has no more work than before.
#[test]
fn a_stage_that_becomes_slow_is_no_partition() {
    for (dp, factor, from) in [(2, 1.5, 6), (1, 2.0, 3)] {
        let of = Synthetic { dp, pp: 4, ..Synthetic::default() };
        let faults = (0..dp).map(|dp_rank| fault(dp_rank, 2, from, Defect::Slow(factor))).collect();
        let found = answers_of(&Synthetic { faults, ..of });
        let cause = first(&found);
        assert_eq!(cause.finding, Finding::Stages { stages: vec![2], otherwise_alike: true });
        assert_eq!((cause.since_step, cause.until_step), (Some(i64::from(from)), None));
        assert_eq!(cause.ranks, (2 * dp..3 * dp).collect::<Vec<u32>>());
        assert!(found.causes.iter().all(|cause| cause.kind != CauseKind::Partition), "{:?}", found.causes);
    }
}

/// A slowdown of all workers or all links shows in comparison with earlier steps.
#[test]
fn a_job_that_becomes_slower_is_told_with_its_step() {
    let of = Synthetic::default();
    let healthy = mean_step(&of);
    let slow = Synthetic { faults: everybody(&of, 10, Defect::Slow(1.3)), ..of.clone() };
    let found = answers_of(&slow);
    let cause = first(&found);
    assert_eq!((cause.kind, cause.since_step), (CauseKind::WholeJob, Some(10)), "{cause:?}");
    let Finding::WholeJob { typical_step_seconds: Some([high, low]), waits_in_computing: false } =
        cause.finding
    else {
        panic!("{cause:?}")
    };
    assert!((high / 4.4 - 1.0).abs() < 0.02 && (low / healthy - 1.0).abs() < 0.02, "{cause:?}");
    assert!((cause.seconds - (mean_step(&slow) - healthy)).abs() < 0.01 * healthy, "{cause:?}");
    assert!(found.s_at_least.is_some_and(|times| times > 1.1), "{found:?}");
    let links =
        Synthetic { faults: everybody(&of, 8, Defect::Link { times: 5.0, with: None }), ..of.clone() };
    let found = answers_of(&links);
    let cause = first(&found);
    assert_eq!((cause.kind, cause.since_step), (CauseKind::Communication, Some(8)), "{cause:?}");
    assert!(matches!(cause.finding, Finding::Transfers { .. }), "{cause:?}");
    let is_scatter = |fact: &Evidence| matches!(fact, Evidence::SlowTransfers { operation, .. } if operation == "grads-reduce-scatter");
    assert!(cause.evidence.iter().any(is_scatter), "{cause:?}");
    assert!((cause.seconds - (mean_step(&links) - healthy)).abs() < 0.01 * healthy, "{cause:?}");
    assert!(found.s >= 1.0 || found.s_at_least.is_some(), "{found:?}");
}

/// Random lengths do not hide a worker that becomes slow, nor, to within four steps, when it did.
#[test]
fn slow_workers_are_found_among_unequal_lengths() {
    for seed in 1..=6 {
        let of = Synthetic { dp: 8, pp: 1, lengths: 0.3, seed, ..Synthetic::default() };
        let found = answers_of(&Synthetic { faults: vec![fault(5, 0, 9, Defect::Slow(1.3))], ..of.clone() });
        let slow = found.causes.iter().find(|cause| cause.kind == CauseKind::Workers);
        let slow = slow.unwrap_or_else(|| panic!("seed {seed}: {:?}", found.causes));
        assert_eq!(slow.ranks, [5], "seed {seed}: {slow:?}");
        assert!(slow.since_step.is_some_and(|step| (5..=12).contains(&step)), "seed {seed}: {slow:?}");
        let healthy = answers_of(&of);
        assert!(healthy.causes.iter().all(|cause| cause.kind != CauseKind::Workers), "{:?}", healthy.causes);
    }
}

/// A worker that is slightly slower than all others in every step is not so by chance.
#[test]
fn a_slightly_slow_worker_stands_out() {
    for seed in 1..=6 {
        let of = Synthetic { dp: 8, pp: 1, seed, ..Synthetic::default() };
        let found =
            answers_of(&Synthetic { faults: vec![fault(3, 0, 0, Defect::Slow(1.045))], ..of.clone() });
        let cause = first(&found);
        assert_eq!((cause.kind, &cause.ranks[..]), (CauseKind::Workers, &[3][..]), "{cause:?}");
        let Finding::Worker { factor, period, stage: None, .. } = &cause.finding else { panic!("{cause:?}") };
        assert!((1.03..1.05).contains(factor) && *period == Period::default(), "{cause:?}");
        assert!((cause.gain - 0.037).abs() < 0.01, "{cause:?}");
        let healthy = answers_of(&of);
        assert!(healthy.causes.iter().all(|cause| cause.kind != CauseKind::Workers), "{:?}", healthy.causes);
    }
}

/// A cause that shows only once the largest one is removed is reported, too.
#[test]
fn a_cause_behind_another_is_told() {
    let of = Synthetic::default();
    let faults = vec![fault(2, 0, 5, Defect::Slow(1.3)), fault(3, 1, 10, Defect::Stall(0.4))];
    let with = Synthetic { faults, ..of.clone() };
    let found = answers_of(&with);
    assert_eq!(first(&found).ranks, [2], "{:?}", found.causes);
    let hidden: Vec<&Cause> = found.causes.iter().filter(|cause| cause.with_others.is_some()).collect();
    assert_eq!(hidden.len(), 1, "{:?}", found.causes);
    assert_eq!(
        (hidden[0].kind, &hidden[0].ranks[..], hidden[0].since_step),
        (CauseKind::LaunchDelay, &[7][..], Some(10))
    );
    assert_eq!(hidden[0].hidden_behind, [0]);
    let (_, seconds) = hidden[0].with_others.unwrap();
    assert!((seconds - (mean_step(&with) - mean_step(&of))).abs() < 0.02 * mean_step(&of), "{hidden:?}");
}

/// Unequal work behind a slow worker is reported with the gain from removing both, whether or not it is worth
/// reporting alone.
#[test]
fn unequal_work_behind_a_slow_worker_is_told() {
    let slow = |stage: u32| vec![fault(1, stage, 0, Defect::Slow(1.5))];
    let even = Synthetic { dp: 8, pp: 2, ..Synthetic::default() };
    let lengths = Synthetic { lengths: 0.25, faults: slow(1), ..even.clone() };
    let stages = Synthetic { dp: 4, pp: 4, last_stage: 0.4, faults: slow(1), ..Synthetic::default() };
    let by_stages = Synthetic { forward: 0.11, last_stage: 0.0, faults: Vec::new(), ..stages.clone() };
    for (of, kind, healthy) in
        [(lengths, CauseKind::SequenceLengths, even), (stages, CauseKind::Partition, by_stages)]
    {
        let found = answers_of(&of);
        assert_eq!(first(&found).kind, CauseKind::Workers, "{:?}", found.causes);
        let hidden = found.causes.iter().find(|cause| cause.kind == kind);
        let hidden = hidden.unwrap_or_else(|| panic!("{:?}", found.causes));
        assert_eq!(hidden.hidden_behind, [0]);
        let (gain, seconds) = hidden.with_others.unwrap();
        assert!(gain > first(&found).gain + hidden.gain + 0.03, "{hidden:?}");
        let truth = mean_step(&of) - mean_step(&healthy);
        assert!((seconds - truth).abs() < 0.1 * truth, "{seconds} for {truth}: {hidden:?}");
    }
}

/// With a single cause and the usual variation, no cause is reported as hidden.
#[test]
fn a_single_cause_hides_nothing() {
    for seed in 1..=4 {
        let of = Synthetic { jitter: 0.03, seed, ..Synthetic::default() };
        let found = answers_of(&Synthetic { faults: vec![fault(2, 1, 0, Defect::Slow(1.5))], ..of });
        assert!(found.causes.iter().all(|cause| cause.with_others.is_none()), "{:?}", found.causes);
    }
}

/// Steps before a cause began do not dilute its cost.
#[test]
fn a_cause_is_told_with_the_steps_since_it_began() {
    let healthy = Synthetic::default();
    let found =
        answers_of(&Synthetic { faults: vec![fault(2, 1, 12, Defect::Slow(1.5))], ..healthy.clone() });
    let (real, without) = first(&found).step_since.unwrap();
    assert!((without - mean_step(&healthy)).abs() < 0.02 * without, "{without}");
    assert!((real - without - 20.0 / 8.0 * first(&found).seconds).abs() < 1e-9, "{:?}", first(&found));
}

/// Data loading that is the same on all workers in every step is not a cause, unless it takes long.
#[test]
fn loading_as_ever_is_no_cause() {
    for (load, told) in [(0.03, false), (0.3, true)] {
        let mut all = rows(&Synthetic { dp: 4, pp: 1, ..Synthetic::default() });
        all.iter_mut().for_each(|row| row.start += load);
        let gathers: Vec<Row> = all.iter().filter(|row| row.kind == Kind::ParamsAllGather).copied().collect();
        all.extend(gathers.iter().map(|row| Row {
            kind: Kind::DataLoad,
            start: row.start - load,
            duration: load,
            chunk: -1,
            ..*row
        }));
        let found = answers_of_rows(all);
        let cause = found.causes.iter().find(|cause| cause.kind == CauseKind::DataLoading);
        assert_eq!(cause.is_some(), told, "{:?}", found.causes);
        if let Some(cause) = cause {
            let [Evidence::TimePerStep { rank: None, typical_seconds, .. }] = cause.evidence[..] else {
                panic!("{cause:?}")
            };
            assert!((typical_seconds - 0.3).abs() < 1e-9, "{cause:?}");
        }
    }
}

#[test]
fn hosts_are_told_with_their_step() {
    let found =
        answers_of(&Synthetic { faults: vec![fault(3, 0, 6, Defect::Stall(0.3))], ..Synthetic::default() });
    let cause = first(&found);
    assert_eq!((cause.kind, cause.since_step, &cause.ranks[..]), (CauseKind::LaunchDelay, Some(6), &[3][..]));
    // Loads of 20 ms, and of 400 ms on rank 2 from step 8 on.
    let of = Synthetic { dp: 4, pp: 1, ..Synthetic::default() };
    let load = |row: &Row| if row.rank == 2 && row.step >= 8 { 0.4 } else { 0.02 };
    let mut all = rows(&of);
    let longest = |row: &Row| if row.step >= 8 { 0.4 } else { 0.02 };
    all.iter_mut().for_each(|row| row.start += longest(row));
    // Ranks that have loaded wait for the others in the first all-gather.
    let mut loads = Vec::new();
    for row in all.iter_mut().filter(|row| row.kind == Kind::ParamsAllGather) {
        let none = Row { chunk: -1, model_chunk: -1, microbatch: -1, ..*row };
        let waits = longest(row) - load(row);
        (row.start, row.duration) = (row.start - waits, row.duration + waits);
        loads.push(Row { kind: Kind::DataLoad, start: row.start - load(row), duration: load(row), ..none });
    }
    all.extend(loads);
    let found = answers_of_rows(all);
    let cause = found.causes.iter().find(|cause| cause.kind == CauseKind::DataLoading);
    let cause = cause.unwrap_or_else(|| panic!("{:?}", found.causes));
    assert_eq!((cause.since_step, &cause.ranks[..]), (Some(8), &[2][..]), "{cause:?}");
    let Finding::DataLoading { change: Some(change) } = &cause.finding else { panic!("{cause:?}") };
    assert!(
        (change.seconds - 0.4).abs() < 1e-9 && (change.otherwise_seconds - 0.02).abs() < 1e-9,
        "{cause:?}"
    );
}

/// If only some operations of a worker are slow, these are named.
#[test]
fn a_slow_optimizer_is_told_from_slow_computing() {
    let of = Synthetic { dp: 4, pp: 1, ..Synthetic::default() };
    let mut all = rows(&of);
    let own = |row: &&mut Row| row.kind == Kind::Optimizer && row.rank == 2;
    all.iter_mut().filter(own).for_each(|row| row.duration *= 30.0);
    let found = answers_of_rows(all);
    let cause = first(&found);
    assert_eq!((cause.kind, &cause.ranks[..]), (CauseKind::Workers, &[2][..]), "{cause:?}");
    let Evidence::SlowOperations { slow, usual } = &cause.evidence[1] else { panic!("{cause:?}") };
    assert_eq!((slow.len(), &slow[0].operation[..]), (1, "optimizer"), "{cause:?}");
    assert!((slow[0].seconds / slow[0].usual_seconds / 30.0 - 1.0).abs() < 0.1, "{cause:?}");
    assert_eq!(usual[..], ["backward-compute", "forward-compute"], "{cause:?}");
}

/// Typical times are slow if the first steps are far slower, or all workers but one.
#[test]
fn at_least_is_said_where_what_is_typical_is_slow() {
    let of = Synthetic { dp: 4, pp: 1, ..Synthetic::default() };
    let mut all = rows(&of);
    for row in all.iter_mut().filter(|row| row.step < 2) {
        (row.start, row.duration) = (3.0 * row.start, 3.0 * row.duration);
    }
    let found = answers_of_rows(all);
    assert_eq!(first(&found).kind, CauseKind::StartUp, "{found:?}");
    assert!(found.s_at_least.is_some_and(|times| (1.15..1.25).contains(&times)), "{found:?}");
    let fast = |pp: u32| {
        answers_of(&Synthetic {
            pp,
            faults: vec![fault(1, pp - 1, 0, Defect::Slow(0.7))],
            ..Synthetic::default()
        })
    };
    assert!(fast(1).s_at_least.is_some_and(|times| times > 1.02));
    // If other stages show what is usual, the worker is recognised as fast, and no one is slow.
    let found = fast(4);
    assert!(found.s_at_least.is_none() && found.s < 1.05 && found.causes.is_empty(), "{found:?}");
}

/// Faults in different replicas that cost about the same: mending one saves nothing, and both are named.
#[test]
fn faults_that_hide_each_other_are_both_named() {
    let link = Defect::Link { times: 50.0, with: Some((2, 2)) };
    let of = Synthetic {
        faults: vec![fault(1, 1, 0, Defect::Slow(1.2)), fault(2, 1, 0, link)],
        ..Synthetic::default()
    };
    let found = answers_of(&of);
    let healthy = answers_of(&Synthetic { faults: Vec::new(), ..of }).step_seconds;
    let kinds: Vec<CauseKind> = found.causes.iter().map(|cause| cause.kind).collect();
    assert!(kinds.contains(&CauseKind::Workers) && kinds.contains(&CauseKind::Communication), "{kinds:?}");
    for cause in &found.causes {
        let (_, saved) = cause.with_others.unwrap();
        assert!((found.step_seconds - saved - healthy).abs() < 0.01 * healthy, "{cause:?}");
    }
}

/// A single absurd value is a cause of its own and changes no other finding.
#[test]
fn an_accident_is_told_from_what_is_usual() {
    let of = Synthetic { faults: vec![fault(1, 2, 6, Defect::Slow(1.5))], ..Synthetic::default() };
    let usual = answers_of(&of);
    let slow = first(&usual).ranks[0];
    for (step, rank) in [(0, 6), (4, 6), (8, slow), (19, 0)] {
        let mut all = rows(&of);
        let is_it =
            |row: &&mut Row| (row.step, row.rank, row.kind, row.seq) == (step, rank, Kind::ForwardCompute, 3);
        all.iter_mut().filter(is_it).for_each(|row| row.duration += 5000.0);
        let found = answers_of_rows(all);
        let cause = first(&found);
        assert_eq!((cause.kind, &cause.ranks[..]), (CauseKind::OneOff, &[rank][..]), "{cause:?}");
        let Finding::OneOff { operations: 1, operation, takes_seconds, .. } = &cause.finding else {
            panic!("{cause:?}")
        };
        assert_eq!(
            (&operation[..], takes_seconds.round(), found.causes.len()),
            ("forward-compute", 5000.0, 2)
        );
        assert!(matches!(cause.finding, Finding::OneOff { step: own, .. } if own == step), "{cause:?}");
        assert!(cause.gain > 0.9 && cause.gain < 1.0, "{cause:?}");
        let slow = found.causes.iter().find(|cause| cause.kind == CauseKind::Workers).unwrap();
        assert_eq!((&slow.ranks, slow.since_step), (&first(&usual).ranks, Some(6)), "{slow:?}");
        assert!((slow.seconds - first(&usual).seconds).abs() < 0.1 * slow.seconds, "{slow:?}");
    }
}

/// Recordings of several ranks of a tensor-parallel group, or of only some stages, are reported.
#[test]
fn ranks_too_many_and_stages_too_few_are_named() {
    let of = Synthetic { dp: 2, pp: 4, steps: 3, ..Synthetic::default() };
    let pair =
        rows(&of).into_iter().flat_map(|row| [0, 1].map(|own| Row { rank: 2 * row.rank + own, ..row }));
    let error = derive::job(pair.collect(), "synthetic").unwrap_err().to_string();
    let told = "ranks 0 and 1 are both data-parallel rank 0 of stage 0: give only one rank of each tensor-parallel group.";
    assert!(error.starts_with(told), "{error}");
    let told = "stage 1, the last one recorded, sends forward: stages from 2 on are missing";
    let is_told = |rows: Vec<Row>| job_of(rows).notes.iter().any(|note| note.starts_with(told));
    assert!(is_told(rows(&of).into_iter().filter(|row| row.stage < 2).collect()));
    assert!(!is_told(rows(&Synthetic { pp: 2, ..of })));
}

/// If the layers are known, the fix names the split.
#[test]
fn the_fix_of_a_partition_is_the_split() {
    let of = Synthetic { last_stage: 0.3, ..Synthetic::default() };
    let job = job_of(rows(&of));
    let replays = Replays::new(&job).unwrap();
    let found = analyse(&replays, Some(&[8, 8, 8, 8]));
    let layers_of = |found: &Answers| match &first(found).finding {
        Finding::Partition { layers, step_seconds, .. } => (layers.clone(), *step_seconds),
        other => panic!("{other:?}"),
    };
    let (layers, step_seconds) = layers_of(&found);
    assert_eq!(layers, found.split.as_ref().unwrap().layers);
    assert!(step_seconds.is_some_and(|seconds| seconds < found.step_seconds), "{found:?}");
    assert_eq!(layers_of(&analyse(&replays, None)), (Vec::new(), None));
}

/// The step in which a worker became slow is reported, and those in which it became even slower.
#[test]
fn a_worker_that_gets_worse_twice_is_slow_since_the_first_time() {
    let of = Synthetic { dp: 8, pp: 1, steps: 60, ..Synthetic::default() };
    let healthy = mean_step(&of);
    let faults = vec![fault(4, 0, 10, Defect::Slow(1.2)), fault(4, 0, 40, Defect::Slow(1.25))];
    let slow = Synthetic { faults, ..of };
    let found = answers_of(&slow);
    let cause = first(&found);
    let period = Period { since_step: Some(10), slower_from: vec![40], ..Period::default() };
    assert!(matches!(&cause.finding, Finding::Worker { period: own, .. } if *own == period), "{cause:?}");
    assert_eq!((&cause.ranks[..], cause.since_step), (&[4][..], Some(10)));
    assert!((cause.seconds - (mean_step(&slow) - healthy)).abs() < 0.01 * healthy, "{cause:?}");
}

#[test]
fn a_link_that_gets_worse_twice_is_slow_since_the_first_time() {
    let of = Synthetic { dp: 4, pp: 2, steps: 30, ..Synthetic::default() };
    let link = |times| Defect::Link { times, with: Some((2, 1)) };
    let faults = vec![fault(2, 0, 5, link(20.0)), fault(2, 0, 12, link(3.0))];
    let found = answers_of(&Synthetic { faults, ..of });
    let cause = first(&found);
    assert_eq!((cause.kind, cause.since_step), (CauseKind::Communication, Some(5)), "{cause:?}");
    let gets_worse =
        |fact: &Evidence| matches!(fact, Evidence::SlowLink { period, .. } if period.slower_from == [12]);
    assert!(cause.evidence.iter().any(gets_worse), "{cause:?}");
}

/// A small slowdown of all stages at once is not blamed on any single one.
#[test]
fn a_small_rise_of_all_stages_is_one_of_the_whole_job() {
    let of = Synthetic { dp: 2, pp: 4, steps: 40, ..Synthetic::default() };
    let healthy = mean_step(&of);
    let faults = everybody(&of, 25, Defect::Slow(1.06)).into_iter().map(|mut one| {
        if one.stage == 3 {
            one.what = Defect::Slow(1.04);
        }
        one
    });
    let slow = Synthetic { faults: faults.collect(), ..of };
    let found = answers_of(&slow);
    let cause = first(&found);
    assert_eq!((cause.kind, cause.since_step), (CauseKind::WholeJob, Some(25)), "{:?}", found.causes);
    assert!((cause.seconds - (mean_step(&slow) - healthy)).abs() < 0.005 * healthy, "{cause:?}");
    assert!(found.causes.iter().all(|cause| cause.kind != CauseKind::Workers), "{:?}", found.causes);
}

/// A slowdown that ends is reported with its steps: of a stage, of the whole job, and of a link.
#[test]
fn what_ends_again_is_told_with_its_steps() {
    let of = Synthetic { dp: 4, pp: 4, ..Synthetic::default() };
    let healthy = rows(&of);
    // Combines two jobs: steps 5 to 11 come from the one with faults.
    let between = |faults: Vec<Fault>| -> Vec<Row> {
        let slow = rows(&Synthetic { faults, ..of.clone() });
        let keep = |from: &[Row], inside: bool| -> Vec<Row> {
            from.iter().filter(|row| (5..12).contains(&row.step) == inside).copied().collect()
        };
        [keep(&healthy, false), keep(&slow, true)].concat()
    };
    let of_stage = (0..4).map(|dp_rank| fault(dp_rank, 1, 0, Defect::Slow(2.0))).collect();
    let link = vec![fault(2, 1, 0, Defect::Link { times: 100.0, with: Some((2, 2)) })];
    for (faults, kind, ranks) in [
        (of_stage, CauseKind::Workers, &[4, 5, 6, 7][..]),
        (everybody(&of, 0, Defect::Slow(2.0)), CauseKind::WholeJob, &[]),
        (link, CauseKind::Communication, &[6, 10]),
    ] {
        let rows = between(faults);
        let found = answers_of_rows(rows);
        let cause = first(&found);
        assert_eq!((cause.kind, &cause.ranks[..]), (kind, ranks), "{cause:?}");
        assert_eq!((cause.since_step, cause.until_step), (Some(5), Some(11)), "{cause:?}");
        let without = found.replayed_seconds - cause.seconds;
        assert!((without / mean_step(&of) - 1.0).abs() < 0.01, "{without} {cause:?}");
    }
}

/// Data loading and late launches of a slow worker are causes of their own.
#[test]
fn a_slow_worker_gains_only_what_it_computes_longer() {
    let of = Synthetic { dp: 8, pp: 1, ..Synthetic::default() };
    let slow = |more: Vec<Fault>| {
        let faults = [vec![fault(3, 0, 0, Defect::Slow(1.3))], more].concat();
        let found = answers_of(&Synthetic { faults, ..of.clone() });
        let cause = found.causes.into_iter().find(|cause| cause.kind == CauseKind::Workers);
        cause.expect("a slow worker").seconds
    };
    let alone = slow(Vec::new());
    let stalled = slow(vec![fault(3, 0, 10, Defect::Stall(0.3))]);
    let transfers = slow(everybody(&of, 10, Defect::Link { times: 10.0, with: None }));
    assert!((stalled / alone - 1.0).abs() < 0.02, "{stalled} {alone}");
    assert!((transfers / alone - 1.0).abs() < 0.02, "{transfers} {alone}");
}
