//! Workers that are slow for a while, or seem slow by chance.

use super::{answers, answers_of};
use straggler_training::exact::{CauseKind, Evidence, Finding, Order, Period};
use straggler_training::synthetic::{Defect, Fault, Synthetic, mean_step};
use straggler_training::{read_table, whatif};

/// The workers of a stage are slow one after another, five steps each.
fn in_turn(dp: u32, pp: u32) -> Synthetic {
    let slow = |dp_rank: u32, from_step: u32, times: f64| Fault {
        dp_rank,
        stage: 0,
        from_step,
        what: Defect::Slow(times),
    };
    let mut faults: Vec<Fault> = (0..dp).map(|rank| slow(rank, 5 * rank, 1.5)).collect();
    faults.extend((0..dp - 1).map(|rank| slow(rank, 5 * rank + 5, 1.0 / 1.5)));
    Synthetic { dp, pp, steps: 5 * dp, faults, ..Synthetic::default() }
}

/// Workers that are slow in turn take longer for all microbatches of a step, unlike long microbatches. Nor do they
/// have more work than other stages.
#[test]
fn workers_that_are_slow_in_turn_are_no_lengths() {
    for (dp, pp) in [(4, 1), (4, 2), (2, 2)] {
        let of = in_turn(dp, pp);
        let found = answers_of(&of);
        let kinds: Vec<CauseKind> = found.causes.iter().map(|cause| cause.kind).collect();
        assert_eq!(kinds[0], CauseKind::Workers, "{:?}", found.causes);
        let others = [CauseKind::SequenceLengths, CauseKind::Variation, CauseKind::Partition];
        let small = |kind: &CauseKind| {
            let gain = |cause: &straggler_training::exact::Cause| cause.gain;
            found.causes.iter().find(|cause| cause.kind == *kind).map_or(0.0, gain) < 0.03
        };
        assert!(others.iter().all(small), "{:?}", found.causes);
        assert_eq!(found.causes[0].ranks, (0..dp).collect::<Vec<u32>>());
        let Finding::Workers { order, of_workers, .. } = found.causes[0].finding else { panic!("{found:?}") };
        assert_eq!((order, of_workers), (Order::OneAfterAnother, (dp * pp) as usize));
        // Every worker is slow for a while, so the mean of each is too long, and S is too small. The gain is still
        // right.
        let healthy = mean_step(&Synthetic { faults: Vec::new(), ..of.clone() });
        let truth = 1.0 - healthy / mean_step(&of);
        assert!(truth > 0.15, "{truth}");
        assert!((found.causes[0].gain - truth).abs() < 0.02, "{truth}: {:?}", found.causes[0]);
    }
}

/// A worker is slow in a few scattered steps: the gain refers to these steps.
#[test]
fn slow_steps_need_not_be_neighbours() {
    let fault =
        |from_step: u32, times: f64| Fault { dp_rank: 2, stage: 0, from_step, what: Defect::Slow(times) };
    /// Its first and its last step.
    type Stretch = (u32, u32);
    let cases: [(u32, &[Stretch]); 5] = [
        (4, &[(3, 3)]),
        (2, &[(1, 1)]),
        (20, &[(10, 10)]),
        (20, &[(4, 9)]),
        (30, &[(0, 2), (8, 10), (16, 18), (24, 26)]),
    ];
    for (steps, stretches) in cases {
        let expected = match stretches {
            &[(first, last)] => {
                Period { since_step: Some(first.into()), until_step: Some(last.into()), ..Period::default() }
            }
            _ => Period { scattered: Some([12, 30]), ..Period::default() },
        };
        let begins = stretches.iter().map(|&(first, _)| fault(first, 2.0));
        let ends =
            stretches.iter().filter(|(_, last)| last + 1 < steps).map(|&(_, last)| fault(last + 1, 0.5));
        let of =
            Synthetic { dp: 4, pp: 1, steps, faults: begins.chain(ends).collect(), ..Synthetic::default() };
        let found = answers_of(&of);
        let slow = found.causes.iter().find(|cause| cause.kind == CauseKind::Workers);
        let slow = slow.unwrap_or_else(|| panic!("{stretches:?}: {:?}", found.causes));
        let Evidence::SlowWorker { rank: 2, factor, period, .. } = &slow.evidence[0] else {
            panic!("{slow:?}")
        };
        assert!((factor / 2.0 - 1.0).abs() < 0.05 && *period == expected, "{slow:?}");
        assert!(matches!(&slow.finding, Finding::Worker { period, .. } if *period == expected), "{slow:?}");
        let healthy = mean_step(&Synthetic { faults: Vec::new(), ..of.clone() });
        let truth = 1.0 - healthy / mean_step(&of);
        assert!((slow.gain - truth).abs() < 0.02, "{stretches:?}: {truth}: {slow:?}");
    }
}

