//! The results of all cases.

use super::Options;
use super::rounds::Kind;
use crate::session::Session;
use serde::Serialize;
use straggler_model::{Time, stats};
use straggler_report::numbers::{percent, seconds, slowdown};

/// Two runs of a case, measured and predicted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pair {
    pub quiet_seconds: f64,
    pub noisy_seconds: f64,
    pub predicted_quiet_seconds: f64,
    pub predicted_noisy_seconds: f64,
    /// The share of the time that the machine took from the most disturbed rank before the runs,
    /// which the prediction knows.
    pub own_noise: f64,
    /// The same share in the runs themselves, which the prediction does not know.
    pub own_noise_in_runs: f64,
    pub latency_seconds: f64,
    pub send_overhead_seconds: f64,
    pub recv_overhead_seconds: f64,
}

/// The largest share of time that the machine may take from an undisturbed rank.
const UNDISTURBED: f64 = 0.02;

impl Pair {
    /// Whether the machine was quiet. Never considers how well the pair was predicted.
    fn is_undisturbed(&self) -> bool {
        self.own_noise.max(self.own_noise_in_runs) <= UNDISTURBED
    }
}

/// One case: a collective with work and detours of given lengths, run and predicted.
#[derive(Clone, Debug, Serialize)]
pub struct CaseAnswer {
    pub collective: Kind,
    pub work_seconds: f64,
    pub detour_seconds: f64,
    pub collectives: u32,
    /// Medians over all pairs; `None` if no pair could be predicted.
    pub all: Option<Compared>,
    /// Medians over the undisturbed pairs, in which the machine took hardly any time before and during the runs.
    pub undisturbed: Option<Compared>,
    pub pairs: Vec<Pair>,
    pub doubts: Vec<String>,
}

/// Medians of some pairs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Compared {
    pub pairs: usize,
    pub slowdown: f64,
    pub predicted_slowdown: f64,
    /// predicted / measured − 1.
    pub error: f64,
    pub quiet_seconds: f64,
    /// predicted / measured − 1 of the time without detours.
    pub quiet_error: f64,
    pub own_noise: f64,
    pub own_noise_in_runs: f64,
}

impl Compared {
    fn new(pairs: &[Pair]) -> Option<Compared> {
        let median = |value: fn(&Pair) -> f64| median(pairs.iter().map(value).collect());
        let slowdown = median(|pair| pair.noisy_seconds / pair.quiet_seconds)?;
        let predicted_slowdown = median(|pair| pair.predicted_noisy_seconds / pair.predicted_quiet_seconds)?;
        Some(Compared {
            pairs: pairs.len(),
            slowdown,
            predicted_slowdown,
            error: predicted_slowdown / slowdown - 1.0,
            quiet_seconds: median(|pair| pair.quiet_seconds)?,
            quiet_error: median(|pair| pair.predicted_quiet_seconds / pair.quiet_seconds)? - 1.0,
            own_noise: median(|pair| pair.own_noise)?,
            own_noise_in_runs: median(|pair| pair.own_noise_in_runs)?,
        })
    }
}

/// The median; none without values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| stats::median(&mut values))
}

impl CaseAnswer {
    pub fn new(
        collective: Kind,
        work: Time,
        detour: Time,
        collectives: u32,
        pairs: Vec<Pair>,
        doubts: Vec<String>,
    ) -> CaseAnswer {
        let undisturbed: Vec<Pair> = pairs.iter().copied().filter(Pair::is_undisturbed).collect();
        CaseAnswer {
            collective,
            work_seconds: work.seconds(),
            detour_seconds: detour.seconds(),
            collectives,
            all: Compared::new(&pairs),
            undisturbed: Compared::new(&undisturbed),
            pairs,
            doubts,
        }
    }

    /// One line of progress.
    pub fn line(&self) -> String {
        let found = self.all.map_or("not predicted".to_owned(), |all| {
            format!(
                "slowdown {}, predicted {}",
                slowdown(all.slowdown - 1.0),
                slowdown(all.predicted_slowdown - 1.0)
            )
        });
        let (work, detour) = (seconds(self.work_seconds), seconds(self.detour_seconds));
        format!("{}, {work} of work, detours of {detour}: {found}", self.collective.name())
    }
}

