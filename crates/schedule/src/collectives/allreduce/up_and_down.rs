//! Reduction up a tree to rank 0, then broadcast down the same tree. Hoefler et al. (SC10) name the binary
//! tree; GPU libraries use two complementary trees. If the tree has segments, each direction is pipelined,
//! but they do not overlap: a rank begins the way down after it has sent everything up.

use crate::collectives::sequence::{Part, Sequence};
use crate::collectives::{Algorithm, CollectiveError, Job, Operation};

/// Uses the algorithm that reduce and bcast have under the same name.
pub fn up_and_down(algorithm: &Algorithm, job: &Job) -> Result<Sequence, CollectiveError> {
    let job = Job { root: 0, ..job.clone() };
    let up = algorithm.build(Operation::Reduce, &job)?;
    let down = algorithm.build(Operation::Bcast, &job)?;
    Ok(Sequence::new(job.processes, vec![Part::everyone(up), Part::everyone(down)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::Name;
    use crate::{Step, Steps};

    #[test]
    fn up_and_down_the_same_edges() {
        // The root of an operation without one is ignored.
        let job = Job { root: 9, ..Job::new(4, 8) };
        let steps = up_and_down(&Name::Binomial.into(), &job).unwrap();
        let of_1: Vec<Step> = (0..steps.stages(1)).map(|stage| steps.step(1, stage)).collect();
        assert_eq!(of_1[0].recv.unwrap().peer, 3);
        assert_eq!(of_1[1].send.unwrap().peer, 0);
        assert_eq!(of_1[2].recv.unwrap().peer, 0);
        assert_eq!(of_1[3].send.unwrap().peer, 3);
    }
}