/// By chance, some workers get long microbatches more often than others.
#[test]
fn workers_with_long_microbatches_are_not_slow() {
    for seed in 0..4 {
        let of = Synthetic { dp: 16, pp: 2, lengths: 0.5, seed, steps: 30, ..Synthetic::default() };
        let kinds: Vec<CauseKind> = answers_of(&of).causes.iter().map(|cause| cause.kind).collect();
        assert!(kinds.contains(&CauseKind::SequenceLengths), "{kinds:?}");
        assert!(!kinds.contains(&CauseKind::Workers), "{kinds:?}");
        // A worker that is really slow is still found.
        let fault = Fault { dp_rank: 3, stage: 1, from_step: 10, what: Defect::Slow(1.6) };
        let found = answers_of(&Synthetic { faults: vec![fault], ..of });
        let slow = found.causes.iter().find(|cause| cause.kind == CauseKind::Workers).unwrap();
        assert_eq!(slow.ranks, [19], "{slow:?}");
    }
}

/// A slow worker shifts the median of its stage: no other worker is blamed for that.
#[test]
fn nobody_is_accused_beside_a_slow_worker() {
    for seed in 0..8 {
        let fault = Fault { dp_rank: 1, stage: 1, from_step: 0, what: Defect::Slow(1.5) };
        let of = Synthetic { dp: 8, pp: 2, lengths: 0.25, seed, faults: vec![fault], ..Synthetic::default() };
        let found = answers_of(&of);
        let slow = found.causes.iter().find(|cause| cause.kind == CauseKind::Workers).unwrap();
        assert_eq!(slow.ranks, [9], "seed {seed}: {slow:?}");
    }
}

/// A worker that takes 1.3 times as long is found although lengths differ as much or more.
#[test]
fn a_slow_worker_is_found_among_unequal_lengths() {
    for (dp, pp, lengths) in [(4, 4, 0.3), (4, 4, 0.5), (8, 2, 0.5), (8, 1, 0.3), (8, 1, 0.5)] {
        let fault = Fault { dp_rank: 2, stage: pp - 1, from_step: 0, what: Defect::Slow(1.3) };
        let of = Synthetic { dp, pp, lengths, faults: vec![fault], ..Synthetic::default() };
        let found = answers_of(&of);
        let slow = found.causes.iter().find(|cause| cause.kind == CauseKind::Workers);
        let slow = slow.unwrap_or_else(|| panic!("{dp} x {pp}, {lengths}: {:?}", found.causes));
        assert_eq!(slow.ranks, [(pp - 1) * dp + 2], "{slow:?}");
        let healthy = mean_step(&Synthetic { faults: Vec::new(), ..of.clone() });
        let truth = 1.0 - healthy / mean_step(&of);
        assert!((slow.gain - truth).abs() < 0.02, "{dp} x {pp}, {lengths}: {truth}: {slow:?}");
    }
}

/// The public job whose cause is lengths, if available.
#[test]
fn lengths_explain_the_workers_of_a_real_job() {
    let Some(folder) = super::public_jobs::folder() else { return };
    let path = std::path::Path::new(&folder).join("trace-SE.parquet");
    let job = read_table(&path).unwrap().job("SE").unwrap();
    let found = answers(&job);
    assert_eq!(found.causes[0].kind, CauseKind::SequenceLengths, "{:?}", found.causes);
    let named = found.causes.iter().filter(|cause| cause.kind == CauseKind::Workers);
    assert_eq!(named.map(|cause| cause.ranks.len()).sum::<usize>(), 0, "{:?}", found.causes);
}

