//! Gates: limits on a comparison.
//!
//! `p99>+5%` trips if the second file's 99 % quantile is more than 5 % above the first's, `p99>1.5x` if it is more than
//! 1.5 times as high, `median>+1us` if it is more than 1 µs above, `p99>50us` if it is above 50 µs, whatever the first
//! is; `<` is the opposite. A gate trips only if the whole confidence interval is beyond the limit. If the value is
//! beyond the limit but its interval is not, the gate is undecided, which is reported. For each file, the interval
//! includes the variation between its runs if it has three or more, otherwise the variation from cycle to cycle. For a
//! quantile outside the bins, only a bound is known; the gate is judged if the bound decides.

use super::Distribution;
use super::compare::{MeanDifference, difference, mean_interval, quantile_interval};
use super::distribution::Shortage;
use crate::limit::{Limit, LimitError, Value};
use serde::Serialize;
use straggler_model::latency::Outside;
use straggler_model::spelling::{hint, nearest};

/// A limit on one statistic of a comparison, parsed from `--fail-if`.
#[derive(Clone, PartialEq, Debug)]
pub struct Gate {
    text: String,
    statistic: Statistic,
    above: bool,
    level: Level,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Statistic {
    Quantile(f64),
    Mean,
    /// Minimum and maximum have no interval: the values themselves are compared.
    Min,
    Max,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Level {
    /// Relative to the first.
    Share(f64),
    /// Above or below the first, in ps.
    Difference(f64),
    /// In ps, independent of the first.
    Time(f64),
}

/// Why a limit is not a gate.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GateError {
    #[error(
        "no metric `{name}`; the metrics of this command are median, mean, min, max, and p with a number between 0 and \
         100, as in p99.9{}", hint(*.nearest)
    )]
    Unknown { name: String, nearest: Option<&'static str> },
    #[error("a comparison has no [labels] and no @processes: choose series with --series")]
    Selected,
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error("{percent}% needs a sign, as in +{percent}%: a percentage is relative to the first file")]
    NoSign { percent: String },
    #[error("`{name}` is a time: give the limit as +5%, 1.5x, +1us or 50us")]
    NoUnit { name: String },
}

/// Why a gate cannot be judged.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Unjudged {
    #[error("{gate}: {lacks}, or choose a quantile nearer to the median")]
    TooFew { gate: String, lacks: Shortage },
    #[error(
        "{gate}: cannot be decided, because the quantile of the {file} file lies outside the bins ({outside}): {}, \
         or choose another quantile", advice(*outside)
    )]
    Outside { gate: String, file: &'static str, outside: Outside },
}

/// How to get a quantile inside the bins. No bins help against trials shorter than the timer's cost.
fn advice(outside: Outside) -> &'static str {
    match outside {
        Outside::Above(_) => "measure again with more or wider --bins",
        Outside::Below(_) => "time several operations at once",
    }
}

/// The result of a gate.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Judgement {
    pub gate: String,
    pub outcome: GateOutcome,
    /// A share for limits in percent, otherwise ps. None if it depends on a quantile outside the bins.
    pub value: Option<f64>,
    /// Bounds on the value; both equal the value if it is known.
    pub ends: [f64; 2],
    pub interval: [f64; 2],
    pub limit: f64,
    /// Whether the numbers are shares.
    pub is_share: bool,
}

/// Whether a comparison keeps to a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateOutcome {
    Passed,
    /// Beyond the limit, but not significantly.
    Undecided,
    Tripped,
}

fn statistic(name: &str) -> Result<Statistic, GateError> {
    match name {
        "median" => Ok(Statistic::Quantile(0.5)),
        "mean" => Ok(Statistic::Mean),
        "min" => Ok(Statistic::Min),
        "max" => Ok(Statistic::Max),
        _ => {
            let percent = name.strip_prefix('p').and_then(|number| number.parse::<f64>().ok());
            let inside = percent.filter(|&percent| percent > 0.0 && percent < 100.0);
            let nearest = nearest(name, ["median", "mean", "min", "max"]);
            // Rounded, so that p99.9 is exactly the number 0.999.
            let quantile = inside.map(|percent| Statistic::Quantile((percent * 1e8).round() / 1e10));
            quantile.ok_or_else(|| GateError::Unknown { name: name.into(), nearest })
        }
    }
}

