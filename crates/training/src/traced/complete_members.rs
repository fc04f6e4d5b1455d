//! Checks that all members of a collective take part in it, in steps that have all workers. Otherwise the trace could
//! not be simulated.

use super::TracedError;
use crate::{Job, Kind, Worker};
use std::collections::{BTreeMap, BTreeSet};

/// The members of a collective: their stage and their data-parallel rank; `None` for all.
type Members = (Option<u32>, Option<u32>);

fn members(kind: Kind, of: &Worker) -> Option<Members> {
    match kind {
        Kind::ParamsAllGather | Kind::GradsReduceScatter | Kind::SeparateGradsAllReduce => {
            Some((Some(of.stage), None))
        }
        Kind::EmbeddingGradsAllReduce => Some((None, Some(of.dp_rank))),
        Kind::OptimizerClipMainGrad => Some((None, None)),
        _ => None,
    }
}

/// Returns an error for the first worker that runs a collective less often than others of its group.
pub fn check(job: &Job) -> Result<(), TracedError> {
    let mut checked = BTreeSet::new();
    let last_stage = job.stages() as u32 - 1;
    for (place, step) in job.steps.iter().enumerate() {
        let is_whole = job.takes_part(place).iter().all(|there| *there);
        if !is_whole || !checked.insert((step.shape, step.columns)) {
            continue;
        }
        let mut counts: BTreeMap<(Kind, usize), usize> = BTreeMap::new();
        for (number, op) in job.shape(place).ops.iter().enumerate() {
            let kind = Kind::ALL[op.kind as usize];
            for column in 0..step.columns as usize {
                *counts.entry((kind, job.worker(place, column, number))).or_default() += 1;
            }
        }
        let mut most: BTreeMap<(Kind, Members), usize> = BTreeMap::new();
        for ((kind, worker), count) in &counts {
            if let Some(members) = members(*kind, &job.workers[*worker]) {
                let most = most.entry((*kind, members)).or_default();
                *most = (*most).max(*count);
            }
        }
        for ((kind, of), most) in most {
            let belongs = |worker: &Worker| {
                let embeds = kind != Kind::EmbeddingGradsAllReduce || [0, last_stage].contains(&worker.stage);
                embeds && members(kind, worker) == Some(of)
            };
            let lacks = |(place, worker): &(usize, &Worker)| {
                belongs(worker) && counts.get(&(kind, *place)).copied().unwrap_or(0) < most
            };
            if let Some((_, worker)) = job.workers.iter().enumerate().find(lacks) {
                return Err(TracedError::Uneven { step: step.number, rank: worker.rank, name: kind.name() });
            }
        }
    }
    Ok(())
}
