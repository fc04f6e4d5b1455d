//! `straggler resample`, validated.

use crate::args::Common;
use crate::args::resample::Resample;
use crate::exit::{Failure, Outcome};
use std::path::PathBuf;
use straggler_model::noise::NoiseSpec;
use straggler_model::units::{Bytes, TimeUnit};
use straggler_report::numbers::grouped;
use straggler_sim::resampling::{MOST_IDLE_TIMES, exchanges};

/// The number of samples in the paper.
pub const SAMPLES: u32 = 100_000;
/// Up to this number of processors, the budget does not reduce the number of samples.
const PAPER_PROCESSORS: u32 = 32;
/// Exchanges for one number of processors: seconds on two cores, less than a minute with interrupts.
pub const BUDGET: u64 = 500_000_000;
/// With fewer samples the outer quantiles are unreliable.
const FEW: u32 = 100;

#[derive(Debug)]
pub struct Plan {
    pub times: PathBuf,
    pub unit: Option<TimeUnit>,
    /// In the order typed, at least one.
    pub cases: Vec<Case>,
    pub size: Option<Bytes>,
    pub noise: NoiseSpec,
    pub wallclock: bool,
    pub measured: Option<PathBuf>,
    pub seed: u64,
    pub histogram: Option<PathBuf>,
    pub output: Option<PathBuf>,
    pub report: Option<PathBuf>,
    pub warnings: Vec<String>,
}

/// A number of processors and how often it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub processors: u32,
    pub samples: u32,
    pub why: Why,
}

/// Where a number of samples comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Asked,
    Paper,
    Budget,
}

impl Case {
    fn new(processors: u32, asked: Option<u32>) -> Case {
        if let Some(samples) = asked {
            return Case { processors, samples, why: Why::Asked };
        }
        let affordable = BUDGET / exchanges(processors).max(1);
        if processors <= PAPER_PROCESSORS || affordable >= u64::from(SAMPLES) {
            return Case { processors, samples: SAMPLES, why: Why::Paper };
        }
        Case { processors, samples: affordable.max(1) as u32, why: Why::Budget }
    }

    pub fn exchanges(&self) -> u64 {
        exchanges(self.processors) * u64::from(self.samples)
    }
}

impl Plan {
    pub fn new(typed: Resample, common: &Common) -> Outcome<Plan> {
        let cases: Vec<Case> = typed.processes.iter().map(|&count| Case::new(count, typed.samples)).collect();
        cases.iter().try_for_each(fits)?;
        let noise = NoiseSpec { sources: typed.noise.into_iter().flat_map(|spec| spec.sources).collect() };
        let warnings = warnings(&cases, typed.wallclock && noise.is_none());
        Ok(Plan {
            times: typed.times,
            unit: typed.unit,
            cases,
            size: typed.size,
            noise,
            wallclock: typed.wallclock,
            measured: typed.measured,
            seed: common.seed,
            histogram: typed.histogram,
            output: typed.output,
            report: typed.report.report,
            warnings,
        })
    }
}

/// Fails if the idle times of a case would take more than a gigabyte of memory.
fn fits(case: &Case) -> Outcome<()> {
    let most = MOST_IDLE_TIMES / u64::from(case.processors);
    if u64::from(case.samples) <= most {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the idle times of {} samples of {} processors exceed one gigabyte of memory: give --samples {most} or fewer",
        grouped(case.samples),
        grouped(case.processors)
    )))
}

fn warnings(cases: &[Case], wallclock_alone: bool) -> Vec<String> {
    let few = |case: &&Case| case.samples < FEW && case.why == Why::Budget;
    let mut texts: Vec<String> = cases
        .iter()
        .filter(few)
        .map(|case| {
            format!(
                "{} processors: only {} samples fit the budget of {} exchanges, too few for the outer quantiles; \
                 use --samples for more",
                grouped(case.processors),
                case.samples,
                grouped(BUDGET)
            )
        })
        .collect();
    if wallclock_alone {
        texts.push("--wallclock has no effect without --noise".into());
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_the_paper_and_then_the_budget() {
        for processors in [2, 4, 8, 16, 31, 32, 33, 64, 100] {
            let expected = Case { processors, samples: 100_000, why: Why::Paper };
            assert_eq!(Case::new(processors, None), expected);
        }
        assert_eq!(Case::new(128, None), Case { processors: 128, samples: 61_515, why: Why::Budget });
        assert_eq!(Case::new(4096, None), Case { processors: 4096, samples: 59, why: Why::Budget });
        assert_eq!(Case::new(65_536, None).samples, 1);
        assert_eq!(Case::new(64, Some(7)), Case { processors: 64, samples: 7, why: Why::Asked });
        assert_eq!(Case::new(4, Some(7)).exchanges(), 42);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(fits(&Case::new(4096, Some(32_768))).is_ok());
        assert!(fits(&Case::new(4096, Some(32_769))).is_err());
        assert_eq!(warnings(&[Case::new(4096, None), Case::new(2, None)], true).len(), 2);
    }
}
