use super::*;
use crate::latency::compare::{Direction, mean_interval, quantile_interval};
use crate::latency::draws::Draws;
use crate::latency::gate::GateOutcome;
use crate::latency::samples::{histogram, lognormal};
use crate::latency::{Comparison, Gate, Group};
use straggler_model::latency::{Bins, Labels, Measurement, Series};

/// 10 cycles of 500 trials a run; `level` gives each cycle its own factor, from the numbers of run and cycle.
fn measured(seed: u64, runs: u64, level: impl FnMut(u64, u64) -> f64) -> Distribution {
    spread(seed, runs, 0.4, 500, level)
}

/// The same with this spread within a cycle, and this number of trials.
fn spread(
    seed: u64,
    runs: u64,
    sigma: f64,
    trials: usize,
    mut level: impl FnMut(u64, u64) -> f64,
) -> Distribution {
    let mut all = Measurement::default();
    for run in 0..runs {
        let mut series = Series::new(Labels::default(), Bins::default());
        for cycle in 0..10 {
            let factor = level(run, cycle);
            let trials = lognormal(1000 * seed + 10 * run + cycle, trials, 4e6, 1e6, sigma);
            let trials: Vec<u64> = trials.iter().map(|&ps| (ps as f64 * factor) as u64).collect();
            series.add_cycle(&histogram(&trials), 1_000_000_000 * (100 * run + 1 + cycle)).unwrap();
        }
        let one = Measurement { series: vec![series], ..Measurement::default() };
        all.merge(&if runs > 1 { one.as_runs() } else { one }).unwrap();
    }
    Distribution::of_group(&Group::single(&all.series[0])).unwrap()
}

fn matters(one: &Distribution, other: &Distribution) -> bool {
    let change = Comparison::new(one, other, 1).change;
    change.shift.is_some() || change.spread.is_some() || change.tail.is_some()
}

fn trips(gate: &str, one: &Distribution, other: &Distribution) -> bool {
    let gate = Gate::new(&gate.parse().unwrap()).unwrap();
    gate.judge([one, other], 1).unwrap().outcome == GateOutcome::Tripped
}

