//! K-nomial tree: the broadcast with time reversed.

use crate::collectives::tree::Mirror;
use crate::collectives::{CollectiveError, Job, bcast};

pub type KNomial = Mirror<bcast::KNomial>;

/// `radix` is at least 2.
pub fn k_nomial(job: &Job, radix: u32) -> Result<KNomial, CollectiveError> {
    Ok(Mirror::combining(bcast::k_nomial(job, radix)?, job))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::reduce::Binomial;
    use crate::{Message, Step, Steps};
    use straggler_model::network::PerByte;

    #[test]
    fn with_radix_two_it_is_the_binomial_tree() {
        for processes in 1..70 {
            let reduction = PerByte::from_ps(3);
            let job = Job { root: processes / 3, reduction, ..Job::new(processes, 100) };
            let (binomial, two) = (Binomial::new(&job), k_nomial(&job, 2).unwrap());
            let no_tag = |message: Option<Message>| message.map(|m| Message { tag: 0, ..m });
            let steps = |of: &dyn Steps, rank| -> Vec<Step> {
                let steps = (0..of.stages(rank)).map(|stage| of.step(rank, stage));
                steps.map(|step| Step { send: no_tag(step.send), recv: no_tag(step.recv), ..step }).collect()
            };
            assert!((0..processes).all(|rank| steps(&binomial, rank) == steps(&two, rank)));
        }
    }
}
