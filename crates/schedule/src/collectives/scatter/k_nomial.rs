//! K-nomial tree: every place gets the blocks of its whole subtree and distributes them, largest
//! subtree first. With k = 2 it is the binomial tree.

use crate::collectives::tree::{Blocks, Contiguous, Walk};
use crate::collectives::{CollectiveError, Job, Name};

pub type KNomial = Walk<Contiguous, Blocks<Contiguous>>;

/// `radix` is at least 2.
pub fn k_nomial(job: &Job, radix: u32) -> Result<KNomial, CollectiveError> {
    let tree = Contiguous::new(job.processes, radix);
    Walk::new(Name::KNomial, job, tree, Blocks { tree, job: job.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Steps};

    #[test]
    fn eleven_ranks_by_threes() {
        let steps = k_nomial(&Job { root: 1, ..Job::new(11, 10) }, 3).unwrap();
        let sent = |rank| -> Vec<(u32, u64)> {
            let sends = (0..steps.stages(rank)).filter_map(|stage| steps.step(rank, stage).send);
            sends.map(|Message { peer, bytes, .. }| (peer, bytes)).collect()
        };
        // Places 9 (a subtree of two), 3 and 6 (three each), 1 and 2.
        assert_eq!(sent(1), [(10, 20), (4, 30), (7, 30), (2, 10), (3, 10)]);
        assert_eq!(sent(4), [(5, 10), (6, 10)]);
        // Place 9 is rank 10; place 10 is rank 0.
        assert_eq!(sent(10), [(0, 10)]);
    }
}
