//! The operations of each kind. Recordings of single kernels have thousands of kinds: going through a whole step for each of them
//! would take forever.

use crate::Job;
use crate::graph::Lists;

/// By shape of the job, then by kind: indices of its operations.
#[derive(Debug)]
pub struct ByKind(Vec<Lists>);

impl ByKind {
    pub fn new(job: &Job) -> ByKind {
        let of_shape = |shape: &crate::Shape| {
            let pairs: Vec<(u32, u32)> =
                shape.ops.iter().zip(0..).map(|(op, place)| (u32::from(op.kind), place)).collect();
            Lists::of_pairs(job.kinds.len(), &pairs)
        };
        ByKind(job.shapes.iter().map(of_shape).collect())
    }

    /// The operations of a kind in a step: ascending indices in its shape.
    pub fn places(&self, job: &Job, step: usize, kind: usize) -> impl Iterator<Item = usize> {
        self.0[job.steps[step].shape as usize].get(kind).iter().map(|&place| place as usize)
    }
}