/// Most workers of a stage are slow: this does not mean that the stage has more work.
#[test]
fn slow_workers_are_no_uneven_stage() {
    let slow = |dp_rank: u32, stage: u32, times: f64| Fault {
        dp_rank,
        stage,
        from_step: 0,
        what: Defect::Slow(times),
    };
    for times in [1.2, 1.5] {
        let faults = (0..3).map(|dp_rank| slow(dp_rank, 1, times)).collect();
        let of = Synthetic { faults, ..Synthetic::default() };
        let found = answers_of(&of);
        assert_eq!(found.causes[0].kind, CauseKind::Workers, "{:?}", found.causes);
        assert_eq!(found.causes[0].ranks, [4, 5, 6]);
        assert!(found.causes.iter().all(|cause| cause.kind != CauseKind::Partition), "{:?}", found.causes);
        let healthy = mean_step(&Synthetic { faults: Vec::new(), ..of.clone() });
        let truth = 1.0 - healthy / mean_step(&of);
        assert!((found.causes[0].gain - truth).abs() < 0.01, "{truth}: {:?}", found.causes[0]);
    }
}

/// Half of the workers, drawn at random: all of them are named.
#[test]
fn half_of_the_workers_may_be_slow() {
    for seed in [1, 2] {
        let mut of = Synthetic { seed, ..Synthetic::default() };
        let half =
            whatif::Fault { whom: whatif::Whom::Each(0.5), what: whatif::Effect::Slow(1.5), from_step: None };
        of.add(&half).unwrap();
        let mut hit: Vec<u32> = of.faults.iter().map(|fault| fault.stage * of.dp + fault.dp_rank).collect();
        hit.sort_unstable();
        let mut named = answers_of(&of).causes[0].ranks.clone();
        named.sort_unstable();
        assert_eq!(named, hit, "seed {seed}");
    }
}

/// A first step that is no slower than some later ones is not start-up.
#[test]
fn steps_that_are_as_slow_later_are_no_start_up() {
    let in_step = |step: u32| {
        let all = |from_step: u32, times: f64| {
            (0..4).map(move |dp_rank| Fault { dp_rank, stage: 0, from_step, what: Defect::Slow(times) })
        };
        all(step, 1.6).chain(all(step + 1, 1.0 / 1.6))
    };
    for (steps, expected) in [(vec![0], true), (vec![0, 9], false), (vec![0, 9, 15], false)] {
        let faults = steps.iter().flat_map(|&step| in_step(step)).collect();
        let found = answers_of(&Synthetic { pp: 1, faults, ..Synthetic::default() });
        let told = found.causes.iter().any(|cause| cause.kind == CauseKind::StartUp);
        assert_eq!(told, expected, "{steps:?}: {:?}", found.causes);
    }
}

/// With one microbatch per step, as in a plain training loop, lengths show only from step to step.
#[test]
fn one_microbatch_a_step_may_be_long() {
    for (seed, dp, lengths) in [(1, 2, 0.1), (2, 4, 0.1), (3, 8, 0.3), (4, 2, 0.3), (5, 4, 0.3), (6, 8, 0.1)]
    {
        let of = Synthetic { dp, pp: 1, microbatches: 1, steps: 30, seed, lengths, ..Synthetic::default() };
        let found = answers_of(&of);
        let blamed = found.causes.iter().find(|cause| cause.kind == CauseKind::Workers);
        assert!(blamed.is_none(), "seed {seed}: {blamed:?}");
    }
    let slow = Fault { dp_rank: 2, stage: 0, from_step: 0, what: Defect::Slow(1.3) };
    let of =
        Synthetic { dp: 4, pp: 1, microbatches: 1, steps: 30, faults: vec![slow], ..Synthetic::default() };
    let found = answers_of(&of);
    assert_eq!(found.causes[0].kind, CauseKind::Workers, "{:?}", found.causes);
    assert_eq!((&found.causes[0].ranks[..], found.causes[0].since_step), (&[2][..], None));
}