impl Gate {
    pub fn new(limit: &Limit) -> Result<Gate, GateError> {
        let statistic = statistic(&limit.metric)?;
        if limit.label.is_some() || limit.processes.is_some() {
            return Err(GateError::Selected);
        }
        let bound = limit.bound()?;
        let level = match (bound.value, bound.sign) {
            (Value::Percent(percent), Some(_)) => Level::Share(bound.signed(percent / 100.0)),
            (Value::Percent(percent), None) => {
                return Err(GateError::NoSign { percent: percent.to_string() });
            }
            (Value::Factor(factor), _) => Level::Share(factor - 1.0),
            (Value::Time(time), Some(_)) => Level::Difference(bound.signed(time.ps() as f64)),
            (Value::Time(time), None) => Level::Time(time.ps() as f64),
            (Value::Plain(_), _) => return Err(GateError::NoUnit { name: limit.metric.clone() }),
        };
        Ok(Gate { text: limit.to_string(), statistic, above: bound.above, level })
    }

    /// Compares the second with the first; the same seed gives the same numbers.
    pub fn judge(&self, both: [&Distribution; 2], seed: u64) -> Result<Judgement, Unjudged> {
        let Compared { second, ends, interval, share_ends, share_interval } = self.compared(both, seed)?;
        let (ends, interval, limit) = match self.level {
            Level::Share(limit) => (share_ends, share_interval, limit),
            Level::Difference(limit) => (ends, interval, limit),
            Level::Time(limit) => (second, self.level_interval(both[1], second, seed), limit),
        };
        // However skewed the resampled values are, the interval contains the value itself.
        let interval = [interval[0].min(ends[0]), interval[1].max(ends[1])];
        let beyond = |value: f64| if self.above { value > limit } else { value < limit };
        let outcome = match (ends.map(beyond), interval.into_iter().all(beyond)) {
            ([true, true], true) => GateOutcome::Tripped,
            ([true, true], false) => GateOutcome::Undecided,
            ([false, false], _) => GateOutcome::Passed,
            // The limit lies between the bounds of the value.
            _ => return Err(self.outside(both)),
        };
        let is_share = matches!(self.level, Level::Share(_));
        let value = (ends[0] == ends[1]).then_some(ends[0]);
        Ok(Judgement { gate: self.text.clone(), outcome, value, ends, interval, limit, is_share })
    }

    /// The values and intervals to compare.
    fn compared(&self, both: [&Distribution; 2], seed: u64) -> Result<Compared, Unjudged> {
        let exact = |values: [f64; 2]| {
            let [ends, share_ends] =
                [values[1] - values[0], values[1] / values[0].max(1.0) - 1.0].map(|end| [end; 2]);
            Compared { second: [values[1]; 2], ends, interval: ends, share_ends, share_interval: share_ends }
        };
        match self.statistic {
            Statistic::Min => Ok(exact(both.map(|one| one.min_ps))),
            Statistic::Max => Ok(exact(both.map(|one| one.max_ps))),
            Statistic::Mean => {
                let mean = MeanDifference::new(both);
                let intervals = mean.interval_ps.zip(mean.share_interval);
                let (interval, share_interval) = intervals.ok_or_else(|| self.too_few(both))?;
                Ok(Compared { interval, share_interval, ..exact(mean.values_ps) })
            }
            Statistic::Quantile(q) => {
                if let Some(lacks) = both.iter().find_map(|one| one.lacks(q)) {
                    return Err(Unjudged::TooFew { gate: self.text.clone(), lacks });
                }
                let found = difference(both, q, seed).ok_or_else(|| self.too_few(both))?;
                Ok(Compared {
                    second: quantile_interval(both[1], q, seed).0,
                    ends: found.ends_ps,
                    interval: found.interval_ps,
                    share_ends: found.share_ends,
                    share_interval: found.share_interval,
                })
            }
        }
    }

