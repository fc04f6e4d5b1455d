//! K-nomial tree: in each round, every rank that has the data sends it to k - 1 others in turn.

use crate::collectives::sizes::Segments;
use crate::collectives::tree::{self, Vector, Walk};
use crate::collectives::{CollectiveError, Job, Name};

pub type KNomial = Walk<tree::KNomial, Vector>;

/// `radix` is at least 2.
pub fn k_nomial(job: &Job, radix: u32) -> Result<KNomial, CollectiveError> {
    let load = Vector(Segments::whole(job.vector()));
    Walk::new(Name::KNomial, job, tree::KNomial::new(job.processes, radix), load)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::bcast::Binomial;
    use crate::{Message, Step, Steps};

    #[test]
    fn with_radix_two_it_is_the_binomial_tree() {
        for processes in 1..70 {
            let job = Job { root: processes / 3, ..Job::new(processes, 100) };
            let (binomial, two) = (Binomial::new(&job), k_nomial(&job, 2).unwrap());
            for rank in 0..processes {
                // The binomial tree uses the round as the tag.
                let no_tag = |message: Option<Message>| message.map(|m| Message { tag: 0, ..m });
                let of = |stage| {
                    let step = binomial.step(rank, stage);
                    Step { send: no_tag(step.send), recv: no_tag(step.recv), ..step }
                };
                assert_eq!(two.stages(rank), binomial.stages(rank));
                assert!((0..two.stages(rank)).all(|stage| two.step(rank, stage) == of(stage)));
            }
        }
    }
}