/// In how many of some pairs pure chance is called a difference that matters, and trips a gate: first with the
/// variation, then as if trials were independent.
fn wrong(pairs: u64, runs: u64, of_run: f64, of_cycle: f64) -> [usize; 6] {
    let mut found = [0; 6];
    for seed in 0..pairs {
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
    let [verdicts, medians, means, plain @ ..] = wrong(60, 1, 0.0, 0.05);
    assert!(verdicts <= 6 && medians <= 4 && means <= 4, "{verdicts} {medians} {means}");
    assert!(plain.iter().all(|&wrong| wrong >= 12), "{plain:?}");
}

/// Every run has its own level, which cycles do not show but five runs per file do.
#[test]
fn levels_of_runs_are_no_difference() {
    let [verdicts, medians, means, plain @ ..] = wrong(50, 5, 0.05, 0.0);
    assert!(verdicts <= 6 && medians <= 5 && means <= 5, "{verdicts} {medians} {means}");
    assert!(plain.iter().all(|&wrong| wrong >= 10), "{plain:?}");
    let [one_each, ..] = wrong(30, 1, 0.05, 0.0);
    assert!(one_each >= 15, "one run each cannot tell: {one_each}");
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
    let found = Distribution::of_group(&Group::single(&series)).unwrap().variation;
    assert!(found.body < 5.0 && found.tail > 5.0 * found.body, "{found:?}");
    assert_eq!((found.runs, found.blocks, found.between_runs), (1, 10, false));
}

/// Two cycles do not show their variance; pairs at different levels are not variation over time.
#[test]
fn few_cycles_and_many_pairs() {
    let mut few = Series::new(Labels::default(), Bins::default());
    (0..2).for_each(|cycle| few.add_cycle(&histogram(&lognormal(cycle, 100, 0.0, 1e6, 0.1)), cycle).unwrap());
    let found = Distribution::of_group(&Group::single(&few)).unwrap();
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
    let found = Distribution::of_group(&Group::single(&many)).unwrap().variation;
    assert!(found.blocks == 10 && found.body < 3.0 && found.mean < 3.0, "{found:?}");
}

/// Levels of runs or cycles, with a deviation of 10 %: how often the 95 % intervals of both sides' difference miss 0,
/// and how often a test rejects, of 200 pairs without a difference.
fn false_alarms(runs: u64, sigma: f64, trials: usize) -> ([usize; 3], [usize; 3]) {
    let (mut missed, mut rejected) = ([0; 3], [0; 3]);
    for seed in 0..200 {
        let side = |side: u64| {
            let mut draws = Draws::new(2 * seed + side, 5);
            let mut of_run = 1.0;
            spread(2 * seed + side, runs, sigma, trials, |_, cycle| {
                if runs == 1 || cycle == 0 {
                    of_run = (0.1 * draws.normal()).exp();
                }
                of_run
            })
        };
        let found = Comparison::new(&side(0), &side(1), 1);
        for (count, q) in missed.iter_mut().zip([0.5, 0.99, 0.999]) {
            *count += usize::from(found.at(q).is_some_and(|level| level.is_sure()));
        }
        let p = [
            found.kolmogorov_smirnov.p,
            found.mann_whitney.p,
            found.anderson_darling.map_or(1.0, |test| test.p),
        ];
        rejected.iter_mut().zip(p).for_each(|(count, p)| *count += usize::from(p < 0.05));
    }
    (missed, rejected)
}

/// 95 % intervals of all quantiles, also deep ones, miss in about 10 of 200 cases (17 is the 99 % bound of chance).
#[test]
fn intervals_of_runs_cover() {
    for runs in [3, 5] {
        for sigma in [0.01, 0.4] {
            let (missed, rejected) = false_alarms(runs, sigma, 500);
            assert!(missed.iter().all(|missed| (2..=17).contains(missed)), "{runs} {sigma} {missed:?}");
            assert!(rejected.iter().all(|&rejected| rejected <= 17), "{runs} {sigma} {rejected:?}");
        }
    }
}

/// Levels of cycles: narrow cycles that hardly overlap, and wide ones. Deep quantiles that few cycles decide have no
/// interval.
#[test]
fn tests_allow_for_cycles() {
    for sigma in [0.01, 0.4] {
        let (missed, rejected) = false_alarms(1, sigma, 500);
        assert!(missed.iter().all(|&missed| missed <= 17), "{sigma} {missed:?}");
        assert!(rejected.iter().all(|&rejected| rejected <= 17), "{sigma} {rejected:?}");
    }
}

/// Three runs a side at 9, 10, 11 and at 12, 13, 14 µs: Welch's test of the logarithms has p = 0.023.
#[test]
fn runs_that_do_not_overlap_differ() {
    let levels = |levels: [f64; 3]| spread(1, 3, 0.05, 500, move |run, _| levels[run as usize] / 5.0);
    let [one, other] = [[10.0, 11.0, 9.0], [13.0, 14.0, 12.0]].map(levels);
    let found = Comparison::new(&one, &other, 1);
    assert_eq!(found.change.shift, Some(Direction::More), "{found:?}");
    let [low, high] = found.at(0.5).unwrap().share_interval;
    // ln 9, 10, 11 and ln 12, 13, 14 differ by 0.2638 with a standard error of 0.0731 and 3.75 degrees of freedom.
    assert!((low - 0.057).abs() < 0.01 && (high - 0.604).abs() < 0.02, "{low} {high}");
    assert!(trips("median>+4%", &one, &other) && !trips("median>+10%", &one, &other));
    // Five runs a side that differ by 30 % and vary by 10 %.
    let power = (0..50).filter(|&seed| {
        let side = |side: u64| {
            let mut draws = Draws::new(2 * seed + side, 6);
            let (more, mut level) = (if side == 1 { 1.3 } else { 1.0 }, 1.0);
            spread(2 * seed + side, 5, 0.1, 100, |_, cycle| {
                if cycle == 0 {
                    level = more * (0.1 * draws.normal()).exp();
                }
                level
            })
        };
        Comparison::new(&side(0), &side(1), 1).change.shift == Some(Direction::More)
    });
    let power = power.count();
    assert!(power >= 44, "{power} of 50");
}

/// Three runs at 5 µs, 5 µs and 5 ms say nothing about seconds, which Student's interval of their logarithms reaches.
#[test]
fn intervals_do_not_exceed_what_runs_support() {
    let levels = |levels: [f64; 3]| spread(1, 3, 0.05, 100, move |run, _| levels[run as usize] / 5.0);
    let [steady, jumping] = [[5.0, 5.1, 4.9], [5.0, 5.0, 5000.0]].map(levels);
    let found = Comparison::new(&steady, &jumping, 1);
    let median = found.at(0.5).unwrap();
    let [low, high] = median.interval_ps.map(|ps| ps / 1e6);
    assert!(-1.0 < low && low < 0.0 && 5000.0 < high && high < 10_000.0, "{low} {high} µs");
    assert_eq!(median.few_runs, [false, true]);
    let (_, [low, high]) = quantile_interval(&jumping, 0.5, 1);
    assert!(4e6 < low && high < 10_100e6, "{low} {high}");
    let [low, high] = mean_interval(&jumping).unwrap();
    assert!(4e6 < low && high < 10_100e6, "{low} {high}");
    assert_eq!(Comparison::new(&steady, &steady, 1).at(0.5).unwrap().few_runs, [false, false]);
    // Ordinary variation of 10 % from run to run is left as it is.
    let vary = levels([9.0, 10.0, 11.0]);
    let [low, high] = quantile_interval(&vary, 0.5, 1).1.map(|ps| ps / 1e6);
    assert!((low - 7.70).abs() < 0.1 && (high - 12.8).abs() < 0.15, "{low} {high}");
}

/// One side varies between microseconds and milliseconds: verdict, table and gates agree whether the medians differ.
#[test]
fn one_interval_decides() {
    let levels = [[5838.0, 5838.0, 1.2], [1.457, 1.457, 1.457], [5838.0, 5500.0, 6000.0], [9.0, 0.5, 4.0]];
    let sides = levels.map(|levels| spread(1, 3, 0.05, 100, move |run, _| levels[run as usize] / 5.0));
    for one in &sides {
        for other in &sides {
            let found = Comparison::new(one, other, 1);
            for level in &found.quantiles {
                let [low, high] = level.interval_ps;
                let [less, more] = level.share_interval;
                assert_eq!((low > 0.0, high < 0.0), (less > 0.0, more < 0.0), "{level:?}");
                assert!(low <= level.ends_ps[0] && level.ends_ps[1] <= high, "{level:?}");
            }
            let median = found.at(0.5).unwrap();
            assert_eq!(found.change.shift.is_some(), median.is_sure(), "{median:?}");
            let gates = ["median>+0%", "median<-0%", "median>+0us", "median<-0us"];
            assert_eq!(gates.iter().any(|gate| trips(gate, one, other)), median.is_sure(), "{median:?}");
        }
    }
}
