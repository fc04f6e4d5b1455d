//! Transfers that take longer than usual, and with whom.

use super::super::pools::median;
use super::{Cause, CauseKind, Looking, time};
use crate::Role;
use std::collections::BTreeMap;

/// A worker stands out if its transfers take so many times the usual.
const STANDS_OUT: f64 = 1.3;

impl Looking<'_> {
    pub fn communication(&self) -> Vec<Cause> {
        let kinds = &self.replays.job.kinds;
        let classes: BTreeMap<&str, Vec<usize>> = kinds
            .iter()
            .enumerate()
            .filter(|(_, kind)| kind.role == Role::Communication)
            .fold(BTreeMap::new(), |mut classes, (place, kind)| {
                classes.entry(kind.class.as_str()).or_insert_with(Vec::new).push(place);
                classes
            });
        classes.into_iter().filter_map(|(class, kinds)| self.class(class, &kinds)).collect()
    }

    fn class(&self, class: &str, kinds: &[usize]) -> Option<Cause> {
        let job = self.replays.job;
        let mut is_it = vec![false; job.kinds.len()];
        kinds.iter().for_each(|&kind| is_it[kind] = true);
        let won = self.won(|_, at| {
            let takes = if is_it[at.op.kind as usize] { at.ideal_takes.min(at.takes) } else { at.takes };
            (takes, at.delay)
        });
        let says = format!("Transfers of {class} take longer than usual");
        let mut cause = self.cause(CauseKind::Communication, won, says)?;
        cause.class = Some(class.into());
        let mut by_worker = self.transfers(&is_it);
        let mut all: Vec<i64> = by_worker.values().flatten().copied().collect();
        let usual = median(&mut all) as f64;
        let medians = by_worker.iter_mut().map(|(worker, list)| (*worker, median(list) as f64));
        if let Some((worker, worst)) = medians.max_by(|a, b| a.1.total_cmp(&b.1)) {
            if worst >= STANDS_OUT * usual {
                let place = &job.workers[worker];
                cause.evidence.push(format!(
                    "Half of those of rank {} (data-parallel rank {}, stage {}) take {} or more; usual are {}.",
                    place.rank,
                    place.dp_rank,
                    place.stage,
                    time(worst),
                    time(usual)
                ));
                cause.ranks = vec![place.rank];
            } else {
                cause.evidence.push(format!(
                    "They are alike on all ranks: half take {} or more, and now and then one takes much longer.",
                    time(usual)
                ));
            }
        }
        cause.fix = "Look at the links of these ranks, and at what else uses the network then.".into();
        Some(cause)
    }

    /// The transfers of some kinds, by worker.
    fn transfers(&self, is_it: &[bool]) -> BTreeMap<usize, Vec<i64>> {
        let job = self.replays.job;
        let mut by_worker: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
        for step in 0..job.steps.len() {
            let columns = job.steps[step].columns as usize;
            let ops = job.shape(step).ops.iter().enumerate().filter(|(_, op)| is_it[op.kind as usize]);
            for (place, _) in ops {
                for column in 0..columns {
                    let takes = self.replays.times[step].takes[place * columns + column];
                    by_worker.entry(job.worker(step, column, place)).or_default().push(takes);
                }
            }
        }
        by_worker
    }
}
