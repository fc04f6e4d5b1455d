use super::*;
use crate::latency::draws::Draws;
use crate::latency::gate::GateOutcome;
use crate::latency::samples::{histogram, lognormal};
use crate::latency::{Comparison, Gate, Group};
use straggler_model::latency::{Bins, Labels, Series};

/// 10 cycles of 500 trials a run; `level` gives each cycle its own factor, from the numbers of run and cycle.
fn measured(seed: u64, runs: u64, mut level: impl FnMut(u64, u64) -> f64) -> Distribution {
    let mut series = Series::new(Labels::default(), Bins::default());
    for (run, cycle) in (0..runs).flat_map(|run| (0..10).map(move |cycle| (run, cycle))) {
        let factor = level(run, cycle);
        let trials = lognormal(1000 * seed + 10 * run + cycle, 500, 4e6, 1e6, 0.4);
        let trials: Vec<u64> = trials.iter().map(|&ps| (ps as f64 * factor) as u64).collect();
        series.add_cycle(&histogram(&trials), 1_000_000_000 * (100 * run + 1 + cycle)).unwrap();
    }
    let origin = |run| Origin::Measured { version: "1".into(), command: "m".into(), started: 100 * run };
    let origins: Vec<Origin> = (0..runs).map(origin).collect();
    Distribution::of_group(&Group::single(&series), &origins).unwrap()
}

fn matters(one: &Distribution, other: &Distribution) -> bool {
    let change = Comparison::of(one, other, 1).change;
    change.shift.is_some() || change.spread.is_some() || change.tail.is_some()
}

fn trips(gate: &str, one: &Distribution, other: &Distribution) -> bool {
    let gate: Gate = gate.parse().unwrap();
    gate.judge([one, other], 1).unwrap().outcome == GateOutcome::Tripped
}

/// How often pure chance is called a difference that matters, and how often it trips a gate: first with the
/// variation, then as if trials were independent.
fn wrong(runs: u64, of_run: f64, of_cycle: f64) -> [usize; 6] {
    let mut found = [0; 6];
    for seed in 0..60 {
        let side = |side: u64| {
            let mut draws = Draws::new(2 * seed + side, 5);
            let mut of_this_run = 1.0;
            measured(2 * seed + side, runs, |_, cycle| {
                if cycle == 0 {
                    of_this_run = (of_run * draws.normal()).exp();
                }
                of_this_run * (of_cycle * draws.normal()).exp()
            })
        };
        let both = [side(0), side(1)];
        let mut plain = both.clone();
        plain.iter_mut().for_each(|one| one.variation = Variation::default());
        for (place, [one, other]) in [&both, &plain].into_iter().enumerate() {
            found[3 * place] += usize::from(matters(one, other));
            found[3 * place + 1] += usize::from(trips("median>+0%", one, other));
            found[3 * place + 2] += usize::from(trips("mean>+0%", one, other));
        }
    }
    found
}

/// Every cycle has its own level, with a deviation of 5 %, so medians of two samples often differ.
#[test]
fn levels_of_cycles_are_no_difference() {
    let [verdicts, medians, means, plain @ ..] = wrong(1, 0.0, 0.05);
    assert!(verdicts <= 6 && medians <= 4 && means <= 4, "{verdicts} {medians} {means}");
    assert!(plain.iter().all(|&wrong| wrong >= 12), "{plain:?}");
}

/// Every run has its own level, which cycles do not show but five runs per file do.
#[test]
fn levels_of_runs_are_no_difference() {
    let [verdicts, medians, means, plain @ ..] = wrong(5, 0.05, 0.0);
    assert!(verdicts <= 6 && medians <= 4 && means <= 4, "{verdicts} {medians} {means}");
    assert!(plain.iter().all(|&wrong| wrong >= 12), "{plain:?}");
    let [one_each, ..] = wrong(1, 0.05, 0.0);
    assert!(one_each >= 30, "one run each cannot tell: {one_each}");
}

/// Independent trials count nearly in full, and a difference of 3 % is found.
#[test]
fn independent_trials_lose_little() {
    let effects: Vec<f64> = (0..40).map(|seed| measured(seed, 1, |_, _| 1.0).variation.body).collect();
    assert!(effects.iter().all(|&effect| (1.0..5.0).contains(&effect)), "{effects:?}");
    assert!(effects.iter().sum::<f64>() / 40.0 < 2.0, "{effects:?}");
    for seed in 0..20 {
        let [one, other] = [1.0, 1.03].map(|factor| measured(seed + 100, 1, |_, _| factor));
        assert!(matters(&one, &other) && trips("median>+1%", &one, &other), "{seed}");
    }
}

/// Slow trials that all fall into one cycle affect the 99 % quantile, but not the median.
#[test]
fn bursts_are_the_tail_of_few_cycles() {
    let mut series = Series::new(Labels::default(), Bins::default());
    for cycle in 0..10 {
        let mut trials = lognormal(cycle, 1000, 4e6, 1e6, 0.1);
        trials.iter_mut().take(if cycle == 3 { 200 } else { 0 }).for_each(|ps| *ps += 50_000_000);
        series.add_cycle(&histogram(&trials), cycle).unwrap();
    }
    let found = Distribution::of_group(&Group::single(&series), &[]).unwrap().variation;
    assert!(found.body < 5.0 && found.tail > 5.0 * found.body, "{found:?}");
    assert_eq!((found.runs, found.blocks, found.between_runs), (1, 10, false));
}

/// Two cycles do not show their variance; pairs at different levels are not variation over time.
#[test]
fn few_cycles_and_many_pairs() {
    let mut few = Series::new(Labels::default(), Bins::default());
    (0..2).for_each(|cycle| few.add_cycle(&histogram(&lognormal(cycle, 100, 0.0, 1e6, 0.1)), cycle).unwrap());
    let found = Distribution::of_group(&Group::single(&few), &[]).unwrap();
    assert_eq!(found.variation, Variation::default());
    let mut many = Series::new(Labels::default(), Bins::default());
    for process in 0..8 {
        let mut own = Series::new(Labels::default(), Bins::default());
        for cycle in 0..10 {
            let trials = lognormal(10 * process + cycle, 200, 0.0, 1e6 * (1 + process) as f64, 0.1);
            own.add_cycle(&histogram(&trials), 1000 * cycle + process).unwrap();
        }
        many.merge(&own.recorded_by(process as u32)).unwrap();
    }
    let found = Distribution::of_group(&Group::single(&many), &[]).unwrap().variation;
    assert!(found.blocks == 10 && found.body < 3.0 && found.mean < 3.0, "{found:?}");
}
