//! Checks which synthetic jobs are possible.

use super::{Defect, Fault, Synthetic};
use std::collections::BTreeMap;

/// Why a synthetic job cannot be made.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SyntheticError {
    #[error("a job needs at least one data-parallel rank, stage, chunk, microbatch and step")]
    Nothing,
    #[error("{dp} data-parallel ranks of {pp} stages are too many workers: use at most {MOST_WORKERS}")]
    Workers { dp: u32, pp: u32 },
    #[error(
        "{vpp} chunks on each of {pp} stages take turns in rounds of as many microbatches as there are stages: use a multiple \
         of that instead of {microbatches} microbatches, and at least 2 stages"
    )]
    Chunks { vpp: u32, pp: u32, microbatches: u32 },
    #[error("there is no worker {dp_rank}/{stage}: data-parallel ranks are 0 to {}, stages 0 to {}", dp - 1, pp - 1)]
    NoWorker { dp_rank: u32, stage: u32, dp: u32, pp: u32 },
    #[error("there is no rank {rank}: ranks are 0 to {last}")]
    NoRank { rank: u32, last: u32 },
    #[error("there is no step {step}: steps are 0 to {last}")]
    NoStep { step: i64, last: u32 },
    #[error("a synthetic job cannot have lost or fixed workers")]
    NoFault,
    #[error("no transfer involves only workers {}/{} and {}/{}", one.0, one.1, other.0, other.1)]
    NoLink { one: (u32, u32), other: (u32, u32) },
    #[error("{what} is {given}: give a number from {least} to {most}")]
    Range { what: String, given: f64, least: f64, most: f64 },
    #[error(
        "a step could take {seconds:.0} s: use fewer microbatches or smaller faults, for at most {LONGEST:.0} s"
    )]
    Long { seconds: f64 },
}

/// More workers than this cannot be analysed.
const MOST_WORKERS: u32 = 1 << 22;
/// The longest step in seconds. Picoseconds could represent much more.
const LONGEST: f64 = 1e5;
/// A normal deviate from 53 random bits never exceeds this.
const SIGMAS: f64 = 9.0;

impl Synthetic {
    /// Checks whether the job is possible.
    ///
    /// # Errors
    /// A value is out of range; the error names the range.
    pub fn check(&self) -> Result<(), SyntheticError> {
        let (dp, pp, steps) = (self.dp, self.pp, self.steps);
        let (vpp, microbatches) = (self.vpp, self.microbatches);
        if dp == 0 || pp == 0 || vpp == 0 || microbatches == 0 || steps == 0 {
            return Err(SyntheticError::Nothing);
        }
        let takes_turns = pp > 1 && microbatches.is_multiple_of(pp);
        if vpp > 1 && !takes_turns || microbatches.checked_mul(vpp).is_none() || pp.checked_mul(vpp).is_none()
        {
            return Err(SyntheticError::Chunks { vpp, pp, microbatches });
        }
        if dp.checked_mul(pp).is_none_or(|workers| workers > MOST_WORKERS) {
            return Err(SyntheticError::Workers { dp, pp });
        }
        let in_range = |what: &str, given: f64, least: f64, most: f64| {
            let error = || SyntheticError::Range { what: what.into(), given, least, most };
            (least..=most).contains(&given).then_some(()).ok_or_else(error)
        };
        in_range("the time of a microbatch in seconds", self.forward, 0.0, 1e3)?;
        in_range("the time of a transfer in seconds", self.transfer, 0.0, 1e3)?;
        in_range("the time of gradients in seconds", self.gradients, 0.0, 1e3)?;
        for (what, given) in [
            ("the share of the last stage", self.last_stage),
            ("the share of jitter", self.jitter),
            ("the share of lengths", self.lengths),
        ] {
            in_range(what, given, 0.0, 10.0)?;
        }
        for fault in &self.faults {
            let Fault { dp_rank, stage, from_step: step, what } = *fault;
            if dp_rank >= dp || stage >= pp {
                return Err(SyntheticError::NoWorker { dp_rank, stage, dp, pp });
            }
            if step >= steps {
                return Err(SyntheticError::NoStep { step: step.into(), last: steps - 1 });
            }
            let of = format!("of worker {dp_rank}/{stage}");
            match what {
                Defect::Slow(times) => in_range(&format!("the slowdown {of}"), times, 0.01, 1e3)?,
                Defect::Link { times, with } => {
                    in_range(&format!("the slowdown of transfers {of}"), times, 0.01, 1e3)?;
                    if let Some(other) = with {
                        self.check_link((dp_rank, stage), other)?;
                    }
                }
                Defect::Stall(late) => in_range(&format!("the stall in seconds {of}"), late, 0.0, 3600.0)?,
            }
        }
        let seconds = self.longest_step();
        if seconds > LONGEST { Err(SyntheticError::Long { seconds }) } else { Ok(()) }
    }