/// In a stage of three, a slow worker makes the two others look fast. Workers that compute the same data as these two
/// must not look slow.
#[test]
fn few_workers_do_not_make_others_slow() {
    for (seed, times) in [(42, 1.4), (1, 1.5), (2, 1.6), (3, 1.8), (4, 2.0)] {
        let slow = Fault { dp_rank: 1, stage: 1, from_step: 9, what: Defect::Slow(times) };
        let of = Synthetic {
            dp: 3,
            pp: 2,
            microbatches: 5,
            steps: 17,
            lengths: 0.15,
            seed,
            faults: vec![slow],
            ..Synthetic::default()
        };
        let found = answers_of(&of);
        let workers = found.causes.iter().find(|cause| cause.kind == CauseKind::Workers).unwrap();
        assert_eq!(
            (&workers.ranks[..], workers.since_step),
            (&[4][..], Some(9)),
            "{seed}: {:?}",
            found.causes
        );
    }
}

/// Stalls that hit any worker at any time are nobody's fault. A worker that is slow for good is still named beside them.
#[test]
fn random_stalls_are_no_slow_workers() {
    let of = Synthetic { dp: 32, pp: 1, microbatches: 4, steps: 40, ..Synthetic::default() };
    for slow in [false, true] {
        let mut stalls: Vec<(u32, u32)> = [(3, 7), (8, 11), (19, 2), (26, 33), (30, 21)].to_vec();
        stalls.push((8, 29));
        let mut faults: Vec<Fault> = Vec::new();
        for &(dp_rank, from_step) in &stalls {
            let fault = |from_step, times| Fault { dp_rank, stage: 0, from_step, what: Defect::Slow(times) };
            faults.extend([fault(from_step, 1.8), fault(from_step + 1, 1.0 / 1.8)]);
        }
        let healthy = mean_step(&of);
        if slow {
            faults.push(Fault { dp_rank: 12, stage: 0, from_step: 0, what: Defect::Slow(1.2) });
        }
        let found = answers_of(&Synthetic { faults, ..of.clone() });
        let cause = |kind: CauseKind| found.causes.iter().find(|cause| cause.kind == kind);
        let random = cause(CauseKind::RandomStalls).unwrap_or_else(|| panic!("{:?}", found.causes));
        let Finding::RandomStalls { stalls: 6, workers_hit: 5, of_workers: 32, .. } = random.finding else {
            panic!("{random:?}")
        };
        assert!(random.ranks.is_empty(), "{random:?}");
        let [Evidence::StallRate { worker_steps, .. }, Evidence::StallCosts { costs }, ..] =
            &random.evidence[..]
        else {
            panic!("{random:?}")
        };
        assert_eq!((worker_steps.round(), costs[2].workers), (213.0, 2048), "{random:?}");
        match cause(CauseKind::Workers) {
            None => assert!(!slow, "{:?}", found.causes),
            Some(workers) => assert_eq!((slow, &workers.ranks[..]), (true, &[12][..]), "{workers:?}"),
        }
        if !slow {
            // 80 % of the computing time in six of forty steps.
            let truth = 0.8 * 4.0 * 3.0 * of.forward * 6.0 / 40.0;
            assert!((random.seconds / truth - 1.0).abs() < 0.1, "{} for {truth}, {healthy}", random.seconds);
        }
    }
}

/// Two workers that are slow in one step each are not at fault, either.
#[test]
fn two_stalls_are_random() {
    let of = Synthetic { dp: 64, pp: 1, microbatches: 2, steps: 60, ..Synthetic::default() };
    let stall = |dp_rank, from_step| {
        let fault = |from_step, times| Fault { dp_rank, stage: 0, from_step, what: Defect::Slow(times) };
        [fault(from_step, 1.5), fault(from_step + 1, 1.0 / 1.5)]
    };
    let faults = [stall(48, 7), stall(8, 20)].concat();
    let found = answers_of(&Synthetic { faults, ..of });
    let kinds: Vec<CauseKind> = found.causes.iter().map(|cause| cause.kind).collect();
    assert_eq!(kinds, [CauseKind::RandomStalls], "{:?}", found.causes);
}