/// The median absolute error of the cases with and without work between the collectives.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Medians {
    pub back_to_back: Option<f64>,
    pub with_work: Option<f64>,
    pub largest: Option<f64>,
}

impl Medians {
    fn new(cases: &[CaseAnswer], of: fn(&CaseAnswer) -> Option<Compared>) -> Medians {
        let errors = |keep: fn(&CaseAnswer) -> bool| -> Vec<f64> {
            cases.iter().filter(|case| keep(case)).filter_map(|case| Some(of(case)?.error.abs())).collect()
        };
        Medians {
            back_to_back: median(errors(|case| case.work_seconds == 0.0)),
            with_work: median(errors(|case| case.work_seconds > 0.0)),
            largest: errors(|_| true).into_iter().max_by(f64::total_cmp),
        }
    }
}

/// All cases.
#[derive(Debug, Serialize)]
pub struct Validation {
    pub processes: u32,
    pub nodes: u32,
    pub library: String,
    pub period_seconds: f64,
    pub repetitions: usize,
    pub median_errors: Medians,
    /// Over the undisturbed pairs only.
    pub median_errors_undisturbed: Medians,
    pub cases: Vec<CaseAnswer>,
    pub warnings: Vec<String>,
}

impl Validation {
    pub fn new(session: &Session, options: &Options, cases: Vec<CaseAnswer>) -> Validation {
        Validation {
            processes: session.size,
            nodes: session.nodes(),
            library: session.library(),
            period_seconds: options.period.seconds(),
            repetitions: options.repetitions,
            median_errors: Medians::new(&cases, |case| case.all),
            median_errors_undisturbed: Medians::new(&cases, |case| case.undisturbed),
            warnings: warnings(session, &cases),
            cases,
        }
    }
}

/// Reasons why the errors may be larger than those of the model.
fn warnings(session: &Session, cases: &[CaseAnswer]) -> Vec<String> {
    let mut found = Vec::new();
    let busiest = cases.iter().filter_map(|case| case.all);
    let busiest = busiest.map(|all| all.own_noise.max(all.own_noise_in_runs)).fold(0.0, f64::max);
    if busiest > UNDISTURBED {
        found.push(format!(
            "the machine was busy with other work, which took up to {} of a rank's time: repeat the run when the machine is idle",
            percent(busiest)
        ));
    }
    let lost: usize = cases.iter().map(|case| case.doubts.len()).sum();
    if let Some(first) = cases.iter().flat_map(|case| &case.doubts).next() {
        found.push(format!("{lost} pairs of runs are missing; first: {first}"));
    }
    if session.unbound {
        found.push("the processes are not each bound to a core: use `mpirun --bind-to core`".into());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(noisy_seconds: f64, own_noise_in_runs: f64) -> Pair {
        Pair {
            quiet_seconds: 1.0,
            noisy_seconds,
            predicted_quiet_seconds: 2.0,
            predicted_noisy_seconds: 2.2,
            own_noise: 0.0,
            own_noise_in_runs,
            latency_seconds: 0.0,
            send_overhead_seconds: 0.0,
            recv_overhead_seconds: 0.0,
        }
    }

    #[test]
    fn all_pairs_count_and_the_undisturbed_ones_are_told_apart() {
        let pairs = vec![pair(1.1, 0.0), pair(3.0, 0.5), pair(5.0, 0.5)];
        let case = CaseAnswer::new(Kind::Barrier, Time::ZERO, Time::from_ns(1), 1, pairs, Vec::new());
        let (all, alone) = (case.all.unwrap(), case.undisturbed.unwrap());
        assert_eq!((all.pairs, all.slowdown, alone.pairs, alone.slowdown), (3, 3.0, 1, 1.1));
        assert!((all.error - (1.1 / 3.0 - 1.0)).abs() < 1e-12 && alone.error.abs() < 1e-12);
        assert_eq!(all.quiet_error, 1.0);
        let empty = CaseAnswer::new(Kind::Barrier, Time::ZERO, Time::from_ns(1), 1, Vec::new(), Vec::new());
        assert_eq!((empty.all, Medians::new(&[empty], |case| case.all).largest), (None, None));
    }
}
