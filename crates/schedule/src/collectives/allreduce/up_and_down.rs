//! Reduction up a tree to rank 0, then broadcast down the same tree: paper 000 names the binary one, and
//! libraries for GPUs use two complementary trees. Each way is pipelined if the tree has segments, but one
//! follows the other: the way down begins at a rank when all it had to send up is sent.

use crate::collectives::sequence::{Part, Sequence};
use crate::collectives::{Algorithm, CollectiveError, Job, Operation};

/// Both ways by the algorithm that reduce and bcast have under the same name.
pub fn up_and_down(algorithm: &Algorithm, job: &Job) -> Result<Sequence, CollectiveError> {
    let job = Job { root: 0, ..job.clone() };
    let up = algorithm.build(Operation::Reduce, &job)?;
    let down = algorithm.build(Operation::Bcast, &job)?;
    Ok(Sequence::new(job.processes, vec![Part::everyone(up), Part::everyone(down)]))
}