    /// The error for the first relevant file whose quantile lies outside the bins. With an absolute limit, only the
    /// second file is relevant.
    fn outside(&self, both: [&Distribution; 2]) -> Unjudged {
        let gate = self.text.clone();
        let Statistic::Quantile(q) = self.statistic else { return self.too_few(both) };
        let first = both[0].outside_of_runs(q).filter(|_| !matches!(self.level, Level::Time(_)));
        match first
            .map(|outside| ("first", outside))
            .or(both[1].outside_of_runs(q).map(|outside| ("second", outside)))
        {
            Some((file, outside)) => Unjudged::Outside { gate, file, outside },
            None => self.too_few(both),
        }
    }

    fn too_few(&self, both: [&Distribution; 2]) -> Unjudged {
        let count = both.map(Distribution::count).into_iter().min().unwrap_or(0);
        Unjudged::TooFew {
            gate: self.text.clone(),
            lacks: Shortage::Trials { needed: count.max(1) + 1, count },
        }
    }

    /// The interval of the second file's value alone.
    fn level_interval(&self, second: &Distribution, ends: [f64; 2], seed: u64) -> [f64; 2] {
        match self.statistic {
            Statistic::Quantile(q) => quantile_interval(second, q, seed).1,
            Statistic::Mean => mean_interval(second).unwrap_or(ends),
            Statistic::Min | Statistic::Max => ends,
        }
    }
}

/// The values that a gate compares, in ps. Values outside the bins have two different bounds.
struct Compared {
    second: [f64; 2],
    /// Bounds on the difference of the samples.
    ends: [f64; 2],
    interval: [f64; 2],
    /// Bounds on second / first − 1.
    share_ends: [f64; 2],
    share_interval: [f64; 2],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::samples::{distribution, lognormal};

    fn gate(text: &str) -> Gate {
        Gate::new(&text.parse().unwrap()).unwrap()
    }

    fn judged(text: &str, one: &[u64], other: &[u64]) -> GateOutcome {
        gate(text).judge([&distribution(one), &distribution(other)], 1).unwrap().outcome
    }

    #[test]
    fn a_regression_trips_and_noise_does_not() {
        let base = lognormal(1, 20_000, 4e6, 1e6, 0.4);
        let slower: Vec<u64> = base.iter().map(|ps| ps + 400_000).collect();
        for gate in [
            "median>+5%",
            "median>1.05x",
            "p99>+2%",
            "mean>+0.3us",
            "min>+5%",
            "p99>+100ns",
            "median>5.2us",
            "median>5us",
        ] {
            assert_eq!(judged(gate, &base, &slower), GateOutcome::Tripped, "{gate}");
        }
        for gate in ["median>+10%", "p99>+500ns", "median<-1%", "median>6us", "max>+1ms", "mean<+0.3us"] {
            assert_eq!(judged(gate, &base, &slower), GateOutcome::Passed, "{gate}");
        }
        assert_eq!(judged("median<-5%", &slower, &base), GateOutcome::Tripped);
        // 1.6 % above, but with few trials: undecided.
        let few = lognormal(2, 60, 4e6, 1e6, 0.4);
        let nearly: Vec<u64> = few.iter().map(|ps| ps + 80_000).collect();
        assert_eq!(judged("median>+1%", &few, &nearly), GateOutcome::Undecided);
        let alike = lognormal(3, 20_000, 4e6, 1e6, 0.4);
        assert_eq!(judged("p99>+5%", &base, &alike), GateOutcome::Passed);
    }

