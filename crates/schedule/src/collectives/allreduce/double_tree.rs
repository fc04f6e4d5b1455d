//! Reduction up two complementary binary trees, each with half of the vector, then broadcast down them: the
//! trees of libraries for GPUs. Both ways are pipelined in segments, but one follows the other, where those
//! libraries let them overlap: the way down begins at a rank when all it had to send up is sent.

use crate::collectives::sequence::{Part, Sequence};
use crate::collectives::{Collective, CollectiveError, Job, bcast, reduce};

/// Both ways with rank 0 as the root.
pub fn double_tree(job: &Job, segment: u64) -> Result<Sequence, CollectiveError> {
    let job = Job { root: 0, ..job.clone() };
    let up = Collective::other(reduce::double_tree(&job, segment)?);
    let down = Collective::other(bcast::DoubleTree::new(&job, segment)?);
    Ok(Sequence::new(job.processes, vec![Part::everyone(up), Part::everyone(down)]))
}
