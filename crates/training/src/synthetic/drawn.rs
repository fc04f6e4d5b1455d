//! Adds faults of given ranks, or of workers chosen at random, to a synthetic job.

use super::{Defect, Fault, Synthetic, SyntheticError};
use crate::whatif::{self, Whom};
use straggler_model::philox::Stream;

/// The random stream of faults. Computing and lengths have their own.
const OF_FAULTS: u32 = 1 << 20;

impl Synthetic {
    /// Adds a fault. If its worker is random, the seed decides.
    ///
    /// # Errors
    /// There is no such rank or step, or the fault does not apply to synthetic jobs, which cannot have lost or fixed workers.
    pub fn add(&mut self, fault: &whatif::Fault) -> Result<(), SyntheticError> {
        let all = self.dp.saturating_mul(self.pp);
        let place = |rank: u32| match rank < all {
            true => Ok((rank % self.dp, rank / self.dp)),
            false => Err(SyntheticError::NoRank { rank, last: all.saturating_sub(1) }),
        };
        let what = match fault.what {
            whatif::Effect::Slow(times) => Defect::Slow(times),
            whatif::Effect::Stall(late) => Defect::Stall(late as f64 / 1e12),
            whatif::Effect::Link { times, with } => {
                Defect::Link { times, with: with.map(place).transpose()? }
            }
            whatif::Effect::Lost | whatif::Effect::Repaired => return Err(SyntheticError::NoFault),
        };
        let step = fault.from_step.unwrap_or(0);
        let from_step = u32::try_from(step).ok().filter(|&step| step < self.steps);
        let from_step =
            from_step.ok_or(SyntheticError::NoStep { step, last: self.steps.saturating_sub(1) })?;
        let mut random = Stream::new(self.seed, 0, self.faults.len() as u32, OF_FAULTS);
        let ranks: Vec<u32> = match fault.whom {
            Whom::Rank(rank) => vec![rank],
            Whom::Any => vec![random.below(u64::from(all.max(1))) as u32],
            Whom::Each(probability) => (0..all).filter(|_| random.unit() < probability).collect(),
        };
        for rank in ranks {
            let (dp_rank, stage) = place(rank)?;
            self.faults.push(Fault { dp_rank, stage, from_step, what });
        }
        Ok(())
    }
}