    /// A gate uses the same interval as the table of the comparison.
    #[test]
    fn a_gate_has_the_interval_of_the_table() {
        let [one, other] = [1, 2].map(|seed| distribution(&lognormal(seed, 5000, 4e6, 1e6, 0.4)));
        let table = super::super::Comparison::new(&one, &other, 7);
        for (text, q) in [("median>+1ns", 0.5), ("p99>+1ns", 0.99), ("p1>+1ns", 0.01)] {
            let judged = gate(text).judge([&one, &other], 7).unwrap();
            let shown = table.at(q).unwrap();
            assert_eq!((judged.interval, judged.value), (shown.interval_ps, shown.difference_ps), "{text}");
        }
        // A quantile that is not in the table.
        let judged = gate("p60>+1ns").judge([&one, &other], 7).unwrap();
        let value = judged.value.unwrap();
        assert!(judged.interval[0] < value && value < judged.interval[1]);
    }

    /// Only a bound is known beyond the last bin: 10 % of the trials of the second file take 90 µs or more; the bins
    /// end at 10 µs.
    #[test]
    fn bounds_decide_where_they_can() {
        use straggler_model::Time;
        use straggler_model::latency::{Bins, Histogram};
        let binned = |beyond: u64| {
            let mut times = Histogram::new(Bins::FixedWidth { width_ps: 1_000_000, count: 10 });
            (0..1000).for_each(|trial| {
                times.record(Time(if trial < beyond { 90_000_000 + trial } else { 5_000_000 + trial }))
            });
            Distribution::from_histogram(&times).unwrap()
        };
        let (good, bad) = (binned(0), binned(100));
        let judge = |text: &str, both: [&Distribution; 2]| gate(text).judge(both, 1);
        let outcome = |gate: &str, both: [&Distribution; 2]| judge(gate, both).unwrap().outcome;
        // From 5 µs to an unknown time between 10 and 90 µs.
        for gate in ["p99>+5%", "p99>+50%", "p99>+3us", "p95>9us", "p95<+100us"] {
            assert_eq!(outcome(gate, [&good, &bad]), GateOutcome::Tripped, "{gate}");
        }
        for gate in ["p95>1s", "p95<-1us", "p95<-1%", "p99>+2000%", "p99>+100us"] {
            assert_eq!(outcome(gate, [&good, &bad]), GateOutcome::Passed, "{gate}");
        }
        assert_eq!(outcome("p95<-40%", [&bad, &good]), GateOutcome::Tripped);
        assert_eq!(outcome("p95>+5%", [&bad, &good]), GateOutcome::Passed);
        let judged = judge("p99>+5%", [&good, &bad]).unwrap();
        assert!(judged.value.is_none() && judged.ends[0] > 0.6 && judged.ends[1] > 14.0, "{judged:?}");
        for (gate, file, both) in [
            ("p99>+400%", "second", [&good, &bad]),
            ("p95>50us", "second", [&good, &bad]),
            ("p95>50us", "second", [&bad, &bad]),
            ("p95<-80%", "first", [&bad, &good]),
            ("p99>+1%", "first", [&bad, &bad]),
        ] {
            let fault = judge(gate, both).unwrap_err().to_string();
            let said = format!("because the quantile of the {file} file lies outside the bins (> 10 µs)");
            assert!(fault.starts_with(gate) && fault.contains(&said), "{fault}");
        }
        // Medians and means are known.
        assert_eq!(outcome("median>+50%", [&good, &bad]), GateOutcome::Passed);
        assert_eq!(outcome("mean>+50%", [&good, &bad]), GateOutcome::Tripped);
    }

    #[test]
    fn what_is_no_gate() {
        let fault = |text: &str| Gate::new(&text.parse().unwrap()).unwrap_err().to_string();
        assert!(fault("p99").contains("there is no > or <"));
        assert!(fault("p101>+5%").contains("a number between 0 and 100"));
        assert!(fault("p99>5%").contains("needs a sign, as in +5%"));
        assert!(fault("medain>+5%").contains("did you mean `median`?"));
        assert!(fault("p99>+5").contains("is a time: give the limit as +5%"));
        assert!(fault("p99@16>+5%").contains("--series"));
        let few = distribution(&lognormal(1, 100, 0.0, 5e6, 0.3));
        let error = gate("p99>+5%").judge([&few, &few], 1).unwrap_err().to_string();
        assert!(error.starts_with("p99>+5%: this needs at least 368 trials, but there are 100"), "{error}");
    }
}