    /// Checks that two workers have transfers between only them: neighbours in a pipeline, its two ends, or two data-parallel
    /// ranks.
    fn check_link(&self, one: (u32, u32), other: (u32, u32)) -> Result<(), SyntheticError> {
        let (dp, pp) = (self.dp, self.pp);
        if other.0 >= dp || other.1 >= pp {
            return Err(SyntheticError::NoWorker { dp_rank: other.0, stage: other.1, dp, pp });
        }
        let apart = one.1.abs_diff(other.1);
        let in_pipeline = one.0 == other.0 && (apart == 1 || (apart > 0 && apart + 1 == pp));
        let in_stage = one.1 == other.1 && one.0 != other.0 && dp == 2;
        if in_pipeline || in_stage { Ok(()) } else { Err(SyntheticError::NoLink { one, other }) }
    }

    /// An upper bound of a step: all operations one after the other, as slow as on the slowest worker.
    fn longest_step(&self) -> f64 {
        let worst = |factor: &dyn Fn(Defect) -> f64| {
            let mut of_worker: BTreeMap<(u32, u32), f64> = BTreeMap::new();
            for fault in &self.faults {
                *of_worker.entry((fault.dp_rank, fault.stage)).or_insert(1.0) *= factor(fault.what).max(1.0);
            }
            of_worker.into_values().fold(1.0, f64::max)
        };
        let stalls: f64 = self
            .faults
            .iter()
            .map(|fault| if let Defect::Stall(late) = fault.what { late } else { 0.0 })
            .sum();
        let spread = 1.0 + SIGMAS * self.jitter;
        let microbatch = 3.0 * self.forward * (1.0 + self.last_stage) * (1.0 + SIGMAS * self.lengths);
        let passes = f64::from(self.microbatches) + f64::from(self.pp);
        let slow = worst(&|what| if let Defect::Slow(times) = what { times } else { 1.0 });
        let link = worst(&|what| if let Defect::Link { times, .. } = what { times } else { 1.0 });
        let transfers = 4.0 * f64::from(self.vpp) * passes * self.transfer + 3.0 * self.gradients;
        stalls + spread * (passes * microbatch * slow + transfers * link)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use super::*;

    #[test]
    fn absurd_jobs_are_refused_with_what_is_allowed() {
        let fault = |what| vec![Fault { dp_rank: 1, stage: 0, from_step: 0, what }];
        let base = || Synthetic { dp: 2, pp: 2, microbatches: 2, steps: 3, ..Synthetic::default() };
        for times in [1e30, f64::NAN, f64::INFINITY, -1.0, 0.0] {
            for what in
                [Defect::Slow(times), Defect::Link { times, with: None }, Defect::Stall(-times.abs() - 1.0)]
            {
                let of = Synthetic { faults: fault(what), ..base() };
                let error = of.check().unwrap_err().to_string();
                assert!(
                    error.contains("of worker 1/0 is") && error.contains(": give a number from 0"),
                    "{error}"
                );
                assert!(rows(&of).is_empty());
            }
        }
        let cases = [
            (Synthetic { dp: 0, ..base() }, "at least one"),
            (Synthetic { dp: u32::MAX, pp: u32::MAX, ..base() }, "use at most 4194304"),
            (
                Synthetic { jitter: f64::NAN, ..base() },
                "the share of jitter is NaN: give a number from 0 to 10",
            ),
            (Synthetic { forward: -1.0, ..base() }, "from 0 to 1000"),
            (Synthetic { microbatches: u32::MAX, ..base() }, "use fewer microbatches"),
            (
                Synthetic { faults: [fault(Defect::Slow(1e3)), fault(Defect::Slow(1e3))].concat(), ..base() },
                "at most 100000 s",
            ),
        ];
        for (of, says) in cases {
            let error = of.check().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let late = Fault { from_step: 3, ..fault(Defect::Slow(2.0))[0] };
        let error = Synthetic { faults: vec![late], ..base() }.check().unwrap_err();
        assert_eq!(error.to_string(), "there is no step 3: steps are 0 to 2");
    }

    #[test]
    fn a_step_is_never_longer_than_it_could_be() {
        let faults = vec![
            Fault { dp_rank: 0, stage: 1, from_step: 0, what: Defect::Slow(50.0) },
            Fault { dp_rank: 1, stage: 0, from_step: 0, what: Defect::Link { times: 30.0, with: None } },
            Fault { dp_rank: 1, stage: 1, from_step: 1, what: Defect::Stall(7.0) },
        ];
        let of = Synthetic {
            dp: 2,
            pp: 2,
            steps: 2,
            jitter: 0.5,
            lengths: 0.5,
            last_stage: 1.0,
            faults,
            ..Synthetic::default()
        };
        let longest = rows(&of).iter().map(|row| row.start + row.duration).fold(0.0, f64::max);
        assert!(longest > 0.0 && longest < of.longest_step(), "{longest}");
    }
}
